use anthill_core::api::queue::lead::EditTask;
use anthill_core::api::queue::look::ExplainTask;
use clap::Args;

use super::add_task::priority;
use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{names, parse_id, prose};

/// Change a task: its words, priority, dependencies, files, labels
///
/// What you do not name stays as it is. While somebody is at work on the task, only words, priority
/// and labels can change; whoever has it is not told.
///
/// Examples:
///   anthill leader edit parser --priority 1
///   anthill leader edit parser --description "Write the parser" --hints "Errors need line and column"
///   anthill leader edit tests --depends parser model --label nightly
///   anthill leader edit tests --no-depends parser     # without an id: waits for nothing any more
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct EditArgs {
    /// The task
    id: String,
    #[command(flatten)]
    changes: Changes,
}

/// What is to be different about a task.
#[derive(Debug, Default, PartialEq, Args)]
pub struct Changes {
    /// What is to be done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    description: Option<String>,
    /// 1 (first) to 10
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = priority)]
    priority: Option<i64>,
    /// Tasks that must be done first, beside those that it waits for already
    #[arg(short, long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    depends: Vec<String>,
    /// Tasks that it no longer waits for [default: all]
    #[arg(long, value_name = "ID", num_args = 0.., value_delimiter = ',')]
    no_depends: Option<Vec<String>>,
    /// All files, directories and patterns that the task may touch; '' for none
    #[arg(short, long, value_name = "PATH", num_args = 1..)]
    files: Option<Vec<String>>,
    /// What the worker should know; '' for nothing
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    hints: Option<String>,
    /// All capabilities that the worker must have registered; '' for none
    #[arg(long, visible_alias = "capability", value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    needs: Option<Vec<String>>,
    /// Labels to add
    #[arg(short, long, value_name = "LABEL", num_args = 1.., value_delimiter = ',')]
    label: Vec<String>,
    /// Labels to take away [default: all]
    #[arg(long, value_name = "LABEL", num_args = 0.., value_delimiter = ',')]
    no_label: Option<Vec<String>>,
}

pub fn run(context: &Context<'_>, args: &EditArgs) -> Result<()> {
    edit(context, &args.id, &args.changes)
}

/// Changes the task that is named so. Tasks that it is to wait for may also be named by the beginnings of their ids.
pub fn edit(context: &Context<'_>, id: &str, changes: &Changes) -> Result<()> {
    if *changes == Changes::default() {
        // Nothing to edit is refused; but a name that leads nowhere is the greater mistake.
        context.on_tasks(&[id.to_owned()], |ids| Ok(ExplainTask { id: parse_id(&ids[0])? }))?;
    }
    let typed: Vec<_> = std::iter::once(id.to_owned()).chain(changes.depends.iter().cloned()).collect();
    let revised = context.on_tasks(&typed, |ids| changes.request(&ids[0], &ids[1..]))?;
    if let Some(owner) = &revised.at_work {
        context.output.warning(&format!("`{owner}` is at work on it and has seen it as it was before"));
    }
    context.answer::<EditTask>(&revised, |revised| report::tell(context, "Edited", &revised.task))
}

impl Changes {
    fn request(&self, id: &str, depends: &[String]) -> Result<EditTask> {
        Ok(EditTask {
            id: parse_id(id)?,
            description: self.description.clone(),
            priority: self.priority,
            depends: depends.to_vec(),
            no_depends: self.no_depends.clone(),
            files: self.files.as_deref().map(names),
            hints: self.hints.clone(),
            needs: self.needs.as_deref().map(names),
            labels: names(&self.label),
            no_labels: self.no_label.clone(),
        })
    }
}
