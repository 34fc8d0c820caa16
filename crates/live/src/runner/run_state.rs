//! What the threads of one run share: who is at work, what is new, and whether the run is over.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::model::ids::Key;
use anthill_core::model::service::{Ailment, Diagnosis};
use anthill_core::ops;
use anthill_core::store::Listener;
use jiff::Timestamp;

use super::Error;

/// How long a pause lasts before we look at the clock again: the machine may have slept meanwhile.
const LOOK: Duration = Duration::from_secs(60);

/// What wakes the thread of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nudge {
    /// Its command has ended.
    Exited,
    /// Its command is to end.
    Stop,
    /// Its command is to end at once.
    Kill,
}

/// A time in which nothing is started, because the service is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub ailment: Ailment,
    /// When it is over, by the clock that people see.
    pub until: Timestamp,
    /// When it is over at the latest.
    ends: Instant,
}

#[derive(Debug, Default)]
pub struct RunState {
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
    /// The tasks that commands of this run gave back.
    given_back: HashSet<Key>,
    pause: Option<Pause>,
    /// How many pauses there were since the service last worked.
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

impl RunState {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete, even if its thread panics afterwards.
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

    /// Rings whenever the listener hears something. The thread is left alone: it ends with the process, or at the first
    /// change after the run.
    pub fn ring_at(self: &Arc<RunState>, mut listener: Box<dyn Listener>) {
        let run = Arc::downgrade(self);
        thread::spawn(move || {
            loop {
                let heard = listener.wait(None);
                let Some(run) = run.upgrade() else { return };
                match heard {
                    Ok(_) => run.ring(),
                    Err(error) => return run.fail(ops::Error::from(error).into()),
                }
            }
        });
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

    /// Begins a pause: as long as the diagnosis says, else longer each time. Commands that run go on.
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

    /// Says that the service works.
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

    /// Takes a place among those at work. After the end of the run, the place is told to stop at once.
    pub fn enter(&self) -> Place<'_> {
        let (sender, nudges) = mpsc::channel();
        let mut state = self.state();
        state.entered += 1;
        let number = state.entered;
        if state.is_over() {
            let _ = sender.send(Nudge::Stop);
        }
        state.places.insert(number, sender.clone());
        Place { run: self, number, sender, nudges }
    }

    /// Heeds a signal: the first ends the run, the second ends it at once.
    pub fn interrupt(&self, signal: i32) {
        self.change(|state| {
            let nudge = if state.signal.is_some() { Nudge::Kill } else { Nudge::Stop };
            state.signal.get_or_insert(signal);
            for place in state.places.values() {
                // It may have ended already.
                let _ = place.send(nudge);
            }
        });
    }

    /// Ends the run after what is at work now.
    pub fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// Ends the run after what is at work now. The first failure is reported.
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

/// Returns a little time, at most a twentieth, so that not all come back at the same moment.
fn jitter(wait: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1000;
    wait.min(Duration::from_secs(600)) * u32::try_from(random).unwrap_or(0) / 20_000
}

/// A place among those at work, until it is dropped.
#[derive(Debug)]
pub struct Place<'s> {
    run: &'s RunState,
    number: u64,
    pub sender: Sender<Nudge>,
    pub nudges: Receiver<Nudge>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.run.change(|state| {
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
        let run = RunState::default();
        let seen = run.wait_for_room(1).expect("there is room");
        drop(run.enter());
        assert!(run.wait_for_news(seen, None, false), "what the sibling set free is looked for");
        let seen = run.wait_for_room(1).expect("there is room again");
        assert!(!run.wait_for_news(seen, None, false), "nobody is left who could set something free");
        assert!(run.wait_for_news(seen, Some(Duration::ZERO), true), "time to look again");
    }

    #[test]
    fn everybody_pauses_and_longer_each_time() {
        let (run, now) = (RunState::default(), Timestamp::UNIX_EPOCH);
        let ill = |until: Option<i64>| Diagnosis {
            ailment: Ailment::Overload,
            until: until.map(|seconds| Timestamp::from_second(seconds).unwrap()),
        };
        let length = || run.pause().map(|pause| pause.until.as_second());
        assert_eq!(length(), None);
        run.rest(&ill(Some(0)), now);
        let pause = run.pause().expect("there is one");
        run.sit_out(&pause, &|| now);
        assert_eq!(length(), None, "it is over");
        run.rest(&ill(None), now);
        assert!((10..=11).contains(&length().unwrap()), "the second is longer");
        run.rest(&ill(None), now);
        run.rest(&ill(Some(5)), now);
        assert!((20..=21).contains(&length().unwrap()), "the longest counts");
        let pause = run.pause().unwrap();
        run.sit_out(&pause, &|| Timestamp::from_second(3600).unwrap());
        assert_eq!(length(), None, "a machine that slept does not count its sleep again");
        run.is_served();
        run.rest(&ill(None), now);
        assert!((5..=6).contains(&length().unwrap()), "from the begin");
        run.interrupt(2);
        run.sit_out(&run.pause().unwrap(), &|| now);
    }

    #[test]
    fn the_first_signal_asks_and_the_second_insists() {
        let run = RunState::default();
        let place = run.enter();
        run.interrupt(15);
        run.interrupt(2);
        assert_eq!(place.nudges.try_iter().collect::<Vec<_>>(), [Nudge::Stop, Nudge::Kill]);
        assert_eq!(run.enter().nudges.try_recv(), Ok(Nudge::Stop), "too late");
        assert_eq!((run.wait_for_room(9), run.signal()), (None, Some(15)));
        assert!(!run.wait_for_news(0, None, true));
    }
}
