//! One hook as a process group: it gets its input, a limit, and an end.

use std::io::{self, Read, Write, pipe};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How much of what a hook prints is kept.
const KEPT: usize = 64 << 10;

/// How long to wait for the last output when somebody outside the group holds the pipe open.
const DRAIN: Duration = Duration::from_secs(1);

/// How a hook ended.
#[derive(Debug)]
pub enum How {
    Exit(i32),
    Signal(i32),
    /// It was still there at its limit.
    Overdue,
    NotStarted(io::Error),
}

#[derive(Debug)]
pub struct Outcome {
    pub how: How,
    /// The first of what it printed, on stdout and stderr alike.
    pub output: String,
    pub is_cut: bool,
    pub took: Duration,
}

/// Runs a command with `input` on stdin. When it has ended, or its time is over, all of its group is killed.
pub fn run(command: Command, input: String, limit: Duration) -> Outcome {
    let begun = Instant::now();
    let (how, printed) = match start_and_wait(command, input, limit) {
        Ok((how, printed)) => (how, printed),
        Err(error) => (How::NotStarted(error), Vec::new()),
    };
    let is_cut = printed.len() > KEPT;
    let output = String::from_utf8_lossy(&printed[..printed.len().min(KEPT)]).into_owned();
    Outcome { how, output, is_cut, took: begun.elapsed() }
}

fn start_and_wait(mut command: Command, input: String, limit: Duration) -> io::Result<(How, Vec<u8>)> {
    let (reader, writer) = pipe()?;
    command.process_group(0).stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It holds our end of the pipe, which would never close.
    drop(command);
    let group = Pid::from_child(&child);
    feed(child.stdin.take(), input);
    let printed = listen(reader);
    let in_time = ended(group).recv_timeout(limit).is_ok();
    // Before the wait: until then the number cannot be used again.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    let printed = printed.recv_timeout(DRAIN).unwrap_or_default();
    Ok((if in_time { how(status) } else { How::Overdue }, printed))
}

fn how(status: ExitStatus) -> How {
    match status.code() {
        Some(code) => How::Exit(code),
        None => How::Signal(status.signal().unwrap_or(0)),
    }
}

/// Tells when the process has ended; it stays a zombie.
fn ended(process: Pid) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = retry_on_intr(|| waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        let _ = sender.send(());
    });
    receiver
}

/// Writes from a thread of its own: a hook that does not read would hold us up.
fn feed(stdin: Option<impl Write + Send + 'static>, input: String) {
    let Some(mut stdin) = stdin else { return };
    thread::spawn(move || {
        // A hook that does not read its input is fine.
        let _ = stdin.write_all(input.as_bytes());
    });
}

/// Reads to the end, and returns the first of it: one byte more than is kept, if there was more.
fn listen(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut printed, mut chunk) = (Vec::new(), [0; 8 << 10]);
        loop {
            match pipe.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    let room = (KEPT + 1).saturating_sub(printed.len());
                    printed.extend_from_slice(&chunk[..length.min(room)]);
                }
            }
        }
        let _ = sender.send(printed);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn output_is_bounded_and_the_end_is_told() {
        let outcome =
            run(shell("cat; head -c 1000000 /dev/zero | tr '\\0' x; exit 3"), "in\n".into(), DRAIN * 60);
        assert!(matches!(outcome.how, How::Exit(3)), "{:?}", outcome.how);
        assert!(outcome.output.starts_with("in\nxxx") && outcome.output.len() == KEPT && outcome.is_cut);
    }

    #[test]
    fn what_does_not_end_is_ended_with_all_it_started() {
        // Enough for a shell to say something, however busy the machine is.
        let limit = Duration::from_secs(3);
        let outcome = run(shell("echo a; sleep 600 & sleep 600"), String::new(), limit);
        assert!(matches!(outcome.how, How::Overdue), "{:?}", outcome.how);
        assert_eq!(outcome.output, "a\n");
        assert!(outcome.took < Duration::from_secs(60));
    }

    #[test]
    fn what_cannot_start_is_told() {
        let outcome = run(Command::new("/nothing/here"), String::new(), DRAIN);
        assert!(matches!(outcome.how, How::NotStarted(_)), "{:?}", outcome.how);
    }
}
