use anthill_core::error::Code;
use anthill_core::ops::trust;
use anthill_live::hooks::fingerprint;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::env;
use crate::error::{CliError, Result, io_error};
use crate::output::Format;

/// Let hooks run a command
///
/// Trust covers the text of the command and, if its first word names a file (with a slash in it,
/// seen from the working directory), the bytes of that file: a script that was changed is not run
/// before you trust it again. What the script calls is not covered.
///
/// Without arguments, what is trusted is listed.
///
/// Examples:
///   anthill trust .claude/hooks/on-epic-update.sh
///   anthill trust 'jq -c .value >> epics.log'
///   anthill trust --remove .claude/hooks/on-epic-update.sh
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TrustArgs {
    /// The command, exactly as the hook has it
    #[arg(value_name = "CMD")]
    command: Option<String>,
    /// Trust this command no longer
    #[arg(long, value_name = "CMD", conflicts_with = "command")]
    remove: Option<String>,
}

pub fn run(context: &Context<'_>, args: &TrustArgs) -> Result<()> {
    match (&args.command, &args.remove) {
        (Some(command), _) => trust(context, command),
        (_, Some(command)) => {
            let gone = trust::distrust(&*context.engine, command, &context.actor)?;
            match context.output.json {
                true => context.output.changed(&Value::Array(gone), Format::Json),
                false => context.output.said(&format!("Trusted no longer: {command}")),
            }
        }
        _ => list(context),
    }
}

fn trust(context: &Context<'_>, command: &str) -> Result<()> {
    if env::hook_depth() > 0 {
        return Err(CliError::new(Code::Refused, "a hook cannot trust commands")
            .hinted("type it yourself, outside of hooks: anthill trust CMD"));
    }
    let place = std::env::current_dir().map_err(|error| io_error("look at the command", &error))?;
    let fingerprint =
        fingerprint::take(command, &place).map_err(|error| io_error("read the script", &error))?;
    let entry = trust::trust(&*context.engine, &fingerprint, &context.actor)?;
    if context.output.json {
        return context.output.changed(&entry, Format::Json);
    }
    context.output.said(&format!("Trusted{}: {command}", covered(&entry)))?;
    let first = command.split_whitespace().next().unwrap_or_default();
    if fingerprint.file.is_none() && first.contains('/') {
        context
            .output
            .warning(&format!("`{first}` is no file here; only the text of the command is covered"));
    }
    Ok(())
}

fn list(context: &Context<'_>) -> Result<()> {
    let trusted = trust::list(&*context.engine)?;
    if context.output.json {
        return context.output.value(&Value::Array(trusted), Format::Json);
    }
    for entry in &trusted {
        let command = entry["command"].as_str().unwrap_or_default();
        context.output.said(&format!("{}{}", command.replace('\n', " "), covered(entry)))?;
    }
    if trusted.is_empty() {
        context.output.status("nothing is trusted yet: anthill trust CMD");
    }
    Ok(())
}

/// Says which file a trusted command is bound to.
fn covered(entry: &Value) -> String {
    let Some(file) = entry["file"].as_str() else { return String::new() };
    let hash = entry["file_sha256"].as_str().unwrap_or_default();
    format!(" (with {file} as it is, sha256 {})", hash.get(..12).unwrap_or(hash))
}
