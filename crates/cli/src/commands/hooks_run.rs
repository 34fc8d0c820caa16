use std::io::{self, Read};
use std::path::Path;
use std::process::Command;

use anthill_core::ops::Actor;
use anthill_live::hooks::Runner;
use anthill_live::hooks::notice::Notice;
use clap::Args;

use crate::context::Context;
use crate::error::{Result, io_error};
use crate::{env, roots, start};

/// Run the hooks for changes told on stdin; commands that change something start this themselves
#[derive(Debug, Args)]
pub struct HooksRunArgs {
    /// Go on in this process
    #[arg(long)]
    detached: bool,
}

pub fn run(context: &Context<'_>, args: &HooksRunArgs) -> Result<()> {
    // Away from the terminal, and from signals that are meant for whoever started us. The leader of a group cannot leave
    // it, but its child can; and we were started as one, for the group of our starter may be killed at any moment.
    if rustix::process::setsid().is_err() && !args.detached {
        return detach().or_else(|error| excuse(context, &told()?, &error));
    }
    let (told, runner) = (told()?, runner(context)?);
    Ok(notices(&told).try_for_each(|notice| runner.attend(notice))?)
}

/// Leaves a line in the logs of the sessions whose hooks should have heard of these changes.
pub fn excuse(context: &Context<'_>, told: &str, error: &io::Error) -> Result<()> {
    let (runner, why) = (runner(context)?, format!("it could not be started: {error}"));
    Ok(notices(told).try_for_each(|notice| runner.excuse(&notice, &why))?)
}

fn detach() -> io::Result<()> {
    Command::new(start::program()?).args(start::arguments()).arg("--detached").spawn().map(drop)
}

fn told() -> Result<String> {
    let mut told = String::new();
    io::stdin().read_to_string(&mut told).map_err(|error| io_error("read from stdin", &error))?;
    Ok(told)
}

fn notices(told: &str) -> impl Iterator<Item = Notice> {
    told.lines().filter_map(Notice::decode)
}

fn runner<'c>(context: &'c Context<'_>) -> Result<Runner<'c>> {
    let home = context.roots.home().map_err(|error| io_error("run hooks", &error))?;
    let root = context.roots.project().map_err(|error| io_error("run hooks", &error))?;
    let (for_home, for_root) = (home.clone(), root.clone());
    Ok(Runner {
        engine: &*context.engine,
        actor: Actor { session: None, acting: None, user: "hooks".into(), ..context.actor.clone() },
        home,
        root,
        depth: env::hook_depth(),
        is_here: Box::new(move |place: &Path| roots::is_within(place, &for_root, &for_home)),
    })
}
