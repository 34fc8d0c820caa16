//! All mail of a session: what came and what went, as it stands.

use jiff::Timestamp;
use serde_json::Value;

use super::{OutboxRequest, need_messages, outbox, text_file};
use crate::hint;
use crate::model::documents::state::Message;
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::next::See;
use crate::model::room::Room;
use crate::model::text_file::{TextFiles, Tray};
use crate::model::{message, time};
use crate::ops::{Actor, Error, Result};
use crate::store::{Engine, Transaction};

/// What a session got and sent, each with the newest last.
#[derive(Debug)]
pub struct AllMail {
    pub session: SessionId,
    pub inbox: Vec<Value>,
    pub outbox: Vec<Value>,
    /// Whether there are older ones than the limit lets through.
    pub more: bool,
    pub warnings: Vec<Hint>,
}

/// Returns what a session got and sent, the newest of each. Nothing counts as read by that.
pub fn all(engine: &dyn Engine, session: &SessionId, limit: usize, actor: &Actor) -> Result<AllMail> {
    let sent = outbox(engine, &OutboxRequest { session, id: None, limit }, actor)?;
    let mut warnings = sent.warnings;
    let mut inbox = received(engine, session, actor.now(), &mut warnings)?;
    let surplus = inbox.len().saturating_sub(limit);
    inbox.drain(..surplus);
    let more = sent.more || surplus > 0;
    Ok(AllMail { session: session.clone(), inbox, outbox: sent.messages, more, warnings })
}

fn received(
    engine: &dyn Engine,
    session: &SessionId,
    now: Timestamp,
    warnings: &mut Vec<Hint>,
) -> Result<Vec<Value>> {
    let Some(mut look) = look_into(engine, session)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for tray in [Tray::Inbox, Tray::Processed] {
        for file in look.text_files(&Room::Mailbox(session.clone()), TextFiles::Messages(tray))? {
            match look.text_file(&file)?.map(|text| message::parse(&text)) {
                Some(Ok(message)) => found.push(message),
                Some(Err(problem)) => warnings.push(format!("a message is left out: {problem}").into()),
                None => {}
            }
        }
    }
    for message in found.iter_mut().filter(|message| !message::is_read(message)) {
        if message::is_expired(message, now) {
            message::mark_expired(message, now);
        }
    }
    let at = |message: &Value| message.text(Message::timestamp).and_then(time::read);
    found.sort_by_key(|message| (at(message), message.read(Message::seq)));
    Ok(found)
}

/// Opens a mailbox to look into it, also where we may not write; `None` if there is none.
fn look_into<'e>(engine: &'e dyn Engine, session: &SessionId) -> Result<Option<Box<dyn Transaction + 'e>>> {
    let mailbox = Doc::mailbox(session);
    match engine.browse(&mailbox.room)? {
        None if engine.is_absent(&mailbox) => Ok(None),
        None => Ok(Some(engine.begin(&[&mailbox.room])?)),
        look => Ok(look),
    }
}

/// Returns a message that a session got.
pub fn received_one(engine: &dyn Engine, session: &SessionId, id: &Key) -> Result<Value> {
    need_messages(engine)?;
    if let Some(mut look) = look_into(engine, session)? {
        for tray in [Tray::Inbox, Tray::Processed] {
            if let Some(text) = look.text_file(&text_file(session, tray, id))? {
                return super::read(&text, id);
            }
        }
    }
    Err(Error::missing(
        format!("`{session}` has got no message `{id}`"),
        hint!["see what it got: ", See::Mail { session: session.to_string() }],
    ))
}
