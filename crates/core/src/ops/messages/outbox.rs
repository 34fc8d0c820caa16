//! What a session has sent, and what became of it.
//!
//! The sender's copy says what was sent. How it stands is the recipient's to say, and is looked up when somebody asks:
//! a reader neither waits for its senders' mailboxes nor fails with them.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::{need_messages, text_file};
use crate::hint;
use crate::model::documents::state::{Mailbox, Message, MessageNote};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, Held, Key as Field, Text};
use crate::model::kind::Doc;
use crate::model::message;
use crate::model::next::See;
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles, Tray};
use crate::ops::{Actor, Error, Result};
use crate::store::{Engine, Kept, Transaction};

/// What a sender wants to know.
#[derive(Debug)]
pub struct OutboxRequest<'a> {
    pub session: &'a SessionId,
    /// Only this message.
    pub id: Option<&'a Key>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// What a sender gets.
#[derive(Debug, Default)]
pub struct Sent {
    /// In the order of sending.
    pub messages: Vec<Value>,
    /// Whether there are older ones than the limit lets through.
    pub more: bool,
    pub warnings: Vec<Hint>,
}

/// Returns what a session has sent, with how each message stands now.
pub fn outbox(engine: &dyn Engine, request: &OutboxRequest<'_>, actor: &Actor) -> Result<Sent> {
    need_messages(engine)?;
    let mut sent = copies(engine, request)?;
    sent.messages.sort_by_key(|message| message.read(Message::seq));
    let surplus = sent.messages.len().saturating_sub(request.limit);
    sent.more = surplus > 0;
    sent.messages.drain(..surplus);
    let standings = Standings::of(engine, &sent.messages, &mut sent.warnings);
    for message in &mut sent.messages {
        if let Some(status) = standings.status(message) {
            message::stand(message, status, actor.now());
        }
    }
    Ok(sent)
}

/// Returns the copies that are asked for.
fn copies(engine: &dyn Engine, request: &OutboxRequest<'_>) -> Result<Sent> {
    let mut sent = Sent::default();
    if let Some(mut look) = look_into(engine, request.session)? {
        for text_file in text_files(&mut *look, request)? {
            match look.text_file(&text_file).map(|text| text.map(|text| message::parse(&text))) {
                Ok(None) => {}
                Ok(Some(Ok(message))) => sent.messages.push(message),
                Ok(Some(Err(problem))) => sent.warnings.push(left_out(engine, &text_file, &problem).into()),
                Err(error) => sent.warnings.push(left_out(engine, &text_file, &error.to_string()).into()),
            }
        }
    }
    match request.id {
        Some(id) if sent.messages.is_empty() && sent.warnings.is_empty() => Err(Error::missing(
            format!("`{}` has sent no message `{id}`", request.session),
            hint!["see what it has sent: ", See::Outbox { session: request.session.to_string() }],
        )),
        _ => Ok(sent),
    }
}

fn text_files(look: &mut dyn Transaction, request: &OutboxRequest<'_>) -> Result<Vec<TextFile>> {
    if let Some(id) = request.id {
        return Ok(vec![text_file(request.session, Tray::Outbox, id)]);
    }
    Ok(look.text_files(&Room::Mailbox(request.session.clone()), TextFiles::Messages(Tray::Outbox))?)
}

fn left_out(engine: &dyn Engine, text_file: &TextFile, problem: &str) -> String {
    format!("`{}` is left out: {problem}", engine.called(Kept::TextFile(text_file)).path)
}

/// Opens a mailbox to look into it, also where we may not write; `None` if nothing was ever sent from there.
fn look_into<'e>(engine: &'e dyn Engine, session: &SessionId) -> Result<Option<Box<dyn Transaction + 'e>>> {
    let sent = Doc::sent(session);
    match engine.browse(&sent.room)? {
        None if engine.is_absent(&sent) => Ok(None),
        None => Ok(Some(engine.begin(&[&sent.room])?)),
        look => Ok(look),
    }
}

/// What the recipients' lists say of messages: of each recipient, by id.
struct Standings(BTreeMap<String, BTreeMap<String, String>>);

impl Standings {
    /// Looks into the list of every recipient once. One that cannot be read is told, and says nothing.
    fn of(engine: &dyn Engine, messages: &[Value], warnings: &mut Vec<Hint>) -> Standings {
        let mut ids: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
        for message in messages {
            ids.entry(text(message, Message::to)).or_default().insert(text(message, Message::id));
        }
        let mut standings = BTreeMap::new();
        for (to, ids) in ids {
            match list_of(engine, to, &ids) {
                Ok(Some(list)) => drop(standings.insert(to.to_owned(), list)),
                Ok(None) => {}
                Err(error) => {
                    warnings.push(format!("how messages to `{to}` stand is not known: {error}").into());
                }
            }
        }
        Standings(standings)
    }

    /// Returns how a message stands. What a list does not name any more is done with; where there is no list, nobody knows.
    fn status(&self, message: &Value) -> Option<&str> {
        let list = self.0.get(text(message, Message::to))?;
        Some(list.get(text(message, Message::id)).map_or("processed", String::as_str))
    }
}

/// Returns what a recipient's list says of these messages; `None` if there is no such list.
fn list_of(engine: &dyn Engine, to: &str, ids: &HashSet<&str>) -> Result<Option<BTreeMap<String, String>>> {
    let Ok(session) = to.parse::<SessionId>() else { return Ok(None) };
    let wanted = &mut |note: &Raw| note.string(MessageNote::id.name()).is_some_and(|id| ids.contains(&*id));
    let Some(mailbox) = engine.read_some(&Doc::mailbox(&session), wanted)? else { return Ok(None) };
    let notes = mailbox.value.read(Mailbox::messages);
    let pair =
        |note: &Value| (text(note, MessageNote::id).to_owned(), text(note, MessageNote::status).to_owned());
    Ok(Some(notes.into_iter().flatten().map(pair).collect()))
}

fn text<T: Held<Kind: Text>>(value: &Value, key: Field<T>) -> &str {
    value.text(key).unwrap_or_default()
}
