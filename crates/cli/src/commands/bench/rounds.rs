//! Measuring in turns: every round runs each contender once, so that all of them meet the same machine.

use std::time::{Duration, Instant};

use super::measured::{Measured, milliseconds};
use super::peers::Peer;

/// Runs a contender once and returns how long that took; gets the number of the round.
pub type Run<'a> = Box<dyn FnMut(usize) -> Measured<Duration> + 'a>;

/// How much of a row is measured.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Rounds of our own command, time permitting.
    pub most: usize,
    /// Rounds of a peer, time permitting.
    pub most_of_peer: usize,
    /// After this long a contender has done enough, if it had its fewest rounds.
    pub time: Duration,
}

/// Rounds that are made however long they take, short of [`HOPELESS`].
const FEWEST: usize = 5;
const FEWEST_OF_PEER: usize = 3;
/// After this long a contender has done enough, however few its rounds.
const HOPELESS: Duration = Duration::from_secs(45);

/// The times of one row in milliseconds.
pub struct Race {
    pub ours: Vec<f64>,
    pub floor: Vec<f64>,
    pub peers: Vec<(Peer, Measured<Vec<f64>>)>,
}

/// Runs our command, the empty program and the peers in turns, there and back again: neighbours change, so nobody
/// always comes after the one that leaves the disk busy.
pub fn race<'a>(
    budget: &Budget,
    ours: Run<'a>,
    floor: Run<'a>,
    peers: Vec<(Peer, Run<'a>)>,
) -> Measured<Race> {
    let mut ours = Contender::new(ours, FEWEST, budget.most, budget.time);
    let mut floor = Contender::new(floor, FEWEST, budget.most, budget.time);
    let mut peers: Vec<_> = peers
        .into_iter()
        .map(|(peer, run)| {
            (peer, Contender::new(run, FEWEST_OF_PEER, budget.most_of_peer, budget.time), Ok(()))
        })
        .collect();
    for round in 0.. {
        if round % 2 == 0 && ours.wants_more() {
            ours.run(round)?;
            floor.run(round)?;
        }
        for (_, peer, outcome) in
            peers.iter_mut().filter(|(_, peer, outcome)| outcome.is_ok() && peer.wants_more())
        {
            *outcome = peer.run(round);
        }
        if round % 2 == 1 && ours.wants_more() {
            floor.run(round)?;
            ours.run(round)?;
        }
        if !ours.wants_more() && !peers.iter().any(|(_, peer, outcome)| outcome.is_ok() && peer.wants_more())
        {
            break;
        }
    }
    let peers = peers.into_iter().map(|(peer, contender, outcome)| (peer, outcome.map(|()| contender.times)));
    Ok(Race { ours: ours.times, floor: floor.times, peers: peers.collect() })
}

struct Contender<'a> {
    run: Run<'a>,
    fewest: usize,
    most: usize,
    time: Duration,
    spent: Duration,
    times: Vec<f64>,
}

impl<'a> Contender<'a> {
    fn new(run: Run<'a>, fewest: usize, most: usize, time: Duration) -> Contender<'a> {
        Contender { run, fewest: fewest.min(most), most, time, spent: Duration::ZERO, times: Vec::new() }
    }

    fn wants_more(&self) -> bool {
        let made = self.times.len();
        let patience = if made < self.fewest { HOPELESS } else { self.time };
        made < self.most && (made == 0 || self.spent < patience)
    }

    /// Runs once. What the round needs besides the measured process counts as spent too.
    fn run(&mut self, round: usize) -> Measured<()> {
        let begin = Instant::now();
        let took = (self.run)(round)?;
        self.spent += begin.elapsed();
        self.times.push(milliseconds(took));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { most: 20, most_of_peer: 4, time: Duration::from_secs(60) };

    fn takes(milliseconds: u64) -> Run<'static> {
        Box::new(move |_| Ok(Duration::from_millis(milliseconds)))
    }

    #[test]
    fn everybody_has_their_rounds() {
        let race = race(&BUDGET, takes(2), takes(1), vec![(Peer::Jq, takes(9))]).unwrap();
        assert_eq!((race.ours.len(), race.floor.len()), (20, 20));
        assert_eq!(race.peers[0].1.as_ref().unwrap(), &[9.0; 4]);
    }

    #[test]
    fn without_time_there_are_the_fewest_rounds() {
        let budget = Budget { time: Duration::ZERO, ..BUDGET };
        let race = race(&budget, takes(2), takes(1), vec![(Peer::Jq, takes(9))]).unwrap();
        assert_eq!((race.ours.len(), race.peers[0].1.as_ref().unwrap().len()), (FEWEST, FEWEST_OF_PEER));
    }

    #[test]
    fn a_peer_that_fails_is_out_and_we_are_not() {
        let fails: Run<'_> = Box::new(|_| Err("no such function".into()));
        let race = race(&BUDGET, takes(2), takes(1), vec![(Peer::Sqlite3, fails)]).unwrap();
        assert_eq!(race.ours.len(), 20);
        assert_eq!(race.peers[0].1, Err("no such function".into()));
    }
}
