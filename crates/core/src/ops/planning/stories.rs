//! Stories: adding, listing, and moving them on. Who gets one is decided in `assign`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    PlanChanged, PlanTransaction, Project, assign, check_text, epics, id_or_next, is, list, no_epic,
    no_story, other,
};
use crate::model::documents::state::{Epic, Session, SessionContext, Story};
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::next::See;
use crate::model::plan::PlanStatus;
use crate::model::{plan, time};
use crate::ops::{Actor, Error, Result, read};
use crate::store::Engine;
use crate::store::engine::items;

/// A story as somebody wants it.
#[derive(Debug)]
pub struct NewStory {
    pub id: Option<Key>,
    pub epic: Key,
    pub title: String,
    pub points: Option<f64>,
    /// Capabilities that a tool must have to be given the story.
    pub needs: Vec<String>,
}

/// Adds a story to an epic. The same one under the same id is no second one; ids are unique over all epics.
pub fn add(
    engine: &dyn Engine,
    project: &Project,
    new: &NewStory,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    check_text("title", &new.title)?;
    new.needs.iter().try_for_each(|need| check_text("capability", need))?;
    if new.points.is_some_and(|points| !points.is_finite() || points < 0.0) {
        return Err(Error::Input("points are a number, 0 or more".into()));
    }
    let mut tx = PlanTransaction::open(engine, project, None, actor)?.expect(expect)?;
    let place = tx.epics.items().iter().position(|epic| is(epic, new.epic.as_str()));
    let place = place.ok_or_else(|| no_epic(&new.epic))?;
    let taken: Vec<_> = tx.stories().into_iter().filter_map(|story| story.text(Story::id)).collect();
    let id = id_or_next(new.id.as_ref(), "story", &taken);
    if let Some((epic, known)) = tx.story(&id) {
        return match epic == place && is_same(known, new) {
            true => {
                Ok(PlanChanged { value: known.clone(), task: None, changed: false, warnings: Vec::new() })
            }
            false => Err(other("story", &id, See::StoriesOf { epic: epic.to_string() })),
        };
    }
    let mut story =
        json!({Story::id: id, Story::title: new.title, Story::status: "pending", Story::assigned_to: null});
    if let Some(points) = new.points {
        story[Story::points] = plan::number(points);
    }
    if !new.needs.is_empty() {
        story[Story::required_capabilities] = json!(new.needs);
    }
    story.set(Story::created_at, time::stamp(tx.now));
    list(&mut tx.epics.items()[place], Epic::stories).push(story.clone());
    tx.roll_up(place, &id)?;
    let (changed, warnings) = tx.commit("story add", actor, Vec::new())?;
    Ok(PlanChanged { value: story, task: None, changed, warnings })
}

fn is_same(known: &Value, new: &NewStory) -> bool {
    let points = new.points.and_then(|points| plan::number(points).as_f64());
    known[Story::title] == *new.title
        && plan::figure(known, Story::points) == points
        && plan::texts(known, Story::required_capabilities) == new.needs
}

/// What changes about a story; what is not told stays.
#[derive(Debug, Default)]
pub struct StoryEdit {
    pub title: Option<String>,
    pub points: Option<f64>,
    pub status: Option<PlanStatus>,
    /// The epic that it moves to.
    pub epic: Option<Key>,
    pub needs: Option<Vec<String>>,
}

/// Changes a story; its epic (both, if it moves) and its sprints follow.
pub fn edit(
    engine: &dyn Engine,
    project: &Project,
    id: &Key,
    edit: &StoryEdit,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    check_edit(edit)?;
    let mut tx = PlanTransaction::open(engine, project, None, actor)?.expect(expect)?;
    let now = tx.now;
    let (epic, story) = tx.story(id.as_str()).ok_or_else(|| no_story(id.as_str()))?;
    change(story, edit, now);
    let story = story.clone();
    let place = match &edit.epic {
        Some(target) => move_to(&mut tx, epic, id, target)?,
        None => epic,
    };
    for epic in [epic, place] {
        tx.roll_up(epic, id.as_str())?;
    }
    let (changed, warnings) = tx.commit("story edit", actor, Vec::new())?;
    Ok(PlanChanged { value: story, task: None, changed, warnings })
}

fn check_edit(edit: &StoryEdit) -> Result<()> {
    let StoryEdit { title, points, status, epic, needs } = edit;
    if title.is_none() && points.is_none() && status.is_none() && epic.is_none() && needs.is_none() {
        return Err(Error::Input("nothing to change: say what is to be different".into()));
    }
    title.iter().try_for_each(|title| check_text("title", title))?;
    needs.iter().flatten().try_for_each(|need| check_text("capability", need))
}

fn change(story: &mut Value, edit: &StoryEdit, now: Timestamp) {
    if let Some(title) = &edit.title {
        story.set(Story::title, title.as_str());
    }
    if let Some(points) = edit.points {
        story[Story::points] = plan::number(points);
    }
    if let Some(needs) = &edit.needs {
        story[Story::required_capabilities] = json!(needs);
    }
    if let Some(status) = edit.status {
        plan::set_status(story, status, now);
    }
}

/// Moves a story to the end of another epic; returns the place of that epic.
fn move_to(tx: &mut PlanTransaction<'_>, from: usize, id: &Key, target: &Key) -> Result<usize> {
    let place = tx.epics.items().iter().position(|epic| is(epic, target.as_str()));
    let place = place.ok_or_else(|| no_epic(target))?;
    if place != from {
        let stories = list(&mut tx.epics.items()[from], Epic::stories);
        let at = stories.iter().position(|story| is(story, id.as_str())).expect("it was found there");
        let story = stories.remove(at);
        list(&mut tx.epics.items()[place], Epic::stories).push(story);
    }
    Ok(place)
}

/// Says where a story stands now; its epic and its sprints follow.
pub fn set_status(
    engine: &dyn Engine,
    project: &Project,
    id: &Key,
    status: PlanStatus,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    let is_over = matches!(status, PlanStatus::Completed | PlanStatus::Cancelled);
    let session = if is_over { at_story(engine, id, actor) } else { None };
    let mut tx = PlanTransaction::open(engine, project, session.as_ref(), actor)?.expect(expect)?;
    let now = tx.now;
    let (epic, story) = tx.story(id.as_str()).ok_or_else(|| no_story(id.as_str()))?;
    let changed = plan::set_status(story, status, now);
    let story = story.clone();
    if changed {
        tx.roll_up(epic, id.as_str())?;
    }
    let state = session.map(|session| assign::turn_away(&mut tx, &session, id.as_str())).transpose()?;
    let (changed, warnings) = tx.commit("story status", actor, state.flatten().into_iter().collect())?;
    Ok(PlanChanged { value: story, task: None, changed, warnings })
}

/// Returns the session at work if it is at this story: a story does not know who else may be.
fn at_story(engine: &dyn Engine, story: &Key, actor: &Actor) -> Option<SessionId> {
    let session: SessionId = actor.session.as_ref()?.parse().ok()?;
    let state = engine.read(&Doc::session(&session)).ok()??;
    (state.value[Session::context][SessionContext::active_story] == story.as_str()).then_some(session)
}

/// Which stories.
#[derive(Debug, Default)]
pub struct Filter<'a> {
    pub status: Option<&'a str>,
    /// Only those that nobody has.
    pub unassigned: bool,
    pub epic: Option<&'a Key>,
}

/// Returns the stories of a project's epics; none if there are no epics.
pub fn list_in(engine: &dyn Engine, epics: &Doc, filter: &Filter<'_>) -> Result<Vec<Value>> {
    let Some(document) = engine.read(epics)? else { return Ok(Vec::new()) };
    let epics = items(epics.kind, &document.value).into_iter();
    let of_epic = |epic: &&Value| filter.epic.is_none_or(|id| is(epic, id.as_str()));
    let stories = epics.filter(of_epic).flat_map(plan::stories);
    let free = |story: &&Value| !filter.unassigned || plan::assignee(story).is_none();
    Ok(read::with_status(stories.filter(free).collect(), filter.status))
}

/// The same for a project, where an epic that is asked for must exist.
pub fn list_of(engine: &dyn Engine, project: &Project, filter: &Filter<'_>) -> Result<Vec<Value>> {
    if let Some(epic) = filter.epic {
        epics::show(engine, project, epic)?;
    }
    list_in(engine, &project.epics(), filter)
}
