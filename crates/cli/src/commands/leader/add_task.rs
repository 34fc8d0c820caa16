use anthill_core::api::queue::lead::AddTask;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::direct::Direct;
use crate::error;
use crate::line::{Opt, Takes, Words};
use crate::typed::{names, prose};

/// Add a task to the queue
///
/// It is available to workers when all its dependencies are done. Two tasks whose files overlap are
/// never worked on at the same time. With --id the command may be repeated safely.
///
/// Examples:
///   anthill leader add-task "Create the User model" -p 1 --files src/models/ --hints "Use Prisma"
///   anthill leader add-task "Registration endpoint" -p 2 --depends TASK-ID OTHER-ID \
///       --files src/routes/users.ts
///   anthill leader add-task "Speed up the parser" --needs rust profiling --id parser-speed
///   anthill leader add-task "Report errors" --parent parser --label nightly
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddTaskArgs {
    /// What is to be done
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    description: String,
    /// 1 (first) to 10
    #[arg(short, long, value_name = "N", default_value_t = 5, allow_negative_numbers = true, value_parser = priority)]
    priority: i64,
    /// Tasks that must be done first
    #[arg(short, long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    depends: Vec<String>,
    /// Files, directories and patterns (`src/**/*.rs`) that the task may touch
    #[arg(short, long, value_name = "PATH", num_args = 1..)]
    files: Vec<String>,
    /// What the worker should know
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    hints: Option<String>,
    /// Capabilities that the worker must have registered
    #[arg(long, value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    needs: Vec<String>,
    /// Names to find it by
    #[arg(short, long, value_name = "LABEL", num_args = 1.., value_delimiter = ',')]
    label: Vec<String>,
    /// The task that it is a part of: that one is done when all its parts are
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The task's id [default: task-YYYYMMDDHHMMSS-xxxx]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(super) fn priority(text: &str) -> Result<i64, String> {
    let priority = text.parse().ok().filter(|priority| (1..=10).contains(priority));
    priority.ok_or_else(|| "expected 1 (first) to 10".into())
}

impl Direct for AddTaskArgs {
    const OPTIONS: &'static [Opt] = &[
        ("--priority", "-p", Takes::One),
        ("--depends", "-d", Takes::Many),
        ("--files", "-f", Takes::Many),
        ("--hints", "", Takes::One),
        ("--needs", "", Takes::Many),
        ("--label", "-l", Takes::Many),
        ("--parent", "", Takes::One),
        ("--id", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<AddTaskArgs> {
        Some(AddTaskArgs {
            description: words.plain()?,
            priority: words.parsed("--priority", |text| priority(text).ok())?.unwrap_or(5),
            depends: words.split("--depends"),
            files: words.values("--files"),
            hints: words.value("--hints"),
            needs: words.split("--needs"),
            label: words.split("--label"),
            parent: words.value("--parent"),
            id: words.value("--id"),
        })
    }
}

pub fn run(context: &Context<'_>, args: &AddTaskArgs) -> error::Result<()> {
    let typed: Vec<_> = args.depends.iter().chain(&args.parent).cloned().collect();
    let added = context.on_tasks(&typed, |ids| Ok(args.request(ids)))?;
    context.answer::<AddTask>(&added, |task| report::tell(context, "Added", task))
}

impl AddTaskArgs {
    /// Returns the request, with the ids of the tasks that it names.
    fn request(&self, ids: &[String]) -> AddTask {
        let (depends, parent) = ids.split_at(self.depends.len());
        AddTask {
            id: self.id.clone(),
            description: self.description.clone(),
            priority: Some(self.priority),
            depends: depends.to_vec(),
            files: self.files.clone(),
            hints: self.hints.clone(),
            needs: names(&self.needs),
            labels: names(&self.label),
            parent: parent.first().cloned(),
        }
    }
}
