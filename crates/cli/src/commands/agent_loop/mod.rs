//! The work loop: items, gates, iterations.

mod add;
mod add_gate;
mod done;
mod gate;
mod release;
mod reset;
mod run;
mod start;
mod status;
mod take;
mod taken_back;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;
use crate::process::ExitCode;

/// Work in a loop until every quality gate passes
///
/// A loop has a task, items to do (S0 the worst, S3 the least) and gates: commands such as the linter
/// and the tests. An iteration ends with all gates run. A gate that fails becomes an item; when all
/// have passed in two iterations in a row and no item is open, the loop is complete. It stops after
/// --max-iterations, when the same failures come three times in a row (fewer or others are progress),
/// and when no gate could be run; an open item as bad as --pause-on holds it up for you.
///
/// Every change also writes `.claude/state/loop/LOOP_STATE.md`, a view for people. Gates come from
/// `.claude/anthill.toml`, else from what the project's files tell (Cargo.toml, package.json,
/// pyproject.toml, tests of Python, go.mod):
///
///   [gates.lint]
///   run = "cargo clippy -- -D warnings"
///   timeout = 600          # seconds
///   parallel = false       # true: side by side with its neighbours that say so too
///   blocking = true        # false: a failure is a warning
///   severity = "S1"        # how bad a failure is
///   count = "{} warnings"  # where its output says how many issues there are
///
/// Examples:
///   anthill loop start "implement user authentication"
///   anthill loop add "Add session management" -p S1
///   anthill loop take
///   anthill loop done work-001
///   anthill loop add-gate test -- pytest -q
///   anthill loop gate --all
///   anthill loop run --agent claude
///   anthill loop status
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum AgentLoop {
    Start(start::StartArgs),
    Add(add::AddArgs),
    Take(take::TakeArgs),
    Release(release::ReleaseArgs),
    Done(done::DoneArgs),
    Gate(gate::GateArgs),
    AddGate(add_gate::AddGateArgs),
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Reset(reset::ResetArgs),
}

pub fn run(context: &Context<'_>, command: &AgentLoop) -> Result<ExitCode> {
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        AgentLoop::Start(args) => done(start::run(context, args)),
        AgentLoop::Add(args) => done(add::run(context, args)),
        AgentLoop::Take(args) => done(take::run(context, args)),
        AgentLoop::Release(args) => done(release::run(context, args)),
        AgentLoop::Done(args) => done(done::run(context, args)),
        AgentLoop::Gate(args) => gate::run(context, args),
        AgentLoop::AddGate(args) => done(add_gate::run(context, args)),
        AgentLoop::Run(args) => run::run(context, args),
        AgentLoop::Status(_) => done(status::run(context)),
        AgentLoop::Reset(args) => done(reset::run(context, args)),
    }
}
