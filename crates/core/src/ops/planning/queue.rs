//! Stories as tasks of the queue: each story gets a task, and is completed when all of its tasks are done.
//!
//! Queue and plan are rooms of their own, and a completion is too frequent to lock both. So a task says of which story it is,
//! a story which tasks it has, and the story follows in a commit of its own, after that of its last task.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{PlanTransaction, Project, is, no_story, stories};
use crate::model::documents::queue::QueueTask;
use crate::model::documents::state::Story;
use crate::model::ids::Key;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::new_task::NewTask;
use crate::model::plan::{self, PlanStatus};
use crate::model::task::{Status, Task};
use crate::ops::queue::lead;
use crate::ops::{Actor, Result};
use crate::store::Engine;

/// Makes a task of a story, and returns it. A second time it is the same one; a story whose tasks are done is completed then.
pub fn to_task(engine: &dyn Engine, project: &Project, story: &Key, actor: &Actor) -> Result<Value> {
    let known = stories::list_in(engine, &project.epics(), &stories::Filter::default())?;
    let known = known.into_iter().find(|known| is(known, story.as_str()));
    let known = known.ok_or_else(|| no_story(story.as_str()))?;
    let task = add(engine, story, &known, actor)?;
    note_story(engine, &task, &StoryName { project, story }, actor)?;
    note_task(engine, project, story, task.id(), actor)?;
    follow(engine, project, story, actor)?;
    let queue = Doc::queue();
    let tasks = engine.read(&queue)?.map(|found| found.value).unwrap_or_default();
    let found =
        crate::store::engine::items(queue.kind, &tasks).into_iter().find(|found| is(found, task.id()));
    Ok(found.cloned().unwrap_or_else(|| task.into_value()))
}

fn add(engine: &dyn Engine, id: &Key, story: &Value, actor: &Actor) -> Result<Task> {
    let new = NewTask {
        id: Some(id.as_str().into()),
        description: story.text(Story::title).filter(|title| !title.is_empty()).unwrap_or(id.as_str()).into(),
        needs: plan::texts(story, Story::required_capabilities).into_iter().map(Cow::Borrowed).collect(),
        ..NewTask::default()
    };
    lead::add(engine, &new, actor)
}

/// A story as its tasks name it: `myapp/story-001`.
struct StoryName<'a> {
    project: &'a Project,
    story: &'a Key,
}

fn note_story(engine: &dyn Engine, task: &Task, name: &StoryName<'_>, actor: &Actor) -> Result<()> {
    let (queue, name) = (Doc::queue(), format!("{}/{}", name.project.0, name.story));
    let mut transaction = engine.begin(&[&queue.room])?;
    let Some(mut noted) = transaction.item(&queue, task.id())? else { return Ok(()) };
    if noted.text(QueueTask::story) != Some(&name) {
        noted.set(QueueTask::story, name);
        transaction.put_item(&queue, task.id(), noted)?;
        transaction.commit(&actor.entry("story to-task"))?;
    }
    Ok(())
}

fn note_task(engine: &dyn Engine, project: &Project, id: &Key, task: &str, actor: &Actor) -> Result<()> {
    let mut tx = PlanTransaction::open(engine, project, None, actor)?;
    let (_, story) = tx.story(id.as_str()).ok_or_else(|| no_story(id.as_str()))?;
    let mut tasks = plan::texts(story, Story::tasks);
    if !tasks.contains(&task) {
        tasks.push(task);
        story[Story::tasks] = json!(tasks);
    }
    tx.commit("story to-task", actor, Vec::new()).map(drop)
}

/// Completes the story of a task that was done, if it was the last one. What goes wrong there is not the worker's business: the
/// next completion, or the next look at the story's tasks, makes up for it.
pub fn completed(engine: &dyn Engine, task: &Value, actor: &Actor) {
    let Some((project, story)) = task.text(QueueTask::story).and_then(|name| name.split_once('/')) else {
        return;
    };
    if let (Ok(project), Ok(story)) = (project.parse().map(Project), story.parse()) {
        let _ = follow(engine, &project, &story, actor);
    }
}

/// Completes a story whose tasks are all done.
fn follow(engine: &dyn Engine, project: &Project, id: &Key, actor: &Actor) -> Result<()> {
    let known = stories::list_in(engine, &project.epics(), &stories::Filter::default())?;
    let Some(story) = known.into_iter().find(|story| is(story, id.as_str())) else { return Ok(()) };
    let queue = engine.read(&Doc::queue())?.map(|found| found.value).unwrap_or_default();
    let queue = crate::store::engine::items(Doc::queue().kind, &queue);
    let stands =
        |task: &str| queue.iter().find(|found| is(found, task)).map(|found| Task::of((*found).clone()));
    let done = |task: &str| stands(task).is_some_and(|task| task.status() == Status::Done);
    if plan::is_done_by(&story, done) {
        stories::set_status(engine, project, id, PlanStatus::Completed, None, actor)?;
    }
    Ok(())
}
