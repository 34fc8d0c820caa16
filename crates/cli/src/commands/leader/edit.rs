use anthill_core::model::task::{Changed, Removed, TaskEdit};
use anthill_core::ops::queue::revise;
use clap::Args;

use super::add_task::priority;
use super::report;
use crate::args::{names, prose};
use crate::context::{Context, parse_id};
use crate::env;
use crate::error::{CliError, Result};

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
    /// What is to be done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    description: Option<String>,
    /// 1 (first) to 10
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = priority)]
    priority: Option<i64>,
    /// Tasks that must be done first, beside those that it waits for already
    #[arg(short, long, value_name = "ID", num_args = 1..)]
    depends: Vec<String>,
    /// Tasks that it no longer waits for [default: all]
    #[arg(long, value_name = "ID", num_args = 0..)]
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
    let id = parse_id(&args.id)?;
    let edit = args.edit(context);
    if edit == TaskEdit::default() {
        let hint = format!("for example: anthill leader edit {} --priority 1", args.id);
        return Err(CliError::invalid("nothing to change: say what is to be different").hinted(hint));
    }
    let revised = revise::edit(&*context.engine, &id, &edit, &context.actor)?;
    if let Some(owner) = &revised.at_work {
        context.output.warning(&format!("`{owner}` is at work on it and has seen it as it was before"));
    }
    report(context, "Edited", &revised.task)
}

impl EditArgs {
    fn edit(&self, context: &Context<'_>) -> TaskEdit {
        let files = |files: &Vec<String>| {
            names(files).iter().map(|file| context.below_root(file).to_string()).collect()
        };
        let told = |text: &str| env::told(text).into_owned();
        TaskEdit {
            description: self.description.as_deref().map(told),
            priority: self.priority,
            hints: self.hints.as_deref().map(told),
            files: self.files.as_ref().map(files),
            needs: self.needs.as_deref().map(names),
            depends: changed(&self.depends, self.no_depends.as_deref()),
            labels: changed(&names(&self.label), self.no_label.as_deref()),
        }
    }
}

/// An option that takes away, alone, takes away everything.
fn changed(added: &[String], removed: Option<&[String]>) -> Changed {
    let removed = match removed {
        Some([]) => Removed::All,
        removed => Removed::These(removed.unwrap_or_default().to_vec()),
    };
    Changed { added: added.to_vec(), removed }
}
