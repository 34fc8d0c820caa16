//! Processes from spawn to wait. Every contender is started in the same way: by `posix_spawn`, which does not copy the
//! parent; the standard library takes that path as long as no directory is changed and nothing runs between fork and exec.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::measured::Measured;

/// Runs a command to its end and returns how long that took. It talks to nobody.
pub fn timed(command: Command) -> Measured<Duration> {
    timed_on(command, Stdio::null(), 0)
}

/// The same for a command that is to say no, with this exit code.
pub fn refused(command: Command, code: i32) -> Measured<Duration> {
    timed_on(command, Stdio::null(), code)
}

/// The same for a command that reads a file on its standard input.
pub fn fed(command: Command, input: &Path) -> Measured<Duration> {
    let input = File::open(input).map_err(|error| format!("cannot read `{}`: {error}", input.display()))?;
    timed_on(command, input.into(), 0)
}

fn timed_on(mut command: Command, stdin: Stdio, code: i32) -> Measured<Duration> {
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.spawn().and_then(|mut child| child.wait());
    let took = begin.elapsed();
    match status {
        Ok(status) if status.code() == Some(code) => Ok(took),
        Ok(_) => Err(complaint(command)),
        Err(error) => Err(format!("cannot run it: {error}")),
    }
}

/// Runs a command to its end and returns what it printed, with the time that it took.
pub fn heard(mut command: Command) -> Measured<(Duration, Vec<u8>)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let begin = Instant::now();
    let output = command.spawn().and_then(Child::wait_with_output);
    let took = begin.elapsed();
    match output {
        Ok(output) if output.status.success() => Ok((took, output.stdout)),
        Ok(_) => Err(complaint(command)),
        Err(error) => Err(format!("cannot run it: {error}")),
    }
}

/// Runs a failed command once more, to hear why.
fn complaint(mut command: Command) -> String {
    let said = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned()
    };
    match command.stdin(Stdio::null()).stderr(Stdio::piped()).output() {
        Ok(output) if output.status.success() => "failed once, and not again".into(),
        Ok(output) => format!("{}: {}", output.status, said(&output)),
        Err(error) => format!("cannot run it: {error}"),
    }
}

/// A process that does not outlive us.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended by itself cannot be killed any more, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
