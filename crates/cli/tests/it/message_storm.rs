//! Many sessions write to each other, and are killed while they write and while they read: nothing is lost, nothing is
//! read twice, everything comes in order.
//!
//! Each sender and each reader is a thread that does what a session's script would do, with a real process for every
//! command; a third of the processes is killed at some moment. `ANTHILL_LETTERS_SENDERS`, `_EACH`, `_RECEIVERS`,
//! and `_SEED` make it larger or repeat it.

use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::message_history::{self, History, Letter, Poll};
use anthill_testkit::test_env::{Ran, TestEnv, exit_code};
use serde_json::json;

use crate::storm::Dice;
use crate::{env, told};

const MAIL: &str = "user/.claude/orchestration/messages";
const PRIORITIES: [&str; 4] = ["critical", "high", "normal", "low"];

#[test]
fn storm_of_letters() {
    let storm = Storm::new();
    storm.ok(&["set", "config", "journal.kept_segments", "1000000"]);
    let begin = Instant::now();
    let mut history = storm.rage();
    let raged = begin.elapsed();
    for mailbox in storm.receivers() {
        storm.empty(&mailbox, &mut history);
        storm.compare_files(&mailbox, &history.sent);
    }
    let violations = message_history::check(&history);
    assert!(violations.is_empty(), "{storm:?}: {violations:#?}");
    storm.are_counted(&history.sent);
    storm.is_clean();
    storm.say(&history, raged);
}

#[derive(Debug)]
struct Storm {
    senders: u64,
    /// Messages of each sender.
    each: u64,
    receivers: u64,
    seed: u64,
    env: TestEnv,
    /// Whether all messages are sent, or somebody failed.
    over: AtomicBool,
    deadline: Instant,
    commands: AtomicU64,
    kills: AtomicU64,
    /// Commands that waited too long for the lock, which is allowed.
    busy: AtomicU64,
    /// How long a command that was left alone takes, roughly, in microseconds.
    usual: AtomicU64,
}

impl Storm {
    fn new() -> Storm {
        let random = std::hash::RandomState::new().hash_one(0) >> 16;
        let (senders, each) = (told("LETTERS_SENDERS", 8), told("LETTERS_EACH", 10));
        Storm {
            senders,
            each,
            receivers: told("LETTERS_RECEIVERS", 3),
            seed: told("LETTERS_SEED", random),
            env: env(),
            over: AtomicBool::new(false),
            deadline: Instant::now() + Duration::from_secs(120 + senders * each),
            commands: AtomicU64::new(0),
            kills: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            usual: AtomicU64::new(20_000),
        }
    }

    fn receivers(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.receivers).map(|number| format!("r{number}"))
    }

    /// Prepares a command that lives by the real clock.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.command(args);
        command.env_remove("ANTHILL_NOW");
        command
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.env.finish(&mut self.command(args), b"");
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.shown());
        ran
    }

    /// Lets them all write and read until everything is sent.
    fn rage(&self) -> History {
        thread::scope(|scope| {
            // Every other mailbox has two readers.
            let readers = 0..self.receivers + self.receivers / 2;
            let readers: Vec<_> = readers.map(|number| scope.spawn(move || self.read(number))).collect();
            let senders: Vec<_> =
                (0..self.senders).map(|number| scope.spawn(move || self.send(number))).collect();
            let sent: Vec<_> = senders.into_iter().map(thread::ScopedJoinHandle::join).collect();
            self.over.store(true, Ordering::Relaxed);
            let sent = sent.into_iter().flat_map(|sent| sent.expect("no sender failed")).collect();
            let polls = readers.into_iter().flat_map(|reader| reader.join().expect("no reader failed"));
            History { sent, polls: polls.collect(), steps: Vec::new() }
        })
    }

    /// Runs a command, often with a kill at some moment. Returns nothing if it was killed, or had to wait too long
    /// and did nothing.
    fn try_once(&self, dice: &mut Dice, args: &[&str]) -> Option<Ran> {
        let begin = Instant::now();
        assert!(begin < self.deadline, "the storm does not end: {self:?}");
        self.commands.fetch_add(1, Ordering::Relaxed);
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let usual = self.usual.load(Ordering::Relaxed);
        let unlucky = dice.below(100) < 50;
        if unlucky {
            thread::sleep(Duration::from_micros(dice.below(usual)));
            // It may have ended by itself; as long as it is not waited for, its id is not used again.
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        if output.status.signal() == Some(9) {
            self.kills.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if !unlucky && !args.contains(&"--wait") {
            let took: u64 = begin.elapsed().as_micros().try_into().unwrap();
            self.usual.store((7 * usual + took) / 8 + 1, Ordering::Relaxed);
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let code = exit_code(output.status);
        if code == 5 {
            self.busy.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) })
    }

    /// Repeats a command until it was allowed to end, as a careful script does.
    #[track_caller]
    fn until_answered(&self, dice: &mut Dice, args: &[&str]) -> Ran {
        loop {
            if let Some(ran) = self.try_once(dice, args) {
                assert_eq!(ran.code, 0, "{args:?}: {}", ran.shown());
                return ran;
            }
        }
    }

    /// Sends messages to anybody. Returns them as acknowledged.
    fn send(&self, number: u64) -> Vec<Letter> {
        let mut dice = Dice::new(self.seed ^ (number << 20));
        let from = format!("s{number}");
        let send = |count| {
            let (to, id) = (format!("r{}", dice.below(self.receivers)), format!("{from}-{count}"));
            let priority = PRIORITIES[dice.below(4) as usize];
            let payload = json!({"text": "x".repeat(dice.below(2000) as usize)}).to_string();
            let args = ["message", "send", &from, &to, "note", &payload, "--id", &id, "--priority", priority];
            let letter =
                Letter::of(&self.until_answered(&mut dice, &[&args[..], &["--json"]].concat()).json());
            assert_eq!((&letter.id, &letter.to, letter.priority.as_str()), (&id, &to, priority));
            letter
        };
        (0..self.each).map(send).collect()
    }

    /// Reads a mailbox until everything is sent. Returns what was surely read.
    fn read(&self, number: u64) -> Vec<Poll> {
        let mut dice = Dice::new(self.seed ^ ((number + 1) << 40));
        let (mailbox, mut polls) = (format!("r{}", number % self.receivers), Vec::new());
        while !self.over.load(Ordering::Relaxed) {
            let limit = (1 + dice.below(20)).to_string();
            let poll = ["message", "poll", &mailbox, "--json"];
            let args = match dice.below(3) {
                0 => [&poll[..], &["--limit", &limit]].concat(),
                _ => [&poll[..], &["--limit", &limit, "--wait", "0.5"]].concat(),
            };
            let (ran, again) = match self.try_once(&mut dice, &args) {
                Some(ran) => (ran, false),
                None => (self.until_answered(&mut dice, &[&poll[..], &["--again"]].concat()), true),
            };
            let letters = letters(&ran);
            for letter in letters.iter().take(dice.below(4) as usize) {
                let done = self.try_once(&mut dice, &["message", "done", &mailbox, &letter.id]);
                assert!(done.as_ref().is_none_or(|ran| ran.code == 0), "{done:?}");
            }
            polls.push(Poll { mailbox: mailbox.clone(), consumer: format!("c{number}"), again, letters });
        }
        polls
    }

    /// Asks for everything that is left in a mailbox, and for its journal.
    fn empty(&self, mailbox: &str, history: &mut History) {
        for again in [false, true] {
            let most = (self.senders * self.each).to_string();
            let poll = ["message", "poll", mailbox, "--json", "--limit", &most, "--again"];
            let letters = letters(&self.ok(&poll[..poll.len() - usize::from(!again)]));
            history.polls.push(Poll { mailbox: mailbox.into(), consumer: "end".into(), again, letters });
        }
        let told = self.ok(&["history", "mailbox", "--session-id", mailbox, "--json"]).json();
        history.steps.append(&mut message_history::steps(mailbox, told.as_array().unwrap()));
    }

    /// Each message is in one tray, where the list says.
    fn compare_files(&self, mailbox: &str, sent: &[Letter]) {
        let names = |tray: &str| -> BTreeSet<String> {
            let Ok(dir) = std::fs::read_dir(self.env.root().join(MAIL).join(mailbox).join(tray)) else {
                return BTreeSet::new();
            };
            let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string();
            dir.map(|entry| name(entry).unwrap().strip_suffix(".json").expect("a message").to_owned())
                .collect()
        };
        let (inbox, processed) = (names("inbox"), names("processed"));
        let expected: BTreeSet<_> =
            sent.iter().filter(|letter| letter.to == mailbox).map(|letter| letter.id.clone()).collect();
        assert!(inbox.is_disjoint(&processed), "{mailbox}");
        assert_eq!(inbox.union(&processed).cloned().collect::<BTreeSet<_>>(), expected, "{mailbox}");
        let list = self.ok(&["get", "mailbox", "--session-id", mailbox, "--json"]).json();
        for note in list["messages"].as_array().unwrap() {
            let tray = if note["status"] == "processed" { &processed } else { &inbox };
            assert!(tray.contains(note["id"].as_str().unwrap()), "{mailbox}: {note}");
        }
    }

    /// Each sender has counted its messages, without a gap and without counting one twice.
    fn are_counted(&self, sent: &[Letter]) {
        for number in 0..self.senders {
            let from = format!("s{number}");
            let own: Vec<_> =
                sent.iter().filter(|letter| letter.from == from).map(|letter| letter.seq).collect();
            assert_eq!(own, (1..=self.each).collect::<Vec<_>>(), "{from}");
        }
    }

    fn is_clean(&self) {
        let log = self.ok(&["log", "--json"]).json();
        let logged = |op: &str| log.as_array().unwrap().iter().any(|record| record["op"] == op);
        assert!(["send", "poll", "done"].into_iter().all(logged), "the log tells of messages");
        let report = self.ok(&["doctor", "--json"]).json();
        assert_eq!(report["findings"], json!([]), "{report:#}");
        self.ok(&["validate"]);
        let left: Vec<_> = self.env.bytes().into_keys().filter(|path| path.contains("/next-")).collect();
        assert!(left.is_empty(), "left over: {left:?}");
    }

    #[expect(clippy::print_stderr, reason = "figures, for the eye")]
    fn say(&self, history: &History, raged: Duration) {
        let Storm { senders, each, receivers, seed, commands, kills, busy, usual, .. } = self;
        let count = |again| -> usize {
            let polls = history.polls.iter().filter(|poll| poll.again == again);
            polls.map(|poll| poll.letters.len()).sum()
        };
        let (once, again) = (count(false), count(true));
        eprintln!(
            "{senders} senders x {each} to {receivers} receivers (seed {seed}): {:.1} s, {commands:?} commands, {kills:?} \
             killed, {busy:?} busy; {once} read by polls, {} only by --again ({again} outputs); in the end a command \
             took about {usual:?} µs",
            raged.as_secs_f64(),
            history.sent.len() - once,
        );
    }
}

fn letters(ran: &Ran) -> Vec<Letter> {
    assert_eq!(ran.code, 0, "{}", ran.shown());
    ran.json().as_array().unwrap().iter().map(Letter::of).collect()
}
