use anthill_core::ops::compact;
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::planning::text;

/// List the backups, the newest first
///
/// Examples:
///   anthill compact list
///   anthill compact list --json | jq '.[0].preserved.work_queue.task'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {}

pub fn run(context: &Context<'_>, _: &ListArgs) -> Result<()> {
    let (backups, warnings) = compact::list(&*context.engine)?;
    warnings.iter().for_each(|warning| context.output.warning(warning));
    if context.output.json {
        let stored = backups.into_iter().map(|backup| backup.value).collect();
        return context.output.value(&Value::Array(stored), Format::Json);
    }
    if backups.is_empty() {
        context.output.status("there are no backups; make one: anthill compact backup");
        return Ok(());
    }
    let row = |backup: &compact::Backup| {
        let value = &backup.value;
        json!({
            "backup": backup.key, "session": text(value, "session_id"), "timestamp": text(value, "timestamp"),
            "reason": text(value, "reason").replace(['\n', '\r', '\t'], " "), "holds": super::held(value),
        })
    };
    context.output.value(&backups.iter().map(row).collect(), Format::Table)
}
