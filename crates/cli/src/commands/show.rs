use anthill_core::api::documents::GetDocument;
use anthill_core::model::kind::Kind;
use clap::Args;

use super::leader;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::named::or_kind;
use crate::output::Format;

/// Show everything about one task, or a document
///
/// A kind's name wins over a task's id; a task of that name is shown by `leader show`.
///
/// Examples:
///   anthill show parser
///   anthill show config
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    /// A task, by its id or the beginning of it; or a document kind (`anthill schema` lists them)
    #[arg(value_name = "ID|KIND")]
    name: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

pub fn run(context: &Context<'_>, args: &ShowArgs) -> Result<()> {
    if Kind::find(&args.name).is_none() {
        args.scope.none(&args.name)?;
        return leader::show::show(context, &args.name).map_err(|error| or_kind(&args.name, error));
    }
    let kind = args.name.parse().map_err(CliError::invalid)?;
    let request = GetDocument { document: args.scope.of(kind)?, field: None };
    context.perform(request, |found| context.output.value(&found.value, Format::Json))
}
