//! Starting a new segment, so that neither recovery nor the disk grows with history.

use std::collections::BTreeMap;

use super::journal::{self, DocEntry, Line, Replay, SNAPSHOT, Segment};
use super::place::{Head, Place, parent};
use super::{FileEngine, papers};
use crate::store::error::Result;

/// Starts a new segment. The commit that triggered it has already happened, so a failure only means that
/// the next commit tries again.
pub fn rotate(place: &Place<'_>, engine: &FileEngine, head: &mut Head) {
    if let Ok(Some(end)) = try_rotate(place, engine, head) {
        head.end = end;
        head.life = place.life().unwrap_or_default();
        place.write_head(head);
    }
}

fn try_rotate(place: &Place<'_>, engine: &FileEngine, head: &Head) -> Result<Option<u64>> {
    let bytes = place.read(&place.journal())?.unwrap_or_default();
    let segment = Segment::parse(&bytes);
    let snapshot = snapshot_of(&segment, head);
    let next = journal::encode(&snapshot);
    // A segment that is mostly its own snapshot would rotate for ever.
    if (bytes.len() as u64) < 4 * next.len() as u64 {
        return Ok(None);
    }
    sync_documents(place, &snapshot)?;
    papers::sync(place, &segment)?;
    let failed = |path: &str| {
        let path = path.to_owned();
        move |error| place.failed("rotate", &path, error)
    };
    let (hidden, journal, next_journal) = (place.room.hidden(), place.journal(), place.next_journal());
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
    drop_old(place, engine.kept_segments());
    Ok(Some(next.len() as u64))
}

/// Repeats the state of every document. Deleted ones too: their revisions must never come again.
fn snapshot_of(segment: &Segment, head: &Head) -> Line {
    let docs = Replay::of(segment).docs.into_iter().map(|(file, known)| DocEntry {
        file,
        kind: known.kind,
        revision: known.revision,
        sum: known.sum,
        base: None,
        changes: Vec::new(),
        content: known.sum.map(|_| known.content),
    });
    let at = segment.lines.last().map(|line| line.at.clone()).unwrap_or_default();
    let (by, op, docs) = ("anthill".into(), SNAPSHOT.into(), docs.collect());
    Line { seq: head.seq, at, by, op, undoes: None, docs, papers: Vec::new() }
}

/// Makes the published bytes and names durable: the new segment no longer knows how they came about.
fn sync_documents(place: &Place<'_>, snapshot: &Line) -> Result<()> {
    let mut dirs = BTreeMap::new();
    for entry in &snapshot.docs {
        let path = place.doc(&entry.file);
        if entry.sum.is_some() && place.size(&path)?.is_some() {
            place.fs.sync_file(&path).map_err(|error| place.failed("sync", &path, error))?;
        }
        dirs.insert(parent(&path).to_owned(), &entry.file);
    }
    dirs.into_values().try_for_each(|file| place.sync_names(file))
}

/// Returns the names of the older segments, oldest first.
pub fn old_segments(place: &Place<'_>) -> Result<Vec<String>> {
    let hidden = place.room.hidden();
    let names = place.fs.entries(&hidden).map_err(|error| place.failed("list", &hidden, error))?;
    let old = names.into_iter().filter(|name| name.starts_with("journal-") && name.ends_with(".jsonl"));
    Ok(old.map(|name| format!("{hidden}/{name}")).collect())
}

fn drop_old(place: &Place<'_>, keep: usize) {
    let old = old_segments(place).unwrap_or_default();
    for path in old.iter().take(old.len().saturating_sub(keep)) {
        let _ = place.fs.remove(path);
    }
}
