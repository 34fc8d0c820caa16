//! A run of the pipeline for people and scripts: where it stands, and what a group waits for.

use serde_json::{Value, json};

use super::graph::{cut, field, one_line};
use super::table::Table;
use crate::model::changes::NO_CHANGE;
use crate::model::documents::answers::{ConductorStanding, Explanation, Wait};
use crate::model::documents::dispatch::{Conductor, CostSum, Costs, Escalation, LimitCounts};
use crate::model::documents::pipeline::{
    Group, Iterations, OrchestratorState, PmState, RunStatus, TaskGroup,
};
use crate::model::hint::Door;
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::next::{Input, Next};
use crate::model::pipeline::table;
use crate::model::pipeline::{Caps, NO_GROUP, Obstacle, Pipeline, WITHOUT_RESULTS, list};
use crate::model::plan::word;

/// Returns everything about a run, as it is stored, and whether somebody starts its agents just now.
pub fn status(pipeline: &Pipeline, conducted: bool) -> Value {
    let fields = [
        ("pm_state", pipeline.pm.clone()),
        ("orchestrator_state", pipeline.orchestrator.clone()),
        ("groups", pipeline.groups.clone()),
        ("orders", Value::Array(list(&pipeline.orchestrator, OrchestratorState::orders).to_vec())),
        ("orchestrator", orchestrator(pipeline, conducted)),
        ("missing", pipeline.missing().into()),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn orchestrator(pipeline: &Pipeline, conducted: bool) -> Value {
    let mut orchestrator =
        pipeline.orchestrator.at(OrchestratorState::conductor).cloned().unwrap_or_else(|| json!({}));
    orchestrator.set(ConductorStanding::alive, conducted);
    orchestrator
}

/// Says who starts the agents, or since when nobody does.
fn conductor(pipeline: &Pipeline, conducted: bool, door: &dyn Door) -> Option<String> {
    let conductor = pipeline.orchestrator.at(OrchestratorState::conductor)?;
    let (pid, since, until) =
        (&conductor[Conductor::pid], field(conductor, Conductor::since), field(conductor, Conductor::until));
    let paused = match field(conductor, Conductor::paused) {
        "" => String::new(),
        paused => format!(", {}", one_line(paused)),
    };
    Some(match (conducted, until) {
        (true, _) => format!("orchestrator: at work since {} (pid {pid}){paused}", one_line(since)),
        (false, "") if pipeline.status() == RunStatus::Completed => return None,
        (false, "") => format!(
            "orchestrator: none at work; the last one (pid {pid}, since {}) is gone without a word: {}",
            one_line(since),
            door.say(&Next::ResumeRun)
        ),
        (false, until) => format!("orchestrator: none at work since {}", one_line(until)),
    })
}

/// Returns the lines above the table of groups.
pub fn head(pipeline: &Pipeline, conducted: bool, door: &dyn Door) -> Vec<String> {
    let (pm, orchestrator) = (&pipeline.pm, &pipeline.orchestrator);
    let percent = &pm[PmState::completion_percentage];
    let minutes = &pm[PmState::estimated_time_remaining_minutes];
    let mut lines = vec![
        format!(
            "{} ({}) {}",
            one_line(pipeline.session()),
            pipeline.summary(),
            cut(&one_line(pipeline.requirements()), 200)
        ),
        format!(
            "mode {}, phase {}, {percent} % of the groups complete, about {minutes} minutes left, {} agents started",
            word(pipeline.mode()),
            field(orchestrator, OrchestratorState::current_phase),
            orchestrator[OrchestratorState::total_spawns],
        ),
    ];
    lines.extend(conductor(pipeline, conducted, door));
    for order in pipeline.open_orders() {
        let group =
            if order.group == NO_GROUP { String::new() } else { format!(" of {}", one_line(&order.group)) };
        let stands = if pipeline.is_at_work(&order.id) { "at work" } else { "open" };
        lines.push(format!(
            "{stands}: {}{group} ({}), order {}",
            word(order.role),
            word(order.purpose),
            order.id
        ));
    }
    lines.extend(hollow(pipeline));
    lines.extend(unproven(pipeline));
    lines
}

/// Says which groups were handed over without a change.
fn hollow(pipeline: &Pipeline) -> Vec<String> {
    let groups = pipeline.group_ids().filter(|id| pipeline.is_hollow(id));
    groups.map(|id| format!("group {} was handed over, {NO_CHANGE}", one_line(id))).collect()
}

/// Says which groups passed without results of tests.
fn unproven(pipeline: &Pipeline) -> Vec<String> {
    let reason = |id: &str| {
        let reason = pipeline.entry(id).map_or("", |entry| field(entry, WITHOUT_RESULTS));
        (!reason.is_empty()).then(|| {
            format!("group {} passed without test results: {}", one_line(id), cut(&one_line(reason), 200))
        })
    };
    pipeline.group_ids().filter_map(reason).collect()
}

/// Returns the table of groups.
pub fn table(pipeline: &Pipeline, caps: Caps, door: &dyn Door) -> Value {
    let row = |id: &str| {
        let entry = pipeline.entry(id).cloned().unwrap_or_default();
        let name = pipeline.task_group(id).map_or("", |group| field(group, TaskGroup::name));
        let count = |role| entry.at(Group::iterations).read(role).unwrap_or(0);
        let waits: Vec<String> = pipeline
            .obstacles(id, caps)
            .iter()
            .filter(|obstacle| !matches!(obstacle, Obstacle::Open { .. }))
            .map(|obstacle| door.tell(&obstacle.told()))
            .collect();
        json!({
            "group": one_line(id), "name": cut(&one_line(name), 40), "status": word(pipeline.stage(id)),
            "agent": field(&entry, Group::current_agent),
            "dev/qa/lead": format!("{}/{}/{}", count(Iterations::developer), count(Iterations::qa), count(Iterations::tech_lead)),
            "waits": waits.join("; "),
        })
    };
    pipeline.group_ids().map(row).collect()
}

/// Returns what came of a run, as Markdown.
pub fn report(pipeline: &Pipeline) -> String {
    let (pm, orchestrator) = (&pipeline.pm, &pipeline.orchestrator);
    let times = [
        field(orchestrator, OrchestratorState::start_time),
        field(orchestrator, OrchestratorState::end_time),
    ];
    let request: Vec<String> =
        pipeline.requirements().lines().map(|line| format!("> {}", one_line(line))).collect();
    let mut parts = vec![
        format!("# {}: {}", one_line(pipeline.session()), one_line(&pipeline.summary())),
        request.join("\n"),
        format!("{} to {}", times[0], if times[1].is_empty() { "now" } else { times[1] }),
    ];
    let groups: Vec<Value> = pipeline.group_ids().map(|id| group_row(pipeline, id)).collect();
    if !groups.is_empty() {
        parts.push(format!("## Groups\n\n{}", Table::of(&groups.into()).markdown().trim_end()));
    }
    parts.extend(hollow(pipeline));
    parts.extend(unproven(pipeline));
    let missing = pipeline.missing();
    if !missing.is_empty() {
        let lines: Vec<String> = missing.iter().map(|line| format!("- {}", one_line(line))).collect();
        parts.push(format!("## Missing\n\n{}", lines.join("\n")));
    }
    let idle = orchestrator.at(OrchestratorState::conductor).at(Conductor::idle_seconds);
    parts.extend(idle.map(|idle| format!("Developers idle while a group was ready: {idle} s")));
    if let Some(costs) = orchestrator.at(OrchestratorState::costs) {
        parts.push(format!("## Costs\n\n{}", Table::of(&costs_rows(costs)).markdown().trim_end()));
    }
    let evidence = list(pm, PmState::evidence);
    if !evidence.is_empty() {
        parts.push(format!("## Evidence\n\n{}", Table::of(&evidence.into()).markdown().trim_end()));
    }
    parts.join("\n\n") + "\n"
}

fn group_row(pipeline: &Pipeline, id: &str) -> Value {
    let entry = pipeline.entry(id).cloned().unwrap_or_default();
    let name = pipeline.task_group(id).map_or("", |group| field(group, TaskGroup::name));
    let count = |role| entry.at(Group::iterations).read(role).unwrap_or(0);
    json!({
        "group": one_line(id), "name": cut(&one_line(name), 80), "status": word(pipeline.stage(id)),
        "developers": count(Iterations::developer), "tests": count(Iterations::qa), "tech_lead": count(Iterations::tech_lead),
        "branch": one_line(field(&entry, Group::branch_name)),
    })
}

/// Returns what the run has cost, by role, by group and in all.
fn costs_rows(costs: &Value) -> Value {
    let row = |of: &str, sum: &Value| {
        let figure = |key: Key<Value>| (key.into(), sum.at(key).cloned().unwrap_or_else(|| 0.into()));
        let fields = [
            CostSum::spawns.any(),
            CostSum::failures.any(),
            CostSum::cost_usd.any(),
            CostSum::input_tokens.any(),
            CostSum::output_tokens.any(),
            CostSum::cached_tokens.any(),
        ];
        let of = ("of".to_owned(), Value::from(one_line(of)));
        Value::Object(std::iter::once(of).chain(fields.map(figure)).collect())
    };
    let named = |what, prefix: &str| -> Vec<Value> {
        let sums = costs.read(what).into_iter().flatten();
        sums.map(|(name, sum)| row(&format!("{prefix}{name}"), sum)).collect()
    };
    let mut rows = named(Costs::by_role, "");
    rows.extend(named(Costs::by_group, "group "));
    rows.push(row("all", costs));
    rows.into()
}

/// Returns what a group waits for, and which report would move it.
pub fn explanation(pipeline: &Pipeline, id: &str, caps: Caps, door: &dyn Door) -> Value {
    let obstacles = pipeline.obstacles(id, caps);
    let open = pipeline.open_orders().find(|order| order.group == id);
    let allowed: Vec<String> =
        open.iter().flat_map(|order| table::allowed(order.purpose)).map(word).collect();
    let command = open.as_ref().map(|order| {
        door.say(&Next::Report {
            role: word(order.role),
            group: id.into(),
            order: order.id.clone(),
            from: Input::File,
        })
    });
    let waits: Vec<Value> = obstacles
        .iter()
        .map(|obstacle| json!({Wait::what: obstacle.name(), Wait::detail: door.tell(&obstacle.told())}))
        .collect();
    let counts = json!({
        LimitCounts::developer: pipeline.count_of(id, LimitCounts::developer),
        LimitCounts::qa_failures: pipeline.count_of(id, LimitCounts::qa_failures),
        LimitCounts::rejected_reviews: pipeline.count_of(id, LimitCounts::rejected_reviews),
    });
    json!({
        Explanation::group_id: id, Explanation::status: pipeline.stage(id), Explanation::waits_for: waits,
        Explanation::order: open.map(|order| order.id), Explanation::allowed: allowed,
        Explanation::report: command,
        Explanation::counts: counts,
        Explanation::escalations: pipeline.entry(id).map_or(&[][..], |entry| list(entry, Group::escalations)),
    })
}

/// Returns the same as lines.
pub fn explained(explanation: &Value, door: &dyn Door) -> Vec<String> {
    use crate::model::pipeline::{DEVELOPER_ITERATIONS, QA_FAILURES, REJECTED_REVIEWS};
    let id = one_line(field(explanation, Explanation::group_id));
    let mut lines = vec![format!("{id} is {}", field(explanation, Explanation::status))];
    let waits = list(explanation, Explanation::waits_for);
    lines.extend(waits.iter().map(|wait| format!("  waits: {}", one_line(field(wait, Wait::detail)))));
    let allowed: Vec<&str> =
        list(explanation, Explanation::allowed).iter().filter_map(Value::as_str).collect();
    match field(explanation, Explanation::report) {
        "" if field(explanation, Explanation::status) == "complete" => {
            lines.push("  nothing is left to do".into());
        }
        "" if waits.is_empty() => {
            lines.push(format!("  goes on with: {}", door.say(&Next::AskForOrders)));
        }
        "" => {}
        command => {
            lines.push(format!("  moves with: {}", one_line(command)));
            lines.push(format!("  STATUS: {}", allowed.join(", ")));
        }
    }
    let counts = &explanation[Explanation::counts];
    lines.push(format!(
        "  since the last help: {} of {DEVELOPER_ITERATIONS} developers, {} of {QA_FAILURES} failed tests, {} of {REJECTED_REVIEWS} rejected reviews",
        counts[LimitCounts::developer], counts[LimitCounts::qa_failures], counts[LimitCounts::rejected_reviews]
    ));
    for escalation in list(explanation, Explanation::escalations) {
        let (limit, to, at) = (
            field(escalation, Escalation::limit),
            field(escalation, Escalation::to),
            field(escalation, Escalation::timestamp),
        );
        lines.push(format!(
            "  escalated to {}: {} was {} ({})",
            one_line(to),
            one_line(limit),
            escalation[Escalation::count],
            one_line(at)
        ));
    }
    lines
}
