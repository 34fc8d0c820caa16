//! What keeps the project from working as it was told to, although nothing is damaged.

use anthill_core::error::Code;
use anthill_core::hint;
use anthill_core::model::next::{Next, See};
use anthill_core::ops::merge::asides;
use anthill_core::ops::{self, Error, doctor};
use anthill_core::store::{Aside, Finding};
use anthill_live::gates::Gates;
use anthill_live::gates::consent::{self, Waiting};
use anthill_live::hooks::obstacle;

use crate::context::Context;

pub fn find(context: &Context<'_>) -> ops::Result<Vec<Finding>> {
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
