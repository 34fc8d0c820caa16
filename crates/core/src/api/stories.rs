//! Stories that change and become tasks, sprints that are planned ahead.

use super::planning::{Planned, project};
use super::request::{Amount, Chosen, Day, request};
use super::{Caller, Request, Stored};
use crate::model::documents::queue::QueueTask;
use crate::model::documents::state::{Sprint, Story};
use crate::model::ids::{Key, ProjectId};
use crate::model::plan::{PlanStatus, SprintStatus};
use crate::ops::Result;
use crate::ops::planning::queue;
use crate::ops::planning::sprints::{self, NewSprint};
use crate::ops::planning::stories::{self, StoryEdit};

request!(
    /// Change a story; its epic and its sprint follow.
    EditStory("story.edit", Changes, "story edit", r#"{"story": "story-001", "points": 5}"#) {
        /// The story.
        story: Key,
        /// What is to be done.
        title: Option<String>,
        /// How much work it is.
        points: Option<Amount>,
        /// Where it stands now.
        status: Option<PlanStatus>,
        /// The epic that it moves to.
        epic: Option<Key>,
        /// Capabilities that a tool must have to be given the story.
        needs: Option<Vec<String>>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for EditStory {
    type Answer = Planned<Story>;

    fn perform(self, caller: &Caller<'_>) -> Result<Planned<Story>> {
        let edit = StoryEdit {
            title: self.title.map(|title| caller.told(title)),
            points: self.points.map(Amount::get),
            status: self.status,
            epic: self.epic,
            needs: self.needs,
        };
        let project = project(caller, self.project_id.as_ref())?;
        Ok(stories::edit(caller.engine, &project, &self.story, &edit, self.expect_revision, caller.actor)?
            .into())
    }
}

request!(
    /// Make a task of the queue of each story. When the tasks of a story are done, the story is completed.
    StoriesToTasks("story.queue", Changes, "story to-task", r#"{"stories": ["story-001"]}"#) {
        /// The stories.
        stories: Vec<Key>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

impl Request for StoriesToTasks {
    type Answer = Stored<Vec<QueueTask>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<QueueTask>>> {
        let project = project(caller, self.project_id.as_ref())?;
        let to_task = |story| queue::to_task(caller.engine, &project, story, caller.actor);
        self.stories.iter().map(to_task).collect::<Result<Vec<_>>>().map(Stored::new)
    }
}

request!(
    /// Plan a sprint that is started later.
    AddSprint("sprint.add", Changes, "sprint add", r#"{"name": "Second", "id": "sprint-002"}"#) {
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

impl Request for AddSprint {
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
        Ok(sprints::add(caller.engine, &project, &new, self.expect_revision, caller.actor)?.into())
    }
}

request!(
    /// List the sprints of a project.
    ListSprints("sprint.list", Reads, "sprint list", "{}") {
        /// Only sprints with this status.
        status: Option<SprintStatus>,
        /// The project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
    }
);

impl Request for ListSprints {
    type Answer = Stored<Vec<Sprint>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Sprint>>> {
        let project = project(caller, self.project_id.as_ref())?;
        sprints::list(caller.engine, &project, self.status).map(Stored::new)
    }
}
