use anthill_core::model::clients::DEFAULT;
use anthill_core::ops::agent_loop;
use anthill_live::gates::Gate;
use anthill_live::loop_run::{self, End, Event, Job};
use anthill_live::runner::brief;
use clap::Args;

use super::{gate, taken_back};
use crate::agent_args::{self, CareArgs};
use crate::context::Context;
use crate::error::Result;
use crate::hooks;
use crate::output::Format;
use crate::process::ExitCode;
use crate::sentence::{shorten, text};
use crate::typed::seconds;

/// Let an agent do the items, and judge by the gates, until the loop is complete
///
/// An agent is {`agents`}, or any line of shell. It works in the project
/// root, gets an item as a prompt on stdin, and says in its last words how the item stands, as for
/// `anthill worker run`. What fails, takes too long or falls silent is tried again as its kind of
/// error deserves; then the item is put back and the run ends. What the agent's service cannot do
/// now (a usage limit, overload, a lost connection) is waited for. When no item waits, all gates are
/// run and the iteration is judged, as by `anthill loop gate --all`. A loop without items begins with
/// its task as one.
///
/// It finds ANTHILL_TASK_ID (the item), ANTHILL_TASK_FILE (the item as JSON), ANTHILL_WORKER,
/// ANTHILL_ROOT and ANTHILL_HOME in its environment. When it has ended, whatever it left running is
/// killed. What it printed is kept in .claude/state/loop/items, what agents used in the work queue.
/// Ctrl-C puts the item back, and the next run takes over what a killed one had. Several runs at once
/// share the items and judge together. Exit 1 means that the loop is paused, has stopped, waits for
/// somebody else, or that an item could not be done.
///
/// Examples:
///   anthill loop run
///   anthill loop run --agent codex
///   anthill loop run --agent ./work.sh --timeout 600
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    /// What does an item: {agents}, or a line of shell
    #[arg(long, value_name = "AGENT", default_value = DEFAULT.name)]
    agent: String,
    /// Who takes the items, for people [default: the run's own name, such as run-1]
    #[arg(long = "as", value_name = "WHO")]
    who: Option<String>,
    /// Stop an agent that takes longer
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    timeout: f64,
    #[command(flatten)]
    care: CareArgs,
}

pub fn run(context: &Context<'_>, args: &RunArgs) -> Result<ExitCode> {
    agent_loop::check_goes_on(&agent_loop::show(&*context.engine)?)?;
    let actor = &context.actor;
    let job = Job {
        agent: agent_args::agent(&args.agent)?,
        who: args.who.clone(),
        limits: args.care.limits(Some(args.timeout)),
        retries: args.care.retries,
        max_cost: args.care.max_cost,
        // Once, so that agents cannot change the gates that judge their work.
        gates: gate::every(context)?,
        site: agent_args::site(context)?,
    };
    hooks::keep_running();
    let (end, usage) =
        loop_run::run(&*context.engine, &job, actor, &|event| tell(context, &job.gates, &event))?;
    if context.output.json {
        context.output.changed(&agent_loop::show(&*context.engine)?.queue, Format::Json)?;
    }
    agent_args::spent(usage).into_iter().for_each(|used| context.output.status(&used));
    match end {
        End::Complete => Ok(ExitCode::SUCCESS),
        End::Held(reason) => {
            context.output.status(&format!("The run ends: {reason}\nnext: anthill loop status"));
            Ok(ExitCode::from(1))
        }
        End::Signal(signal) => {
            context.output.status("stopped; go on: anthill loop run");
            Ok(ExitCode::of_signal(signal))
        }
    }
}

fn tell(context: &Context<'_>, gates: &[Gate], event: &Event<'_>) {
    let output = context.output;
    match event {
        Event::Taken(item) => {
            let title = text(item, "title").replace(['\n', '\r', '\t'], " ");
            output.status(&format!("Taken: {}  {}", text(item, "id"), shorten(&title, 100)));
        }
        Event::Output(line) => output.status(&format!("| {line}")),
        Event::Done(id) => output.status(&format!("Done: {id}")),
        Event::Again { id, reason, delay } => output.status(&agent_args::again(id, reason, *delay)),
        Event::PutBack { id, reason } => {
            output.status(&format!("Put back: {id}: {}", shorten(&brief(reason), 200)));
        }
        Event::Paused { until, reason } => output.status(&agent_args::paused(&context.actor, *until, reason)),
        Event::Gate(event) => gate::progress(output, event),
        Event::TakenBack(given) => output.status(&taken_back::sentence(given)),
        Event::Waiting { id, by } => output.progress(&format!("{id}: {by} has it; waiting")),
        Event::Judged(done) => {
            done.warnings.iter().for_each(|warning| output.warning(warning));
            output.status(&gate::lines(gates, done).join("\n"));
        }
        Event::Warning(warning) => output.warning(warning),
    }
}
