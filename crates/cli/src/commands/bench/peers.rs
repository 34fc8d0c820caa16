//! Other programs that do the same work, where they are installed: what a script would use instead.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::measured::Measured;
use super::spawn;
use crate::env;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Python3,
    Sqlite3,
    Jq,
}

impl Peer {
    pub const ALL: [Peer; 3] = [Peer::Python3, Peer::Sqlite3, Peer::Jq];

    pub fn name(self) -> &'static str {
        match self {
            Peer::Python3 => "python3",
            Peer::Sqlite3 => "sqlite3",
            Peer::Jq => "jq",
        }
    }
}

/// Shown where a peer would be compared.
pub const NOT_INSTALLED: &str = "not installed";

/// Looks a peer up in `PATH`.
pub fn find(peer: Peer) -> Option<PathBuf> {
    let found =
        env::search_path().into_iter().map(|dir| dir.join(peer.name())).find(|path| path.is_file())?;
    match peer {
        Peer::Python3 => behind_shims(&found),
        _ => Some(found),
    }
}

/// Version managers put a shell script in front of the interpreter; timing that would be unfair.
fn behind_shims(python: &Path) -> Option<PathBuf> {
    let mut command = Command::new(python);
    command.args(["-c", "import sys; print(sys.executable)"]);
    let (_, said) = spawn::heard(command).ok()?;
    Some(PathBuf::from(String::from_utf8(said).ok()?.trim_end()))
}

/// Reads one field of a JSON file.
pub const PYTHON_GET: &str = "\
import json, sys
print(json.load(open(sys.argv[1]))['global']['default_project'])
";

/// Sets one field of a JSON file, so that it survives a power failure.
pub const PYTHON_SET: &str = "\
import fcntl, json, os, sys
path, value = sys.argv[1], int(sys.argv[2])
with open(path + '.lock', 'w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(path) as file:
        config = json.load(file)
    config['global']['max_parallel_agents'] = value
    with open(path + '.tmp', 'w') as file:
        file.write(json.dumps(config, indent=2))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + '.tmp', path)
";

/// Takes the best task out of a JSON file, so that it survives a power failure.
pub const PYTHON_CLAIM: &str = "\
import fcntl, json, os, sys, time
path, worker = sys.argv[1:]
with open(path + '.lock', 'w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(path) as file:
        queue = json.load(file)
    ready = (task for task in queue['tasks'] if task['status'] == 'available')
    task = min(ready, key=lambda task: (task['priority'], task['created_at']))
    task.update(status='claimed', claimed_by=worker, claimed_at=time.time())
    with open(path + '.tmp', 'w') as file:
        file.write(json.dumps(queue, indent=2))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + '.tmp', path)
print(task['id'])
";

/// What a hook of the seed does at a tool call: reads the event, counts it in the session's file.
pub const PYTHON_HOOK: &str = "\
import json, os, sys
from datetime import datetime, timezone
event, path = json.load(sys.stdin), sys.argv[1]
state = {'session_id': event['session_id'], 'files_modified': []}
if os.path.exists(path):
    with open(path) as file:
        state = json.load(file)
state['last_tool'] = event['tool_name']
state['last_seen'] = datetime.now(timezone.utc).isoformat()
with open(path + '.tmp', 'w') as file:
    json.dump(state, file, indent=2)
os.replace(path + '.tmp', path)
";

/// What the seed's hook does when an agent starts: adds it to the list of running ones.
pub const PYTHON_AGENT: &str = "\
import fcntl, json, os, sys, tempfile
from datetime import datetime, timezone
event, path = json.load(sys.stdin), sys.argv[1]
with open(path + '.lock', 'w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    state = {'agents': [], 'total_spawned': 0, 'total_completed': 0, 'session_id': event['session_id']}
    if os.path.exists(path):
        with open(path) as file:
            state = json.load(file)
    state['agents'] = [agent for agent in state['agents'] if agent['id'] != event['agent_id']]
    state['agents'].append({'id': event['agent_id'], 'type': event['agent_type'], 'status': 'running',
                            'started': datetime.now(timezone.utc).isoformat()})
    state['total_spawned'] += 1
    with tempfile.NamedTemporaryFile('w', dir=os.path.dirname(path), delete=False) as file:
        json.dump(state, file, indent=2)
    os.replace(file.name, path)
";

/// Lists the ten best tasks of a JSON file.
pub const PYTHON_READY: &str = "\
import heapq, json, sys
with open(sys.argv[1]) as file:
    tasks = json.load(file)['tasks']
ready = (task for task in tasks if task['status'] == 'available')
for task in heapq.nsmallest(10, ready, key=lambda task: (task['priority'], task['created_at'])):
    print(task['id'], task['description'][:60])
";

pub const JQ_READY: &str =
    "[.tasks[] | select(.status == \"available\")] | sort_by(.priority, .created_at)[:10][] | .id";

/// Makes the database of tasks out of the file that `leader import` reads.
pub fn sqlite_create(tasks: &Path) -> String {
    format!(
        "\
PRAGMA journal_mode = WAL;
CREATE TABLE line(text TEXT);
.mode ascii
.separator \"\\037\" \"\\n\"
.import \"{}\" line
CREATE TABLE tasks(id TEXT PRIMARY KEY, status TEXT, priority INTEGER, created INTEGER, claimed_by TEXT, body TEXT);
INSERT INTO tasks
    SELECT text ->> 'id', iif(text -> 'dependencies' IS NULL, 'available', 'created'), text ->> 'priority', rowid, NULL, text
    FROM line;
DROP TABLE line;
CREATE INDEX ready ON tasks(priority, created) WHERE status = 'available';
CREATE INDEX status ON tasks(status);
",
        tasks.display()
    )
}

pub const SQLITE_CLAIM: &str = "\
PRAGMA synchronous = FULL;
UPDATE tasks SET status = 'claimed', claimed_by = 'w'
WHERE id = (SELECT id FROM tasks WHERE status = 'available' ORDER BY priority, created LIMIT 1) RETURNING id;";

pub const SQLITE_READY: &str = "\
SELECT id, substr(body, 1, 60) FROM tasks WHERE status = 'available' ORDER BY priority, created LIMIT 10;";

pub const SQLITE_STATUS: &str = "SELECT status, count(*) FROM tasks GROUP BY status;";

pub fn sqlite_create_one(id: &str, body: &str) -> String {
    format!(
        "PRAGMA synchronous = FULL; INSERT INTO tasks VALUES ('{id}', 'available', 5, unixepoch(), NULL, '{body}');"
    )
}

/// Lets a peer prepare something, untimed.
pub fn prepare(command: Command) -> Measured<()> {
    spawn::heard(command).map(drop)
}
