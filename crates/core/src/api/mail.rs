//! Messages as people write them: plain text, to a name.

use serde_json::Value;

use super::messages::{Delivered, SendMessage, SentAs, at_most};
use super::request::{Chosen, Limit, Seconds, request};
use super::{Caller, Request, answers};
use crate::hint;
use crate::model::documents::answers::MailNote;
use crate::model::documents::state::{Message, MessagePriority};
use crate::model::ids::{Id, Key, SessionId};
use crate::model::key::Fields;
use crate::model::next::With;
use crate::ops::messages::{AllMail, address, mail};
use crate::ops::{Error, Result};

/// The type of a message that is plain text.
pub const NOTE: &str = "note";

request!(
    /// Send a text to a session, which may be named by the worker that it is, or by the begin of its id.
    TellSession("message.tell", Changes, "", r#"{"to": "s2", "text": "look at the tests", "from": "s1", "id": "m-2"}"#) {
        /// The session that is to read it: its id, the begin of it, or the name of its worker.
        to: Chosen<SessionId>,
        /// What it says.
        text: String,
        /// The session that sends; the caller's own unless told, else the mailbox of the user.
        from: Option<Chosen<SessionId>>,
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

impl Request for TellSession {
    type Answer = Delivered;

    fn perform(self, caller: &Caller<'_>) -> Result<Delivered> {
        let Chosen(named) = &self.to;
        let from = self.from.map_or_else(|| own_mailbox(caller).map(Chosen), Ok)?;
        let to = Chosen(address::find(caller.engine, named)?);
        let (kind, payload) = (NOTE.to_owned(), Value::String(self.text));
        let TellSession { priority, ttl, id, in_reply_to, role, sent_as, require_session, .. } = self;
        let letter = SendMessage {
            from,
            to,
            kind,
            payload,
            priority,
            ttl,
            id,
            in_reply_to,
            role,
            sent_as,
            require_session,
        };
        letter.perform(caller)
    }
}

request!(
    /// Answer a message: a text to whoever sent it.
    ReplyToMessage("message.reply", Changes, "message reply", r#"{"id": "m-2", "text": "done", "session": "s2"}"#) {
        /// The message to answer.
        id: Key,
        /// What the answer says.
        text: String,
        /// The session that answers; the caller's own unless told, else the mailbox of the user.
        session: Option<SessionId>,
    }
);

impl Request for ReplyToMessage {
    type Answer = Delivered;

    fn perform(self, caller: &Caller<'_>) -> Result<Delivered> {
        let own = self.session.map_or_else(|| own_mailbox(caller), Ok)?;
        let answered = mail::received_one(caller.engine, &own, &self.id)?;
        let to = answered.text(Message::from).and_then(|from| SessionId::chosen(from).ok());
        let to =
            to.ok_or_else(|| Error::Input(format!("the message `{}` does not say who sent it", self.id)))?;
        let letter = SendMessage {
            from: Chosen(own),
            to: Chosen(to),
            kind: NOTE.into(),
            payload: self.text.into(),
            priority: None,
            ttl: None,
            id: None,
            in_reply_to: Some(Chosen(self.id)),
            role: None,
            sent_as: None,
            require_session: false,
        };
        letter.perform(caller)
    }
}

request!(
    /// List what a session got and what it sent, with what was read of it. Nothing counts as read by that.
    ListMail("message.list", Reads, "message list", r#"{"session": "s1"}"#) {
        /// Whose messages; those of the caller's own session unless told, else of the mailbox of the user.
        session: Option<SessionId>,
        /// At most so many of each, the newest; 1000 unless told.
        limit: Option<Limit>,
    }
);

answers! {
    AllMail: MailNote, mail => serde_json::json!({
        MailNote::session: mail.session.as_str(), MailNote::inbox: mail.inbox, MailNote::outbox: mail.outbox,
    }), warns &mail.warnings;
}

impl Request for ListMail {
    type Answer = AllMail;

    fn perform(self, caller: &Caller<'_>) -> Result<AllMail> {
        let session = self.session.map_or_else(|| own_mailbox(caller), Ok)?;
        let session = address::find(caller.engine, &session)?;
        mail::all(caller.engine, &session, at_most(self.limit), caller.actor)
    }
}

/// Returns where the caller gets mail: at its session, or by the user's name.
pub fn own_mailbox(caller: &Caller<'_>) -> Result<SessionId> {
    let by_name = || SessionId::chosen(&caller.actor.user).ok();
    caller.session().or_else(by_name).ok_or_else(|| {
        let user = &caller.actor.user;
        let message = format!("no session is known here, and `{user}` is no name for a mailbox");
        Error::invalid(message, hint!["say who you are: ", With::Session(None)])
    })
}
