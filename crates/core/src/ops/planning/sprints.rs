//! Sprints: one runs at a time; its points are added up from its stories.

use jiff::civil::Date;
use jiff::{Span, Timestamp};
use serde_json::{Value, json};

use super::{PlanChanged, PlanTransaction, Project, Sheet, check_text, id_or_next, is, no_story, other};
use crate::hint;
use crate::model::documents::state::{Sprint, Sprints};
use crate::model::ids::Key;
use crate::model::key::{Fields, FieldsMut};
use crate::model::next::{Next, See};
use crate::model::plan::{self, Report, SprintStatus};
use crate::ops::edit::Target;
use crate::ops::{Actor, Error, Result, read};
use crate::store::Engine;
use crate::store::engine::items;

/// A sprint as somebody wants it.
#[derive(Debug, Default)]
pub struct NewSprint {
    pub id: Option<Key>,
    pub name: String,
    pub stories: Vec<Key>,
    /// Today unless told.
    pub start: Option<Date>,
    /// Two weeks after the start unless told.
    pub end: Option<Date>,
}

/// Starts a sprint and makes it the current one. Starting the same one again answers the same.
pub fn start(
    engine: &dyn Engine,
    project: &Project,
    new: &NewSprint,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    check_text("name", &new.name)?;
    let mut tx = PlanTransaction::open(engine, project, None, actor)?;
    let mut sprints = open(&mut tx, expect)?;
    let id = id_or_next(new.id.as_ref(), "sprint", &sprints.ids());
    let known = sprints.find(&id).cloned();
    if let Some(known) = &known {
        let begun = plan::status(known) != Some(SprintStatus::Planned);
        if !is_same(known, new, begun) {
            return Err(other("sprint", &id, See::Sprint(id.clone())));
        }
        if begun {
            return Ok(PlanChanged {
                value: known.clone(),
                task: None,
                changed: false,
                warnings: Vec::new(),
            });
        }
    }
    if let Some(active) = sprints.items().iter().find(|sprint| is_active(sprint)) {
        let active = active.text(Sprint::id).unwrap_or_default();
        return Err(Error::refused(
            format!("the sprint `{active}` is active; one runs at a time"),
            hint!["close it first: ", Next::CloseSprint(active.into())],
        ));
    }
    let mut sprint = known.unwrap_or_else(|| json!({Sprint::id: id, Sprint::name: new.name}));
    fill(&mut sprint, new, tx.now)?;
    let stories = tx.stories();
    let unknown = |id: &&str| !stories.iter().any(|story| is(story, id));
    if let Some(id) = plan::texts(&sprint, Sprint::stories).into_iter().find(unknown) {
        return Err(no_story(id));
    }
    plan::add_up(&mut sprint, &stories);
    match sprints.find(&id) {
        Some(known) => *known = sprint.clone(),
        None => sprints.items().push(sprint.clone()),
    }
    sprints.value.set(Sprints::current_sprint, id);
    commit(tx, sprints, sprint, "sprint start", actor)
}

/// Plans a sprint, which is started later by its id and name. The same one under the same id is no second one.
pub fn add(
    engine: &dyn Engine,
    project: &Project,
    new: &NewSprint,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    check_text("name", &new.name)?;
    let mut tx = PlanTransaction::open(engine, project, None, actor)?;
    let mut sprints = open(&mut tx, expect)?;
    let id = id_or_next(new.id.as_ref(), "sprint", &sprints.ids());
    if let Some(known) = sprints.find(&id).cloned() {
        return match is_same(&known, new, true) {
            true => Ok(PlanChanged { value: known, task: None, changed: false, warnings: Vec::new() }),
            false => Err(other("sprint", &id, See::Sprint(id.clone()))),
        };
    }
    let mut sprint = json!({Sprint::id: id, Sprint::name: new.name});
    fill(&mut sprint, new, tx.now)?;
    sprint[Sprint::status] = json!(SprintStatus::Planned);
    let stories = tx.stories();
    let unknown = |id: &&str| !stories.iter().any(|story| is(story, id));
    if let Some(id) = plan::texts(&sprint, Sprint::stories).into_iter().find(unknown) {
        return Err(no_story(id));
    }
    plan::add_up(&mut sprint, &stories);
    sprints.items().push(sprint.clone());
    commit(tx, sprints, sprint, "sprint add", actor)
}

/// Returns the sprints with this status, or all.
pub fn list(engine: &dyn Engine, project: &Project, status: Option<SprintStatus>) -> Result<Vec<Value>> {
    read::list(engine, &project.sprints(), status.map(plan::word).as_deref())
}

/// Whether a known sprint is the one that is asked for. What was not said may be anything, and a sprint that has
/// not begun takes what is said now.
fn is_same(known: &Value, new: &NewSprint, begun: bool) -> bool {
    let same_day = |field: &str, day: Option<Date>| day.is_none_or(|day| known[field] == day.to_string());
    let dates = same_day("start_date", new.start) && same_day("end_date", new.end);
    let stories = new.stories.is_empty() || plan::texts(known, Sprint::stories) == ids(new);
    known[Sprint::name] == *new.name && (!begun || dates && stories)
}

fn ids(new: &NewSprint) -> Vec<&str> {
    let mut ids: Vec<&str> = Vec::new();
    for id in new.stories.iter().map(Key::as_str) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// Writes what is asked for, and what follows from it, into a sprint that begins.
fn fill(sprint: &mut Value, new: &NewSprint, now: Timestamp) -> Result<()> {
    let written = |field: &str| sprint.get(field).and_then(Value::as_str).and_then(plan::day);
    let start = new.start.or_else(|| written("start_date")).unwrap_or_else(|| plan::day_of(now));
    let two_weeks = || start.saturating_add(Span::new().days(plan::SPRINT_DAYS));
    let end = new.end.or_else(|| written("end_date")).unwrap_or_else(two_weeks);
    if end < start {
        return Err(Error::Input(format!("the sprint would end ({end}) before it starts ({start})")));
    }
    sprint[Sprint::status] = json!(SprintStatus::Active);
    sprint.set(Sprint::start_date, start.to_string());
    sprint.set(Sprint::end_date, end.to_string());
    sprint[Sprint::velocity] = Value::Null;
    if !new.stories.is_empty() || !sprint[Sprint::stories].is_array() {
        sprint[Sprint::stories] = json!(ids(new));
    }
    Ok(())
}

/// Closes the sprint that is named, else the current one. Its velocity is what was completed in it.
pub fn close(
    engine: &dyn Engine,
    project: &Project,
    id: Option<&Key>,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    let mut tx = PlanTransaction::open(engine, project, None, actor)?;
    let mut sprints = open(&mut tx, expect)?;
    let id = pick(&sprints.value, id)?;
    let stories = tx.stories();
    let sprint = sprints.find(&id).ok_or_else(|| no_sprint(&id))?;
    match plan::status(sprint) {
        Some(SprintStatus::Active) => {}
        Some(SprintStatus::Completed) => {
            return Ok(PlanChanged {
                value: sprint.clone(),
                task: None,
                changed: false,
                warnings: Vec::new(),
            });
        }
        status => {
            let status = status.map_or("not active".into(), plan::word);
            let hint = hint!["only a sprint that runs can be closed: ", See::Sprints];
            return Err(Error::refused(format!("the sprint `{id}` is {status}"), hint));
        }
    }
    plan::add_up(sprint, &stories);
    sprint[Sprint::status] = json!(SprintStatus::Completed);
    sprint[Sprint::velocity] = sprint[Sprint::completed_points].clone();
    let sprint = sprint.clone();
    if sprints.value[Sprints::current_sprint] == *id {
        sprints.value[Sprints::current_sprint] = Value::Null;
    }
    commit(tx, sprints, sprint, "sprint close", actor)
}

/// Tells how the sprint that is named goes, else the current one.
pub fn report(engine: &dyn Engine, project: &Project, id: Option<&Key>, now: Timestamp) -> Result<Report> {
    let sprints = engine.read(&project.sprints())?.map(|sprints| sprints.value).unwrap_or_default();
    let epics = engine.read(&project.epics())?.map(|epics| epics.value).unwrap_or_default();
    let id = pick(&sprints, id)?;
    let all = items(project.sprints().kind, &sprints);
    let (found, others): (Vec<&Value>, Vec<&Value>) = all.into_iter().partition(|sprint| is(sprint, &id));
    let sprint = found.first().ok_or_else(|| no_sprint(&id))?;
    let epics = items(project.epics().kind, &epics).into_iter();
    let stories = plan::stories_of(sprint, &epics.flat_map(plan::stories).collect::<Vec<_>>());
    Ok(Report::of(sprint, &others, &stories, plan::day_of(now)))
}

/// Takes the sprints in hand, at the revision that is expected.
fn open(tx: &mut PlanTransaction<'_>, expect: Option<u64>) -> Result<Sheet> {
    let doc = tx.project.sprints();
    Target::whole(&doc, expect).expect_revision(&mut *tx.transaction)?;
    Sheet::open(&mut *tx.transaction, doc, tx.now)
}

fn commit(
    tx: PlanTransaction<'_>,
    sprints: Sheet,
    sprint: Value,
    op: &str,
    actor: &Actor,
) -> Result<PlanChanged> {
    let mut transaction = tx.transaction;
    let changed = sprints.put(&mut *transaction)?;
    let warnings = transaction.commit(&actor.entry(op))?.warnings;
    Ok(PlanChanged { value: sprint, task: None, changed, warnings })
}

/// Returns the sprint that is named, else the current one, else the one that runs.
fn pick(sprints: &Value, id: Option<&Key>) -> Result<String> {
    let named = id.map(ToString::to_string);
    let current = || sprints.text(Sprints::current_sprint).map(str::to_owned);
    let active = || {
        let sprints = sprints.list(Sprints::sprints).iter();
        let mut active = sprints.filter(|sprint| is_active(sprint));
        active.next().and_then(|sprint| sprint.text(Sprint::id).map(str::to_owned))
    };
    named.or_else(current).or_else(active).ok_or_else(|| {
        Error::missing(
            "no sprint is active",
            hint!["start one: ", Next::StartSprint, "\nor name one: ", See::Sprints],
        )
    })
}

fn is_active(sprint: &Value) -> bool {
    plan::status(sprint) == Some(SprintStatus::Active)
}

fn no_sprint(id: &str) -> Error {
    Error::missing(format!("there is no sprint `{id}`"), hint!["see them: ", See::Sprints])
}
