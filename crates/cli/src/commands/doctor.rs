use anthill_core::api::overview::{Examine, Examined};
use anthill_core::error::Code;
use anthill_core::hint;
use anthill_core::model::next::{Next, See};
use anthill_core::ops::merge::asides;
use anthill_core::ops::{self, Error, doctor};
use anthill_core::store::{Aside, Engine, Finding};
use anthill_live::gates::Gates;
use anthill_live::gates::consent::{self, Waiting};
use anthill_live::hooks::obstacle;
use clap::Args;

use crate::conflict;
use crate::context::Context;
use crate::error::Result;
use crate::start::ExitCode;
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
        context.output.status(&format!("{label}: {}\n    {}", finding.message, words::told(&finding.fix)));
        if let Some(hint) = conflict::hint(&finding.subject).filter(|_| !finding.repaired) {
            context.output.status(&format!("    {}", hint.replace('\n', "\n    ")));
        }
    }
    for obstacle in obstacles {
        context.output.warning(&format!("{}\n    {}", obstacle.message, words::told(&obstacle.fix)));
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

/// What keeps the project from working as it was told to, although nothing is damaged.
pub fn obstacles(context: &Context<'_>) -> ops::Result<Vec<Finding>> {
    let root =
        context.roots.project().map_err(|error| Error::Input(format!("cannot look at hooks: {error}")))?;
    let mut found = obstacle::check(&*context.engine, &root)?;
    let rooms = context.engine.rooms()?;
    found.extend(asides(&*context.engine, &rooms)?.iter().map(unjoined));
    // A configuration that cannot be read is told by whoever needs it.
    let gates = Gates::of(&root).map(|gates| gates.list).unwrap_or_default();
    found.extend(doctor::without_effect(&*context.engine, context.actor.door));
    found.extend(consent::missing(&*context.engine, &root, &gates)?.iter().map(distrusted));
    Ok(found)
}

/// An edit by hand that waits for a decision.
fn unjoined(aside: &Aside) -> Finding {
    let (subject, kind) = (aside.path.clone(), aside.doc.kind.name);
    let message = format!("an edit of `{}` could not be joined and is kept aside", aside.called);
    let fix = hint![
        "see both sides: ",
        See::Edits(Some(kind)),
        "; take it: ",
        Next::TakeEdit(aside.path.clone()),
        "; drop it: ",
        Next::DropEdit(aside.path.clone()),
    ];
    Finding { code: Code::Conflict, subject, message, fix, repaired: false }
}

fn distrusted(waiting: &Waiting<'_>) -> Finding {
    let subject = format!("gate `{}`", waiting.gate.name);
    let message = format!("{subject} is not trusted and does not run: {}", waiting.shown().trim());
    let fix = hint!["read it, then let it run: ", Next::TrustProject];
    Finding { code: Code::Refused, message, subject, fix, repaired: false }
}
