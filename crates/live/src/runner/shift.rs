//! What the threads of a runner know together: who is at work, what is new, and whether it is over.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anthill_core::model::ids::Key;
use anthill_core::model::service::{Ailment, Diagnosis};
use jiff::Timestamp;

use super::Error;

/// How long a pause goes on before the clock is looked at again: a machine that sleeps meanwhile does not count.
const LOOK: Duration = Duration::from_secs(60);

/// What the thread of a task is woken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nudge {
    /// Its command has ended.
    Exited,
    /// Its command is to end.
    Stop,
    /// Its command is to end at once.
    Kill,
}

/// A time in which nobody starts anything, as the service does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub ailment: Ailment,
    /// When it is over by the clock of those who read about it.
    pub until: Timestamp,
    /// When it is over at the latest.
    ends: Instant,
}

#[derive(Debug, Default)]
pub struct Shift {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Counts what may have set a task free.
    news: u64,
    /// Those at work, by a number of their own.
    places: BTreeMap<u64, Sender<Nudge>>,
    entered: u64,
    /// What commands of this shift did not want to do.
    given_back: HashSet<Key>,
    pause: Option<Pause>,
    /// How many pauses there were since the service served last.
    pauses: u32,
    closed: bool,
    signal: Option<i32>,
    failure: Option<Error>,
}

impl State {
    fn is_over(&self) -> bool {
        self.closed || self.signal.is_some() || self.failure.is_some()
    }
}

impl Shift {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole, whatever its thread does afterwards.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Says that something may be ready that was not.
    pub fn ring(&self) {
        self.change(|state| state.news += 1);
    }

    /// Whether fewer than `most` are at work.
    pub fn has_room(&self, most: usize) -> bool {
        self.state().places.len() < most
    }

    /// Waits until fewer than `most` are at work and returns what is new by then; `None` when it is over.
    pub fn wait_for_room(&self, most: usize) -> Option<u64> {
        let full = |state: &mut State| !state.is_over() && state.places.len() >= most;
        let state = self.changed.wait_while(self.state(), full).unwrap_or_else(PoisonError::into_inner);
        (!state.is_over()).then_some(state.news)
    }

    /// Waits for something newer than `seen`, at most for `patience`. Returns false when there is nothing to
    /// wait for: it is over, or nobody is at work and `even_alone` is not set.
    pub fn wait_for_news(&self, seen: u64, patience: Option<Duration>, even_alone: bool) -> bool {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut state = self.state();
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match left {
                _ if state.is_over() => return false,
                _ if state.news != seen => return true,
                _ if state.places.is_empty() && !even_alone => return false,
                Some(Duration::ZERO) => return true,
                left => state = self.sleep(state, left),
            }
        }
    }

    fn sleep<'s>(&self, state: MutexGuard<'s, State>, left: Option<Duration>) -> MutexGuard<'s, State> {
        match left {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// Has everybody pause, as long as the diagnosis says or as it takes longer each time. Those at work go on.
    pub fn rest(&self, diagnosis: &Diagnosis, now: Timestamp) {
        let ailment = diagnosis.ailment;
        self.change(|state| {
            let told = diagnosis.until.map(|until| until.duration_since(now).unsigned_abs());
            let wait = told.unwrap_or_else(|| ailment.pause(state.pauses));
            let wait = wait + jitter(wait);
            let Some(ends) = Instant::now().checked_add(wait) else { return };
            let pause = Pause { ailment, until: now.checked_add(wait).unwrap_or(Timestamp::MAX), ends };
            if state.pause.is_none() {
                state.pauses = state.pauses.saturating_add(1);
            }
            if state.pause.is_none_or(|pause| pause.ends < ends) {
                state.pause = Some(pause);
            }
        });
    }

    /// Says that the service serves.
    pub fn is_served(&self) {
        self.state().pauses = 0;
    }

    pub fn pause(&self) -> Option<Pause> {
        self.state().pause
    }

    /// Waits until this pause is over, or there is another, or everything is over.
    pub fn sit_out(&self, pause: &Pause, now: &dyn Fn() -> Timestamp) {
        let mut state = self.state();
        while !state.is_over() && state.pause.as_ref() == Some(pause) {
            let left = pause.ends.saturating_duration_since(Instant::now());
            if left.is_zero() || now() >= pause.until {
                state.pause = None;
                return;
            }
            state = self.sleep(state, Some(left.min(LOOK)));
        }
    }

    /// Takes a place among those at work. Who comes after the end is told to stop.
    pub fn enter(&self) -> Place<'_> {
        let (sender, nudges) = mpsc::channel();
        let mut state = self.state();
        state.entered += 1;
        let number = state.entered;
        if state.is_over() {
            let _ = sender.send(Nudge::Stop);
        }
        state.places.insert(number, sender.clone());
        Place { shift: self, number, sender, nudges }
    }

    /// Heeds a signal: the first ends the shift, the second ends it at once.
    pub fn interrupt(&self, signal: i32) {
        self.change(|state| {
            let nudge = if state.signal.is_some() { Nudge::Kill } else { Nudge::Stop };
            state.signal.get_or_insert(signal);
            for place in state.places.values() {
                // Who is not there any more needs no nudge.
                let _ = place.send(nudge);
            }
        });
    }

    /// Ends the shift after what is at work now.
    pub fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// Ends the shift after what is at work now. The first failure is the one to tell.
    pub fn fail(&self, error: Error) {
        self.change(|state| state.failure = state.failure.take().or(Some(error)));
    }

    pub fn signal(&self) -> Option<i32> {
        self.state().signal
    }

    pub fn failure(&self) -> Option<Error> {
        self.state().failure.take()
    }

    /// Notes that a command gave the task back.
    pub fn give_back(&self, task: &Key) {
        self.state().given_back.insert(task.clone());
    }

    pub fn gave_back(&self, task: &Key) -> bool {
        self.state().given_back.contains(task)
    }
}

/// Returns a little time, at most a twentieth: those who were told the same time do not come back all at once.
fn jitter(wait: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1000;
    wait.min(Duration::from_secs(600)) * u32::try_from(random).unwrap_or(0) / 20_000
}

/// A place among those at work, until it is dropped.
#[derive(Debug)]
pub struct Place<'s> {
    shift: &'s Shift,
    number: u64,
    pub sender: Sender<Nudge>,
    pub nudges: Receiver<Nudge>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shift.change(|state| {
            state.places.remove(&self.number);
            state.news += 1;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_before_the_wait_is_not_missed() {
        let shift = Shift::default();
        let seen = shift.wait_for_room(1).expect("there is room");
        drop(shift.enter());
        assert!(shift.wait_for_news(seen, None, false), "what the sibling set free is looked for");
        let seen = shift.wait_for_room(1).expect("there is room again");
        assert!(!shift.wait_for_news(seen, None, false), "nobody is left who could set something free");
        assert!(shift.wait_for_news(seen, Some(Duration::ZERO), true), "time to look again");
    }

    #[test]
    fn everybody_pauses_and_longer_each_time() {
        let (shift, now) = (Shift::default(), Timestamp::UNIX_EPOCH);
        let ill = |until: Option<i64>| Diagnosis {
            ailment: Ailment::Overload,
            until: until.map(|seconds| Timestamp::from_second(seconds).unwrap()),
        };
        let length = || shift.pause().map(|pause| pause.until.as_second());
        assert_eq!(length(), None);
        shift.rest(&ill(Some(0)), now);
        let pause = shift.pause().expect("there is one");
        shift.sit_out(&pause, &|| now);
        assert_eq!(length(), None, "it is over");
        shift.rest(&ill(None), now);
        assert!((10..=11).contains(&length().unwrap()), "the second is longer");
        shift.rest(&ill(None), now);
        shift.rest(&ill(Some(5)), now);
        assert!((20..=21).contains(&length().unwrap()), "the longest counts");
        let pause = shift.pause().unwrap();
        shift.sit_out(&pause, &|| Timestamp::from_second(3600).unwrap());
        assert_eq!(length(), None, "a machine that slept does not count its sleep again");
        shift.is_served();
        shift.rest(&ill(None), now);
        assert!((5..=6).contains(&length().unwrap()), "from the begin");
        shift.interrupt(2);
        shift.sit_out(&shift.pause().unwrap(), &|| now);
    }

    #[test]
    fn the_first_signal_asks_and_the_second_insists() {
        let shift = Shift::default();
        let place = shift.enter();
        shift.interrupt(15);
        shift.interrupt(2);
        assert_eq!(place.nudges.try_iter().collect::<Vec<_>>(), [Nudge::Stop, Nudge::Kill]);
        assert_eq!(shift.enter().nudges.try_recv(), Ok(Nudge::Stop), "too late");
        assert_eq!((shift.wait_for_room(9), shift.signal()), (None, Some(15)));
        assert!(!shift.wait_for_news(0, None, true));
    }
}
