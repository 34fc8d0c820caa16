use anthill_core::api::queue::look::{ListTasks, TaskSort};
use anthill_core::model::kind::Doc;
use anthill_core::ops::read;
use anthill_core::view::board::{self, Wanted};
use anthill_live::board::left;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::context::Context;
use crate::error::Result;
use crate::typed::{names, one_of};

/// List tasks, by how they stand
///
/// Without options: everything that is not done or cancelled.
///
/// Examples:
///   anthill leader list
///   anthill leader list --status waiting failed
///   anthill leader list --worker w1 --all          # whatever w1 has done and does
///   anthill leader list --all --sort age
///   anthill leader list --label nightly --json | jq -r '.[].id'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    #[command(flatten)]
    which: Which,
}

/// Which tasks, and in which order.
#[derive(Debug, Default, PartialEq, Args)]
pub struct Which {
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
    /// In which order [default: status]
    #[arg(long, value_name = "ORDER", value_parser = one_of::<TaskSort>())]
    sort: Option<TaskSort>,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    list(context, &args.which)
}

/// Lists the tasks that are wanted.
pub fn list(context: &Context<'_>, args: &Which) -> Result<()> {
    let request = ListTasks {
        status: args.status.clone(),
        worker: args.worker.as_deref().map(|worker| context.known_worker(worker)).transpose()?,
        labels: names(&args.label),
        all: args.all,
        sort: args.sort,
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
