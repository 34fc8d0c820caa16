use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use anthill_core::model::clients::CLIENTS;

/// Where commands are run, and what they find there.
#[derive(Debug)]
pub struct Site {
    pub root: PathBuf,
    pub environment: Vec<(&'static str, OsString)>,
    /// The program that calls [`super::watchdog::watch`] on its input.
    pub watchdog: Option<Vec<OsString>>,
    /// Returns a variable of our own environment that is set and not empty.
    pub variable: fn(&str) -> Option<OsString>,
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// A line for the shell.
    Line(String),
    /// A program with its arguments, which no shell reads.
    Command(Vec<OsString>),
}

impl Site {
    /// Makes the place in which a project's commands run: they find both roots in their environment.
    pub fn new(
        home: PathBuf,
        root: PathBuf,
        watchdog: Option<Vec<OsString>>,
        variable: fn(&str) -> Option<OsString>,
    ) -> Site {
        let environment = vec![("ANTHILL_ROOT", root.clone().into()), ("ANTHILL_HOME", home.into())];
        Site { root, environment, watchdog, variable }
    }

    pub fn command(&self, run: &Run) -> Command {
        let mut command = match run {
            Run::Line(line) => shell(line),
            Run::Command(words) => {
                let (program, arguments) =
                    words.split_first().map_or((OsStr::new(""), &[][..]), |(program, rest)| (program, rest));
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        };
        command.current_dir(&self.root).envs(self.environment.iter().map(|(name, value)| (name, value)));
        // An agent may have started us; ours is none of its inner ones.
        CLIENTS.iter().filter_map(|client| client.variables.inner).for_each(|name| {
            command.env_remove(name);
        });
        command
    }
}

/// Returns the shell with a line to run.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]);
    command
}

impl Run {
    /// Returns what messages call it.
    pub fn name(&self) -> String {
        match self {
            Run::Line(line) => line.clone(),
            Run::Command(words) => {
                words.first().map_or_else(String::new, |program| program.to_string_lossy().into_owned())
            }
        }
    }
}
