//! The pipeline: project manager, developers, testers, tech lead.

mod explain;
mod init;
mod next;
mod plan;
mod report;
mod simulate;
mod status;

use anthill_core::model::json;
use anthill_core::model::pipeline::Pipeline as Run;
use clap::Subcommand;
use serde_json::Value;

use crate::commands::read_file;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Output;
use crate::start::ExitCode;

/// Build as a team: a plan, developers, tests, reviews, one state machine over all of it
///
/// Agents keep nothing; the six files of `coordination/` are their memory. `next` says who is needed
/// now and with which prompt, `report` says what came out and moves the group on. See
/// docs/pipeline.md for the table.
///
/// Examples:
///   anthill pipeline init "JWT authentication, user registration, password reset"
///   anthill pipeline next --json | jq -r '.[0].prompt'
///   anthill pipeline plan --file plan.json
///   anthill pipeline report developer A READY_FOR_QA --file done.json
///   anthill pipeline status
///   anthill pipeline simulate --plans 1000
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Pipeline {
    Init(init::InitArgs),
    Plan(plan::PlanArgs),
    Next(next::NextArgs),
    Report(report::ReportArgs),
    Status(status::StatusArgs),
    Explain(explain::ExplainArgs),
    Simulate(simulate::SimulateArgs),
}

pub fn run<'o>(
    context: impl Fn() -> Result<Context<'o>>,
    output: &Output,
    command: &Pipeline,
) -> Result<ExitCode> {
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        Pipeline::Init(args) => done(init::run(&context()?, args)),
        Pipeline::Plan(args) => done(plan::run(&context()?, args)),
        Pipeline::Next(args) => done(next::run(&context()?, args)),
        Pipeline::Report(args) => done(report::run(&context()?, args)),
        Pipeline::Status(_) => done(status::run(&context()?)),
        Pipeline::Explain(args) => done(explain::run(&context()?, args)),
        Pipeline::Simulate(args) => done(simulate::run(output, args)),
    }
}

/// The largest file that is read.
const LIMIT: u64 = 1 << 20;

/// Returns requirements as typed, or stdin for `-`.
pub fn requirements(typed: &str) -> Result<String> {
    match typed {
        "-" => String::from_utf8(read_file("-", LIMIT)?)
            .map_err(|_| CliError::invalid("stdin is not UTF-8 text")),
        typed => Ok(typed.to_owned()),
    }
}

/// Reads a file of JSON, or stdin for `-`.
fn read_json(file: &str) -> Result<Value> {
    json::parse(&read_file(file, LIMIT)?).map_err(|error| {
        CliError::invalid(format!("`{file}` is not JSON: {error}")).hinted("nothing was changed")
    })
}

/// Says what to do next with a run.
fn tell_next(context: &Context<'_>, run: &Run) {
    let line = match run.stop_reason() {
        Some(reason) if run.is_given_up() => {
            format!("the run was given up: {reason}; go on: anthill orchestrate --resume")
        }
        Some(reason) => {
            format!("the run has stopped: {reason}; a new plan lets it go on: anthill pipeline plan --file F")
        }
        None if run.summary() == "completed" => "the run is complete".into(),
        None => "next: anthill pipeline next".into(),
    };
    context.output.status(&line);
}
