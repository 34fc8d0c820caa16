use anthill_core::api::mail::ReplyToMessage;
use anthill_core::api::messages::Delivered;
use clap::Args;

use super::send::sent;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, prose};

/// Answer a message
///
/// The text goes to whoever sent the message, which is named in `in_reply_to`. You answer as your
/// session, or by your user name where no session is known.
///
/// Examples:
///   anthill message reply msg-20260131120000-1a2b "the tests are fixed"
///   anthill message reply handoff-1 "taken" --session-id session-xyz789
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ReplyArgs {
    /// The message to answer
    id: String,
    /// What to say
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    text: String,
}

pub fn run(context: &Context<'_>, args: &ReplyArgs) -> Result<()> {
    let request = ReplyToMessage { id: parse_id(&args.id)?, text: args.text.clone(), session: None };
    context.perform(request, |Delivered { posted, .. }| sent(context, posted))
}
