//! The main job, end to end, in under a minute: a plan, three workers, one of them killed.

mod show;

use std::fs::DirEntry;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anthill_core::error::Code;
use anthill_core::model::kind::Doc;
use anthill_core::model::task::{Status, Task};
use anthill_core::ops::read;
use clap::Args;
use serde_json::{Value, json};

use self::show::{Show, tasks};
use crate::args::Global;
use crate::context::Context;
use crate::error::{CliError, Result, io_error};
use crate::output::{Format, Output};
use crate::process::ExitCode;

/// See a team at work: a plan, three workers, one of them killed in the middle
///
/// The workers are shell scripts that build and test a small tool in a new directory; no model and no
/// network are needed, and nothing outside that directory is touched. It stays for you to look at;
/// without --dir, a demonstration removes earlier ones of yours that are more than 30 days old.
///
/// Examples:
///   anthill demo
///   anthill demo --dir /tmp/my-demo
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DemoArgs {
    /// Work in this new directory [default: one in the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const GOAL: &str = "Build tally, a small tool that counts words, with checks and a release";
const WORKERS: [&str; 3] = ["ant-1", "ant-2", "ant-3"];
/// The one that is killed.
const VICTIM: &str = "ant-2";
/// Short, so that nobody waits long for the task of the killed worker.
const LEASE: &str = "3";
/// Longer than all of it takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub fn run(global: &Global, args: &DemoArgs, output: &Output) -> Result<ExitCode> {
    let dir = make_dir(args.dir.as_deref())?;
    let own =
        Global { root: Some(dir.clone()), home: Some(dir.join("home")), session_id: None, ..global.clone() };
    let stage = Stage { context: Context::new(&own, output)?, show: Show::new(output), dir };
    stage.perform()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the demonstration's own directory, before there is a store in it"
)]
fn make_dir(wanted: Option<&Path>) -> Result<PathBuf> {
    let dir = match wanted {
        Some(dir) => dir.to_owned(),
        None => {
            let place = std::env::temp_dir();
            forget_old(&place);
            place.join(format!("{PREFIX}{}", std::process::id()))
        }
    };
    let made = std::fs::create_dir(&dir).and_then(|()| dir.canonicalize());
    let made = made.and_then(|dir| {
        std::fs::create_dir(dir.join(".git"))?;
        std::fs::write(dir.join("plan.md"), include_str!("plan.md"))?;
        std::fs::write(dir.join("work.sh"), include_str!("work.sh"))?;
        Ok(dir)
    });
    made.map_err(|error| {
        io_error(&format!("set up `{}`", dir.display()), &error)
            .hinted("name a new directory: anthill demo --dir DIR")
    })
}

/// How the names of default directories begin, and how long these stay.
const PREFIX: &str = "anthill-demo-";
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Removes old demonstrations of this user in default directories. What cannot be removed stays.
fn forget_old(place: &Path) {
    let is_old = |entry: &DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_number = number.is_some_and(|number| number.parse::<u32>().is_ok());
        // This does not follow a link.
        let about = entry.metadata().ok().filter(|about| is_number && about.is_dir());
        about.is_some_and(|about| {
            let age = about.modified().ok().and_then(|at| at.elapsed().ok());
            about.uid() == rustix::process::getuid().as_raw()
                && age.is_some_and(|age| age > KEPT)
                && entry.path().join("work.sh").is_file()
        })
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries.filter(is_old) {
        let _ = std::fs::remove_dir_all(entry.path());
    }
}

struct Stage<'o> {
    context: Context<'o>,
    show: Show<'o>,
    dir: PathBuf,
}

impl Stage<'_> {
    fn perform(mut self) -> Result<ExitCode> {
        let began = Instant::now();
        self.show.say(&format!(
            "Three workers build a small tool in {}\nThe workers are shell scripts (work.sh): no model, no network.\n",
            self.dir.display()
        ));
        self.leader(&["init", GOAL])?;
        self.leader(&["import", "plan.md"])?;
        self.leader(&["graph"])?;
        let mut workers = self.start_workers()?;
        let played = self.play(&mut workers);
        for worker in &mut workers {
            // It may have ended already.
            let _ = worker.kill();
            let _ = worker.wait();
        }
        self.show.board(&self.context, &self.queue()?);
        played?;
        self.leader(&["aggregate"])?;
        self.close(began.elapsed())
    }

    /// Runs one of the leader's commands, as a person would type it.
    fn leader(&mut self, args: &[&str]) -> Result<()> {
        let typed: Vec<_> = args
            .iter()
            .map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).into() })
            .collect();
        self.show.say(&format!("$ anthill leader {}", typed.join(" ")));
        let ran = self.anthill()?.arg("leader").args(args).output();
        let ran = ran.map_err(|error| io_error("run anthill", &error))?;
        self.show.say(&String::from_utf8_lossy(&ran.stdout));
        match ran.status.success() {
            true => Ok(()),
            false => Err(CliError::new(Code::Bug, String::from_utf8_lossy(&ran.stderr))),
        }
    }

    fn anthill(&self) -> Result<Command> {
        let exe = std::env::current_exe().map_err(|error| io_error("find anthill itself", &error))?;
        let mut command = Command::new(exe);
        command.current_dir(&self.dir).arg("--root").arg(&self.dir).arg("--home").arg(self.dir.join("home"));
        command.stdin(Stdio::null());
        Ok(command)
    }

    #[expect(clippy::disallowed_methods, reason = "what the workers say goes beside the store, not into it")]
    fn start_workers(&mut self) -> Result<Vec<Child>> {
        let mut workers = Vec::new();
        for name in WORKERS {
            self.show
                .say(&format!("$ anthill worker run {name} --until-empty --lease {LEASE} -- sh work.sh &"));
            let log = std::fs::File::create(self.dir.join(format!("{name}.out")))
                .map_err(|error| io_error("make a log file", &error))?;
            let run = ["worker", "run", name, "--until-empty", "--lease", LEASE, "--", "sh", "work.sh"];
            let spawned = self.anthill()?.args(run).stdout(Stdio::null()).stderr(log).spawn();
            workers.push(spawned.map_err(|error| io_error("start a worker", &error))?);
        }
        self.show.say("");
        Ok(workers)
    }

    /// Shows the work until it is done, and kills one worker on the way.
    fn play(&mut self, workers: &mut [Child]) -> Result<()> {
        let mut listener = self.context.engine.listen(&[Doc::queue()])?;
        let (began, mut killed) = (Instant::now(), false);
        loop {
            let queue = self.queue()?;
            self.show.progress(&self.context, &queue);
            let tasks = tasks(&queue);
            if tasks.iter().all(|task| task.status() == Status::Done) {
                return Ok(());
            }
            if let (false, Some(task)) = (killed, worked_on_by_the_victim(&tasks)) {
                killed = self.kill_victim(workers, task)?;
            }
            let ended = |worker: &mut Child| matches!(worker.try_wait(), Ok(Some(_)));
            if began.elapsed() > PATIENCE || workers.iter_mut().all(ended) {
                let message = format!("the work did not end; see {}/ant-*.out", self.dir.display());
                return Err(CliError::new(Code::Refused, message));
            }
            listener.wait(Some(Duration::from_millis(250)))?;
        }
    }

    /// Kills a worker, unless it is done with its task before that. Returns whether it was killed.
    fn kill_victim(&mut self, workers: &mut [Child], task: &Task) -> Result<bool> {
        // In the middle of the task, not at its first moment.
        std::thread::sleep(Duration::from_millis(300));
        let now = tasks(&self.queue()?);
        if worked_on_by_the_victim(&now).is_none_or(|now| now.id() != task.id()) {
            return Ok(false);
        }
        let victim = WORKERS.iter().position(|name| *name == VICTIM).expect("the victim is a worker");
        workers[victim].kill().map_err(|error| io_error("kill a worker", &error))?;
        self.show.event(&format!(
            "{VICTIM} is killed (SIGKILL) in the middle of `{}`; nobody tells the queue",
            task.id()
        ));
        Ok(true)
    }

    fn queue(&self) -> Result<Value> {
        Ok(read::found(&*self.context.engine, &Doc::queue())?
            .map(|document| document.value)
            .unwrap_or_default())
    }

    /// Tells what happened and where to look.
    fn close(&mut self, took: Duration) -> Result<ExitCode> {
        let queue = self.queue()?;
        let recovered: Vec<_> = tasks(&queue).into_iter().filter(|task| task.epoch() > 1).collect();
        let output = self.context.output;
        if output.json {
            let recovered: Vec<_> = recovered
                .iter()
                .map(|task| json!({"task": task.id(), "by": task.owner(), "epoch": task.epoch()}))
                .collect();
            let value = json!({"directory": self.dir, "tasks": tasks(&queue).len(), "recovered": recovered, "seconds": took.as_secs_f64()});
            output.value(&value, Format::Json)?;
            return Ok(ExitCode::SUCCESS);
        }
        for task in &recovered {
            self.show.say(&format!(
                "`{}` came back by itself when the lease of the killed {VICTIM} ran out: {} finished it by lease {}.",
                task.id(),
                task.owner().unwrap_or("somebody"),
                task.epoch()
            ));
        }
        self.show.say(&format!(
            "All {} tasks were done once, in {:.0} s, by scripts.\n",
            tasks(&queue).len(),
            took.as_secs_f64()
        ));
        let exe = std::env::current_exe().map(|exe| exe.display().to_string());
        let text = WHERE_TO_LOOK.replace("DIR", &self.dir.display().to_string());
        self.show.say(&text.replace("EXE", exe.as_deref().unwrap_or("anthill")));
        Ok(ExitCode::SUCCESS)
    }
}

const WHERE_TO_LOOK: &str = "\
Look around:
  cd DIR
  bin/tally data/sample.txt 3               # what they built
  cat .coordination/tasks.json              # the queue is a file
  cat .coordination/summary.md              # all results
  cat .coordination/logs/ant-2.log          # the one that was killed
  EXE history queue        # who changed what
In a project of yours:
  anthill leader init \"the goal\"
  anthill leader add-task \"the first task\"
  anthill worker run ant-1 --until-empty --agent claude     # or codex, gemini, opencode, 'a line of shell'
Remove the demonstration: rm -r DIR";

fn worked_on_by_the_victim(tasks: &[Task]) -> Option<&Task> {
    tasks.iter().find(|task| task.status() == Status::InProgress && task.owner() == Some(VICTIM))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "directories of demonstrations, and how old they are")]
    fn only_old_demonstrations_that_nobody_has_named_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(format!("{PREFIX}{name}"));
        for (name, days) in [("1", 31), ("2", 29), ("mine", 31), ("3", 31), ("", 31)] {
            fs::create_dir_all(path(name).join("home")).unwrap();
            if name != "3" {
                fs::write(path(name).join("work.sh"), "").unwrap();
            }
            let at = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            File::open(path(name)).unwrap().set_modified(at).unwrap();
        }
        symlink(path("mine"), path("4")).unwrap();
        forget_old(place.path());
        assert!(!path("1").exists());
        for (name, why) in [
            ("2", "it is young"),
            ("mine", "somebody has named it"),
            ("3", "it is no demonstration"),
            ("4", "it is a link"),
            ("", "it has no number"),
        ] {
            assert!(path(name).exists(), "{PREFIX}{name}: {why}");
        }
    }
}
