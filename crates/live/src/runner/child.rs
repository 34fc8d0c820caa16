//! One command as a process group: start, feed, listen, kill.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How much of what a command prints is kept.
const KEPT: usize = 64 << 10;

/// A line longer than this is told in pieces.
const LINE: usize = 8 << 10;

/// How long to wait for the last output when somebody outside the group holds the pipe open.
const DRAIN: Duration = Duration::from_secs(5);

pub struct Process {
    child: Child,
    pub group: Pid,
    stdout: Arc<Mutex<Tail>>,
    stderr: Arc<Mutex<Tail>>,
    /// Carries nothing; it closes when all output has been read.
    all_read: Receiver<()>,
}

/// How a command ended, and the end of its output.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    /// Starts the command in a group of its own, with `input` on stdin. All that it prints is heard; an empty piece is the
    /// end.
    pub fn start(
        command: &mut Command,
        input: String,
        stdout: impl FnMut(&[u8]) + Send + 'static,
        stderr: impl FnMut(&[u8]) + Send + 'static,
    ) -> io::Result<Process> {
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (reading, all_read) = mpsc::channel();
        feed(child.stdin.take(), input);
        let stdout = listen(child.stdout.take(), stdout, reading.clone());
        let stderr = listen(child.stderr.take(), stderr, reading);
        Ok(Process { group: Pid::from_child(&child), child, stdout, stderr, all_read })
    }

    /// Calls `ended` when the command has ended. It stays a zombie until [`Process::finish`], so its number
    /// cannot come to belong to somebody else.
    pub fn when_ended(&self, ended: impl FnOnce() + Send + 'static) {
        let id = self.group;
        thread::spawn(move || {
            let _ = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
            ended();
        });
    }

    pub fn signal(&self, signal: Signal) {
        // The group may be gone already.
        let _ = kill_process_group(self.group, signal);
    }

    /// Kills what is left of the group and returns how the command ended. `forget` is called while the group's
    /// number is still its own.
    pub fn finish(mut self, forget: impl FnOnce(Pid)) -> io::Result<Ended> {
        self.signal(Signal::KILL);
        forget(self.group);
        let status = self.child.wait()?;
        let _ = self.all_read.recv_timeout(DRAIN);
        Ok(Ended { status, stdout: text(&self.stdout), stderr: text(&self.stderr) })
    }
}

/// Writes from a thread of its own: a command that does not read would hold us up.
fn feed(stdin: Option<impl Write + Send + 'static>, input: String) {
    let Some(mut stdin) = stdin else { return };
    thread::spawn(move || {
        // A command that does not read its input is fine.
        let _ = stdin.write_all(input.as_bytes());
    });
}

/// Reads to the end in a thread that nobody has to wait for.
fn listen(
    pipe: Option<impl Read + Send + 'static>,
    mut hear: impl FnMut(&[u8]) + Send + 'static,
    reading: Sender<()>,
) -> Arc<Mutex<Tail>> {
    let tail = Arc::new(Mutex::new(Tail::default()));
    if let Some(pipe) = pipe {
        let tail = Arc::clone(&tail);
        thread::spawn(move || {
            read(pipe, &tail, &mut hear);
            drop(reading);
        });
    }
    tail
}

fn read(mut pipe: impl Read, tail: &Mutex<Tail>, hear: &mut dyn FnMut(&[u8])) {
    let mut chunk = [0; LINE];
    loop {
        let bytes = match pipe.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(length) => &chunk[..length],
        };
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        hear(bytes);
    }
    hear(&[]);
}

/// Returns what takes pieces and passes on lines.
pub fn in_lines(tell: impl Fn(String)) -> impl FnMut(&[u8]) {
    let mut line = Vec::new();
    move |bytes| {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || line.len() >= LINE {
                tell(shown(&line));
                line.clear();
            }
        }
        if bytes.is_empty() && !line.is_empty() {
            tell(shown(&line));
            line.clear();
        }
    }
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']).to_owned()
}

fn text(tail: &Mutex<Tail>) -> String {
    tail.lock().unwrap_or_else(PoisonError::into_inner).text()
}

/// The end of what was printed, in bounded memory.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.bytes.drain(..self.bytes.len() - KEPT);
        self.is_cut = true;
    }

    /// Returns the last lines; one that has lost its beginning is left out unless there is no other.
    fn text(&mut self) -> String {
        if self.bytes.len() > KEPT {
            self.cut();
        }
        let end = self.bytes.iter().position(|byte| *byte == b'\n').filter(|_| self.is_cut);
        let whole = end.map_or(0, |end| end + 1);
        String::from_utf8_lossy(&self.bytes[whole..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_starts_with_a_line() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.push(format!("line {number}\n").as_bytes());
            assert!(tail.bytes.len() <= 2 * KEPT);
        }
        let text = tail.text();
        assert!(text.len() <= KEPT && text.len() > KEPT - 20, "{}", text.len());
        assert!(text.starts_with("line ") && text.ends_with("line 99999\n"));
    }

    #[test]
    fn lines_are_told_and_endless_ones_in_pieces() {
        let told = Mutex::new(Vec::new());
        let (tail, printed) = (Mutex::new(Tail::default()), format!("a\r\n\n{}\nend", "x".repeat(LINE + 5)));
        read(printed.as_bytes(), &tail, &mut in_lines(|line| told.lock().unwrap().push(line)));
        let told = told.into_inner().unwrap();
        assert_eq!(told.concat(), printed.replace(['\r', '\n'], ""));
        assert_eq!((&*told[0], &*told[1], &**told.last().unwrap()), ("a", "", "end"));
        assert!(told.iter().all(|line| line.len() < 2 * LINE), "bounded");
        assert_eq!(text(&tail), printed);
    }
}
