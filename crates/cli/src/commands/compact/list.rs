use anthill_core::api::records::ListBackups;
use anthill_core::ops::compact;
use clap::Args;
use serde_json::json;

use super::contents;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::sentence::text;

/// List the backups, the newest first
///
/// Examples:
///   anthill compact list
///   anthill compact list --json | jq '.[0].preserved.work_queue.task'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {}

pub fn run(context: &Context<'_>, _: &ListArgs) -> Result<()> {
    context.perform(ListBackups {}, |found| tell(context, &found.backups))
}

fn tell(context: &Context<'_>, backups: &[compact::Backup]) -> Result<()> {
    if backups.is_empty() {
        context.output.status("there are no backups; make one: anthill compact backup");
        return Ok(());
    }
    let row = |backup: &compact::Backup| {
        let value = &backup.value;
        json!({
            "backup": backup.key, "session": text(value, "session_id"), "timestamp": text(value, "timestamp"),
            "reason": text(value, "reason").replace(['\n', '\r', '\t'], " "), "holds": contents::names(value),
        })
    };
    context.output.value(&backups.iter().map(row).collect(), Format::Table)
}
