//! Edits by hand, where documents are files: what counts of them, and where those are kept that cannot be joined.

use std::io::ErrorKind;

use serde_json::Value;

use super::addresses::{DocFiles, RoomFiles};
use super::journal::{Replay, Sum};
use super::place;
use super::place::{HeadDoc, Place};
use super::segments::{current_segment, each_line};
use crate::hint;
use crate::model::diff::Change;
use crate::model::hint::Hint;
use crate::model::kind::Doc;
use crate::model::merge::{self, Clash};
use crate::model::names::Names;
use crate::model::next::{Next, See};
use crate::store::edits::{self, Edits, How, TakenIn, Touched, clash_in_words};
use crate::store::engine::Aside;
use crate::store::error::Result;
use crate::store::state;

/// An edit by hand that a transaction has found.
#[derive(Debug)]
pub struct Edit {
    /// What it changes of what our last commit left, if that left something.
    pub changes: Option<Vec<Change>>,
    /// The items that these lead into.
    pub names: Names,
    pub how: How,
    pub clashes: Vec<Clash>,
    /// The file as it is, if not all of it counts.
    pub bytes: Option<Vec<u8>>,
    /// Whether the document is something else than the file.
    pub is_joined: bool,
    /// The items that it changes, where the others were not read.
    pub touched: Option<Vec<Touched>>,
}

impl Edit {
    /// Tells it to those who look after the document.
    pub fn tell(&self) -> Edits {
        let changes = self.changes.clone().unwrap_or_default();
        let (names, clashes, touched) = (self.names.clone(), self.clashes.clone(), self.touched.clone());
        Edits { changes, names, how: self.how, clashes, touched }
    }
}

/// Behind the name of an edit that a person has heard of.
const NOTED: &str = ".noted";

/// Where edits are kept that could not be joined.
pub const ASIDE: &str = "aside";

/// Decides what counts of a file that is not what the last commit left; `ours` is what that was, if it is known.
pub fn take_in(
    place: &Place<'_>,
    doc: &Doc,
    theirs: Value,
    known: &HeadDoc,
    ours: Option<&Value>,
) -> Result<TakenIn> {
    let Some(ours) = ours else { return Ok(TakenIn::as_it_is(theirs)) };
    edits::take_in(doc, theirs, ours, known.revision, &mut |visit| each_state(place, doc, visit))
}

/// Calls `visit` with every kept state of a document, oldest first. A segment begins with one that may be of no line.
fn each_state(place: &Place<'_>, doc: &Doc, visit: &mut dyn FnMut(u64, &Value)) -> Result<()> {
    let mut replay = Replay::default();
    each_line(place, Some(doc), &mut |line| {
        replay.apply(line);
        let entry = line.docs.iter().find(|entry| entry.file == doc.file());
        if let (Some(entry), Some(content)) = (entry, replay.content(&doc.file())) {
            visit(entry.revision, content);
        }
    })
}

/// Returns what the last commit left of a document, as of line `seq`.
pub fn committed(place: &Place<'_>, doc: &Doc, seq: u64) -> Result<Option<Value>> {
    let mut segment = place.segment_of(&current_segment(place)?, doc);
    segment.lines.retain(|line| line.seq <= seq);
    let known = Replay::of(&segment).docs.remove(&*doc.file()).filter(|known| known.sum.is_some());
    Ok(known.map(|known| known.content))
}

/// Returns what a reader is shown of an edited file, and which revision that is. Most edits are made from the last commit:
/// those count as they are, and nothing else is looked at.
pub fn shown(
    place: &Place<'_>,
    doc: &Doc,
    theirs: Value,
    known: &HeadDoc,
    ours: impl FnOnce() -> Result<Option<Value>>,
) -> Result<(Value, u64)> {
    let stated = merge::stated(doc.kind, &theirs).revision;
    if known.revision == 0 {
        return Ok((theirs, stated.unwrap_or(0)));
    }
    let counted = (known.revision + 1).max(state::revision_in(&theirs));
    if stated.is_some_and(|stated| stated == known.revision || stated == known.revision + 1) {
        return Ok((theirs, counted));
    }
    let ours = ours()?;
    let TakenIn { value, .. } = take_in(place, doc, theirs, known, ours.as_ref())?;
    let revision = if Some(&value) == ours.as_ref() { known.revision } else { counted };
    Ok((value, revision))
}

/// Says what could not be joined, and what to do about it.
pub fn told(doc: &Doc, clashes: &[Clash], kept: &str) -> Hint {
    let file = doc.file();
    let name = file.rsplit('/').next().unwrap_or_default();
    let what = match clashes {
        [Clash { path, theirs: Some(_), .. }] if path.is_empty() => {
            "it comes from another store, and work is under way here".to_owned()
        }
        [Clash { path, .. }] if path.is_empty() => "together they would not be valid".to_owned(),
        clashes => {
            let shown: Vec<_> = clashes.iter().take(3).map(clash_in_words).collect();
            let more = clashes.len().saturating_sub(shown.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", shown.join("; "))
        }
    };
    let kind = doc.kind.name;
    hint![
        format!(
            "an edit of `{name}` could not be joined with what changed meanwhile ({what}); what was committed stays, the edit is \
             kept in `{kept}`: `"
        ),
        See::Edits(Some(kind)),
        "` shows both, `",
        Next::TakeEdit(kind.into()),
        "` takes the edit",
    ]
}

impl Place<'_> {
    fn aside_dir(&self) -> String {
        format!("{}/{ASIDE}", self.room.hidden())
    }

    /// Keeps an edit as it is, durably. The same edit is kept once.
    pub fn put_aside(&self, file: &str, bytes: &[u8]) -> Result<String> {
        let dir = self.aside_dir();
        for name in self.fs.entries(&dir).unwrap_or_default() {
            let path = format!("{dir}/{name}");
            let same = || self.fs.read(&path, u64::MAX - 1).ok().flatten().is_some_and(|kept| kept == bytes);
            if file_of(&name).as_deref() == Some(file) && !name.ends_with(NOTED) && same() {
                return Ok(self.fs.display(&path));
            }
        }
        self.keep_in(&dir, file, bytes)
    }

    /// Returns the edits that are kept here.
    pub fn asides(&self) -> Result<Vec<Aside>> {
        let dir = self.aside_dir();
        let names = match self.fs.entries(&dir) {
            // Nothing is kept in what is no directory; `doctor` names it.
            Err(error) if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::InvalidInput) => {
                vec![]
            }
            names => names.map_err(|error| self.failed("list", &dir, error))?,
        };
        let kept = names.iter().filter(|name| !name.ends_with(NOTED)).filter_map(|name| {
            let doc = Doc::at(&self.room, &file_of(name)?)?;
            let noted = names.contains(&format!("{name}{NOTED}"));
            let (called, path) = (doc.file().into_owned(), self.fs.display(&format!("{dir}/{name}")));
            Some(Aside { doc, called, name: name.clone(), path, noted })
        });
        Ok(kept.collect())
    }

    pub fn read_aside(&self, aside: &Aside) -> Result<Option<Vec<u8>>> {
        let path = format!("{}/{}", self.aside_dir(), aside.name);
        self.fs.read(&path, aside.doc.kind.limit).map_err(|error| self.no_file("read", &path, error))
    }

    pub fn drop_aside(&self, aside: &Aside) -> Result<()> {
        let path = format!("{}/{}", self.aside_dir(), aside.name);
        let noted = format!("{path}{NOTED}");
        let removed = self.fs.remove(&path).and_then(|_| self.fs.remove(&noted));
        removed.map(drop).map_err(|error| self.failed("remove", &path, error))
    }

    pub fn note_aside(&self, aside: &Aside) -> Result<()> {
        let path = format!("{}/{}{NOTED}", self.aside_dir(), aside.name);
        match self.fs.write_new(&path, b"") {
            Ok(()) => Ok(()),
            // Noted before, or somebody has decided about it meanwhile.
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => Ok(()),
            Err(error) => Err(self.failed("write", &path, error)),
        }
    }

    /// Puts an edit that was swapped out back into the place of the document, so that it is taken in like any other. It may be half
    /// saved: whoever writes in place goes on in the file that they opened. `holder` is where it is now, `ours` what was published.
    /// Returns what a person should hear.
    pub fn put_back(&self, doc: &Doc, holder: &str, ours: Option<Sum>) -> Option<String> {
        let path = self.doc(&doc.file());
        let read = |path: &str| self.fs.read(path, doc.kind.limit).ok().flatten();
        let keep = || Some(self.keep_unreadable(doc, &read(holder).unwrap_or_default()));
        if self.fs.exchange(holder, &path).is_err() {
            return self.fs.rename(holder, &path).err().and_then(|_| keep());
        }
        // Somebody may have saved once more before that: then this is what there is, as with any file.
        let is_newer = read(holder).is_some_and(|bytes| Some(place::sum(doc, &bytes)) != ours);
        if is_newer && self.fs.exchange(holder, &path).is_err() { keep() } else { None }
    }

    /// Does the same for a commit whose process died. Nobody may be left who would finish a half saved edit: that is kept aside.
    pub fn put_back_later(&self, doc: &Doc, holder: &str, ours: Option<Sum>) {
        let read = || self.fs.read(holder, doc.kind.limit).ok().flatten().unwrap_or_default();
        let opened = place::unless_damaged_for_long(self.patience.min(place::MID_SAVE), || {
            state::open(doc, &self.show(doc), &read())
        });
        drop(match opened {
            Ok(_) => self.put_back(doc, holder, ours),
            Err(_) => Some(self.keep_unreadable(doc, &read())),
        });
    }

    fn keep_unreadable(&self, doc: &Doc, bytes: &[u8]) -> String {
        match self.put_aside(&doc.file(), bytes) {
            Ok(kept) => {
                format!("`{}` was edited during this commit; that edit is kept in `{kept}`", doc.file())
            }
            Err(_) => format!("`{}` was edited during this commit; that edit was replaced", doc.file()),
        }
    }
}

/// Returns the document's file that a kept edit is of.
fn file_of(name: &str) -> Option<String> {
    let name = name.strip_suffix(NOTED).unwrap_or(name);
    let (file, number) = name.rsplit_once('.')?;
    number.parse::<u64>().ok()?;
    Some(file.replace('~', "/"))
}
