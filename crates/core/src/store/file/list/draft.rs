//! A list that is not in its file yet: what counts of an edit by hand, from the texts of those items that nobody changed.

use std::io;
use std::ops::Range;

use serde_json::{Map, Value};

use super::answer::{Answer, sure};
use super::index::Build;
use super::layout::{self, Frame, Slot, room_of};
use crate::model::kind::Doc;
use crate::model::raw::Raw;
use crate::store::file::edits::Edit;
use crate::store::file::fs::{Access, Handle};
use crate::store::file::journal::Sum;
use crate::store::file::place::Place;

/// So much is put together before it is written: it stays in the processor's cache.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub struct Draft {
    /// The file as somebody saved it, and its checksum.
    pub bytes: Vec<u8>,
    pub base: Sum,
    /// What it counts as.
    pub revision: u64,
    /// The fields around the list.
    pub fields: Map<String, Value>,
    pub texts: Vec<Text>,
    pub edit: Edit,
}

/// The text of one item.
#[derive(Debug)]
pub enum Text {
    /// As it stands in the file.
    Kept(Range<usize>),
    New(Vec<u8>),
}

impl Text {
    pub fn of<'t>(&'t self, bytes: &'t [u8]) -> &'t [u8] {
        match self {
            Text::Kept(range) => &bytes[range.clone()],
            Text::New(text) => text,
        }
    }
}

/// Where everything will stand.
#[derive(Debug)]
pub struct Plan {
    pub frame: Frame,
    pub slots: Vec<Slot>,
}

impl Plan {
    /// Gives each item its slot, with room to grow.
    pub fn of(
        doc: &Doc,
        field: &str,
        fields: &Map<String, Value>,
        texts: &[Text],
        bytes: &[u8],
    ) -> Answer<Plan> {
        let (own, suffix) = sure(layout::frame(fields, field))?;
        let sum = sure(layout::scan(&[&own[..], &suffix[..]].concat(), field, &mut |_, _| {}))?.sum;
        let prefix = (own.len() + layout::FRAME_ROOM) as u64;
        let (mut slots, mut end) = (Vec::with_capacity(texts.len()), prefix);
        for text in texts {
            let slot = layout::slot_behind(text.of(bytes).len(), end, room_of(doc));
            end = slot.end();
            slots.push(slot);
        }
        let size = end + suffix.len() as u64;
        Ok(Plan { frame: Frame { prefix, suffix: end, size, sum }, slots })
    }

    /// Reads all items once more, in their slots.
    pub fn build(&self, mut build: Build, texts: &[Text], bytes: &[u8]) -> Answer<Build> {
        let mut raw = Raw::default();
        for (slot, text) in self.slots.iter().zip(texts) {
            sure(raw.read(text.of(bytes), 0))?;
            build.add(*slot, &raw);
        }
        Ok(build)
    }
}

impl Draft {
    pub fn text(&self, position: usize) -> Option<&[u8]> {
        self.texts.get(position).map(|text| text.of(&self.bytes))
    }

    /// Whether a file still holds what somebody saved. It is compared piece by piece, in memory that is there already.
    pub fn is_in(&self, place: &Place<'_>, path: &str) -> bool {
        let Ok(Some(file)) = place.fs.open(path, Access::Read) else { return false };
        let same = |(at, piece): (usize, &[u8])| {
            file.read_at((at * PIECE) as u64, PIECE).is_ok_and(|found| found == piece)
        };
        file.opened().size == self.bytes.len() as u64 && self.bytes.chunks(PIECE).enumerate().all(same)
    }

    /// Writes the list, with room for changes.
    pub fn write(&self, doc: &Doc, field: &str, file: &dyn Handle) -> io::Result<()> {
        let (own, suffix) = layout::frame(&self.fields, field).ok_or(io::ErrorKind::InvalidData)?;
        let (mut at, mut piece) = (0, own);
        piece.resize(piece.len() + layout::FRAME_ROOM, b' ');
        for (number, text) in (1..).zip(&self.texts) {
            layout::write_slot(&mut piece, text.of(&self.bytes), number == self.texts.len(), room_of(doc));
            if piece.len() >= PIECE {
                file.write_at(at, &piece)?;
                at += piece.len() as u64;
                piece.clear();
            }
        }
        piece.extend_from_slice(&suffix);
        file.write_at(at, &piece)
    }
}
