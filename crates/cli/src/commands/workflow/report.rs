use anthill_core::model::flow::{Flow, WorkflowStatus, standing};
use anthill_core::ops::workflow::WorkflowChanged;
use anthill_core::view::shell;

use crate::context::Context;
use crate::error::Result;
use crate::sentence::{shorten, text};

/// Tells what was done, and what runs now.
pub fn tell(context: &Context<'_>, done: &WorkflowChanged, (what, id): (&str, &str)) -> Result<()> {
    let what = if done.changed { what } else { "Unchanged" };
    context.output.print(&format!("{what}: {id}"))?;
    if let Some(file) = &done.archived {
        context.output.status(&format!("the workflow before it is kept: {file}"));
    }
    next_lines(&done.flow).iter().for_each(|line| context.output.status(line));
    Ok(())
}

/// Returns what can be typed next.
fn next_lines(flow: &Flow) -> Vec<String> {
    let phases = |wanted: WorkflowStatus| flow.phases().iter().filter(move |phase| standing(phase) == wanted);
    let command =
        |id: &str, status: &str| format!("anthill workflow phase {} --status {status}", shell::word(id));
    let mut lines: Vec<String> = phases(WorkflowStatus::Active)
        .map(|phase| {
            let (id, agent) = (text(phase, "id"), one_line(text(phase, "agent")));
            format!("running: {id} by {agent}: {}", one_line(text(phase, "title")))
        })
        .collect();
    let ids = |wanted| phases(wanted).map(|phase| text(phase, "id"));
    lines.extend(match flow.status() {
        WorkflowStatus::Completed => vec!["the workflow is completed".into()],
        WorkflowStatus::Failed => {
            ids(WorkflowStatus::Failed).map(|id| format!("to retry: {}", command(id, "active"))).collect()
        }
        _ => match ids(WorkflowStatus::Active).next() {
            Some(id) => vec![format!("next: {} --deliverable D --context T", command(id, "completed"))],
            None => vec!["next: anthill workflow start".into()],
        },
    });
    lines
}

fn one_line(text: &str) -> String {
    shorten(&text.replace(['\n', '\r', '\t'], " "), 80)
}

/// Returns the word for what became of a phase.
pub fn became(status: WorkflowStatus) -> &'static str {
    match status {
        WorkflowStatus::Pending => "Put back",
        WorkflowStatus::Active => "Started",
        WorkflowStatus::Completed => "Completed",
        WorkflowStatus::Failed => "Failed",
    }
}
