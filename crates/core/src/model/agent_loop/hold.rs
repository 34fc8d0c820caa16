//! Items in hand: who has one, for how long without a sign of life, and how it goes back.
//!
//! Whoever takes an item has it by a lease, as a task of the queue. Signs of life renew it; the end of a session or a run
//! gives it back, and a lease that ran out makes it free for whoever takes next. Work that is done is not thrown away
//! without need: who comes back late has the item still, unless somebody else took it.

use jiff::SignedDuration;
use serde_json::Value;

use super::{Phase, Refusal, WorkLoop, rank, text};
use crate::model::documents::agent_loop::{WorkItem, WorkItemStatus, WorkQueue};
use crate::model::key::{Fields, FieldsMut};
use crate::model::time::Moment;
use crate::model::{ids, lease};

/// A lease is not renewed before so much of it was used: a sign of life is no reason to write.
const FRESH: SignedDuration = SignedDuration::from_secs(60);

/// Whoever has items, or wants them.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    pub who: &'a str,
    /// The session whose signs of life renew the lease, and whose end gives the item back.
    pub session: Option<&'a str>,
    /// The place of a run among those at work: two runs of one name are two.
    pub run: Option<&'a str>,
    /// How long it may be silent, in seconds.
    pub lease: f64,
}

/// An item that somebody had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenBack {
    pub id: String,
    pub by: String,
}

/// How an item stands with somebody who had it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grip {
    Held,
    /// It is over.
    Closed,
    /// It went back, and nobody has it.
    Dropped,
    /// Somebody else has it.
    Lost(String),
}

impl Holder<'_> {
    fn has(&self, item: &Value) -> bool {
        is_in_hand(item)
            && text(item, WorkItem::assigned_to) == self.who
            && item.text(WorkItem::run) == self.run
    }
}

/// Whether somebody has an item.
pub fn is_in_hand(item: &Value) -> bool {
    text(item, WorkItem::status) == "in_progress" && !text(item, WorkItem::assigned_to).is_empty()
}

/// Whether an item belongs to a session: it took it, or is its name.
fn is_of_session(item: &Value, session: &str) -> bool {
    is_in_hand(item)
        && (text(item, WorkItem::session_id) == session || text(item, WorkItem::assigned_to) == session)
}

impl WorkLoop {
    /// Gives somebody an item: the one that they have in hand, the named one, or the worst that waits. Returns its id.
    pub fn take(&mut self, holder: &Holder<'_>, id: Option<&str>, now: &Moment) -> Result<String, Refusal> {
        let place = match id {
            Some(id) => self.place(id)?,
            None => self.next_for(holder)?,
        };
        let item = &self.items()[place];
        let (id, by) = (text(item, WorkItem::id).to_owned(), text(item, WorkItem::assigned_to).to_owned());
        match text(item, WorkItem::status) {
            "in_progress" if holder.has(item) => {
                self.renew_at(place, now);
                return Ok(id);
            }
            "in_progress" if !by.is_empty() => return Err(Refusal::Taken { id, by }),
            status @ ("done" | "cancelled") => return Err(Refusal::Closed { id, status: status.to_owned() }),
            _ if !ids::is_sound(&id) => return Err(Refusal::OddId { id }),
            _ => {}
        }
        self.hand_to(place, holder, now);
        self.enter(Phase::Build);
        Ok(id)
    }

    fn next_for(&self, holder: &Holder<'_>) -> Result<usize, Refusal> {
        let items = || self.items().iter().enumerate();
        let waits = |(_, item): &(usize, &Value)| {
            matches!(text(item, WorkItem::status), "" | "pending") && ids::is_sound(text(item, WorkItem::id))
        };
        let held = items().find(|(_, item)| holder.has(item));
        let next = || items().filter(waits).min_by_key(|(place, item)| (rank(item), *place));
        let found = held.or_else(next).map(|(place, _)| place);
        found.ok_or_else(|| {
            let held = self.items().iter().find(|item| is_in_hand(item));
            let told = |item: &Value| {
                (text(item, WorkItem::id).to_owned(), text(item, WorkItem::assigned_to).to_owned())
            };
            Refusal::Nothing { held: held.map(told) }
        })
    }

    fn hand_to(&mut self, place: usize, holder: &Holder<'_>, now: &Moment) {
        let item = &mut self.queue[WorkQueue::items][place];
        let epoch = lease::epoch(item) + 1;
        item.set(WorkItem::status, WorkItemStatus::InProgress);
        item.set(WorkItem::assigned_to, holder.who);
        for (field, value) in [(WorkItem::session_id, holder.session), (WorkItem::run, holder.run)] {
            match value {
                Some(value) => item.set(field, value),
                None => drop(item.unset(field)),
            }
        }
        item[WorkItem::lease] = lease::new(epoch, holder.lease, now);
    }

    /// Renews the leases of a session that has given a sign of life.
    pub fn renew_session(&mut self, session: &str, now: &Moment) {
        for place in 0..self.items().len() {
            if is_of_session(&self.items()[place], session) {
                self.renew_at(place, now);
            }
        }
    }

    /// Renews the lease of an item that somebody works on, and says how it stands with them.
    pub fn renew(&mut self, holder: &Holder<'_>, id: &str, now: &Moment) -> Result<Grip, Refusal> {
        let place = self.place(id)?;
        let item = &self.items()[place];
        let grip = match text(item, WorkItem::status) {
            "done" | "cancelled" => Grip::Closed,
            _ if holder.has(item) => Grip::Held,
            "in_progress" => Grip::Lost(text(item, WorkItem::assigned_to).to_owned()),
            _ => Grip::Dropped,
        };
        if grip == Grip::Held {
            self.renew_at(place, now);
        }
        Ok(grip)
    }

    fn renew_at(&mut self, place: usize, now: &Moment) {
        let item = &mut self.queue[WorkQueue::items][place];
        if lease::used(item, now) >= FRESH {
            item[WorkItem::lease] = lease::new(lease::epoch(item).max(1), lease::seconds(item), now);
        }
    }

    /// Gives back an item that somebody has in hand: the named one, or all of theirs. Others are left alone; one that
    /// nobody has stays as it is.
    pub fn release(&mut self, who: &str, id: Option<&str>, now: &Moment) -> Result<Vec<GivenBack>, Refusal> {
        let Some(id) = id else {
            let given =
                self.give_back_where(&|item| text(item, WorkItem::assigned_to) == who, "released", now);
            return if given.is_empty() {
                Err(Refusal::EmptyHanded { who: who.to_owned() })
            } else {
                Ok(given)
            };
        };
        let place = self.place(id)?;
        let item = &self.items()[place];
        let (id, by) = (id.to_owned(), text(item, WorkItem::assigned_to).to_owned());
        match text(item, WorkItem::status) {
            status @ ("done" | "cancelled") => Err(Refusal::Closed { id, status: status.to_owned() }),
            "in_progress" if by.is_empty() || by == who || is_expired(item, now) => {
                Ok(vec![self.give_back(place, "released", now)])
            }
            "in_progress" => Err(Refusal::Taken { id, by }),
            _ => Ok(Vec::new()),
        }
    }

    /// Notes what came of an item that somebody worked on: it is done, or goes back. One that somebody else has by now is
    /// left alone.
    pub fn settle(
        &mut self,
        holder: &Holder<'_>,
        id: &str,
        is_done: bool,
        now: &Moment,
    ) -> Result<(), Refusal> {
        match (self.renew(holder, id, now)?, is_done) {
            (Grip::Held | Grip::Dropped, true) => self.done(id),
            (Grip::Held, false) => {
                let place = self.place(id)?;
                self.give_back(place, "released", now);
                Ok(())
            }
            (Grip::Dropped, false) | (Grip::Closed | Grip::Lost(_), _) => Ok(()),
        }
    }

    /// Makes free what nobody has given a sign of life for, for somebody who takes; what is theirs stays so.
    pub fn take_back_expired(&mut self, holder: &Holder<'_>, now: &Moment) -> Vec<GivenBack> {
        self.give_back_where(&|item| is_expired(item, now) && !holder.has(item), "expired", now)
    }

    /// Gives back what a session has.
    pub fn give_back_of_session(&mut self, session: &str, reason: &str, now: &Moment) -> Vec<GivenBack> {
        self.give_back_where(&|item| is_of_session(item, session), reason, now)
    }

    /// Gives back what a run has that is gone.
    pub fn give_back_of_run(&mut self, run: &str, now: &Moment) -> Vec<GivenBack> {
        self.give_back_where(&|item| text(item, WorkItem::run) == run, "run ended", now)
    }

    /// Gives what one session has to another, with leases of its own. Returns the ids.
    pub fn hand_over(&mut self, from: &str, to: &str, only: Option<&str>, now: &Moment) -> Vec<String> {
        let mut moved = Vec::new();
        for place in 0..self.items().len() {
            let item = &self.items()[place];
            let id = text(item, WorkItem::id).to_owned();
            if is_of_session(item, from) && only.is_none_or(|only| only == id) {
                let lease = lease::seconds(item);
                self.give_back(place, "handed over", now);
                self.hand_to(place, &Holder { who: to, session: Some(to), run: None, lease }, now);
                moved.push(id);
            }
        }
        moved
    }

    /// Whether a session has an item.
    pub fn is_held_by(&self, session: &str) -> bool {
        self.items().iter().any(|item| is_of_session(item, session))
    }

    /// Whether a session has an item whose lease is worth renewing.
    pub fn is_due_for(&self, session: &str, now: &Moment) -> bool {
        let mut items = self.items().iter();
        items.any(|item| is_of_session(item, session) && lease::used(item, now) >= FRESH)
    }

    /// Returns the runs that have items.
    pub fn runs(&self) -> Vec<&str> {
        let mut runs: Vec<&str> = self
            .items()
            .iter()
            .filter(|item| is_in_hand(item))
            .map(|item| text(item, WorkItem::run))
            .collect();
        runs.retain(|run| !run.is_empty());
        runs.dedup();
        runs
    }

    fn give_back_where(
        &mut self,
        wanted: &dyn Fn(&Value) -> bool,
        reason: &str,
        now: &Moment,
    ) -> Vec<GivenBack> {
        let is_wanted = |item: &Value| is_in_hand(item) && wanted(item);
        let places: Vec<usize> =
            (0..self.items().len()).filter(|place| is_wanted(&self.items()[*place])).collect();
        places.into_iter().map(|place| self.give_back(place, reason, now)).collect()
    }

    fn give_back(&mut self, place: usize, reason: &str, now: &Moment) -> GivenBack {
        let item = &mut self.queue[WorkQueue::items][place];
        let (id, by) = (text(item, WorkItem::id).to_owned(), text(item, WorkItem::assigned_to).to_owned());
        item[WorkItem::last_claim] = lease::last_claim(&by, lease::epoch(item), reason, now);
        item.set(WorkItem::status, WorkItemStatus::Pending);
        for field in [WorkItem::assigned_to, WorkItem::session_id, WorkItem::run] {
            item.unset(field);
        }
        item.unset(WorkItem::lease);
        GivenBack { id, by }
    }
}

/// Whether nobody has given a sign of life for an item in hand for too long.
pub fn is_expired(item: &Value, now: &Moment) -> bool {
    is_in_hand(item) && lease::left(item, now).is_some_and(|left| left <= SignedDuration::ZERO)
}
