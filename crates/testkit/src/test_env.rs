//! A hermetic environment for the binary: own directories, cleaned environment, a clock that steps.
//!
//! [`TestEnv`] knows nothing of a particular command. The caller passes the path of the debug build, because
//! only a crate's own integration tests know it (`env!("CARGO_BIN_EXE_anthill")`); `ANTHILL_BIN` names another binary
//! to be tested in its place, as `./test` does with the one that users get.

#![expect(clippy::disallowed_methods, reason = "acts as the other programs that write into the rooms")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, PipeReader, Write, pipe};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tempfile::TempDir;

/// The variable that names the binary under test.
const BIN: &str = "ANTHILL_BIN";

/// The moment before the first command.
const START: &str = "2026-01-01T00:00:00Z";

/// What every pipe holds, whether somebody reads it or not.
const PIPE: usize = 4096;

/// Longer than any command may take; a hang becomes a failure with a name.
const HANG: Duration = Duration::from_secs(120);

/// Two roots (`user/.claude` and `project`) in a directory of their own, and the binary to run on them.
#[derive(Debug)]
pub struct TestEnv {
    binary: PathBuf,
    root: PathBuf,
    _temp: TempDir,
    steps: AtomicI64,
}

impl TestEnv {
    pub fn new(built: &str) -> TestEnv {
        let temp = tempfile::Builder::new().prefix("anthill-").tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("it was just made");
        let env = TestEnv { binary: binary(built), root, _temp: temp, steps: AtomicI64::new(0) };
        fs::create_dir_all(env.user()).expect("a new directory");
        fs::create_dir_all(env.project().join(".git")).expect("a new directory");
        env
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The user's home directory.
    pub fn user(&self) -> PathBuf {
        self.root.join("user")
    }

    /// The home root.
    pub fn home(&self) -> PathBuf {
        self.user().join(".claude")
    }

    /// The project root, which is the working directory of every command.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Prepares the binary with these arguments, one second after the last command.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.clean(&self.binary);
        command.args(args);
        command
    }

    /// Prepares any program in the same environment.
    pub fn clean(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", self.path())
            .env("HOME", self.user())
            .env("USER", "tester")
            .env("TZ", "UTC")
            .env("ANTHILL_NOW", self.step())
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }

    /// The directory of the binary comes first, so that a shell finds `anthill`.
    fn path(&self) -> String {
        let own = self.binary.parent().expect("the binary is in a directory").display().to_string();
        let rest = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
        format!("{own}:{rest}")
    }

    fn step(&self) -> String {
        let seconds = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let start: Timestamp = START.parse().expect("a constant time");
        (start + SignedDuration::from_secs(seconds)).to_string()
    }

    /// Runs the binary to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.finish(&mut self.command(args), b"")
    }

    /// Runs the binary with `input` on stdin.
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        self.finish(&mut self.command(args), input)
    }

    /// Runs a line of shell in which `anthill` is the binary.
    pub fn sh(&self, line: &str) -> Ran {
        self.finish(self.clean("sh").args(["-c", line]), b"")
    }

    /// Runs the binary and insists on success.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?} failed:\n{}", ran.shown());
        ran
    }

    /// Runs the binary with `--json`, insists on success and returns what it printed.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.ok(&[args, &["--json"]].concat()).json()
    }

    /// Runs the binary with `--json`, insists on a failure and returns the error object.
    #[track_caller]
    pub fn error(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_ne!(ran.code, 0, "{args:?} did not fail:\n{}", ran.shown());
        ran.json()["error"].take()
    }

    /// Runs any prepared command to its end.
    pub fn finish(&self, command: &mut Command, input: &[u8]) -> Ran {
        if input.len() > PIPE {
            command.stdin(Stdio::piped());
        } else if !input.is_empty() {
            // There before the program is: some do not wait for long.
            command.stdin(filled_pipe(input));
        }
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be run");
        let writer = child.stdin.take().map(|mut stdin| {
            let input = input.to_vec();
            // Whoever does not read all its input has a reason.
            thread::spawn(move || drop(stdin.write_all(&input)))
        });
        let output = child.wait_with_output().expect("the program ends");
        if let Some(writer) = writer {
            writer.join().expect("the writer does not panic");
        }
        self.ran(&output)
    }

    fn ran(&self, output: &Output) -> Ran {
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&self.root.display().to_string(), "$TEST_ENV")
        };
        Ran { code: exit_code(output.status), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Starts the binary in the background, with its lines of stdout to be waited for.
    pub fn spawn(&self, args: &[&str]) -> Running {
        Running::start(&mut self.command(args))
    }

    /// Writes a file as another program would, making its directories.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories can be made");
        fs::write(path, bytes).expect("the file can be written");
    }

    /// Writes the project's `.claude/anthill.toml` and trusts what it names, as its user would.
    #[track_caller]
    pub fn configure(&self, text: impl AsRef<[u8]>) {
        self.write("project/.claude/anthill.toml", text);
        self.ok(&["trust", "--project"]);
        // It takes no time: tests count the seconds of what they are about.
        self.steps.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn read_text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).expect("the file is text")
    }

    /// Returns every byte below both roots, apart from lock files.
    pub fn bytes(&self) -> BTreeMap<String, Entry> {
        let mut entries = BTreeMap::new();
        collect(&self.root, &self.root, &mut entries);
        entries.retain(|path, _| !is_lock(path));
        entries
    }
}

/// Returns the binary under test: what `ANTHILL_BIN` names, else the one that was built with the tests.
pub fn binary(built: &str) -> PathBuf {
    let told = std::env::var_os(BIN).map(PathBuf::from);
    checked(told.unwrap_or_else(|| built.into())).unwrap_or_else(|error| panic!("{error}"))
}

/// Refuses what would make tests try something else than they say.
fn checked(binary: PathBuf) -> Result<PathBuf, String> {
    let fault = match () {
        () if !binary.is_absolute() => "is not absolute, and tests run in other directories",
        () if binary.file_name() != Some("anthill".as_ref()) => {
            "is not called anthill, so shells would find another"
        }
        () if !binary.is_file() => "does not exist",
        () => return Ok(binary),
    };
    Err(format!("the binary under test {fault}: {} (see {BIN})", binary.display()))
}

/// What a name below the roots is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File(Vec<u8>),
    Link(PathBuf),
    Other,
}

fn is_lock(path: &str) -> bool {
    path.contains("/orchestration/locks/") || path.ends_with("/.anthill/lock")
}

fn collect(root: &Path, dir: &Path, entries: &mut BTreeMap<String, Entry>) {
    for entry in fs::read_dir(dir).expect("a directory of ours").map(|entry| entry.expect("an entry")) {
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        let found = match kind {
            _ if kind.is_dir() => {
                collect(root, &path, entries);
                continue;
            }
            _ if kind.is_symlink() => Entry::Link(fs::read_link(&path).expect("a link")),
            _ if kind.is_file() => Entry::File(fs::read(&path).expect("a file")),
            _ => Entry::Other,
        };
        entries.insert(path.strip_prefix(root).expect("it is below").display().to_string(), found);
    }
}

/// Returns the exit code, or 128 and the signal as shells count it.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// How a command ended and what it said; the test's own directory is shown as `$TEST_ENV`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Returns everything in one text, for inline expectations.
    pub fn shown(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&self.stderr);
        }
        format!("{text}[exit {}]\n", self.code)
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON value: {error}\n{}", self.shown()))
    }
}

/// A process in the background; it is killed when the test is done with it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program can be run");
        let lines = lines_of(child.stdout.take().expect("it is piped"));
        Running { child, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line of stdout.
    #[track_caller]
    pub fn line(&self) -> String {
        self.line_within(HANG).expect("the process prints a line")
    }

    /// Waits for the next line that comes in this time; `None` also when there will be no more.
    pub fn line_within(&self, patience: Duration) -> Option<String> {
        self.lines.recv_timeout(patience).ok()
    }

    /// Waits for the next line of JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Kills it without warning and returns the lines that nobody has taken yet.
    pub fn kill(&mut self) -> Vec<String> {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().expect("a child of ours");
        self.lines.iter().collect()
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self) -> i32 {
        exit_code(self.child.wait().expect("a child of ours"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a pipe that gives this and ends.
fn filled_pipe(input: &[u8]) -> PipeReader {
    let (reader, mut writer) = pipe().expect("a pipe");
    writer.write_all(input).expect("it fits");
    reader
}

fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_is_not_there_is_no_test() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| checked(temp.path().join(name));
        fs::write(temp.path().join("anthill"), "").unwrap();
        fs::write(temp.path().join("other"), "").unwrap();
        assert_eq!(at("anthill"), Ok(temp.path().join("anthill")));
        assert!(at("other").unwrap_err().contains("is not called anthill"));
        assert!(at("release/anthill").unwrap_err().contains("does not exist"));
        assert!(checked("target/debug/anthill".into()).unwrap_err().contains("is not absolute"));
    }
}
