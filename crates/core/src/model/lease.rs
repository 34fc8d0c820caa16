//! Leases: how long somebody may be silent before what they have goes to others. Tasks of the queue and items of the loop
//! have them; the rules of what happens then are theirs.
//!
//! A sign of life renews a lease. Those for tasks of the queue are kept beside the document ([`Signs`]), and written into it
//! now and then ([`is_stale`]): the later of the two counts.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::documents::queue::{LastClaim, Lease, LeaseClock, QueueTask};
use super::key::Fields;
use super::time::{self, Moment};

/// How long a lease lasts unless somebody says otherwise, in seconds.
pub const LEASE: f64 = 600.0;

/// What a commit does that only renews leases. It stands in nobody's way.
pub const HEARTBEAT: &str = "heartbeat";

/// A lease that is shorter is renewed in the document each time, in seconds.
const SHORT: f64 = 60.0;

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
    left_of(held.at(QueueTask::lease)?, now)
}

fn left_of(lease: &Value, now: &Moment) -> Option<SignedDuration> {
    let left = expires(lease)?.duration_since(now.at);
    Some(jump(lease, now).map_or(left, |jump| left.saturating_add(jump)))
}

/// Returns how much of the lease has been used; all of it where there is none.
pub fn used(held: &Value, now: &Moment) -> SignedDuration {
    used_of(left(held, now), held)
}

fn used_of(left: Option<SignedDuration>, held: &Value) -> SignedDuration {
    left.map_or(SignedDuration::MAX, |left| length(seconds(held)).saturating_sub(left))
}

/// Whether a renewal has to be written into the document, for those who read nothing else: half of the lease has passed since
/// the last one was. So whoever gives signs has at least half a lease there.
pub fn is_stale(held: &Value, now: &Moment) -> bool {
    let seconds = seconds(held);
    seconds < SHORT || used(held, now).saturating_mul(2) >= length(seconds)
}

/// Lets an older state of something have the lease that it has now, if that is the same one and was renewed since.
pub fn keep_later(now: &Value, then: &mut Value) {
    let (Some(lease), Some(older)) = (now.at(QueueTask::lease), then.at(QueueTask::lease)) else { return };
    if older.is_object() && epoch(now) == epoch(then) && is_later(lease, older) {
        then[QueueTask::lease] = lease.clone();
    }
}

/// A sign of life: the lease of an item as it was renewed, beside the document that may have an older one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sign {
    pub id: String,
    /// Who has it, and so is alive.
    pub by: String,
    pub lease: Value,
}

impl Sign {
    /// Returns the sign of somebody whose lease was renewed just now.
    pub fn of(held: &Value) -> Sign {
        let (id, by) = (held.text(QueueTask::id), held.text(QueueTask::claimed_by));
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Sign { id: text(id), by: text(by), lease: held[QueueTask::lease].clone() }
    }

    /// Whether the lease is over that it renewed, so that nobody misses it.
    pub fn is_over(&self, now: &Moment) -> bool {
        left_of(&self.lease, now).is_none_or(|left| left <= SignedDuration::ZERO)
    }

    /// Returns when it was given.
    fn given(&self) -> Option<Timestamp> {
        let seconds = self.lease.number(Lease::seconds).unwrap_or(LEASE);
        expires(&self.lease)?.checked_sub(length(seconds)).ok()
    }

    fn is_after(&self, other: &Sign) -> bool {
        let epoch = |sign: &Sign| sign.lease.read(Lease::epoch);
        let is_newer = epoch(self).cmp(&epoch(other));
        is_newer.is_gt() || is_newer.is_eq() && is_later(&self.lease, &other.lease)
    }

    /// Whether it renews the lease of an item: the same one, for longer than the document says.
    fn renews(&self, held: &Value) -> bool {
        let lease = &held[QueueTask::lease];
        lease.is_object()
            && self.lease.read(Lease::epoch) == Some(epoch(held).max(1))
            && self.lease.number(Lease::seconds) == Some(seconds(held))
            && is_later(&self.lease, lease)
    }
}

/// The last signs of life of those who have items of a document, by item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Signs(HashMap<String, Sign>);

impl Signs {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of(&self, id: &str) -> Option<&Sign> {
        self.0.get(id)
    }

    /// Renews the lease of an item as its last sign of life did.
    pub fn renew(&self, held: &mut Value) {
        if let Some(sign) = self.renewing(held) {
            held[QueueTask::lease] = sign.lease.clone();
        }
    }

    /// Returns how much of the lease of an item is left, as [`left`] does.
    pub fn left(&self, held: &Value, now: &Moment) -> Option<SignedDuration> {
        match self.renewing(held) {
            Some(sign) => left_of(&sign.lease, now),
            None => left(held, now),
        }
    }

    /// Returns how long ago the lease of an item was renewed, as [`used`] does.
    pub fn used(&self, held: &Value, now: &Moment) -> SignedDuration {
        used_of(self.left(held, now), held)
    }

    /// Returns when each of those who gave them was last heard of.
    pub fn last_seen(&self) -> HashMap<&str, Timestamp> {
        let mut seen = HashMap::new();
        for sign in self.0.values() {
            if let Some(given) = sign.given() {
                let known = seen.entry(&*sign.by).or_insert(given);
                *known = given.max(*known);
            }
        }
        seen
    }

    fn renewing(&self, held: &Value) -> Option<&Sign> {
        let sign = self.of(held.text(QueueTask::id)?)?;
        sign.renews(held).then_some(sign)
    }
}

/// Of several signs for an item the last one counts.
impl FromIterator<Sign> for Signs {
    fn from_iter<I: IntoIterator<Item = Sign>>(signs: I) -> Signs {
        let mut last: HashMap<String, Sign> = HashMap::new();
        for sign in signs {
            if !last.get(&sign.id).is_some_and(|known| known.is_after(&sign)) {
                last.insert(sign.id.clone(), sign);
            }
        }
        Signs(last)
    }
}

/// Returns how a claim ended that gave something back, as documents write it.
pub fn last_claim(by: &str, epoch: u64, reason: &str, now: &Moment) -> Value {
    json!({
        LastClaim::by: by, LastClaim::epoch: epoch, LastClaim::ended_at: time::stamp(now.at),
        LastClaim::reason: reason,
    })
}

/// Whether a lease ends later than another one. Of two of one boot, its own clock tells.
fn is_later(one: &Value, other: &Value) -> bool {
    let (Some(ends), Some(other_ends)) = (expires(one), expires(other)) else { return false };
    match (clock(one), clock(other)) {
        (Some((boot, began)), Some((other_boot, other_began))) if boot == other_boot => {
            ends.duration_since(began) > other_ends.duration_since(other_began)
        }
        _ => ends > other_ends,
    }
}

fn expires(lease: &Value) -> Option<Timestamp> {
    time::read(lease.text(Lease::expires_at)?)
}

/// Returns the boot that a lease was given on, and when that began by the clock of then.
fn clock(lease: &Value) -> Option<(&str, Timestamp)> {
    let clock = lease.at(Lease::clock)?;
    Some((clock.text(LeaseClock::boot)?, time::read(clock.text(LeaseClock::began)?)?))
}

fn length(seconds: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
}

/// Returns how far the clock was set since the lease was given, if that was on this boot.
fn jump(lease: &Value, now: &Moment) -> Option<SignedDuration> {
    let ((given, began), boot) = (clock(lease)?, now.boot.as_ref()?);
    (given == boot.id).then(|| boot.began.duration_since(began))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment { at: Timestamp::from_second(1_760_000_000 + seconds).unwrap(), boot: None }
    }

    fn held(epoch: u64, seconds: f64, since: i64) -> Value {
        json!({"id": "t", "claimed_by": "w", "lease": new(epoch, seconds, &at(since))})
    }

    fn signs(held: &[Value]) -> Signs {
        held.iter().map(Sign::of).collect()
    }

    #[test]
    fn the_document_is_written_after_half_of_the_lease_and_always_for_a_short_one() {
        let stale = |seconds, now| is_stale(&held(1, seconds, 0), &at(now));
        assert_eq!([stale(600.0, 0), stale(600.0, 299), stale(600.0, 300)], [false, false, true]);
        assert_eq!([stale(60.0, 0), stale(59.9, 0)], [false, true]);
        assert!(is_stale(&json!({"id": "t"}), &at(0)), "there is none");
    }

    #[test]
    fn the_later_of_document_and_sign_counts() {
        let left = |held: &Value, signs: &Signs| signs.left(held, &at(100)).unwrap().as_secs();
        let task = held(2, 600.0, 0);
        assert_eq!(left(&task, &Signs::default()), 500);
        assert_eq!(left(&task, &signs(&[held(2, 600.0, 90)])), 590);
        assert_eq!(left(&held(2, 600.0, 95), &signs(&[held(2, 600.0, 90)])), 595, "written since");
        for other in [held(1, 600.0, 90), held(3, 600.0, 90), held(2, 3600.0, 90)] {
            assert_eq!(left(&task, &signs(&[other])), 500, "of another lease");
        }
        let mut free = json!({"id": "t", "lease": null, "last_claim": {"epoch": 2}});
        signs(&[held(2, 600.0, 90)]).renew(&mut free);
        assert_eq!(free["lease"], Value::Null, "who has no lease gets none");
    }

    #[test]
    fn of_several_signs_the_last_one_counts_in_whatever_order() {
        let mut all = [held(1, 600.0, 90), held(2, 600.0, 20), held(2, 600.0, 40)];
        for _ in 0..3 {
            all.rotate_left(1);
            assert_eq!(signs(&all).of("t"), Some(&Sign::of(&held(2, 600.0, 40))));
            assert_eq!(signs(&all).last_seen(), HashMap::from([("w", at(40).at)]));
        }
    }

    #[test]
    fn going_back_does_not_shorten_a_lease() {
        let kept = |now: &Value, mut then: Value| {
            keep_later(now, &mut then);
            then
        };
        let (now, before) = (held(1, 600.0, 90), held(1, 600.0, 0));
        assert_eq!(kept(&now, before.clone()), now);
        assert_eq!(kept(&before, now.clone()), now);
        assert_eq!(kept(&held(2, 600.0, 90), before.clone()), before, "another lease");
    }
}
