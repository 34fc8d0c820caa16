use anthill_core::api::records::MakeBackup;
use clap::Args;

use super::contents;
use crate::context::Context;
use crate::error::Result;
use crate::typed::prose;

/// Save what would be lost
///
/// Examples:
///   anthill compact backup
///   anthill compact backup --reason context_limit_approaching --context-tokens 180000 \
///       --files src/a.ts src/b.ts
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BackupArgs {
    /// Why it is made
    #[arg(long, value_name = "TEXT", default_value = "manual", allow_hyphen_values = true, value_parser = prose)]
    reason: String,
    /// How many tokens the context has
    #[arg(long, value_name = "N")]
    context_tokens: Option<u64>,
    /// The files in the context
    #[arg(long, value_name = "FILE", num_args = 1..)]
    files: Vec<String>,
}

pub fn run(context: &Context<'_>, args: &BackupArgs) -> Result<()> {
    let request = MakeBackup {
        reason: Some(args.reason.clone()),
        context_tokens: args.context_tokens,
        files: args.files.clone(),
    };
    context.perform(request, |done| {
        let held = contents::names(&done.backup.value);
        let key = &done.backup.key;
        context.output.print(&format!("Saved {held}: {key}"))?;
        done.removed.iter().for_each(|file| context.output.status(&format!("Removed an old one: {file}")));
        context.output.status(&format!("next: anthill compact restore {key}"));
        Ok(())
    })
}
