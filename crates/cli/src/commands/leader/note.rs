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
    let request = |ids: &[String]| Ok(NoteTask { id: parse_id(&ids[0])?, text: args.text.clone() });
    let noted = context.on_tasks(std::slice::from_ref(&args.id), request)?;
    context.answer::<NoteTask>(&noted, |task| report::tell(context, "Noted", task))
}
