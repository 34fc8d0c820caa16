use std::ffi::OsString;
use std::time::Duration;

use anthill_core::api::agent_loop::NoteGate;
use anthill_core::model::agent_loop::{Severity, Verdict};
use anthill_core::model::ids::Key;
use anthill_core::ops::agent_loop::{self, LoopChanged};
use anthill_live::gates::{Event, Findings, Gate, GateChoice, Run, judge, run_and_note};
use clap::Args;

use crate::agent_args;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;
use crate::process::ExitCode;
use crate::project_gates;
use crate::typed::{one_of, parse_id, seconds};
use crate::{consent, hooks};

/// Run a quality gate and record how it came out; with --all, end the iteration
///
/// The command comes from `.claude/anthill.toml`, from what the project's files tell, or from behind
/// `--`. It runs in the project root, in a process group of its own that is killed at its time-out.
/// The last of what it printed is kept in `.claude/state/loop/gates/NAME.log`, without secrets.
///
/// Exit 0 of the command is a pass, anything else a failure: recorded, and exit 1. Only a gate that the
/// project's files tell of is skipped when its tool is missing. How many tests failed is read from what
/// the command printed, or by `count` of the configuration. With --issues and no command it records
/// what you found; issues of severity S2 or S3 are a warning.
///
/// --all runs every gate and judges the iteration: failed gates become items, two passing iterations
/// in a row with no open item complete the loop. If somebody else judges just now, their result is
/// yours too. Exit 1 if a gate failed or the loop is held up.
///
/// Examples:
///   anthill loop gate lint
///   anthill loop gate test -- cargo nextest run
///   anthill loop gate security --issues 1 --severity S2
///   anthill loop gate --all
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GateArgs {
    /// The gate
    #[arg(value_name = "NAME", required_unless_present = "all")]
    name: Option<String>,
    /// Run every gate and judge the iteration
    #[arg(long, conflicts_with_all = ["name", "issues", "severity", "command", "timeout"])]
    all: bool,
    /// How many issues were found
    #[arg(long, value_name = "N")]
    issues: Option<u64>,
    /// How bad the worst of them is
    #[arg(long, value_name = "SEVERITY", requires = "issues", value_parser = one_of::<Severity>())]
    severity: Option<Severity>,
    /// Kill the command when it takes longer [default: what the configuration says, else 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// The command to run instead of the configured one, program first; no shell reads it
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &GateArgs) -> Result<ExitCode> {
    // Before anything is run for nothing.
    let work = agent_loop::show(&*context.engine)?;
    if args.all {
        agent_loop::check_goes_on(&work)?;
    }
    let expect = args.expect.expect_revision;
    let (engine, actor) = (&*context.engine, &context.actor);
    let (gates, done) = match &args.name {
        None => {
            let (gates, site) = (every(context)?, agent_args::site(context)?);
            hooks::keep_running();
            let tell = |event: Event<'_>| progress(context.output, &event);
            let done = judge(engine, &gates, &site, (expect, actor), &tell)?;
            (gates, done)
        }
        Some(name) if args.issues.is_some() && args.command.is_empty() => {
            let (name, severity) = (parse_id::<Key>(name)?, args.severity);
            let gate = Gate::new(name.clone(), Run::Line(String::new()));
            let issues = args.issues.unwrap_or_default();
            (vec![gate], context.ask(NoteGate { name, issues, severity, expect_revision: expect })?)
        }
        Some(name) => {
            let gate = chosen(context, parse_id(name)?, args)?;
            let (site, findings) =
                (agent_args::site(context)?, Findings { issues: args.issues, severity: args.severity });
            hooks::keep_running();
            let tell = |event: Event<'_>| progress(context.output, &event);
            let done = run_and_note(engine, &gate, findings, &site, (expect, actor), &tell)?;
            (vec![gate], done)
        }
    };
    context.answer::<NoteGate>(&done, |done| tell(context, &gates, done))?;
    let failed = gates.iter().any(|gate| result(&done, gate, "status") == Some("fail"));
    let held = matches!(done.verdict, Some(Verdict::Failed(_) | Verdict::Paused(_) | Verdict::Stopped(_)));
    Ok(ExitCode::from(u8::from(failed || held)))
}

/// Returns the gate that is meant, with what was typed for it, if it may run.
fn chosen(context: &Context<'_>, name: Key, args: &GateArgs) -> Result<Gate> {
    let (root, gates) = project_gates::find(context)?;
    let command = (!args.command.is_empty()).then(|| args.command.clone());
    let gate =
        gates.choose(GateChoice { name, command, timeout: args.timeout.map(Duration::from_secs_f64) })?;
    consent::obtain(context, &root, std::slice::from_ref(&gate))?;
    Ok(gate)
}

/// Returns all gates of the project, if they may run.
pub fn every(context: &Context<'_>) -> Result<Vec<Gate>> {
    let (root, gates) = project_gates::find(context)?;
    let gates = gates.every()?;
    consent::obtain(context, &root, &gates)?;
    Ok(gates)
}

pub fn progress(output: &Output, event: &Event<'_>) {
    match event {
        Event::Waiting => output.status("somebody else runs the gates; waiting for what they say"),
        Event::Begun(gate) => output.progress(&format!("{}: running", gate.name)),
        Event::Ended(gate, ran) => {
            output.progress(&format!("{}: ended after {:.1} s", gate.name, ran.took.as_secs_f64()));
        }
        Event::Warning(warning) => output.warning(warning),
    }
}

fn tell(context: &Context<'_>, gates: &[Gate], done: &LoopChanged) -> Result<()> {
    context.output.print(&lines(gates, done).join("\n"))?;
    let next = match &done.verdict {
        None | Some(Verdict::Complete) => return Ok(()),
        Some(Verdict::Failed(_)) => "anthill loop take",
        Some(Verdict::Passed | Verdict::Paused(_) | Verdict::Stopped(_)) => "anthill loop status",
    };
    context.output.status(&format!("next: {next}"));
    Ok(())
}

/// Returns what is recorded of a gate.
fn result<'d>(done: &'d LoopChanged, gate: &Gate, field: &str) -> Option<&'d str> {
    done.work.gate(gate.name.as_str())?.get(field)?.as_str()
}

/// Returns a line for each gate, and one for what follows.
pub fn lines(gates: &[Gate], done: &LoopChanged) -> Vec<String> {
    let line = |gate: &Gate| {
        let field = |name: &str| result(done, gate, name);
        let status = field("status").unwrap_or("not run");
        let reason = field("reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
        let is_bad = ["fail", "warn"].contains(&status);
        let issues = done.work.gate(gate.name.as_str()).and_then(|result| result.get("issues")?.as_u64());
        let issues = issues.filter(|issues| is_bad && *issues > 1);
        let issues = issues.map(|issues| format!(", {issues} issues")).unwrap_or_default();
        let log = field("log").filter(|_| is_bad).map(|log| format!(", see {log}")).unwrap_or_default();
        format!("{}: {status}{reason}{issues}{log}", gate.name)
    };
    let iteration = done.work.iteration();
    let verdict = done.verdict.as_ref().map(|verdict| match verdict {
        Verdict::Complete => format!("Complete: {}", done.work.task()),
        Verdict::Passed => format!("Passed; iteration {iteration} begins"),
        Verdict::Failed(_) => format!("Failed; iteration {iteration} begins"),
        Verdict::Paused(reason) => format!("Paused: {reason}"),
        Verdict::Stopped(reason) => format!("Stopped: {reason}"),
    });
    gates.iter().map(line).chain(verdict).collect()
}
