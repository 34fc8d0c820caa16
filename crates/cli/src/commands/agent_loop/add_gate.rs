use std::ffi::OsString;
use std::path::Path;

use anthill_core::error::Code;
use anthill_core::model::agent_loop::CountPattern;
use anthill_core::model::ids::Key;
use anthill_core::ops::trust;
use anthill_core::view::shell;
use anthill_live::foreign;
use anthill_live::gates::config::{self, NewGate};
use anthill_live::gates::{Gates, Run, Source};
use anthill_live::hooks::fingerprint;
use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::env;
use crate::error::{CliError, Result, io_error};
use crate::install::fs;
use crate::output::Format;
use crate::project_gates;
use crate::typed::{parse_new_id, seconds};

/// Add a quality gate to `.claude/anthill.toml`
///
/// Several words are the words of a command; a single one is a line for the shell. What the file has
/// stays as it is. A gate judges what agents do, so an agent is refused: its user types this.
///
/// Examples:
///   anthill loop add-gate test -- pytest -q
///   anthill loop add-gate lint -- 'ruff check . && ruff format --check .'
///   anthill loop add-gate smells --count '{} smells found' -- ./smells.sh
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddGateArgs {
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
    /// Kill the command when it takes longer [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// Where its output says how many issues there are: a text with {} for the number
    #[arg(long, value_name = "TEXT")]
    count: Option<String>,
    /// The command, program first
    #[arg(last = true, value_name = "CMD", required = true)]
    command: Vec<OsString>,
}

pub fn run(context: &Context<'_>, args: &AddGateArgs) -> Result<()> {
    let name: Key = parse_new_id(&args.name)?;
    if let Some(count) = &args.count {
        count.parse::<CountPattern>().map_err(|error| CliError::invalid(format!("--count: {error}")))?;
    }
    let line = line(&args.command)?;
    if !env::is_person() {
        let message = "gates judge what agents do: a person adds them";
        let typed = format!("anthill loop add-gate {name} -- {}", shell::word(&line));
        return Err(CliError::new(Code::Refused, message).hinted(format!("ask your user to type: {typed}")));
    }
    let (root, before) = project_gates::find(context)?;
    let new =
        NewGate { name: name.as_str(), line: &line, timeout: args.timeout, count: args.count.as_deref() };
    let is_new = add(&root, &before, &new)?;
    trust(context, &root, &line)?;
    if context.output.json {
        let gate = json!({"name": name.as_str(), "run": line, "file": config::FILE});
        return context.output.changed(&gate, Format::Json);
    }
    let what = if is_new { "Added" } else { "There already" };
    context.output.print(&format!("{what}: {name}"))?;
    tell_of_detected(context, &before, &name);
    context.output.status(&format!("next: anthill loop gate {name}"));
    Ok(())
}

/// Returns these words as a line for the shell.
fn line(words: &[OsString]) -> Result<String> {
    let texts: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let texts = texts.ok_or_else(|| CliError::invalid("the command is not UTF-8"))?;
    let line = match texts[..] {
        [line] => line.to_owned(),
        _ => texts.into_iter().map(shell::word).collect::<Vec<_>>().join(" "),
    };
    match line.trim() {
        "" => Err(CliError::invalid("the command is blank")),
        _ => Ok(line),
    }
}

/// Writes the gate into the file. Returns false if it is there already.
fn add(root: &Path, before: &Gates, new: &NewGate<'_>) -> Result<bool> {
    let known = before.find(new.name).filter(|_| before.source == Source::Config);
    if let Some(known) = known {
        if known.run == Run::Line(new.line.to_owned()) {
            return Ok(false);
        }
        let message = format!("there is a gate `{}` already, with another command", new.name);
        return Err(CliError::new(Code::Refused, message).hinted(format!("change it in {}", config::FILE)));
    }
    let failed = |action: &str, error: &std::io::Error| {
        io_error(&format!("{action} `{}`", root.join(config::FILE).display()), error)
    };
    if let Some(elsewhere) = foreign::leads_out(root, config::FILE) {
        let message = format!("`{}` leads out of the project, to `{}`", config::FILE, elsewhere.display());
        return Err(CliError::new(Code::Refused, message)
            .hinted(format!("write it there yourself:\n{}", config::lines_of(new).trim_end())));
    }
    let path = foreign::resolve(&root.join(config::FILE)).map_err(|error| failed("find", &error))?;
    let bytes = fs::read(&path).map_err(|error| failed("read", &error))?.unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|_| CliError::invalid("the file is not UTF-8"))?;
    let with = config::with_gate(&text, new).map_err(|message| {
        CliError::new(Code::Refused, format!("`{}`: {message}", config::FILE))
            .hinted(format!("write it there yourself:\n{}", config::lines_of(new).trim_end()))
    })?;
    fs::write(&path, with.as_bytes(), 0o644).map_err(|error| failed("write", &error))?;
    Ok(true)
}

/// A command that its user types here is trusted by that.
fn trust(context: &Context<'_>, root: &Path, line: &str) -> Result<()> {
    let failed = |error: std::io::Error| io_error("read the script of the gate", &error);
    let fingerprint = fingerprint::of_project(line, root).map_err(failed)?;
    trust::trust(&*context.engine, &[fingerprint], &context.actor)?;
    Ok(())
}

/// Only configured gates run, if there are any: with the first one, those that were detected are not run any more.
fn tell_of_detected(context: &Context<'_>, before: &Gates, name: &Key) {
    if before.source != Source::Detected {
        return;
    }
    for gate in before.list.iter().filter(|gate| gate.name != *name) {
        let (name, line) = (&gate.name, gate.run.name());
        context.output.warning(&format!(
            "`{name}` was detected and is not run any more; to keep it: anthill loop add-gate {name} -- {}",
            shell::word(&line)
        ));
    }
}
