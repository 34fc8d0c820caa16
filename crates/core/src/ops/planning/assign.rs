//! Giving a story to an agent, and a session the task that comes with it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{PlanChanged, PlanTransaction, Project, Sheet, no_story, of_session, tools_doc};
use crate::hint;
use crate::model::documents::state::{Member, SessionTask, Story, Team, TeamSettings, Tool, Tools};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::next::{Next, See};
use crate::model::plan::{PlanStatus, SessionTaskStatus};
use crate::model::session::Session;
use crate::model::{plan, time};
use crate::ops::settings::Settings;
use crate::ops::{Actor, Error, Result};
use crate::store::Engine;
use crate::store::engine::item_in;

/// The type of a task that stands for a story.
const IMPLEMENT_STORY: &str = "implement_story";

/// Who is to do a story, and the session that gets the task.
#[derive(Debug)]
pub struct Assignment {
    pub story: Key,
    /// A tool, a member of the team, or any name.
    pub agent: Key,
    pub session: Option<ForSession>,
}

/// The session that gets the task.
#[derive(Debug)]
pub enum ForSession {
    Named(SessionId),
    /// The one that acts: it gets the task if it is registered.
    Acting(SessionId),
}

/// Gives a story to an agent, if its abilities and the limits allow it.
pub fn assign(
    engine: &dyn Engine,
    project: &Project,
    asked: &Assignment,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    let (session, mut warnings) = session(engine, asked)?;
    let mut tx = PlanTransaction::open(engine, project, session.as_ref(), actor)?.expect(expect)?;
    let (id, agent) = (asked.story.as_str(), asked.agent.as_str());
    let story = tx.story(id).ok_or_else(|| no_story(id))?.1.clone();
    if plan::assignee(&story) != Some(agent) {
        check_open(&story, id)?;
        let tools = engine.read(&tools_doc())?.map(|tools| tools.value).unwrap_or_default();
        let team = tx.transaction.get(&project.team())?.cloned().unwrap_or_default();
        let tool = item_in(&tools_doc(), &tools, agent);
        let others: Vec<_> = tx.stories().into_iter().filter(|other| !super::is(other, id)).collect();
        if let Some(tool) = tool {
            check_abilities(&tools, tool, &story, asked)?;
            check_instances(tool, &others, asked)?;
        } else if !is_member(&team, agent) {
            let name = "is neither a registered tool nor in the team";
            warnings.push(hint![
                format!("`{agent}` {name}: "),
                Next::RegisterTool(agent.into()),
                ", or ",
                Next::AddMember(Some(agent.into())),
            ]);
        }
        check_parallel(&Settings::read(engine)?, &team, &others, agent)?;
        tx.story(id).ok_or_else(|| no_story(id))?.1[Story::assigned_to] = agent.into();
    }
    let story = tx.story(id).ok_or_else(|| no_story(id))?.1.clone();
    let (mut sheets, mut task) = (Vec::new(), None);
    if let Some(session) = &session {
        let mut sheet = Sheet::open(&mut *tx.transaction, of_session("tasks", session), tx.now)?;
        task = Some(give_task(&mut sheet, &story, asked, project, tx.now)?);
        sheets.push(sheet);
        sheets.extend(turn_to(&mut tx, session, id)?);
    }
    tx.warnings = warnings;
    let (changed, warnings) = tx.commit("story assign", actor, sheets)?;
    Ok(PlanChanged { value: story, task, changed, warnings })
}

/// Lets a session that is known be at a story.
fn turn_to(tx: &mut PlanTransaction<'_>, session: &SessionId, story: &str) -> Result<Option<Sheet>> {
    let mut state = Sheet::open(&mut *tx.transaction, of_session("session", session), tx.now)?;
    if state.before.is_none() {
        return Ok(None);
    }
    let (epic, story) = tx.story(story).ok_or_else(|| no_story(story))?;
    let (story, is_open) = (story.text(Story::id).unwrap_or_default().to_owned(), plan::is_open(story));
    let epic = tx.epics.items()[epic].text(Story::id).unwrap_or_default().to_owned();
    let mut session = Session::of(state.value);
    if is_open {
        session.take_up(&epic, &story);
    }
    state.value = session.into_value();
    Ok(Some(state))
}

/// Lets a session that is known put a story down.
pub(super) fn turn_away(
    tx: &mut PlanTransaction<'_>,
    session: &SessionId,
    story: &str,
) -> Result<Option<Sheet>> {
    let mut state = Sheet::open(&mut *tx.transaction, of_session("session", session), tx.now)?;
    if state.before.is_none() {
        return Ok(None);
    }
    let mut session = Session::of(state.value);
    session.put_down(story);
    state.value = session.into_value();
    Ok(Some(state))
}

/// Returns the session that gets the task, and what is to be said about it.
fn session(engine: &dyn Engine, asked: &Assignment) -> Result<(Option<SessionId>, Vec<Hint>)> {
    let known = |id: &SessionId| Ok::<_, Error>(engine.read(&of_session("session", id))?.is_some());
    Ok(match &asked.session {
        Some(ForSession::Named(id)) if !known(id)? => (
            Some(id.clone()),
            vec![format!("the session `{id}` is not registered; it gets the task anyway").into()],
        ),
        Some(ForSession::Named(id)) => (Some(id.clone()), Vec::new()),
        Some(ForSession::Acting(id)) if known(id)? => (Some(id.clone()), Vec::new()),
        Some(ForSession::Acting(_)) | None => (None, Vec::new()),
    })
}

fn is_member(team: &Value, agent: &str) -> bool {
    team.list(Team::members).iter().any(|member| member[Member::agent] == agent)
}

fn check_open(story: &Value, id: &str) -> Result<()> {
    match plan::standing(story) {
        status @ (PlanStatus::Completed | PlanStatus::Cancelled) => Err(Error::refused(
            format!("the story `{id}` is {}", plan::word(status)),
            hint!["take it up again first: ", Next::MoveStory { id: id.into(), to: "pending" }],
        )),
        _ => Ok(()),
    }
}

/// Refuses a tool that cannot do what the story needs, and names those that can.
fn check_abilities(tools: &Value, tool: &Value, story: &Value, asked: &Assignment) -> Result<()> {
    let needs = plan::texts(story, Story::required_capabilities);
    let lacks = |tool: &Value| {
        let has = plan::texts(tool, Tool::capabilities);
        needs.iter().filter(|need| !has.contains(need)).map(|need| format!("`{need}`")).collect::<Vec<_>>()
    };
    let missing = lacks(tool);
    if missing.is_empty() {
        return Ok(());
    }
    let (story, agent) = (&asked.story, &asked.agent);
    let all = tools.read(Tools::tools).into_iter().flatten();
    let fitting: Vec<_> = all.filter(|(_, tool)| lacks(tool).is_empty()).map(|(id, _)| id.as_str()).collect();
    let hint = match fitting.first() {
        Some(first) => hint![
            format!("these tools fit: {}: ", fitting.join(", ")),
            Next::AssignStory { id: story.to_string(), to: (*first).to_owned() },
        ],
        None => hint!["no registered tool fits: ", Next::RegisterToolFor { needs: needs.join(",") }],
    };
    Err(Error::refused(format!("`{agent}` lacks {}, which `{story}` needs", missing.join(", ")), hint))
}

/// Refuses a tool that has as many open stories as it may have at once, and names them.
fn check_instances(tool: &Value, others: &[&Value], asked: &Assignment) -> Result<()> {
    let agent = asked.agent.as_str();
    let Some(most) = plan::figure(tool, Tool::max_instances) else { return Ok(()) };
    let held = others.iter().filter(|story| plan::is_open(story) && plan::assignee(story) == Some(agent));
    let held: Vec<_> = held.filter_map(|story| story.text(Story::id)).collect();
    if (held.len() as f64) < most {
        return Ok(());
    }
    let holds = if held.is_empty() { "nothing".to_owned() } else { held.join(", ") };
    let more = Next::AllowInstances { tool: agent.into(), most: held.len() + 1 };
    let more = hint!["or allow more: ", more];
    let hint = match held.first() {
        Some(first) => {
            let first = Next::MoveStory { id: (*first).to_owned(), to: "completed" };
            hint!["complete one first: ", first].and(more)
        }
        None => more,
    };
    let most = plan::number(most);
    Err(Error::refused(
        format!("`{agent}` has all that it may have at once (max_instances {most}): {holds}"),
        hint,
    ))
}

/// Refuses one more agent than may work at once.
fn check_parallel(settings: &Settings, team: &Value, others: &[&Value], agent: &str) -> Result<()> {
    let of_team = plan::figure(&team[Team::settings], TeamSettings::max_parallel_agents);
    let of_team = of_team.map(|most| (most, "the team's settings", "team", "settings.max_parallel_agents"));
    let of_config = settings.max_parallel_agents().map(|most| {
        (most as f64, "the configuration's global settings", "config", "global.max_parallel_agents")
    });
    let busy: BTreeSet<_> = others
        .iter()
        .filter(|story| plan::is_open(story))
        .filter_map(|story| plan::assignee(story))
        .collect();
    let least = of_config.into_iter().chain(of_team).min_by(|one, other| one.0.total_cmp(&other.0));
    let Some((most, whose, kind, path)) = least else { return Ok(()) };
    if busy.contains(agent) || (busy.len() as f64) < most {
        return Ok(());
    }
    let names = if busy.is_empty() {
        String::new()
    } else {
        format!(": {}", Vec::from_iter(busy.clone()).join(", "))
    };
    let message = format!(
        "`{agent}` would be agent {} at work on this project; {whose} allow {}{names}",
        busy.len() + 1,
        plan::number(most)
    );
    let more = Next::Set { kind, path: path.into(), value: (busy.len() + 1).to_string() };
    let hint = hint!["give it to one of them, or allow more: ", more];
    Err(Error::refused(message, hint))
}

/// Puts the story's task on a session's list, or hands the one that is there to the agent.
fn give_task(
    tasks: &mut Sheet,
    story: &Value,
    asked: &Assignment,
    project: &Project,
    now: jiff::Timestamp,
) -> Result<Value> {
    let id: Key =
        format!("task-{}", asked.story).parse().map_err(|error| Error::Input(format!("{error}")))?;
    let (id, story_id, agent) = (id.as_str(), asked.story.as_str(), asked.agent.as_str());
    if let Some(task) = tasks.find(id) {
        if task[SessionTask::story_id] != story_id {
            let hint = hint!["see it: ", See::TasksOfSession(None)];
            return Err(Error::clash(format!("the session has another task `{id}` already"), hint));
        }
        let before = task.clone();
        task.set(SessionTask::assigned_to, agent);
        let over = [SessionTaskStatus::Completed, SessionTaskStatus::Cancelled, SessionTaskStatus::Failed];
        if plan::is_open(story) && plan::status(task).is_some_and(|status| over.contains(&status)) {
            task[SessionTask::status] = json!(SessionTaskStatus::Pending);
        }
        if *task != before {
            task.set(SessionTask::updated_at, time::stamp(now));
        }
        return Ok(task.clone());
    }
    let task = json!({
        SessionTask::id: id, SessionTask::kind: IMPLEMENT_STORY, SessionTask::story_id: story_id,
        SessionTask::title: story[Story::title],
        SessionTask::status: "pending", SessionTask::assigned_to: agent,
        SessionTask::created_at: time::stamp(now),
        SessionTask::project_id: project.0.as_str(),
    });
    tasks.items().push(task.clone());
    Ok(task)
}
