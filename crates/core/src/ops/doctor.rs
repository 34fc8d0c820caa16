//! Looking for damage, in all rooms at once.

mod between;
mod effects;

pub use between::{Between, between};
pub use effects::without_effect;

use super::archive::{self, Request};
use super::settings::Settings;
use super::{Actor, Result};
use crate::error::Code;
use crate::hint;
use crate::model::flaws::{Flaw, flaws as flaws_of};
use crate::model::hint::Hint;
use crate::model::ids::RULE;
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::next::Next;
use crate::model::odd_ids::{OddId, odd_ids as ids_of};
use crate::model::path::Path;
use crate::store::{Engine, Error, Finding};

/// Checks every room, finishing what crashes left; with `repair` mends what can be mended.
pub fn doctor(engine: &dyn Engine, repair: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for room in engine.rooms()? {
        findings.extend(engine.check(&room, repair)?);
        for doc in engine.documents(&room)? {
            findings.extend(wrong_in(engine, &doc)?);
        }
    }
    Ok(findings)
}

/// How many findings of one sort are named.
const MOST: usize = 20;

/// Returns what is wrong in a document that can be read; nothing for another one, as others tell of that.
fn wrong_in(engine: &dyn Engine, doc: &Doc) -> Result<Vec<Finding>> {
    let mut findings = odd_ids(engine, doc)?;
    findings.extend(flaws(engine, doc)?);
    Ok(findings)
}

/// Returns a finding for each flaw of a document.
pub fn flaws(engine: &dyn Engine, doc: &Doc) -> Result<Vec<Finding>> {
    let Ok(Some(document)) = engine.read(doc) else { return Ok(Vec::new()) };
    let found = flaws_of(doc.kind, &document.value);
    let text = if found.is_empty() { None } else { engine.text(doc)? }.unwrap_or_default();
    Ok(found.iter().take(MOST).map(|flaw| flawed(engine, doc, &text, flaw)).collect())
}

fn flawed(engine: &dyn Engine, doc: &Doc, text: &[u8], flaw: &Flaw) -> Finding {
    let place = engine.place(doc);
    let (line, column) = locate(text, &flaw.path);
    let message = format!("`{place}`, line {line}, column {column} (`{}`): {}", flaw.path, flaw.message);
    let fix = hint!["correct it: ", Next::Edit(doc.into())];
    Finding { code: Code::Damaged, subject: place, message, fix, repaired: false }
}

/// Returns a finding for each id of a document that is none.
pub fn odd_ids(engine: &dyn Engine, doc: &Doc) -> Result<Vec<Finding>> {
    let Ok(Some(document)) = engine.read(doc) else { return Ok(Vec::new()) };
    let odd = ids_of(doc.kind, &document.value);
    if odd.is_empty() {
        return Ok(Vec::new());
    }
    let (place, text) = (engine.place(doc), engine.text(doc)?.unwrap_or_default());
    let finding = |odd: &OddId| {
        let (line, column) = locate(&text, &odd.path);
        let id: String = odd.id.chars().take(40).collect();
        let message = format!(
            "`{place}` has an id at line {line}, column {column} that is not valid: {id:?} (`{}`)",
            odd.path
        );
        let fix =
            format!("nobody is given it; write another one there ({RULE}), or take the entry out").into();
        Finding { code: Code::Damaged, subject: place.clone(), message, fix, repaired: false }
    };
    let mut findings: Vec<_> = odd.iter().take(MOST).map(finding).collect();
    if let (Some(last), more @ 1..) = (findings.last_mut(), odd.len().saturating_sub(MOST)) {
        last.message += &format!("; and {more} more like it");
    }
    Ok(findings)
}

/// Returns line and column of what is at a path.
pub fn locate(text: &[u8], path: &str) -> (usize, usize) {
    let path = Path::from_record(path).ok();
    path.and_then(|path| json::locate(text, &path)).unwrap_or((1, 1))
}

/// Returns what makes rooms slower than they could be. A place that cannot be tried has nothing to tell.
pub fn notes(engine: &dyn Engine, actor: &Actor) -> Result<Vec<Hint>> {
    let rooms = engine.rooms()?;
    let of_rooms = rooms.iter().flat_map(|room| engine.notes(room).unwrap_or_default());
    Ok(of_rooms.map(Hint::from).chain(aged(engine, actor)).collect())
}

/// Says that many tasks could make room: a long queue is not written anew by who only passes by.
fn aged(engine: &dyn Engine, actor: &Actor) -> Option<Hint> {
    let settings = Settings::read(engine).ok()?;
    let request = Request { dry_run: true, ..Request::of(&settings, actor.now()) };
    let count = archive::tasks::all(engine, request, actor).ok()?.len();
    (count >= archive::tasks::CALM).then(|| {
        hint![format!("{count} tasks have been over for long; to put them into the archive: "), Next::Clean,]
    })
}

/// A stored document, and what is wrong with it.
#[derive(Debug)]
pub struct Checked {
    pub doc: Doc,
    /// What reading it gives.
    pub error: Option<Error>,
    /// What is wrong in it all the same.
    pub odd: Vec<Finding>,
}

/// Returns every document that is wanted and stored, or should be, with what is wrong with it.
pub fn validate(engine: &dyn Engine, wanted: impl Fn(&Doc) -> bool) -> Result<Vec<Checked>> {
    let mut checked = Vec::new();
    for room in engine.rooms()? {
        let docs = engine.documents(&room)?.into_iter().chain(engine.lost(&room)?);
        for doc in docs.filter(&wanted) {
            let (error, odd) = (engine.read(&doc).err(), wrong_in(engine, &doc)?);
            checked.push(Checked { doc, error, odd });
        }
    }
    Ok(checked)
}
