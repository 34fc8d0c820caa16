//! What follows from the events of a coding agent's client: state keeps itself.
//!
//! An event leads through a few steps (`steps`), each a commit of its own that can be repeated; what a killed hook left
//! undone, the next one makes up for. A step that fails does not keep the agent from anything: the others are taken, and what went
//! wrong is told to whoever reads the client's log.
//!
//! What a step has at hand is a `Turn` (`turn.rs`).
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
mod turn;

use self::turn::Turn;
pub use self::turn::{Charge, Reply, World};
use super::{Actor, Error, Result};
use crate::error::Code;
use crate::model::client_event::{Event, What};
use crate::store::Engine;

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
            life::brief_returned,
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

/// Deals with an event. `answer` is called once with the reply, and the text for the agent if there is something to say; it
/// says whether the client has got it. Only then messages count as read.
pub fn handle(
    engine: &dyn Engine,
    event: &Event,
    world: &dyn World,
    actor: &Actor,
    answer: &mut dyn FnMut(&Reply, Option<&str>) -> bool,
) -> Vec<Error> {
    // The event says who acts, whatever environment its client was started in.
    let session = Some(event.session.to_string());
    let actor = Actor { session: session.clone(), acting: session, ..actor.clone() };
    let mut turn =
        Turn { engine, event, world, actor, follows: None, reply: Reply::default(), unwritten: false };
    for step in steps(event.what) {
        if let Err(error) = step(&mut turn) {
            // Who has waited for one lock does not wait for the next.
            let is_busy = error.code() == Code::Busy;
            turn.unwritten = true;
            turn.reply.troubles.push(error);
            if is_busy {
                break;
            }
        }
    }
    turn.tell_of_trouble();
    turn.answer(answer)
}
