//! A workflow for people (the Markdown view, the terminal) and for the lists that agents keep.

use serde_json::{Value, json};

use super::graph::{cut, field, list, one_line};
use super::text::escape;
use crate::model::changes::NO_CHANGE;
use crate::model::documents::queue::Changes;
use crate::model::documents::workflow::{Phase, PlannedPhase, Wave, Workflow};
use crate::model::flow::{Flow, PhaseOutcome, WorkflowStatus, outcome, reason, standing};
use crate::model::key::Fields;
use crate::model::plan::word;

/// Returns `workflow_state_system.md`. Whatever the texts contain, they stay on their lines.
pub fn markdown(flow: &Flow) -> String {
    let mut text = format!(
        "# Workflow Status: {}\n\nStatus: {} | Current Phase: {}\n\n## Phases\n\n",
        line(field(&flow.workflow, Workflow::task)),
        word(flow.status()),
        current_titles(flow),
    );
    for (number, phase) in flow.phases().iter().enumerate() {
        let done = if standing(phase) == WorkflowStatus::Completed { "x" } else { " " };
        let deliverables =
            list(phase, Phase::deliverables).into_iter().map(line).collect::<Vec<_>>().join(", ");
        let arrow = if deliverables.is_empty() { "" } else { " → " };
        let (open, assumed) = match remark(phase) {
            Some(ASSUMED) => (String::new(), " (assumed: its agent did not say so)"),
            Some(remark) => (format!(" ({remark})"), ""),
            None => (String::new(), ""),
        };
        let title = line(title(phase));
        let hollow = if is_hollow(flow, phase) { format!(" ({NO_CHANGE})") } else { String::new() };
        text += &format!("- [{done}] Phase {number}: {title}{open}{arrow}{deliverables}{assumed}{hollow}\n");
        if !open.is_empty() && !reason(phase).is_empty() {
            text += &format!("  - why: {}\n", line(&cut(reason(phase), 400)));
        }
    }
    text
}

/// Whether a phase is done although it names files and nothing changed at all.
fn is_hollow(flow: &Flow, phase: &Value) -> bool {
    standing(phase) == WorkflowStatus::Completed
        && flow.names_files(field(phase, Phase::id))
        && phase.at(Phase::changed).at(Changes::count) == Some(&json!(0))
}

/// Tells what git saw change while agents worked on a phase, if it looked.
fn changed(phase: &Value) -> Option<String> {
    let changed = phase.at(Phase::changed)?;
    let (files, count) = (list(changed, PlannedPhase::files), changed.read(Changes::count)?);
    let more = count.saturating_sub(files.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(if count == 0 { "no change".into() } else { format!("{}{more}", files.join(", ")) })
}

const FAILED: &str = "failed";
const UNCLEAR: &str = "unclear";
const ASSUMED: &str = "assumed";

/// Returns what has to be said of a phase beside whether it is done.
fn remark(phase: &Value) -> Option<&'static str> {
    match (standing(phase), outcome(phase)) {
        (WorkflowStatus::Failed, _) => Some(FAILED),
        (WorkflowStatus::Completed, Some(PhaseOutcome::Assumed)) => Some(ASSUMED),
        (WorkflowStatus::Active, Some(PhaseOutcome::Unclear)) => Some(UNCLEAR),
        _ => None,
    }
}

/// Returns the titles of the phases that run; of the one that failed, if none does.
fn current_titles(flow: &Flow) -> String {
    let running = flow.phases().iter().filter(|phase| standing(phase) == WorkflowStatus::Active);
    let mut titles: Vec<String> = running.map(|phase| line(title(phase))).collect();
    if titles.is_empty() {
        let current = field(&flow.workflow, Workflow::current_phase);
        let phase =
            flow.phases().iter().find(|phase| !current.is_empty() && field(phase, Phase::id) == current);
        titles.extend(phase.map(|phase| line(title(phase))));
    }
    if titles.is_empty() { "none".into() } else { titles.join(", ") }
}

/// Returns the workflow as a person reads it in a terminal.
pub fn shown(flow: &Flow) -> Vec<String> {
    let task = cut(&one_line(field(&flow.workflow, Workflow::task)), 200);
    let mut lines = vec![format!("{} ({}) {task}", one_line(flow.id()), word(flow.status()))];
    for phase in flow.phases() {
        lines.push(format!("  {}", phase_line(phase)));
        let more = [
            ("from before", Phase::context_from_previous),
            ("for the next", Phase::context_for_next),
            ("why", Phase::reason),
        ];
        let sure = remark(phase).and_then(|remark| match remark {
            ASSUMED => Some((ASSUMED, "its agent did not say that it is done")),
            UNCLEAR => Some((UNCLEAR, "its agent has ended without saying that it is done")),
            _ => None,
        });
        let deliverables = list(phase, Phase::deliverables).into_iter().map(|text| ("made", text));
        let said = more.into_iter().map(|(label, key)| (label, field(phase, key)));
        let changed = changed(phase);
        let changed = changed.as_deref().map(|files| ("git saw", files));
        let told = sure.into_iter().chain(deliverables).chain(changed).chain(said);
        for (label, text) in told.filter(|(_, text)| !text.is_empty()) {
            lines.push(format!("        {label}: {}", cut(&one_line(text), 120)));
        }
    }
    lines
}

/// Returns the waves with their phases.
pub fn waves(flow: &Flow) -> Vec<String> {
    let mut lines = Vec::new();
    for wave in flow.waves() {
        let planned = wave.list(Wave::phases);
        let at_once = if planned.len() > 1 { " (side by side)" } else { "" };
        lines.push(format!("wave {}{at_once}", wave.at(Wave::wave_id).cloned().unwrap_or_default()));
        for planned in planned {
            let id = field(planned, PlannedPhase::phase_id);
            let phase = flow.phases().iter().find(|phase| field(phase, Phase::id) == id);
            let after = flow.depends_on(id).join(", ");
            let after = if after.is_empty() { after } else { format!("  after {}", one_line(&after)) };
            lines.push(format!("  {}{after}", phase.map_or_else(|| one_line(id), phase_line)));
        }
    }
    lines
}

fn phase_line(phase: &Value) -> String {
    let mark = match standing(phase) {
        WorkflowStatus::Pending => ' ',
        WorkflowStatus::Active if remark(phase) == Some(UNCLEAR) => '?',
        WorkflowStatus::Active => '>',
        WorkflowStatus::Completed => 'x',
        WorkflowStatus::Failed => '!',
    };
    let (id, title, agent) = (field(phase, Phase::id), title(phase), field(phase, Phase::agent));
    let agent = if agent.is_empty() { String::new() } else { format!(" ({})", cut(&one_line(agent), 60)) };
    format!("[{mark}] {}  {}{agent}", one_line(id), cut(&one_line(title), 100))
}

/// Returns the input of the tool `TodoWrite`.
pub fn todos(flow: &Flow) -> Value {
    let todo = |phase: &Value| json!({"content": entry(phase), "status": todo_status(phase), "activeForm": active_form(phase)});
    json!({"todos": flow.phases().iter().map(todo).collect::<Vec<_>>()})
}

/// Returns the inputs of the tools `TaskCreate` and `TaskUpdate`, in the order of the phases. A task's id is known only
/// after it was made; here it is its number, as in a list that was empty before.
pub fn tasks(flow: &Flow) -> Value {
    let place = |id: &str| flow.phases().iter().position(|phase| field(phase, Phase::id) == id);
    let create = |phase: &Value| {
        json!({
            "subject": entry(phase), "description": description(phase), "activeForm": active_form(phase),
            "metadata": {"workflow_id": flow.id(), "phase_id": field(phase, Phase::id)},
        })
    };
    let update = |(number, phase): (usize, &Value)| {
        let before = flow.depends_on(field(phase, Phase::id)).into_iter().filter_map(place);
        let before: Vec<String> = before.map(|place| (place + 1).to_string()).collect();
        let mut update = json!({"taskId": (number + 1).to_string(), "status": todo_status(phase)});
        if !before.is_empty() {
            update["addBlockedBy"] = json!(before);
        }
        update
    };
    json!({
        "TaskCreate": flow.phases().iter().map(create).collect::<Vec<_>>(),
        "TaskUpdate": flow.phases().iter().enumerate().map(update).collect::<Vec<_>>(),
    })
}

fn description(phase: &Value) -> String {
    let agent = field(phase, Phase::agent);
    let agent = if agent.is_empty() { String::new() } else { format!("\n\nAgent: {agent}") };
    let context = field(phase, Phase::context_from_previous);
    let context = if context.is_empty() { String::new() } else { format!("\n\nContext: {context}") };
    format!("{}{agent}{context}", title(phase))
}

/// Returns what an entry of a list says: a title, and how sure it is that it is done.
fn entry(phase: &Value) -> String {
    match remark(phase) {
        Some(remark @ (ASSUMED | UNCLEAR)) => format!("{} ({remark})", title(phase)),
        _ => title(phase).to_owned(),
    }
}

/// What has failed has to be done still: these lists know no failure.
fn todo_status(phase: &Value) -> &'static str {
    match standing(phase) {
        WorkflowStatus::Completed => "completed",
        WorkflowStatus::Active => "in_progress",
        WorkflowStatus::Pending | WorkflowStatus::Failed => "pending",
    }
}

fn active_form(phase: &Value) -> String {
    format!("Working on {}", title(phase))
}

/// Returns a phase's title; one that is blank would be no entry of a list.
fn title(phase: &Value) -> &str {
    let title = field(phase, Phase::title);
    if title.trim().is_empty() { field(phase, Phase::id) } else { title }
}

fn line(text: &str) -> String {
    escape(one_line(text).trim()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(task: &str, phases: &[(&str, &str)]) -> Flow {
        let phase = |(place, (title, status)): (usize, &(&str, &str))| json!({"id": format!("phase_{place}"), "title": title, "agent": "a", "status": status});
        let phases: Vec<_> = phases.iter().enumerate().map(phase).collect();
        Flow::of(
            json!({"id": "wf_1", "task": task, "status": "active", "current_phase": null, "phases": phases}),
            None,
        )
    }

    #[test]
    fn the_view_has_the_form_of_the_template() {
        let mut flow = flow("Build it", &[("Create", "completed"), ("Test", "active"), ("Ship", "pending")]);
        flow.workflow["phases"][0]["deliverables"] = json!(["a.py", "4 functions"]);
        let expected = "# Workflow Status: Build it

Status: active | Current Phase: Test

## Phases

- [x] Phase 0: Create → a.py, 4 functions
- [ ] Phase 1: Test
- [ ] Phase 2: Ship
";
        assert_eq!(markdown(&flow), expected);
        flow.workflow["phases"][1]["status"] = json!("failed");
        flow.workflow["current_phase"] = json!("phase_1");
        assert!(markdown(&flow).contains("Current Phase: Test\n"));
        assert!(markdown(&flow).contains("- [ ] Phase 1: Test (failed)\n"));
    }

    #[test]
    fn texts_stay_on_their_lines_and_steer_no_terminal() {
        let evil = "x\n# Heading\n- [x] done\u{2028}y\x1b[2J\u{202e}z";
        let mut flow = flow(evil, &[(evil, "active"), (evil, "pending")]);
        flow.workflow["phases"][0]["deliverables"] = json!([evil]);
        let text = markdown(&flow);
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(!text.contains(['\x1b', '\u{202e}', '\u{2028}']), "{text}");
        assert!(shown(&flow).iter().chain(&waves(&flow)).all(|line| !line.contains('\n')));
    }

    #[test]
    fn lists_of_agents_know_three_states() {
        let flow = flow("T", &[("A", "completed"), ("B", "failed"), (" ", "active")]);
        let expected = json!({"todos": [
            {"content": "A", "status": "completed", "activeForm": "Working on A"},
            {"content": "B", "status": "pending", "activeForm": "Working on B"},
            {"content": "phase_2", "status": "in_progress", "activeForm": "Working on phase_2"},
        ]});
        assert_eq!(todos(&flow), expected);
        assert_eq!(
            tasks(&flow)["TaskUpdate"][1],
            json!({"taskId": "2", "status": "pending", "addBlockedBy": ["1"]})
        );
        assert_eq!(tasks(&flow)["TaskCreate"][0]["description"], "A\n\nAgent: a");
    }
}
