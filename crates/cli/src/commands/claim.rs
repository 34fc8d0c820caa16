use anthill_core::api::request::Seconds;
use clap::Args;

use super::worker::claim::{Way, take};
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::identity;
use crate::line::{Opt, Takes, Words};
use crate::typed::{seconds, span};

/// Take the best task that is ready, or this one
///
/// Short for `worker claim`. Who you are: --worker, else the worker of a runner's command
/// (ANTHILL_WORKER), else your session, else a name for this user in this terminal, which is printed
/// and is the same for the next command.
///
/// Examples:
///   anthill claim
///   anthill claim parser
///   anthill claim --wait 60             # wait up to a minute (--wait alone: for ever)
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ClaimArgs {
    /// This task and no other
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Who you are
    #[arg(short, long, value_name = "W")]
    worker: Option<String>,
    /// Wait for a task, at most this long; without polling
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "86400000", value_parser = seconds, conflicts_with = "id")]
    wait: Option<f64>,
    /// How long you may be silent before the task goes back [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    lease: Option<Seconds>,
}

impl Direct for ClaimArgs {
    const OPTIONS: &'static [Opt] =
        &[("--worker", "-w", Takes::One), ("--wait", "", Takes::Perhaps), ("--lease", "", Takes::One)];

    fn read(words: &mut Words) -> Option<ClaimArgs> {
        let (wait, id) = (words.wait()?, words.plain());
        if wait.is_some() && id.is_some() {
            return None;
        }
        let lease = words.parsed("--lease", |text| span(text).ok())?;
        Some(ClaimArgs { id, worker: words.value("--worker"), wait, lease })
    }
}

pub fn run(context: &Context<'_>, args: &ClaimArgs) -> Result<()> {
    let who = identity::worker(context, args.worker.as_deref())?;
    take(context, Some(who.worker.clone()), args.id.as_deref(), (args.wait, args.lease), Way::Short)?;
    who.tell(context);
    Ok(())
}
