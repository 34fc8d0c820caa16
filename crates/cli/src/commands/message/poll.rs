use std::time::{Duration, Instant};

use anthill_core::api::messages::{MOST, Mail, PollMessages};
use anthill_core::api::request::Limit;
use anthill_live::waiting;
use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::output::Format;
use crate::typed::{limit_parser, parse_id, seconds};

/// Read the messages of a session
///
/// Prints an array: critical ones first, then high, normal and low; each in the order of arrival.
/// Every message is returned once; it stays in the inbox until `message done`. A reader that was cut
/// off gets what it had read with --again. Who sent it is in `sender`; `from` is only what the sender
/// said.
///
/// Examples:
///   anthill message poll session-xyz789
///   anthill message poll session-xyz789 --wait 600       # waits for one (--wait alone: for ever)
///   anthill message poll session-xyz789 --no-mark-read --format table
///   anthill message poll session-xyz789 --again          # what was read and is not done with
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PollArgs {
    /// Whose messages
    session: String,
    /// Leave them unread
    #[arg(long)]
    no_mark_read: bool,
    /// Wait for a message, at most this long; without polling
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "86400000", value_parser = seconds)]
    wait: Option<f64>,
    /// Return what was read but is not done with
    #[arg(long, conflicts_with_all = ["wait", "no_mark_read"])]
    again: bool,
    /// Return at most so many
    #[arg(long, value_name = "N", default_value = "1000", value_parser = limit_parser())]
    limit: Limit,
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

impl Direct for PollArgs {
    const OPTIONS: &'static [Opt] = &[
        ("--no-mark-read", "", Takes::Nothing),
        ("--wait", "", Takes::Perhaps),
        ("--again", "", Takes::Nothing),
        ("--limit", "", Takes::One),
        ("--format", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<PollArgs> {
        let wait = words.wait()?;
        let (again, no_mark_read) = (words.flag("--again"), words.flag("--no-mark-read"));
        if again && (no_mark_read || wait.is_some()) {
            return None;
        }
        Some(PollArgs {
            session: words.plain()?,
            no_mark_read,
            wait,
            again,
            limit: words
                .parsed("--limit", |text| Limit::new(text.parse().ok()?).ok())?
                .map_or_else(|| Limit::new(MOST).ok(), Some)?,
            format: words
                .parsed("--format", |text| Format::from_str(text, false).ok())?
                .unwrap_or(Format::Json),
        })
    }
}

pub fn run(context: &Context<'_>, args: &PollArgs) -> Result<()> {
    let request = PollMessages {
        session: parse_id(&args.session)?,
        no_mark_read: args.no_mark_read,
        again: args.again,
        limit: Some(args.limit),
    };
    let tell = |mail: &Mail| {
        context.output.changed(&mail.messages.value, args.format)?;
        if mail.more {
            context.output.status("there are more: poll again");
        }
        Ok(())
    };
    let Some(wait) = args.wait else { return context.perform(request, tell) };
    let (engine, actor) = (&*context.engine, &context.actor);
    // Kept until the answer is printed: closing it takes longer than waking up.
    let mut listener = waiting::listen_for_messages(engine, &request.session)?;
    let deadline = Instant::now() + Duration::from_secs_f64(wait);
    let mail =
        request.perform_by(|request| waiting::poll(engine, &mut *listener, request, actor, deadline))?;
    context.answer::<PollMessages>(&mail, tell)
}
