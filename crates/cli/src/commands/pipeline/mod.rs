//! The pipeline: project manager, developers, testers, tech lead.

mod explain;
mod init;
pub(super) mod input;
mod next;
mod next_step;
mod plan;
mod report;
mod simulate;
mod status;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;
use crate::output::Output;
use crate::process::ExitCode;

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
