//! Runs git without a terminal.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long an answer is usually waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How long an answer may be.
const LIMIT: u64 = 4 << 20;

/// Returns a git command for a directory, which Ctrl-C does not reach.
pub fn command(place: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(place).process_group(0);
    // A directory of the project may look like a repository, with a configuration that runs something: ignore it.
    command.args(["-c", "safe.bareRepository=explicit"]);
    // A hook of git may have started us.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
}

/// Runs git. Returns nothing if there is no git, it fails, or it takes longer than this.
pub fn ask(place: &Path, args: &[&str], patience: Duration) -> Option<Vec<u8>> {
    let mut command = command(place);
    // Without locks, which would disturb others who work there.
    command.args(["-c", "core.fsmonitor=false", "--no-optional-locks"]).args(args);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let answer = listen(&mut child, patience);
    if answer.is_none() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let ended = child.wait().ok()?;
    answer.filter(|_| ended.success())
}

/// Reads the output of git, up to a limit.
fn listen(child: &mut Child, patience: Duration) -> Option<Vec<u8>> {
    let (mut stdout, (sender, receiver)) = (child.stdout.take()?, mpsc::channel());
    thread::spawn(move || {
        let mut said = Vec::new();
        let read = stdout.by_ref().take(LIMIT + 1).read_to_end(&mut said);
        // The reader may have stopped waiting.
        let _ = sender.send(read.ok().map(|_| said));
    });
    receiver.recv_timeout(patience).ok().flatten().filter(|said| said.len() as u64 <= LIMIT)
}
