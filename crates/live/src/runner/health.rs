//! The health of the service behind an agent, as the end of the agent's client shows.

use std::fs;

use anthill_core::model::outcome::{Answer, Outcome};
use anthill_core::model::service::{self, Ailment, Diagnosis};
use anthill_core::ops::Actor;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::Error;
use super::agent::Agent;
use super::clip::tail;
use super::supervisor::Finished;
use super::trouble::{Trouble, brief};

/// A longer text is not a client's message, but the words of its agent.
const MESSAGE: usize = 600;

/// A file that describes a zone is not longer.
const ZONE: u64 = 1 << 20;

/// Returns the zone where we are. `TZ` may name a file, and that file may be a pipe or a device without an end: then it is UTC.
#[expect(clippy::disallowed_methods, reason = "the library that knows zones reads the variable, too")]
pub fn zone() -> TimeZone {
    let named = std::env::var("TZ").unwrap_or_default();
    let file = fs::metadata(named.strip_prefix(':').unwrap_or(&named));
    match file.is_ok_and(|file| !file.is_file() || file.len() > ZONE) {
        true => TimeZone::UTC,
        false => TimeZone::system(),
    }
}

/// Returns a time in our zone.
pub fn local(at: Timestamp) -> Zoned {
    at.to_zoned(zone())
}

/// Returns the local time: clients name times of the day.
pub fn now(actor: &Actor) -> Zoned {
    local(actor.now())
}

/// Returns what is wrong with the service of an agent; `None` if its client ended well, or for another reason.
pub fn diagnose(agent: &Agent, finished: &Finished, now: &Zoned) -> Option<Diagnosis> {
    let trouble = Trouble::of(finished)?;
    let transcript = &finished.transcript;
    // Stopped, not started, or answered: the service was not the cause.
    if finished.cut.is_some()
        || trouble.cannot_run
        || Answer::of(transcript.words()).outcome != Outcome::Unclear
    {
        return None;
    }
    let told = [transcript.heard.error.as_deref(), Some(tail(&finished.stderr, MESSAGE)), message(finished)];
    let by_words = told.into_iter().flatten().find_map(|told| service::diagnose(told, now));
    let by_code = || agent.ailment(finished.status.code()).map(|ailment| Diagnosis { ailment, until: None });
    by_words.or_else(by_code)
}

/// Returns what is wrong if a client answers every question with the same short message.
pub fn said_twice(first: &Finished, second: &Finished, now: &Zoned) -> Option<Diagnosis> {
    // Only the time that is left differs.
    let without_figures = |said: &str| said.replace(|letter: char| letter.is_ascii_digit(), "");
    let (first, second) = (message(first)?, message(second)?);
    (without_figures(first) == without_figures(second)).then(|| service::diagnose(second, now))?
}

/// Whether it may well be over by now.
pub fn is_hiccup(diagnosis: &Diagnosis) -> bool {
    diagnosis.ailment == Ailment::Network && diagnosis.until.is_none()
}

/// Returns the error for a service that needs a person.
pub fn stopped(agent: &Agent, ailment: Ailment, reason: &str) -> Error {
    Error::Service { what: ailment.words(), reason: brief(reason), cure: agent.cure(ailment) }
}

fn message(finished: &Finished) -> Option<&str> {
    let words = finished.transcript.words().trim();
    (words.len() <= MESSAGE && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::supervisor::Cut;

    fn now() -> Zoned {
        Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC)
    }

    #[track_caller]
    fn check(finished: &Finished, expected: Option<Ailment>) {
        check_of("claude", finished, expected);
    }

    #[track_caller]
    fn check_of(agent: &str, finished: &Finished, expected: Option<Ailment>) {
        let found = diagnose(&Agent::named(agent), finished, &now());
        assert_eq!(found.map(|found| found.ailment), expected, "{finished:?}");
    }

    #[test]
    fn only_what_a_client_says_went_wrong_counts() {
        let ended = |code: i32, stdout: &str, stderr: &str| Finished::made(code << 8, None, stdout, stderr);
        check(&ended(1, "", "API Error: 529 Overloaded"), Some(Ailment::Overload));
        check(&ended(1, "Invalid API key · Please run /login", "(node) a warning"), Some(Ailment::Login));
        let result =
            r#"{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}"#;
        check(&ended(0, result, ""), Some(Ailment::Credit));
        check(&ended(0, "I met a connection error: ECONNRESET", ""), None);
        check(&ended(1, "{\"status\":\"failed\",\"summary\":\"ECONNRESET\"}", ""), None);
        check(&ended(127, "", "rate limit: not found"), None);
        check(&ended(1, &format!("429 Too Many Requests {}", "words ".repeat(200)), ""), None);
        let late = Finished::made(15, Some(Cut::TimedOut(std::time::Duration::ZERO)), "", "ECONNRESET");
        check(&late, None);
    }

    #[test]
    fn an_exit_code_counts_whatever_the_words() {
        let ended = |code: i32| Finished::made(code << 8, None, "", "Dieser Ordner ist fremd");
        check_of("gemini", &ended(55), Some(Ailment::Place));
        check_of("gemini", &ended(41), Some(Ailment::Login));
        check_of("gemini", &ended(1), None);
        check_of("claude", &ended(55), None);
        check_of("gemini -p x", &ended(55), None);
    }

    #[test]
    fn the_same_message_twice_is_not_the_agents() {
        let said = |words: &str| Finished::made(0, None, words, "");
        let twice = |first: &str, second: &str| {
            said_twice(&said(first), &said(second), &now()).map(|found| found.ailment)
        };
        let limit = "You've hit your limit · try again in 20s";
        assert_eq!(twice(limit, "You've hit your limit · try again in 19s"), Some(Ailment::Limit));
        assert_eq!(twice("I fixed the rate limit", "All is done, also the rate limit"), None);
        assert_eq!(twice("All done.", "All done."), None);
    }
}
