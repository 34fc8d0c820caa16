use anthill_core::api::request::Minutes;
use anthill_core::api::sessions::ListSessions;
use clap::Args;

use super::report::tell_expired;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::output::Format;
use crate::typed::parse_id;

/// List sessions, the one that was heard of last first
///
/// Examples:
///   anthill session list
///   anthill session list --active --project-id myapp
///   anthill session list --active --timeout-minutes 30
///   anthill session list --archived
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only those that are active or idle and were heard of in the last minutes
    #[arg(long)]
    active: bool,
    /// Only those that went to the archive; `anthill session show ID` shows one
    #[arg(long, conflicts_with = "active")]
    archived: bool,
    #[command(flatten)]
    which: WhichArgs,
}

/// List the sessions that are at work: the same as `list --active`
///
/// Examples:
///   anthill session list-active --project-id myapp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListActiveArgs {
    #[command(flatten)]
    which: WhichArgs,
}

#[derive(Debug, Args)]
struct WhichArgs {
    /// Only those of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// How long an active session may have been silent
    #[arg(long, value_name = "N", default_value = MINUTES, value_parser = minutes)]
    timeout_minutes: Minutes,
}

/// How long an active session may have been silent, unless told.
const MINUTES: &str = "5";

const WHICH: [Opt; 2] = [("--project-id", "", Takes::One), ("--timeout-minutes", "", Takes::One)];

impl WhichArgs {
    fn read(words: &mut Words) -> Option<WhichArgs> {
        let told = words.value("--timeout-minutes");
        let timeout_minutes = minutes(told.as_deref().unwrap_or(MINUTES)).ok()?;
        Some(WhichArgs { project_id: words.value("--project-id"), timeout_minutes })
    }
}

impl Direct for ListArgs {
    const OPTIONS: &'static [Opt] =
        &[("--active", "", Takes::Nothing), ("--archived", "", Takes::Nothing), WHICH[0], WHICH[1]];

    fn read(words: &mut Words) -> Option<ListArgs> {
        let (active, archived) = (words.flag("--active"), words.flag("--archived"));
        // Both at once are left to clap, which refuses them.
        (!(active && archived)).then_some(())?;
        Some(ListArgs { active, archived, which: WhichArgs::read(words)? })
    }
}

impl Direct for ListActiveArgs {
    const OPTIONS: &'static [Opt] = &WHICH;

    fn read(words: &mut Words) -> Option<ListActiveArgs> {
        Some(ListActiveArgs { which: WhichArgs::read(words)? })
    }
}

fn minutes(text: &str) -> std::result::Result<Minutes, String> {
    Ok(Minutes::new(text.parse().unwrap_or(f64::NAN))?)
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    show(context, args.active, args.archived, &args.which)
}

pub fn run_active(context: &Context<'_>, args: &ListActiveArgs) -> Result<()> {
    show(context, true, false, &args.which)
}

fn show(context: &Context<'_>, active: bool, archived: bool, which: &WhichArgs) -> Result<()> {
    let request = ListSessions {
        active,
        archived,
        project_id: which.project_id.as_deref().map(parse_id).transpose()?,
        timeout_minutes: Some(which.timeout_minutes),
    };
    context.perform(request, |found| {
        tell_expired(context, &found.expired);
        let none = match (active, archived) {
            (_, true) => "there are no sessions in the archive",
            (true, _) => "no session is at work\nnext: anthill session start",
            (false, _) => "there are no sessions\nnext: anthill session start",
        };
        if found.sessions.items().is_empty() {
            context.output.status(none);
            return Ok(());
        }
        context.output.value(&found.sessions.value, Format::Table)
    })
}
