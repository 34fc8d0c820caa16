use std::io::IsTerminal;
use std::mem::ManuallyDrop;

use anthill_core::api::Described;
use anthill_core::api::queue::TaskList;
use anthill_core::api::queue::lead::{ImportTasks, prepare};
use anthill_core::model::import;
use anthill_core::ops::queue::lead;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::context::Context;
use crate::error::{CliError, Result};
use crate::typed::{names, read_file};

/// Add many tasks at once from a file: all of them, or none
///
/// JSON: an array, or {"tasks": [...]}, or one object per line, of
///   {"id"?, "description", "priority"?, "dependencies"?, "required_capabilities"?,
///    "labels"?, "context"? {"files", "hints"}}
/// Markdown: a checklist
///   - [ ] Create the model {id: model, p: 1, files: src/models/}
///   - [ ] Add the endpoint {after: model, needs: rust, labels: api}
///
/// Tasks may depend on each other in any order, and on tasks of the queue. An import may be repeated:
/// tasks with an id that are there already, and the same, are left alone.
///
/// Examples:
///   anthill leader import plan.md
///   generate-tasks | anthill leader import - --label generated
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ImportArgs {
    /// The file, or `-` for stdin
    file: String,
    /// Labels for all of them
    #[arg(short, long, value_name = "LABEL", num_args = 1.., value_delimiter = ',')]
    label: Vec<String>,
}

/// The largest file that is read.
const LIMIT: u64 = 256 << 20;

/// With fewer tasks than this, a bar would be gone before anybody sees it.
const MANY: usize = 1000;

pub fn run(context: &Context<'_>, args: &ImportArgs) -> Result<()> {
    let bytes = read_file(&args.file, LIMIT)?;
    let tasks = import::parse(&bytes).map_err(|error| {
        CliError::invalid(format!("`{}`, {error}", args.file)).hinted("nothing was added")
    })?;
    // Not dropped: the program ends next.
    let mut tasks = ManuallyDrop::new(tasks);
    let labels = names(&args.label);
    prepare(&mut tasks, &labels, &context.caller());
    let bar = progress(context, tasks.len());
    let imported = lead::import(&*context.engine, &tasks, &context.actor, &mut |done| {
        if done % 256 == 0 || done == tasks.len() {
            bar.set_position(done as u64);
        }
        if done == tasks.len() {
            bar.set_message("writing");
        }
    });
    bar.finish_and_clear();
    let imported = imported?;
    if context.output.json {
        let answer = ManuallyDrop::new(TaskList::new(imported.tasks()));
        return context.output.answer(&*answer, ImportTasks::EFFECT);
    }
    let same = tasks.len() - imported.added;
    let same = if same > 0 { format!(", {same} were there already") } else { String::new() };
    context.output.print(&format!("Imported {} tasks{same}", imported.added))
}

/// Returns a bar that is shown on terminals only.
fn progress(context: &Context<'_>, count: usize) -> ProgressBar {
    let seen = count >= MANY && !context.output.json && std::io::stderr().is_terminal();
    let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    bar.with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} tasks {msg}").expect("a constant template"),
    )
}
