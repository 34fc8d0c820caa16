//! Leases: how long somebody may be silent before what they have goes to others. Tasks of the queue and items of the loop
//! have them; the rules of what happens then are theirs.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::documents::queue::{LastClaim, Lease, LeaseClock, QueueTask};
use super::key::Fields;
use super::time::{self, Moment};

/// How long a lease lasts unless somebody says otherwise, in seconds.
pub const LEASE: f64 = 600.0;

/// Returns a lease that begins now, as documents write it.
pub fn new(epoch: u64, seconds: f64, now: &Moment) -> Value {
    let expires = now.at.checked_add(length(seconds)).unwrap_or(Timestamp::MAX);
    let seconds = if seconds.fract() == 0.0 { json!(seconds as u64) } else { json!(seconds) };
    let mut lease =
        json!({Lease::epoch: epoch, Lease::seconds: seconds, Lease::expires_at: time::stamp(expires)});
    if let Some(boot) = &now.boot {
        lease[Lease::clock] = json!({LeaseClock::boot: boot.id, LeaseClock::began: time::stamp(boot.began)});
    }
    lease
}

/// Returns the epoch of the newest claim on something that is leased; 0 before the first.
pub fn epoch(held: &Value) -> u64 {
    let last = held.at(QueueTask::last_claim).read(LastClaim::epoch);
    held.at(QueueTask::lease).read(Lease::epoch).max(last).unwrap_or(0)
}

/// Returns how long a renewal of something that is leased lasts.
pub fn seconds(held: &Value) -> f64 {
    let seconds = held.at(QueueTask::lease).number(Lease::seconds);
    seconds.unwrap_or(LEASE)
}

/// Returns how much of the lease is left; negative when it has run out, `None` without one.
///
/// On the boot that gave the lease a clock that was set meanwhile makes no difference.
pub fn left(held: &Value, now: &Moment) -> Option<SignedDuration> {
    let lease = held.at(QueueTask::lease)?;
    let expires = time::read(lease.text(Lease::expires_at)?)?;
    let left = expires.duration_since(now.at);
    Some(jump(lease, now).map_or(left, |jump| left.saturating_add(jump)))
}

/// Returns how much of the lease has been used; all of it where there is none.
pub fn used(held: &Value, now: &Moment) -> SignedDuration {
    left(held, now).map_or(SignedDuration::MAX, |left| length(seconds(held)).saturating_sub(left))
}

/// Returns how a claim ended that gave something back, as documents write it.
pub fn last_claim(by: &str, epoch: u64, reason: &str, now: &Moment) -> Value {
    json!({
        LastClaim::by: by, LastClaim::epoch: epoch, LastClaim::ended_at: time::stamp(now.at),
        LastClaim::reason: reason,
    })
}

fn length(seconds: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
}

/// Returns how far the clock was set since the lease was given, if that was on this boot.
fn jump(lease: &Value, now: &Moment) -> Option<SignedDuration> {
    let (clock, boot) = (lease.at(Lease::clock)?, now.boot.as_ref()?);
    let same = clock.text(LeaseClock::boot)? == boot.id;
    let began = time::read(clock.text(LeaseClock::began)?)?;
    same.then(|| boot.began.duration_since(began))
}
