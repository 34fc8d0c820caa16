use anthill_core::api::documents::ListItems;
use clap::Args;

use super::leader;
use super::leader::list::Which;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Format;
use crate::typed::kind_parser;

/// A kind that is computed from another one.
const STORIES: &str = "stories";

/// List tasks, or the items of a document's list
///
/// Without a kind it is short for `leader list`, and takes its options.
///
/// Examples:
///   anthill list
///   anthill list --status waiting failed
///   anthill list sprints --project-id myapp --filter-status active
///   anthill list stories --filter-status pending --unassigned --format table
///   anthill list queue --format md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Document kind, or `stories` for the stories of all epics [default: the tasks of the queue]
    #[arg(value_parser = kind_parser(&[(STORIES, "the stories of all epics")]))]
    kind: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Only items with this status
    #[arg(long, value_name = "STATUS")]
    filter_status: Option<String>,
    /// Only stories that nobody has
    #[arg(long)]
    unassigned: bool,
    /// How to print the items of a document [default: json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    tasks: Which,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let of_document = args.filter_status.is_some() || args.unassigned || args.format.is_some();
    match &args.kind {
        None if of_document || args.scope != ScopeArgs::default() => {
            Err(CliError::invalid("these options are for the items of a document: name its kind")
                .hinted("for example: anthill list queue --format table")
                .hinted("tasks by how they stand: anthill list --status ready"))
        }
        None => leader::list::list(context, &args.tasks),
        Some(kind) if args.tasks != Which::default() => {
            Err(CliError::invalid(format!("these options are for tasks, not for the items of {kind}"))
                .hinted("leave out the kind: anthill list --status ready"))
        }
        Some(kind) => items(context, args, kind),
    }
}

fn items(context: &Context<'_>, args: &ListArgs, kind: &str) -> Result<()> {
    let stories = kind == STORIES;
    if args.unassigned && !stories {
        let message = format!("--unassigned is for stories, not for {kind}");
        return Err(CliError::invalid(message).hinted("see them: anthill list stories --unassigned"));
    }
    let kind = if stories { "epics" } else { kind };
    let request = ListItems {
        document: args.scope.of(kind.parse().map_err(CliError::invalid)?)?,
        status: args.filter_status.clone(),
        stories,
        unassigned: args.unassigned,
    };
    let format = args.format.unwrap_or(Format::Json);
    context.perform(request, |found| context.output.value(&found.value, format))
}
