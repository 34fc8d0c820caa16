use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::ids::Key;
use anthill_core::ops::settings::Settings;
use anthill_live::runner::{self, Event, Job, Summary, Until};
use clap::Args;
use serde_json::json;

use crate::args::seconds;
use crate::context::{Context, parse_id};
use crate::error::{CliError, Result, io_error};
use crate::output::{Format, Output, shorten};
use crate::start::ExitCode;
use crate::{env, hooks};

/// Run a command for every task that the worker can claim
///
/// The command gets the task as a prompt on stdin and works in the project root. If it ends well,
/// the task is done and what it printed is the summary; otherwise the task has failed. It may also
/// report by itself (anthill worker complete "$ANTHILL_WORKER" "$ANTHILL_TASK_ID" ...), or print
/// a JSON object as its last line, with any of: summary, files_modified, files_created,
/// discoveries, status (done, failed or released). Of coding agents that print JSON (claude -p
/// --output-format json, codex exec --json, ...) the last words count.
///
/// It finds ANTHILL_TASK_ID, ANTHILL_TASK_FILE (the task as JSON), ANTHILL_WORKER, ANTHILL_EPOCH,
/// ANTHILL_ROOT and ANTHILL_HOME in its environment. Its lease is kept alive while it runs. When
/// it has ended, whatever it left running is killed. Ctrl-C stops the commands and gives their
/// tasks back; a second one does not wait for them. Exit 1 means that a task has failed.
///
/// Examples:
///   anthill worker run w1 -- claude -p
///   anthill worker run w1 --parallel 3 --timeout 1800 -- codex exec -
///   anthill worker run w1 --until-empty -- sh -c 'make "$ANTHILL_TASK_ID"'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    /// The worker to claim for
    #[arg(value_name = "W")]
    worker: String,
    /// Do up to N tasks at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    parallel: u16,
    /// Wait for what others are at work on; end when nothing can become ready any more
    #[arg(long, conflicts_with = "forever")]
    until_empty: bool,
    /// Wait for tasks until somebody stops the runner
    #[arg(long)]
    forever: bool,
    /// Stop a command that takes longer; its task has failed
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// How long a claim lasts if the runner dies [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    lease: Option<f64>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(context: &Context<'_>, args: &RunArgs) -> Result<ExitCode> {
    let job = job(context, args)?;
    Settings::read(&*context.engine)?.allow_agents(args.parallel.into())?;
    hooks::keep_running();
    let mut tell = |event| tell(context.output, &job.worker, &event);
    let summary = runner::run(&*context.engine, &job, &context.actor, &mut tell)?;
    conclude(context.output, &job, &summary)
}

fn job(context: &Context<'_>, args: &RunArgs) -> Result<Job> {
    let found = |root: io::Result<PathBuf>| root.map_err(|error| io_error("run", &error));
    let (home, project) = (found(context.roots.home())?, found(context.roots.project())?);
    Ok(Job {
        worker: parse_id(&args.worker)?,
        command: args.command.clone(),
        environment: vec![(env::ANTHILL_ROOT, project.clone().into()), (env::ANTHILL_HOME, home.into())],
        root: project,
        parallel: args.parallel.into(),
        until: match (args.until_empty, args.forever) {
            (true, _) => Until::Empty,
            (_, true) => Until::Stopped,
            _ => Until::NothingReady,
        },
        timeout: args.timeout.map(Duration::from_secs_f64),
        lease: args.lease,
        watchdog: watchdog(),
    })
}

/// Returns this program as a watchdog, if it knows where it is.
pub fn watchdog() -> Option<Vec<OsString>> {
    let program = std::env::current_exe().ok()?;
    Some(vec![program.into(), "worker".into(), "watchdog".into()])
}

fn tell(output: &Output, worker: &Key, event: &Event) {
    match event {
        Event::Claimed(task) => {
            let description = task.value()["description"].as_str().unwrap_or_default();
            output.status(&format!("Claimed for {worker}: {}  {}", task.id(), first_line(description)));
        }
        Event::Output { task, line } => output.status(&format!("[{task}] {line}")),
        Event::Done(task) => output.status(&format!("Done: {task}")),
        Event::Failed { task, reason } => {
            output.status(&format!("Failed: {task}: {}", first_line(reason)));
        }
        Event::Released(task) => output.status(&format!("Released: {task}")),
        Event::Lost { task, why } => output.warning(&format!("lost {task}: {why}")),
        Event::Warning(warning) => output.warning(warning),
    }
}

fn first_line(text: &str) -> String {
    shorten(text.trim().lines().next().unwrap_or_default(), 200)
}

fn conclude(output: &Output, job: &Job, summary: &Summary) -> Result<ExitCode> {
    let Summary { done, failed, released, lost, signal } = summary;
    let nothing = [done, failed, released, lost].into_iter().all(Vec::is_empty);
    if nothing && signal.is_none() && job.until == Until::NothingReady {
        return Err(CliError::new(Code::NotFound, format!("nothing to claim for `{}`", job.worker))
            .hinted("wait for others with --until-empty, or for new tasks with --forever"));
    }
    let ids = |keys: &[Key]| keys.iter().map(Key::to_string).collect::<Vec<_>>();
    if output.json {
        let summary = json!({
            "worker": job.worker.as_str(), "done": ids(done), "failed": ids(failed),
            "released": ids(released), "lost": ids(lost),
        });
        output.value(&summary, Format::Json)?;
    }
    output.status(&format!("{} done, {} failed, {} released", done.len(), failed.len(), released.len()));
    Ok(exit_code(summary))
}

/// Returns what a shell would say of the signal that stopped us, else whether a task has failed.
fn exit_code(summary: &Summary) -> ExitCode {
    let stopped = summary.signal.and_then(|signal| u8::try_from(128 + signal).ok());
    stopped.unwrap_or(u8::from(!summary.failed.is_empty())).into()
}

impl From<runner::Error> for CliError {
    fn from(error: runner::Error) -> CliError {
        match error {
            runner::Error::Ops(error) => error.into(),
            runner::Error::Io { action, source } => io_error(action, &source),
            runner::Error::Command { program, source } => {
                CliError::invalid(format!("cannot run `{program}`: {source}"))
                    .hinted("the command follows `--`, program first; a line of shell needs: sh -c 'LINE'")
            }
        }
    }
}
