use anthill_core::model::kind::Kind;
use anthill_core::ops::planning::stories::{self, Filter};
use anthill_core::ops::read;
use clap::Args;
use serde_json::Value;

use crate::args::{ScopeArgs, kind_parser};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Format;

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
    let status = args.filter_status.as_deref();
    let of_stories = args.kind == STORIES;
    if args.unassigned && !of_stories {
        let message = format!("--unassigned is for stories, not for {}", args.kind);
        return Err(CliError::invalid(message).hinted("see them: anthill list stories --unassigned"));
    }
    let kind = Kind::find(if of_stories { "epics" } else { &args.kind })
        .expect("the parser accepts known kinds only");
    let doc = context.document(kind, &args.scope)?;
    let items = match of_stories {
        true => {
            let filter = Filter { status, unassigned: args.unassigned, epic: None };
            stories::list_in(&*context.engine, &doc, &filter)?
        }
        false => read::list(&*context.engine, &doc, status)?,
    };
    context.output.value(&Value::Array(items), args.format)
}
