//! How long the rest will take, by what the finished tasks took. With too few of them nothing is said.

use jiff::{SignedDuration, Timestamp};

use super::documents::queue::QueueTask;
use super::key::Fields;
use super::task::{Status, Task};
use super::time;

/// So many finished tasks tell something.
pub const ENOUGH: usize = 5;

/// When a task was begun and when it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub began: Timestamp,
    pub ended: Timestamp,
}

impl Sample {
    /// Returns what a task tells that is done.
    pub fn of(task: &Task) -> Option<Sample> {
        let at = |text: Option<&str>| text.and_then(time::read);
        let value = task.value();
        let began =
            at(value.text(QueueTask::started_at)).or_else(|| at(value.text(QueueTask::claimed_at)))?;
        let ended = at(value.text(QueueTask::completed_at))?;
        (task.status() == Status::Done && began <= ended).then_some(Sample { began, ended })
    }

    fn took(&self) -> SignedDuration {
        self.ended.duration_since(self.began)
    }
}

/// What is to be expected, and by what.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub end: Timestamp,
    pub per_hour: f64,
    /// How long half of the tasks took at the most.
    pub median: SignedDuration,
    /// How many finished tasks it is based on.
    pub samples: usize,
}

/// Looks ahead over so many open tasks, of which so many have to be done one after the other.
pub fn forecast(samples: &[Sample], open: usize, longest_chain: usize, now: Timestamp) -> Option<Forecast> {
    if samples.len() < ENOUGH || open == 0 {
        return None;
    }
    let mut took: Vec<_> = samples.iter().map(Sample::took).collect();
    took.sort();
    let median = took[took.len() / 2];
    let first = samples.iter().map(|sample| sample.began).min()?;
    let last = samples.iter().map(|sample| sample.ended).max()?;
    let span = last.duration_since(first).as_secs_f64();
    if span <= 0.0 {
        return None;
    }
    let per_hour = samples.len() as f64 * 3600.0 / span;
    let by_rate = open as f64 * 3600.0 / per_hour;
    let by_chain = median.as_secs_f64() * longest_chain as f64;
    let rest = SignedDuration::try_from_secs_f64(by_rate.max(by_chain)).ok()?;
    Some(Forecast { end: now.checked_add(rest).ok()?, per_hour, median, samples: samples.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks of two minutes, one begun every minute.
    fn samples(count: i64) -> Vec<Sample> {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        (0..count).map(|number| Sample { began: at(number), ended: at(number + 2) }).collect()
    }

    #[test]
    fn few_tasks_tell_nothing() {
        assert_eq!(forecast(&samples(4), 3, 1, Timestamp::UNIX_EPOCH), None);
        assert_eq!(forecast(&samples(9), 0, 0, Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn the_rest_takes_as_long_as_its_number_or_its_longest_chain() {
        let minutes = |open, chain| {
            let found = forecast(&samples(9), open, chain, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!((found.samples, found.median.as_mins()), (9, 2));
            assert!((found.per_hour - 54.0).abs() < 0.01, "9 in 10 minutes");
            found.end.as_second() / 60
        };
        assert_eq!(minutes(9, 1), 10);
        assert_eq!(minutes(9, 9), 18);
    }
}
