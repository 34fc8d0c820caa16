//! The plan of a project: epics, stories, sprints, team; and the register of tools, which all projects share.

use std::marker::PhantomData;

use super::documents::{self, Select};
use super::request::{Amount, Chosen, Day, request};
use super::{Answer, Caller, Request, Stored, answers};
use crate::model::documents::answers::SprintReport;
use crate::model::documents::state::{Epic, Member, SessionTask, Sprint, Story, Team, Tool};
use crate::model::hint::Hint;
use crate::model::ids::{Key, ProjectId, SessionId};
use crate::model::kind::Kind;
use crate::model::plan::{PlanStatus, Report, SessionTaskStatus, texts, word};
use crate::model::room::Room;
use crate::model::shape::{Shape, Shaped};
use crate::ops::planning::assign::{self, Assignment, ForSession};
use crate::ops::planning::epics::{self, NewEpic};
use crate::ops::planning::sprints::{self, NewSprint};
use crate::ops::planning::stories::{self, Filter, NewStory};
use crate::ops::planning::tasks::{self, TaskChange};
use crate::ops::planning::tools::{self, MemberFacts, TeamView, ToolFacts};
use crate::ops::planning::{PlanChanged, Project};
use crate::ops::{Error, Result};
use crate::view::burndown;

/// What was done to a thing of the plan, which `T` says how it looks.
#[derive(Debug)]
pub struct Planned<T> {
    pub done: PlanChanged,
    looks: PhantomData<fn() -> T>,
}

impl<T> From<PlanChanged> for Planned<T> {
    fn from(done: PlanChanged) -> Planned<T> {
        Planned { done, looks: PhantomData }
    }
}

impl<T: Shaped> Answer for Planned<T> {
    const SHAPE: &'static Shape = T::SHAPE;

    fn json(&self) -> std::borrow::Cow<'_, serde_json::Value> {
        std::borrow::Cow::Borrowed(&self.done.value)
    }

    fn warnings(&self) -> &[Hint] {
        &self.done.warnings
    }
}

/// Returns whose plan is meant.
pub fn project(caller: &Caller<'_>, told: Option<&ProjectId>) -> Result<Project> {
    let epics = Kind::find("epics").expect("epics is a kind");
    documents::project(caller, epics, told).map(Project)
}

request!(
    /// Add an epic to a project's plan. With an id of your own the request may be repeated safely.
    AddEpic("epic.add", Changes, "epic add", r#"{"title": "Sign-in"}"#) {
        /// What it is about.
        title: String,
        /// The epic's id; the next free one unless told.
        id: Option<Chosen<Key>>,
        /// critical, high, normal or low; normal unless told.
        priority: Option<String>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for AddEpic {
    type Answer = Planned<Epic>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Epic>> {
        let new = NewEpic {
            id: self.id.map(|Chosen(id)| id),
            title: caller.told(self.title),
            priority: self.priority,
        };
        let project = project(caller, self.project_id.as_ref())?;
        Ok(epics::add(caller.engine, &project, &new, self.expect_revision, caller.actor)?.into())
    }
}

request!(
    /// List the epics of a project.
    ListEpics("epic.list", Reads, "epic list", r#"{"status": "pending"}"#) {
        /// Only epics with this status.
        status: Option<PlanStatus>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

impl Request for ListEpics {
    type Answer = Stored<Vec<Epic>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Epic>>> {
        let project = project(caller, self.project_id.as_ref())?;
        epics::list(caller.engine, &project, self.status).map(Stored::new)
    }
}

request!(
    /// Show an epic with its stories.
    ShowEpic("epic.show", Reads, "epic show", r#"{"epic": "epic-001"}"#) {
        /// The epic.
        epic: Key,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

impl Request for ShowEpic {
    type Answer = Stored<Epic>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Epic>> {
        let project = project(caller, self.project_id.as_ref())?;
        epics::show(caller.engine, &project, &self.epic).map(Stored::new)
    }
}

request!(
    /// Add a story to an epic.
    AddStory("story.add", Changes, "story add", r#"{"epic": "epic-001", "title": "The form", "points": 3}"#) {
        /// The epic that it belongs to.
        epic: Key,
        /// What is to be done.
        title: String,
        /// The story's id; the next free one unless told.
        id: Option<Chosen<Key>>,
        /// How much work it is.
        points: Option<Amount>,
        /// Capabilities that a tool must have to be given the story.
        needs: Vec<String>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for AddStory {
    type Answer = Planned<Story>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Story>> {
        let new = NewStory {
            id: self.id.map(|Chosen(id)| id),
            epic: self.epic,
            title: caller.told(self.title),
            points: self.points.map(Amount::get),
            needs: self.needs,
        };
        let project = project(caller, self.project_id.as_ref())?;
        Ok(stories::add(caller.engine, &project, &new, self.expect_revision, caller.actor)?.into())
    }
}

request!(
    /// List the stories of a project.
    ListStories("story.list", Reads, "story list", r#"{"unassigned": true}"#) {
        /// Only stories with this status.
        status: Option<PlanStatus>,
        /// Only stories that nobody has.
        unassigned: bool,
        /// Only stories of this epic.
        epic: Option<Key>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

impl Request for ListStories {
    type Answer = Stored<Vec<Story>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Story>>> {
        let status = self.status.map(word);
        let filter =
            Filter { status: status.as_deref(), unassigned: self.unassigned, epic: self.epic.as_ref() };
        let project = project(caller, self.project_id.as_ref())?;
        stories::list_of(caller.engine, &project, &filter).map(Stored::new)
    }
}

request!(
    /// Give a story to a member of the team or a tool, and make a task of it for a session.
    AssignStory("story.assign", Changes, "story assign", r#"{"story": "story-001", "agent": "frontend"}"#) {
        /// The story.
        story: Key,
        /// Who is to do it.
        agent: Key,
        /// The session that gets the task; the caller's own, if it is registered, unless told.
        to_session: Option<SessionId>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for AssignStory {
    type Answer = Planned<Story>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Story>> {
        let acting = || caller.session().map(ForSession::Acting);
        let session = self.to_session.map(ForSession::Named).or_else(acting);
        let asked = Assignment { story: self.story, agent: self.agent, session };
        let project = project(caller, self.project_id.as_ref())?;
        Ok(assign::assign(caller.engine, &project, &asked, self.expect_revision, caller.actor)?.into())
    }
}

request!(
    /// Say how far a story is; its epic and its sprint follow.
    SetStoryStatus("story.status", Changes, "story status", r#"{"story": "story-001", "status": "completed"}"#) {
        /// The story.
        story: Key,
        /// Where it stands now.
        status: PlanStatus,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for SetStoryStatus {
    type Answer = Planned<Story>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Story>> {
        let (project, expect) = (project(caller, self.project_id.as_ref())?, self.expect_revision);
        let done =
            stories::set_status(caller.engine, &project, &self.story, self.status, expect, caller.actor)?;
        Ok(done.into())
    }
}

request!(
    /// Start a sprint; one runs at a time.
    StartSprint("sprint.start", Changes, "sprint start", r#"{"name": "First", "stories": ["story-001"]}"#) {
        /// What it is called.
        name: String,
        /// The sprint's id; the next free one unless told.
        id: Option<Chosen<Key>>,
        /// Stories that it is to complete.
        stories: Vec<Key>,
        /// Its first day, such as 2026-01-15; today unless told.
        start_date: Option<Day>,
        /// Its last day; 14 days after the first unless told.
        end_date: Option<Day>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for StartSprint {
    type Answer = Planned<Sprint>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Sprint>> {
        let new = NewSprint {
            id: self.id.map(|Chosen(id)| id),
            name: self.name,
            stories: self.stories,
            start: self.start_date.map(|Day(date)| date),
            end: self.end_date.map(|Day(date)| date),
        };
        let project = project(caller, self.project_id.as_ref())?;
        Ok(sprints::start(caller.engine, &project, &new, self.expect_revision, caller.actor)?.into())
    }
}

request!(
    /// Show how a sprint stands: stories, points, burndown.
    ShowSprint("sprint.status", Reads, "sprint status", "{}") {
        /// The sprint; the current one unless told.
        sprint: Option<Key>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

/// How a sprint stands.
#[derive(Debug)]
pub struct SprintStanding {
    pub report: Report,
    warnings: Vec<Hint>,
}

answers! {
    SprintStanding: SprintReport, standing => burndown::json(&standing.report), warns &standing.warnings;
    TeamView: Team, view => &view.team;
}

impl Request for ShowSprint {
    type Answer = SprintStanding;

    fn perform(self, caller: &Caller<'_>) -> Result<SprintStanding> {
        let project = project(caller, self.project_id.as_ref())?;
        let report = sprints::report(caller.engine, &project, self.sprint.as_ref(), caller.actor.now())?;
        let is_known = |id: &str| report.stories.iter().any(|story| story[Story::id] == id);
        let unknown = texts(&report.sprint, Sprint::stories).into_iter().filter(|id| !is_known(id));
        let warnings = unknown
            .map(|id| format!("the story `{id}` of this sprint is in no epic; it counts no points").into())
            .collect();
        Ok(SprintStanding { report, warnings })
    }
}

request!(
    /// Close a sprint and note its velocity.
    CloseSprint("sprint.close", Changes, "sprint close", "{}") {
        /// The sprint; the current one unless told.
        sprint: Option<Key>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for CloseSprint {
    type Answer = Planned<Sprint>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Sprint>> {
        let project = project(caller, self.project_id.as_ref())?;
        let (sprint, expect) = (self.sprint.as_ref(), self.expect_revision);
        Ok(sprints::close(caller.engine, &project, sprint, expect, caller.actor)?.into())
    }
}

request!(
    /// Register a tool that work can be given to, or change what is known of it.
    RegisterTool("tool.register", Changes, "tool register", r#"{"tool": "frontend", "capabilities": ["ui"]}"#) {
        /// The tool's id.
        tool: Chosen<Key>,
        /// What people call it; its id unless told.
        name: Option<String>,
        /// What it can do.
        capabilities: Option<Vec<String>>,
        /// How many open stories of a project it may have at once; 1 unless told.
        max_instances: Option<u64>,
        /// critical, high, normal or low; normal unless told.
        priority: Option<String>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for RegisterTool {
    type Answer = Planned<Tool>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Tool>> {
        let Chosen(id) = self.tool;
        let RegisterTool { name, capabilities, max_instances, priority, .. } = self;
        let facts = ToolFacts { id, name, capabilities, max_instances, priority };
        Ok(tools::register(caller.engine, &facts, self.expect_revision, caller.actor)?.into())
    }
}

request!(
    /// List the tools that work can be given to.
    ListTools("tool.list", Reads, "tool list", "{}") {}
);

impl Request for ListTools {
    type Answer = Stored<Vec<Tool>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Tool>>> {
        tools::list(caller.engine).map(Stored::new)
    }
}

request!(
    /// Add somebody to a project's team, or change what is known of them.
    AddMember("team.add", Changes, "team add", r#"{"agent": "frontend", "role": "developer", "capacity": 8}"#) {
        /// The agent's id.
        agent: Chosen<Key>,
        /// What it does in the team.
        role: Option<String>,
        /// How many points it can do in a sprint.
        capacity: Option<Amount>,
        /// What it can do.
        skills: Option<Vec<String>>,
        /// The model that it runs on.
        model: Option<String>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for AddMember {
    type Answer = Planned<Member>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Member>> {
        let project = project(caller, self.project_id.as_ref())?;
        let Chosen(agent) = self.agent;
        let (capacity, expect) = (self.capacity.map(Amount::get), self.expect_revision);
        let AddMember { role, skills, model, .. } = self;
        let facts = MemberFacts { agent, role, capacity, skills, model };
        Ok(tools::add_member(caller.engine, &project, &facts, expect, caller.actor)?.into())
    }
}

request!(
    /// Show a project's team.
    ShowTeam("team.show", Reads, "team show", "{}") {
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

impl Request for ShowTeam {
    type Answer = TeamView;

    fn perform(self, caller: &Caller<'_>) -> Result<TeamView> {
        tools::team(caller.engine, &project(caller, self.project_id.as_ref())?)
    }
}

request!(
    /// Change a task of a session. One that stands for a story takes it along.
    UpdateSessionTask("session.task", Changes, "update-task", r#"{"session_id": "s2", "task": "task-001", "status": "in_progress"}"#) {
        /// Whose task; the caller's own session's unless told.
        session_id: Option<SessionId>,
        /// The task.
        task: Key,
        /// Where it stands now.
        status: Option<SessionTaskStatus>,
        /// Who has it now.
        assigned_to: Option<String>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for UpdateSessionTask {
    type Answer = Planned<SessionTask>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<SessionTask>> {
        let kind = Kind::find("tasks").expect("tasks is a kind");
        let select = Select { session_id: self.session_id, ..Select::of(kind) };
        let Room::Session(session) = select.find(caller)?.room else {
            unreachable!("BUG: tasks are kept by session")
        };
        if self.status.is_none() && self.assigned_to.is_none() {
            return Err(Error::NothingToUpdate);
        }
        let change =
            TaskChange { session, task: self.task, status: self.status, assigned_to: self.assigned_to };
        Ok(tasks::update(caller.engine, &change, self.expect_revision, caller.actor)?.into())
    }
}
