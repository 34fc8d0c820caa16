use std::time::Duration;

use anthill_core::model::ids::ProjectId;
use anthill_core::ops::sessions::look::{self, Wanted};
use clap::Args;
use serde_json::Value;

use super::tell_expired;
use crate::context::{Context, parse_id};
use crate::direct::{Direct, Opt, Takes, Words};
use crate::error::Result;
use crate::output::Format;

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
    timeout_minutes: Duration,
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
        // Both at once are refused, with the usual words.
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

fn minutes(text: &str) -> std::result::Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(minutes) if (0.0..=1_440_000.0).contains(&minutes) => Ok(Duration::from_secs_f64(minutes * 60.0)),
        _ => Err("expected a number of minutes, such as 5 or 0.5".into()),
    }
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    if !args.archived {
        return show(context, args.active, &args.which);
    }
    let project: Option<ProjectId> = args.which.project_id.as_deref().map(parse_id).transpose()?;
    let sessions = look::archived(&*context.engine, project.as_ref().map(ProjectId::as_str), &context.actor)?;
    if sessions.is_empty() && !context.output.json {
        context.output.status("there are no sessions in the archive");
        return Ok(());
    }
    context.output.value(&Value::Array(sessions), Format::Table)
}

pub fn run_active(context: &Context<'_>, args: &ListActiveArgs) -> Result<()> {
    show(context, true, &args.which)
}

fn show(context: &Context<'_>, active: bool, which: &WhichArgs) -> Result<()> {
    let project: Option<ProjectId> = which.project_id.as_deref().map(parse_id).transpose()?;
    let wanted = Wanted {
        active_within: active.then_some(which.timeout_minutes),
        project: project.as_ref().map(ProjectId::as_str),
    };
    let found = look::list(&*context.engine, &wanted, &context.actor)?;
    found.warnings.iter().for_each(|warning| context.output.warning(warning));
    tell_expired(context, &found.expired);
    if found.sessions.is_empty() && !context.output.json {
        let what = if active { "no session is at work" } else { "there are no sessions" };
        context.output.status(&format!("{what}\nnext: anthill session start"));
        return Ok(());
    }
    context.output.value(&Value::Array(found.sessions), Format::Table)
}
