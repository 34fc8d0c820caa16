//! Edits by hand that a transaction finds in a room: what they make of a document, and how they are recorded.

use serde_json::Value;

use super::{Loaded, RoomTransaction, effective_revision, entry_of};
use crate::hint;
use crate::model::diff;
use crate::model::kind::{Doc, Gone};
use crate::model::names::names_of;
use crate::model::next::{DocName, Next};
use crate::store::edits::{How, TakenIn};
use crate::store::engine::Entry;
use crate::store::error::Result;
use crate::store::file::addresses::DocFiles;
use crate::store::file::edits::{self, Edit};
use crate::store::file::journal::{self, DocEntry, Line, Replay, Sum};
use crate::store::file::list::List;
use crate::store::file::place::{self, HeadDoc, Opened};

impl RoomTransaction<'_> {
    /// Loads a file that is not what our last commit left.
    pub(super) fn load_edited(&self, doc: &Doc, known: &HeadDoc, opened: Option<Opened>) -> Result<Loaded> {
        let Some(Opened { value, sum, bytes }) = opened else {
            let (how, clashes) = (How::Fresh, Vec::new());
            let (changes, names, bytes) = Default::default();
            let edit = Some(Edit { changes, names, how, clashes, bytes, is_joined: false, touched: None });
            let revision = effective_revision(Some(known), None, None);
            return Ok(Loaded {
                doc: doc.clone(),
                base: None,
                base_sum: None,
                revision,
                edit,
                new: None,
                lost: None,
            });
        };
        let ours = self.journaled(doc)?;
        let counted = effective_revision(Some(known), Some(sum), Some(&value));
        let TakenIn { value, how, clashes } = edits::take_in(&self.place, doc, value, known, ours.as_ref())?;
        // Where nothing of the edit counts, there is no revision of it.
        let changes = ours.as_ref().map(|ours| diff::diff(ours, &value));
        let names = changes.as_ref().map(|changes| names_of(changes, &value));
        let (is_joined, bytes) = (how != How::Fresh, (!clashes.is_empty()).then_some(bytes));
        let is_void = is_joined && changes.as_ref().is_some_and(Vec::is_empty);
        let revision = if is_void { known.revision } else { counted };
        let names = names.unwrap_or_default();
        let edit = Some(Edit { changes, names, how, clashes, bytes, is_joined, touched: None });
        Ok(Loaded {
            doc: doc.clone(),
            base: Some(value),
            base_sum: Some(sum),
            revision,
            edit,
            new: None,
            lost: None,
        })
    }

    /// Records what a person did to a document that is changed as a whole.
    pub(super) fn absorb(&mut self, loaded: &Loaded, entry: &Entry) -> Result<Option<Line>> {
        let Some(edit) = &loaded.edit else { return Ok(None) };
        let content = loaded.base.as_ref().filter(|_| edit.changes.is_none());
        let joined = loaded.base.as_ref().filter(|_| edit.is_joined);
        let joined = joined.map(|base| place::sum(&loaded.doc, &place::render(&loaded.doc, base)));
        let line =
            self.edit_line(&loaded.doc, edit, loaded.revision, (loaded.base_sum, joined), content, entry);
        self.tell_clashes(&loaded.doc, edit)?;
        Ok(line)
    }

    /// Records what a person did to a list of which only their items were read.
    pub(super) fn absorb_items(&mut self, list: &List, entry: &Entry) -> Result<Option<Line>> {
        let (Some(edit), Some((file, joined))) = (list.edit(), list.edit_sums()) else { return Ok(None) };
        let sums = (Some(file), edit.is_joined.then_some(joined));
        let line = self.edit_line(list.doc(), edit, list.revision, sums, None, entry);
        self.tell_clashes(list.doc(), edit)?;
        Ok(line)
    }

    /// Describes what a person changed in a file since our last commit, as far as it counts; `sums` are those of the file
    /// and, if the document is something else, of that.
    fn edit_line(
        &self,
        doc: &Doc,
        edit: &Edit,
        revision: u64,
        (file, joined): (Option<Sum>, Option<Sum>),
        content: Option<&Value>,
        entry: &Entry,
    ) -> Option<Line> {
        let changes = edit.changes.clone().unwrap_or_default();
        if changes.is_empty() && content.is_none() && edit.is_joined {
            return None;
        }
        let known = self.head.docs.get(&*doc.file()).and_then(|known| known.sum);
        // Where the file holds something else than the document, this line replaces it.
        let sums = if joined.is_some() { (file, joined) } else { (known, file) };
        let by = self.place.fs.owner(&self.place.doc(&doc.file()));
        let op = if matches!(edit.how, How::Restored { .. }) { journal::RESTORE } else { journal::EDIT };
        let docs = vec![DocEntry {
            names: edit.names.clone(),
            ..entry_of(doc, revision, sums, changes, content.cloned())
        }];
        let line = Line::new(entry.at, by.as_deref().unwrap_or(journal::HAND), op, docs);
        Some(Line { made_from: edit.how.made_from(), ..line })
    }

    /// Keeps aside what could not be joined, before it is replaced.
    fn tell_clashes(&mut self, doc: &Doc, edit: &Edit) -> Result<()> {
        if edit.clashes.is_empty() {
            return Ok(());
        }
        let kept = self.place.put_aside(&doc.file(), edit.bytes.as_deref().unwrap_or_default())?;
        self.warnings.push(edits::told(doc, &edit.clashes, &kept));
        Ok(())
    }

    /// Tells of a document that somebody removed, and that begins anew by this.
    pub(super) fn tell_reset(&mut self, loaded: &Loaded) {
        let known = self.head.docs.get(&*loaded.doc.file());
        if let (Some(HeadDoc { revision, sum: Some(_) }), None) = (known, &loaded.base)
            && loaded.doc.kind.gone != Gone::Derived
        {
            let (path, doc) = (self.place.show(&loaded.doc), DocName::from(&loaded.doc));
            self.warnings.push(hint![
                format!("`{path}` was removed, so it begins anew; to have the old one back: "),
                Next::Undo(doc.clone()),
                ", twice (or ",
                Next::Restore { doc, revision: *revision },
                ")",
            ]);
        }
    }

    /// Returns the content that our last commit of a document left, if it left one.
    pub(super) fn journaled(&self, doc: &Doc) -> Result<Option<Value>> {
        let bytes = self.place.read(&self.place.journal())?.unwrap_or_default();
        let mut replay = Replay::of(&self.place.segment_of(&bytes, doc));
        let known = replay.docs.remove(&*doc.file()).filter(|known| known.sum.is_some());
        Ok(known.map(|known| known.content))
    }
}
