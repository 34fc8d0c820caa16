use anthill_core::api::sessions::EndSession;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// End a session
///
/// Its agents are released, and what it has in the queue of this project goes back for others. Ending
/// it again changes nothing; its files stay.
///
/// Examples:
///   anthill session end session-abc123
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct EndArgs {
    /// The session
    id: String,
}

pub fn run(context: &Context<'_>, args: &EndArgs) -> Result<()> {
    let ended = context.on_session(&args.id, |id| Ok(EndSession { id: parse_id(id)? }))?;
    context.answer::<EndSession>(&ended, |changed| {
        let what = match &changed.released[..] {
            _ if changed.repeated => "Ended, as before".into(),
            [] => "Ended".into(),
            released => format!("Ended (back in the queue: {})", released.join(" ")),
        };
        report::tell(context, &what, changed)
    })
}
