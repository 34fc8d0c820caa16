use std::ffi::OsString;
use std::time::Duration;

use anthill_core::api::agent_loop::NoteGate;
use anthill_core::error::Code;
use anthill_core::model::agent_loop::{Severity, Verdict};
use anthill_core::model::ids::Key;
use anthill_core::ops::agent_loop::{self, Done, GateReport};
use anthill_live::gates::config::{self, NewGate};
use anthill_live::gates::{Event, Gate, Gates, Run, judge, run_one};
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Output;
use crate::process::ExitCode;
use crate::project_gates;
use crate::staff;
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
    // Before anything is run: it would be for nothing.
    let work = agent_loop::show(&*context.engine)?;
    if args.all {
        agent_loop::check_goes_on(&work)?;
    }
    let expect = args.expect.expect_revision;
    let (engine, actor) = (&*context.engine, &context.actor);
    let (gates, done) = match &args.name {
        None => {
            let (gates, site) = (every(context)?, staff::site(context)?);
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
            let report = run_gate(context, &gate, args)?;
            (vec![gate], agent_loop::note_gates(engine, &[report], false, expect, actor)?)
        }
    };
    context.answer::<NoteGate>(&done, |done| tell(context, &gates, done))?;
    let failed = gates.iter().any(|gate| result(&done, gate, "status") == Some("fail"));
    let held = matches!(done.verdict, Some(Verdict::Failed(_) | Verdict::Paused(_) | Verdict::Stopped(_)));
    Ok(ExitCode::from(u8::from(failed || held)))
}

/// Returns the gate that is meant, with what was typed for it.
fn chosen(context: &Context<'_>, name: Key, args: &GateArgs) -> Result<Gate> {
    let (root, gates) = project_gates::find(context)?;
    let known = gates.find(name.as_str()).cloned();
    let mut gate = match (known, args.command.is_empty()) {
        (Some(gate), true) => gate,
        (Some(gate), false) => Gate { run: Run::Command(args.command.clone()), detected: false, ..gate },
        (None, false) => Gate::new(name, Run::Command(args.command.clone())),
        (None, true) => return Err(unknown(&name, &gates)),
    };
    consent::obtain(context, &root, std::slice::from_ref(&gate))?;
    if let Some(seconds) = args.timeout {
        gate.timeout = Duration::from_secs_f64(seconds);
    }
    Ok(gate)
}

pub fn every(context: &Context<'_>) -> Result<Vec<Gate>> {
    let (root, gates) = project_gates::find(context)?;
    if gates.list.is_empty() {
        let message = "no gate is configured, and the project's files tell of none";
        return Err(CliError::new(Code::Refused, message).hinted(how_to_add("test")));
    }
    consent::obtain(context, &root, &gates.list)?;
    Ok(gates.list)
}

fn unknown(name: &Key, gates: &Gates) -> CliError {
    let known: Vec<&str> = gates.list.iter().map(|gate| gate.name.as_str()).collect();
    let error = CliError::new(Code::NotFound, format!("there is no gate `{name}`"));
    let error =
        if known.is_empty() { error } else { error.hinted(format!("known are: {}", known.join(", "))) };
    error
        .hinted(how_to_add(name.as_str()))
        .hinted(format!("or run a command for it: anthill loop gate {name} -- CMD"))
}

/// Says how a project gets a gate: by a command, and what that writes.
pub fn how_to_add(name: &str) -> String {
    let lines = config::lines_of(&NewGate { name, line: "COMMAND", ..NewGate::default() });
    format!(
        "add one: anthill loop add-gate {name} -- COMMAND\nor write into {}:\n{}",
        config::FILE,
        lines.trim_end()
    )
}

fn run_gate(context: &Context<'_>, gate: &Gate, args: &GateArgs) -> Result<GateReport> {
    let site = staff::site(context)?;
    hooks::keep_running();
    let ran = run_one(&*context.engine, gate, &site, &|event| progress(context.output, &event))?;
    let mut report = ran.report(gate);
    report.check.issues = args.issues.or(report.check.issues);
    report.check.severity = args.severity;
    Ok(report)
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

fn tell(context: &Context<'_>, gates: &[Gate], done: &Done) -> Result<()> {
    context.output.said(&lines(gates, done).join("\n"))?;
    let next = match &done.verdict {
        None | Some(Verdict::Complete) => return Ok(()),
        Some(Verdict::Failed(_)) => "anthill loop take",
        Some(Verdict::Passed | Verdict::Paused(_) | Verdict::Stopped(_)) => "anthill loop status",
    };
    context.output.status(&format!("next: {next}"));
    Ok(())
}

/// Returns what is recorded of a gate.
fn result<'d>(done: &'d Done, gate: &Gate, field: &str) -> Option<&'d str> {
    done.work.gate(gate.name.as_str())?.get(field)?.as_str()
}

/// Returns a line for each gate, and one for what follows.
pub fn lines(gates: &[Gate], done: &Done) -> Vec<String> {
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
