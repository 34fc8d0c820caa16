//! A list that is not in its file yet: put together from the texts of its items, each with room to grow. What nobody changed never
//! becomes a value, and is not even held in memory unless somebody saved it there by hand.

use std::borrow::Cow;
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
    /// The fields around the list.
    pub fields: Map<String, Value>,
    pub texts: Vec<Text>,
    /// How long it is when it is written.
    pub size: u64,
    /// What the texts are taken from that stay, if somebody saved that by hand; else they are in the list's file.
    pub saved: Option<Saved>,
}

/// What somebody made of the file.
#[derive(Debug)]
pub struct Saved {
    pub bytes: Vec<u8>,
    /// The checksum of that, and of what counts of it.
    pub base: Sum,
    pub joined: Sum,
    /// What it counts as.
    pub revision: u64,
    pub edit: Edit,
}

/// The text of one item.
#[derive(Debug, Clone)]
pub enum Text {
    /// As it stands where the draft comes from.
    Kept(Range<usize>),
    New(Vec<u8>),
}

impl Text {
    /// Returns the text of an item that stands in a slot.
    pub fn in_slot(slot: Slot) -> Text {
        let start = slot.start as usize;
        Text::Kept(start..start + slot.length as usize)
    }

    fn length(&self) -> usize {
        match self {
            Text::Kept(range) => range.len(),
            Text::New(text) => text.len(),
        }
    }
}

/// Reads texts one behind the other: from memory, or from a file a piece at a time.
pub struct Reader<'r> {
    file: Option<&'r dyn Handle>,
    /// What is in memory, and where it begins.
    bytes: Cow<'r, [u8]>,
    start: usize,
}

impl<'r> Reader<'r> {
    pub fn in_memory(bytes: &'r [u8]) -> Reader<'r> {
        Reader { file: None, bytes: bytes.into(), start: 0 }
    }

    /// Begins to read what stays of a list: from what somebody saved, else from its file.
    pub fn of(file: &'r dyn Handle, saved: Option<&'r Saved>) -> Reader<'r> {
        match saved {
            Some(saved) => Reader::in_memory(&saved.bytes),
            None => Reader { file: Some(file), ..Reader::in_memory(&[]) },
        }
    }

    pub fn text<'t>(&'t mut self, text: &'t Text) -> io::Result<&'t [u8]> {
        let range = match text {
            Text::New(text) => return Ok(text),
            Text::Kept(range) => range,
        };
        let is_there = self.start <= range.start && range.end <= self.start + self.bytes.len();
        if let Some(file) = self.file.filter(|_| !is_there) {
            self.bytes = file.read_at(range.start as u64, range.len().max(PIECE))?.into();
            self.start = range.start;
        }
        let found = self.bytes.get(range.start - self.start..range.end - self.start);
        found.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
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
    pub fn of(doc: &Doc, field: &str, fields: &Map<String, Value>, texts: &[Text]) -> Answer<Plan> {
        let (own, suffix) = sure(layout::frame(fields, field))?;
        let sum = sure(layout::scan(&[&own[..], &suffix[..]].concat(), field, &mut |_, _| {}))?.sum;
        let prefix = (own.len() + layout::FRAME_ROOM) as u64;
        let (mut slots, mut end) = (Vec::with_capacity(texts.len()), prefix);
        for text in texts {
            let slot = layout::slot_behind(text.length(), end, room_of(doc));
            end = slot.end();
            slots.push(slot);
        }
        let size = end + suffix.len() as u64;
        Ok(Plan { frame: Frame { prefix, suffix: end, size, sum }, slots })
    }

    /// Reads all items once more, in their slots.
    pub fn build(&self, mut build: Build, texts: &[Text], mut reader: Reader<'_>) -> Answer<Build> {
        let mut raw = Raw::default();
        for (slot, text) in self.slots.iter().zip(texts) {
            sure(raw.read(sure(reader.text(text).ok())?, 0))?;
            build.add(*slot, &raw);
        }
        Ok(build)
    }
}

impl Draft {
    /// Returns the text of one item.
    pub fn text(&self, position: usize, file: &dyn Handle) -> Option<Vec<u8>> {
        match (self.texts.get(position)?, &self.saved) {
            (Text::Kept(range), None) => file.read_at(range.start as u64, range.len()).ok(),
            (text, saved) => Reader::of(file, saved.as_ref()).text(text).ok().map(<[u8]>::to_vec),
        }
    }

    /// Writes the list, with room for changes.
    pub fn write(&self, doc: &Doc, field: &str, from: &dyn Handle, file: &dyn Handle) -> io::Result<()> {
        let (own, suffix) = layout::frame(&self.fields, field).ok_or(io::ErrorKind::InvalidData)?;
        let mut reader = Reader::of(from, self.saved.as_ref());
        let (mut at, mut piece) = (0, own);
        piece.resize(piece.len() + layout::FRAME_ROOM, b' ');
        for (number, text) in (1..).zip(&self.texts) {
            layout::write_slot(&mut piece, reader.text(text)?, number == self.texts.len(), room_of(doc));
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

impl Saved {
    /// Whether a file still holds what somebody saved. It is compared piece by piece, in memory that is there already.
    pub fn is_in(&self, place: &Place<'_>, path: &str) -> bool {
        let Ok(Some(file)) = place.fs.open(path, Access::Read) else { return false };
        let same = |(at, piece): (usize, &[u8])| {
            file.read_at((at * PIECE) as u64, PIECE).is_ok_and(|found| found == piece)
        };
        file.opened().size == self.bytes.len() as u64 && self.bytes.chunks(PIECE).enumerate().all(same)
    }
}
