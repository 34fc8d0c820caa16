//! Starting a new segment, so that neither recovery nor the disk grows with history.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::addresses::{DocFiles, KindFiles, RoomFiles};
use super::journal::{self, DocEntry, Line, Replay, SNAPSHOT, Segment};
use super::list::layout;
use super::place::{self, Head, HeadDoc, Place, parent};
use super::recover::Glance;
use super::segments::old_segments;
use super::{recover, text_files};
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::names::Names;
use crate::model::room::Room;
use crate::store::error::{Error, Result};

/// Starts a new segment. The commit that triggered it has already happened, so a failure only means that
/// the next commit tries again.
pub fn rotate(place: &Place<'_>, head: &mut Head) {
    if let Ok(Rotated { end, rotate_at }) = try_rotate(place, head) {
        (head.end, head.rotate_at) = (end.unwrap_or(head.end), rotate_at);
        head.life = place.life().unwrap_or_default();
        place.write_head(head);
    }
}

/// What came of it.
struct Rotated {
    /// Length of the new segment, if there is one.
    end: Option<u64>,
    /// When to do it the next time.
    rotate_at: u64,
}

fn try_rotate(place: &Place<'_>, head: &Head) -> Result<Rotated> {
    let mut bytes = place.read(&place.journal())?.unwrap_or_default();
    bytes.truncate(head.end as usize);
    let contents = contents(place, head, &bytes)?;
    let snapshot = snapshot_of(&contents, head, &bytes);
    let next = journal::encode(&snapshot);
    // A segment that is mostly its own snapshot would rotate for ever.
    let long: u64 = contents.iter().flat_map(|content| &content.bytes).map(|bytes| bytes.len() as u64).sum();
    let rotate_at = (4 * next.len() as u64).max(long).max(place.engine.options.segment_bytes);
    if (bytes.len() as u64) < rotate_at {
        return Ok(Rotated { end: None, rotate_at });
    }
    // Asked while the journal is in its place: the room may be the one that holds the configuration.
    let kept = match place.room {
        // Its texts have all that its journal tells.
        Room::Archive => 0,
        _ => place.engine.kept_segments(),
    };
    for Content { file, bytes, .. } in contents {
        if let Some(bytes) = bytes {
            place.store_content(head.seq, &file, &bytes)?;
        }
    }
    sync_documents(place, &snapshot)?;
    let segment = Segment::outline(&bytes);
    text_files::sync(place, &segment)?;
    sync_others(place, &segment)?;
    let failed = |path: &str| {
        let path = path.to_owned();
        move |error| place.failed("rotate", &path, error)
    };
    let (hidden, journal, next_journal) = (place.room.hidden(), place.journal(), place.next_journal());
    // The empty lines are not needed any more.
    place.fs.truncate(&journal, head.end).map_err(failed(&journal))?;
    // Lazy lines may still be on their way to the disk.
    place.fs.sync_file(&journal).map_err(failed(&journal))?;
    place.fs.remove(&next_journal).map_err(failed(&next_journal))?;
    place.fs.write_new(&next_journal, &next).map_err(failed(&next_journal))?;
    place.fs.sync_file(&next_journal).map_err(failed(&next_journal))?;
    place.fs.sync_dir(&hidden).map_err(failed(&hidden))?;
    place.fs.rename(&journal, &place.old_journal(head.seq)).map_err(failed(&journal))?;
    // Else a power loss could keep the second renaming without the first, and the old segment be gone.
    place.fs.sync_dir(&hidden).map_err(failed(&hidden))?;
    place.fs.rename(&next_journal, &journal).map_err(failed(&next_journal))?;
    place.fs.sync_dir(&hidden).map_err(failed(&hidden))?;
    drop_old(place, kept);
    Ok(Rotated { end: Some(next.len() as u64), rotate_at })
}

/// The state of one document that a segment begins with.
struct Content {
    file: String,
    kind: String,
    known: HeadDoc,
    value: Option<Value>,
    /// The bytes, where they are kept beside the journal.
    bytes: Option<Vec<u8>>,
}

/// Returns the last committed state of every document: from its file, unless somebody changed that; then the
/// journal knows. Deleted ones too: their revisions must never come again.
fn contents(place: &Place<'_>, head: &Head, journal: &[u8]) -> Result<Vec<Content>> {
    let (mut contents, mut replay) = (Vec::new(), None);
    for (file, known) in &head.docs {
        let Some(kind) = Doc::kind_at(&place.room, file) else { continue };
        let doc = Doc { kind, room: place.room.clone(), key: kind.key_of(file) };
        let mut content =
            Content { file: file.clone(), kind: kind.name.into(), known: *known, value: None, bytes: None };
        if let Some(sum) = known.sum {
            let published = place.read_doc(file, doc.kind.limit).ok().flatten();
            let published = published.filter(|bytes| place::sum(&doc, bytes) == sum);
            match published {
                Some(bytes) if layout::field_of(&doc).is_some() && bytes.len() >= place.long => {
                    content.bytes = Some(bytes);
                }
                Some(bytes) => content.value = json::parse(&bytes).ok(),
                None => {
                    let replay = replay.get_or_insert_with(|| Replay::of(&place.segment(journal)));
                    content.value = replay.content(file).cloned();
                }
            }
        }
        contents.push(content);
    }
    Ok(contents)
}

fn snapshot_of(contents: &[Content], head: &Head, journal: &[u8]) -> Line {
    let docs = contents.iter().map(|content| DocEntry {
        file: content.file.clone(),
        kind: content.kind.clone(),
        revision: content.known.revision,
        sum: content.known.sum,
        base: None,
        changes: Vec::new(),
        names: Names::new(),
        content: content.value.clone(),
        stored: content.bytes.as_ref().map(|_| place::content_name(head.seq, &content.file)),
    });
    let at = journal::last_time(journal).unwrap_or_default();
    let (by, op, docs) = ("anthill".into(), SNAPSHOT.into(), docs.collect());
    let (text_files, with, undoes, made_from, author, lead, token) = Default::default();
    Line { seq: head.seq, at, by, op, undoes, made_from, author, docs, text_files, with, lead, token }
}

/// Makes the published bytes and names durable: the new segment no longer knows how they came about.
fn sync_documents(place: &Place<'_>, snapshot: &Line) -> Result<()> {
    let mut dirs = BTreeMap::new();
    for entry in &snapshot.docs {
        let path = place.doc(&entry.file);
        if entry.sum.is_some() && place.size(&path)?.is_some() {
            place.fs.sync_file(&path).map_err(|error| place.failed("sync", &path, error))?;
        }
        if Doc::at(&place.room, &entry.file).is_some_and(|doc| layout::field_of(&doc).is_some()) {
            // The other buffer has bytes that no sync has seen. Used again, it could show them after a power loss in a
            // state that the new segment does not know. To sync it is not enough: an earlier sync may have failed.
            let twin = place.twin(&entry.file);
            place.fs.remove(&twin).map_err(|error| place.failed("remove", &twin, error))?;
        }
        dirs.insert(parent(&path).to_owned(), &entry.file);
    }
    dirs.into_values().try_for_each(|file| place.sync_names(file))
}

/// Makes durable that other rooms have published what they share with a segment: nobody will look for its lines.
pub fn sync_others(place: &Place<'_>, segment: &Segment) -> Result<()> {
    let rooms: BTreeSet<Room> = segment.lines.iter().flat_map(Line::others).collect();
    for room in rooms {
        let other = place.engine.place_of(&room);
        if let Glance::Dirty(..) = recover::glance(&other)? {
            return Err(Error::Busy { path: place.fs.display(&room.dir()), waited: Duration::ZERO });
        }
        other.sync_head()?;
    }
    Ok(())
}

/// Removes the oldest segments, and the contents that only they spoke of.
fn drop_old(place: &Place<'_>, keep: usize) {
    let (old, hidden) = (old_segments(place).unwrap_or_default(), place.room.hidden());
    let (dropped, _) = old.split_at(old.len().saturating_sub(keep));
    for path in dropped {
        let _ = place.fs.remove(path);
    }
    // A segment begins with contents of the number that the one before it ended with.
    let number = |name: &str, start: &str| name.strip_prefix(start)?.get(..12)?.parse::<u64>().ok();
    let last = dropped.last().and_then(|path| number(path.rsplit('/').next()?, "journal-"));
    for name in place.fs.entries(&hidden).unwrap_or_default() {
        if number(&name, place::CONTENT).is_some_and(|of| last.is_some_and(|last| of < last)) {
            let _ = place.fs.remove(&format!("{hidden}/{name}"));
        }
    }
}
