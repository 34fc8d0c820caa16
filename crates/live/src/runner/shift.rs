//! What the threads of a runner know together: who is at work, what is new, and whether it is over.

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anthill_core::model::ids::Key;

use super::Error;

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
