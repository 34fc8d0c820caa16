//! What follows from the events of a coding agent's client: state keeps itself.
//!
//! An event leads through a few steps (`steps`), each a commit of its own that can be repeated; what a killed hook left
//! undone, the next one makes up for. A step that fails does not keep the agent from anything: the others are taken, and what went
//! wrong is told to whoever reads the client's log.
//!
//! | event | file |
//! | --- | --- |
//! | a session starts, ends, gives a sign of life | `life.rs` |
//! | prompts and tool calls are counted | `activity.rs` |
//! | an edit is about to happen | `guard.rs` |
//! | agents start and stop, phases follow | `agents.rs` |
//! | todo lists and native tasks | `todos.rs` |
//! | something failed | `failures.rs` |
//! | the context is about to be shortened | `life.rs` |
//! | the agent wants to stop | `gate.rs` |

mod activity;
mod agents;
mod failures;
mod gate;
mod guard;
mod life;
mod todos;

use std::borrow::Cow;

use serde_json::Value;

use super::{Actor, Error, Result, messages};
use crate::error::Code;
use crate::model::client_event::{Event, What};
use crate::model::ids::SessionId;
use crate::model::kind::{Doc, Kind};
use crate::model::present::{Arrival, Present};
use crate::model::room::Room;
use crate::store::{Durability, Engine, Entry, Transaction};
use crate::view::briefing::{self, Mail, Part};
use crate::view::text::escape;

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

    /// Returns a mark that nobody can know beforehand.
    fn mark(&self) -> String;
}

/// What the client is to do.
#[derive(Debug, Default)]
pub struct Reply {
    /// What the agent should know.
    pub parts: Vec<Part>,
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
struct Turn<'a> {
    engine: &'a dyn Engine,
    event: &'a Event,
    world: &'a dyn World,
    actor: Actor,
    /// The session whose work this one has taken over.
    follows: Option<SessionId>,
    reply: Reply,
}

type Step = fn(&mut Turn<'_>) -> Result<()>;

/// Returns what is done about an event, in this order.
fn steps(what: What) -> &'static [Step] {
    match what {
        What::SessionStart => &[
            life::start,
            life::enter,
            life::take_over,
            life::expire_others,
            life::brief_task,
            life::brief_state,
        ],
        What::Prompt => &[life::beat, activity::count, agents::brief_workflow],
        What::BeforeTool => &[guard::check],
        What::AfterTool => {
            &[life::beat_if_due, activity::count, todos::mirror, agents::follow_tool, failures::recover]
        }
        What::ToolFailed => &[life::beat, failures::tool],
        What::TurnFailed => &[failures::turn],
        What::AgentStart => &[life::beat_if_due, agents::start],
        What::AgentStop => &[life::beat_if_due, agents::stop, gate::agent],
        What::BeforeCompact => &[life::backup],
        What::Stop => &[life::rest, gate::session],
        What::SessionEnd => &[life::end, life::leave],
        What::TaskCreated | What::TaskCompleted => &[todos::mirror_native],
    }
}

/// Whether an agent can be told something at this event.
fn can_tell(what: What) -> bool {
    matches!(what, What::SessionStart | What::Prompt | What::AfterTool | What::AgentStart)
}

/// Whether unread messages are passed on at this event: to the session itself, not to its agents.
fn brings_mail(event: &Event) -> bool {
    matches!(event.what, What::SessionStart | What::Prompt | What::AfterTool) && event.agent().is_none()
}

/// Deals with an event. `answer` is called once with the reply, and the text for the agent if there is something to say; it
/// says whether the client has got it. Only then messages count as read.
pub fn handle(
    engine: &dyn Engine,
    event: &Event,
    world: &dyn World,
    actor: &Actor,
    answer: &mut dyn FnMut(&Reply, Option<&str>) -> bool,
) -> Vec<Error> {
    let actor = Actor { session: Some(event.session.to_string()), ..actor.clone() };
    let mut turn = Turn { engine, event, world, actor, follows: None, reply: Reply::default() };
    for step in steps(event.what) {
        if let Err(error) = step(&mut turn) {
            // Who has waited for one lock does not wait for the next.
            let is_busy = error.code() == Code::Busy;
            turn.reply.troubles.push(error);
            if is_busy {
                break;
            }
        }
    }
    turn.answer(answer)
}

impl Turn<'_> {
    fn answer(mut self, answer: &mut dyn FnMut(&Reply, Option<&str>) -> bool) -> Vec<Error> {
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
        if brings_mail(self.event) && self.engine.may_exist(&Doc::mailbox(&self.event.session)) {
            let mut pass = |messages: &[Value], more: usize| {
                answered = true;
                let mail = Mail { session, messages, more };
                match briefing::text(&self.world.mark(), &self.reply.parts, mail) {
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
                false => briefing::text(&self.world.mark(), &self.reply.parts, mail),
            };
            answer(&self.reply, text.as_ref().map(|(text, _)| text.as_str()));
        }
        troubles
    }

    /// Changes `current.json`; nothing is written if nothing changes.
    fn change_present(&self, op: &str, change: impl FnOnce(&mut Present)) -> Result<()> {
        let mut transaction = self.engine.begin(&[&Room::State])?;
        self.change_present_in(&mut *transaction, change)?;
        self.commit(transaction, op, Durability::Lazy)
    }

    fn change_present_in(
        &self,
        transaction: &mut dyn Transaction,
        change: impl FnOnce(&mut Present),
    ) -> Result<()> {
        let doc = document("current_session");
        let before = transaction.get(&doc)?.cloned();
        let (existed, revision) =
            (before.is_some(), before.as_ref().and_then(|before| before.get("revision")).cloned());
        let mut present = Present::of(before);
        change(&mut present);
        match present.into_document() {
            Some(mut after) => {
                if let Some(revision) = revision {
                    after["revision"] = revision;
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

    fn commit(&self, transaction: Box<dyn Transaction + '_>, op: &str, durability: Durability) -> Result<()> {
        transaction.commit(&Entry { durability, ..self.actor.entry(op) })?;
        Ok(())
    }

    /// Returns where the session works; what the client says comes first.
    fn arrival(&self) -> Arrival {
        let arrival = self.world.arrival();
        let told = self.event.text("cwd").map(Cow::into_owned);
        Arrival { directory: told.or(arrival.directory), ..arrival }
    }

    fn session(&self) -> &str {
        self.event.session.as_str()
    }
}

/// How many messages are looked at to be told at once.
const MAIL: usize = 50;

/// What the log calls changes by hooks.
const OP: &str = "hook";

/// Returns a document of `.claude/state`.
fn document(kind: &str) -> Doc {
    Doc::shared(Kind::find(kind).expect("a kind of the registry"), Room::State)
}
