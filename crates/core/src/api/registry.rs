//! All use cases, for doors that speak JSON and for tests.

use serde_json::Value;

use super::queue::{lead, look, work};
use super::{Answer, Caller, Effect, Request};
use crate::model::shape::Shape;
use crate::ops::{Error, Result};

/// One use case, whatever its types are.
pub struct UseCase {
    /// The noun and the verb: `task.claim`. Doors make their own names of it.
    pub name: &'static str,
    /// The words of the command line.
    pub command: &'static str,
    pub about: &'static str,
    pub effect: Effect,
    pub request: &'static Shape,
    pub answer: &'static Shape,
    /// A request, as JSON. Those of all use cases, one after the other, are a story that can be played.
    pub example: &'static str,
    pub perform: fn(&Caller<'_>, Value) -> Result<Performed>,
}

/// An answer of which only the JSON is wanted.
#[derive(Debug)]
pub struct Performed {
    pub answer: Value,
    pub warnings: Vec<String>,
}

impl UseCase {
    pub fn find(name: &str) -> Option<&'static UseCase> {
        USE_CASES.iter().find(|known| known.name == name)
    }

    pub const fn of<R: Request>() -> UseCase {
        UseCase {
            name: R::NAME,
            command: R::COMMAND,
            about: R::ABOUT,
            effect: R::EFFECT,
            request: R::SHAPE,
            answer: R::Answer::SHAPE,
            example: R::EXAMPLE,
            perform: perform::<R>,
        }
    }
}

fn perform<R: Request>(caller: &Caller<'_>, request: Value) -> Result<Performed> {
    R::SHAPE.check(&request).map_err(|misfit| Error::Input(misfit.to_string()))?;
    let request: R = serde_json::from_value(request).map_err(|error| Error::Input(error.to_string()))?;
    let answer = request.perform(caller)?;
    Ok(Performed { answer: answer.json().into_owned(), warnings: answer.warnings().to_vec() })
}

/// In the order of a story: the example of each can be performed after those before it.
pub const USE_CASES: &[UseCase] = &[
    // The queue.
    UseCase::of::<lead::InitQueue>(),
    UseCase::of::<lead::AddTask>(),
    UseCase::of::<lead::ImportTasks>(),
    UseCase::of::<lead::EditTask>(),
    UseCase::of::<lead::NoteTask>(),
    UseCase::of::<look::ShowQueue>(),
    UseCase::of::<look::ListTasks>(),
    UseCase::of::<look::ShowTask>(),
    UseCase::of::<look::ExplainTask>(),
    UseCase::of::<look::DrawTasks>(),
    UseCase::of::<look::ListReady>(),
    UseCase::of::<lead::RemoveTasks>(),
    UseCase::of::<work::RegisterWorker>(),
    UseCase::of::<work::ClaimTask>(),
    UseCase::of::<work::StartTask>(),
    UseCase::of::<work::RenewTasks>(),
    UseCase::of::<work::CompleteTask>(),
    UseCase::of::<work::Discover>(),
    UseCase::of::<work::BriefTask>(),
    UseCase::of::<work::FailTask>(),
    UseCase::of::<lead::RetryTask>(),
    UseCase::of::<work::ReleaseTask>(),
    UseCase::of::<lead::ResetTask>(),
    UseCase::of::<lead::AggregateResults>(),
    UseCase::of::<lead::CancelTask>(),
];
