//! Plans as rows for tables. Texts are one line each; what else stands in them the caller escapes.

use serde_json::{Value, json};

use super::graph::one_line;
use crate::model::documents::state::{Epic, Member, Sprint, Story, Team, Tool};
use crate::model::key::{Fields, Held, Key, Text};
use crate::model::plan::{self, PlanStatus};

/// Returns a row for each epic: how many of its stories and points are done.
pub fn epics(epics: &[Value]) -> Value {
    let row = |epic: &Value| {
        let counted = |story: &&Value| plan::standing(story) != PlanStatus::Cancelled;
        let stories: Vec<_> = plan::stories(epic).iter().filter(counted).collect();
        let done = stories.iter().filter(|story| plan::standing(story) == PlanStatus::Completed).count();
        let points = plan::points(stories.iter().copied());
        json!({
            "id": text(epic, Epic::id), "status": text(epic, Epic::status), "priority": text(epic, Epic::priority),
            "stories": format!("{done}/{}", stories.len()),
            "points": format!("{}/{}", plan::number(points.done), plan::number(points.total)),
            "title": text(epic, Epic::title),
        })
    };
    epics.iter().map(row).collect()
}

/// Returns a row for each story.
pub fn stories<'v>(stories: impl IntoIterator<Item = &'v Value>) -> Value {
    let row = |story: &'v Value| {
        json!({
            "id": text(story, Story::id), "status": text(story, Story::status), "assigned_to": text(story, Story::assigned_to),
            "points": story.at(Story::points).cloned().unwrap_or_default(),
            "needs": plan::texts(story, Story::required_capabilities).join(", "),
            "title": text(story, Story::title),
        })
    };
    stories.into_iter().map(row).collect()
}

/// Returns a row for each sprint.
pub fn sprints(sprints: &[Value]) -> Value {
    let row = |sprint: &Value| {
        let figure = |key| plan::number(plan::figure(sprint, key).unwrap_or_default());
        json!({
            "id": text(sprint, Sprint::id), "status": text(sprint, Sprint::status),
            "from": text(sprint, Sprint::start_date), "to": text(sprint, Sprint::end_date),
            "points": format!("{}/{}", figure(Sprint::completed_points), figure(Sprint::total_points)),
            "name": text(sprint, Sprint::name),
        })
    };
    sprints.iter().map(row).collect()
}

/// Returns a row for each tool.
pub fn tools(tools: &[Value]) -> Value {
    let row = |tool: &Value| {
        json!({
            Tool::id: text(tool, Tool::id), Tool::priority: text(tool, Tool::priority),
            Tool::max_instances: tool.at(Tool::max_instances).cloned().unwrap_or_default(),
            Tool::capabilities: one_line(&plan::texts(tool, Tool::capabilities).join(", ")),
            Tool::name: text(tool, Tool::name),
        })
    };
    tools.iter().map(row).collect()
}

/// Returns a row for each member of a team, with the number of its open stories.
pub fn members(team: &Value, open_stories: &[usize]) -> Value {
    let members = team.list(Team::members).iter();
    let row = |(member, open): (&Value, &usize)| {
        json!({
            "agent": text(member, Member::agent), "role": text(member, Member::role), "open_stories": open,
            "capacity": member.at(Member::capacity).cloned().unwrap_or_default(),
            "skills": one_line(&plan::texts(member, Member::skills).join(", ")),
            "model": text(member, Member::model),
        })
    };
    members.zip(open_stories).map(row).collect()
}

/// Returns a text field on one line.
pub fn text<T: Held<Kind: Text>>(item: &Value, key: Key<T>) -> String {
    one_line(item.text(key).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epic_counts_what_counts() {
        let epic = json!({"id": "e", "title": "two\nlines", "status": "in_progress", "stories": [
            {"id": "a", "points": 3, "status": "completed"}, {"id": "b", "points": 5},
            {"id": "c", "points": 8, "status": "cancelled"}]});
        let row = &epics(&[epic, json!({"id": "f"})]);
        assert_eq!((&row[0]["stories"], &row[0]["points"]), (&json!("1/2"), &json!("3/8")));
        assert_eq!(row[0]["title"], "two lines");
        assert_eq!(row[1]["stories"], "0/0");
    }
}
