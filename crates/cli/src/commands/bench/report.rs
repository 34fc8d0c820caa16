//! What was found, as a table, as JSON and as curves.

use comfy_table::CellAlignment;
use serde_json::{Value, json};

use super::measured::Measured;
use super::peers::{NOT_INSTALLED, Peer};
use super::plot::Series;
use super::row::{Row, number};
use super::stats::{growth, short};

/// How a command grows with the number of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    pub name: &'static str,
    pub from: usize,
    pub to: usize,
    pub exponent: f64,
    pub most: f64,
    /// Whether one of its points is doubtful.
    pub busy: bool,
}

impl Growth {
    /// Whether the target is met; `None` without figures to be trusted.
    pub fn met(&self) -> Option<bool> {
        (!self.busy).then_some(self.exponent <= self.most)
    }

    pub fn text(&self) -> String {
        let Growth { name, from, to, exponent, most, .. } = self;
        let met = self.met().map_or(BUSY, verdict);
        format!("B26  {name:9} {exponent:5.2}   target <= {most:.2}   met: {met:4}   {from} to {to} tasks")
    }

    pub fn json(&self) -> Value {
        json!({
            "name": self.name, "from": self.from, "to": self.to, "exponent": number(self.exponent),
            "target": format!("<= {}", self.most), "met": self.met(),
        })
    }
}

/// The rows that have several sizes, with the largest exponents wanted.
const GROWING: [(&str, f64); 9] = [
    ("claim", 0.12),
    ("ready", 0.05),
    ("create", 0.12),
    ("complete", 0.12),
    ("status", 0.12),
    ("nothing", 0.12),
    ("unable", 0.12),
    ("explain", 0.12),
    ("field", 0.12),
];

/// A start hides growth: sizes below this are left out, where there are enough others.
const LARGE: usize = 1000;

/// Returns how the rows grow that were measured at several sizes.
pub fn growths(rows: &[Row]) -> Vec<Growth> {
    let of = |(name, most): (&'static str, f64)| {
        let all = points(rows, name, |row| row.found.as_ref().ok().map(|found| found.p50));
        let large: Vec<_> = all.iter().copied().filter(|(tasks, _)| *tasks >= LARGE as f64).collect();
        let points = if large.len() > 1 { large } else { all };
        let exponent = growth(&points)?;
        let (from, to) = (points.first()?.0 as usize, points.last()?.0 as usize);
        let used = |row: &&Row| row.name == name && row.tasks.is_some_and(|tasks| tasks >= from);
        let busy = rows.iter().filter(used).any(|row| row.busy);
        Some(Growth { name, from, to, exponent, most, busy })
    };
    GROWING.into_iter().filter_map(of).collect()
}

/// Returns the curves of a claim, ours last so that it lies on top.
pub fn curves(rows: &[Row]) -> Vec<Series> {
    let found = |row: &Row| row.found.as_ref().ok().cloned();
    let of = |peer: Peer| {
        points(rows, "claim", move |row| {
            let found = found(row)?;
            let (_, other) = found.peers.iter().find(|(known, _)| *known == peer)?;
            Some(other.as_ref().ok()?.p50)
        })
    };
    let curve = |name: &str, mark, points| Series { name: name.into(), mark, points };
    vec![
        curve("F", 'F', points(rows, "claim", |row| found(row)?.floor)),
        curve("python3", 'p', of(Peer::Python3)),
        curve("sqlite3", 's', of(Peer::Sqlite3)),
        curve("anthill", '*', points(rows, "claim", |row| Some(found(row)?.p50))),
    ]
}

fn points(rows: &[Row], name: &str, figure: impl Fn(&Row) -> Option<f64>) -> Vec<(f64, f64)> {
    let rows = rows.iter().filter(|row| row.name == name);
    rows.filter_map(|row| Some((row.tasks? as f64, figure(row)?))).collect()
}

/// Lays all rows out. The first line is the header; each row has one line.
pub fn table(rows: &[Row], with_what: bool) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let mut header =
        vec!["", "NAME", "WHAT", "TASKS", "ROUNDS", "P50 MS", "P99 MS", "RATIO", "TARGET", "MET"];
    header.extend(Peer::ALL.map(|peer| peer.name()));
    let mut lines: Vec<_> = std::iter::once(header.iter().map(|name| name.to_uppercase()).collect())
        .chain(rows.iter().map(cells))
        .collect();
    if !with_what {
        lines.iter_mut().for_each(|cells: &mut Vec<String>| drop(cells.remove(2)));
    }
    let texts = if with_what { 3 } else { 2 };
    table.add_rows(lines);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number >= texts {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn cells(row: &Row) -> Vec<String> {
    let mut cells = vec![row.id.to_owned(), row.name.to_owned(), row.what.to_owned()];
    cells.push(row.tasks.map(|tasks| tasks.to_string()).unwrap_or_default());
    match &row.found {
        Ok(found) => {
            cells.extend([found.rounds.to_string(), row.figure(found.p50)]);
            cells.push(found.p99.map(|p99| row.figure(p99)).unwrap_or_default());
        }
        Err(_) => cells.extend(["0".into(), "failed".into(), String::new()]),
    }
    cells.push(row.ratio().unwrap_or_default());
    cells.push(row.target().unwrap_or_default());
    cells.push(match row.met() {
        Some(met) => verdict(met).to_owned(),
        None if row.busy && row.wanted.is_some() => BUSY.into(),
        None => String::new(),
    });
    let times = |peer| row.found.as_ref().ok()?.times(peer);
    cells.extend(Peer::ALL.map(|peer| times(peer).map(comparison).unwrap_or_default()));
    cells
}

/// Stands for a verdict that would be worth nothing.
const BUSY: &str = "busy";

fn verdict(met: bool) -> &'static str {
    if met { "yes" } else { "no" }
}

fn comparison(times: Measured<f64>) -> String {
    match times {
        Ok(times) => format!("{}x", short(times)),
        Err(error) if error == NOT_INSTALLED => "-".into(),
        Err(_) => "failed".into(),
    }
}

/// Marks the rows in which F took much longer than in the quietest. Returns the two extremes if there are such rows.
pub fn mark_busy(rows: &mut [Row]) -> Option<(f64, f64)> {
    const MUCH: f64 = 2.0;
    let floor = |row: &Row| row.found.as_ref().ok()?.floor.filter(|_| row.id != STORM);
    let floors: Vec<_> = rows.iter().filter_map(floor).collect();
    let quiet = floors.iter().copied().min_by(f64::total_cmp)?;
    let worst = floors.into_iter().max_by(f64::total_cmp)?;
    for row in rows {
        row.busy = floor(row).is_some_and(|floor| floor > quiet * MUCH);
    }
    (worst > quiet * MUCH).then_some((quiet, worst))
}

/// Here F is held up by its own kind, as the claims are by theirs.
const STORM: &str = "B11";

/// Tells of what failed, one line each.
pub fn failures(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        let tasks = row.tasks.map(|tasks| format!(" of {tasks}")).unwrap_or_default();
        let mut tell = |who: &str, error: &str| {
            lines.push(format!("{} {}{tasks}: {who}{error}", row.id, row.name));
        };
        match &row.found {
            Err(error) => tell("", error),
            Ok(found) => found.peers.iter().for_each(|(peer, other)| match other {
                Err(error) if error != NOT_INSTALLED => tell(&format!("{}: ", peer.name()), error),
                _ => {}
            }),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::row::{Found, Other, Wanted};
    use super::*;

    fn claim(tasks: usize, p50: f64) -> Row {
        let python = Other { p50: p50 * 100.0, rounds: 9 };
        let peers = vec![(Peer::Python3, Ok(python)), (Peer::Sqlite3, Err(NOT_INSTALLED.into()))];
        let found = Found { p50, p99: Some(p50 * 2.0), rounds: 60, floor: Some(0.5), limit: None, peers };
        Row::new("B09", "claim", "the best task")
            .tasks(tasks)
            .wanted(Wanted::MostFloors(2.6))
            .found(Ok(found))
    }

    fn ready() -> Row {
        Row::new("B13", "ready", "list")
            .tasks(1000)
            .wanted(Wanted::MostFloors(1.5))
            .found(Err("exit 2: why".into()))
    }

    #[test]
    fn every_row_has_one_line_and_says_what_is_missing() {
        let table = table(&[claim(1000, 1.0), claim(10_000, 1.5), ready()], false);
        let expected = r"
     NAME   TASKS  ROUNDS  P50 MS  P99 MS   RATIO    TARGET  MET  PYTHON3  SQLITE3  JQ
B09  claim   1000      60    1.00    2.00  2.00 F  <= 2.6 F  yes     100x        -
B09  claim  10000      60    1.50    3.00  3.00 F  <= 2.6 F   no     100x        -
B13  ready   1000       0  failed                  <= 1.5 F";
        assert_eq!(table.join("\n"), expected.trim_start_matches('\n'), "--- found\n{}", table.join("\n"));
        assert_eq!(failures(&[claim(1000, 1.0), ready()]), ["B13 ready of 1000: exit 2: why"]);
    }

    #[test]
    fn where_f_was_held_up_there_is_no_verdict() {
        let mut rows = [claim(100, 1.0), claim(1000, 1.0)];
        assert_eq!(mark_busy(&mut rows), None);
        rows[1].found.as_mut().unwrap().floor = Some(3.7);
        assert_eq!(mark_busy(&mut rows), Some((0.5, 3.7)));
        assert_eq!(rows.map(|row| row.met()), [Some(true), None]);
    }

    #[test]
    fn growth_is_taken_from_large_queues() {
        let rows = [claim(100, 9.0), claim(1000, 1.0), claim(10_000, 1.0), ready()];
        let expected =
            Growth { name: "claim", from: 1000, to: 10_000, exponent: 0.0, most: 0.12, busy: false };
        assert_eq!(growths(&rows), [expected]);
    }

    #[test]
    fn curves_have_a_point_per_size() {
        let curves = curves(&[claim(1000, 1.0), claim(10_000, 1.5)]);
        assert_eq!(curves[0].points, [(1000.0, 0.5), (10_000.0, 0.5)]);
        assert_eq!(curves[1].points, [(1000.0, 100.0), (10_000.0, 150.0)]);
        assert!(curves[2].points.is_empty());
        assert_eq!(curves[3].points, [(1000.0, 1.0), (10_000.0, 1.5)]);
    }
}
