use anthill_core::api::messages::FinishMessage;
use clap::Args;

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Words};
use crate::typed::parse_id;

/// Say that a message is done with
///
/// It moves from the inbox to `processed/`. Until then `message poll --again` returns it, for a
/// reader that was cut off.
///
/// Examples:
///   anthill message done session-xyz789 msg-20260131120000-1a2b
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DoneArgs {
    /// The session that read it
    session: String,
    /// The message
    id: String,
}

impl Direct for DoneArgs {
    const OPTIONS: &'static [Opt] = &[];

    fn read(words: &mut Words) -> Option<DoneArgs> {
        Some(DoneArgs { session: words.plain()?, id: words.plain()? })
    }
}

pub fn run(context: &Context<'_>, args: &DoneArgs) -> Result<()> {
    let request = FinishMessage { session: parse_id(&args.session)?, id: parse_id(&args.id)? };
    let id = &args.id;
    context.perform(request, |done| {
        context.output.print(&match done.message["status"].as_str() {
            Some("expired") => format!("Had expired unread: {id}"),
            _ if done.repeated => format!("Was done with already: {id}"),
            _ => format!("Done with {id}"),
        })
    })
}
