//! Asks a command or an agent until it has answered, or another try would not help.
//!
//! Failures are repeated according to their class. An agent that ends without saying what came of its work is asked once more. If the
//! service behind an agent is the cause, that says nothing about the work.

use std::io;
use std::time::Duration;

use anthill_core::model::outcome::Answer;
use anthill_core::model::service::Diagnosis;
use anthill_core::model::usage::Tries;
use anthill_core::view::queue_texts;
use jiff::Zoned;

use super::agent::{Agent, CONVERSATION};
use super::clip::tail;
use super::health;
use super::report::{self, Speaker, Verdict};
use super::supervisor::{Call, Cut, Finished, Supervisor};
use super::trouble::{Trouble, with_details};
use crate::changes::{self, Effort};

/// How much of its last words an agent is shown again.
const REMINDER: usize = 8 << 10;

/// Why an agent is asked once more, and why its work has failed if that does not help.
const UNCLEAR: &str = "it ended without saying whether the work is done";

/// Who is asked, and how patiently.
pub struct Asking<'a> {
    /// Without one it is a plain command, whose exit code is its answer.
    pub agent: Option<&'a Agent>,
    /// How often a failed try is repeated, instead of what its class says.
    pub retries: Option<u64>,
    pub now: &'a dyn Fn() -> Zoned,
    /// Whether it has reported by itself, so that its last words are not needed.
    pub has_reported: &'a dyn Fn() -> bool,
    /// Whether others were at work in the same place meanwhile.
    pub others: &'a dyn Fn() -> bool,
    /// Is called before another try, with the reason and the delay.
    pub again: &'a dyn Fn(&str, Duration),
}

/// What came of a call, after one or more tries.
pub enum Reply {
    Answered(Answered),
    /// The run stops, or the work is not ours any more.
    Cut(Cut, Tries),
    /// The service behind the agent is not available: this says nothing about the work.
    Ailing(Ailing),
}

pub struct Answered {
    pub verdict: Verdict,
    pub discoveries: Vec<String>,
    /// It could not even be started.
    pub cannot_run: bool,
    pub tries: Tries,
}

pub struct Ailing {
    pub diagnosis: Diagnosis,
    /// What the client said.
    pub reason: String,
    pub tries: Tries,
}

/// What the end of a command means.
enum Heard<'a> {
    /// What came of the work, and how we know.
    Verdict(Verdict, &'static str),
    /// Nothing that we understand.
    Unclear(&'a Agent),
    Trouble(Trouble),
}

impl Asking<'_> {
    fn speaker(&self) -> Speaker {
        if self.agent.is_some() { Speaker::Agent } else { Speaker::Command }
    }

    fn diagnosis(&self, finished: &Finished) -> Option<Diagnosis> {
        self.agent.and_then(|agent| health::diagnose(agent, finished, &(self.now)()))
    }

    fn heard(&self, finished: &Finished) -> Heard<'_> {
        match (report::read(finished, self.speaker()), self.agent) {
            (Ok(Some(verdict)), _) => Heard::Verdict(verdict, "answered"),
            (Ok(None), Some(agent)) if !(self.has_reported)() => Heard::Unclear(agent),
            (Ok(None), _) => Heard::Verdict(report::done(finished.transcript.words()), "reported by itself"),
            (Err(trouble), _) => Heard::Trouble(trouble),
        }
    }

    /// Returns how long to wait before the next try, if there is to be one; or what is wrong with the service.
    fn again_in(
        &self,
        trouble: &Trouble,
        finished: &Finished,
        failed: u64,
    ) -> Result<Option<Duration>, Diagnosis> {
        match self.diagnosis(finished) {
            // A lost connection is tried again at once; if that fails, we wait.
            Some(diagnosis) if failed == 0 && health::is_hiccup(&diagnosis) && self.retries != Some(0) => {
                Ok(Some(Duration::ZERO))
            }
            Some(diagnosis) => Err(diagnosis),
            None => Ok(trouble.again_in(failed, self.retries)),
        }
    }
}

impl Supervisor<'_> {
    /// Runs a command until it has answered, or another try would not help; and looks at what really changed meanwhile.
    pub fn ask(&mut self, call: &mut Call<'_>, asking: &Asking<'_>) -> io::Result<Reply> {
        let before = call.command.get_current_dir().and_then(|dir| changes::look(dir, Effort::RUN));
        let mut reply = self.try_to_ask(call, asking)?;
        if let (Reply::Answered(answered), Some(before)) = (&mut reply, before) {
            answered.tries.changed = before.since((asking.others)());
        }
        Ok(reply)
    }

    fn try_to_ask(&mut self, call: &mut Call<'_>, asking: &Asking<'_>) -> io::Result<Reply> {
        let mut tries = Tries::default();
        loop {
            let finished = self.run(call)?;
            if let Some(cut) = cut_off(&finished) {
                note(&mut tries, &finished, "stopped");
                return Ok(Reply::Cut(cut, tries));
            }
            let discoveries = report::discoveries(&finished, asking.speaker());
            let trouble = match asking.heard(&finished) {
                Heard::Verdict(verdict, how) => {
                    note(&mut tries, &finished, how);
                    return Ok(Reply::Answered(Answered { verdict, discoveries, cannot_run: false, tries }));
                }
                Heard::Unclear(agent) => {
                    note(&mut tries, &finished, UNCLEAR);
                    return self.clarify(call, asking, agent, &finished, tries);
                }
                Heard::Trouble(trouble) => trouble,
            };
            note(&mut tries, &finished, trouble.reason.lines().next().unwrap_or_default());
            let delay = match asking.again_in(&trouble, &finished, tries.failed) {
                Ok(delay) => delay,
                Err(diagnosis) => {
                    return Ok(Reply::Ailing(Ailing { diagnosis, reason: trouble.reason, tries }));
                }
            };
            tries.failed += 1;
            let Some(delay) = delay else {
                let (verdict, cannot_run) = (Verdict::Failed(trouble.reason), trouble.cannot_run);
                return Ok(Reply::Answered(Answered { verdict, discoveries, cannot_run, tries }));
            };
            (asking.again)(&trouble.reason, delay);
            if let Some(cut) = self.pause(delay) {
                return Ok(Reply::Cut(cut, tries));
            }
        }
    }

    /// Asks an agent what came of its work, if it did not say so.
    fn clarify(
        &mut self,
        call: &Call<'_>,
        asking: &Asking<'_>,
        agent: &Agent,
        unclear: &Finished,
        mut tries: Tries,
    ) -> io::Result<Reply> {
        (asking.again)(UNCLEAR, Duration::ZERO);
        let answered = self.question(call, agent, unclear, &queue_texts::status_question())?;
        if let Some(cut) = cut_off(&answered) {
            note(&mut tries, &answered, "stopped");
            return Ok(Reply::Cut(cut, tries));
        }
        let ailing =
            asking.diagnosis(&answered).or_else(|| health::said_twice(unclear, &answered, &(asking.now)()));
        if let Some(diagnosis) = ailing {
            let reason = with_details("", &answered).trim().to_owned();
            note(&mut tries, &answered, reason.lines().next().unwrap_or_default());
            return Ok(Reply::Ailing(Ailing { diagnosis, reason, tries }));
        }
        let words = unclear.transcript.words();
        let verdict = report::verdict(&Answer::of(answered.transcript.words()), words);
        note(&mut tries, &answered, if verdict.is_some() { "answered" } else { UNCLEAR });
        tries.failed += u64::from(verdict.is_none());
        let discoveries =
            [unclear, &answered].map(|ended| report::discoveries(ended, Speaker::Agent)).concat();
        let verdict = verdict.unwrap_or_else(|| Verdict::Failed(with_details(UNCLEAR, unclear)));
        Ok(Reply::Answered(Answered { verdict, discoveries, cannot_run: false, tries }))
    }

    /// Asks an agent about what it just did: in the same conversation if its client can continue it, else in a new one that begins
    /// with its last words.
    pub fn question(
        &mut self,
        call: &Call<'_>,
        agent: &Agent,
        ended: &Finished,
        question: &str,
    ) -> io::Result<Finished> {
        let ended = &ended.transcript;
        let mut used = None;
        if let (Some(client), Some(conversation)) = (agent.client, &ended.heard.conversation) {
            let mut resumed = call.of_line(client.run.resume, question.to_owned());
            resumed.command.env(CONVERSATION, conversation.as_str());
            let answered = self.run(&mut resumed)?;
            let is_silent =
                answered.transcript.words().trim().is_empty() && answered.transcript.heard.error.is_none();
            if answered.cut.is_some() || !is_silent {
                return Ok(answered);
            }
            // The client has lost the conversation, or gave no answer.
            used = Some(answered.transcript.heard.usage);
        }
        let reminder = queue_texts::reminder(question, tail(ended.words(), REMINDER));
        let mut answered = self.run(&mut call.of_line(&agent.line, reminder))?;
        used.into_iter().for_each(|used| answered.transcript.heard.usage.add(used));
        Ok(answered)
    }
}

/// Returns the reason if nobody waits for this answer any more.
fn cut_off(finished: &Finished) -> Option<Cut> {
    finished.cut.clone().filter(|cut| matches!(cut, Cut::Stopped | Cut::Lost(_)))
}

fn note(tries: &mut Tries, finished: &Finished, result: &str) {
    tries.count += 1;
    tries.usage.add(finished.transcript.heard.usage);
    tries.log += &format!("--- try {}: {result}\n{}\n", tries.count, finished.said());
}
