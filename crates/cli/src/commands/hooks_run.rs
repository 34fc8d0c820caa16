use std::io::{self, Read};
use std::process::Command;

use clap::Args;

use crate::context::Context;
use crate::error::{Result, io_error};
use crate::hook_runner::{self, excuse, notices};
use crate::process;

/// Run the hooks for changes told on stdin; commands that change something start this themselves
#[derive(Debug, Args)]
pub struct HooksRunArgs {
    /// Go on in this process
    #[arg(long)]
    detached: bool,
}

pub fn run(context: &Context<'_>, args: &HooksRunArgs) -> Result<()> {
    let runner = || hook_runner::new(&*context.engine, &context.roots, context.actor.clock.clone());
    // Away from the terminal, and from signals for the process that started us. The leader of a group cannot leave it, but its child
    // can; and we were started as a leader, since the group of our parent may be killed at any moment.
    if rustix::process::setsid().is_err() && !args.detached {
        return detach().or_else(|error| excuse(&runner()?, &read_changes()?, &error));
    }
    let (changes, runner) = (read_changes()?, runner()?);
    Ok(notices(&changes).try_for_each(|notice| runner.attend(notice))?)
}

fn detach() -> io::Result<()> {
    Command::new(process::program()?).args(process::arguments()).arg("--detached").spawn().map(drop)
}

fn read_changes() -> Result<String> {
    let mut changes = String::new();
    io::stdin().read_to_string(&mut changes).map_err(|error| io_error("read from stdin", &error))?;
    Ok(changes)
}
