//! The course of all commits: one cursor over the journals of all rooms.
//!
//! A cursor has the number of the last line told of each room. No lock is held. A commit in several rooms is told once, when
//! all its lines are there: its lead is the first of its rooms, and its line is written last. So rooms are read in their
//! order, and a line whose lead was not there yet is left for the next time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::journal::{Lead, Line};
use super::past;
use super::roots::FileEngine;
use crate::model::room::Room;
use crate::store::engine::{Commit, Commits, Cursor, Engine, Revision};
use crate::store::error::{Error, Result};

/// The last line told of each room, by its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Reached(BTreeMap<String, u64>);

impl Reached {
    fn read(cursor: &Cursor) -> Result<Reached> {
        if cursor.as_str().is_empty() {
            return Ok(Reached::default());
        }
        serde_json::from_str(cursor.as_str()).map_err(|_| Error::Invalid {
            subject: "cursor".into(),
            message: "it is none of this store's".into(),
        })
    }

    fn of(&self, room: &Room) -> u64 {
        self.0.get(&room.to_string()).copied().unwrap_or_default()
    }

    fn set(&mut self, room: &Room, seq: u64) {
        self.0.insert(room.to_string(), seq);
    }

    fn cursor(&self) -> Cursor {
        Cursor::new(serde_json::to_string(self).expect("names and numbers always serialise"))
    }
}

/// Returns the cursor behind everything that is committed now.
pub fn end(engine: &FileEngine) -> Result<Cursor> {
    let mut rooms = engine.rooms()?;
    loop {
        let cursor = end_of(engine, rooms.clone())?;
        let again = engine.rooms()?;
        if again == rooms {
            return Ok(cursor);
        }
        // One that came meanwhile may be part of a commit that was seen.
        rooms = again;
    }
}

fn end_of(engine: &FileEngine, mut rooms: Vec<Room>) -> Result<Cursor> {
    rooms.sort();
    let mut reached = Reached::default();
    for room in rooms {
        let Some((line, doubtful)) = past::newest(&engine.open(&room)?)? else { continue };
        let early = is_early(engine, &room, &line, &reached.0)?;
        let counts = !early && (!doubtful || has_lead(engine, &room, &line)?);
        reached.set(&room, line.seq - u64::from(!counts));
    }
    Ok(reached.cursor())
}

/// Returns the commits after a cursor, at most so many.
pub fn since(engine: &FileEngine, cursor: &Cursor, most: usize) -> Result<Commits> {
    let reached = Reached::read(cursor)?;
    let mut window = most.saturating_add(1);
    loop {
        let (course, reached, gap) = look(engine, reached.clone(), window)?;
        let is_cut = course.rooms.iter().any(|untold| untold.ends == Ends::Window);
        let commits = course.tell(reached, most, gap);
        if commits.more || !is_cut {
            return Ok(commits);
        }
        // A commit in several rooms waits for what they did before, which may be further away.
        window = window.saturating_mul(2);
    }
}

/// Reads what the rooms did after a point, so many lines of each.
fn look(engine: &FileEngine, mut reached: Reached, window: usize) -> Result<(Course, Reached, bool)> {
    let (mut course, mut gap, mut newest) = (Course::default(), false, BTreeMap::new());
    let mut rooms: BTreeSet<Room> = engine.rooms()?.into_iter().collect();
    while let Some(room) = rooms.pop_first() {
        let mut since = past::since(&engine.open(&room)?, reached.of(&room), window)?;
        let is_next = |line: &Line| since.told.back().is_none_or(|(last, _)| last.seq + 1 == line.seq);
        let doubtful = since.doubtful.take().filter(|(line, _)| is_next(line));
        if let Some(doubtful) = doubtful.filter(|(line, _)| course.has_lead_of(&room, line)) {
            since.newest = doubtful.0.seq;
            since.told.push_back(doubtful);
        }
        let mut early = false;
        for place in 0..since.told.len() {
            early = is_early(engine, &room, &since.told[place].0, &newest)?;
            if early {
                since.newest = since.told[place].0.seq - 1;
                since.told.truncate(place);
                break;
            }
        }
        if since.gap {
            reached.set(&room, since.told.front().map_or(since.newest, |(line, _)| line.seq - 1));
        }
        gap |= since.gap;
        newest.insert(room.to_string(), since.newest);
        let ends = match since.told.back() {
            _ if early => Ends::Early,
            Some((line, _)) if line.seq < since.newest => Ends::Window,
            _ => Ends::Here,
        };
        // One that came meanwhile has been written to before its lead.
        rooms.extend(since.told.iter().flat_map(|(line, _)| line.others()).filter(|other| *other > room));
        course.rooms.push(Untold { room, lines: since.told, ends });
    }
    Ok((course, reached, gap))
}

/// Whether the lead of a room's line, in whatever room, is there and speaks of this room.
fn has_lead(engine: &FileEngine, room: &Room, line: &Line) -> Result<bool> {
    let Some(lead) = &line.lead else { return Ok(true) };
    let Ok(leading) = lead.room.parse() else { return Ok(false) };
    let since = past::since(&engine.open(&leading)?, lead.seq - 1, 1)?;
    Ok(since.told.front().is_some_and(|(found, _)| is_lead(found, lead, room)))
}

fn is_lead(line: &Line, lead: &Lead, room: &Room) -> bool {
    line.seq == lead.seq && line.with.contains(&room.to_string())
}

/// Whether the lead of a room's line came after the look at the room of that lead, whose newest line is given here, or that
/// room did itself.
fn is_early(engine: &FileEngine, room: &Room, line: &Line, newest: &BTreeMap<String, u64>) -> Result<bool> {
    match line.lead.as_ref().map(|lead| (lead, newest.get(&lead.room))) {
        Some((lead, Some(newest))) => Ok(lead.seq > *newest),
        Some((_, None)) => has_lead(engine, room, line),
        None => Ok(false),
    }
}

/// What is left to tell.
#[derive(Debug, Default)]
struct Course {
    rooms: Vec<Untold>,
}

/// What is left to tell of one room.
#[derive(Debug)]
struct Untold {
    room: Room,
    lines: VecDeque<(Line, Vec<Revision>)>,
    ends: Ends,
}

/// Where the lines of a room end that can be told now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// With the last one.
    Here,
    /// No more were asked for.
    Window,
    /// The lead of the next one was not there when its room was read: it is left for the next time, with what waits for it.
    Early,
}

impl Course {
    /// Tells what comes next, at most so much.
    fn tell(mut self, mut reached: Reached, most: usize, gap: bool) -> Commits {
        let mut commits = Vec::new();
        while commits.len() < most
            && let Some(commit) = self.next(&mut reached)
        {
            commits.push(commit);
        }
        let more = commits.len() == most && self.rooms.iter().any(|untold| !untold.lines.is_empty());
        Commits { commits, cursor: reached.cursor(), more, gap }
    }

    /// Takes the commit that was made first among those that come next in all of their rooms.
    fn next(&mut self, reached: &mut Reached) -> Option<Commit> {
        let fronts = self.rooms.iter().filter_map(|untold| Some((&untold.room, &untold.lines.front()?.0)));
        let next = fronts.filter(|(room, line)| self.comes_next(room, line));
        let room = next.min_by(|one, other| one.1.at.cmp(&other.1.at))?.0.clone();
        let (line, revisions) = self.take(&room, reached)?;
        let mut commit = Commit {
            id: format!("{room}/{}", line.seq),
            at: line.at,
            by: line.by,
            author: line.author,
            op: line.op,
            token: line.token,
            revisions: revisions.into_iter().map(|revision| (room.clone(), revision)).collect(),
        };
        for other in &line.with {
            if self.position_of(other, &room, line.seq) == Some(0)
                && let Ok(other) = other.parse::<Room>()
                && let Some((_, revisions)) = self.take(&other, reached)
            {
                commit.revisions.extend(revisions.into_iter().map(|revision| (other.clone(), revision)));
            }
        }
        Some(commit)
    }

    fn take(&mut self, room: &Room, reached: &mut Reached) -> Option<(Line, Vec<Revision>)> {
        let untold = self.rooms.iter_mut().find(|untold| untold.room == *room)?;
        let taken = untold.lines.pop_front()?;
        reached.set(room, taken.0.seq);
        Some(taken)
    }

    /// Whether the lead of a room's line is there, and speaks of this room.
    fn has_lead_of(&self, room: &Room, line: &Line) -> bool {
        let Some(lead) = &line.lead else { return true };
        let lines = self.untold(&lead.room).map(|untold| &untold.lines);
        lines.is_some_and(|lines| lines.iter().any(|(line, _)| is_lead(line, lead, room)))
    }

    /// Whether the other rooms of a line's commit have nothing to tell before it. One whose lead is not kept any more stands
    /// for itself.
    fn comes_next(&self, room: &Room, line: &Line) -> bool {
        match &line.lead {
            Some(lead) => self.untold(&lead.room).is_none_or(|untold| untold.all_but(lead.seq)),
            None => line.with.iter().all(|other| match self.position_of(other, room, line.seq) {
                Some(position) => position == 0,
                None => self.untold(other).is_none_or(|untold| untold.ends == Ends::Here),
            }),
        }
    }

    fn untold(&self, room: &str) -> Option<&Untold> {
        self.rooms.iter().find(|untold| untold.room.to_string() == room)
    }

    /// Returns where a room's line of a commit stands among those that are left.
    fn position_of(&self, other: &str, lead: &Room, seq: u64) -> Option<usize> {
        let is_led = |line: &Line| {
            line.lead.as_ref().is_some_and(|known| known.seq == seq && known.room == lead.to_string())
        };
        self.untold(other)?.lines.iter().position(|(line, _)| is_led(line))
    }
}

impl Untold {
    /// Whether this line is not among those that are left.
    fn all_but(&self, seq: u64) -> bool {
        self.ends == Ends::Here && self.lines.iter().all(|(line, _)| line.seq != seq)
            || self.lines.front().is_some_and(|(line, _)| line.seq > seq)
    }
}
