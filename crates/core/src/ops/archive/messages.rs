//! Messages that are done with, and the copies of what was sent.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::request::{OP, Request, append};
use super::sessions::is_over_now;
use crate::model::documents::state::{ArchivedMessage, Mailbox, Message, MessageNote};
use crate::model::ids::SessionId;
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles, Tray};
use crate::model::{message, time};
use crate::ops::settings::Settings;
use crate::ops::{Actor, Result, readable};
use crate::store::{Engine, Transaction};

/// How many messages one commit moves at most.
pub(super) const BATCH: usize = 500;

/// After how many messages somebody looks for old ones, and how many of a tray are looked at then: the first by name, which most
/// often has the time in it, and as many at another place each time.
const STEP: u64 = 64;
const LOOK: usize = 64;

/// Lets messages of a mailbox make room that are done with for as long as the configuration says: a few, after every few
/// messages, of which this is the number of the last. What goes wrong is left to `clean`.
pub fn in_passing(engine: &dyn Engine, id: &SessionId, number: u64, settings: &Settings, actor: &Actor) {
    if number > 0 && number.is_multiple_of(STEP) {
        let _ = few(engine, id, (number / STEP) as usize * LOOK, Request::of(settings, actor.now()), actor);
    }
}

fn few(engine: &dyn Engine, id: &SessionId, from: usize, request: Request, actor: &Actor) -> Result<()> {
    let room = Room::Mailbox(id.clone());
    let mut transaction = engine.begin(&[&Room::Archive, &room])?;
    let mut moved = Vec::new();
    for tray in [Tray::Processed, Tray::Outbox] {
        let mut text_files = transaction.text_files(&room, TextFiles::Messages(tray))?;
        text_files.sort();
        let others = text_files.iter().cycle().skip(from.checked_rem(text_files.len()).unwrap_or_default());
        let looked_at: BTreeSet<_> =
            text_files.iter().take(LOOK).chain(others.take(LOOK.min(text_files.len()))).collect();
        for text_file in looked_at {
            let Some(message) = message_of(&mut *transaction, text_file)? else { continue };
            if done_at(&message).is_some_and(|at| at < request.messages) {
                moved.push(put_away(&mut *transaction, id, tray, text_file, &message)?);
            }
        }
    }
    if moved.is_empty() {
        return Ok(());
    }
    forget(&mut *transaction, id, &moved, false)?;
    Ok(transaction.commit(&actor.entry(OP)).map(drop)?)
}

/// Moves the messages of a mailbox that are done with, and the copies of what was sent, to the archive. When its session is over,
/// or there never was one and nothing has come for as long, the rest goes too. Returns how many moved.
pub fn mailbox(engine: &dyn Engine, id: &SessionId, request: Request, actor: &Actor) -> Result<usize> {
    let mut moved = 0;
    loop {
        let batch = mailbox_batch(engine, id, request, actor)?;
        moved += batch;
        if batch < BATCH || request.dry_run {
            return Ok(moved);
        }
    }
}

pub(super) fn mailbox_batch(
    engine: &dyn Engine,
    id: &SessionId,
    request: Request,
    actor: &Actor,
) -> Result<usize> {
    let (room, over) = (Room::Mailbox(id.clone()), is_over_now(engine, id, request.sessions)?);
    let mut transaction = engine.begin(&[&Room::Archive, &room])?;
    let (mut moved, mut left) = (Vec::new(), 0);
    'trays: for tray in [Tray::Processed, Tray::Outbox, Tray::Inbox] {
        for text_file in transaction.text_files(&room, TextFiles::Messages(tray))? {
            // The next batch reads on; to read all of them each time would take the square of it.
            if moved.len() == BATCH && !request.dry_run {
                left += 1;
                break 'trays;
            }
            let Some(message) = message_of(&mut *transaction, &text_file)? else { continue };
            let is_due = done_at(&message).is_some_and(|at| at < request.messages);
            if !(over || (is_due && tray != Tray::Inbox)) {
                left += 1;
                continue;
            }
            moved.push(put_away(&mut *transaction, id, tray, &text_file, &message)?);
        }
    }
    if request.dry_run {
        return Ok(moved.len());
    }
    let goes = left == 0 && (over || is_forgotten(engine, id, request.messages)?);
    forget(&mut *transaction, id, &moved, goes)?;
    transaction.commit(&actor.entry(OP))?;
    if goes {
        engine.remove_room(&room)?;
    }
    Ok(moved.len())
}

/// Returns the message of a file, if it is one.
fn message_of(transaction: &mut dyn Transaction, text_file: &TextFile) -> Result<Option<Value>> {
    Ok(transaction.text_file(text_file)?.and_then(|text| message::parse(&text).ok()))
}

/// Moves one message to the archive. Returns its id.
fn put_away(
    transaction: &mut dyn Transaction,
    mailbox: &SessionId,
    tray: Tray,
    text_file: &TextFile,
    message: &Value,
) -> Result<String> {
    let record = json!({
        ArchivedMessage::mailbox: mailbox.as_str(), ArchivedMessage::tray: tray.word(),
        ArchivedMessage::message: message,
    });
    append(transaction, TextFile::Archive, "messages", done_at(message), &record)?;
    transaction.remove_text_file(text_file)?;
    Ok(message.text(Message::id).unwrap_or_default().to_owned())
}

/// Whether a mailbox belongs to no session and nobody has used it since before a time.
fn is_forgotten(engine: &dyn Engine, id: &SessionId, before: Timestamp) -> Result<bool> {
    let used = |doc: &Doc| engine.written_at(doc).is_some_and(|at| at >= before);
    Ok(engine.read(&Doc::session(id))?.is_none() && !used(&Doc::mailbox(id)) && !used(&Doc::sent(id)))
}

/// Takes messages off a mailbox's list, or deletes the lists.
fn forget(transaction: &mut dyn Transaction, id: &SessionId, moved: &[String], goes: bool) -> Result<()> {
    let mailbox = Doc::mailbox(id);
    if goes {
        transaction.delete(&mailbox)?;
        return Ok(transaction.delete(&Doc::sent(id))?);
    }
    let Some(mut list) = readable(transaction, &mailbox)? else { return Ok(()) };
    if let Some(notes) = list[Mailbox::messages].as_array_mut() {
        let before = notes.len();
        let is_moved = |note: &Value| {
            note[MessageNote::status] != "unread"
                && note.text(MessageNote::id).is_some_and(|id| moved.iter().any(|moved| moved == id))
        };
        notes.retain(|note| !is_moved(note));
        if notes.len() < before {
            transaction.put(&mailbox, list)?;
        }
    }
    Ok(())
}

/// Returns when a message was done with, or else when it was sent.
fn done_at(message: &Value) -> Option<Timestamp> {
    let fields = [Message::processed_at, Message::timestamp];
    fields.into_iter().find_map(|field| time::read(message.text(field)?))
}
