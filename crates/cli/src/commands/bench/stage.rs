//! A place of its own for the measurements: roots, programs and files beneath one temporary directory, removed at the end.

#![expect(
    clippy::disallowed_methods,
    reason = "files of the measurement, outside of every store of the user"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::measured::Measured;
use super::peers::{self, Peer};
use super::{floor, spawn, tasks};
use crate::env;
use crate::error::{Result, io_error};

pub struct Stage {
    pub dir: PathBuf,
    /// This very binary.
    pub exe: PathBuf,
    pub floor: Floor,
    peers: Vec<(Peer, PathBuf)>,
}

/// The program that does nothing.
pub struct Floor {
    pub path: PathBuf,
    pub what: &'static str,
    /// The least time that it took when nothing else was measured.
    pub best: Duration,
}

impl Stage {
    pub fn set_up() -> Result<Stage> {
        let failed = |error| io_error("set up a directory for the measurements", &error);
        let exe = std::env::current_exe().map_err(|error| io_error("find anthill itself", &error))?;
        let dir = std::env::temp_dir().join(format!("anthill-bench-{}", std::process::id()));
        fs::create_dir(&dir).map_err(failed)?;
        tidy_when_interrupted(dir.clone());
        let peers = Peer::ALL.into_iter().filter_map(|peer| Some((peer, peers::find(peer)?))).collect();
        let mut stage = Stage { dir: dir.canonicalize().map_err(failed)?, exe, floor: fallback(), peers };
        stage.floor = stage.make_floor().unwrap_or_else(fallback);
        let times = (0..20).filter_map(|_| spawn::timed(stage.floor()).ok());
        stage.floor.best = times.min().unwrap_or_default();
        Ok(stage)
    }

    /// Writes the empty program and sees whether it runs here.
    fn make_floor(&self) -> Option<Floor> {
        let path = self.dir.join("empty");
        fs::write(&path, floor::program()?).ok()?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).ok()?;
        spawn::timed(self.program(&path)).ok()?;
        Some(Floor { path, what: "an empty static program", best: Duration::ZERO })
    }

    /// Prepares any program. All of them get the same small environment.
    fn program(&self, path: &Path) -> Command {
        let mut command = Command::new(path);
        command.env_clear().env(env::HOME, &self.dir).env(env::ANTHILL_HOME, self.dir.join("home"));
        command
    }

    pub fn floor(&self) -> Command {
        self.program(&self.floor.path)
    }

    /// Prepares this binary, to work on a project.
    pub fn anthill(&self, root: &Path, args: &[&str]) -> Command {
        let mut command = self.program(&self.exe);
        command.env(env::ANTHILL_ROOT, root).args(args);
        command
    }

    /// Prepares a peer, if it is installed.
    pub fn peer(&self, peer: Peer) -> Option<Command> {
        Some(self.program(self.installed(peer)?))
    }

    pub fn installed(&self, peer: Peer) -> Option<&Path> {
        self.peers.iter().find(|(known, _)| *known == peer).map(|(_, path)| &**path)
    }

    /// Lays out a project with so many tasks.
    pub fn project(&self, name: &str, count: usize) -> Measured<PathBuf> {
        let root = self.empty_project(name)?;
        if count > 0 {
            let tasks = self.tasks(count)?.display().to_string();
            spawn::timed(self.anthill(&root, &["leader", "import", &tasks]))?;
        }
        Ok(root)
    }

    pub fn empty_project(&self, name: &str) -> Measured<PathBuf> {
        let root = self.dir.join(name);
        make_dir(&root)?;
        spawn::timed(self.anthill(&root, &["leader", "init", "measure"]))?;
        Ok(root)
    }

    /// Returns the file with so many tasks to import.
    pub fn tasks(&self, count: usize) -> Measured<PathBuf> {
        let path = self.dir.join(format!("tasks-{count}.jsonl"));
        if !path.exists() {
            write(&path, tasks::lines(count).as_bytes())?;
        }
        Ok(path)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed lies where the system tidies.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn fallback() -> Floor {
    let what = "/bin/true, for want of an empty static program for this machine";
    Floor { path: "/bin/true".into(), what, best: Duration::ZERO }
}

/// Removes the directory also after Ctrl-C.
fn tidy_when_interrupted(dir: PathBuf) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _ = fs::remove_dir_all(dir);
            std::process::exit(128 + signal);
        }
    });
}

/// Where a project keeps its queue.
pub fn queue_file(root: &Path) -> PathBuf {
    root.join(".coordination/tasks.json")
}

pub fn make_dir(dir: &Path) -> Measured<()> {
    fs::create_dir(dir).map_err(|error| format!("cannot make `{}`: {error}", dir.display()))
}

/// The same with all that is missing above it.
pub fn make_dirs(dir: &Path) -> Measured<()> {
    fs::create_dir_all(dir).map_err(|error| format!("cannot make `{}`: {error}", dir.display()))
}

pub fn write(path: &Path, bytes: &[u8]) -> Measured<()> {
    fs::write(path, bytes).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

/// Writes a file so that it is on the disk.
pub fn write_through(path: &Path, bytes: &[u8]) -> Measured<()> {
    write(path, bytes)?;
    let synced = fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| format!("cannot sync `{}`: {error}", path.display()))
}

pub fn read(path: &Path) -> Measured<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

pub fn rename(from: &Path, to: &Path) -> Measured<()> {
    fs::rename(from, to).map_err(|error| format!("cannot replace `{}`: {error}", to.display()))
}

pub fn remove(dir: &Path) -> Measured<()> {
    fs::remove_dir_all(dir).map_err(|error| format!("cannot remove `{}`: {error}", dir.display()))
}
