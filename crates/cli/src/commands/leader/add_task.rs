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
    #[arg(short, long, value_name = "ID", num_args = 1..)]
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
        ("--id", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<AddTaskArgs> {
        let needs = words.values("--needs");
        Some(AddTaskArgs {
            description: words.plain()?,
            priority: words.parsed("--priority", |text| priority(text).ok())?.unwrap_or(5),
            depends: words.values("--depends"),
            files: words.values("--files"),
            hints: words.value("--hints"),
            needs: needs.iter().flat_map(|list| list.split(',')).map(str::to_owned).collect(),
            id: words.value("--id"),
        })
    }
}

pub fn run(context: &Context<'_>, args: &AddTaskArgs) -> error::Result<()> {
    let request = AddTask {
        id: args.id.clone(),
        description: args.description.clone(),
        priority: Some(args.priority),
        depends: args.depends.clone(),
        files: args.files.clone(),
        hints: args.hints.clone(),
        needs: names(&args.needs),
    };
    context.perform(request, |task| report::tell(context, "Added", task))
}
