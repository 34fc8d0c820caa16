use std::ffi::OsString;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::agent_loop::{Check, Ended, GateStatus, Severity, Verdict};
use anthill_core::model::ids::Key;
use anthill_core::ops::agent_loop::{self, Done, GateReport};
use anthill_live::gates::{Event, Gate, Gates, Ran, Run, config, run_all};
use clap::Args;
use serde_json::Value;

use crate::args::seconds;
use crate::context::{Context, parse_id};
use crate::error::{CliError, Result};
use crate::hooks;
use crate::output::{Format, Output};
use crate::planning::{ExpectArgs, one_of};
use crate::staff;
use crate::start::ExitCode;

/// Run a quality gate and record how it came out; with --all, end the iteration
///
/// The command comes from `.claude/anthill.toml`, from what the project's files tell, or from behind
/// `--`. It runs in the project root, in a process group of its own that is killed at its time-out.
/// The last of what it printed is kept in `.claude/state/loop/gates/NAME.log`, without secrets.
///
/// Exit 0 of the command is a pass, 127 (no such tool) a skip, anything else a failure: recorded, and
/// exit 1. With --issues and no command it records what you found; issues of severity S2 or S3 are a
/// warning.
///
/// --all runs every gate and judges the iteration: failed gates become items, two passing iterations
/// in a row with no open item complete the loop. Exit 1 if a gate failed or the loop is held up.
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
    let reports = match &args.name {
        Some(name) if args.issues.is_some() && args.command.is_empty() => vec![told(parse_id(name)?, args)],
        Some(name) => run_gates(context, vec![chosen(context, parse_id(name)?, args)?], args)?,
        None => run_gates(context, every(context)?, args)?,
    };
    let expect = args.expect.expect_revision;
    let done = agent_loop::note_gates(&*context.engine, &reports, args.all, expect, &context.actor)?;
    done.warnings.iter().for_each(|warning| context.output.warning(warning));
    if context.output.json {
        context.output.changed(&done.work.queue, Format::Json)?;
    } else {
        tell(context, &reports, &done)?;
    }
    let failed = reports.iter().any(|report| report.check.status() == GateStatus::Fail);
    let held = matches!(done.verdict, Some(Verdict::Failed(_) | Verdict::Paused(_) | Verdict::Stopped(_)));
    Ok(ExitCode::from(u8::from(failed || held)))
}

/// Returns the gate that is meant, with what was typed for it.
fn chosen(context: &Context<'_>, name: Key, args: &GateArgs) -> Result<Gate> {
    let (_, gates) = super::gates(context)?;
    let known = gates.find(name.as_str()).cloned();
    let mut gate = match (known, args.command.is_empty()) {
        (Some(gate), true) => gate,
        (Some(gate), false) => Gate { run: Run::Command(args.command.clone()), ..gate },
        (None, false) => Gate::new(name, Run::Command(args.command.clone())),
        (None, true) => return Err(unknown(&name, &gates)),
    };
    if let Some(seconds) = args.timeout {
        gate.timeout = Duration::from_secs_f64(seconds);
    }
    Ok(gate)
}

pub fn every(context: &Context<'_>) -> Result<Vec<Gate>> {
    let (_, gates) = super::gates(context)?;
    if gates.list.is_empty() {
        let message = "no gate is configured, and the project's files tell of none";
        return Err(CliError::new(Code::Refused, message).hinted(lines_to_add("lint")));
    }
    Ok(gates.list)
}

fn unknown(name: &Key, gates: &Gates) -> CliError {
    let known: Vec<&str> = gates.list.iter().map(|gate| gate.name.as_str()).collect();
    let error = CliError::new(Code::NotFound, format!("there is no gate `{name}`"));
    let error =
        if known.is_empty() { error } else { error.hinted(format!("known are: {}", known.join(", "))) };
    error
        .hinted(lines_to_add(name.as_str()))
        .hinted(format!("or run a command for it: anthill loop gate {name} -- CMD"))
}

fn lines_to_add(name: &str) -> String {
    format!("add to {}:  [gates.{name}]  run = \"COMMAND\"", config::FILE)
}

fn told(name: Key, args: &GateArgs) -> GateReport {
    let check = Check {
        ended: Ended::Told,
        issues: args.issues,
        severity: args.severity,
        default_severity: Severity::S1,
        blocking: true,
        seconds: None,
    };
    GateReport { name, check, output: None }
}

fn run_gates(context: &Context<'_>, gates: Vec<Gate>, args: &GateArgs) -> Result<Vec<GateReport>> {
    let site = staff::site(context)?;
    hooks::keep_running();
    let ran = run_all(&gates, &site, &|event| progress(context.output, &event));
    let report = |(gate, ran): (Gate, Ran)| {
        let mut report = ran.report(&gate);
        (report.check.issues, report.check.severity) = (args.issues, args.severity);
        report
    };
    Ok(gates.into_iter().zip(ran).map(report).collect())
}

pub fn progress(output: &Output, event: &Event<'_>) {
    match event {
        Event::Begun(gate) => output.progress(&format!("{}: running", gate.name)),
        Event::Ended(gate, ran) => {
            output.progress(&format!("{}: ended after {:.1} s", gate.name, ran.took.as_secs_f64()));
        }
        Event::Warning(warning) => output.warning(warning),
    }
}

fn tell(context: &Context<'_>, reports: &[GateReport], done: &Done) -> Result<()> {
    context.output.said(&lines(reports, done).join("\n"))?;
    let next = match &done.verdict {
        None | Some(Verdict::Complete) => return Ok(()),
        Some(Verdict::Failed(_)) => "anthill loop take",
        Some(Verdict::Passed | Verdict::Paused(_) | Verdict::Stopped(_)) => "anthill loop status",
    };
    context.output.status(&format!("next: {next}"));
    Ok(())
}

/// Returns a line for each gate, and one for what follows.
pub fn lines(reports: &[GateReport], done: &Done) -> Vec<String> {
    let line = |report: &GateReport| {
        let name = report.name.as_str();
        let result = done.work.gate(name);
        let field = |field: &str| result.and_then(|result| result.get(field)).and_then(Value::as_str);
        let reason = field("reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
        let bad = matches!(report.check.status(), GateStatus::Fail | GateStatus::Warn);
        let log = field("log").filter(|_| bad).map(|log| format!(", see {log}")).unwrap_or_default();
        format!("{name}: {}{reason}{log}", report.check.status().word())
    };
    let iteration = done.work.iteration();
    let verdict = done.verdict.as_ref().map(|verdict| match verdict {
        Verdict::Complete => format!("Complete: {}", done.work.task()),
        Verdict::Passed => format!("Passed; iteration {iteration} begins"),
        Verdict::Failed(_) => format!("Failed; iteration {iteration} begins"),
        Verdict::Paused(reason) => format!("Paused: {reason}"),
        Verdict::Stopped(reason) => format!("Stopped: {reason}"),
    });
    reports.iter().map(line).chain(verdict).collect()
}
