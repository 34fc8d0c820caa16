use anthill_core::api::mail::ListMail;
use anthill_core::api::request::Limit;
use anthill_core::ops::messages::AllMail;
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::sentence::{shorten, text};
use crate::typed::{limit_parser, parse_id};

/// List what a session got and what it sent, with what was read of it
///
/// The newest come last. Looking marks nothing as read; `message poll` does. With --json: `inbox` and
/// `outbox`, the messages as they stand.
///
/// Examples:
///   anthill message list
///   anthill message list session-xyz789 --limit 20
///   anthill message list bob --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Whose, by session, worker or the begin of an id [default: your session, else your user name]
    session: Option<String>,
    /// Show at most so many of each, the newest
    #[arg(long, value_name = "N", default_value = "1000", value_parser = limit_parser())]
    limit: Limit,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let session = args.session.as_deref().map(parse_id).transpose()?;
    context.perform(ListMail { session, limit: Some(args.limit) }, |mail| tell(context, mail))
}

fn tell(context: &Context<'_>, mail: &AllMail) -> Result<()> {
    let mut rows: Vec<Value> = mail.inbox.iter().map(|message| row(message, "from")).collect();
    rows.extend(mail.outbox.iter().map(|message| row(message, "to")));
    rows.sort_by(|one, other| text(one, "sent").cmp(text(other, "sent")));
    if rows.is_empty() {
        context.output.status(&format!("no messages for or from {}", mail.session));
        return Ok(());
    }
    context.output.value(&rows.into(), Format::Table)?;
    if mail.more {
        context.output.status("there are older ones: see them with a higher --limit");
    }
    Ok(())
}

/// Returns what a line shows of a message.
fn row(message: &Value, way: &str) -> Value {
    let state = match text(message, "status") {
        "delivered" => "unread",
        other => other,
    };
    let said = match &message["payload"] {
        Value::String(said) => said.clone(),
        other => format!("{} {other}", text(message, "type")),
    };
    json!({
        "sent": text(message, "timestamp").get(..19).unwrap_or_default(),
        "who": format!("{way} {}", text(message, way)),
        "state": state,
        "message": shorten(&said, 50),
        "id": message["id"],
    })
}
