//! What `doctor` finds in a room, and how it mends it.

use super::fs::{Access, Lock};
use super::journal::{Replay, Segment};
use super::place::{self, Head, Place, parent};
use super::recover::sweep;
use super::{FileEngine, papers, recover, rotate};
use crate::error::Code;
use crate::model::kind::Doc;
use crate::model::paper::Paper;
use crate::model::room::Room;
use crate::store::engine::{Engine, Finding};
use crate::store::error::{Error, Result};
use crate::store::state;

/// Looks through a room. Entering it finishes and sweeps whatever a crash left.
pub fn check(engine: &FileEngine, room: &Room, repair: bool) -> Result<Vec<Finding>> {
    let place = match engine.open(room) {
        Ok(place) => place,
        Err(error) => return Ok(vec![finding(&error, room, LOCAL_DISK)]),
    };
    // Where anthill never wrote there is nothing to finish, and looking must leave no trace.
    if place.fs.entries(&room.hidden()).is_ok_and(|names| names.is_empty()) {
        return check_documents(engine, &place, &Head::default(), false);
    }
    let (_lock, mut head) = match enter(engine, &place, repair) {
        Ok(entered) => entered,
        Err(error) => return Ok(vec![finding(&error, room, FREE_CAUSE)]),
    };
    sweep(&place);
    let mut findings = check_segments(&place, repair)?;
    findings.extend(check_journal(engine, &place, &mut head, repair)?);
    // What cannot even be looked at is found before anything is mended.
    findings.extend(check_papers(&place));
    findings.extend(check_own(&place, repair)?);
    findings.extend(check_documents(engine, &place, &head, repair)?);
    findings.extend(check_gone(&place, &head, repair)?);
    Ok(findings)
}

/// Takes the room's lock. Where we may only read, and nothing is left to finish, a reader's is enough to look.
fn enter(engine: &FileEngine, place: &Place<'_>, repair: bool) -> Result<(Box<dyn Lock>, Head)> {
    let error = match engine.enter(place) {
        Err(error) if error.is_read_only() && !repair => error,
        entered => return entered,
    };
    let peeped = engine.peep(&place.room)?;
    peeped.map(|(_, head, lock)| (lock, head)).ok_or(error)
}

/// Looks for documents that the last commit left and that are not there any more.
fn check_gone(place: &Place<'_>, head: &Head, repair: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (file, known) in &head.docs {
        let Some(doc) = Doc::at(&place.room, file) else { continue };
        let Err(error @ Error::Gone { .. }) = place.missed(&doc, Some(known)) else { continue };
        let shown = place.show(&doc);
        findings.push(match last_good(place, head, &doc)? {
            None => finding(&error, &shown, NO_COPY),
            Some(_) if !repair => finding(&error, &shown, BRING_BACK),
            Some(good) => {
                place.make_dirs(parent(&doc.path()))?;
                place.write_spare(&doc.file, &good)?;
                place.swap(&doc.file, false)?;
                Finding {
                    repaired: true,
                    ..finding(&error, &shown, "brought back what the last commit left")
                }
            }
        });
    }
    Ok(findings)
}

/// Looks for what stands in the place of a file of our own and is none.
fn check_own(place: &Place<'_>, repair: bool) -> Result<Vec<Finding>> {
    let (hidden, mut findings) = (place.room.hidden(), Vec::new());
    let names = place.fs.entries(&hidden).map_err(|error| place.failed("list", &hidden, error))?;
    let is_ours = |name: &&String| OWN.iter().any(|own| name.starts_with(own));
    for path in names.iter().filter(is_ours).map(|name| format!("{hidden}/{name}")) {
        let Err(error) = place.fs.size(&path) else { continue };
        let mut found = finding(&place.no_file("look at", &path, error), &place.fs.display(&path), AWAY);
        if repair {
            let kept = place.set_aside(&path).map_err(|error| place.failed("move", &path, error))?;
            (found.fix, found.repaired) = (format!("moved to `{}`", place.fs.display(&kept)), true);
        }
        findings.push(found);
    }
    Ok(findings)
}

/// How the names begin of files that are made anew when they are missing.
const OWN: [&str; 3] = ["twin-", "index-", "next-"];

/// Looks for what stands in the place of a text and is none.
fn check_papers(place: &Place<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in Paper::folders(&place.room) {
        let dir = if folder.is_empty() { place.room.dir() } else { place.doc(folder) };
        let names = match place.fs.entries(&dir) {
            Ok(names) => names,
            Err(error) => {
                findings.push(finding(
                    &place.failed("list", &dir, error),
                    &place.fs.display(&dir),
                    NO_FOLDER,
                ));
                continue;
            }
        };
        let files = names
            .iter()
            .map(|name| if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") });
        for file in files.filter(|file| Paper::at(&place.room, file).is_some()) {
            if let Err(error) = place.text_size(&file, papers::LIMIT) {
                findings.push(finding(&error, &place.fs.display(&place.doc(&file)), NO_TEXT));
            }
        }
    }
    if let Some(paper) = Paper::beside(&place.room)
        && let Err(error) = place.text_size(&paper.file(), papers::LIMIT)
    {
        findings.push(finding(&error, &place.fs.display(&paper.path()), NO_TEXT));
    }
    findings
}

const LOCAL_DISK: &str = "move the state to a local disk, or pass --allow-network-fs";
const FREE_CAUSE: &str = "free the cause and run `anthill doctor` again";
const REPAIR: &str =
    "run `anthill doctor --repair`: it restores the last good content and keeps this file aside";
const BRING_BACK: &str = "run `anthill doctor --repair`: it brings back what the last commit left";
const AWAY: &str = "run `anthill doctor --repair`: it moves it aside";
const NO_FOLDER: &str = "replace it by a directory, or remove it";
const NO_TEXT: &str = "move it away: a text is to be written there";
const NO_COPY: &str = "no good copy is known: correct the file, or move it away to start anew";

fn check_documents(
    engine: &FileEngine,
    place: &Place<'_>,
    head: &Head,
    repair: bool,
) -> Result<Vec<Finding>> {
    let documents = engine.documents(&place.room)?;
    let checked = documents.iter().map(|doc| check_document(place, head, doc, repair));
    Ok(checked.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn check_document(place: &Place<'_>, head: &Head, doc: &Doc, repair: bool) -> Result<Option<Finding>> {
    let shown = place.show(doc);
    let bytes = match place.read_doc(&doc.file, doc.kind.limit) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(error) => return Ok(Some(finding(&error, &shown, "replace it by a regular file"))),
    };
    let opened = state::open(doc, &shown, &bytes);
    let Err(error) = opened.and_then(|value| state::check_writable(doc, &shown, &value)) else {
        return Ok(None);
    };
    if error.code() == Code::Unsupported {
        return Ok(Some(finding(&error, &shown, "use a newer anthill")));
    }
    let found = match last_good(place, head, doc)? {
        None => finding(&error, &shown, NO_COPY),
        Some(_) if !repair => finding(&error, &shown, REPAIR),
        Some(good) => {
            let kept = restore(place, doc, &bytes, &good)?;
            let fix = format!("restored the last good content; the bad file is `{kept}`");
            Finding { repaired: true, ..finding(&error, &shown, fix) }
        }
    };
    Ok(Some(found))
}

/// Puts the last good content in place of the bad one and returns where that is kept.
fn restore(place: &Place<'_>, doc: &Doc, bad: &[u8], good: &[u8]) -> Result<String> {
    let kept = place.quarantine(&doc.file, bad)?;
    let spare = place.spare(&doc.file);
    place.write_spare(&doc.file, good)?;
    // No line will tell of this, so the file itself must be durable.
    place.fs.sync_file(&spare).map_err(|error| place.failed("sync", &spare, error))?;
    place.swap(&doc.file, true)?;
    place.sync_swapped(&doc.file).map_err(|error| {
        let back = place.swap(&doc.file, true).is_ok();
        if back { error } else { error.into_indeterminate() }
    })?;
    sweep(place);
    Ok(kept)
}

/// Returns the bytes of the document's newest content that the journal knows.
fn last_good(place: &Place<'_>, head: &Head, doc: &Doc) -> Result<Option<Vec<u8>>> {
    let bytes = place.read(&place.journal())?.unwrap_or_default();
    let mut replay = Replay::of(&place.segment(&bytes));
    let known = replay.docs.remove(&doc.file).filter(|known| known.sum.is_some());
    debug_assert!(
        known.is_none() || head.docs.contains_key(&doc.file),
        "the head knows what the journal knows"
    );
    Ok(known.map(|known| place::render(doc, &known.content)))
}

/// Looks for damage that the head hides: its length is right, its bytes are not.
fn check_journal(
    engine: &FileEngine,
    place: &Place<'_>,
    head: &mut Head,
    repair: bool,
) -> Result<Option<Finding>> {
    let bytes = place.read(&place.journal())?.unwrap_or_default();
    let segment = Segment::parse(&bytes);
    if segment.rest == 0 && segment.good == head.end {
        return Ok(None);
    }
    let mut found = Finding {
        code: Code::Damaged,
        subject: place.fs.display(&place.journal()),
        message: format!("history is damaged after line {}; the state itself is not", segment.lines.len()),
        fix: "run `anthill doctor --repair`: it cuts the journal there".into(),
        repaired: false,
    };
    if repair {
        // The lines that go were the promise that the files survive a power loss.
        for doc in engine.documents(&place.room)? {
            let path = doc.path();
            place.fs.sync_file(&path).map_err(|error| place.failed("sync", &path, error))?;
            place.sync_swapped(&doc.file)?;
        }
        *head = recover::finish(place, &recover::plan(place, Some(head), place.life()?)?)?;
        found.fix = "cut the journal there; what came after is told as an edit by hand".into();
        found.repaired = true;
    }
    Ok(Some(found))
}

/// Looks for older segments with damage.
fn check_segments(place: &Place<'_>, repair: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in rotate::old_segments(place)? {
        let bytes = place.read(&path)?.unwrap_or_default();
        if Segment::parse(&bytes).rest == 0 {
            continue;
        }
        let mut found = Finding {
            code: Code::Damaged,
            subject: place.fs.display(&path),
            message: "old history is damaged; the state itself is not".into(),
            fix: "run `anthill doctor --repair`: it moves the segment aside".into(),
            repaired: false,
        };
        if repair {
            let name = path.rsplit('/').next().unwrap_or_default();
            found.fix = format!("moved to `{}`", place.quarantine(name, &bytes)?);
            place.fs.remove(&path).map_err(|error| place.failed("remove", &path, error))?;
            found.repaired = true;
        }
        findings.push(found);
    }
    Ok(findings)
}

fn finding(error: &Error, subject: &impl ToString, fix: impl Into<String>) -> Finding {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let message = format!("{error}{source}");
    Finding { code: error.code(), subject: subject.to_string(), message, fix: fix.into(), repaired: false }
}

/// Tries what lists are quick by. Two files that nobody else uses are made for it and removed.
pub fn notes(place: &Place<'_>) -> Result<Vec<String>> {
    let _lock = place.lock()?;
    let (one, other) = (place.spare("probe"), place.copy("probe"));
    let mut notes = Vec::new();
    let made = place.write_spare("probe", b"x").and_then(|()| {
        place
            .fs
            .remove(&other)
            .and_then(|_| place.fs.write_new(&other, b"y"))
            .map_err(|error| place.failed("write", &other, error))
    });
    if made.is_ok() {
        let alone = place.fs.open(&one, Access::Write).ok().flatten().map(|file| file.is_alone());
        if !matches!(alone, Some(Ok(true))) {
            notes.push(format!(
                "`{}` cannot tell who has a file open: every change of the queue copies it",
                place.fs.display("")
            ));
        }
        if place.fs.exchange(&one, &other).is_err() {
            notes.push(format!(
                "`{}` cannot exchange two names: every change of the queue copies it",
                place.fs.display("")
            ));
        }
    }
    let _ = place.fs.remove(&one);
    let _ = place.fs.remove(&other);
    made.map(|()| notes)
}
