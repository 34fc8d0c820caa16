use anthill_core::api::queue::lead::InitQueue;
use anthill_core::store::Called;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::git;
use crate::typed::prose;

/// Lay out the queue of this project; what is there already stays
///
/// Makes `.coordination/` with the plan, an empty queue, and folders for context, logs and results.
/// If the plan has another goal already, that is a conflict (exit 3); --replace puts the new one in
/// its place and leaves the rest of the plan as it is.
///
/// Examples:
///   anthill leader init "Build a REST API for user management"
///   anthill leader init "Port the parser" --approach "One module per task, tests first"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct InitArgs {
    /// What the team is to achieve
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    goal: String,
    /// How to go about it, for the plan
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    approach: Option<String>,
    /// Put the goal in the place of another one that the plan has
    #[arg(long)]
    replace: bool,
}

/// What should stay on this machine: the history, and what commands have printed.
const OWN: [&str; 2] = [".coordination/.anthill/", ".coordination/logs/"];

pub fn run(context: &Context<'_>, args: &InitArgs) -> Result<()> {
    let list = |all: &[Called]| {
        let shown = |called: &Called| format!("  {}", context.typed(&called.path));
        all.iter().map(shown).collect::<Vec<_>>().join("\n")
    };
    let request =
        InitQueue { goal: args.goal.clone(), approach: args.approach.clone(), replace: args.replace };
    context.perform(request, |done| {
        if !done.created.is_empty() {
            context.output.print(&format!("Created:\n{}", list(&done.created)))?;
        }
        if !done.kept.is_empty() {
            context.output.print(&format!("Kept as they are:\n{}", list(&done.kept)))?;
        }
        propose_ignoring(context);
        context.output.status("next: anthill leader add-task \"what is to be done\" -p 1 --files PATH…");
        Ok(())
    })
}

/// Says which ignore rules keep these files out of git.
fn propose_ignoring(context: &Context<'_>) {
    let open = context.roots.project().map(|root| git::not_ignored(&root, &OWN)).unwrap_or_default();
    if !open.is_empty() {
        context.output.status(&format!(
            "git would take along the history and the logs of the queue; to keep them here, add to .gitignore:\n  {}",
            open.join("\n  ")
        ));
    }
}
