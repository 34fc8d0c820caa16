use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anthill_core::api::overview::ShowStatus;
use anthill_core::model::ids::SessionId;
use anthill_core::model::json;
use anthill_core::model::kind::Doc;
use anthill_core::ops::queue::diagnose;
use anthill_core::view::status::{board, line, team};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::context::Context;
use crate::direct::{self, Direct};
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::output::Output;
use crate::process::ExitCode;
use crate::typed::parse_id;

/// Show how everything stands: sessions, tasks, phases, errors, messages
///
/// Of the queue also the verdict, and who does what, for how long, on which files and at what cost.
/// Its words are those of the board: working (claimed, in_progress in the file), ready (available),
/// waiting (created).
///
/// Only looks: nothing is changed, made or given up. What cannot be read says so in its place, and
/// the exit code stays 0. With --json an object {sessions, queue, workflow, pipeline, loop, errors,
/// messages}, with null for what there is not. Messages are those of your session; of all sessions,
/// if yours is not known.
///
/// --line prints one line of at most 80 columns for the status line of a client, or nothing when
/// there is nothing to say. {status line} shows it after `anthill init --status-line`; the session is
/// then taken from the JSON on stdin.
///
/// Examples:
///   anthill status
///   anthill status --project-id myapp
///   anthill status --json | jq .queue.progress.percent
///   anthill status --line
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {
    /// One short line; never fails
    #[arg(long)]
    line: bool,
    /// Only the sessions of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
}

/// The longest text that is read from a client.
const LONGEST: usize = 64 << 10;
/// How long a client may take to say who it is.
const PATIENCE: Duration = Duration::from_millis(200);

impl Direct for StatusArgs {
    const OPTIONS: &'static [Opt] = &[("--line", "", Takes::Nothing), ("--project-id", "", Takes::One)];

    fn read(words: &mut Words) -> Option<StatusArgs> {
        Some(StatusArgs { line: words.flag("--line"), project_id: words.value("--project-id") })
    }
}

/// Runs it without clap: clients ask for the status line again and again.
pub fn direct(rest: &[String]) -> Option<ExitCode> {
    let (global, args) = direct::read::<StatusArgs>(rest)?;
    let output = Output::new(global.json, global.color);
    let done = run(|| Context::new(&global, &output), &output, &args);
    Some(done.map_or_else(|error| output.failure(&error), |()| ExitCode::SUCCESS))
}

pub fn run<'o>(
    context: impl FnOnce() -> Result<Context<'o>>,
    output: &Output,
    args: &StatusArgs,
) -> Result<()> {
    if !args.line || output.json {
        return show(&context()?, args);
    }
    // Errors must not get in the way: a status line is always on the screen.
    if let Err(error) = context().and_then(|context| show_line(&context, args)) {
        output.warning(&error.message);
    }
    Ok(())
}

fn show(context: &Context<'_>, args: &StatusArgs) -> Result<()> {
    let request = args.request(None)?;
    let (now, width, door) = (context.actor.now(), context.output.width(), context.actor.door);
    context.perform(request, |status| {
        let mut lines = board(&status.value, now, width, door);
        if !context.engine.is_absent(&Doc::queue()) {
            // What cannot be read is told by its block.
            let scene = diagnose::scene(&*context.engine, &context.actor).ok();
            lines.extend(scene.iter().flat_map(|scene| team(scene, width, door)));
        }
        context.output.lines(&lines)
    })
}

fn show_line(context: &Context<'_>, args: &StatusArgs) -> Result<()> {
    let told = if context.own_session().is_none() { session_on_stdin() } else { None };
    context.perform(args.request(told)?, |status| {
        line(&status.value).map_or(Ok(()), |line| context.output.status_line(&line))
    })
}

impl StatusArgs {
    fn request(&self, session_id: Option<SessionId>) -> Result<ShowStatus> {
        let project_id = self.project_id.as_deref().map(parse_id).transpose()?;
        Ok(ShowStatus { project_id, session_id })
    }
}

/// Returns the session that a client names in a JSON object on stdin. It does not wait for long; any other input is ignored.
fn session_on_stdin() -> Option<SessionId> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let (deadline, mut text) = (Instant::now() + PATIENCE, Vec::new());
    let mut piece = vec![0; LONGEST];
    while text.len() < LONGEST {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()?;
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => continue,
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        let room = LONGEST - text.len();
        match rustix::io::read(&stdin, &mut piece[..room]) {
            Ok(0) | Err(_) => return None,
            Ok(count) => text.extend_from_slice(&piece[..count]),
        }
        // Some clients do not close it.
        if let Ok(value) = json::parse(&text) {
            return value.get("session_id")?.as_str()?.parse().ok();
        }
    }
    None
}
