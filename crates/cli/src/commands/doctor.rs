use anthill_core::api::overview::{Examine, Examined};
use anthill_core::store::Engine;
use clap::Args;

use crate::conflict;
use crate::context::Context;
use crate::error::Result;
use crate::process::ExitCode;
use crate::words;

/// Look for damage in all rooms, and mend it with --repair
///
/// What interrupted commands left is finished and swept in any case. A damaged file is never thrown
/// away: --repair restores the last good content and keeps the bad file in the room's quarantine.
/// Hooks that did not run, or will not, are warnings: they do not change the exit code. A document that
/// was edited by hand runs no hooks, and gates that nobody has trusted do not run (anthill trust).
///
/// Examples:
///   anthill doctor
///   anthill doctor --repair
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DoctorArgs {
    /// Restore the last good content of damaged files
    #[arg(long)]
    repair: bool,
}

pub fn run(context: &Context<'_>, args: &DoctorArgs) -> Result<ExitCode> {
    let examined = context.ask(Examine { repair: args.repair })?;
    context.answer::<Examine>(&examined, |_| Ok(()))?;
    tell(context, &examined)?;
    Ok(ExitCode::from(examined.open().map_or(0, |finding| finding.code.facts().exit)))
}

fn tell(context: &Context<'_>, Examined { findings, obstacles, notes, looked, .. }: &Examined) -> Result<()> {
    for finding in findings {
        let label = if finding.repaired { "repaired" } else { finding.code.facts().word };
        context.output.status(&format!(
            "{label}: {}\n    {}",
            finding.message,
            words::in_words(&finding.fix)
        ));
        if let Some(hint) = conflict::hint(&finding.subject).filter(|_| !finding.repaired) {
            context.output.status(&format!("    {}", hint.replace('\n', "\n    ")));
        }
    }
    for obstacle in obstacles {
        context.output.warning(&format!("{}\n    {}", obstacle.message, words::in_words(&obstacle.fix)));
    }
    for note in notes {
        context.output.status(&format!("note: {note}"));
    }
    if findings.is_empty() && obstacles.is_empty() {
        context.output.status(&well(&*context.engine, looked)?);
    }
    Ok(())
}

/// Says what was looked at, where nothing was found.
fn well(engine: &dyn Engine, looked: &[&str]) -> Result<String> {
    let rooms = engine.rooms()?;
    let mut documents = 0;
    for room in &rooms {
        documents += engine.documents(room)?.len();
    }
    if documents == 0 {
        return Ok("all is well: there are no documents yet".into());
    }
    let between = match looked {
        [] => String::new(),
        looked => format!(", {}", looked.join(", ")),
    };
    let documents = match documents {
        1 => "1 document with its history".to_owned(),
        several => format!("{several} documents with their history"),
    };
    Ok(format!("all is well: {documents}; ids, dependencies, numbers{between}; hooks, gates, settings"))
}
