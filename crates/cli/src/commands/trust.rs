use std::path::Path;

use anthill_core::api::overview::{Distrust, ListTrusted};
use anthill_core::ops::trust::{self, Fingerprint};
use anthill_live::gates::consent;
use anthill_live::hooks::{fingerprint, scripts};
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Result, io_error};
use crate::output::Format;
use crate::project_gates;

/// Let hooks run a command, or a project the commands that its files name
///
/// Trust covers the text of the command and the bytes of the scripts that it names in plain words, as
/// `./x.sh`, `FOO=1 ./x.sh`, `sh ./x.sh` (seen from the working directory): a script that was changed
/// is not run before you trust it again. What a script calls or a tool reads is not covered.
///
/// With --project: all that `.claude/anthill.toml` of this project names (its gates), for this project
/// only. Look first with --dry-run. What you add with `anthill loop add-gate` is trusted by that.
///
/// Without arguments, what is trusted is listed. Hooks and agents cannot trust anything.
///
/// Examples:
///   anthill trust .claude/hooks/on-epic-update.sh
///   anthill trust 'jq -c .value >> epics.log'
///   anthill trust --project --dry-run
///   anthill trust --project
///   anthill trust --remove .claude/hooks/on-epic-update.sh
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TrustArgs {
    /// The command, exactly as the hook has it
    #[arg(value_name = "CMD")]
    command: Option<String>,
    /// Trust what the files of this project name
    #[arg(long, conflicts_with_all = ["command", "remove"])]
    project: bool,
    /// Only show what would be trusted
    #[arg(long, conflicts_with = "remove")]
    dry_run: bool,
    /// Trust this command no longer, also as a project's
    #[arg(long, value_name = "CMD", conflicts_with = "command")]
    remove: Option<String>,
}

pub fn run(context: &Context<'_>, args: &TrustArgs) -> Result<()> {
    match (&args.command, &args.remove) {
        (Some(command), _) => {
            let place = std::env::current_dir().map_err(|error| io_error("look at the command", &error))?;
            let fingerprint =
                fingerprint::take(command, &place).map_err(|error| io_error("read the script", &error))?;
            trust(context, &[fingerprint], &place, args.dry_run)
        }
        (_, Some(command)) => {
            let request = Distrust { command: command.clone() };
            context.perform(request, |_| context.output.print(&format!("Trusted no longer: {command}")))
        }
        _ if args.project => trust_project(context, args.dry_run),
        _ => context.perform(ListTrusted {}, |trusted| list(context, trusted.items())),
    }
}

fn trust_project(context: &Context<'_>, dry_run: bool) -> Result<()> {
    let (root, gates) = project_gates::find(context)?;
    let fingerprints = consent::fingerprints(&root, &gates.list);
    let fingerprints = fingerprints.map_err(|error| io_error("read the scripts of gates", &error))?;
    if fingerprints.is_empty() && !context.output.json {
        context.output.status("the files of this project name no command that needs trust");
        return Ok(());
    }
    trust(context, &fingerprints, &root, dry_run)
}

fn trust(context: &Context<'_>, commands: &[Fingerprint], place: &Path, dry_run: bool) -> Result<()> {
    let entries = match dry_run {
        true => commands.iter().map(Fingerprint::entry).collect(),
        false => trust::trust(&*context.engine, commands, &context.actor)?,
    };
    let done = if dry_run { "Would trust" } else { "Trusted" };
    if context.output.json {
        let is_one = matches!(commands, [command] if command.project.is_none());
        let value = if is_one { entries.into_iter().next().unwrap_or_default() } else { json!(entries) };
        return context.output.changed(&value, Format::Json);
    }
    for entry in &entries {
        context.output.print(&format!("{done}{}: {}", covered(entry), text(entry)))?;
    }
    for Fingerprint { command, files, .. } in commands {
        let first = command.split_whitespace().next().unwrap_or_default();
        if files.is_empty() && first.contains('/') {
            let warning = format!("`{first}` is no file here; only the text of the command is covered");
            context.output.warning(&warning);
        }
        for file in scripts::beside(command, place) {
            context
                .output
                .warning(&format!("`{file}` is not covered: it may change and be used all the same"));
        }
    }
    Ok(())
}

fn list(context: &Context<'_>, trusted: &[Value]) -> Result<()> {
    for entry in trusted {
        let of = entry["project"].as_str().map(|root| format!("  (gate of {root})")).unwrap_or_default();
        context.output.print(&format!("{}{}{of}", text(entry), covered(entry)))?;
    }
    if trusted.is_empty() {
        context.output.status("nothing is trusted yet: anthill trust CMD");
    }
    Ok(())
}

fn text(entry: &Value) -> String {
    entry["command"].as_str().unwrap_or_default().replace('\n', " ")
}

/// Says which files a trusted command is bound to.
fn covered(entry: &Value) -> String {
    let more = entry["more_files"].as_array().into_iter().flatten();
    let files = std::iter::once(entry).chain(more).filter_map(|entry| {
        let hash = entry["file_sha256"].as_str().unwrap_or_default();
        Some(format!("{} as it is, sha256 {}", entry["file"].as_str()?, hash.get(..12).unwrap_or(hash)))
    });
    match files.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        files => format!(" (with {files})"),
    }
}
