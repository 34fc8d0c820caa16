//! Reading a document without a lock, as of one moment.

use serde_json::Value;

use super::addresses::DocFiles;
use super::edits;
use super::journal::Sum;
use super::place::{HeadDoc, Place};
use super::recover::{self, View};
use super::room_transaction::effective_revision;
use crate::model::documents::common::Stamps;
use crate::model::key::FieldsMut;
use crate::model::kind::{Doc, Items};
use crate::store::error::{Error, Result};
use crate::store::state;

/// A document as a reader found it.
pub struct Seen {
    /// `None` if there is no such document.
    pub value: Option<Value>,
    /// Counts an edit by hand, also one that deleted the file.
    pub revision: u64,
    pub sum: Option<Sum>,
    /// What the last commit left, if the file is something else.
    pub edited: Option<HeadDoc>,
}

/// Reads a document as of one moment. A file that the head does not know was edited by hand, unless a
/// commit came between the two looks: then it is time to look again.
pub fn see(place: &Place<'_>, doc: &Doc) -> Result<Seen> {
    let mut view = recover::look_as_reader(place)?;
    loop {
        let seen = read_document(place, doc, &view);
        let in_doubt = match &seen {
            Ok(seen) => seen.edited.is_some(),
            Err(error) => matches!(error, Error::Gone { .. }),
        };
        if !in_doubt {
            return seen;
        }
        let again = recover::look_as_reader(place)?;
        if again.seq() == view.seq() {
            return join(place, doc, &view, seen?);
        }
        view = again;
    }
}

fn read_document(place: &Place<'_>, doc: &Doc, view: &View) -> Result<Seen> {
    let planned;
    let head = match view {
        View::Fresh => None,
        View::Clean(head) => Some(head),
        View::Unfinished(plan) => {
            if let Some(known) = plan.pending(&doc.file()) {
                let (revision, sum) = (known.revision, known.sum);
                let value = sum.map(|_| known.content.clone());
                return Ok(Seen { value, revision, sum, edited: None });
            }
            planned = plan.head();
            Some(&planned)
        }
    };
    let mut known = head.and_then(|head| head.docs.get(&*doc.file()));
    let mut opened = place.open_doc(doc)?;
    if let (None, Some(head)) = (&opened, head)
        && place.missed(doc, head)?
    {
        opened = place.open_doc(doc)?;
    }
    if opened.is_none() {
        known = head.and_then(|head| head.gone(doc));
    }
    let (value, sum) = opened.map(|opened| (opened.value, opened.sum)).unzip();
    let revision = effective_revision(known, sum, value.as_ref());
    let nothing = HeadDoc { revision: 0, sum: None };
    let edited = Some(*known.unwrap_or(&nothing)).filter(|known| known.sum != sum);
    Ok(Seen { value, revision, sum, edited })
}

/// Lets an edit count for what it is: one that was made from an older state is joined with what came after that.
fn join(place: &Place<'_>, doc: &Doc, view: &View, mut seen: Seen) -> Result<Seen> {
    if let (Some(known), Some(theirs)) = (seen.edited, seen.value.take()) {
        let ours = || edits::committed(place, doc, view.seq());
        let (value, revision) = edits::shown(place, doc, theirs, &known, ours)?;
        (seen.value, seen.revision) = (Some(value), revision);
    }
    let Seen { value, revision, .. } = &mut seen;
    if let Some(value) = value.as_mut().filter(|value| *revision != state::revision_in(value)) {
        show_revision(doc, value, *revision);
    }
    Ok(seen)
}

/// Shows the revision that an edited document counts as, so that `--expect-revision` can rely on it.
pub fn show_revision(doc: &Doc, value: &mut Value, revision: u64) {
    if let (false, Some(document)) = (doc.kind.items == Items::Document, value.as_object_mut()) {
        document.set(Stamps::revision, revision);
    }
}
