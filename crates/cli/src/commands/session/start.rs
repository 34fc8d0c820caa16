use std::path::{Path, PathBuf};

use anthill_core::api::sessions::{StartSession, Started};
use anthill_core::model::ids::SessionId;
use clap::Args;

use super::report::{self, tell_expired};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::typed::parse_id;

/// Start a session, or start it again
///
/// Starting one that is at work is a sign of life, and what you tell replaces what is known of it.
/// One that has ended or expired is active again. Without an id it gets a new one.
///
/// Examples:
///   anthill session start
///   anthill session start session-abc123 --project-id myapp
///   ID=$(anthill session start --json | jq -r .session_id)
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StartArgs {
    /// The session [default: that of --session-id, else a new id]
    id: Option<String>,
    /// The project that it works on [default: this one, or the configuration's default_project]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Where it works [default: here]
    #[arg(long, value_name = "DIR")]
    working_directory: Option<PathBuf>,
}

pub fn run(context: &Context<'_>, args: &StartArgs) -> Result<()> {
    let told = args.id.as_deref().or_else(|| context.named_session().map(SessionId::as_str));
    let request = StartSession {
        id: told.map(parse_id).transpose()?,
        project_id: args.project_id.as_deref().map(parse_id).transpose()?,
        working_directory: args.working_directory.as_deref().map(absolute).transpose()?,
    };
    context.perform(request, |Started { changed, expired, .. }| {
        tell_expired(context, expired);
        report::tell(context, if changed.repeated { "Started, as before" } else { "Started" }, changed)?;
        let id = &changed.id;
        context.output.status(&format!(
            "next: export ANTHILL_SESSION_ID={id}\nthen: anthill session heartbeat {id}   (every few minutes; at the end: anthill session end {id})"
        ));
        Ok(())
    })
}

fn absolute(path: &Path) -> Result<String> {
    let wrong = |why: &str| CliError::invalid(format!("the working directory is not usable: {why}"));
    let path = std::path::absolute(path).map_err(|error| wrong(&error.to_string()))?;
    Ok(path.to_str().ok_or_else(|| wrong("its name is not UTF-8"))?.to_owned())
}
