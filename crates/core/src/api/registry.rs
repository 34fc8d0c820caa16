//! All use cases, for doors that speak JSON and for tests.

use serde_json::Value;

use super::queue::{lead, look, work};
use super::{Answer, Caller, Effect, Request};
use super::{
    agent_loop, documents, history, mail, messages, overview, pipeline, planning, records, sessions, stories,
    workflow,
};
use crate::model::hint::Hint;
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
    pub warnings: Vec<Hint>,
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
    let request = R::from_json(request).map_err(|error| Error::Input(error.to_string()))?;
    let answer = request.perform(caller)?;
    Ok(Performed { answer: answer.json().into_owned(), warnings: answer.warnings().to_vec() })
}

/// In the order of a story: the example of each can be performed after those before it.
pub const USE_CASES: &[UseCase] = &[
    // Documents of any kind.
    UseCase::of::<documents::SetField>(),
    UseCase::of::<documents::GetDocument>(),
    UseCase::of::<documents::AppendItem>(),
    UseCase::of::<documents::ListItems>(),
    UseCase::of::<documents::DeleteField>(),
    UseCase::of::<documents::ValidateDocuments>(),
    UseCase::of::<documents::ShowSchema>(),
    UseCase::of::<history::ShowHistory>(),
    UseCase::of::<history::ShowLog>(),
    UseCase::of::<history::RestoreRevision>(),
    UseCase::of::<history::ShowEdits>(),
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
    UseCase::of::<look::ExplainQueue>(),
    UseCase::of::<look::DrawTasks>(),
    UseCase::of::<look::ListReady>(),
    UseCase::of::<lead::RemoveTasks>(),
    UseCase::of::<work::RegisterWorker>(),
    UseCase::of::<work::ClaimTask>(),
    UseCase::of::<work::ListMine>(),
    UseCase::of::<work::StartTask>(),
    UseCase::of::<work::RenewTasks>(),
    UseCase::of::<work::CompleteTask>(),
    UseCase::of::<work::Discover>(),
    UseCase::of::<work::BriefTask>(),
    UseCase::of::<work::FailTask>(),
    UseCase::of::<lead::RetryTasks>(),
    UseCase::of::<work::ReleaseTask>(),
    UseCase::of::<lead::ResetTasks>(),
    UseCase::of::<lead::AggregateResults>(),
    UseCase::of::<lead::SplitTask>(),
    UseCase::of::<lead::CancelTasks>(),
    // Sessions and their messages.
    UseCase::of::<sessions::StartSession>(),
    UseCase::of::<sessions::RenewSession>(),
    UseCase::of::<sessions::ListSessions>(),
    UseCase::of::<sessions::ShowSession>(),
    UseCase::of::<messages::SendMessage>(),
    UseCase::of::<messages::PollMessages>(),
    UseCase::of::<messages::FinishMessage>(),
    UseCase::of::<messages::ListSent>(),
    UseCase::of::<mail::TellSession>(),
    UseCase::of::<mail::ReplyToMessage>(),
    UseCase::of::<mail::ListMail>(),
    UseCase::of::<messages::Broadcast>(),
    UseCase::of::<sessions::HandOver>(),
    UseCase::of::<sessions::EndSession>(),
    // Planning.
    UseCase::of::<planning::AddEpic>(),
    UseCase::of::<planning::ListEpics>(),
    UseCase::of::<planning::ShowEpic>(),
    UseCase::of::<planning::AddStory>(),
    UseCase::of::<planning::ListStories>(),
    UseCase::of::<stories::EditStory>(),
    UseCase::of::<planning::RegisterTool>(),
    UseCase::of::<planning::ListTools>(),
    UseCase::of::<planning::AddMember>(),
    UseCase::of::<planning::ShowTeam>(),
    UseCase::of::<planning::StartSprint>(),
    UseCase::of::<planning::ShowSprint>(),
    UseCase::of::<planning::AssignStory>(),
    UseCase::of::<planning::UpdateSessionTask>(),
    UseCase::of::<planning::SetStoryStatus>(),
    UseCase::of::<planning::CloseSprint>(),
    UseCase::of::<stories::AddSprint>(),
    UseCase::of::<stories::ListSprints>(),
    UseCase::of::<stories::StoriesToTasks>(),
    // Workflows.
    UseCase::of::<workflow::CreateWorkflow>(),
    UseCase::of::<workflow::StartWorkflow>(),
    UseCase::of::<workflow::ReportPhase>(),
    UseCase::of::<workflow::ShowWorkflow>(),
    UseCase::of::<workflow::ListTodos>(),
    UseCase::of::<workflow::DrawWorkflow>(),
    UseCase::of::<workflow::AdoptWorkflow>(),
    // The pipeline.
    UseCase::of::<pipeline::InitRun>(),
    UseCase::of::<pipeline::PlanRun>(),
    UseCase::of::<pipeline::NextOrders>(),
    UseCase::of::<pipeline::ReportOrder>(),
    UseCase::of::<pipeline::ShowRun>(),
    UseCase::of::<pipeline::ExplainGroup>(),
    // The loop.
    UseCase::of::<agent_loop::StartLoop>(),
    UseCase::of::<agent_loop::AddItem>(),
    UseCase::of::<agent_loop::TakeItem>(),
    UseCase::of::<agent_loop::ReleaseItem>(),
    UseCase::of::<agent_loop::FinishItem>(),
    UseCase::of::<agent_loop::NoteGate>(),
    UseCase::of::<agent_loop::ShowLoop>(),
    // What hooks and agents keep.
    UseCase::of::<records::RecordError>(),
    UseCase::of::<records::ListErrors>(),
    UseCase::of::<records::ListDue>(),
    UseCase::of::<records::ResolveError>(),
    UseCase::of::<records::ListAgents>(),
    UseCase::of::<records::ShowResult>(),
    UseCase::of::<records::MergeFindings>(),
    UseCase::of::<records::ShowMetrics>(),
    UseCase::of::<records::MakeBackup>(),
    UseCase::of::<records::ListBackups>(),
    UseCase::of::<records::RestoreBackup>(),
    // Everything.
    UseCase::of::<overview::ShowStatus>(),
    UseCase::of::<overview::Examine>(),
    UseCase::of::<overview::AddHook>(),
    UseCase::of::<overview::ListHooks>(),
    UseCase::of::<overview::RemoveHook>(),
    UseCase::of::<overview::ListTrusted>(),
    UseCase::of::<overview::Distrust>(),
    UseCase::of::<agent_loop::ResetLoop>(),
    UseCase::of::<overview::CleanUp>(),
    UseCase::of::<overview::ArchiveOld>(),
    // Going back.
    UseCase::of::<history::UndoChange>(),
    UseCase::of::<history::MergeEdit>(),
];
