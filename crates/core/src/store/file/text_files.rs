//! Texts beside the documents: written with a commit, and once more after a crash.
//!
//! Their bytes are in the commit's journal line, so they are not synced; a new segment syncs them. After a
//! crash the room's next writer compares each text with the lines that may not have reached it:
//!
//! | the place of a piece holds | meaning | action |
//! | --- | --- | --- |
//! | the piece | it is there | none |
//! | nothing, or the piece with holes | killed before writing it, or power was lost | write it |
//! | something else | others wrote there | same life: append it, unless it stands elsewhere. Else leave the text |
//!
//! A text that was removed is removed again if it is what the line says was there.
//!
//! In another life something else means that a person edited the text, and what is missing was taken out on
//! purpose. A text that is written as a whole is judged like a document: by what it replaced.

use std::collections::BTreeMap;

use super::addresses::PaperFiles;
use super::fs::Handle;
use super::journal::{Segment, Sum, TextEntry};
use super::place::{Place, parent};
use crate::model::room::Room;
use crate::model::text_file::{TextFile, Writing};
use crate::store::error::{Error, Result};

/// The largest text that we read.
pub const LIMIT: u64 = 64 << 20;

/// One text of a commit on its way to the disk.
pub struct Staged {
    pub entry: TextEntry,
    /// Whether the file was there before.
    existed: bool,
    /// The file that a piece is appended to.
    file: Option<Box<dyn Handle>>,
}

impl Staged {
    /// Looks at the file that a text is to be written to, or appended to.
    ///
    /// `None` if it is to be removed and is not there.
    pub fn new(place: &Place<'_>, file: String, writing: Writing) -> Result<Option<Staged>> {
        let (text, append, gone) = match writing {
            Writing::Whole(text) => (text, false, false),
            Writing::Piece(text) => (text, true, false),
            Writing::Gone => (String::new(), false, true),
        };
        if append && let Some(opened) = place.open_to_append(&file)? {
            let entry = TextEntry { file, at: Some(opened.opened().size), base: None, text, gone };
            return Ok(Some(Staged { entry, existed: true, file: Some(opened) }));
        }
        let replaced = if append { None } else { place.read_doc(&file, LIMIT)? };
        let (existed, base) = (replaced.is_some(), replaced.as_deref().map(Sum::of));
        if gone && !existed {
            return Ok(None);
        }
        let at = append.then_some(0);
        Ok(Some(Staged { entry: TextEntry { file, at, base, text, gone }, existed, file: None }))
    }

    /// Puts a new text beside the old one. Whatever can run out for it runs out here.
    pub fn prepare(&self, place: &Place<'_>) -> Result<()> {
        if !self.existed {
            place.make_dirs(parent(&place.doc(&self.entry.file)))?;
        }
        match self.entry.at {
            None if self.entry.gone => Ok(()),
            None => place.write_spare(&self.entry.file, self.entry.text.as_bytes()),
            Some(_) => Ok(()),
        }
    }

    /// Puts the text in its place, or fails and leaves the file as it was (else it is indeterminate).
    pub fn publish(&self, place: &Place<'_>) -> Result<()> {
        let published = match &self.file {
            Some(file) => {
                let path = place.doc(&self.entry.file);
                file.append(self.entry.text.as_bytes()).map_err(|error| place.failed("write", &path, error))
            }
            None => write(place, &self.entry, self.existed),
        };
        // A swap that failed has changed nothing; half a piece, or a name that is there after all, has to go.
        let swapped = self.existed && self.entry.at.is_none();
        let taken_back = |error: Error| match swapped || self.restore(place) {
            true => error,
            false => error.into_indeterminate(),
        };
        published.map_err(taken_back)
    }

    /// Takes a published text back. Returns whether that worked.
    pub fn restore(&self, place: &Place<'_>) -> bool {
        let path = place.doc(&self.entry.file);
        let restored = match self.entry.at {
            _ if !self.existed => place.fs.remove(&path).map(drop),
            Some(at) => match place.fs.size(&path) {
                // Somebody else's piece stands behind ours.
                Ok(Some(size)) if size > at + self.entry.text.len() as u64 => return false,
                _ => place.fs.truncate(&path, at),
            },
            None if self.entry.gone => place.fs.rename(&place.spare(&self.entry.file), &path),
            None => {
                let (spare, copy) = (place.spare(&self.entry.file), place.copy(&self.entry.file));
                place.fs.exchange(&spare, &path).or_else(|_| place.fs.rename(&copy, &path))
            }
        };
        // Durably: otherwise a power loss could bring back what no line knows any more.
        let synced = || !self.existed || place.fs.sync_file(&path).is_ok();
        restored.is_ok() && synced() && place.sync_swapped(&self.entry.file).is_ok()
    }

    /// Removes what was swapped out.
    pub fn clear(&self, place: &Place<'_>) {
        if self.entry.at.is_none() && self.existed {
            place.clear_spare(&self.entry.file);
        }
    }
}

fn write(place: &Place<'_>, entry: &TextEntry, exists: bool) -> Result<()> {
    let path = place.doc(&entry.file);
    match entry.at {
        None if entry.gone => place.fs.rename(&path, &place.spare(&entry.file)),
        Some(_) => place.fs.append(&path, entry.text.as_bytes()),
        None if exists => return place.swap(&entry.file, true),
        None => place.fs.rename(&place.spare(&entry.file), &path),
    }
    .map_err(|error| place.failed("write", &path, error))
}

/// Writes what a crash kept from the texts. `published` is the last line that surely reached them; in
/// another life there is none, and any of the segment's lines may be missing.
pub fn redo(place: &Place<'_>, segment: &Segment, published: Option<u64>) -> Result<()> {
    let mut by_file: BTreeMap<&str, Vec<&TextEntry>> = BTreeMap::new();
    let missed = segment.lines.iter().filter(|line| published.is_none_or(|seq| line.seq > seq));
    for entry in missed.flat_map(|line| &line.text_files).filter(|entry| is_ours(&place.room, &entry.file)) {
        by_file.entry(&entry.file).or_default().push(entry);
    }
    for (file, entries) in by_file {
        redo_file(place, file, &entries, published.is_some())?;
    }
    Ok(())
}

/// A journal may come from a stranger's repository: it names no other files than text files.
fn is_ours(room: &Room, file: &str) -> bool {
    TextFile::at(room, file).is_some()
}

fn redo_file(place: &Place<'_>, file: &str, entries: &[&TextEntry], same_life: bool) -> Result<()> {
    let path = place.doc(file);
    let found = match place.read_doc(file, LIMIT) {
        // What is no text any more is not ours to replace.
        Err(Error::NotAFile { .. }) => return Ok(()),
        other => other?,
    };
    let bytes = found.as_deref().unwrap_or_default();
    if let Some(removed) = entries.last().filter(|entry| entry.gone) {
        return if found.is_some() {
            redo_removal(place, removed, bytes, entries, same_life)
        } else {
            Ok(())
        };
    }
    let Some(wanted) = wanted(bytes, entries, same_life) else { return Ok(()) };
    if found.is_some() && wanted == bytes {
        return Ok(());
    }
    place.make_dirs(parent(&path))?;
    place.write_spare(file, &wanted)?;
    let (file, text) = (file.to_owned(), String::new());
    write(place, &TextEntry { file, at: None, base: None, text, gone: false }, found.is_some())
}

/// Removes a text once more that stands as it did before its removal; in another life also as it did earlier.
fn redo_removal(
    place: &Place<'_>,
    removed: &TextEntry,
    bytes: &[u8],
    entries: &[&TextEntry],
    same_life: bool,
) -> Result<()> {
    let earlier = || entries.iter().any(|entry| is_loss(bytes, entry));
    if removed.base != Some(Sum::of(bytes)) && (same_life || !earlier()) {
        return Ok(());
    }
    let path = place.doc(&removed.file);
    place.fs.remove(&path).map_err(|error| place.failed("remove", &path, error))?;
    place.sync_names(&removed.file)
}

/// Returns what the text must be; `None` if a person has edited it.
fn wanted(bytes: &[u8], entries: &[&TextEntry], same_life: bool) -> Option<Vec<u8>> {
    let last = entries.iter().rposition(|entry| entry.at.is_none() && !entry.gone);
    let (whole, pieces) = entries.split_at(last.map_or(0, |last| last + 1));
    let mut text = match whole.last() {
        Some(entry) if !bytes.starts_with(entry.text.as_bytes()) => {
            let lost = whole.iter().filter(|entry| entry.at.is_none()).any(|entry| is_loss(bytes, entry));
            (same_life || lost).then(|| entry.text.clone().into_bytes())?
        }
        _ => bytes.to_vec(),
    };
    for piece in pieces {
        text = with_piece(text, piece.at?, &piece.text, same_life)?;
    }
    Some(text)
}

/// Whether this is what a power loss leaves of a text, or what was there before it.
fn is_loss(bytes: &[u8], entry: &TextEntry) -> bool {
    let text = entry.text.as_bytes();
    (bytes.len() <= text.len() && has_holes(bytes, text)) || entry.base == Some(Sum::of(bytes))
}

/// Returns the text with the piece in it; `None` if a person has edited the text.
fn with_piece(mut text: Vec<u8>, at: u64, piece: &str, same_life: bool) -> Option<Vec<u8>> {
    let (at, piece) = (usize::try_from(at).ok()?, piece.as_bytes());
    match text.get(at..).map(|rest| &rest[..rest.len().min(piece.len())]) {
        Some(found) if has_holes(found, piece) => {
            text.resize(text.len().max(at + piece.len()), 0);
            text[at..at + piece.len()].copy_from_slice(piece);
        }
        _ if contains(&text, piece) => {}
        Some(_) if !same_life => return None,
        _ => text.extend_from_slice(piece),
    }
    Some(text)
}

/// Whether `found` is the beginning of `text` but for bytes that are still zero.
fn has_holes(found: &[u8], text: &[u8]) -> bool {
    found.iter().zip(text).all(|(found, text)| found == text || *found == 0)
}

fn contains(bytes: &[u8], piece: &[u8]) -> bool {
    !piece.is_empty() && bytes.windows(piece.len()).any(|window| window == piece)
}

/// Makes the texts durable that a segment speaks of: the next one no longer has their bytes.
pub fn sync(place: &Place<'_>, segment: &Segment) -> Result<()> {
    let entries = segment.lines.iter().flat_map(|line| &line.text_files);
    let files: BTreeMap<&str, ()> = entries.map(|entry| (entry.file.as_str(), ())).collect();
    let mut dirs = BTreeMap::new();
    for file in files.into_keys().filter(|file| is_ours(&place.room, file)) {
        let path = place.doc(file);
        // That a name is gone has to be durable too.
        dirs.insert(parent(&path).to_owned(), file);
        match place.size(&path) {
            Ok(None) | Err(Error::UnsupportedPlace { .. }) => continue,
            found => drop(found?),
        }
        place.fs.sync_file(&path).map_err(|error| place.failed("sync", &path, error))?;
    }
    dirs.into_values().try_for_each(|file| place.sync_names(file))
}
