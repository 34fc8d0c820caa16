//! What there is to know about a client.

use serde_json::Value;

use super::files::Files;
use super::heard::Heard;
use super::hooks::{Hooks, Tool};
use super::run::Run;
use crate::model::ailment::Ailment;

#[derive(Debug)]
pub struct Client {
    /// The name of its program, by which people name it here, too.
    pub name: &'static str,
    /// What sentences call it.
    pub title: &'static str,
    pub variables: Variables,
    pub hooks: Hooks,
    /// The tools of its agents that tell us something.
    pub tools: &'static [(&'static str, Tool)],
    pub files: Files,
    pub run: Run,
    pub speech: Speech,
    /// What its errors say about the service, in small letters; what all of them say is in `service.rs`.
    pub ailments: &'static [(Ailment, &'static [&'static str])],
}

impl PartialEq for Client {
    fn eq(&self, other: &Client) -> bool {
        self.name == other.name
    }
}

/// The environment variables by which it tells something to those whom it starts, or is told.
#[derive(Debug)]
pub struct Variables {
    /// Where its home is.
    pub home: Option<&'static str>,
    /// Which project it works on.
    pub project: Option<&'static str>,
    /// The session at work, as it tells the commands of its agents.
    pub session: &'static [&'static str],
    /// The session at work, if it tells only hooks.
    pub session_of_hooks: Option<&'static str>,
    /// What is set for the commands of its agents.
    pub marks: &'static [&'static str],
    /// What must not be set for it to start as one that nobody started.
    pub inner: Option<&'static str>,
    /// The file to which hooks add what the commands of its agents shall know.
    pub exports: Option<&'static str>,
    /// Its process.
    pub process: Option<&'static str>,
}

impl Variables {
    pub(super) const NONE: Variables = Variables {
        home: None,
        project: None,
        session: &[],
        session_of_hooks: None,
        marks: &[],
        inner: None,
        exports: None,
        process: None,
    };
}

/// How to understand what it prints when nobody sits before it, and what it keeps of a session.
#[derive(Debug)]
pub struct Speech {
    /// Takes an event that was printed; false if it is none of this client.
    pub hear: fn(&Value, &mut Heard) -> bool,
    /// Returns what the agent says in an event.
    pub said: for<'e> fn(&'e Value) -> Vec<&'e str>,
    /// The field of events that names the conversation.
    pub conversation: &'static str,
    /// Returns how many tokens were in the context of the main agent, if a line of the record tells.
    pub context_tokens: fn(&Value) -> Option<u64>,
}

impl Speech {
    pub(super) fn says_nothing(_: &Value) -> Vec<&str> {
        Vec::new()
    }

    pub(super) fn keeps_no_count(_: &Value) -> Option<u64> {
        None
    }
}
