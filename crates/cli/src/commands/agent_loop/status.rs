use anthill_core::api::agent_loop::ShowLoop;
use anthill_core::model::agent_loop::{COMPLETE, PAUSED, STOPPED, WorkLoop, is_open};
use anthill_core::model::next::Next;
use anthill_core::view;
use anthill_live::gates::{Gate, Gates, Run, Source, config, consent};
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::project_gates;
use crate::sentence::{shorten, text};

/// Show the loop: how far it is, its gates, its items
///
/// Examples:
///   anthill loop status
///   anthill loop status --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {}

pub fn run(context: &Context<'_>) -> Result<()> {
    context.perform(ShowLoop {}, |work| tell(context, work))
}

fn tell(context: &Context<'_>, work: &WorkLoop) -> Result<()> {
    let (root, gates) = project_gates::find(context)?;
    let mut lines = head(work);
    lines.extend(gate_lines(work, &gates));
    let items = view::agent_loop::items(&work.queue, &context.actor.clock.moment());
    lines.push(if items.is_empty() { "items: none".into() } else { "items".into() });
    lines.extend(items.iter().map(|item| format!("  {item}")));
    context.output.print(&lines.join("\n"))?;
    let waiting = consent::missing(&*context.engine, &root, &gates.list)?;
    if !waiting.is_empty() {
        let names: Vec<&str> = waiting.iter().map(|waiting| waiting.gate.name.as_str()).collect();
        let names = names.join(", ");
        context.output.status(&format!(
            "not trusted, so not run: {names}; let them run: {}",
            context.actor.door.say(&Next::TrustProject)
        ));
    }
    context.output.status(&format!("next: {}", next(work, &gates)));
    Ok(())
}

fn head(work: &WorkLoop) -> Vec<String> {
    let status = view::agent_loop::status(&work.queue);
    let passes = work.queue.get("consecutive_passes").and_then(Value::as_u64).unwrap_or(0);
    let task = shorten(&work.task().replace(['\n', '\r', '\t'], " "), 200);
    let mut lines = vec![
        task,
        format!(
            "{status}, iteration {} of {}, {passes} passed in a row",
            work.iteration(),
            work.max_iterations()
        ),
    ];
    if let Some(facts) = work.phase() {
        let name = text(&work.queue, "phase");
        lines.push(format!("{} {name}: {}", facts.number, facts.work).trim().to_owned());
    }
    if [PAUSED, STOPPED].contains(&work.status()) {
        lines.push(format!("{}: {}", work.status(), work.reason()));
    }
    lines
}

/// Returns a line for each gate that is configured or detected, and for each other one that has a result.
fn gate_lines(work: &WorkLoop, gates: &Gates) -> Vec<String> {
    let source = match gates.source {
        Source::Config => format!("from {}", config::FILE),
        Source::Detected => "detected".into(),
    };
    let result = |name: &str| match work.gate(name) {
        None => "not run yet".into(),
        Some(result) => {
            let status = text(result, "status").to_uppercase();
            let issues = view::agent_loop::issues(result);
            let count = if ["0", "-"].contains(&&*issues) { String::new() } else { format!(" {issues}") };
            format!("{status}{count}")
        }
    };
    let shown = |gate: &Gate| format!("  {}: {}  {}", gate.name, result(gate.name.as_str()), command(gate));
    let known = gates.list.iter().map(shown);
    let results = work.queue.get("gate_results").and_then(Value::as_object).into_iter().flatten();
    let others = results.filter(|(name, _)| gates.find(name).is_none());
    let others = others.map(|(name, _)| format!("  {name}: {}", result(name)));
    let lines: Vec<String> = known.chain(others).collect();
    match gates.list.is_empty() {
        true => std::iter::once("gates: none configured, none detected".into()).chain(lines).collect(),
        false => std::iter::once(format!("gates ({source})")).chain(lines).collect(),
    }
}

fn command(gate: &Gate) -> String {
    match &gate.run {
        Run::Line(line) => shorten(&line.replace(['\n', '\r', '\t'], " "), 100),
        Run::Command(words) => words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
    }
}

fn next(work: &WorkLoop, gates: &Gates) -> String {
    match work.status() {
        STOPPED => return "anthill loop start --max-iterations N, or anthill loop reset".into(),
        COMPLETE => {
            return "anthill loop start TASK, or for more work of this one anthill loop add TITLE".into();
        }
        _ => {}
    }
    match (work.items().iter().any(is_open), gates.list.is_empty()) {
        (true, _) => "anthill loop take".into(),
        (false, false) => "anthill loop gate --all".into(),
        (false, true) => "anthill loop add-gate test -- COMMAND".into(),
    }
}
