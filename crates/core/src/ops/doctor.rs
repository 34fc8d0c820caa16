//! Looking for damage, in all rooms at once.

use super::Result;
use crate::model::kind::Doc;
use crate::store::{Engine, Error, Finding};

/// Checks every room, finishing what crashes left; with `repair` mends what can be mended.
pub fn doctor(engine: &dyn Engine, repair: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for room in engine.rooms()? {
        findings.extend(engine.check(&room, repair)?);
    }
    Ok(findings)
}

/// Returns what makes rooms slower than they could be. A place that cannot be tried has nothing to tell.
pub fn notes(engine: &dyn Engine) -> Result<Vec<String>> {
    let rooms = engine.rooms()?;
    Ok(rooms.iter().flat_map(|room| engine.notes(room).unwrap_or_default()).collect())
}

/// Returns every stored document that is wanted, with the error that reading it gives, if any.
pub fn validate(engine: &dyn Engine, wanted: impl Fn(&Doc) -> bool) -> Result<Vec<(Doc, Option<Error>)>> {
    let mut checked = Vec::new();
    for room in engine.rooms()? {
        for doc in engine.documents(&room)?.into_iter().filter(&wanted) {
            let error = engine.read(&doc).err();
            checked.push((doc, error));
        }
    }
    Ok(checked)
}
