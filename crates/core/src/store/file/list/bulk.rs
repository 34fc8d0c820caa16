//! Very many new items at once, behind those that are there.
//!
//! Neither old items nor new ones become values: the old bytes are looked through once and copied, the new texts get
//! their slots. The line of such a commit names a file with the whole content, without room for changes. That file
//! is synced before the line is; the list itself need not be, as with every commit that replaces a file.

use std::io;

use serde_json::{Map, Value};

use super::answer::{Answer, Lost, sure};
use super::index::{Build, Index, Stamp};
use super::layout::{self, Frame, field_of, room_of};
use super::{List, quick_check, stamp_of, write_new};
use crate::model::both::both;
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::raw::Raw;
use crate::model::shape::Shape;
use crate::store::engine::Entry;
use crate::store::error::{Result, Unfit};
use crate::store::file::addresses::{DocFiles, RoomFiles};
use crate::store::file::fs::{Access, Handle};
use crate::store::file::journal::{DocEntry, Sum};
use crate::store::file::place::{Head, Place};
use crate::store::state;
use crate::store::texts::Texts;

/// So much is put together before it is written: it stays in the processor's cache.
const PIECE: usize = 64 << 10;
/// So many items are worth a second thread.
const MANY: usize = 1000;

/// A commit of new items on its way to the disk.
#[derive(Debug)]
pub struct Bulk {
    doc: Doc,
    /// Everything before the new items, and behind them.
    before: Vec<u8>,
    suffix: Vec<u8>,
    frame: Frame,
    build: Option<Build>,
    index: Option<Index>,
    revision: u64,
    sum: Sum,
    /// What it replaces; `None` if there was no file.
    pub base: Option<Sum>,
    /// What the new file looks like, once it is written.
    stamp: Option<u64>,
}

/// What new items are put behind.
struct Start {
    /// The file up to the end of its last item; empty if there is none.
    before: Vec<u8>,
    /// Where its prefix ends.
    prefix: u64,
    build: Build,
    revision: u64,
    base: Option<Sum>,
}

/// Puts items behind those of a list that this transaction has not changed. [`Lost`] leaves that to be done on the
/// whole document.
pub fn behind(list: &List, place: &Place<'_>, items: &Texts, entry: &Entry) -> Result<Answer<Bulk>> {
    let (Ok(fields), Ok(start)) = (list.read_frame(), read_all(list)) else { return Ok(Err(Lost)) };
    state::check_writable(&list.doc, &Value::Object(fields.clone()))
        .map_err(|unfit| unfit.of(place.show(&list.doc)))?;
    seal(&list.doc, fields, start, items, entry)
}

/// Makes a document with these fields and an empty list, and puts items into that.
pub fn fresh(
    doc: &Doc,
    fields: Map<String, Value>,
    revision: u64,
    items: &Texts,
    entry: &Entry,
) -> Result<Answer<Bulk>> {
    let Some(listing) = doc.kind.listing else { return Ok(Err(Lost)) };
    let start = Start { before: Vec::new(), prefix: 0, build: Build::of(listing), revision, base: None };
    seal(doc, fields, start, items, entry)
}

/// Reads a file up to its last item.
fn read_all(list: &List) -> Answer<Start> {
    let Frame { prefix, suffix, size, .. } = list.stored;
    let mut before = list.file.read_at(0, size as usize).map_err(|_| Lost)?;
    let mut build = Build::of(list.listing);
    let found = sure(layout::scan(&before, list.field, &mut |slot, raw| build.add(slot, raw)))?;
    let sum = Sum::from_parts(found.sum, build.items_sum());
    if (found.prefix, found.suffix, sum) != (prefix, suffix, list.sum) {
        return Err(Lost);
    }
    before.truncate(suffix as usize);
    if let Some(last) = build.last() {
        // Without room for a comma the whole list has to be written anew.
        let comma = (last.start + u64::from(last.length)) as usize;
        *sure(before.get_mut(comma).filter(|_| last.room >= last.length))? = b',';
    }
    Ok(Start { before, prefix, build, revision: list.revision, base: Some(list.sum) })
}

fn seal(
    doc: &Doc,
    mut fields: Map<String, Value>,
    start: Start,
    items: &Texts,
    entry: &Entry,
) -> Result<Answer<Bulk>> {
    let revision = start.revision + 1;
    state::stamp_document(doc, &mut fields, revision, entry);
    state::check(doc, &Value::Object(fields.clone())).map_err(|unfit| unfit.of(doc.file()))?;
    let Ok((before, suffix, sum)) = frame(doc, &fields, start.before, start.prefix) else {
        return Ok(Err(Lost));
    };
    let mut build = start.build;
    let end = place_items(doc, &mut build, items, before.len() as u64)?;
    let size = end + suffix.len() as u64;
    if size > doc.kind.limit {
        return Err(Unfit::TooLarge { size, limit: doc.kind.limit }.of(doc.file()));
    }
    let prefix = if start.prefix > 0 { start.prefix } else { before.len() as u64 };
    let frame = Frame { prefix, suffix: end, size, sum };
    let (doc, sum) = (doc.clone(), Sum::from_parts(sum, build.items_sum()));
    let fits = build.fits();
    let (build, index, base, stamp) = (Some(build), None, start.base, None);
    let bulk = Bulk { doc, before, suffix, frame, build, index, revision, sum, base, stamp };
    Ok(if fits { Ok(bulk) } else { Err(Lost) })
}

/// Puts the fields of a document around its items. Returns what stands before and behind the new items, and the sum
/// of the fields.
fn frame(
    doc: &Doc,
    fields: &Map<String, Value>,
    mut before: Vec<u8>,
    prefix: u64,
) -> Answer<(Vec<u8>, Vec<u8>, u64)> {
    let field = sure(field_of(doc))?;
    let (own, suffix) = sure(layout::frame(fields, field))?;
    let sum = sure(layout::scan(&[&own[..], &suffix[..]].concat(), field, &mut |_, _| {}))?.sum;
    if prefix == 0 {
        let room = (own.len() + layout::FRAME_ROOM) as u64;
        before = sure(layout::fill_prefix(own, room))?;
    } else {
        before[..prefix as usize].copy_from_slice(&sure(layout::fill_prefix(own, prefix))?);
    }
    Ok((before, suffix, sum))
}

/// Checks items and gives each a slot, the first one at `at`. Returns where the last one ends. Both halves at once.
fn place_items(doc: &Doc, build: &mut Build, items: &Texts, at: u64) -> Result<u64> {
    let items: Vec<_> = items.iter().collect();
    if items.len() < MANY {
        return place_some(doc, build, &items, at);
    }
    let (items, more) = items.split_at(items.len() / 2);
    let middle = items.iter().fold(at, |at, text| layout::slot_behind(text.len(), at, room_of(doc)).end());
    let mut rest = build.behind(items.len());
    let (placed, end) =
        both(|| place_some(doc, build, items, at), || place_some(doc, &mut rest, more, middle));
    placed?;
    build.append(rest);
    end
}

fn place_some(doc: &Doc, build: &mut Build, items: &[&[u8]], mut at: u64) -> Result<u64> {
    let shape = field_of(doc).and_then(|field| doc.kind.shape.items_of(field)).unwrap_or(&Shape::Any);
    let (mut raw, mut inner, room) = (Raw::default(), Raw::default(), room_of(doc));
    build.reserve(items.len());
    for text in items {
        let read = raw.read(text, 0).is_some();
        if !read || !quick_check::surely_fits(&raw, shape, &mut inner) {
            let path = format!("{}[{}]", field_of(doc).unwrap_or_default(), build.count());
            let value = json::parse(text).map_err(|error| Unfit::Invalid(error.to_string()));
            let checked = value.and_then(|value| state::check_item(doc, &path, &value));
            checked.map_err(|unfit| unfit.of(doc.file()))?;
        }
        let slot = layout::slot_behind(text.len(), at, room);
        build.add(slot, &raw);
        at = slot.end();
    }
    Ok(at)
}

impl Bulk {
    /// Describes the commit for the journal.
    pub fn entry(&self) -> DocEntry {
        let (file, kind) = (self.doc.file().into_owned(), self.doc.kind.name.into());
        let (sum, base, revision) = (Some(self.sum), self.base, self.revision);
        let (changes, names, content, stored) = Default::default();
        DocEntry { file, kind, revision, sum, base, changes, names, content, stored }
    }

    pub fn doc(&self) -> &Doc {
        &self.doc
    }

    /// Writes the content for the line of this number, and the list into the spare.
    pub fn prepare(&mut self, place: &Place<'_>, items: &Texts, seq: u64) -> Result<()> {
        let (content, spare) = (place.content(seq, &self.doc.file()), place.spare(&self.doc.file()));
        let hidden = place.room.hidden();
        let kept = self.write_content(place, items, &content);
        let kept = kept.map_err(|error| place.failed("write", &content, error))?;
        let (build, frame) = (self.build.take(), self.frame);
        let begin = move || {
            // The disk is at work on the content while the list is written. To say so takes a while by itself.
            kept.begin_sync();
            (kept, build.and_then(|build| build.finish(&frame)))
        };
        let (written, (kept, index)) = both(|| self.write_list(place, items, &spare), begin);
        self.stamp = written.map_err(|error| place.failed("write", &spare, error))?;
        self.index = index;
        let synced = kept.sync().and_then(|()| place.fs.sync_dir(&hidden));
        synced.map_err(|error| place.failed("write", &content, error))
    }

    fn write_content(&self, place: &Place<'_>, items: &Texts, path: &str) -> io::Result<Box<dyn Handle>> {
        let file = create(place, path)?;
        let mut at = 0;
        for piece in
            [&self.before[..], layout::GAP].into_iter().chain(items.pieces()).chain([&self.suffix[..]])
        {
            file.write_for_good(at, piece)?;
            at += piece.len() as u64;
        }
        Ok(file)
    }

    /// Writes the list, with room for changes. Returns what the file looks like then, if that can be told.
    fn write_list(&self, place: &Place<'_>, items: &Texts, path: &str) -> io::Result<Option<u64>> {
        let file = create(place, path)?;
        file.write_at(0, &self.before)?;
        let mut at = self.before.len() as u64;
        let mut piece = Vec::with_capacity(PIECE + PIECE / 8);
        for (number, text) in (1..).zip(items.iter()) {
            layout::write_slot(&mut piece, text, number == items.len(), room_of(&self.doc));
            if piece.len() >= PIECE {
                file.write_at(at, &piece)?;
                at += piece.len() as u64;
                piece.clear();
            }
        }
        piece.extend_from_slice(&self.suffix);
        file.write_at(at, &piece)?;
        Ok(file.mark().ok().map(|stat| stamp_of(&stat)))
    }

    /// Puts the spare in the place of the file.
    pub fn publish(&self, place: &Place<'_>) -> Result<()> {
        match self.base {
            Some(_) => place.swap(&self.doc.file(), true),
            None => place.publish_unsynced(&self.doc.file()),
        }
    }

    /// Writes the index of what has been published. Without it the next command makes it.
    pub fn finish(self, place: &Place<'_>, head: &Head) {
        let Bulk { doc, index, revision, sum, stamp, .. } = self;
        let stamp = stamp.map(|file| {
            let (life, sum) = (head.life.number(), sum.bits());
            Stamp { life, file, twin: 0, revision, sum }
        });
        if let (Some(stamp), Some(mut index)) = (stamp, index)
            && index.set_stamp(&stamp).is_some()
        {
            write_new(place, &doc, index);
        }
    }
}

/// Makes a new file in the place of what somebody may have left there.
fn create(place: &Place<'_>, path: &str) -> io::Result<Box<dyn Handle>> {
    place.fs.remove(path)?;
    place.fs.open(path, Access::Create)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}
