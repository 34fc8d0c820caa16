//! Runs the hooks that sessions registered, after a change and in a process of their own.
//!
//! - [`notice`]: a change, as the command that made it tells us.
//! - [`fingerprint`]: what a command is now, to compare it with what the user trusted.
//! - [`obstacle`]: why a hook does not run.
//! - `process`: one command in a group of its own, for five seconds at most.
//!
//! Nobody waits for this, and failures go to the session's `hooks.log` only. The hooks of one session run one at a time.

pub mod fingerprint;
pub mod notice;
pub mod obstacle;
mod process;
pub mod scripts;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anthill_core::model::clients::SEED_SESSION;
use anthill_core::model::ids::SessionId;
use anthill_core::model::redact::redact;
use anthill_core::model::room::{Room, Root};
use anthill_core::model::time;
use anthill_core::ops::hooks::{self, Listening, Occasion};
use anthill_core::ops::{Actor, Result};
use anthill_core::store::{Engine, Seat};
use anthill_core::view::text::escape;
use serde_json::Value;

use self::notice::Notice;
use self::obstacle::Owner;
use self::process::{How, Outcome};

/// A change made by a hook runs hooks again, but no deeper than this.
pub const DEEPEST: u32 = 3;

/// How long a hook may take.
const LIMIT: Duration = Duration::from_secs(5);

/// How long to wait for the hooks of earlier changes.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many changes may wait for the hooks of one session; hooks do not run for more.
const WAITING: usize = 16;

/// Where hooks are run, and for whom.
pub struct Runner<'a> {
    pub engine: &'a dyn Engine,
    pub actor: Actor,
    pub home: PathBuf,
    pub root: PathBuf,
    /// How many hooks led to the change: 0 for one that a person or an agent made.
    pub depth: u32,
    /// Whether a directory belongs to the project of `root`.
    pub is_here: Box<dyn Fn(&Path) -> bool>,
}

impl Runner<'_> {
    /// Runs all hooks for a change.
    pub fn attend(&self, mut notice: Notice) -> Result<()> {
        notice.look(self.engine);
        self.for_each(&notice, |listening| self.serve(&notice, listening))
    }

    /// Writes to every log concerned why no hook runs for a change.
    pub fn excuse(&self, notice: &Notice, why: &str) -> Result<()> {
        self.for_each(notice, |listening| self.refuse(listening, why))
    }

    /// If one session fails, the others go on.
    fn for_each(&self, notice: &Notice, act: impl Fn(&Listening) -> Result<()>) -> Result<()> {
        let project = notice.event["project_id"].as_str();
        let occasion = Occasion { kind: notice.doc.kind.name, project };
        for listening in hooks::listening(self.engine, &occasion, &self.actor)? {
            if self.concerns(notice, &listening) {
                // If it cannot be logged either, nothing can be done.
                let _ = act(&listening);
            }
        }
        Ok(())
    }

    /// Whether a change in a project's own tree is a change where the session works.
    fn concerns(&self, notice: &Notice, listening: &Listening) -> bool {
        let place = listening.working_directory.as_deref().map(Path::new);
        notice.doc.room.root() == Root::Home
            || place.is_none_or(|place| !place.is_dir() || (self.is_here)(place))
    }

    fn serve(&self, notice: &Notice, listening: &Listening) -> Result<()> {
        let session = &listening.session;
        let refuse = |why: &str| self.refuse(listening, why);
        if self.depth >= DEEPEST {
            return refuse(&format!("hooks have led to each other {DEEPEST} times in a row"));
        }
        let Some(waiting) = self.wait_in_line(session)? else {
            return refuse(&format!("more than {WAITING} changes wait for the hooks of this session"));
        };
        let Some(_turn) = self.engine.seat(&Room::Session(session.clone()), "hooks", PATIENCE)? else {
            return refuse(&format!("others' turn took longer than {} s", PATIENCE.as_secs()));
        };
        drop(waiting);
        listening.hooks.iter().try_for_each(|hook| self.serve_hook(notice, listening, hook))
    }

    /// Takes a place in the queue for a session's hooks, if one is left.
    fn wait_in_line(&self, session: &SessionId) -> Result<Option<Box<dyn Seat>>> {
        let room = Room::Session(session.clone());
        for place in 0..WAITING {
            let seat = self.engine.seat(&room, &format!("hooks-line-{place}"), Duration::ZERO)?;
            if seat.is_some() {
                return Ok(seat);
            }
        }
        Ok(None)
    }

    fn serve_hook(&self, notice: &Notice, listening: &Listening, hook: &Value) -> Result<()> {
        let session = &listening.session;
        let owner = Owner::new(session, listening.working_directory.as_deref(), &self.root);
        if let Some(obstacle) = owner.obstacle(self.engine, hook)? {
            return self.log_once(session, hook, &obstacle.in_words(self.actor.door));
        }
        let command = hook["command"].as_str().unwrap_or_default();
        let command = self.prepare(command, &owner.place, notice, listening);
        let outcome = process::run(command, notice.line(), LIMIT);
        hooks::log(self.engine, session, &self.told(notice, hook, &outcome), &self.actor)
    }

    fn prepare(&self, command: &str, place: &Path, notice: &Notice, listening: &Listening) -> Command {
        let session = listening.session.as_str();
        let of_change = notice.event["project_id"].as_str();
        let project = of_change.or(listening.project.as_deref()).unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script(command), "hook", project, session])
            .current_dir(place)
            .env("ANTHILL_HOME", &self.home)
            .env("ANTHILL_ROOT", &self.root)
            .env("ANTHILL_SESSION_ID", session)
            .env(SEED_SESSION, session)
            .env("ANTHILL_HOOK_DEPTH", (self.depth + 1).to_string());
        shell
    }

    /// Says how a hook ended and what it printed. What it printed is indented: it cannot pass for a line of ours.
    fn told(&self, notice: &Notice, hook: &Value, outcome: &Outcome) -> String {
        let (at, head) = (time::stamp(self.actor.now()), obstacle::head(hook));
        let revision = &notice.event["revision"];
        let took = outcome.took.as_millis();
        let how = match &outcome.how {
            How::Exit(code) => format!("exit {code} after {took} ms"),
            How::Signal(signal) => format!("killed by signal {signal} after {took} ms"),
            How::Overdue => format!("stopped after {} s", LIMIT.as_secs()),
            How::NotStarted(error) => format!("could not be run: {error}"),
        };
        let mut text = format!("[{at}] {head} at revision {revision}: {how}\n");
        for line in redact(&outcome.output).lines() {
            text.push_str(&format!("    {}\n", escape(line)));
        }
        if outcome.is_cut {
            text.push_str("    … the rest was left out\n");
        }
        text
    }

    fn refuse(&self, listening: &Listening, why: &str) -> Result<()> {
        listening.hooks.iter().try_for_each(|hook| self.log_once(&listening.session, hook, why))
    }

    fn log_once(&self, session: &SessionId, hook: &Value, why: &str) -> Result<()> {
        let text = format!(": not run: {why}").replace('\n', " ");
        hooks::log_once(self.engine, session, &obstacle::head(hook), &escape(&text), &self.actor)
    }
}

/// Returns the line for the shell. A command of plain words gets its arguments at the end; a line of shell uses them itself
/// (`"$1"`, `"$2"`).
fn script(command: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || " _-./:,@%+=".contains(character);
    match command.chars().all(is_plain) {
        true => format!("{command} \"$@\""),
        false => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_follow_plain_words_only() {
        assert_eq!(script("./x.sh --flag a=b"), "./x.sh --flag a=b \"$@\"");
        for line in ["echo hi;", "sleep 9 &", "cat >f", "x # y", "a\nb", "echo $1", "a || b", "é"] {
            assert_eq!(script(line), line);
        }
    }
}
