//! Epics: adding and looking at them. Their status follows from their stories.

use serde_json::{Value, json};

use super::{PlanChanged, Project, change, check_text, id_or_next, is, no_epic, other};
use crate::model::documents::state::Epic;
use crate::model::ids::Key;
use crate::model::next::See;
use crate::model::plan::PlanStatus;
use crate::model::{plan, time};
use crate::ops::{Actor, Result, read};
use crate::store::Engine;

/// The priority of what has none.
pub const PRIORITY: &str = "normal";

/// An epic as somebody wants it.
#[derive(Debug)]
pub struct NewEpic {
    pub id: Option<Key>,
    pub title: String,
    pub priority: Option<String>,
}

/// Adds an epic. The same one under the same id is no second one.
pub fn add(
    engine: &dyn Engine,
    project: &Project,
    new: &NewEpic,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    check_text("title", &new.title)?;
    let priority = new.priority.as_deref().unwrap_or(PRIORITY);
    check_text("priority", priority)?;
    change(engine, &project.epics(), expect, ("epic add", actor), |epics, now| {
        let id = id_or_next(new.id.as_ref(), "epic", &epics.ids());
        if let Some(known) = epics.find(&id) {
            let same = known[Epic::title] == *new.title && known[Epic::priority] == *priority;
            return if same { Ok(known.clone()) } else { Err(other("epic", &id, See::Epic(id.clone()))) };
        }
        let epic = json!({
            Epic::id: id, Epic::title: new.title, Epic::status: "pending", Epic::priority: priority,
            Epic::created_at: time::stamp(now), Epic::stories: [],
        });
        epics.items().push(epic.clone());
        Ok(epic)
    })
}

/// Returns the epics with this status, or all.
pub fn list(engine: &dyn Engine, project: &Project, status: Option<PlanStatus>) -> Result<Vec<Value>> {
    read::list(engine, &project.epics(), status.map(plan::word).as_deref())
}

/// Returns one epic with its stories.
pub fn show(engine: &dyn Engine, project: &Project, id: &Key) -> Result<Value> {
    let epics = list(engine, project, None)?;
    epics.into_iter().find(|epic| is(epic, id.as_str())).ok_or_else(|| no_epic(id))
}
