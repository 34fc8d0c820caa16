use anthill_core::api::messages::ListSent;
use anthill_core::api::request::Limit;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::typed::{limit_parser, parse_id};

/// See what became of the messages that a session has sent
///
/// Prints an array in the order of sending. `status` is how each message stands at its recipient now:
/// `delivered`, `read`, `processed` or `expired`; `sent` where its mailbox is gone. Nothing is changed.
///
/// Examples:
///   anthill message outbox session-abc123 --format table
///   anthill message outbox session-abc123 msg-20260131120000-1a2b     # only this one
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct OutboxArgs {
    /// The session that sent them
    session: String,
    /// Only this message
    id: Option<String>,
    /// Return at most so many, the newest
    #[arg(long, value_name = "N", default_value = "1000", value_parser = limit_parser())]
    limit: Limit,
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

pub fn run(context: &Context<'_>, args: &OutboxArgs) -> Result<()> {
    let request = ListSent {
        session: parse_id(&args.session)?,
        id: args.id.as_deref().map(parse_id).transpose()?,
        limit: Some(args.limit),
    };
    context.perform(request, |sent| {
        context.output.value(&sent.messages.value, args.format)?;
        if sent.more {
            context.output.status("there are older ones: see them with a higher --limit");
        }
        Ok(())
    })
}
