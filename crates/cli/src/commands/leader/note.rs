use anthill_core::api::queue::lead::NoteTask;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, prose};

/// Write a remark on a task
///
/// Examples:
///   anthill leader note parser "The grammar is in docs/grammar.md"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct NoteArgs {
    /// The task
    id: String,
    /// The remark
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    text: String,
}

pub fn run(context: &Context<'_>, args: &NoteArgs) -> Result<()> {
    let request = NoteTask { id: parse_id(&args.id)?, text: args.text.clone() };
    context.perform(request, |task| report::tell(context, "Noted", task))
}
