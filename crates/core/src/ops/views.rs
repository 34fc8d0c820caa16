//! Documents that have a text for people beside them: whoever changes the document changes the text, in one commit.

use serde_json::Value;

use super::Result;
use crate::model::flow::Flow;
use crate::model::kind::Doc;
use crate::model::text_file::TextFile;
use crate::store::Transaction;
use crate::view;

/// A kind of document, where its text stands, and how the text is made.
type View = (&'static str, TextFile, fn(&Value) -> String);

const VIEWS: [View; 2] = [
    ("work_queue", TextFile::LoopState, view::agent_loop::markdown),
    ("workflow", TextFile::WorkflowView, |workflow| {
        view::workflow::markdown(&Flow::of(workflow.clone(), None))
    }),
];

/// Replaces a document, and its text if it has one.
pub(super) fn put(transaction: &mut dyn Transaction, doc: &Doc, value: Value) -> Result<()> {
    transaction.put(doc, value)?;
    refresh(transaction, doc)?;
    Ok(())
}

/// Deletes a document, and its text if it has one.
pub(super) fn delete(transaction: &mut dyn Transaction, doc: &Doc) -> Result<()> {
    transaction.delete(doc)?;
    refresh(transaction, doc)?;
    Ok(())
}

/// Writes a document's text as the transaction sees the document now. Returns whether it was another one.
pub(super) fn refresh(transaction: &mut dyn Transaction, doc: &Doc) -> Result<bool> {
    let Some((_, text_file, render)) = VIEWS.iter().find(|(kind, ..)| *kind == doc.kind.name) else {
        return Ok(false);
    };
    let wanted = transaction.get(doc)?.map(render);
    let found = transaction.text_file(text_file)?;
    match wanted {
        Some(text) if found.as_ref() != Some(&text) => transaction.write_text_file(text_file, text)?,
        None if found.is_some() => transaction.remove_text_file(text_file)?,
        _ => return Ok(false),
    }
    Ok(true)
}
