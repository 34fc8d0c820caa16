//! What `doctor` finds in a room, and how it mends it.

use std::io;

use super::addresses::{DocFiles, PaperFiles, RoomFiles};
use super::edits::ASIDE;
use super::fs::{Access, Lock};
use super::journal::{Replay, Segment};
use super::place::{self, Head, Place, QUARANTINE, parent};
use super::recover::sweep;
use super::roots::FileEngine;
use super::segments::old_segments;
use super::{recover, text_files};
use crate::error::Code;
use crate::hint;
use crate::model::hint::Hint;
use crate::model::kind::Doc;
use crate::model::next::{Next, With};
use crate::model::room::Room;
use crate::model::text_file::TextFile;
use crate::store::engine::{Engine, Finding};
use crate::store::error::{Error, Result};
use crate::store::state;

/// Looks through a room. Entering it finishes and sweeps whatever a crash left.
pub fn check(engine: &FileEngine, room: &Room, repair: bool) -> Result<Vec<Finding>> {
    let place = match engine.open(room) {
        Ok(place) => place,
        Err(error) => return Ok(vec![finding(&error, room, local_disk())]),
    };
    // Where anthill never wrote there is nothing to finish, and looking must leave no trace.
    match place.fs.entries(&room.hidden()) {
        Ok(names) if names.is_empty() => return check_documents(engine, &place, &Head::default(), false),
        Ok(_) => {}
        Err(error) => return Ok(vec![no_room(&place, error)]),
    }
    let mut findings = match if repair { move_away(&place) } else { Ok(Vec::new()) } {
        Ok(findings) => findings,
        Err(error) => return Ok(vec![finding(&error, room, free_cause())]),
    };
    let (_lock, mut head) = match enter(engine, &place, repair) {
        Ok(entered) => entered,
        Err(error) => return in_the_way(&place, &error),
    };
    sweep(&place);
    // Whoever enters makes some of it anew.
    findings.extend(odd_files(&place)?.iter().map(|(path, error)| misplaced(&place, path, error)));
    findings.extend(check_segments(&place, repair)?);
    findings.extend(check_journal(engine, &place, &mut head, repair)?);
    findings.extend(check_text_files(&place));
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
    for file in head.docs.keys() {
        let Some(doc) = Doc::at(&place.room, file) else { continue };
        let error = match place.missed(&doc, head) {
            Err(error @ Error::Gone { .. }) => error,
            // What is no file is told of by those who read it; a disk that fails says nothing.
            Ok(_) | Err(Error::NotAFile { .. }) => continue,
            Err(error) => return Err(error),
        };
        let shown = place.show(&doc);
        findings.push(match last_good(place, head, &doc)? {
            None => {
                let anew = Next::Delete { doc: (&doc).into(), path: None };
                finding(&error, &shown, hint![format!("{BEGIN_ANEW}: `"), anew, "`"])
            }
            Some(_) if !repair => {
                let anew = Next::Delete { doc: (&doc).into(), path: None };
                let fix = hint![
                    "run `",
                    Next::Repair,
                    format!("`: it brings back what the last commit left; or {BEGIN_ANEW}: `"),
                    anew,
                    "`"
                ];
                finding(&error, &shown, fix)
            }
            Some(good) => {
                place.make_dirs(parent(&doc.path()))?;
                let spare = place.write_spare(&doc.file(), &good).map(|()| place.spare(&doc.file()))?;
                place.fs.sync_file(&spare).map_err(|error| place.failed("sync", &spare, error))?;
                place.swap(&doc.file(), false)?;
                place.sync_swapped(&doc.file())?;
                Finding {
                    repaired: true,
                    ..finding(&error, &shown, "brought back what the last commit left")
                }
            }
        });
    }
    Ok(findings)
}

const BEGIN_ANEW: &str = "begin anew without it";

/// Says that the directory of our own files is none, or why we cannot know.
fn no_room(place: &Place<'_>, error: io::Error) -> Finding {
    let hidden = place.room.hidden();
    match is_other(&error) {
        true => Finding { fix: NO_ROOM.into(), ..misplaced(place, &hidden, &error) },
        false => finding(&place.failed("list", &hidden, error), &place.room, free_cause()),
    }
}

/// Whether an error says that something else is there. A disk that fails says nothing.
fn is_other(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory)
}

/// Names what keeps us from entering.
fn in_the_way(place: &Place<'_>, error: &Error) -> Result<Vec<Finding>> {
    let odd = odd_files(place).unwrap_or_default();
    let named: Vec<_> = odd.iter().map(|(path, error)| misplaced(place, path, error)).collect();
    Ok(if named.is_empty() { vec![finding(error, &place.room, free_cause())] } else { named })
}

/// Moves away what stands in the place of a file or directory of our own and is none.
fn move_away(place: &Place<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut away = |(path, error): &(String, io::Error)| {
        let kept = place.set_aside(path).map_err(|error| place.failed("move", path, error))?;
        let fix = format!("moved to `{}`", place.fs.display(&kept)).into();
        findings.push(Finding { fix, repaired: true, ..misplaced(place, path, error) });
        Ok::<_, Error>(())
    };
    // Nobody has a lock that is no file.
    odd_among(place, [place.room.lock()])?.iter().try_for_each(&mut away)?;
    let Ok(_lock) = place.lock() else { return Ok(findings) };
    odd_files(place)?.iter().try_for_each(&mut away)?;
    Ok(findings)
}

fn misplaced(place: &Place<'_>, path: &str, error: &io::Error) -> Finding {
    let shown = place.fs.display(path);
    finding(
        &Error::NotAFile { path: shown.clone(), message: error.to_string() },
        &shown,
        by_repair("it moves it aside"),
    )
}

/// Returns what has the name of a file or directory of our own and is none, and why.
fn odd_files(place: &Place<'_>) -> Result<Vec<(String, io::Error)>> {
    let hidden = place.room.hidden();
    let names = place.fs.entries(&hidden).map_err(|error| place.failed("list", &hidden, error))?;
    let own = names.iter().filter(|name| OWN.iter().any(|own| name.starts_with(own)));
    let files = own.map(|name| place.hidden(name)).chain([place.room.lock()]);
    let mut odd = odd_among(place, files)?;
    let folders = TextFile::folders(&place.room).iter().filter(|folder| !folder.is_empty());
    let own = [QUARANTINE, ASIDE].map(|name| place.hidden(name));
    for dir in own.into_iter().chain(folders.map(|folder| place.doc(folder))) {
        // Beneath what is no folder there is none.
        if odd
            .iter()
            .any(|(above, _)| dir.strip_prefix(above.as_str()).is_some_and(|below| below.starts_with('/')))
        {
            continue;
        }
        odd.extend(odd_one(place, &dir, place.fs.entries(&dir).map(drop))?);
    }
    Ok(odd)
}

fn odd_among(place: &Place<'_>, files: impl IntoIterator<Item = String>) -> Result<Vec<(String, io::Error)>> {
    let odd = files.into_iter().map(|path| odd_one(place, &path, place.fs.size(&path).map(drop)));
    Ok(odd.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn odd_one(place: &Place<'_>, path: &str, looked: io::Result<()>) -> Result<Option<(String, io::Error)>> {
    match looked {
        Ok(()) => Ok(None),
        Err(error) if is_other(&error) => Ok(Some((path.to_owned(), error))),
        Err(error) => Err(place.failed("look at", path, error)),
    }
}

/// How the names begin of our own files. Those that can be made anew are; without a journal its documents are all that is known.
const OWN: [&str; 7] = ["twin-", "index-", "signs-", "next-", "head.json", "journal", place::CONTENT];

/// Looks for what stands in the place of a text and is none.
fn check_text_files(place: &Place<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in TextFile::folders(&place.room) {
        let dir = if folder.is_empty() { place.room.dir() } else { place.doc(folder) };
        let names = match place.fs.entries(&dir) {
            Ok(names) => names,
            // It is named among those that are odd.
            Err(error) if is_other(&error) && !folder.is_empty() => continue,
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
        for file in files.filter(|file| TextFile::at(&place.room, file).is_some()) {
            if let Err(error) = place.text_size(&file, text_files::LIMIT) {
                findings.push(finding(&error, &place.fs.display(&place.doc(&file)), NO_TEXT));
            }
        }
    }
    if let Some(text_file) = TextFile::beside(&place.room)
        && let Err(error) = place.text_size(&text_file.file(), text_files::LIMIT)
    {
        findings.push(finding(&error, &place.fs.display(&text_file.path()), NO_TEXT));
    }
    findings
}

fn local_disk() -> Hint {
    hint!["move the state to a local disk, or pass ", With::NetworkFs]
}

fn free_cause() -> Hint {
    hint!["free the cause and run `", Next::Doctor, "` again"]
}

/// Says what a repair would do.
fn by_repair(how: &str) -> Hint {
    hint!["run `", Next::Repair, format!("`: {how}")]
}

const NO_ROOM: &str = "move it away: a directory is made in its place with the next change";
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
    let bytes = match place.read_doc(&doc.file(), doc.kind.limit) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(error) => return Ok(Some(finding(&error, &shown, "replace it by a regular file"))),
    };
    let opened = state::open(doc, &shown, &bytes);
    let Err(error) =
        opened.and_then(|value| state::check_writable(doc, &value).map_err(|unfit| unfit.of(&*shown)))
    else {
        return Ok(None);
    };
    if error.code() == Code::Unsupported {
        return Ok(Some(finding(&error, &shown, "use a newer anthill")));
    }
    let found = match last_good(place, head, doc)? {
        None => finding(&error, &shown, NO_COPY),
        Some(_) if !repair => {
            finding(&error, &shown, by_repair("it restores the last good content and keeps this file aside"))
        }
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
    let kept = place.quarantine(&doc.file(), bad)?;
    let spare = place.spare(&doc.file());
    place.write_spare(&doc.file(), good)?;
    // No line will tell of this, so the file itself must be durable.
    place.fs.sync_file(&spare).map_err(|error| place.failed("sync", &spare, error))?;
    place.swap(&doc.file(), true)?;
    place.sync_swapped(&doc.file()).map_err(|error| {
        let back = place.swap(&doc.file(), true).is_ok();
        if back { error } else { error.into_indeterminate() }
    })?;
    sweep(place);
    Ok(kept)
}

/// Returns the bytes of the document's newest content that the journal knows.
fn last_good(place: &Place<'_>, head: &Head, doc: &Doc) -> Result<Option<Vec<u8>>> {
    let bytes = place.read(&place.journal())?.unwrap_or_default();
    let mut replay = Replay::of(&place.segment(&bytes));
    let known = replay.docs.remove(&*doc.file()).filter(|known| known.sum.is_some());
    debug_assert!(
        known.is_none() || head.docs.contains_key(&*doc.file()),
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
        fix: by_repair("it cuts the journal there"),
        repaired: false,
    };
    if repair {
        // The lines that go were the promise that the files survive a power loss.
        for doc in engine.documents(&place.room)? {
            let path = doc.path();
            place.fs.sync_file(&path).map_err(|error| place.failed("sync", &path, error))?;
            place.sync_swapped(&doc.file())?;
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
    for path in old_segments(place)? {
        let bytes = match place.read(&path) {
            // Named already.
            Err(Error::NotAFile { .. }) => continue,
            read => read?.unwrap_or_default(),
        };
        if Segment::parse(&bytes).rest == 0 {
            continue;
        }
        let mut found = Finding {
            code: Code::Damaged,
            subject: place.fs.display(&path),
            message: "old history is damaged; the state itself is not".into(),
            fix: by_repair("it moves the segment aside"),
            repaired: false,
        };
        if repair {
            let name = path.rsplit('/').next().unwrap_or_default();
            found.fix = format!("moved to `{}`", place.quarantine(name, &bytes)?).into();
            place.fs.remove(&path).map_err(|error| place.failed("remove", &path, error))?;
            found.repaired = true;
        }
        findings.push(found);
    }
    Ok(findings)
}

fn finding(error: &Error, subject: &impl ToString, fix: impl Into<Hint>) -> Finding {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let message = format!("{error}{source}");
    Finding { code: error.code(), subject: subject.to_string(), message, fix: fix.into(), repaired: false }
}

/// Names the bytes that were replaced because they could not be read.
pub fn quarantined(place: &Place<'_>) -> Vec<String> {
    let dir = format!("{}/quarantine", place.room.hidden());
    let kept = place.fs.entries(&dir).unwrap_or_default().into_iter();
    let note = |name: String| {
        let path = place.fs.display(&format!("{dir}/{name}"));
        format!("`{path}` could not be read and was replaced; remove it when nobody needs it any more")
    };
    kept.map(note).collect()
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
