use std::io::IsTerminal;
use std::time::Instant;

use anthill_core::error::Code;
use anthill_core::model::pipeline::simulate::{self, Figures};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::error::{CliError, Result};
use crate::output::{Format, Output};

/// Run random plans with scripted agents and injected failures, in memory
///
/// Checks that every run ends (complete, or stopped at a limit with a reason), that no group begins
/// before what it depends on, that never too many work at once, that nothing is complete without
/// tests and review, that repeated and wrong reports change nothing, and that the documents are
/// valid. Touches no files. A broken promise ends with exit 1 and the seed that repeats it.
///
/// Examples:
///   anthill pipeline simulate
///   anthill pipeline simulate --plans 10000 --seed 7
///   anthill pipeline simulate --plans 1 --seed 4711 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SimulateArgs {
    /// How many plans
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    plans: u64,
    /// The seed of the first plan; the next one has the next
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

pub fn run(output: &Output, args: &SimulateArgs) -> Result<()> {
    let seen = !output.json && std::io::stderr().is_terminal();
    let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} plans").expect("a constant template");
    let bar = ProgressBar::with_draw_target(Some(args.plans), target).with_style(style);
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let result = simulate::simulate(args.plans, args.seed, threads, &|| bar.inc(1));
    bar.finish_and_clear();
    let figures = result.map_err(|broken| {
        let again = format!("repeat it alone: anthill pipeline simulate --plans 1 --seed {}", broken.seed);
        CliError::new(Code::Refused, broken.to_string()).hinted(again).detail("seed", broken.seed)
    })?;
    let seconds = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    match output.json {
        true => output.value(&as_json(&figures, args.seed, seconds), Format::Json),
        false => output.print(&as_text(&figures, seconds)),
    }
}

fn as_json(figures: &Figures, seed: u64, seconds: f64) -> Value {
    json!({
        "plans": figures.plans, "seed": seed, "seconds": seconds, "completed": figures.completed,
        "stopped": figures.stopped, "groups": figures.groups, "orders": figures.orders, "reports": figures.reports,
        "repeats": figures.repeats, "refusals": figures.refusals, "deaths": figures.deaths,
        "escalations": figures.escalations, "most_developers": figures.most_developers,
        "longest_run": figures.longest_run,
    })
}

fn as_text(figures: &Figures, seconds: f64) -> String {
    let escalations: Vec<String> =
        figures.escalations.iter().map(|(purpose, count)| format!("{count} {purpose}")).collect();
    [
        format!("{} plans in {seconds} s, every promise kept", figures.plans),
        format!(
            "  {} completed, {} stopped at a limit, {} groups",
            figures.completed, figures.stopped, figures.groups
        ),
        format!(
            "  {} orders, {} reports, the longest run {} reports",
            figures.orders, figures.reports, figures.longest_run
        ),
        format!(
            "  {} reports repeated, {} wrong ones refused, {} agents gone without a word",
            figures.repeats, figures.refusals, figures.deaths
        ),
        format!(
            "  escalations: {}",
            if escalations.is_empty() { "none".into() } else { escalations.join(", ") }
        ),
        format!("  at most {} developers at once", figures.most_developers),
    ]
    .join("\n")
}
