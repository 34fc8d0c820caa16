//! A home with a long past beside a new one, in the same rounds: sessions that are over, messages that are done with.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::super::rounds::{Measured, milliseconds};
use super::super::row::{Found, Row, Wanted};
use super::super::stats::median;
use super::super::{spawn, stage};
use super::Bench;
use crate::env;

/// How many messages there are for each session that is over.
const MESSAGES: usize = 5;

pub fn rows(bench: &Bench) -> Vec<Row> {
    // Fewer where the other rows are short too.
    let sessions = bench.typical().max(1_000);
    let homes = Homes::make(bench, sessions);
    let row = |id, name, what, most: f64, timed: &dyn Fn(&Homes<'_>) -> Measured<Found>| {
        let found = homes.as_ref().map_err(Clone::clone).and_then(timed);
        Row::new(id, name, what).tasks(sessions).wanted(Wanted::MostLimits(most)).found(found)
    };
    let command = |args: &'static [&'static str]| move |homes: &Homes<'_>| homes.race(args);
    vec![
        row("B50", "old_start", "a session starts, against a home without a past", 1.5, &|homes| {
            homes.start()
        }),
        row("B51", "old_status", "status, the same", 3.0, &command(&["status"])),
        row("B52", "old_line", "status --line, the same", 3.0, &command(&["status", "--line"])),
        row(
            "B53",
            "old_list",
            "session list --active, the same",
            3.0,
            &command(&["session", "list", "--active"]),
        ),
        row(
            "B54",
            "old_send",
            "message send, the same",
            3.0,
            &command(&["message", "send", "lead", "worker", "note", "1"]),
        ),
        row("B55", "old_poll", "message poll, the same", 3.0, &command(&["message", "poll", "worker"])),
    ]
}

/// Two homes, and a project to work in.
struct Homes<'b> {
    bench: &'b Bench,
    root: PathBuf,
    new: PathBuf,
    old: PathBuf,
}

impl<'b> Homes<'b> {
    /// Gives one home a past, and both a session at work.
    fn make(bench: &'b Bench, sessions: usize) -> Measured<Homes<'b>> {
        let dir = |name: &str| bench.stage.dir.join(name);
        let homes = Homes { bench, root: dir("past"), new: dir("new-home"), old: dir("old-home") };
        stage::make_dir(&homes.root)?;
        for number in 0..sessions {
            let id = format!("over-{number}");
            let state = json!({
                "session_id": id, "project_id": null, "created_at": "2030-01-01T00:00:00.000Z",
                "last_heartbeat": "2030-01-01T00:00:00.000Z", "status": "ended", "ended_at": "2030-01-01T00:00:00.000Z",
                "context": {}, "agents": [],
            });
            let dir = homes.old.join("sessions").join(id);
            stage::make_dirs(&dir)?;
            stage::write(&dir.join("state.json"), state.to_string().as_bytes())?;
        }
        let processed = homes.old.join("orchestration/messages/worker/processed");
        stage::make_dirs(&processed)?;
        for number in 0..sessions * MESSAGES {
            let id = format!("msg-{number}");
            let message = json!({"id": id, "from": "lead", "to": "worker", "type": "note", "payload": 1, "processed": true});
            stage::write(&processed.join(format!("{id}.json")), message.to_string().as_bytes())?;
        }
        for home in [&homes.new, &homes.old] {
            spawn::timed(homes.anthill(home, &["session", "start", "worker"]))?;
            spawn::timed(homes.anthill(home, &["message", "send", "lead", "worker", "note", "1"]))?;
        }
        Ok(homes)
    }

    fn anthill(&self, home: &PathBuf, args: &[&str]) -> Command {
        let mut command = self.bench.stage.anthill(&self.root, args);
        command.env(env::ANTHILL_HOME, home);
        command
    }

    /// Times a command in both homes.
    fn race(&self, args: &[&str]) -> Measured<Found> {
        self.beside(|home, _| self.bench.time(self.anthill(home, args)))
    }

    /// A new session starts in each round.
    fn start(&self) -> Measured<Found> {
        let input = self.root.join("start.json");
        self.beside(|home, round| {
            let event = json!({
                "session_id": format!("round-{round}"), "hook_event_name": "SessionStart", "source": "startup",
                "cwd": self.root.display().to_string(), "transcript_path": "/none.jsonl",
            });
            stage::write(&input, event.to_string().as_bytes())?;
            self.bench.time_fed(self.anthill(home, &["hook"]), &input)
        })
    }

    fn beside(&self, timed: impl Fn(&PathBuf, usize) -> Measured<Duration>) -> Measured<Found> {
        let mut limits = Vec::new();
        let ours = |round: usize| {
            limits.push(milliseconds(timed(&self.new, round)?));
            timed(&self.old, round)
        };
        let found = self.bench.race(Box::new(ours), Vec::new())?;
        Ok(Found { limit: median(&limits), ..found })
    }
}
