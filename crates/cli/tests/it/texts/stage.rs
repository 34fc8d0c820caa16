//! Where command lines of texts are tried: a project in which `anthill` is the binary under test, and the agents are
//! scripts that do what they are told.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anthill_testkit::test_env::{Ran, TestEnv};

use super::markdown::{Block, Step, dialogue};
use crate::env;

/// Longer than any line of a text may take.
const PATIENCE: &str = "60";

const AGENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Plays every role of a pipeline, a worker of the queue and one of the loop.
const AGENT: &str = include_str!("agent.sh");

/// A check that passes.
const MAKE: &str = "#!/bin/sh\n";

pub struct Stage {
    pub env: TestEnv,
}

impl Stage {
    pub fn new() -> Stage {
        let env = env();
        for (name, script) in AGENTS.map(|agent| (agent, AGENT)).into_iter().chain([("make", MAKE)]) {
            env.write(&format!("bin/{name}"), script);
            fs::set_permissions(env.root().join("bin").join(name), fs::Permissions::from_mode(0o755))
                .unwrap();
        }
        env.write("shell", "");
        fs::create_dir_all(env.project().join(".claude")).unwrap();
        Stage { env }
    }

    /// Runs a line as whoever copies it, by the real clock.
    pub fn run(&self, line: &str) -> Ran {
        self.shell(&["-c", line])
    }

    fn shell(&self, args: &[&str]) -> Ran {
        let mut command = self.env.clean("timeout");
        let own = format!(
            "{}:{}",
            self.env.root().join("bin").display(),
            self.env.binary().parent().unwrap().display()
        );
        command.args([PATIENCE, "bash"]).args(args).env("PATH", format!("{own}:{}", path()));
        // What a preparation writes there, every later shell knows.
        command.env("BASH_ENV", self.env.root().join("shell"));
        self.env.finish(command.env_remove("ANTHILL_NOW").env("TMPDIR", self.env.root()), b"")
    }

    /// Does what has to be there before.
    #[track_caller]
    pub fn prepare(&self, script: &str) {
        let ran = self.shell(&["-ec", script]);
        assert_eq!(ran.code, 0, "the preparation\n{script}\n{}", ran.shown());
    }

    /// Runs a block of a document from its first line to its last.
    pub fn play(&self, block: &Block) -> Result<(), String> {
        match block.language.as_str() {
            "console" => dialogue(&block.text)?.iter().try_for_each(|step| self.step(step)),
            _ => expect(&self.shell(&["-ec", &block.text]), 0, &block.text),
        }
    }

    fn step(&self, step: &Step) -> Result<(), String> {
        let ran = self.run(&step.command);
        expect(&ran, 0, &step.command)?;
        match step.shown.iter().find(|line| !ran.shown().contains(line.as_str())) {
            Some(line) => Err(format!("$ {}\ndoes not print `{line}` but\n{}", step.command, ran.shown())),
            None => Ok(()),
        }
    }
}

pub fn expect(ran: &Ran, code: i32, line: &str) -> Result<(), String> {
    if ran.code == code {
        return Ok(());
    }
    Err(format!("$ {line}\nexit {code} was expected:\n{}", ran.shown()))
}

#[expect(clippy::disallowed_methods, reason = "the tester's environment, not that of the binary")]
fn path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into())
}
