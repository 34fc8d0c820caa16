use anthill_core::api::documents::ListItems;
use clap::Args;

use crate::args::ScopeArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Format;
use crate::typed::kind_parser;

/// A kind that is computed from another one.
const STORIES: &str = "stories";

/// Print the items of a document's list
///
/// Examples:
///   anthill list sprints --project-id myapp --filter-status active
///   anthill list stories --filter-status pending --unassigned --format table
///   anthill list queue --format md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Document kind, or `stories` for the stories of all epics
    #[arg(value_parser = kind_parser(&[(STORIES, "the stories of all epics")]))]
    kind: String,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Only items with this status
    #[arg(long, value_name = "STATUS")]
    filter_status: Option<String>,
    /// Only stories that nobody has
    #[arg(long)]
    unassigned: bool,
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let stories = args.kind == STORIES;
    if args.unassigned && !stories {
        let message = format!("--unassigned is for stories, not for {}", args.kind);
        return Err(CliError::invalid(message).hinted("see them: anthill list stories --unassigned"));
    }
    let kind = if stories { "epics" } else { &args.kind };
    let request = ListItems {
        document: args.scope.of(kind.parse().map_err(CliError::invalid)?)?,
        status: args.filter_status.clone(),
        stories,
        unassigned: args.unassigned,
    };
    context.perform(request, |found| context.output.value(&found.value, args.format))
}
