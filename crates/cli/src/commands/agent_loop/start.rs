use anthill_core::api::agent_loop::StartLoop;
use anthill_core::api::request::Iterations;
use anthill_core::model::agent_loop::PauseOn;
use clap::Args;
use clap::builder::{RangedU64ValueParser, TypedValueParser};

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{one_of, prose};

/// Begin a loop, or go on with the one that is there
///
/// The same task again goes on: a loop that was paused or has stopped does so too. Another task needs
/// --reset until the loop is complete; a complete one does not begin again without --reset.
///
/// Examples:
///   anthill loop start "implement user authentication"
///   anthill loop start "fix the build" --reset --max-iterations 10
///   anthill loop start --max-iterations 100     # go on after it stopped
///   anthill loop start --pause-on none
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StartArgs {
    /// What is to be done [default: the task of the loop that is there]
    #[arg(value_name = "TASK", allow_hyphen_values = true, value_parser = prose)]
    task: Option<String>,
    /// Begin anew, whatever is there
    #[arg(long)]
    reset: bool,
    /// Stop after so many iterations [default: 50]
    #[arg(long, value_name = "N", value_parser = iterations())]
    max_iterations: Option<Iterations>,
    /// Hold the loop up for an open item this bad, or worse [default: S0]
    #[arg(long, value_name = "SEVERITY", value_parser = one_of::<PauseOn>())]
    pause_on: Option<PauseOn>,
    #[command(flatten)]
    expect: ExpectArgs,
}

fn iterations() -> impl TypedValueParser<Value = Iterations> {
    let range = RangedU64ValueParser::<u64>::new().range(1..=1_000_000);
    range.map(|number| Iterations::new(number).expect("the range says so"))
}

pub fn run(context: &Context<'_>, args: &StartArgs) -> Result<()> {
    let request = StartLoop {
        task: args.task.clone(),
        reset: args.reset,
        max_iterations: args.max_iterations,
        pause_on: args.pause_on,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |done| {
        let work = &done.work;
        let what = if done.changed { "The loop runs" } else { "The loop runs already" };
        let (iteration, most) = (work.iteration(), work.max_iterations());
        let said = format!("{what}, iteration {iteration} of {most}: {}", work.task());
        let next = match work.items().is_empty() {
            true => "anthill loop add TITLE -p S1, then anthill loop take",
            false => "anthill loop take",
        };
        context.output.print_with_next(&said, next)
    })
}
