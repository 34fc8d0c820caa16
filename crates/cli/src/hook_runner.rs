//! The runner of hooks, set up for this project.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anthill_core::model::time::Clock;
use anthill_core::ops::Actor;
use anthill_core::store::Engine;
use anthill_live::hooks::Runner;
use anthill_live::hooks::notice::Notice;

use crate::env;
use crate::error::{Result, io_error};
use crate::roots::{self, Roots};
use crate::words::CommandLine;

pub fn new<'e>(engine: &'e dyn Engine, roots: &Roots, clock: Arc<dyn Clock>) -> Result<Runner<'e>> {
    let home = roots.home().map_err(|error| io_error("run hooks", &error))?;
    let root = roots.project().map_err(|error| io_error("run hooks", &error))?;
    let (for_home, for_root) = (home.clone(), root.clone());
    Ok(Runner {
        engine,
        actor: Actor { clock, session: None, acting: None, user: "hooks".into(), door: &CommandLine },
        home,
        root,
        depth: env::hook_depth(),
        is_here: Box::new(move |place: &Path| roots::is_within(place, &for_root, &for_home)),
    })
}

/// Reads the changes that hooks have to be told, a line each.
pub fn notices(changes: &str) -> impl Iterator<Item = Notice> {
    changes.lines().filter_map(Notice::decode)
}

/// Writes to the logs of the sessions concerned that their hooks did not run.
pub fn excuse(runner: &Runner<'_>, changes: &str, error: &io::Error) -> Result<()> {
    let why = format!("it could not be started: {error}");
    Ok(notices(changes).try_for_each(|notice| runner.excuse(&notice, &why))?)
}
