//! What keeps the project from working as it was told to, although nothing is damaged.

use std::path::Path;

use anthill_core::error::Code;
use anthill_core::hint;
use anthill_core::model::hint::Door;
use anthill_core::model::next::{Next, See};
use anthill_core::ops::merge::asides;
use anthill_core::ops::{Result, doctor};
use anthill_core::store::{Aside, Engine, Finding};

use crate::gates::Gates;
use crate::gates::consent::{self, Waiting};
use crate::hooks::obstacle;

/// Looks at hooks, edits by hand, settings and gates of the project at `root`.
pub fn find(engine: &dyn Engine, root: &Path, door: &dyn Door) -> Result<Vec<Finding>> {
    let mut found = obstacle::check(engine, root)?;
    found.extend(asides(engine, &engine.rooms()?)?.iter().map(unjoined));
    // A configuration that cannot be read is told by whoever needs it.
    let gates = Gates::of(root).map(|gates| gates.list).unwrap_or_default();
    found.extend(doctor::without_effect(engine, door));
    found.extend(consent::missing(engine, root, &gates)?.iter().map(distrusted));
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
