//! How much memory a command needs at most, and how large the binary is.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};

use super::super::contest::Bench;
use super::super::measured::Measured;
use super::super::peers::{NOT_INSTALLED, Peer};
use super::super::row::{Found, Other, Row, Unit, Wanted};
use super::super::spawn::Running;
use super::super::stats::{median, percentile};
use super::queue::LEASE;

const ROUNDS: usize = 5;

pub fn rows(bench: &Bench) -> Vec<Row> {
    let stage = &bench.stage;
    let row = |name, most| {
        Row::new("B24", name, "most memory at once").unit(Unit::Kilobytes).wanted(Wanted::Most(most))
    };
    let anthill = |args: &'static [&'static str]| move |root: &Path| stage.anthill(root, args);
    let start = anthill(&["--version"]);
    let get = anthill(&["get", "config", "--field", "global.default_project"]);
    let claim = anthill(&["worker", "claim", "w", "--lease", LEASE]);
    let others: [(Peer, &[&str]); 3] =
        [(Peer::Python3, &["-c", "print(0)"]), (Peer::Sqlite3, &["--version"]), (Peer::Jq, &["-n", "0"])];
    let mut rows = vec![
        row("rss of start", 400.0).found(peaks(bench, || start(&stage.dir), &others)),
        row("rss of get", 400.0).found(peaks(bench, || get(&stage.dir), &[])),
    ];
    for size in bench.sizes.iter().copied().filter(|size| *size >= bench.typical()) {
        let root = stage.dir.join(format!("queue-{size}"));
        let most = if size > 10_000 { 1843.0 } else { 1536.0 };
        rows.push(row("rss of claim", most).tasks(size).found(peaks(bench, || claim(&root), &[])));
    }
    let size = std::fs::metadata(&stage.exe).map(|file| file.len() as f64 / 1024.0);
    let size =
        size.map(|p50| Found { p50, rounds: 1, ..Found::default() }).map_err(|error| error.to_string());
    let binary = Row::new("B25", "size", "the binary").unit(Unit::Kilobytes).wanted(Wanted::Most(1536.0));
    rows.push(binary.found(size));
    rows
}

fn peaks(bench: &Bench, ours: impl Fn() -> Command, others: &[(Peer, &[&str])]) -> Measured<Found> {
    let peaks: Vec<_> =
        (0..ROUNDS.min(bench.budget.most)).map(|_| peak(&mut ours())).collect::<Measured<_>>()?;
    let other = |(peer, args): &(Peer, &[&str])| {
        let mut command = bench.stage.peer(*peer).ok_or(NOT_INSTALLED)?;
        peak(command.args(*args)).map(|p50| Other { p50, rounds: 1 })
    };
    Ok(Found {
        p50: median(&peaks).unwrap_or_default(),
        p99: percentile(&peaks, 0.99),
        rounds: peaks.len(),
        peers: others.iter().map(|entry| (entry.0, other(entry))).collect(),
        ..Found::default()
    })
}

/// Polls in a row that must show the same.
const STILL: usize = 10;
const POLL: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the most memory (KB) that a command ever had by the time it prints its result.
///
/// Its stdout is a pipe that is full. So it comes to rest in that write, with its work done, and the system tells of it.
/// The usual way, `getrusage` after the end, also counts what the parent had before exec.
fn peak(command: &mut Command) -> Measured<f64> {
    let pipe = full_pipe().map_err(|error| format!("cannot make a full pipe: {error}"))?;
    let child = command.stdin(Stdio::null()).stdout(pipe.1).stderr(Stdio::null()).spawn();
    let child = Running(child.map_err(|error| format!("cannot run it: {error}"))?);
    let (begin, status) = (Instant::now(), format!("/proc/{}/status", child.0.id()));
    let (mut last, mut still) = (String::new(), 0);
    while begin.elapsed() < PATIENCE {
        let now =
            std::fs::read_to_string(&status).map_err(|error| format!("cannot read `{status}`: {error}"))?;
        if now.contains("\nState:\tZ") {
            return Err("it ended without a word".into());
        }
        let sleeps = now.contains("\nState:\tS");
        still = if sleeps && now == last { still + 1 } else { 0 };
        if still == STILL {
            return high_water(&now).ok_or_else(|| format!("`{status}` does not tell"));
        }
        last = now;
        std::thread::sleep(POLL);
    }
    Err("it never printed anything".into())
}

/// Finds the most memory in what the system says of a process, in KB.
fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Returns a pipe that takes nothing more until it is read from.
fn full_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, mut writer) = io::pipe()?;
    fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    for bytes in [4096, 1] {
        while writer.write(&vec![0; bytes]).is_ok() {}
    }
    fcntl_setfl(&writer, OFlags::empty())?;
    Ok((reader, writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_found() {
        let status = "Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 99 kB\n";
        assert_eq!(high_water(status), Some(1234.0));
        assert_eq!(high_water("Name:\tx\n"), None);
    }
}
