//! Messages between sessions: sent once, read once, kept until they are done with.
//!
//! A message is a file of its own in a tray of the recipient's mailbox, with a copy in the sender's outbox. The list
//! `mailbox.json` beside the trays says how each one stands, in the order of their arrival; it is what makes
//! finding the next one cheap however many lie there. Both change in one commit.
//!
//! Other programs may leave messages in the inbox too. They are noticed by the folder and noted by the next poll.

pub mod address;
pub mod mail;
mod outbox;

pub use mail::AllMail;
pub use outbox::{OutboxRequest, Sent, outbox};

use std::io::ErrorKind;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::archive::messages as archive;
use super::settings::Settings;
use super::{Actor, Error, Result, read};
use crate::hint;
use crate::model::documents::state::{
    Features, Mailbox, Message, MessageNote, Messages, Sent as SentDoc, Session,
};
use crate::model::hint::Hint;
use crate::model::ids::{self, Key, ProjectId, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::listing::Marks;
use crate::model::message::{self, Letter};
use crate::model::next::{Next, With};
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles, Tray};
use crate::model::{json, time};
use crate::store::{self, Engine, Kept, Transaction};

/// How many finished messages a mailbox's list remembers, and how many more before it is cleared up.
const KEPT: usize = 1_000;
const SLACK: usize = 1_000;
/// How many messages a session's history keeps, and the longest payload in it: the files have all of them.
const HISTORY: usize = 200;
const HISTORY_PAYLOAD: usize = 4 << 10;

/// What became of a letter.
#[derive(Debug)]
pub struct Posted {
    pub message: Value,
    /// Whether it had been sent before.
    pub repeated: bool,
}

/// Sends a letter: into the recipient's inbox and the sender's outbox, or nowhere.
pub fn send(engine: &dyn Engine, letter: &Letter, actor: &Actor) -> Result<Posted> {
    let settings = need_messages(engine)?;
    letter.check().map_err(Error::Input)?;
    let rooms = [Room::Mailbox(letter.from.clone()), Room::Mailbox(letter.to.clone())];
    let mut transaction = engine.begin(&[&rooms[0], &rooms[1]])?;
    let posted = post(&mut *transaction, letter, actor.now())?;
    if !posted.repeated {
        transaction.commit(&actor.entry("send"))?;
        let number = posted.message.read(Message::seq).unwrap_or_default();
        archive::in_passing(engine, &letter.from, number, &settings, actor);
    }
    Ok(posted)
}

fn need_messages(engine: &dyn Engine) -> Result<Settings> {
    let settings = Settings::read(engine)?;
    settings.need(Features::enable_message_passing, "message passing")?;
    Ok(settings)
}

/// Whether a session has ever registered.
pub fn is_registered(engine: &dyn Engine, session: &SessionId) -> Result<bool> {
    Ok(engine.read(&Doc::session(session))?.is_some())
}

/// Puts a letter into both mailboxes, as part of a transaction on both.
pub fn post(transaction: &mut dyn Transaction, letter: &Letter, now: Timestamp) -> Result<Posted> {
    let letter = &letter.redacted();
    let (mailbox, sent) = (Doc::mailbox(&letter.to), Doc::sent(&letter.from));
    if let Some(id) = &letter.id
        && let Some(mut known) = sent_before(transaction, letter, id)?
    {
        return match letter.is(&known) {
            true => {
                message::mark_delivered(&mut known);
                Ok(Posted { message: known, repeated: true })
            }
            false => Err(Error::clash(
                format!("there is another message `{id}` already"),
                hint!["choose another ", With::Id, ", or leave it out to get a new one; nothing was sent"],
            )),
        };
    }
    let mut counter = match transaction.get(&sent)? {
        Some(counter) => counter.clone(),
        None => sent.default(now),
    };
    let seq = counter.read(SentDoc::last_seq).unwrap_or_default() + 1;
    counter.set(SentDoc::last_seq, seq);
    transaction.put(&sent, counter)?;
    if !transaction.exists(&mailbox)? {
        take_in(transaction, &letter.to, now)?;
    }
    if !transaction.exists(&mailbox)? {
        transaction.put(&mailbox, mailbox.default(now))?;
    }
    let id = match &letter.id {
        Some(id) => id.as_str().to_owned(),
        None => {
            let seed = format!("{} {} {seq}", letter.from, letter.to);
            ids::new("msg", now, &seed, &mut |id| Ok::<_, Error>(transaction.item(&mailbox, id)?.is_none()))?
        }
    };
    let message = letter.message(&id, seq, now);
    let id: Key = id.parse().map_err(|error: ids::InvalidId| Error::Input(error.to_string()))?;
    transaction.put_item(&mailbox, id.as_str(), message::note(&message, "unread"))?;
    transaction.write_text_file(&text_file(&letter.to, Tray::Inbox, &id), render(&message))?;
    transaction
        .write_text_file(&text_file(&letter.from, Tray::Outbox, &id), render(&message::copy(&message)))?;
    Ok(Posted { message, repeated: false })
}

/// Returns the message that went out with this id, or lies at the recipient's by this id.
fn sent_before(transaction: &mut dyn Transaction, letter: &Letter, id: &Key) -> Result<Option<Value>> {
    let places = [(&letter.from, Tray::Outbox), (&letter.to, Tray::Inbox), (&letter.to, Tray::Processed)];
    for (mailbox, tray) in places {
        if let Some(text) = transaction.text_file(&text_file(mailbox, tray, id))? {
            return Ok(Some(message::parse(&text).unwrap_or_default()));
        }
    }
    Ok(None)
}

fn text_file(mailbox: &SessionId, tray: Tray, id: &Key) -> TextFile {
    TextFile::Message { mailbox: mailbox.clone(), tray, id: id.clone() }
}

fn render(message: &Value) -> String {
    String::from_utf8(json::render(message)).expect("JSON is text")
}

/// Sends the same to every session at work but the sender. A broadcast that was cut off is repeated with the same id:
/// who has it already does not get it twice.
pub fn broadcast(
    engine: &dyn Engine,
    letter: &Letter,
    project: Option<&ProjectId>,
    actor: &Actor,
) -> Result<Vec<Posted>> {
    need_messages(engine)?;
    letter.check().map_err(Error::Input)?;
    let id = match &letter.id {
        Some(id) => id.as_str().to_owned(),
        None => ids::new("msg", actor.now(), letter.from.as_str(), &mut |_| Ok::<_, Error>(true))?,
    };
    let to_one = |to: SessionId| {
        let id = format!("{id}.{to}").parse();
        let id = Some(id.map_err(|error: ids::InvalidId| Error::Input(error.to_string()))?);
        Ok(Letter { to, id, ..letter.clone() })
    };
    let others = at_work(engine, project, actor.now())?.into_iter().filter(|to| *to != letter.from);
    // All of them first: nobody gets it if somebody cannot.
    let letters = others.map(to_one).collect::<Result<Vec<_>>>()?;
    letters.iter().map(|letter| send(engine, letter, actor)).collect()
}

/// Returns the sessions that were heard of lately and have not ended.
fn at_work(engine: &dyn Engine, project: Option<&ProjectId>, now: Timestamp) -> Result<Vec<SessionId>> {
    let timeout = Settings::read(engine)?.session_timeout();
    let mut found = Vec::new();
    for id in engine.live()?.ids {
        // Whose state cannot be read is not to be reached.
        let Ok(Some(session)) = engine.read(&Doc::session(&id)) else { continue };
        let heard = session.value.text(Session::last_heartbeat).and_then(time::read);
        let lately = heard.is_some_and(|at| now.duration_since(at).unsigned_abs() <= timeout || at > now);
        let at_work = matches!(session.value.text(Session::status), None | Some("active" | "idle"));
        if lately
            && at_work
            && project.is_none_or(|project| session.value.text(Session::project_id) == Some(project.as_str()))
        {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns how many messages a session has not read.
pub fn unread(engine: &dyn Engine, session: &SessionId) -> Result<usize> {
    Ok(unread_of(engine, session)?.unwrap_or_default())
}

/// The same; `None` for a session without a mailbox.
pub fn unread_of(engine: &dyn Engine, session: &SessionId) -> Result<Option<usize>> {
    let counts = read::counts(engine, &Doc::mailbox(session))?;
    Ok(counts.map(|counts| counts.first().copied().unwrap_or_default()))
}

/// What a reader wants.
#[derive(Debug)]
pub struct PollRequest<'a> {
    pub session: &'a SessionId,
    /// Whether what is returned counts as read.
    pub mark_read: bool,
    /// Whether to return what was read but is not done with, instead of what is unread.
    pub again: bool,
    /// At most so many.
    pub limit: usize,
}

/// What a reader gets.
#[derive(Debug, Default)]
pub struct Polled {
    pub messages: Vec<Value>,
    /// Whether there are more than the limit.
    pub more: bool,
    pub warnings: Vec<Hint>,
}

/// Returns the messages of a mailbox, the most urgent first, then in the order of their arrival.
pub fn poll(engine: &dyn Engine, request: &PollRequest<'_>, actor: &Actor) -> Result<Polled> {
    need_messages(engine)?;
    let mut tx = match MailTransaction::open(engine, request.session, &[], actor) {
        Err(Error::Store(error)) if error.is_read_only() && (request.again || !request.mark_read) => {
            return look(engine, request, actor)?.ok_or(Error::Store(error));
        }
        tx => tx?,
    };
    tx.read(request)?;
    tx.clear_up()?;
    let MailTransaction { transaction, polled, .. } = tx;
    transaction.commit(&actor.entry("poll"))?;
    Ok(polled)
}

/// Polls where we may only read. What would be noted is noted by the next who can; `None` if something has to be
/// written first.
fn look(engine: &dyn Engine, request: &PollRequest<'_>, actor: &Actor) -> Result<Option<Polled>> {
    let mailbox = Doc::mailbox(request.session);
    let Some(transaction) = engine.browse(&mailbox.room)? else {
        return Ok(engine.is_absent(&mailbox).then(Polled::default));
    };
    let mut tx = MailTransaction::over(engine, transaction, request.session, actor)?;
    tx.read(request)?;
    Ok(Some(tx.polled))
}

/// Passes unread messages on to somebody who can take them now, the most urgent first.
///
/// `pass` is called once, with messages and how many more there are, and says how many of them it has really passed on.
/// Those are read then; the others stay unread. It is called while the mailbox is held, so that nobody else passes the
/// same on; when its process dies in between they are passed on once more, not lost.
pub fn deliver(
    engine: &dyn Engine,
    session: &SessionId,
    limit: usize,
    pass: &mut dyn FnMut(&[Value], usize) -> usize,
    actor: &Actor,
) -> Result<()> {
    need_messages(engine)?;
    let mut tx = MailTransaction::open(engine, session, &[], actor)?;
    tx.read_new(&PollRequest { session, mark_read: false, again: false, limit })?;
    let messages = std::mem::take(&mut tx.polled.messages);
    let unread = match tx.polled.more {
        true => tx.transaction.counts(&tx.mailbox)?.first().copied().unwrap_or_default(),
        false => messages.len(),
    };
    let passed = pass(&messages, unread.saturating_sub(messages.len()));
    for mut message in messages.into_iter().take(passed) {
        let id = message.text(Message::id).and_then(|id| id.parse::<Key>().ok());
        if let Some(id) = id {
            tx.mark_read(&id, &mut message)?;
        }
    }
    tx.transaction.commit(&actor.entry("deliver")).map(drop).map_err(Error::from)
}

/// Says that a message is done with, and puts it aside; a session that has registered has it in its history then.
/// Returns it.
pub fn done(engine: &dyn Engine, session: &SessionId, id: &Key, actor: &Actor) -> Result<Posted> {
    let settings = need_messages(engine)?;
    let history = is_registered(engine, session)?.then(|| Doc::messages(session));
    let rooms: Vec<_> = history.iter().map(|history| &history.room).collect();
    let mut tx = MailTransaction::open(engine, session, &rooms, actor)?;
    let (inbox, processed) = (text_file(session, Tray::Inbox, id), text_file(session, Tray::Processed, id));
    let Some(text) = tx.transaction.text_file(&inbox)? else {
        return match tx.transaction.text_file(&processed)? {
            Some(text) => Ok(Posted { message: read(&text, id)?, repeated: true }),
            None => Err(Error::missing(
                format!("there is no message `{id}` for `{session}`"),
                hint!["see what is there: ", Next::ReadMail { session: session.to_string(), again: true }],
            )),
        };
    };
    let mut message = read(&text, id)?;
    message::mark_processed(&mut message, tx.now);
    tx.put_aside(id, &message, "processed")?;
    if let Some(history) = &history {
        remember(&mut *tx.transaction, history, &message, tx.now)?;
    }
    tx.clear_up()?;
    let number = tx.finished()? as u64;
    tx.transaction.commit(&actor.entry("done"))?;
    archive::in_passing(engine, session, number, &settings, actor);
    Ok(Posted { message, repeated: false })
}

/// Adds a message to a session's history, which keeps the newest ones.
fn remember(transaction: &mut dyn Transaction, history: &Doc, message: &Value, now: Timestamp) -> Result<()> {
    let mut value = match transaction.get(history)? {
        Some(value) => value.clone(),
        None => history.default(now),
    };
    if let Some(messages) = value.list_mut(Messages::messages) {
        let mut message = message.clone();
        if message[Message::payload].to_string().len() > HISTORY_PAYLOAD {
            message.as_object_mut().map(|message| message.unset(Message::payload));
        }
        messages.push(message);
        messages.drain(..messages.len().saturating_sub(HISTORY));
    }
    Ok(transaction.put(history, value)?)
}

fn read(text: &str, id: &Key) -> Result<Value> {
    let damaged = |problem| {
        Error::refused(
            format!("the file of message `{id}` is no message: {problem}"),
            "correct the file, or move it away",
        )
    };
    message::parse(text).map_err(damaged)
}

/// Notes the messages that others have left in an inbox, in the order of their times.
///
/// What cannot be read counts as unread: its writer may not be done with it, or somebody corrects it.
fn take_in(transaction: &mut dyn Transaction, session: &SessionId, now: Timestamp) -> Result<()> {
    let mailbox = Doc::mailbox(session);
    let (mut strange, is_there) = (Vec::new(), transaction.exists(&mailbox)?);
    for text_file in transaction.text_files(&mailbox.room, TextFiles::Messages(Tray::Inbox))? {
        let Some(id) = text_file.key() else { continue };
        let known = if is_there { transaction.item(&mailbox, id.as_str())? } else { None };
        // What was done with and lies here all the same, somebody has put back.
        if known.is_some_and(|note| !matches!(note.text(MessageNote::status), Some("processed" | "expired")))
        {
            continue;
        }
        if let Some(found) = lying(transaction, session, id)? {
            strange.push(found.unwrap_or_else(|_| json!({Message::id: id.as_str()})));
        }
    }
    let time = |message: &Value| message.text(Message::timestamp).and_then(time::read);
    let seq = |message: &Value| message.read(Message::seq);
    strange.sort_by_key(|message| (time(message), seq(message)));
    let notes = strange.iter().map(|message| {
        let status = if message::is_read(message) { "read" } else { "unread" };
        message::note(message, status)
    });
    if !is_there && !strange.is_empty() {
        let mut list = mailbox.default(now);
        list[Mailbox::messages] = notes.collect();
        transaction.put(&mailbox, list)?;
    } else {
        for note in notes {
            let id = note.text(MessageNote::id).unwrap_or_default().to_owned();
            transaction.put_item(&mailbox, &id, note)?;
        }
    }
    Ok(())
}

/// Returns what lies in an inbox by this id: a message, or what is wrong with it.
fn lying(
    transaction: &mut dyn Transaction,
    session: &SessionId,
    id: &Key,
) -> Result<Option<std::result::Result<Value, String>>> {
    let named = |message: &Value| message.text(Message::id) == Some(id.as_str());
    let text = match transaction.text_file(&text_file(session, Tray::Inbox, id)) {
        // Whoever put it there does not keep the others from being read.
        Err(store::Error::NotAFile { message, .. }) => return Ok(Some(Err(message))),
        Err(store::Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            return Ok(Some(Err(source.to_string())));
        }
        text => text?,
    };
    Ok(text.map(|text| match message::parse(&text) {
        Ok(message) if !named(&message) => Err("its id is not the name of its file".into()),
        other => other,
    }))
}

/// One mailbox, opened to look through it.
struct MailTransaction<'e> {
    engine: &'e dyn Engine,
    transaction: Box<dyn Transaction + 'e>,
    session: SessionId,
    mailbox: Doc,
    now: Timestamp,
    polled: Polled,
}

impl<'e> MailTransaction<'e> {
    fn open(
        engine: &'e dyn Engine,
        session: &SessionId,
        others: &[&Room],
        actor: &Actor,
    ) -> Result<MailTransaction<'e>> {
        let transaction = engine.begin(&[others, &[&Doc::mailbox(session).room]].concat())?;
        MailTransaction::over(engine, transaction, session, actor)
    }

    fn over(
        engine: &'e dyn Engine,
        transaction: Box<dyn Transaction + 'e>,
        session: &SessionId,
        actor: &Actor,
    ) -> Result<MailTransaction<'e>> {
        let mailbox = Doc::mailbox(session);
        let (session, now, polled) = (session.clone(), actor.now(), Polled::default());
        let mut tx = MailTransaction { engine, transaction, session, mailbox, now, polled };
        let (transaction, mailbox) = (&mut *tx.transaction, &tx.mailbox);
        if !transaction.exists(mailbox)?
            || transaction.text_files_changed(&mailbox.room, TextFiles::Messages(Tray::Inbox))?
        {
            take_in(transaction, &tx.session, now)?;
        }
        Ok(tx)
    }

    /// Returns a message of the inbox. One that cannot be read stays where it is, and somebody hears of it.
    fn message(&mut self, id: &Key) -> Result<Option<Value>> {
        match lying(&mut *self.transaction, &self.session, id)? {
            None => Ok(None),
            Some(Ok(message)) => Ok(Some(message)),
            Some(Err(problem)) => {
                let text_file = text_file(&self.session, Tray::Inbox, id);
                let file = self.engine.called(Kept::TextFile(&text_file)).path;
                self.polled.warnings.push(format!("`{file}` is left out: {problem}").into());
                Ok(None)
            }
        }
    }

    fn read(&mut self, request: &PollRequest<'_>) -> Result<()> {
        match request.again {
            true => self.read_again(request.limit),
            false => self.read_new(request),
        }
    }

    fn read_new(&mut self, request: &PollRequest<'_>) -> Result<()> {
        if !self.transaction.exists(&self.mailbox)? {
            return Ok(());
        }
        let mut after = None;
        while let Some((rank, note)) = self.transaction.best(&self.mailbox, after, &Marks::default())? {
            after = Some(rank);
            if self.polled.messages.len() == request.limit {
                self.polled.more = true;
                return Ok(());
            }
            let id = note.text(MessageNote::id).unwrap_or_default();
            let Ok(id) = id.parse::<Key>() else { continue };
            self.read_one(&id, note, request.mark_read)?;
        }
        Ok(())
    }

    fn read_one(&mut self, id: &Key, note: Value, mark_read: bool) -> Result<()> {
        let Some(mut message) = self.message(id)? else {
            return match lying(&mut *self.transaction, &self.session, id)? {
                Some(_) => Ok(()),
                // Somebody took the file away: nobody will ever read it.
                None => self.note(id, note, "processed"),
            };
        };
        if message::is_read(&message) {
            return self.note(id, note, "read");
        }
        if message::is_expired(&message, self.now) {
            message::mark_expired(&mut message, self.now);
            return self.put_aside(id, &message, "expired");
        }
        if mark_read {
            self.mark_read(id, &mut message)?;
        }
        self.polled.messages.push(message);
        Ok(())
    }

    fn mark_read(&mut self, id: &Key, message: &mut Value) -> Result<()> {
        message::mark_read(message, self.now);
        self.transaction.write_text_file(&text_file(&self.session, Tray::Inbox, id), render(message))?;
        // What it says now: it may not have been readable when it came.
        self.note(id, message::note(message, "read"), "read")
    }

    fn read_again(&mut self, limit: usize) -> Result<()> {
        let notes = self.transaction.get(&self.mailbox)?.at(Mailbox::messages).cloned();
        let notes = notes.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut read: Vec<_> = notes.iter().filter(|note| note[MessageNote::status] == "read").collect();
        read.sort_by_key(|note| message::urgency(note.text(MessageNote::priority)));
        for note in read {
            let id = note.text(MessageNote::id).and_then(|id| id.parse::<Key>().ok());
            let Some(message) = id.map(|id| self.message(&id)).transpose()?.flatten() else { continue };
            if self.polled.messages.len() == limit {
                self.polled.more = true;
                break;
            }
            self.polled.messages.push(message);
        }
        Ok(())
    }

    fn note(&mut self, id: &Key, mut note: Value, status: &str) -> Result<()> {
        note.set(MessageNote::status, Value::from(status));
        Ok(self.transaction.put_item(&self.mailbox, id.as_str(), note)?)
    }

    /// Moves a message to those that are done with.
    fn put_aside(&mut self, id: &Key, message: &Value, status: &str) -> Result<()> {
        self.transaction.write_text_file(&text_file(&self.session, Tray::Processed, id), render(message))?;
        self.transaction.remove_text_file(&text_file(&self.session, Tray::Inbox, id))?;
        self.note(id, message::note(message, status), status)
    }

    /// Returns how many messages that are done with the list has.
    fn finished(&mut self) -> Result<usize> {
        Ok(self.transaction.counts(&self.mailbox)?.iter().skip(2).sum())
    }

    /// Forgets the oldest of those that are done with, once there are many: their files stay.
    fn clear_up(&mut self) -> Result<()> {
        if !self.transaction.exists(&self.mailbox)? {
            return Ok(());
        }
        let finished = self.finished()?;
        if finished <= KEPT + SLACK {
            return Ok(());
        }
        let Some(mut mailbox) = self.transaction.get(&self.mailbox)?.cloned() else { return Ok(()) };
        let mut left = finished - KEPT;
        if let Some(notes) = mailbox.list_mut(Mailbox::messages) {
            notes.retain(|note| {
                let drop =
                    left > 0 && matches!(note.text(MessageNote::status), Some("processed" | "expired"));
                left -= usize::from(drop);
                !drop
            });
        }
        Ok(self.transaction.put(&self.mailbox, mailbox)?)
    }
}
