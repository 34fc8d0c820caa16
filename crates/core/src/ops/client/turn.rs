//! One event, everything at hand to deal with it, and the answer that comes together.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use serde_json::Value;

use crate::error::{Code, with_causes};
use crate::hint;
use crate::model::changes::Changes;
use crate::model::client_event::{Event, What};
use crate::model::current_session::{Arrival, CurrentSessions};
use crate::model::documents::agent_loop::CurrentSession;
use crate::model::ids::{ProjectId, SessionId};
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::next::Next;
use crate::model::room::Room;
use crate::model::task::Task;
pub(super) use crate::ops::document_of_state as document;
use crate::ops::{Actor, Error, Result, messages};
use crate::store::{Durability, Engine, Entry, Transaction};
use crate::view::briefing::{self, Mail, Section};
use crate::view::text::escape;

/// How many messages are looked at to be told at once.
const MAIL: usize = 50;

/// What the log calls changes by hooks.
pub(super) const OP: &str = "hook";

/// What only the process that runs the hook can tell.
pub trait World {
    /// Where the session works, by git's own files.
    fn arrival(&self) -> Arrival;

    /// Names the client's process, to know a session that follows another one in it.
    fn client(&self) -> Option<String>;

    /// Returns a path as seen from the project's root, if it is in there.
    fn below_root(&self, path: &str) -> String;

    /// Returns the name of whoever started the client.
    fn user(&self) -> String;

    /// Returns the project that the root is.
    fn project(&self) -> Option<ProjectId>;

    /// Whether the commands that the agent runs do not know their session.
    fn hides_session(&self) -> bool;

    /// Returns the task that the client was started for, if a runner has started it.
    fn charge(&self) -> Option<Charge>;

    /// Returns a mark that nobody can know beforehand.
    fn mark(&self) -> String;

    /// Returns the last of a file that the client has written, so many bytes at most.
    fn tail(&self, path: &str, most: u64) -> Option<String>;

    /// Returns the zone in which clients tell times.
    fn zone(&self) -> TimeZone;

    /// Whether this session has not had to tell of trouble before.
    fn is_first_trouble(&self, event: &Event) -> bool;

    /// Returns what the files here are, by git; nothing where that takes long.
    fn look(&self) -> Option<Value> {
        None
    }

    /// Returns what has changed since a look. `shared` says that others were at work meanwhile.
    fn changes_since(&self, _look: &Value, _shared: bool) -> Option<Changes> {
        None
    }
}

/// A claim whose task somebody does by a client of their own: the runner has it, and the client works for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub worker: String,
    pub task: String,
    pub epoch: u64,
}

impl Charge {
    /// Whether it is still the runner's claim that has this task.
    pub fn holds(&self, task: &Task) -> bool {
        task.is_active()
            && task.owner() == Some(&self.worker)
            && (task.id(), task.epoch()) == (&self.task, self.epoch)
    }
}

/// What the client is to do.
#[derive(Debug, Default)]
pub struct Reply {
    /// What the agent should know.
    pub parts: Vec<Section>,
    /// Why the tool call must not happen.
    pub deny: Option<String>,
    /// Why the agent should go on instead of stopping.
    pub go_on: Option<String>,
    /// What the user should hear.
    pub tell_user: Option<String>,
    /// What went wrong, for the client's log.
    pub troubles: Vec<Error>,
}

/// One event and everything at hand to deal with it.
pub(super) struct Turn<'a> {
    pub engine: &'a dyn Engine,
    pub event: &'a Event,
    pub world: &'a dyn World,
    pub actor: Actor,
    /// The session whose work this one has taken over.
    pub follows: Option<SessionId>,
    pub reply: Reply,
    /// Whether something that was to be written was not.
    pub unwritten: bool,
}

impl Turn<'_> {
    /// Tells the user, once in a session, that what happens is not recorded.
    pub fn tell_of_trouble(&mut self) {
        let is_lasting = |error: &&Error| {
            !matches!(error.code(), Code::Refused | Code::NotFound | Code::Conflict | Code::Invalid)
        };
        let Some(trouble) = self.reply.troubles.iter().find(is_lasting).filter(|_| self.unwritten) else {
            return;
        };
        if self.reply.tell_user.is_none()
            && can_show(self.event.what)
            && self.world.is_first_trouble(self.event)
        {
            let trouble: String = with_causes(trouble).replace('\n', " ").chars().take(300).collect();
            let told = format!("anthill: not all of this session can be recorded: {trouble}   (see: ");
            self.reply.tell_user = Some(self.actor.door.tell(&hint![told, Next::Doctor, ")"]));
        }
    }

    pub fn answer(mut self, answer: &mut dyn FnMut(&Reply, Option<&str>) -> bool) -> Vec<Error> {
        let mut troubles = std::mem::take(&mut self.reply.troubles);
        let session = self.event.session.as_str();
        if !can_tell(self.event.what) {
            self.reply.parts.clear();
        }
        let reply = &mut self.reply;
        for text in [&mut reply.deny, &mut reply.go_on, &mut reply.tell_user].into_iter().flatten() {
            *text = escape(text).into_owned();
        }
        let mut answered = false;
        if brings_mail(self.event) && !self.engine.is_absent(&Doc::mailbox(&self.event.session)) {
            let mut pass = |messages: &[Value], more: usize| {
                answered = true;
                let mail = Mail { session, messages, more };
                match briefing::text(&self.world.mark(), &self.reply.parts, mail, self.actor.door) {
                    Some((text, passed)) if answer(&self.reply, Some(&text)) => passed,
                    Some(_) => 0,
                    None => {
                        answer(&self.reply, None);
                        0
                    }
                }
            };
            let delivered = match messages::unread(self.engine, &self.event.session) {
                Ok(0) => Ok(()),
                _ => messages::deliver(self.engine, &self.event.session, MAIL, &mut pass, &self.actor),
            };
            troubles.extend(delivered.err().filter(|error| error.code() != Code::Refused));
        }
        if !answered {
            let mail = Mail { session, messages: &[], more: 0 };
            let text = match self.reply.parts.is_empty() {
                true => None,
                false => briefing::text(&self.world.mark(), &self.reply.parts, mail, self.actor.door),
            };
            answer(&self.reply, text.as_ref().map(|(text, _)| text.as_str()));
        }
        troubles
    }

    /// Changes `current.json`; nothing is written if nothing changes.
    pub fn change_present(&self, op: &str, change: impl FnOnce(&mut CurrentSessions)) -> Result<()> {
        let mut transaction = self.engine.begin(&[&Room::State])?;
        self.change_present_in(&mut *transaction, change)?;
        self.commit(transaction, op, Durability::Lazy)
    }

    pub fn change_present_in(
        &self,
        transaction: &mut dyn Transaction,
        change: impl FnOnce(&mut CurrentSessions),
    ) -> Result<()> {
        let doc = document("current_session");
        let before = transaction.get(&doc)?.cloned();
        let (existed, revision) = (before.is_some(), before.as_ref().at(CurrentSession::revision).cloned());
        let mut present = CurrentSessions::of(before);
        change(&mut present);
        match present.into_document() {
            Some(mut after) => {
                if let Some(revision) = revision {
                    after[CurrentSession::revision] = revision;
                }
                if transaction.get(&doc)? != Some(&after) {
                    transaction.put(&doc, after)?;
                }
            }
            None if existed => transaction.delete(&doc)?,
            None => {}
        }
        Ok(())
    }

    /// Passes over a document that is damaged: it costs only itself. Whoever reads the client's log is told.
    pub fn pass_over<T: Default>(&mut self, found: Result<T>) -> Result<T> {
        match found {
            Err(error) if error.code() == Code::Damaged => {
                self.reply.troubles.push(error);
                Ok(T::default())
            }
            found => found,
        }
    }

    /// The same, of a document that was to be written.
    pub fn spare<T: Default>(&mut self, done: Result<T>) -> Result<T> {
        self.unwritten |= done.is_err();
        self.pass_over(done)
    }

    pub fn commit(
        &self,
        transaction: Box<dyn Transaction + '_>,
        op: &str,
        durability: Durability,
    ) -> Result<()> {
        transaction.commit(&Entry { durability, ..self.actor.entry(op) })?;
        Ok(())
    }

    /// Returns where the session works; what the client says comes first.
    pub fn arrival(&self) -> Arrival {
        let arrival = self.world.arrival();
        let told = self.event.text("cwd").map(Cow::into_owned);
        Arrival { directory: told.or(arrival.directory), ..arrival }
    }

    /// Returns the files that a tool call changes, as seen from the project's root. A client says where its call is made,
    /// which need not be where this process is.
    pub fn edited_files(&self) -> Vec<String> {
        let cwd = self.event.text("cwd").filter(|cwd| cwd.starts_with('/'));
        let placed = |file: String| match &cwd {
            Some(cwd) if !file.starts_with('/') => format!("{cwd}/{file}"),
            _ => file,
        };
        let files = self.event.edited_files().into_iter().map(placed);
        files.map(|file| self.world.below_root(&file)).collect()
    }

    pub fn session(&self) -> &str {
        self.event.session.as_str()
    }
}

/// Whether an agent can be told something at this event.
fn can_tell(what: What) -> bool {
    matches!(what, What::SessionStart | What::Prompt | What::AfterTool | What::ToolFailed | What::AgentStart)
}

/// Whether clients show their user something at this event.
fn can_show(what: What) -> bool {
    !matches!(what, What::SessionEnd | What::TurnFailed)
}

/// Whether unread messages are passed on at this event: to the session itself, not to its agents.
fn brings_mail(event: &Event) -> bool {
    matches!(event.what, What::SessionStart | What::Prompt | What::AfterTool) && event.agent().is_none()
}
