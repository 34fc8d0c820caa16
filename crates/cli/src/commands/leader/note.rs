use anthill_core::ops::queue::revise;
use clap::Args;

use super::report;
use crate::args::prose;
use crate::context::{Context, parse_id};
use crate::env;
use crate::error::Result;

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
    let task = revise::note(&*context.engine, &parse_id(&args.id)?, &env::told(&args.text), &context.actor)?;
    report(context, "Noted", &task)
}
