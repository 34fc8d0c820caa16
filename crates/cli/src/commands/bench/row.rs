//! One line of the report: what was measured, what was found, what was wanted.

use serde_json::{Map, Value, json};

use super::measured::Measured;
use super::peers::Peer;
use super::rounds::Race;
use super::stats::{median, percentile, short};

#[derive(Debug, Clone)]
pub struct Row {
    pub id: &'static str,
    pub name: &'static str,
    pub what: &'static str,
    /// How many tasks there are.
    pub tasks: Option<usize>,
    pub unit: Unit,
    pub wanted: Option<Wanted>,
    pub found: Measured<Found>,
    /// Whether other work on the machine held up F itself: then there is no verdict.
    pub busy: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Found {
    pub p50: f64,
    pub p99: Option<f64>,
    pub rounds: usize,
    /// The same of the empty program, in the same rounds.
    pub floor: Option<f64>,
    /// What no implementation can do without, in the same rounds.
    pub limit: Option<f64>,
    pub peers: Vec<(Peer, Measured<Other>)>,
}

/// The figure of a peer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Other {
    pub p50: f64,
    pub rounds: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    PerSecond,
    Kilobytes,
    Times,
}

/// The target of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    /// At most so many times the empty program.
    MostFloors(f64),
    /// At least this share of the empty program.
    LeastFloors(f64),
    /// At most so many times the limit.
    MostLimits(f64),
    /// At most this.
    Most(f64),
}

impl Row {
    pub fn new(id: &'static str, name: &'static str, what: &'static str) -> Row {
        let unmeasured = Err("not measured".into());
        let unit = Unit::Milliseconds;
        Row { id, name, what, tasks: None, unit, wanted: None, found: unmeasured, busy: false }
    }

    pub fn tasks(self, tasks: usize) -> Row {
        Row { tasks: Some(tasks), ..self }
    }

    pub fn unit(self, unit: Unit) -> Row {
        Row { unit, ..self }
    }

    pub fn wanted(self, wanted: Wanted) -> Row {
        Row { wanted: Some(wanted), ..self }
    }

    pub fn found(self, found: Measured<Found>) -> Row {
        Row { found, ..self }
    }

    /// Whether the target is met; `None` without a target or a figure to be trusted.
    pub fn met(&self) -> Option<bool> {
        let found = self.found.as_ref().ok().filter(|_| !self.busy)?;
        Some(match self.wanted? {
            Wanted::MostFloors(most) => found.floors()? <= most,
            Wanted::LeastFloors(least) => found.floors()? >= least,
            Wanted::MostLimits(most) => found.limits()? <= most,
            Wanted::Most(most) => found.p50 <= most,
        })
    }

    /// Returns the figure with its unit, unless that is the usual one.
    pub fn figure(&self, value: f64) -> String {
        match self.unit {
            Unit::Milliseconds => short(value),
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::Kilobytes => format!("{value:.0} KB"),
            Unit::Times => format!("{} x", short(value)),
        }
    }

    /// Returns the ratio that the row is about.
    pub fn ratio(&self) -> Option<String> {
        let found = self.found.as_ref().ok()?;
        let limits = found.limits().map(|ratio| format!("{} limit", short(ratio)));
        limits.or_else(|| found.floors().map(|ratio| format!("{} F", short(ratio))))
    }

    pub fn target(&self) -> Option<String> {
        Some(match self.wanted? {
            Wanted::MostFloors(most) => format!("<= {most:.1} F"),
            Wanted::LeastFloors(least) => format!(">= {least:.1} F"),
            Wanted::MostLimits(most) => format!("<= {most:.1} limit"),
            Wanted::Most(most) => format!("<= {}", self.figure(most)),
        })
    }

    pub fn json(&self) -> Value {
        let unit = match self.unit {
            Unit::Milliseconds => "ms",
            Unit::PerSecond => "1/s",
            Unit::Kilobytes => "KB",
            Unit::Times => "ratio",
        };
        let mut row = json!({
            "id": self.id, "name": self.name, "what": self.what, "tasks": self.tasks, "unit": unit,
            "target": self.target(), "met": self.met(), "busy": self.busy,
        });
        match &self.found {
            Err(error) => row["error"] = error.as_str().into(),
            Ok(found) => {
                row["rounds"] = found.rounds.into();
                row["p50"] = number(found.p50);
                row["p99"] = found.p99.map(number).into();
                row["floor"] = found.floor.map(number).into();
                row["times_floor"] = found.floors().map(number).into();
                row["limit"] = found.limit.map(number).into();
                row["times_limit"] = found.limits().map(number).into();
                row["peers"] = found.peers_json();
            }
        }
        row
    }
}

impl Found {
    /// Returns the figures of a race.
    pub fn of(race: &Race) -> Found {
        let other = |times: &Vec<f64>| Other { p50: median(times).unwrap_or_default(), rounds: times.len() };
        let peers =
            race.peers.iter().map(|(peer, times)| (*peer, times.as_ref().map(other).map_err(Clone::clone)));
        Found {
            p50: median(&race.ours).unwrap_or_default(),
            p99: percentile(&race.ours, 0.99),
            rounds: race.ours.len(),
            floor: median(&race.floor),
            limit: None,
            peers: peers.collect(),
        }
    }

    pub fn floors(&self) -> Option<f64> {
        self.floor.filter(|floor| *floor > 0.0).map(|floor| self.p50 / floor)
    }

    pub fn limits(&self) -> Option<f64> {
        self.limit.filter(|limit| *limit > 0.0).map(|limit| self.p50 / limit)
    }

    /// Returns how many times as much a peer takes.
    pub fn times(&self, peer: Peer) -> Option<Measured<f64>> {
        let (_, other) = self.peers.iter().find(|(known, _)| *known == peer)?;
        Some(other.clone().map(|other| other.p50 / self.p50))
    }

    fn peers_json(&self) -> Value {
        let entry = |(peer, other): &(Peer, Measured<Other>)| {
            let value = match other {
                Ok(Other { p50, rounds }) => {
                    json!({"p50": number(*p50), "rounds": rounds, "times_ours": number(p50 / self.p50)})
                }
                Err(error) => json!({"error": error}),
            };
            (peer.name().to_owned(), value)
        };
        Value::Object(self.peers.iter().map(entry).collect::<Map<_, _>>())
    }
}

/// Returns a figure without digits that mean nothing.
pub fn number(value: f64) -> Value {
    json!((value * 1e4).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(wanted: Wanted) -> Row {
        let found = Found { p50: 3.0, floor: Some(1.5), limit: Some(2.5), ..Found::default() };
        Row::new("B00", "name", "what").wanted(wanted).found(Ok(found))
    }

    #[test]
    fn targets_are_judged_by_what_they_speak_of() {
        let judged = |wanted| (row(wanted).target().unwrap(), row(wanted).met().unwrap());
        assert_eq!(judged(Wanted::MostFloors(2.0)), ("<= 2.0 F".into(), true));
        assert_eq!(judged(Wanted::MostFloors(1.9)), ("<= 1.9 F".into(), false));
        assert_eq!(judged(Wanted::LeastFloors(2.1)), (">= 2.1 F".into(), false));
        assert_eq!(judged(Wanted::MostLimits(1.5)), ("<= 1.5 limit".into(), true));
        assert_eq!(judged(Wanted::Most(4.0)), ("<= 4.00".into(), true));
    }

    #[test]
    fn what_failed_is_neither_met_nor_missed() {
        let row = row(Wanted::MostFloors(2.0)).found(Err("exit 2".into()));
        assert_eq!((row.met(), row.ratio()), (None, None));
        assert_eq!(row.json()["error"], "exit 2");
    }

    #[test]
    fn peers_are_told_by_how_much_longer_they_take() {
        let peers = vec![
            (Peer::Jq, Ok(Other { p50: 30.0, rounds: 9 })),
            (Peer::Sqlite3, Err("no such function".into())),
        ];
        let found = Found { p50: 3.0, peers, ..Found::default() };
        assert_eq!(found.times(Peer::Jq), Some(Ok(10.0)));
        assert_eq!(found.times(Peer::Sqlite3), Some(Err("no such function".into())));
        assert_eq!(found.times(Peer::Python3), None, "not installed");
    }
}
