use std::io::ErrorKind;
use std::path::PathBuf;

use anthill_core::api::documents::ValidateDocuments;
use anthill_core::error::Code;
use anthill_core::model::flaws::flaws;
use anthill_core::model::ids::RULE;
use anthill_core::model::json;
use anthill_core::model::kind::Kind;
use anthill_core::model::odd_ids::odd_ids;
use anthill_core::model::path::Path;
use anthill_core::ops::doctor::{self, Checked};
use anthill_live::foreign;
use clap::Args;
use serde_json::json;

use crate::args::ScopeArgs;
use crate::context::Context;
use crate::error::{CliError, Result, io_error};
use crate::output::Format;
use crate::process::ExitCode;
use crate::typed::kind_parser;
use crate::words;

/// Check documents against their schemas
///
/// Without arguments all documents are checked, also for being there: one that the history knows and
/// that somebody removed is named.
///
/// Examples:
///   anthill validate
///   anthill validate epics --project-id myapp
///   anthill validate --file plan.json --as pm_state
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ValidateArgs {
    /// Only this kind
    #[arg(value_parser = kind_parser(&[]), conflicts_with = "file")]
    kind: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// A file anywhere, instead of stored documents
    #[arg(long, value_name = "FILE", requires = "as_kind")]
    file: Option<PathBuf>,
    /// The kind that the file should be
    #[arg(long = "as", value_name = "KIND", requires = "file", value_parser = kind_parser(&[]))]
    as_kind: Option<String>,
}

pub fn run(context: &Context<'_>, args: &ValidateArgs) -> Result<ExitCode> {
    match (&args.file, &args.as_kind) {
        (Some(file), Some(kind)) => validate_file(context, file, kind),
        _ => validate_stored(context, args),
    }
}

fn validate_file(context: &Context<'_>, file: &std::path::Path, kind: &str) -> Result<ExitCode> {
    let kind = Kind::find(kind).expect("the parser accepts known kinds only");
    let shown = file.display();
    let bytes = foreign::read(file, kind.limit).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::new(Code::NotFound, format!("`{shown}` does not exist")),
        ErrorKind::InvalidInput | ErrorKind::IsADirectory | ErrorKind::FileTooLarge => {
            CliError::invalid(format!("`{shown}` is no valid {}: {error}", kind.name)).hinted("name a file")
        }
        _ => io_error(&format!("read `{shown}`"), &error),
    })?;
    let invalid = |line: usize, column: usize, message: &str| {
        let message = format!("`{shown}` is no valid {}: line {line}, column {column}: {message}", kind.name);
        CliError::invalid(message).hinted(format!("see what is expected: anthill schema {}", kind.name))
    };
    let value = json::parse(&bytes).map_err(|error| invalid(error.line, error.column, &error.message))?;
    kind.shape.check(&value).map_err(|misfit| {
        let path = Path::from_record(&misfit.path).unwrap_or_default();
        let (line, column) = json::locate(&bytes, &path).unwrap_or((1, 1));
        invalid(line, column, &misfit.to_string())
    })?;
    if let Some(odd) = odd_ids(kind, &value).first() {
        let (line, column) = doctor::locate(&bytes, &odd.path);
        return Err(invalid(line, column, &format!("`{}` is not a valid id: {RULE}", odd.path)));
    }
    if let Some(flaw) = flaws(kind, &value).first() {
        let (line, column) = doctor::locate(&bytes, &flaw.path);
        return Err(invalid(line, column, &flaw.message));
    }
    context.output.status(&format!("`{shown}` is a valid {}", kind.name));
    if context.output.json {
        let result = json!({"kind": kind.name, "path": shown.to_string(), "valid": true});
        context.output.value(&result, Format::Json)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn validate_stored(context: &Context<'_>, args: &ValidateArgs) -> Result<ExitCode> {
    let kind = args.kind.as_ref().map(|kind| kind.parse().map_err(CliError::invalid)).transpose()?;
    let document = kind.map(|kind| args.scope.of(kind)).transpose()?;
    let answer = context.ask(ValidateDocuments { document })?;
    context.answer::<ValidateDocuments>(&answer, |_| Ok(()))?;
    if answer.0.is_empty() {
        context.output.status("no documents yet");
    }
    let mut code = ExitCode::SUCCESS;
    for (note, Checked { error, odd, .. }, idle) in answer.0 {
        let error = error.map(CliError::from).map(|error| (error.code, error.message, error.hints));
        let odd = odd.into_iter().map(|finding| (finding.code, finding.message, Vec::new()));
        if note.valid {
            context.output.status(&format!("valid    {:<18} {}", note.kind, note.path));
        }
        for (found, message, hints) in error.into_iter().chain(odd) {
            code = ExitCode::from(found.facts().exit);
            context.output.status(&format!("INVALID  {:<18} {message}", note.kind));
            hints
                .iter()
                .for_each(|hint| context.output.status(&format!("    {}", hint.replace('\n', "\n    "))));
        }
        idle.iter().for_each(|idle| {
            context.output.warning(&format!("{}\n    {}", idle.message, words::in_words(&idle.fix)));
        });
    }
    Ok(code)
}
