//! Messages between sessions.

use serde_json::Value;

use super::request::{Chosen, Limit, Seconds, request};
use super::{Caller, Request, Stored, answers};
use crate::model::documents::state::{Message, MessagePriority};
use crate::model::hint::Hint;
use crate::model::ids::{Key, ProjectId, SessionId};
use crate::model::message::{Letter, NORMAL, Sender};
use crate::model::shape::words;
use crate::ops::messages::{self, OutboxRequest, PollRequest, Polled, Posted};
use crate::ops::{Error, Result};

words!(
    /// Who sends a message.
    SentAs { Agent = "agent", Person = "person" }
);

request!(
    /// Send a message to one session. It is in the inbox when this returns; the recipient need not have started yet.
    SendMessage("message.send", Changes, "message send", r#"{"from": "s1", "to": "s2", "type": "note", "payload": "hello", "id": "m-1"}"#) {
        /// The session that sends.
        from: Chosen<SessionId>,
        /// The session that is to read it.
        to: Chosen<SessionId>,
        /// What kind of message it is, such as `task_handoff`.
        kind as "type": String,
        /// What it says.
        payload: Value,
        /// How soon it should be read; normal unless told.
        priority: Option<MessagePriority>,
        /// It expires if nobody has read it after so many seconds.
        ttl: Option<Seconds>,
        /// An id of your own: sending it again is safe.
        id: Option<Chosen<Key>>,
        /// The message that this one answers.
        in_reply_to: Option<Chosen<Key>>,
        /// What you are, for the reader (such as `qa_expert`).
        role: Option<String>,
        /// Whether a person or an agent sends this; what the caller is unless told.
        sent_as as "as": Option<SentAs>,
        /// Refused if the recipient has never started a session.
        require_session: bool,
    }
);

/// A message in the inbox of its reader.
#[derive(Debug)]
pub struct Delivered {
    pub posted: Posted,
    warnings: Vec<Hint>,
}

answers! {
    Delivered: Message, delivered => &delivered.posted.message, warns &delivered.warnings;
    Posted: Message, posted => &posted.message;
    Mail: Vec<Message>, mail => &mail.messages.value, warns &mail.messages.warnings;
}

impl Request for SendMessage {
    type Answer = Delivered;

    fn perform(self, caller: &Caller<'_>) -> Result<Delivered> {
        let sender = sender(caller, self.role, self.sent_as);
        let (Chosen(from), Chosen(to)) = (self.from, self.to);
        let letter = Letter {
            from,
            to,
            kind: self.kind,
            payload: self.payload,
            priority: self.priority.map_or(NORMAL, MessagePriority::word),
            ttl: self.ttl.map(Seconds::get),
            id: self.id.map(|Chosen(id)| id),
            in_reply_to: self.in_reply_to.map(|Chosen(id)| id),
            sender,
        };
        letter.check().map_err(Error::Input)?;
        let (to, is_registered) = (&letter.to, messages::is_registered(caller.engine, &letter.to)?);
        if self.require_session && !is_registered {
            return Err(Error::NoReader { session: to.to_string() });
        }
        let posted = messages::send(caller.engine, &letter, caller.actor)?;
        let waits = || format!("no session `{to}` has started yet; the message waits in its mailbox");
        let warnings = if is_registered { Vec::new() } else { vec![waits().into()] };
        Ok(Delivered { posted, warnings })
    }
}

fn sender(caller: &Caller<'_>, role: Option<String>, sent_as: Option<SentAs>) -> Sender {
    let session = caller.actor.speaker().cloned();
    let is_person = match sent_as {
        Some(sent_as) => sent_as == SentAs::Person,
        None => session.is_none() && !caller.around.is_agent(),
    };
    Sender { session, role, is_person }
}

request!(
    /// Send a message to every session at work, apart from the sender.
    Broadcast("message.broadcast", Changes, "message broadcast", r#"{"from": "s1", "type": "note", "payload": "main is frozen", "id": "freeze-1"}"#) {
        /// The session that sends.
        from: Chosen<SessionId>,
        /// What kind of message it is, such as `emergency_stop`.
        kind as "type": String,
        /// What it says.
        payload: Value,
        /// Only to sessions of this project.
        project_id: Option<ProjectId>,
        /// How soon it should be read; normal unless told.
        priority: Option<MessagePriority>,
        /// It expires if nobody has read it after so many seconds.
        ttl: Option<Seconds>,
        /// An id of your own: sending it again is safe.
        id: Option<Chosen<Key>>,
        /// The message that this one answers.
        in_reply_to: Option<Chosen<Key>>,
        /// What you are, for the reader (such as `qa_expert`).
        role: Option<String>,
        /// Whether a person or an agent sends this; what the caller is unless told.
        sent_as as "as": Option<SentAs>,
    }
);

impl Request for Broadcast {
    type Answer = Stored<Vec<Message>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Message>>> {
        let sender = sender(caller, self.role, self.sent_as);
        let Chosen(from) = self.from;
        let letter = Letter {
            to: from.clone(),
            from,
            kind: self.kind,
            payload: self.payload,
            priority: self.priority.map_or(NORMAL, MessagePriority::word),
            ttl: self.ttl.map(Seconds::get),
            id: self.id.map(|Chosen(id)| id),
            in_reply_to: self.in_reply_to.map(|Chosen(id)| id),
            sender,
        };
        letter.check().map_err(Error::Input)?;
        let posted = messages::broadcast(caller.engine, &letter, self.project_id.as_ref(), caller.actor)?;
        Ok(Stored::new(posted.into_iter().map(|posted| posted.message).collect::<Vec<_>>()))
    }
}

request!(
    /// Read the messages of a session: critical ones first, each once. They stay in the inbox until they are done with.
    PollMessages("message.poll", Changes, "message poll", r#"{"session": "s2"}"#) {
        /// Whose messages.
        session: SessionId,
        /// Leave them unread.
        no_mark_read: bool,
        /// What was read but is not done with, for a reader that was cut off.
        again: bool,
        /// At most so many; 1000 unless told.
        limit: Option<Limit>,
    }
);

/// Messages, and whether there are more.
#[derive(Debug)]
pub struct Mail {
    pub messages: Stored<Vec<Message>>,
    pub more: bool,
}

/// How many messages come at once, unless told.
pub const MOST: u32 = 1000;

impl PollMessages {
    /// Polls by `attempt`, which may wait.
    pub fn perform_by(&self, attempt: impl FnOnce(&PollRequest<'_>) -> Result<Polled>) -> Result<Mail> {
        let polled = attempt(&PollRequest {
            session: &self.session,
            mark_read: !self.no_mark_read,
            again: self.again,
            limit: at_most(self.limit),
        })?;
        Ok(Mail { messages: Stored::new(polled.messages).warned(polled.warnings), more: polled.more })
    }
}

impl Request for PollMessages {
    type Answer = Mail;

    fn perform(self, caller: &Caller<'_>) -> Result<Mail> {
        self.perform_by(|request| messages::poll(caller.engine, request, caller.actor))
    }
}

pub(super) fn at_most(limit: Option<Limit>) -> usize {
    limit.map_or(MOST, Limit::get) as usize
}

request!(
    /// Say that a message is done with: it leaves the inbox.
    FinishMessage("message.done", Changes, "message done", r#"{"session": "s2", "id": "m-1"}"#) {
        /// The session that read it.
        session: SessionId,
        /// The message.
        id: Key,
    }
);

impl Request for FinishMessage {
    type Answer = Posted;

    fn perform(self, caller: &Caller<'_>) -> Result<Posted> {
        messages::done(caller.engine, &self.session, &self.id, caller.actor)
    }
}

request!(
    /// See what became of the messages that a session has sent, in the order of sending.
    ListSent("message.outbox", Reads, "message outbox", r#"{"session": "s1"}"#) {
        /// The session that sent them.
        session: SessionId,
        /// Only this message.
        id: Option<Key>,
        /// At most so many, the newest; 1000 unless told.
        limit: Option<Limit>,
    }
);

impl Request for ListSent {
    type Answer = Mail;

    fn perform(self, caller: &Caller<'_>) -> Result<Mail> {
        let request =
            OutboxRequest { session: &self.session, id: self.id.as_ref(), limit: at_most(self.limit) };
        let sent = messages::outbox(caller.engine, &request, caller.actor)?;
        Ok(Mail { messages: Stored::new(sent.messages).warned(sent.warnings), more: sent.more })
    }
}
