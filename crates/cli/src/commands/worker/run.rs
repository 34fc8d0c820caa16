use std::ffi::OsString;

use anthill_core::error::Code;
use anthill_core::model::diagnosis::{Diagnosis, Verdict};
use anthill_core::model::ids::Key;
use anthill_core::model::kind::Doc;
use anthill_core::ops::queue::diagnose::diagnose;
use anthill_core::view::diagnosis as view;
use anthill_live::runner::brief;
use anthill_live::worker_run::{self, Doer, Event, Job, Summary, Until};
use clap::Args;
use serde_json::json;

use crate::agent_args::{self, CareArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::hooks;
use crate::output::Format;
use crate::process::ExitCode;
use crate::sentence::shorten;
use crate::typed::{parse_new_id, seconds};

/// Run a command or an agent for every task that the worker can claim
///
/// It is {`agents`} or a line of shell (--agent), or a program with its
/// arguments (after `--`). It gets the task as a prompt on stdin and works in the project root. It
/// may report by itself (anthill worker complete "$ANTHILL_WORKER" "$ANTHILL_TASK_ID" ...).
///
/// A program's exit code is its answer, and what it printed is the summary; if its output ends with a
/// JSON object, that may have any of: status (done, failed, blocked or released), summary,
/// files_modified, files_created, discoveries. An agent has to say in its last words how the task
/// stands, by an object with a status: alone, in a fence, with words around it. One that does not say
/// is asked once more; if it does not say then, the task has failed.
///
/// It finds ANTHILL_TASK_ID, ANTHILL_TASK_FILE (the task as JSON), ANTHILL_WORKER, ANTHILL_EPOCH,
/// ANTHILL_ROOT and ANTHILL_HOME in its environment. Its lease is kept alive while it runs. When it
/// has ended, whatever it left running is killed. Ctrl-C stops the commands and gives their tasks
/// back; a second one does not wait for them. An agent (--agent) that fails is tried again as its
/// kind of error deserves.
///
/// When an agent's service has no room (a usage limit, overload, a lost connection), the task goes
/// back unharmed, and nothing is started until the time that the service tells, or for a while. When
/// it is not logged in, has no credit, or does not work in this place, the run ends with exit 1 and
/// says what to do. What was printed is kept in .coordination/logs/tasks, what agents used in the
/// task. Exit 1 means that a task has failed, that the budget is used up, or, with --until-empty, that
/// open work is left which will not be done by itself; it says why, as `anthill explain` does.
///
/// Examples:
///   anthill worker run w1 --agent claude --max-cost 5
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
    #[command(flatten)]
    care: CareArgs,
    /// Who does the tasks: {agents}, or a line of shell
    #[arg(long, value_name = "AGENT", conflicts_with = "command")]
    agent: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "agent", value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(context: &Context<'_>, args: &RunArgs) -> Result<ExitCode> {
    let job = job(context, args)?;
    hooks::keep_running();
    let mut tell = |event| tell(context, &job.worker, &event);
    let summary = worker_run::run(&*context.engine, &job, &context.actor, &mut tell)?;
    let stuck = if job.until == Until::Empty { stuck(context, &summary)? } else { None };
    conclude(context, &job, &summary, stuck.as_ref())
}

fn job(context: &Context<'_>, args: &RunArgs) -> Result<Job> {
    let doer = match &args.agent {
        Some(agent) => Doer::Agent(agent_args::agent(agent)?),
        None => Doer::Command(args.command.clone()),
    };
    // A plain command is not tried again, unless somebody wants that.
    let retries = args.care.retries.or(args.agent.is_none().then_some(0));
    Ok(Job {
        worker: parse_new_id(&args.worker)?,
        doer,
        site: agent_args::site(context)?,
        parallel: args.parallel.into(),
        until: match (args.until_empty, args.forever) {
            (true, _) => Until::Empty,
            (_, true) => Until::Stopped,
            _ => Until::NothingReady,
        },
        limits: args.care.limits(args.timeout),
        retries,
        max_cost: args.care.max_cost,
        lease: args.lease,
    })
}

fn tell(context: &Context<'_>, worker: &Key, event: &Event) {
    let output = context.output;
    match event {
        Event::Claimed(task) => {
            let description = task.value()["description"].as_str().unwrap_or_default();
            output.status(&format!("Claimed for {worker}: {}  {}", task.id(), first_line(description)));
        }
        Event::Output { task, line } => output.status(&format!("[{task}] {line}")),
        Event::Again { task, reason, delay } => {
            output.status(&agent_args::again(task.as_str(), reason, *delay));
        }
        Event::Done(task) => output.status(&format!("Done: {task}")),
        Event::Failed { task, reason } => {
            output.status(&format!("Failed: {task}: {}", first_line(reason)));
        }
        Event::Released(task) => output.status(&format!("Released: {task}")),
        Event::PutBack { task, reason } => {
            output.status(&format!("Put back: {task}: {}", shorten(&brief(reason), 200)));
        }
        Event::Paused { until, reason } => output.status(&agent_args::paused(&context.actor, *until, reason)),
        Event::Lost { task, why } => output.warning(&format!("lost {task}: {why}")),
        Event::Warning(warning) => output.warning(warning),
    }
}

fn first_line(text: &str) -> String {
    shorten(text.trim().lines().next().unwrap_or_default(), 200)
}

/// Returns why open work is left that will not be done by itself, if that is how the run ended.
fn stuck(context: &Context<'_>, summary: &Summary) -> Result<Option<Diagnosis>> {
    if summary.signal.is_some() || summary.over_budget || context.engine.is_absent(&Doc::queue()) {
        return Ok(None);
    }
    let found = diagnose(&*context.engine, &context.actor)?;
    Ok(Some(found).filter(|found| found.verdict == Verdict::Stuck))
}

fn conclude(
    context: &Context<'_>,
    job: &Job,
    summary: &Summary,
    stuck: Option<&Diagnosis>,
) -> Result<ExitCode> {
    let output = context.output;
    let Summary { done, failed, released, lost, usage, over_budget, signal } = summary;
    let nothing = [done, failed, released, lost].into_iter().all(Vec::is_empty);
    if nothing && signal.is_none() && job.until == Until::NothingReady {
        return Err(CliError::new(Code::NotFound, format!("nothing to claim for `{}`", job.worker))
            .hinted("wait for others with --until-empty, or for new tasks with --forever"));
    }
    if output.json {
        let mut summary = summary.json(&job.worker);
        if let Some(found) = stuck {
            summary["stuck"] = json!(view::note(found, context.actor.door));
        }
        output.value(&summary, Format::Json)?;
    }
    output.status(&format!("{} done, {} failed, {} released", done.len(), failed.len(), released.len()));
    agent_args::spent(*usage).into_iter().for_each(|used| output.status(&used));
    if *over_budget {
        output.status("The budget is used up; to go on, run it again");
    }
    if let Some(found) = stuck {
        let lines = view::page(found, view::MOST, output.width(), context.actor.door);
        lines.iter().for_each(|line| output.status(&line.text));
    }
    Ok(exit_code(summary, stuck.is_some()))
}

/// Returns the code of the signal that stopped us, else whether a task has failed, the budget is used up, or work is left that
/// nobody can do.
fn exit_code(summary: &Summary, is_stuck: bool) -> ExitCode {
    let is_bad = !summary.failed.is_empty() || summary.over_budget || is_stuck;
    summary.signal.map_or(u8::from(is_bad).into(), ExitCode::of_signal)
}
