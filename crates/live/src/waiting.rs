//! Waiting for a task or a message, without polling.
//!
//! The listener is made before the first attempt, so whatever happens after an attempt wakes it. What becomes
//! ready by itself (a lease runs out, a retry is due) is known beforehand and bounds the sleep.

use std::time::{Duration, Instant};

use anthill_core::error::Code;
use anthill_core::model::ids::SessionId;
use anthill_core::model::kind::Doc;
use anthill_core::ops::messages::{self, PollRequest, Polled};
use anthill_core::ops::queue::work::{self, Claim, ClaimRequest, NothingReady};
use anthill_core::ops::{Actor, Error, Result};
use anthill_core::store::{Engine, Listener};

/// A lease that has just run out by one clock may have a moment left by another.
pub(crate) const SLACK: Duration = Duration::from_millis(2);

/// How long to wait after a lock was held for too long. Nothing has happened then.
const HELD_UP: Duration = Duration::from_millis(200);

/// Whether to go on waiting: a slow disk is no reason to give up early.
fn outlasts(error: &Error, deadline: Option<Instant>) -> bool {
    error.code() == Code::Busy && deadline.is_none_or(|deadline| Instant::now() < deadline)
}

/// Starts to listen for what may make a task ready. Keep it until the claim is printed: on Linux it takes the
/// system some ten milliseconds to stop listening.
pub fn listen(engine: &dyn Engine) -> Result<Box<dyn Listener>> {
    Ok(engine.listen(&[Doc::queue(), Doc::workers()])?)
}

/// Claims a task, waiting for one until `deadline`. Before every sleep, `wait_on` decides whether to go on.
pub fn claim(
    engine: &dyn Engine,
    listener: &mut dyn Listener,
    request: &ClaimRequest<'_>,
    actor: &Actor,
    deadline: Option<Instant>,
    wait_on: &mut dyn FnMut(&NothingReady) -> bool,
) -> Result<Claim> {
    loop {
        let nothing = match work::claim(engine, request, actor) {
            Ok(Claim::NothingReady(nothing)) => nothing,
            Err(error) if outlasts(&error, deadline) => {
                listener.wait(Some(HELD_UP))?;
                continue;
            }
            other => return other,
        };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) || !wait_on(&nothing) {
            return Ok(Claim::NothingReady(nothing));
        }
        let again = nothing.look_again.map(|again| again + SLACK);
        listener.wait([left, again].into_iter().flatten().min())?;
    }
}

/// Starts to listen for messages to a session. Keep it until they are printed, see [`listen`].
pub fn listen_for_messages(engine: &dyn Engine, session: &SessionId) -> Result<Box<dyn Listener>> {
    Ok(engine.listen(&[Doc::mailbox(session)])?)
}

/// Polls a mailbox, waiting for a message until `deadline`.
pub fn poll(
    engine: &dyn Engine,
    listener: &mut dyn Listener,
    request: &PollRequest<'_>,
    actor: &Actor,
    deadline: Instant,
) -> Result<Polled> {
    loop {
        let polled = match messages::poll(engine, request, actor) {
            Err(error) if outlasts(&error, Some(deadline)) => {
                listener.wait(Some(HELD_UP))?;
                continue;
            }
            other => other?,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if !polled.messages.is_empty() || left.is_zero() {
            return Ok(polled);
        }
        listener.wait(Some(left))?;
    }
}
