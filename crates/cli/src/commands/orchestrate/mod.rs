//! Runs a pipeline to its end, with an agent for every order.

mod progress;

use anthill_core::error::Code;
use anthill_core::model::clients::DEFAULT;
use anthill_core::model::documents::pipeline::Mode;
use anthill_core::model::pipeline::table::Role;
use anthill_core::model::pipeline::{Caps, MOST_DEVELOPERS, Pipeline};
use anthill_core::model::plan::word;
use anthill_core::ops::orchestrate::{self, Budget};
use anthill_core::ops::pipeline::{self, NewRun};
use anthill_core::ops::settings::Settings;
use anthill_core::view::pipeline::status;
use anthill_core::view::prompt;
use anthill_core::view::shell;
use anthill_live::pipeline_run::{self, Agents, End, Job, Wanted};
use clap::Args;
use serde_json::Value;

use super::pipeline::input::requirements;
use crate::agent_args::{self, CareArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Format;
use crate::process::ExitCode;
use crate::typed::{one_of, prose, seconds, words_of};
use crate::{env, hooks};

/// The agent unless told.
const AGENT: &str = DEFAULT.name;

/// Run a whole pipeline: start an agent for every order until the requirements are met
///
/// An agent is {`agents`}, or any line of shell. It gets the order as a
/// prompt on stdin and works in the project root. It reports by itself (anthill pipeline report ...,
/// as the prompt says), or its last words are a JSON object with `status` and what to hand over. It
/// finds ANTHILL_ORDER_ID, ANTHILL_TASK_FILE (the order and its state as JSON), ANTHILL_ROLE,
/// ANTHILL_GROUP, ANTHILL_WORKER, ANTHILL_ROOT and ANTHILL_HOME in its environment.
///
/// A try that fails, takes too long or falls silent is repeated as its kind of error deserves; then a
/// developer's order is reported as INCOMPLETE or BLOCKED, a tester's as BLOCKED. A group whose agents
/// fail again and again in the same way is given up, and the others go on. What agents print is kept
/// in coordination/logs, what they cost in orchestrator_state. Everything is in the files: killed at
/// any moment, the same command goes on. Exit 0: completed. Exit 1: stopped, with the reason, what is
/// missing and the next command; orchestrator_state has status `error` then.
///
/// Examples:
///   anthill orchestrate "JWT authentication, user registration, password reset"
///   anthill orchestrate --agent codex --role-agent qa=claude \
///       --max-parallel 2 - < requirements.md
///   anthill orchestrate --resume --check 'make test' --max-cost 20
///   anthill orchestrate --agent 'claude -p --output-format json --model opus' "Rename the module"
///   anthill orchestrate --dry-run "Rename the module"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct OrchestrateArgs {
    /// What is to be built, word for word; `-` reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = prose, required_unless_present = "resume")]
    requirements: Option<String>,
    /// Go on with the run that there is
    #[arg(long)]
    resume: bool,
    /// Put a run aside that is not complete, or begin the same one anew
    #[arg(long, conflicts_with = "resume")]
    replace: bool,
    /// One developer at a time, or several, whatever the plan says
    #[arg(long, value_parser = one_of::<Mode>(), conflicts_with = "resume")]
    mode: Option<Mode>,
    /// Who does the work: {agents}, or a line of shell
    #[arg(long, value_name = "AGENT", default_value = AGENT)]
    agent: String,
    /// Who does it in one role (pm, developer, qa_expert, tech_lead, or how it begins); may be repeated
    #[arg(long, value_name = "ROLE=AGENT", value_parser = role_agent)]
    role_agent: Vec<(Role, String)>,
    /// At most N agents at once [default: 4, or what the configuration allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    max_parallel: Option<u16>,
    /// Stop an agent that takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1800")]
    timeout: f64,
    #[command(flatten)]
    care: CareArgs,
    /// Give a group up that has failed N times in the same way; the others go on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    same_failures: u64,
    /// A line of shell that must end well before the project manager may call the run complete
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// Start at most N agents for the whole run
    #[arg(long, value_name = "N")]
    max_spawns: Option<u64>,
    /// Let every group work in a git worktree of its own, and merge what is approved
    #[arg(long)]
    worktrees: bool,
    /// Make worktrees also where a link of the project leads out of it
    #[arg(long, requires = "worktrees")]
    follow_links: bool,
    /// Show all groups after every report
    #[arg(long)]
    watch: bool,
    /// Show the first orders and their prompts; change nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, args: &OrchestrateArgs) -> Result<ExitCode> {
    let wanted = args.requirements.as_deref().map(requirements).transpose()?;
    let wanted = wanted.map(|wanted| env::without_secrets(&wanted).into_owned());
    if args.dry_run {
        return preview(context, args, wanted);
    }
    pipeline_run::check_allowed(&*context.engine)?;
    let job = job(context, args)?;
    let wanted = match wanted {
        Some(wanted) if !args.resume => Wanted::New(new_run(args, wanted)),
        requirements => Wanted::Known { requirements },
    };
    hooks::keep_running();
    let mut progress = progress::Progress::new(context, args.watch);
    let end = pipeline_run::run(&*context.engine, &wanted, &job, &context.actor, &mut |event| {
        progress.tell(&event);
    });
    progress.clear();
    conclude(context, args, &end?)
}

fn new_run(args: &OrchestrateArgs, requirements: String) -> NewRun {
    NewRun { requirements, mode: args.mode, replace: args.replace }
}

fn job(context: &Context<'_>, args: &OrchestrateArgs) -> Result<Job> {
    let of_roles = args.role_agent.iter().map(|(role, agent)| Ok((*role, agent_args::agent(agent)?)));
    let of_roles = of_roles.collect::<Result<Vec<_>>>()?;
    let all_named =
        words_of::<Role>().iter().all(|name| of_roles.iter().any(|(role, _)| word(role) == *name));
    let usual = if all_named { None } else { Some(agent_args::agent(&args.agent)?) };
    let agents = Agents { usual, of_roles };
    Ok(Job {
        site: agent_args::site(context)?,
        agents,
        parallel: parallel(context, args)?,
        limits: args.care.limits(Some(args.timeout)),
        retries: args.care.retries,
        most_alike: args.same_failures,
        check: args.check.clone(),
        budget: Budget { cost: args.care.max_cost, spawns: args.max_spawns },
        worktrees: args.worktrees,
        follow_links: args.follow_links,
    })
}

fn parallel(context: &Context<'_>, args: &OrchestrateArgs) -> Result<usize> {
    let settings = Settings::read(&*context.engine)?;
    Ok(settings.parallel_agents(args.max_parallel.map(usize::from), MOST_DEVELOPERS)?)
}

/// Reads `ROLE=AGENT`. The beginning of a role's name is enough.
fn role_agent(text: &str) -> std::result::Result<(Role, String), String> {
    let (role, agent) = text.split_once('=').ok_or("expected ROLE=AGENT, such as qa=codex")?;
    let roles = words_of::<Role>();
    let name = roles.iter().find(|name| !role.is_empty() && name.starts_with(role));
    let found = name.and_then(|name| serde_json::from_value::<Role>(Value::from(*name)).ok());
    let role = found.ok_or_else(|| format!("`{role}` is no role; there are {}", roles.join(", ")))?;
    Ok((role, agent.to_owned()))
}

fn preview(context: &Context<'_>, args: &OrchestrateArgs, wanted: Option<String>) -> Result<ExitCode> {
    let new = wanted.filter(|_| !args.resume).map(|wanted| new_run(args, wanted));
    let caps = Caps::of(u64::try_from(parallel(context, args)?).ok());
    let (run, orders) = orchestrate::preview(&*context.engine, new.as_ref(), caps, &context.actor)?;
    if context.output.json {
        let orders: Vec<Value> =
            orders.iter().map(|order| prompt::order(&run, order, context.actor.door)).collect();
        context.output.value(&orders.into(), Format::Json)?;
        return Ok(ExitCode::SUCCESS);
    }
    for order in &orders {
        let head = format!("{} {} ({})", word(order.role), order.group, word(order.purpose));
        context
            .output
            .print(&format!("## {head}\n\n{}\n", prompt::spoken(&run, order, context.actor.door)))?;
    }
    context.output.status(&format!("{} orders would be started; nothing was changed", orders.len()));
    Ok(ExitCode::SUCCESS)
}

fn conclude(context: &Context<'_>, args: &OrchestrateArgs, end: &End) -> Result<ExitCode> {
    let report = orchestrate::report(&*context.engine, &context.actor)?;
    let run = pipeline::show(&*context.engine)?;
    if !context.output.json {
        context.output.print(report.trim_end())?;
    }
    if matches!(end, End::Limit(_) | End::Budget(_) | End::Stuck(_)) {
        return Err(stopped(&run, args, end));
    }
    if context.output.json {
        context.output.value(&status(&run, false), Format::Json)?;
    }
    match end {
        End::Signal(signal) => {
            context.output.status(&format!("stopped; go on: {}", resumed(args)));
            Ok(ExitCode::of_signal(*signal))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Says why the run is not complete, and what to type next.
fn stopped(run: &Pipeline, args: &OrchestrateArgs, end: &End) -> CliError {
    let (reason, hints) = match end {
        End::Limit(reason) => (
            reason.clone(),
            vec![
                "make a smaller plan: anthill pipeline plan --file F".to_owned(),
                format!("then go on: {}", resumed(args)),
            ],
        ),
        End::Budget(reason) => (reason.clone(), vec![raised(args)]),
        End::Stuck(stuck) => (
            format!("nothing can go on: {}", stuck.join("; ")),
            vec![
                "see what the agents printed: ls coordination/logs".to_owned(),
                format!("go on: {}", resumed(args)),
            ],
        ),
        End::Completed | End::Signal(_) => (run.summary(), Vec::new()),
    };
    let costs = run.orchestrator.get("costs").cloned().unwrap_or_default();
    let error = CliError::new(Code::Refused, format!("the run `{}` has stopped: {reason}", run.session()));
    let error = hints.into_iter().fold(error, CliError::hinted);
    error.detail("missing", run.missing()).detail("costs", costs)
}

/// Returns the command that goes on with the run, with the same agents.
fn resumed(args: &OrchestrateArgs) -> String {
    let mut line = "anthill orchestrate --resume".to_owned();
    if args.agent != AGENT {
        line += &format!(" --agent {}", shell::word(&args.agent));
    }
    for (role, agent) in &args.role_agent {
        line += &format!(" --role-agent {}={}", word(role), shell::word(agent));
    }
    line + if args.worktrees { " --worktrees" } else { "" }
}

fn raised(args: &OrchestrateArgs) -> String {
    let doubled = |most: f64| (most * 2.0).max(1.0);
    let cost = args.care.max_cost.map(|most| format!(" --max-cost {}", doubled(most)));
    let spawns = args.max_spawns.map(|most| format!(" --max-spawns {}", doubled(most as f64)));
    format!("allow more: {}{}{}", resumed(args), cost.unwrap_or_default(), spawns.unwrap_or_default())
}
