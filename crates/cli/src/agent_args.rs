//! What the commands that start agents have in common: how agents are named, where they work, and what is told of them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anthill_core::api::request::Amount;
use anthill_core::error::Code;
use anthill_core::model::clients;
use anthill_core::model::usage::Usage;
use anthill_core::ops::Actor;
use anthill_live::runner::agent::{Agent, NoAgent};
use anthill_live::runner::{self, Limits, Site, brief};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::context::Context;
use crate::env;
use crate::error::{CliError, Result, io_error};
use crate::process;
use crate::sentence::shorten;
use crate::typed::{amount, seconds};

#[derive(Debug, Args)]
pub struct CareArgs {
    /// Stop an agent that prints nothing, and does not touch its task file, for so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub stall: Option<f64>,
    /// Repeat a failed try at most N times [default: by the kind of error, 0 to 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=10))]
    pub retries: Option<u64>,
    /// Start nobody any more when the run has cost so much, by what the agents' clients say
    #[arg(long, value_name = "USD", value_parser = cost)]
    pub max_cost: Option<f64>,
}

fn cost(text: &str) -> std::result::Result<f64, String> {
    amount(text).map(Amount::get)
}

impl CareArgs {
    pub fn limits(&self, timeout: Option<f64>) -> Limits {
        Limits {
            timeout: timeout.map(Duration::from_secs_f64),
            stall: self.stall.map(Duration::from_secs_f64),
        }
    }
}

/// Returns where agents work.
pub fn site(context: &Context<'_>) -> Result<Site> {
    let found = |root: io::Result<PathBuf>| root.map_err(|error| io_error("run", &error));
    let (home, root) = (found(context.roots.home())?, found(context.roots.project())?);
    Ok(Site::new(home, root, watchdog(), env::raw))
}

/// Returns this program as a watchdog, if it knows where it is.
fn watchdog() -> Option<Vec<OsString>> {
    let program = process::program().ok()?;
    Some(vec![program.into(), "worker".into(), "watchdog".into()])
}

/// Returns the agent of that name.
pub fn agent(name: &str) -> Result<Agent> {
    Ok(Agent::find(name, &env::search_path())?)
}

impl From<NoAgent> for CliError {
    fn from(error: NoAgent) -> CliError {
        let code = match error {
            NoAgent::Blank => Code::Invalid,
            NoAgent::Missing { .. } => Code::Refused,
        };
        CliError::new(code, error.to_string()).hinted(agents())
    }
}

fn agents() -> String {
    format!("name another: --agent {}|'LINE OF SHELL'", clients::names("|"))
}

/// Says that an agent is tried again, and why.
pub fn again(work: &str, reason: &str, delay: Duration) -> String {
    format!("Again in {} s: {work}: {}", delay.as_secs(), shorten(&brief(reason), 200))
}

/// Says until when nothing is started, and why.
pub fn paused(actor: &Actor, until: Timestamp, reason: &str) -> String {
    let (now, until) = (runner::local(actor.now()), runner::local(until));
    let day = if until.date() == now.date() { String::new() } else { format!("{} ", until.date()) };
    let is_near = until.duration_since(&now) < SignedDuration::from_mins(2);
    let seconds = if is_near { format!(":{:02}", until.second()) } else { String::new() };
    format!("Paused until {day}{:02}:{:02}{seconds}: {reason}", until.hour(), until.minute())
}

/// Says what agents cost, if their clients say so.
pub fn spent(usage: Usage) -> Option<String> {
    let Usage { cost_usd, input_tokens, output_tokens, .. } = usage;
    let is_known = cost_usd > 0.0 || input_tokens + output_tokens > 0;
    let digits = if cost_usd < 0.1 { 4 } else { 2 };
    is_known.then(|| format!("Used: ${cost_usd:.digits$}, {input_tokens} tokens in, {output_tokens} out"))
}

impl From<runner::Error> for CliError {
    fn from(error: runner::Error) -> CliError {
        match error {
            runner::Error::Ops(error) => error.into(),
            runner::Error::Io { action, source } => io_error(action, &source),
            runner::Error::Service { ref cure, .. } => {
                CliError::new(Code::Refused, error.to_string()).hinted(cure)
            }
            runner::Error::Agent { .. } => CliError::invalid(error.to_string()).hinted(agents()),
            runner::Error::Command { program, source } => {
                CliError::invalid(format!("cannot run `{program}`: {source}"))
                    .hinted("the command follows `--`, program first; a line of shell needs: sh -c 'LINE'")
            }
        }
    }
}
