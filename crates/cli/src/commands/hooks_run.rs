use std::io::{self, Read};
use std::path::Path;
use std::process::Command;

use anthill_core::ops::Actor;
use anthill_live::hooks::Runner;
use anthill_live::hooks::notice::Notice;
use clap::Args;

use crate::context::Context;
use crate::error::{Result, io_error};
use crate::{env, roots};

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
        return detach().map_err(|error| io_error("start again", &error));
    }
    let mut told = String::new();
    io::stdin().read_to_string(&mut told).map_err(|error| io_error("read from stdin", &error))?;
    let home = context.roots.home().map_err(|error| io_error("run hooks", &error))?;
    let root = context.roots.project().map_err(|error| io_error("run hooks", &error))?;
    let actor = Actor { session: None, user: "hooks".into(), ..context.actor.clone() };
    let is_here = |place: &Path| roots::is_within(place, &root, &home);
    let runner = Runner {
        engine: &*context.engine,
        actor: &actor,
        home: home.clone(),
        root: root.clone(),
        depth: env::hook_depth(),
        is_here: &is_here,
    };
    Ok(told.lines().filter_map(Notice::decode).try_for_each(|notice| runner.attend(notice))?)
}

fn detach() -> io::Result<()> {
    let arguments = std::env::args_os().skip(1);
    Command::new(std::env::current_exe()?).args(arguments).arg("--detached").spawn().map(drop)
}
