use anthill_core::api::queue::look::ListTasks;
use anthill_core::model::kind::Doc;
use anthill_core::ops::read;
use anthill_core::view::board::{self, Wanted};
use anthill_live::board::left;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::context::Context;
use crate::error::Result;
use crate::typed::names;

/// List tasks, by how they stand
///
/// Without options: everything that is not done or cancelled.
///
/// Examples:
///   anthill leader list
///   anthill leader list --status waiting failed
///   anthill leader list --worker w1 --all          # whatever w1 has done and does
///   anthill leader list --label nightly --json | jq -r '.[].id'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only tasks that stand so; words of the board or of the file
    #[arg(short, long, value_name = "STATUS", num_args = 1.., value_delimiter = ',', value_parser = PossibleValuesParser::new(Wanted::words()))]
    status: Vec<String>,
    /// Only tasks of this worker
    #[arg(short, long, value_name = "WORKER")]
    worker: Option<String>,
    /// Only tasks with all of these labels
    #[arg(short, long, value_name = "LABEL", num_args = 1.., value_delimiter = ',')]
    label: Vec<String>,
    /// Also what is done or cancelled
    #[arg(short, long)]
    all: bool,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let request = ListTasks {
        status: args.status.clone(),
        worker: args.worker.clone(),
        labels: names(&args.label),
        all: args.all,
    };
    if context.output.json {
        return context.perform(request, |_| Ok(()));
    }
    let (wanted, now) = (request.wanted()?, context.actor.clock.moment());
    let queue = read::document(&*context.engine, &Doc::queue())?.value;
    let lines =
        board::listing(&queue, &wanted, now.at, &left(&now), context.output.width(), context.actor.door);
    if lines.is_empty() {
        context.output.status("no task is like that; all of them: anthill leader list --all");
    }
    context.output.lines(&lines)
}
