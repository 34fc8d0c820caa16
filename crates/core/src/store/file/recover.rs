//! What a crash left, and what to do about it.
//!
//! [`plan`] only reads: readers use it to see past an unfinished commit, the next writer carries it out.
//!
//! | found | meaning | action |
//! | --- | --- | --- |
//! | bytes after the last good line | the append was cut off | cut them |
//! | a journal with several names | somebody linked it | give ours a file of its own |
//! | a last line whose lead (see `transaction`) is not in the lead's journal | killed before the commit point | cut it |
//! | a line that no head has passed and that names other rooms | killed before all were done | finish those first |
//! | same life: the file is as before a line that the head has not seen | killed before publishing | publish |
//! | another life: the file is an earlier state of this segment | power was lost before the bytes were on disk | publish |
//! | another life: the file is no JSON, or not what its kind is | the same | keep the bytes aside, publish |
//! | another life: the file is a mix of the states that its list had (`list::mix`) | the same | publish |
//! | another life: the file is missing | the same: a file system without a journal loses names, too | publish |
//! | anything else | somebody edited or deleted it | leave it; the next write absorbs it |
//!
//! Without a head (lost, spoiled) there is no telling: it counts as another life; so do a reboot, a disk that was mounted anew and a copy of the directory.

use std::collections::{BTreeMap, BTreeSet};

use super::addresses::{DocFiles, RoomFiles};
use super::journal::{Known, Lead, Line, Replay, Segment};
use super::list::layout;
use super::place::{self, Head, HeadDoc, Life, Place, parent};
use super::segments::{in_doubt, old_segments};
use super::{list, news, text_files};
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::store::error::{Error, Result};
use crate::store::state;

/// How the room was found.
pub enum View {
    /// Nothing was ever written here.
    Fresh,
    /// Everything that was committed is published.
    Clean(Head),
    /// The journal knows more than the files.
    Unfinished(Plan),
}

impl View {
    /// Returns the number of the last commit.
    pub fn seq(&self) -> u64 {
        match self {
            View::Fresh => 0,
            View::Clean(head) => head.seq,
            View::Unfinished(plan) => plan.replay.seq,
        }
    }
}

/// What brings the files up to the journal.
pub struct Plan {
    /// How often the head was written.
    turn: u64,
    replay: Replay,
    life: Life,
    /// Which file holds the segment: the journal, or the next one when a rotation was cut off.
    source: String,
    bytes: Vec<u8>,
    segment: Segment,
    publish: BTreeMap<String, Publish>,
    /// The last line that surely reached texts and other rooms; in another life there is none.
    reached: Option<u64>,
}

struct Publish {
    exists: bool,
    /// Whether it was there once and is gone, so that a person may wonder.
    is_missed: bool,
    /// Bytes that no line knows, to be kept.
    unknown: Option<Vec<u8>>,
}

impl Plan {
    /// Returns the committed content of a file that is not published yet (`Some(None)`: deleted).
    pub fn pending(&self, file: &str) -> Option<&Known> {
        self.publish.get(file).and_then(|_| self.replay.docs.get(file))
    }

    pub fn head(&self) -> Head {
        let docs = self
            .replay
            .docs
            .iter()
            .map(|(file, known)| (file.clone(), HeadDoc { revision: known.revision, sum: known.sum }));
        Head {
            turn: self.turn,
            life: self.life.clone(),
            seq: self.replay.seq,
            end: self.segment.good,
            rotate_at: 0,
            docs: docs.collect(),
            folders: BTreeMap::new(),
        }
    }
}

/// What the head and the journal's length say, before anything else is read.
pub enum Glance {
    Fresh,
    Clean(Head),
    /// The head, if there is one, is of another life or behind the journal.
    Dirty(Option<Head>, Life),
}

pub fn glance(place: &Place<'_>) -> Result<Glance> {
    let head = place.read_head()?;
    let journal = place.open_journal()?;
    if head.is_none() && journal.is_none() && place.size(&place.next_journal())?.is_none() {
        return Ok(Glance::Fresh);
    }
    let earlier = head.as_ref().map(|head| &head.life);
    let life = place.life_with(journal.as_ref().map(|journal| journal.opened()), earlier)?;
    Ok(match (head, journal) {
        (Some(head), Some(journal))
            if life.continues(&head.life)
                && place.ends_at(&*journal, head.end)?
                && !(place.writes && journal.opened().names > 1) =>
        {
            if place.writes {
                place.open.borrow_mut().journal = Some(journal);
            }
            Glance::Clean(head)
        }
        (head, _) => {
            place.open.take();
            Glance::Dirty(head, life)
        }
    })
}

/// Looks at the room. Cheap when nothing is left to do.
pub fn look(place: &Place<'_>) -> Result<View> {
    Ok(match glance(place)? {
        Glance::Fresh => View::Fresh,
        Glance::Clean(head) => View::Clean(head),
        Glance::Dirty(head, life) => View::Unfinished(plan(place, head.as_ref(), life)?),
    })
}

/// Looks at the room as a reader: an unfinished commit counts only if its writer is dead.
pub fn look_as_reader(place: &Place<'_>) -> Result<View> {
    let mut planned: Option<(Plan, Life)> = None;
    loop {
        let (head, life) = match glance(place)? {
            Glance::Fresh => return Ok(View::Fresh),
            Glance::Clean(head) => return Ok(View::Clean(head)),
            Glance::Dirty(head, life) => (head, life),
        };
        if let Some(_lock) = place.lock_shared() {
            return look(place);
        }
        // A writer is at work: until it is done, the old state is the answer.
        let head = match head {
            Some(head) if life.continues(&head.life) => return Ok(View::Clean(head)),
            other => other,
        };
        // It recovers, and only the journal knows what was acknowledged; or it makes the room's first commit. If that is
        // over by now, or was in another journal, so is the reason to trust the journal more than the files.
        match planned {
            Some((plan, before)) if before == life => return Ok(View::Unfinished(plan)),
            _ => planned = Some((plan(place, head.as_ref(), life.clone())?, life)),
        }
    }
}

/// Compares every file with the journal; `head` is what is known to be published.
pub fn plan(place: &Place<'_>, head: Option<&Head>, life: Life) -> Result<Plan> {
    let (source, bytes) = match place.read(&place.journal())? {
        Some(bytes) => (place.journal(), bytes),
        None => (place.next_journal(), place.read(&place.next_journal())?.unwrap_or_default()),
    };
    let mut segment = place.segment(&bytes);
    if let Some(lead) = in_doubt(&segment, head)
        && !is_there(place, lead)?
    {
        segment.drop_last();
    }
    let replay = Replay::of(&segment);
    let same_life = head.filter(|head| life.continues(&head.life));
    let mut publish = BTreeMap::new();
    for (file, known) in &replay.docs {
        // A journal may come from a stranger's repository: it names no other files than documents.
        let Some(doc) = Doc::at(&place.room, file) else { continue };
        if let Some(mut action) = judge(place, &doc, known, &segment, same_life)? {
            let was_there = |head: &Head| head.docs.get(file).is_some_and(|doc| doc.sum.is_some());
            action.is_missed = !action.exists && head.is_some_and(was_there);
            publish.insert(file.clone(), action);
        }
    }
    let reached = same_life.map(|head| head.seq);
    Ok(Plan {
        turn: head.map_or(0, |head| head.turn),
        replay,
        life,
        source,
        bytes,
        segment,
        publish,
        reached,
    })
}

/// Whether the lead's line was written; whoever wrote it, or did not, is gone.
fn is_there(place: &Place<'_>, lead: &Lead) -> Result<bool> {
    let Ok(room) = lead.room.parse::<Room>() else { return Ok(false) };
    let place = place.engine.place_of(&room);
    let mut segments = vec![place.journal(), place.next_journal()];
    segments.extend(old_segments(&place)?);
    for path in segments {
        if place.read(&path)?.is_some_and(|bytes| lead.is_in(&bytes)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decides whether a document must be published again; see the table at the top.
fn judge(
    place: &Place<'_>,
    doc: &Doc,
    known: &Known,
    segment: &Segment,
    same_life: Option<&Head>,
) -> Result<Option<Publish>> {
    let bytes = match place.read_doc(&doc.file(), doc.kind.limit) {
        Ok(bytes) => bytes,
        // What is no file (a link, a directory), or longer than any of ours, is not ours to replace.
        Err(Error::NotAFile { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let sum = bytes.as_deref().map(|bytes| place::sum(doc, bytes));
    let publish = |unknown| Ok(Some(Publish { exists: sum.is_some(), is_missed: false, unknown }));
    if sum == known.sum {
        return Ok(None);
    }
    if let Some(head) = same_life {
        return if known.seq > head.seq && sum == known.base { publish(None) } else { Ok(None) };
    }
    let Some(bytes) = bytes.filter(|_| !known.past.contains(&sum)) else { return publish(None) };
    match state::open(doc, &place.show(doc), &bytes) {
        Ok(value) => match layout::field_of(doc) {
            Some(field) if list::mix::is_mix(doc, field, &value, segment) => publish(None),
            _ => Ok(None),
        },
        Err(_) => {
            let blank = bytes.iter().all(|byte| *byte == 0);
            publish((!blank).then_some(bytes))
        }
    }
}

/// Carries out the plan; the room's lock is held.
pub fn finish(place: &Place<'_>, plan: &Plan) -> Result<Head> {
    if plan.source != place.journal() && !plan.bytes.is_empty() {
        place
            .fs
            .rename(&plan.source, &place.journal())
            .map_err(|error| place.failed("replace", &place.journal(), error))?;
    }
    separate(place, plan)?;
    cut(place, plan)?;
    make_durable(place, plan)?;
    for (file, action) in &plan.publish {
        let (Some(known), Some(doc)) = (plan.replay.docs.get(file), Doc::at(&place.room, file)) else {
            continue;
        };
        let kept = action.unknown.as_ref().map(|bytes| place.quarantine(file, bytes)).transpose()?;
        publish(place, &doc, known, action.exists)?;
        let shown = place.show(&doc);
        if let Some(kept) = kept {
            news::tell(&format!(
                "`{shown}` could not be read and was replaced by what the last commit left; what stood there is kept: {kept}"
            ));
        } else if action.is_missed {
            news::tell(&format!("`{shown}` was gone and is again what the last commit left"));
        }
    }
    text_files::redo(place, &plan.segment, plan.reached)?;
    finish_others(place, plan)?;
    rescue_edits(place, plan);
    sweep(place);
    let mut head = Head { life: place.life()?, ..plan.head() };
    place.write_head(&mut head);
    Ok(head)
}

/// Puts back what somebody saved right before a commit swapped it out, if its writer was killed before it could. In another
/// life nobody knows what the spares hold.
fn rescue_edits(place: &Place<'_>, plan: &Plan) {
    let Some(reached) = plan.reached else { return };
    let fresh = plan
        .replay
        .docs
        .iter()
        .filter(|(file, known)| known.seq > reached && !plan.publish.contains_key(*file));
    for (file, known) in fresh {
        let Some(doc) = Doc::at(&place.room, file) else { continue };
        let sum_of = |path: &str| {
            let bytes = place.fs.read(path, doc.kind.limit).ok().flatten();
            bytes.map(|bytes| place::sum(&doc, &bytes))
        };
        if sum_of(&place.doc(file)) != known.sum {
            continue;
        }
        let spares = [place.spare(file), place.copy(file)];
        let spare = spares.into_iter().find_map(|path| sum_of(&path).map(|sum| (path, sum)));
        let holder = spare.or_else(|| {
            let twin = list::swapped_out(place, &doc, known.revision)?;
            sum_of(&twin).map(|sum| (twin, sum))
        });
        if let Some((holder, sum)) = holder
            && Some(sum) != known.base
            && Some(sum) != known.sum
        {
            place.put_back_later(&doc, &holder, known.sum);
        }
    }
}

/// Lets the other rooms of unfinished commits finish too, before this head says that they have. Their locks come
/// after this one in the order.
fn finish_others(place: &Place<'_>, plan: &Plan) -> Result<()> {
    let missed = plan.segment.lines.iter().filter(|line| plan.reached.is_none_or(|seq| line.seq > seq));
    let rooms: BTreeSet<Room> = missed.flat_map(Line::others).filter(|room| *room > place.room).collect();
    for room in rooms {
        let other = Place { writes: true, ..place.engine.open(&room)? };
        if other.size(&other.journal())?.is_some() {
            place.engine.enter(&other)?;
        }
    }
    Ok(())
}

/// Gives the journal a file of its own where another name leads to it, too: what we append would change somebody's copy.
fn separate(place: &Place<'_>, plan: &Plan) -> Result<()> {
    let journal = place.journal();
    if place.stat(&journal)?.is_none_or(|journal| journal.names == 1) {
        return Ok(());
    }
    let (spare, failed) = (place.spare("journal.jsonl"), |error| place.failed("replace", &journal, error));
    place.write_spare("journal.jsonl", &plan.bytes)?;
    place.fs.sync_file(&spare).map_err(failed)?;
    place.fs.rename(&spare, &journal).map_err(failed)
}

fn cut(place: &Place<'_>, plan: &Plan) -> Result<()> {
    let good = plan.segment.good;
    if plan.segment.rest == 0 {
        return Ok(());
    }
    if plan.segment.lost_lines > 0 || plan.segment.is_forged {
        place.quarantine("journal.jsonl", &plan.bytes[good as usize..])?;
    }
    place.fs.truncate(&place.journal(), good).map_err(|error| place.failed("cut", &place.journal(), error))
}

/// Syncs what an interrupted command may have left unsynced and later ones rely on: the journal, its name,
/// and the names that the last line made.
fn make_durable(place: &Place<'_>, plan: &Plan) -> Result<()> {
    let (journal, hidden) = (place.journal(), place.room.hidden());
    if place.size(&journal)?.is_some() {
        place.fs.sync_file(&journal).map_err(|error| place.failed("sync", &journal, error))?;
    }
    place.sync_up(&hidden, "").map_err(|error| place.failed("sync", &hidden, error))?;
    let last = plan.replay.docs.iter().filter(|(_, known)| known.seq == plan.replay.seq);
    for (file, _) in last {
        place.sync_names(file)?;
    }
    Ok(())
}

fn publish(place: &Place<'_>, doc: &Doc, known: &Known, exists: bool) -> Result<()> {
    let file = &doc.file();
    if known.sum.is_none() {
        let path = place.doc(file);
        return place.fs.remove(&path).map(drop).map_err(|error| place.failed("remove", &path, error));
    }
    place.make_dirs(parent(&place.doc(file)))?;
    place.write_spare(file, &place::render(doc, &known.content))?;
    place.swap(file, exists)
}

/// Removes what interrupted commands left. Nothing depends on it.
pub fn sweep(place: &Place<'_>) {
    let hidden = place.room.hidden();
    // While there is no journal, the next one is the journal.
    let rotated = matches!(place.fs.size(&place.journal()), Ok(Some(_)));
    for name in place.fs.entries(&hidden).unwrap_or_default() {
        if name.starts_with("next-") || (rotated && name == "journal.next") {
            let _ = place.fs.remove(&format!("{hidden}/{name}"));
        }
    }
}
