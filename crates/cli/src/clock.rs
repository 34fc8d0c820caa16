//! The machine's clock.

use std::sync::Arc;

use anthill_core::model::time::{self, Boot, Clock, Moment};
use anthill_core::store::file::real_fs;
use jiff::{SignedDuration, Timestamp};

use crate::env;
use crate::error::{CliError, Result};

/// Returns the machine's clock, or the one that a test wants.
pub fn clock() -> Result<Arc<dyn Clock>> {
    match env::text(env::ANTHILL_NOW) {
        None => Ok(Arc::new(SystemClock)),
        Some(text) => {
            let wrong = || CliError::invalid(format!("{} is not a time: `{text}`", env::ANTHILL_NOW));
            let (since, rate) =
                text.split_once('*').map_or((&text[..], None), |(since, rate)| (since, Some(rate)));
            let since = time::read(since).ok_or_else(wrong)?;
            match rate {
                None => Ok(Arc::new(since)),
                Some(rate) => Ok(Arc::new(HastyClock { since, rate: rate.parse().map_err(|_| wrong())? })),
            }
        }
    }
}

#[derive(Debug)]
struct SystemClock;

/// A clock that runs `rate` times as fast since a moment, for tests in which months pass.
#[derive(Debug)]
struct HastyClock {
    since: Timestamp,
    rate: i32,
}

impl Clock for HastyClock {
    fn now(&self) -> Timestamp {
        let passed = SystemClock.now().duration_since(self.since);
        passed
            .checked_mul(self.rate)
            .and_then(|passed| self.since.checked_add(passed).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

/// Returns the beginning of the boot's id, which is enough to tell boots apart; `None` where the system has no such id.
fn boot_id() -> Option<String> {
    real_fs::boot_id().ok()?.map(|id| id.chars().take(8).collect())
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        time::of_system(std::time::SystemTime::now())
    }

    fn moment(&self) -> Moment {
        let (at, id) = (self.now(), boot_id());
        let began = || at.checked_sub(SignedDuration::try_from(real_fs::uptime()?).ok()?).ok();
        let boot = id.and_then(|id| Some(Boot { id, began: began()? }));
        Moment { at, boot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hasty_clock_makes_a_day_of_an_hour() {
        let now = SystemClock.now();
        let hasty = HastyClock { since: now - SignedDuration::from_hours(1), rate: 24 };
        let ahead = hasty.now().duration_since(now);
        assert!(ahead >= SignedDuration::from_hours(23) && ahead < SignedDuration::from_hours(24), "{ahead}");
    }
}
