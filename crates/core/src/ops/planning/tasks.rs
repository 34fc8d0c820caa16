//! A session's tasks. One that stands for a story takes the story along.

use serde_json::{Value, json};

use super::{PlanChanged, PlanTransaction, Project, Sheet, assign, is, of_session};
use crate::hint;
use crate::model::documents::state::{Config, GlobalSettings, Session, SessionTask};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::next::See;
use crate::model::plan::{PlanStatus, SessionTaskStatus};
use crate::model::{plan, time};
use crate::ops::edit::Target;
use crate::ops::{Actor, Error, Result, read};
use crate::store::Engine;

/// What the log calls a change of a task.
const UPDATE: &str = "update-task";

/// What changes about a task.
#[derive(Debug)]
pub struct TaskChange {
    pub session: SessionId,
    pub task: Key,
    pub status: Option<SessionTaskStatus>,
    pub assigned_to: Option<String>,
}

/// Changes a session's task. Starting and completing it starts and completes its story, in the same commit.
pub fn update(
    engine: &dyn Engine,
    asked: &TaskChange,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    // Which rooms to open is in the task; when somebody changes that meanwhile, we look again.
    loop {
        let seen = find(engine, asked)?;
        let done = match (seen.text(SessionTask::story_id), project(engine, &seen, asked)?) {
            (Some(_), Some(project)) => update_with_story(engine, asked, &project, &seen, expect, actor)?,
            (story, _) => {
                let mut done = update_alone(engine, asked, &seen, expect, actor)?;
                if let (Some(story), Some(done)) = (story, &mut done) {
                    let why = "no project is known for the story";
                    done.warnings.push(format!("{why} `{story}`; only the task was changed").into());
                }
                done
            }
        };
        if let Some(done) = done {
            return Ok(done);
        }
    }
}

fn update_alone(
    engine: &dyn Engine,
    asked: &TaskChange,
    seen: &Value,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<Option<PlanChanged>> {
    let mut is_as_seen = false;
    let doc = of_session("tasks", &asked.session);
    let done = super::change(engine, &doc, expect, (UPDATE, actor), |tasks, now| {
        let task = tasks.find(asked.task.as_str()).ok_or_else(|| no_task(asked))?;
        is_as_seen = concerns_the_same(task, seen);
        if is_as_seen {
            change(task, asked, &time::stamp(now));
        }
        Ok(task.clone())
    })?;
    Ok(is_as_seen.then_some(done))
}

fn update_with_story(
    engine: &dyn Engine,
    asked: &TaskChange,
    project: &Project,
    seen: &Value,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<Option<PlanChanged>> {
    let mut tx = PlanTransaction::open(engine, project, Some(&asked.session), actor)?;
    let doc = of_session("tasks", &asked.session);
    Target::whole(&doc, expect).expect_revision(&mut *tx.transaction)?;
    let mut tasks = Sheet::open(&mut *tx.transaction, doc, tx.now)?;
    let task = tasks.find(asked.task.as_str()).ok_or_else(|| no_task(asked))?;
    if !concerns_the_same(task, seen) {
        return Ok(None);
    }
    change(task, asked, &time::stamp(tx.now));
    let task = task.clone();
    let warning = take_story_along(&mut tx, &task, asked.status)?;
    tx.warnings.extend(warning.map(Hint::from));
    let mut sheets = vec![tasks];
    if asked.status.is_some_and(is_over) {
        let story = task.text(SessionTask::story_id).unwrap_or_default();
        sheets.extend(assign::turn_away(&mut tx, &asked.session, story)?);
    }
    let (changed, warnings) = tx.commit(UPDATE, actor, sheets)?;
    Ok(Some(PlanChanged { value: task, task: None, changed, warnings }))
}

/// Whether nobody works on a task any more.
fn is_over(status: SessionTaskStatus) -> bool {
    matches!(status, SessionTaskStatus::Completed | SessionTaskStatus::Failed | SessionTaskStatus::Cancelled)
}

fn concerns_the_same(task: &Value, seen: &Value) -> bool {
    let fields = [SessionTask::story_id, SessionTask::project_id];
    fields.into_iter().all(|field| task.at(field) == seen.at(field))
}

fn change(task: &mut Value, asked: &TaskChange, now: &str) {
    let before = task.clone();
    if let Some(status) = asked.status {
        task[SessionTask::status] = json!(status);
    }
    if let Some(agent) = &asked.assigned_to {
        task.set(SessionTask::assigned_to, agent.as_str());
    }
    if *task != before {
        task.set(SessionTask::updated_at, now);
    }
}

/// Starts or completes the story of a task; returns why not, where somebody should know.
fn take_story_along(
    tx: &mut PlanTransaction<'_>,
    task: &Value,
    status: Option<SessionTaskStatus>,
) -> Result<Option<String>> {
    let target = match status {
        Some(SessionTaskStatus::Completed) => PlanStatus::Completed,
        Some(SessionTaskStatus::InProgress) => PlanStatus::InProgress,
        _ => return Ok(None),
    };
    let id = task.text(SessionTask::story_id).unwrap_or_default();
    let now = tx.now;
    let Some((epic, story)) = tx.story(id) else {
        let project = &tx.project.0;
        return Ok(Some(format!(
            "the story `{id}` is not in project `{project}`; only the task was changed"
        )));
    };
    let was = plan::standing(story);
    let over = matches!(was, PlanStatus::Completed | PlanStatus::Cancelled);
    if over && was != target {
        return Ok(Some(format!("the story `{id}` stays {}; only the task was changed", plan::word(was))));
    }
    if plan::set_status(story, target, now) {
        tx.roll_up(epic, id)?;
    }
    Ok(None)
}

fn find(engine: &dyn Engine, asked: &TaskChange) -> Result<Value> {
    let tasks = read::list(engine, &of_session("tasks", &asked.session), None)?;
    tasks.into_iter().find(|task| is(task, asked.task.as_str())).ok_or_else(|| no_task(asked))
}

/// Returns the project of a task's story: the task's, else the session's, else the default one.
fn project(engine: &dyn Engine, task: &Value, asked: &TaskChange) -> Result<Option<Project>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut named = text(&task[SessionTask::project_id]);
    if named.is_none() {
        let session = engine.read(&of_session("session", &asked.session))?;
        named = session.and_then(|session| text(&session.value[Session::project_id]));
    }
    if named.is_none() {
        let config = engine.read(&Doc::config())?;
        named =
            config.and_then(|config| text(&config.value[Config::global][GlobalSettings::default_project]));
    }
    // What a document says is data: it is a project only if it can be an id.
    Ok(named.and_then(|id| id.parse().ok()).map(Project))
}

fn no_task(asked: &TaskChange) -> Error {
    let (task, session) = (&asked.task, &asked.session);
    let hint = hint!["see them: ", See::TasksOfSession(Some(session.to_string()))];
    Error::missing(format!("the session `{session}` has no task `{task}`"), hint)
}
