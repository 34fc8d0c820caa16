//! A transaction: lock, read, change in memory, commit.
//!
//! | step of `commit` | on disk afterwards | killed here, the next command finds |
//! | --- | --- | --- |
//! | write the spares | new contents beside the old ones | old |
//! | several rooms: append the lines of all but the first (the *lead*), sync them | lines that do not count by themselves | old: they are cut |
//! | append the (lead's) line, sync it | **the commit point** | new: it publishes the rest |
//! | swap spares and files | new contents in place | new |
//! | write the heads, the lead's last; remove the spares | nothing left over | new |
//!
//! An error before the commit point leaves the old state; one after it is rolled back, and only if that
//! fails too is the error marked as indeterminate.
//!
//! **Several rooms.** The line of every room but the lead names the lead's line (room, number, checksum) and counts
//! only if that one is there. Such a line can be in doubt only while it is the last of its journal and no head has
//! passed it; whoever holds the room's lock then knows that its writer is gone and looks into the lead's journal. The
//! lead's line names the other rooms, and the lead's head passes it only after theirs: so the lead does not start
//! a new segment while somebody may still ask. Rooms are locked in one order, the lead first.
//!
//! A lazy commit skips the sync of the line, so a power loss may leave new bytes, or half of them, that no
//! line knows. That is harmless for one document whose old content is safe in the journal; every other
//! commit is synced whatever was asked for.

use serde_json::Value;

use super::journal::{self, Lead};
use super::room_transaction::{RoomTransaction, Stage};
use super::{addresses, recover, roster};
use crate::model::kind::Doc;
use crate::model::lease::{Sign, Signs};
use crate::model::listing::{Among, Marks};
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles};
use crate::model::time::{Clock, Moment};
use crate::store::edits::Edits;
use crate::store::engine::{Committed, Durability, Entry, Picking, Rank, Transaction};
use crate::store::error::Result;
use crate::store::texts::Texts;

pub struct FileTransaction<'e> {
    /// In the order of their rooms.
    parts: Vec<RoomTransaction<'e>>,
}

impl<'e> FileTransaction<'e> {
    pub fn new(parts: Vec<RoomTransaction<'e>>) -> Self {
        FileTransaction { parts }
    }

    fn part(&mut self, room: &Room) -> &mut RoomTransaction<'e> {
        let part = self.parts.iter_mut().find(|part| part.place.room == *room);
        part.expect("a transaction is asked for the rooms that it was opened for")
    }
}

/// One room of a commit on its way to the disk.
struct Step<'t, 'e> {
    part: &'t mut RoomTransaction<'e>,
    stage: Stage,
    /// Where its journal ends after it.
    end: u64,
}

/// Lets the lines of several rooms count together or not at all.
fn join(steps: &mut [Step<'_, '_>]) {
    let Some((lead, others)) = steps.split_first_mut().filter(|(_, others)| !others.is_empty()) else {
        return;
    };
    let line = lead.stage.lines.last_mut().expect("a step has something to write");
    line.with = others.iter().map(|other| other.part.place.room.to_string()).collect();
    let lead = Lead { room: lead.part.place.room.to_string(), seq: line.seq, check: journal::checksum(line) };
    for line in others.iter_mut().filter_map(|other| other.stage.lines.last_mut()) {
        line.lead = Some(lead.clone());
    }
}

/// Makes the commit happen: everything up to where nothing can fail any more.
fn carry_out(steps: &mut [Step<'_, '_>], durability: Durability) -> Result<()> {
    steps.iter_mut().try_for_each(|step| step.part.prepare(&mut step.stage))?;
    join(steps);
    append(steps, durability)?;
    for number in 0..steps.len() {
        let Step { part, stage, .. } = &mut steps[number];
        let Err(error) = part.publish(stage) else { continue };
        let restored =
            !error.indeterminate() && steps[..number].iter().rev().all(|step| step.part.restore(&step.stage));
        return Err(if restored && take_back(steps) { error } else { error.into_indeterminate() });
    }
    Ok(())
}

/// Writes the lines, the lead's last: the commit point.
fn append(steps: &mut [Step<'_, '_>], durability: Durability) -> Result<()> {
    for number in (0..steps.len()).rev() {
        let Step { part, stage, end } = &mut steps[number];
        match part.append(&stage.lines, durability) {
            Ok(after) => *end = after,
            // Without the lead's line none of the others counts, even if it cannot be taken back.
            Err(error) if number > 0 => {
                for step in &steps[number..] {
                    let _ = step.part.take_back();
                }
                return Err(error);
            }
            Err(error) => return Err(if take_back(steps) { error } else { error.into_indeterminate() }),
        }
    }
    Ok(())
}

/// Takes all lines back, the lead's first. Returns whether the commit has not happened.
fn take_back(steps: &[Step<'_, '_>]) -> bool {
    let Some((lead, others)) = steps.split_first() else { return true };
    let gone = lead.part.take_back();
    if gone {
        for other in others {
            let _ = other.part.take_back();
        }
    }
    gone
}

impl Transaction for FileTransaction<'_> {
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        self.part(&doc.room).get(doc)
    }

    fn exists(&mut self, doc: &Doc) -> Result<bool> {
        self.part(&doc.room).exists(doc)
    }

    fn documents(&mut self, room: &Room) -> Result<Vec<Doc>> {
        self.part(room).documents()
    }

    /// The files are on this machine.
    fn now(&mut self, here: &dyn Clock) -> Result<Moment> {
        Ok(here.moment())
    }

    fn revision(&mut self, doc: &Doc) -> Result<u64> {
        self.part(&doc.room).revision(doc)
    }

    fn put(&mut self, doc: &Doc, value: Value) -> Result<()> {
        self.part(&doc.room).put(doc, value)
    }

    fn delete(&mut self, doc: &Doc) -> Result<()> {
        self.part(&doc.room).delete(doc)
    }

    fn edits(&mut self, doc: &Doc) -> Result<Edits> {
        self.part(&doc.room).edits(doc)
    }

    fn text_file(&mut self, text_file: &TextFile) -> Result<Option<String>> {
        self.part(&text_file.room()).text_file(text_file)
    }

    fn text_files(&mut self, room: &Room, sort: TextFiles) -> Result<Vec<TextFile>> {
        self.part(room).text_files(sort)
    }

    fn write_text_file(&mut self, text_file: &TextFile, text: String) -> Result<()> {
        self.part(&text_file.room()).write_text_file(text_file, text)
    }

    fn append_text_file(&mut self, text_file: &TextFile, piece: &str) -> Result<()> {
        self.part(&text_file.room()).append_text_file(text_file, piece)
    }

    fn remove_text_file(&mut self, text_file: &TextFile) -> Result<()> {
        self.part(&text_file.room()).remove_text_file(text_file)
    }

    fn text_files_changed(&mut self, room: &Room, sort: TextFiles) -> Result<bool> {
        self.part(room).folder_changed(addresses::folder_of(room, sort))
    }

    fn sign(&mut self, doc: &Doc, sign: Sign, now: &Moment) -> Result<bool> {
        self.part(&doc.room).sign(doc, sign, now)
    }

    fn signs(&mut self, doc: &Doc) -> Result<Signs> {
        self.part(&doc.room).signs(doc)
    }

    fn commit(mut self: Box<Self>, entry: &Entry) -> Result<Committed> {
        let mut steps = Vec::new();
        for part in &mut self.parts {
            part.give_signs()?;
            let stage = part.stage(entry)?;
            match stage.lines.is_empty() {
                true => part.note_folders(),
                false => steps.push(Step { part, stage, end: 0 }),
            }
        }
        let durability = match &steps[..] {
            [only] if only.part.may_be_lazy(&only.stage) => entry.durability,
            _ => Durability::Synced,
        };
        let enlisted = steps.iter().filter(|step| step.part.enlists(&step.stage));
        let enlisted = enlisted.map(|step| &step.part.place).try_for_each(roster::enlist);
        if let Err(error) = enlisted.and_then(|()| carry_out(&mut steps, durability)) {
            steps.iter().for_each(|step| recover::sweep(&step.part.place));
            return Err(error);
        }
        let mut committed = Committed::default();
        // The lead's head goes last: it says that the others have theirs.
        for Step { part, stage, end } in steps.into_iter().rev() {
            let retired = stage.lines.last().filter(|_| part.retires(&stage)).map(|line| line.at.clone());
            let Committed { documents, warnings } = part.finish(stage, end);
            if let Some(at) = retired {
                roster::retire(&part.place, &at);
            }
            committed.documents.splice(0..0, documents);
            committed.warnings.extend(warnings);
        }
        Ok(committed)
    }
}

impl Picking for FileTransaction<'_> {
    fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>> {
        self.part(&doc.room).item(doc, id)
    }

    fn item_at(&mut self, doc: &Doc, position: usize) -> Result<Option<Value>> {
        self.part(&doc.room).item_at(doc, position)
    }

    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()> {
        self.part(&doc.room).put_item(doc, id, item)
    }

    fn remove_items(&mut self, doc: &Doc, ids: &[&str]) -> Result<()> {
        self.part(&doc.room).remove_items(doc, ids)
    }

    fn extend(&mut self, doc: &Doc, items: Texts) -> Result<()> {
        self.part(&doc.room).extend(doc, items)
    }

    fn taken(&mut self, doc: &Doc, ids: &[&str]) -> Result<Option<Vec<bool>>> {
        self.part(&doc.room).taken(doc, ids)
    }

    fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>> {
        self.part(&doc.room).find(doc, among)
    }

    fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>> {
        self.part(&doc.room).best(doc, after, without)
    }

    fn may_be_due(&mut self, doc: &Doc, now: &Moment) -> Result<bool> {
        self.part(&doc.room).may_be_due(doc, now)
    }

    fn due(&mut self, doc: &Doc, now: &Moment) -> Result<Vec<Value>> {
        self.part(&doc.room).due(doc, now)
    }

    fn may_be_occupied(&mut self, doc: &Doc, keys: &[u64]) -> Result<bool> {
        self.part(&doc.room).may_be_occupied(doc, keys)
    }

    fn frame(&mut self, doc: &Doc) -> Result<Option<Value>> {
        self.part(&doc.room).frame(doc)
    }

    fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>> {
        self.part(&doc.room).counts(doc)
    }
}
