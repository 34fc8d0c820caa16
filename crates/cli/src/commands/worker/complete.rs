use anthill_core::api::queue::work::CompleteTask;
use anthill_core::model::ids::Key;
use anthill_core::model::text_file::TextFile;
use anthill_core::ops::queue::work::TaskChanged;
use clap::Args;

use super::report::{self, ReportArgs};
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::typed::{parse_id, prose};

/// Report a task as done
///
/// Writes the result to `.coordination/results/` and sets free what waited for it. May be repeated.
///
/// Example:
///   anthill worker complete terminal-2 TASK-ID "Added the model" --modified schema.prisma \
///       --created src/user.ts db/
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompleteArgs {
    #[command(flatten)]
    on: ReportArgs,
    /// What you did
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    summary: String,
    /// Files you changed
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    modified: Vec<String>,
    /// Files you made
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    created: Vec<String>,
}

impl Direct for CompleteArgs {
    const OPTIONS: &'static [Opt] =
        &[("--epoch", "", Takes::One), ("--modified", "-m", Takes::Many), ("--created", "-c", Takes::Many)];

    fn read(words: &mut Words) -> Option<CompleteArgs> {
        Some(CompleteArgs {
            on: ReportArgs::read(words)?,
            summary: words.plain()?,
            modified: words.values("--modified"),
            created: words.values("--created"),
        })
    }
}

pub fn run(context: &Context<'_>, args: &CompleteArgs) -> Result<()> {
    let worker: Key = parse_id(&args.on.worker)?;
    let done = context.by_worker([&args.on.worker, &args.on.id], |id| {
        Ok(CompleteTask {
            worker: worker.clone(),
            task: Some(parse_id(id)?),
            summary: args.summary.clone(),
            modified: args.modified.clone(),
            created: args.created.clone(),
            epoch: args.on.epoch,
        })
    })?;
    context.answer::<CompleteTask>(&done, |done| tell(context, done))
}

/// Tells that a task is done, and where its result is.
pub fn tell(context: &Context<'_>, done: &TaskChanged) -> Result<()> {
    report::tell(context, "Completed", done)?;
    if let Ok(id) = done.task.id().parse() {
        context.output.status(&format!("result: {}", context.shown(&TextFile::Result(id))));
    }
    Ok(())
}
