//! The board of the queue, with notices of what keeps it from going on.

use anthill_core::model::flaws::flaws;
use anthill_core::model::kind::{Doc, UNFIT};
use anthill_core::model::next::Next;
use anthill_core::model::task::Task;
use anthill_core::model::time::Moment;
use anthill_core::ops::merge::in_words;
use anthill_core::ops::{Actor, doctor, read};
use anthill_core::store::Engine;
use anthill_core::view::board::{self, Line};
use jiff::SignedDuration;
use serde_json::Value;

/// How many flaws are named.
const MOST_FLAWS: usize = 5;

/// What a board is drawn of, and how wide it may be.
#[derive(Clone, Copy)]
pub struct Board<'b> {
    pub engine: &'b dyn Engine,
    pub actor: &'b Actor,
    pub width: usize,
}

impl Board<'_> {
    /// Draws the board without reading the whole queue, if that can be done.
    pub fn draw_overview(&self) -> Option<Vec<Line>> {
        let overview = read::overview(self.engine, &Doc::queue(), board::MOST)?;
        let now = self.actor.clock.moment();
        let mut lines =
            board::board_of_overview(&overview, now.at, &left(&now), self.width, self.actor.door)?;
        let count = |wanted: &str| {
            overview.counts.iter().find(|(word, _)| *word == wanted).map_or(0, |(_, count)| *count)
        };
        let is_stuck =
            count("created") > 0 && ["available", "claimed", "in_progress"].map(count) == [0, 0, 0];
        if count(UNFIT) > 0 {
            lines.extend(self.unfit());
        }
        if is_stuck {
            lines.extend(self.flawed());
        }
        lines.extend(self.paused());
        lines.extend(self.asides());
        Some(lines)
    }

    pub fn draw(&self, queue: &Value) -> Vec<Line> {
        let now = self.actor.clock.moment();
        let mut lines = board::board(queue, now.at, &left(&now), self.width, self.actor.door);
        lines.extend(self.unfit());
        lines.extend(self.flawed());
        lines.extend(self.paused());
        lines.extend(self.asides());
        lines
    }

    /// Names edits of the queue that could not be joined.
    fn asides(&self) -> Vec<Line> {
        let asides = self.engine.asides(&Doc::queue().room).unwrap_or_default();
        board::notices(asides.iter().map(|aside| self.actor.door.tell(&in_words(aside))), self.width)
    }

    /// Names tasks whose ids are not valid, so that nobody gets them. If that cannot be found out, the board does without.
    fn unfit(&self) -> Vec<Line> {
        let findings = doctor::odd_ids(self.engine, &Doc::queue()).unwrap_or_default();
        let messages: Vec<_> = findings.iter().map(|finding| finding.message.clone()).collect();
        let fix = |fix| board::unfit(&messages, &self.actor.door.tell(fix));
        findings.first().map_or_else(Vec::new, |first| fix(&first.fix))
    }

    /// Names what is wrong with tasks that are handed out all the same, or that wait for something that never comes.
    fn flawed(&self) -> Vec<Line> {
        let queue = self.engine.read(&Doc::queue()).ok().flatten();
        let flaws = queue.map(|queue| flaws(Doc::queue().kind, &queue.value)).unwrap_or_default();
        let doctor = self.actor.door.say(&Next::Doctor);
        let notice = |message: &str| format!("{message}: {doctor}");
        board::notices(flaws.iter().take(MOST_FLAWS).map(|flaw| notice(&flaw.message)), self.width)
    }

    /// Says which workers pause. If their register cannot be read, the board does without.
    fn paused(&self) -> Vec<Line> {
        let doc = Doc::workers();
        let exists = !self.engine.is_absent(&doc);
        let register = exists.then(|| self.engine.read(&doc).ok().flatten()).flatten();
        let now = self.actor.now();
        register.map_or_else(Vec::new, |found| board::paused(&found.value, now, self.width))
    }
}

/// Returns what is left of a task's lease.
pub fn left(now: &Moment) -> impl Fn(&Value) -> Option<SignedDuration> {
    |task| Task::of(task.clone()).lease_left(now)
}
