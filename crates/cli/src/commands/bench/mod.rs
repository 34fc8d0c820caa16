//! The benchmark: this very binary on the user's own machine, in turns with an empty program and with peers.
//!
//! - `rows`: what is measured; `rounds`: in turns; `spawn`: from spawn to wait; `stage`: where, removed at the end.
//! - `floor`: the empty program; `peers`: what others do the same work; `tasks`: the work.
//! - `stats`, `row`, `report`, `plot`, `svg`: figures, and how they are shown. All of these are pure.

mod contest;
mod floor;
mod measured;
mod peers;
mod plot;
mod report;
mod rounds;
mod row;
mod rows;
mod spawn;
mod stage;
mod stats;
mod svg;
mod tasks;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anthill_core::view::board::{Line, Tone};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use self::contest::Bench;
use self::peers::Peer;
use self::report::Growth;
use self::rounds::Budget;
use self::row::Row;
use self::rows::Step;
use self::stage::{Floor, Stage};
use crate::error::{CliError, Result, io_error};
use crate::output::{Format, Output};

/// Measure this binary on this machine, next to an empty program and to other tools
///
/// Whole processes from start to end, in turns with F, a program that does nothing at all, and with
/// python3, sqlite3 and jq doing the same work, where they are installed. Everything happens in a
/// temporary directory that is removed at the end; your own state is not touched. On a busy machine,
/// run it as root with `chrt -f 5 anthill bench`.
///
/// RATIO is to F, or to a limit: what no program could do without. P99 of fewer than 100 rounds is
/// the slowest. MET is `busy` where other work on the machine held up F itself. The last columns say
/// how many times as long the others take; `-` is not installed, blank is not compared.
///
/// Examples:
///   anthill bench --quick                    # under half a minute
///   anthill bench --svg claim.svg            # all of it, and a picture of claim times
///   anthill bench --json > bench.json
///   anthill bench --sizes 1000,50000         # your own numbers of tasks
///   anthill bench --past                     # only a store that saw a year of work beside a new one
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BenchArgs {
    /// Fewer rounds, at most 10000 tasks
    #[arg(long)]
    quick: bool,
    /// Only the rows of an old store beside a new one, before and after `clean`
    #[arg(long)]
    past: bool,
    /// Write a picture of claim times by number of tasks
    #[arg(long, value_name = "FILE", conflicts_with = "past")]
    svg: Option<PathBuf>,
    /// Numbers of tasks [default: 100,1000,10000,100000]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sizes: Vec<u32>,
    /// At most this many rounds per row [default: 200, or 60 if quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: Option<u32>,
}

impl BenchArgs {
    fn sizes(&self) -> Vec<usize> {
        let all: &[u32] = match (self.sizes.is_empty(), self.quick) {
            (false, _) => &self.sizes,
            (true, true) => &[100, 1000, 10_000],
            (true, false) => &[100, 1000, 10_000, 100_000],
        };
        let mut sizes: Vec<_> = all.iter().map(|size| *size as usize).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn bench(&self) -> Result<Bench> {
        let budget = self.budget();
        let storm = (if self.quick { 640 } else { 2560 }).min(budget.most * 32);
        let letters = self.rounds.map_or(if self.quick { 60 } else { 500 }, |rounds| rounds as usize);
        let past = (if self.quick { 200 } else { 10_000 }).min(budget.most * budget.most);
        Ok(Bench { stage: Stage::set_up()?, budget, sizes: self.sizes(), storm, letters, past })
    }

    fn budget(&self) -> Budget {
        let (most, most_of_peer, milliseconds) = if self.quick { (60, 9, 500) } else { (200, 15, 3000) };
        let most = self.rounds.map_or(most, |rounds| rounds as usize);
        Budget { most, most_of_peer: most_of_peer.min(most), time: Duration::from_millis(milliseconds) }
    }
}

pub fn run(output: &Output, args: &BenchArgs) -> Result<()> {
    if let Some(dir) = args.svg.as_deref().and_then(Path::parent).filter(|dir| *dir != "" && !dir.is_dir()) {
        return Err(CliError::invalid(format!("there is no directory `{}`", dir.display())));
    }
    if build() == "debug" {
        output.warning("this is a debug build: its figures say nothing about a release");
    }
    let (began, bench) = (Instant::now(), args.bench()?);
    let mut rows = measure(&bench, if args.past { vec![rows::past(&bench)] } else { rows::steps(&bench) });
    let held_up = report::mark_busy(&mut rows);
    let growths = report::growths(&rows);
    let (document, lines) =
        (document(&bench, args, &rows, &growths, began.elapsed()), lines(output, &bench, &rows, &growths));
    let picture = svg::svg(&report::curves(&rows), &about(&bench));
    // Before anything is printed: whoever closes the pipe ends us.
    drop(bench);
    match output.json {
        true => output.value(&document, Format::Json)?,
        false => output.lines(&lines)?,
    }
    let drawn = match &args.svg {
        None => String::new(),
        Some(file) => {
            draw(file, &picture)?;
            format!("; picture: {}", file.display())
        }
    };
    if let Some((quiet, worst)) = held_up {
        output.warning(&format!(
            "the machine was busy: F took {} ms in one row and {} ms in another; as root, try: chrt -f 5 anthill bench",
            stats::short(quiet),
            stats::short(worst)
        ));
    }
    output.status(&format!("measured in {:.0} s{drawn}", began.elapsed().as_secs_f64()));
    Ok(())
}

fn measure(bench: &Bench, steps: Vec<Step>) -> Vec<Row> {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(steps.len() as u64), target)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a constant template"));
    let mut rows = Vec::new();
    for (name, step) in steps {
        bar.set_message(name);
        rows.extend(step(bench));
        bar.inc(1);
    }
    bar.finish_and_clear();
    // As the numbers go; rows of one kind stay together.
    rows.sort_by_key(|row| row.id);
    rows
}

#[expect(clippy::disallowed_methods, reason = "a file that the user asked for")]
fn draw(file: &Path, picture: &str) -> Result<()> {
    std::fs::write(file, picture).map_err(|error| io_error(&format!("write `{}`", file.display()), &error))
}

fn about(bench: &Bench) -> String {
    let Floor { what, .. } = bench.stage.floor;
    format!("anthill {}, {} build; {}; F: {what}", env!("CARGO_PKG_VERSION"), build(), machine())
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH)
}

fn build() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

fn lines(output: &Output, bench: &Bench, rows: &[Row], growths: &[Growth]) -> Vec<Line> {
    let mut lines = vec![
        plain(format!("anthill {}, {} build; {}", env!("CARGO_PKG_VERSION"), build(), machine())),
        plain(format!("F: {}, started and ended", bench.stage.floor.what)),
        plain(""),
    ];
    lines.extend(table(rows, output.width()));
    if !growths.is_empty() {
        lines.extend([
            plain(""),
            title("GROWTH of p50 with the number of tasks: 0 is flat, 1 is in proportion"),
        ]);
    }
    lines.extend(growths.iter().map(|growth| line(tone(growth.met() != Some(false)), growth.text())));
    let plot = plot::text(&report::curves(rows));
    if !plot.is_empty() {
        lines.extend([plain(""), title("ONE CLAIM, p50 by number of tasks")]);
        lines.extend(plot.into_iter().map(plain));
    }
    let failures = report::failures(rows).into_iter().map(|text| line(Tone::Warn, format!("failed: {text}")));
    lines.extend(failures);
    lines
}

/// Lays the rows out as wide as there is room for.
fn table(rows: &[Row], width: usize) -> Vec<Line> {
    let wide = report::table(rows, true);
    let fits = wide.iter().all(|line| line.chars().count() <= width);
    let table = if fits { wide } else { report::table(rows, false) };
    let tones = rows.iter().map(|row| tone(row.found.is_ok() && row.met() != Some(false)));
    std::iter::once(Tone::Title).chain(tones).zip(table).map(|(tone, text)| line(tone, text)).collect()
}

fn tone(good: bool) -> Tone {
    if good { Tone::Plain } else { Tone::Warn }
}

fn line(tone: Tone, text: impl Into<String>) -> Line {
    Line { tone, text: text.into() }
}

fn plain(text: impl Into<String>) -> Line {
    line(Tone::Plain, text)
}

fn title(text: &str) -> Line {
    line(Tone::Title, text)
}

fn document(bench: &Bench, args: &BenchArgs, rows: &[Row], growths: &[Growth], took: Duration) -> Value {
    let stage = &bench.stage;
    let peers = Peer::ALL.map(|peer| (peer.name().to_owned(), json!(stage.installed(peer))));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "build": build(),
        "binary": stage.exe,
        "machine": machine(),
        "quick": args.quick,
        "sizes": bench.sizes,
        "floor": stage.floor.what,
        "peers": Value::Object(peers.into_iter().collect::<Map<_, _>>()),
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "growth": growths.iter().map(Growth::json).collect::<Vec<_>>(),
        "seconds": row::number(took.as_secs_f64()),
    })
}
