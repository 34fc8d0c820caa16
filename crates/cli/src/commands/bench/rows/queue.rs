//! Commands on a queue of a given size.

use std::path::PathBuf;

use super::super::contest::{Bench, words};
use super::super::measured::Measured;
use super::super::peers::{self, Peer};
use super::super::row::{Found, Row, Wanted};
use super::super::{spawn, stage, tasks};

/// Nothing that is claimed comes back while we measure.
pub const LEASE: &str = "86400";

pub fn rows(bench: &Bench, size: usize) -> Vec<Row> {
    let field = Field::prepare(bench, size);
    let measure = |how: fn(&Field, &Bench) -> Measured<Found>| {
        field.as_ref().map_err(Clone::clone).and_then(|field| how(field, bench))
    };
    let claim = if size > 10_000 { 3.4 } else { 3.0 };
    let row = |id, name, what, most| Row::new(id, name, what).tasks(size).wanted(Wanted::MostFloors(most));
    let mut rows = Vec::new();
    // Before the claims: what waits for others is first in the queue.
    if tasks::gates(size) > 0 {
        rows.push(
            row("B17", "complete", "and set 5 others free, durable", 3.5).found(measure(Field::complete)),
        );
    }
    rows.push(row("B09", "claim", "the best task, durable", claim).found(measure(Field::claim)));
    rows.push(row("B13", "ready", "list the ten best", 1.5).found(measure(Field::ready)));
    rows.push(row("B15", "create", "add one task, durable", 3.0).found(measure(Field::create)));
    rows.push(row("B18", "status", "how far the work is", 1.4).found(measure(Field::status)));
    rows
}

/// The same tasks as a queue of ours, as a database and as a file for scripts.
struct Field {
    size: usize,
    root: PathBuf,
    database: String,
    file: String,
}

impl Field {
    fn prepare(bench: &Bench, size: usize) -> Measured<Field> {
        let stage = &bench.stage;
        let root = stage.project(&format!("queue-{size}"), size)?;
        let (database, file) = (stage.dir.join(format!("{size}.db")), stage.dir.join(format!("{size}.json")));
        stage::write(&file, &stage::read(&stage::queue_file(&root))?)?;
        let (database, file) = (database.display().to_string(), file.display().to_string());
        if let Some(mut sqlite) = stage.peer(Peer::Sqlite3) {
            let script = stage.dir.join("create.sql");
            stage::write(&script, peers::sqlite_create(&stage.tasks(size)?).as_bytes())?;
            sqlite.args([&database, &format!(".read {}", script.display())]);
            // A version that is too old shows itself in its rows.
            let _ = peers::prepare(sqlite);
        }
        Ok(Field { size, root, database, file })
    }

    fn claim(&self, bench: &Bench) -> Measured<Found> {
        let ours = || bench.stage.anthill(&self.root, &["worker", "claim", "w", "--lease", LEASE]);
        let peers = vec![
            bench.peer(Peer::Python3, |_| words(&["-c", peers::PYTHON_CLAIM, &self.file, "w"])),
            bench.peer(Peer::Sqlite3, |_| words(&[&self.database, peers::SQLITE_CLAIM])),
        ];
        // Half of the tasks are left for others.
        bench.race_at_most((self.size / 2).max(1), Box::new(move |_| bench.time(ours())), peers)
    }

    /// Claims a task, untimed, and completes it.
    fn complete(&self, bench: &Bench) -> Measured<Found> {
        let stage = &bench.stage;
        let ours = |_| {
            let id = claimed(
                &spawn::heard(stage.anthill(&self.root, &["worker", "claim", "w", "--lease", LEASE]))?.1,
            )?;
            let summary = "Moved it, with tests";
            bench.time(stage.anthill(
                &self.root,
                &["worker", "complete", "w", &id, summary, "--modified", "src/a.rs", "--created", "src/b.rs"],
            ))
        };
        bench.race_at_most(tasks::gates(self.size), Box::new(ours), Vec::new())
    }

    fn ready(&self, bench: &Bench) -> Measured<Found> {
        let ours = || bench.stage.anthill(&self.root, &["worker", "list", "--limit", "10"]);
        let sqlite = bench.peer(Peer::Sqlite3, |_| words(&[&self.database, peers::SQLITE_READY]));
        bench.race(Box::new(move |_| bench.time(ours())), vec![sqlite])
    }

    fn create(&self, bench: &Bench) -> Measured<Found> {
        let text = |round| tasks::description(round, 300);
        let ours = move |round| {
            let files = format!("src/new_{round}/mod.rs");
            bench.time(
                bench
                    .stage
                    .anthill(&self.root, &["leader", "add-task", &text(round), "-p", "5", "--files", &files]),
            )
        };
        let sqlite = bench.peer(Peer::Sqlite3, move |round| {
            words(&[&self.database, &peers::sqlite_create_one(&format!("new-{round}"), &text(round))])
        });
        bench.race(Box::new(ours), vec![sqlite])
    }

    fn status(&self, bench: &Bench) -> Measured<Found> {
        let ours = || bench.stage.anthill(&self.root, &["leader", "status"]);
        let sqlite = bench.peer(Peer::Sqlite3, |_| words(&[&self.database, peers::SQLITE_STATUS]));
        bench.race(Box::new(move |_| bench.time(ours())), vec![sqlite])
    }
}

/// Returns the id of the task that a claim tells of.
pub fn claimed(said: &[u8]) -> Measured<String> {
    let text = String::from_utf8_lossy(said);
    let id = text.lines().next().and_then(|line| line.strip_prefix("Claimed")?.rsplit_once(": "));
    id.map(|(_, id)| id.to_owned()).ok_or_else(|| format!("a claim that tells of no task: `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_comes_last_in_the_first_line() {
        let said = b"Claimed for w until 2026-01-02T00:00:00.000Z (lease 1): task-000007\n  Part 7: it\n";
        assert_eq!(claimed(said).as_deref(), Ok("task-000007"));
        assert!(claimed(b"").is_err());
    }
}
