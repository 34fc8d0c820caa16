use std::time::Duration;

use anthill_core::ops::agent_loop;
use anthill_live::looping::{self, End, Event, Job};
use clap::Args;

use super::gate;
use crate::args::seconds;
use crate::commands::orchestrate;
use crate::context::Context;
use crate::error::Result;
use crate::hooks;
use crate::output::{Format, Output, shorten};
use crate::planning::text;
use crate::start::ExitCode;

/// Let a command do the items, and judge by the gates, until the loop is complete
///
/// The agent is one of those that `anthill orchestrate` knows, or a line for the shell, run in the project root. It gets an item as a prompt on stdin; exit 0 means done,
/// anything else puts the item back, and three times in a row end the run. When no item waits, all gates are run and
/// the iteration is judged, as by `anthill loop gate --all`. A loop without items begins with its task as one.
///
/// It finds ANTHILL_TASK_ID (the item), ANTHILL_TASK_FILE (the item as JSON), ANTHILL_WORKER, ANTHILL_ROOT and
/// ANTHILL_HOME in its environment. When it has ended, whatever it left running is killed. Exit 1 means that the loop is
/// paused, has stopped, or waits for somebody else.
///
/// Examples:
///   anthill loop run
///   anthill loop run --agent codex
///   anthill loop run --agent ./work.sh --timeout 600
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    /// What does an item: claude, codex, gemini, opencode, or a line of shell
    #[arg(long, value_name = "AGENT", default_value = "claude")]
    agent: String,
    /// Who takes the items [default: the session, else the user]
    #[arg(long = "as", value_name = "WHO")]
    who: Option<String>,
    /// Kill the command when an item takes longer; it is put back
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    timeout: f64,
}

pub fn run(context: &Context<'_>, args: &RunArgs) -> Result<ExitCode> {
    agent_loop::check_goes_on(&agent_loop::show(&*context.engine)?)?;
    let actor = &context.actor;
    let job = Job {
        agent: orchestrate::line(&args.agent)?,
        who: args.who.as_ref().or(actor.session.as_ref()).unwrap_or(&actor.user).clone(),
        timeout: Duration::from_secs_f64(args.timeout),
        // Once: what the command writes into the configuration does not judge its own work.
        gates: gate::every(context)?,
        place: gate::place(context)?,
    };
    hooks::keep_running();
    let end = looping::run(&*context.engine, &job, actor, &|event| tell(context.output, &event))?;
    if context.output.json {
        context.output.changed(&agent_loop::show(&*context.engine)?.queue, Format::Json)?;
    }
    match end {
        End::Complete => Ok(ExitCode::SUCCESS),
        End::Held(reason) => {
            context.output.status(&format!("The run ends: {reason}\nnext: anthill loop status"));
            Ok(ExitCode::from(1))
        }
    }
}

fn tell(output: &Output, event: &Event<'_>) {
    match event {
        Event::Taken(item) => {
            let title = text(item, "title").replace(['\n', '\r', '\t'], " ");
            output.status(&format!("Taken: {}  {}", text(item, "id"), shorten(&title, 100)));
        }
        Event::Output(line) => output.status(&format!("| {line}")),
        Event::Done(id) => output.status(&format!("Done: {id}")),
        Event::PutBack { id, reason } => {
            output.status(&format!(
                "Put back: {id}: {}",
                shorten(reason.lines().next().unwrap_or_default(), 200)
            ));
        }
        Event::Gate(event) => gate::progress(output, event),
        Event::Judged(reports, done) => {
            done.warnings.iter().for_each(|warning| output.warning(warning));
            output.status(&gate::lines(reports, done).join("\n"));
        }
        Event::Warning(warning) => output.warning(warning),
    }
}
