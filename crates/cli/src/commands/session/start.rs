use std::path::{Path, PathBuf};

use anthill_core::model::ids::{ProjectId, SessionId};
use anthill_core::model::session::{Start, Whereabouts};
use anthill_core::ops::sessions::{self, look};
use clap::Args;

use super::{report, tell_expired};
use crate::context::{Context, parse_new_id};
use crate::error::{CliError, Result};
use crate::git;

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
    let told = args.id.as_deref().or_else(|| context.told_session().map(SessionId::as_str));
    let id: Option<SessionId> = told.map(parse_new_id).transpose()?;
    let project: Option<ProjectId> = args.project_id.as_deref().map(parse_new_id).transpose()?;
    let whereabouts = whereabouts(args.working_directory.as_deref())?;
    let default_project = context.own_project().map(|project| project.to_string());
    let start =
        Start { project, default_project, whereabouts, user: context.actor.user.clone(), sparing: false };
    let (engine, actor) = (&*context.engine, &context.actor);
    let changed = sessions::start(engine, id.as_ref(), &start, actor)?;
    // The session has started: what others left behind is no reason to fail.
    match look::expire_overdue(engine, actor) {
        Ok(expired) => tell_expired(context, &expired),
        Err(error) => context.output.warning(&format!("did not look for silent sessions: {error}")),
    }
    report(context, if changed.repeated { "Started, as before" } else { "Started" }, &changed)?;
    let id = &changed.id;
    context.output.status(&format!(
        "next: export ANTHILL_SESSION_ID={id}\nthen: anthill session heartbeat {id}   (every few minutes; at the end: anthill session end {id})"
    ));
    Ok(())
}

fn whereabouts(told: Option<&Path>) -> Result<Whereabouts> {
    let Some(path) = told else {
        // A directory that is gone, or whose name is no text, is left out.
        let here = std::env::current_dir().ok();
        let directory = here.as_deref().and_then(Path::to_str).map(str::to_owned);
        return Ok(Whereabouts { directory, branch: here.as_deref().and_then(git::branch), told: false });
    };
    let wrong = |why: &str| CliError::invalid(format!("the working directory is not usable: {why}"));
    let path = std::path::absolute(path).map_err(|error| wrong(&error.to_string()))?;
    let directory = path.to_str().ok_or_else(|| wrong("its name is not UTF-8"))?.to_owned();
    Ok(Whereabouts { directory: Some(directory), branch: git::branch(&path), told: true })
}
