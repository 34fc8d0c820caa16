//! Who can do work: registered tools, shared by all projects, and the members of a project's team.

use serde_json::{Value, json};

use super::epics::PRIORITY;
use super::{PlanChanged, Project, change, check_text, tools_doc};
use crate::hint;
use crate::model::documents::state::{Member, Tool, Tools};
use crate::model::ids::Key;
use crate::model::key::{Fields, FieldsMut, Held, Key as Field};
use crate::model::next::Next;
use crate::model::plan;
use crate::ops::{Actor, Error, Result, read};
use crate::store::Engine;
use crate::store::engine::items;

/// What is said about a tool. What is not said stays as it is, or gets its default.
#[derive(Debug)]
pub struct ToolFacts {
    pub id: Key,
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub max_instances: Option<u64>,
    pub priority: Option<String>,
}

/// Registers a tool, or changes what is said of it.
pub fn register(
    engine: &dyn Engine,
    new: &ToolFacts,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    new.name.iter().try_for_each(|name| check_text("name", name))?;
    new.priority.iter().try_for_each(|priority| check_text("priority", priority))?;
    new.capabilities.iter().flatten().try_for_each(|text| check_text("capability", text))?;
    let id = new.id.as_str();
    change(engine, &tools_doc(), expect, ("tool register", actor), |tools, _| {
        let default = || {
            json!({
                Tool::id: id, Tool::name: id, Tool::capabilities: [], Tool::max_instances: 1,
                Tool::priority: PRIORITY,
            })
        };
        let tool = match tools.value[Tools::tools].as_object_mut() {
            Some(map) => map.entry(id).or_insert_with(default),
            None => unreachable!("BUG: tools are a map in every valid document"),
        };
        say(tool, Tool::name, new.name.as_deref().map(Value::from));
        say(tool, Tool::capabilities, new.capabilities.as_ref().map(|list| json!(list)));
        say(tool, Tool::max_instances, new.max_instances.map(Value::from));
        say(tool, Tool::priority, new.priority.as_deref().map(Value::from));
        Ok(tool.clone())
    })
}

/// Returns the registered tools.
pub fn list(engine: &dyn Engine) -> Result<Vec<Value>> {
    read::list(engine, &tools_doc(), None)
}

/// What is said about a member of a team. What is not said stays as it is.
#[derive(Debug)]
pub struct MemberFacts {
    pub agent: Key,
    pub role: Option<String>,
    pub capacity: Option<f64>,
    pub skills: Option<Vec<String>>,
    pub model: Option<String>,
}

/// Adds a member to a team, or changes what is said of it.
pub fn add_member(
    engine: &dyn Engine,
    project: &Project,
    new: &MemberFacts,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PlanChanged> {
    new.role.iter().try_for_each(|role| check_text("role", role))?;
    new.model.iter().try_for_each(|model| check_text("model", model))?;
    new.skills.iter().flatten().try_for_each(|text| check_text("skill", text))?;
    if new.capacity.is_some_and(|capacity| !capacity.is_finite() || capacity < 0.0) {
        return Err(Error::Input("the capacity is a number, 0 or more".into()));
    }
    let agent = new.agent.as_str();
    change(engine, &project.team(), expect, ("team add", actor), |team, _| {
        let members = team.items();
        let place = members.iter().position(|member| member[Member::agent] == agent).unwrap_or_else(|| {
            members.push(json!({ Member::agent: agent }));
            members.len() - 1
        });
        let member = &mut members[place];
        say(member, Member::role, new.role.as_deref().map(Value::from));
        say(member, Member::capacity, new.capacity.map(plan::number));
        say(member, Member::skills, new.skills.as_ref().map(|list| json!(list)));
        say(member, Member::model, new.model.as_deref().map(Value::from));
        Ok(member.clone())
    })
}

/// A team, and how many open stories each member has.
#[derive(Debug)]
pub struct TeamView {
    /// As it is stored.
    pub team: Value,
    /// In the order of the members.
    pub open_stories: Vec<usize>,
}

/// Returns a project's team.
pub fn team(engine: &dyn Engine, project: &Project) -> Result<TeamView> {
    let none = || {
        let message = format!("the project `{}` has no team yet", project.0);
        Error::missing(message, hint!["add somebody: ", Next::AddMember(None)])
    };
    let team = engine.read(&project.team())?.ok_or_else(none)?.value;
    let epics = engine.read(&project.epics())?.map(|epics| epics.value).unwrap_or_default();
    let stories: Vec<_> = items(project.epics().kind, &epics).into_iter().flat_map(plan::stories).collect();
    let load = |member: &&Value| {
        let has =
            |story: &&&Value| plan::is_open(story) && plan::assignee(story) == member.text(Member::agent);
        stories.iter().filter(has).count()
    };
    let open_stories = items(project.team().kind, &team).iter().map(load).collect();
    Ok(TeamView { team, open_stories })
}

fn say<T: Held>(item: &mut Value, key: Field<T>, value: Option<Value>) {
    if let Some(value) = value {
        item.set(key, value);
    }
}
