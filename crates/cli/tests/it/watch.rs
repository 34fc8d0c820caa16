//! The promises of `watch`: ordered, unique, reliable, resumable; and it sees what other programs do.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Running, TestEnv};
use serde_json::Value;

use crate::env;

/// Long enough to notice an event that should not come.
const QUIET: Duration = Duration::from_millis(300);

fn configured() -> TestEnv {
    let env = env();
    env.ok(&["set", "config", "x_count", "0"]);
    env
}

/// Returns the watch of the configuration, after its snapshot.
#[track_caller]
fn watching(env: &TestEnv) -> Running {
    let watch = env.spawn(&["watch", "config"]);
    let snapshot = watch.json();
    assert_eq!(snapshot["op"], "snapshot", "{snapshot}");
    watch
}

#[track_caller]
fn quiet(watch: &Running) {
    assert_eq!(watch.line_within(QUIET), None, "nothing more happened");
}

/// Sets the configuration from several processes at once.
fn set_many(env: &TestEnv, threads: usize, each: usize) {
    thread::scope(|scope| {
        for worker in 0..threads {
            scope.spawn(move || {
                for number in 0..each {
                    env.ok(&["set", "config", &format!("x_last.w{worker}"), &number.to_string()]);
                }
            });
        }
    });
}

#[test]
fn ordered_unique_reliable() {
    let env = configured();
    let (early, late) = (watching(&env), watching(&env));
    set_many(&env, 4, 50);
    for watch in [&early, &late] {
        for revision in 2..=201 {
            let event = watch.json();
            assert_eq!(event["revision"], revision, "{event}");
            assert_eq!(event["value"]["revision"], revision, "an event shows the state of its revision");
            assert_eq!((&event["op"], &event["by"]), (&"set".into(), &"tester".into()));
        }
        quiet(watch);
    }
}

#[test]
fn reliable_when_the_journal_rotates() {
    let env = configured();
    let watch = watching(&env);
    let long = "x".repeat(60_000);
    for number in 0..40 {
        env.ok(&["set", "config", "x_text", &format!("\"{number}{long}\"")]);
    }
    let rotated = env.bytes().into_keys().filter(|path| path.contains(".anthill/journal-")).count();
    assert!(rotated >= 2, "only {rotated} segments were closed");
    for revision in 2..=41 {
        assert_eq!(watch.json()["revision"], revision);
    }
    let again = env.spawn(&["watch", "config", "--from", "1"]);
    for revision in 2..=41 {
        assert_eq!(again.json()["revision"], revision, "from the old segments");
    }
    env.ok(&["set", "config", "x_text", "1"]);
    assert_eq!((watch.json()["revision"].take(), again.json()["revision"].take()), (42.into(), 42.into()));
}

#[test]
fn resumable_after_kills_at_any_moment() {
    let env = configured();
    let mut revisions: Vec<u64> = Vec::new();
    let mut kills = 0;
    thread::scope(|scope| {
        let writer = scope.spawn(|| set_many(&env, 2, 80));
        while !writer.is_finished() || kills < 6 {
            let from = revisions.last().copied().unwrap_or(1).to_string();
            let mut watch = env.spawn(&["watch", "config", "--from", &from]);
            // Dies somewhere between its start and its eleventh line.
            for _ in 0..kills % 11 {
                revisions.extend(watch.line_within(QUIET).as_deref().and_then(revision_of));
            }
            revisions.extend(watch.kill().iter().filter_map(|line| revision_of(line)));
            kills += 1;
        }
    });
    let from = revisions.last().copied().unwrap_or(1).to_string();
    let watch = env.spawn(&["watch", "config", "--from", &from]);
    while revisions.last() != Some(&161) {
        revisions.push(watch.json()["revision"].as_u64().unwrap());
    }
    let expected: Vec<u64> = (2..=161).collect();
    assert_eq!(revisions, expected, "no gap and no repeat over {kills} kills");
}

#[test]
fn resumed_at_the_newest_revision_it_waits() {
    let env = configured();
    let watch = env.spawn(&["watch", "config", "--from", "1"]);
    quiet(&watch);
    env.ok(&["set", "config", "x_count", "1"]);
    assert_eq!(watch.json()["revision"], 2);
}

#[test]
fn snapshot_and_changes_join_without_gap_or_repeat() {
    let env = configured();
    thread::scope(|scope| {
        let writer = scope.spawn(|| set_many(&env, 2, 100));
        let mut watches = 0;
        while !writer.is_finished() || watches < 6 {
            let watch = env.spawn(&["watch", "config"]);
            let more = (0..3).map_while(|_| watch.line_within(QUIET));
            let events: Vec<_> = std::iter::once(watch.line()).chain(more).collect();
            let seen: Vec<(u64, String)> = events.iter().map(|line| summary(line)).collect();
            let first = seen[0].0;
            let expected: Vec<_> =
                (first..).zip(["snapshot", "set", "set", "set"].map(String::from)).take(seen.len()).collect();
            assert_eq!(seen, expected);
            watches += 1;
        }
    });
}

/// Returns the revision and the operation of a line.
fn summary(line: &str) -> (u64, String) {
    let event: Value = serde_json::from_str(line).unwrap();
    (event["revision"].as_u64().unwrap(), event["op"].as_str().unwrap().to_owned())
}

/// Returns the revision of a line, unless the line was cut off by a kill.
fn revision_of(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["revision"].as_u64()
}

#[test]
fn sees_what_other_programs_write() {
    let env = configured();
    let watch = watching(&env);
    let edits = [
        ("sed -i 's/3600/1/' config.json", Value::from(1)),
        (
            "sed 's/\"session_timeout\": 1/\"session_timeout\": 2/' config.json > new; cat new > config.json",
            2.into(),
        ),
        (
            "sed 's/\"session_timeout\": 2/\"session_timeout\": 3/' config.json > new; mv new config.json",
            3.into(),
        ),
        (
            "printf '%s' '{\"version\": \"2.0.0\", \"global\": {\"session_timeout\": 4}}' > config.json",
            4.into(),
        ),
        ("rm config.json", Value::Null),
        (
            "printf '%s' '{\"version\": \"2.0.0\", \"global\": {\"session_timeout\": 5}}' > config.json",
            5.into(),
        ),
    ];
    for (line, expected) in edits {
        let ran = env.sh(&format!("cd ~/.claude/orchestration && {line}"));
        assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
        let event = watch.json();
        assert_eq!(
            event["value"].pointer("/global/session_timeout").unwrap_or(&Value::Null),
            &expected,
            "{line}"
        );
        assert_eq!((&event["op"], &event["by"]), (&"edit".into(), &"hand".into()), "{line}");
    }
    quiet(&watch);
    // A commit takes the edit in, and only the commit is news.
    env.ok(&["set", "config", "global.session_timeout", "6"]);
    let event = watch.json();
    assert_eq!((&event["op"], &event["value"]["global"]["session_timeout"]), (&"set".into(), &6.into()));
    quiet(&watch);
}

#[test]
fn damage_is_no_event_and_its_end_is() {
    let env = configured();
    let watch = watching(&env);
    let path = "user/.claude/orchestration/config.json";
    let good = env.read_text(path);
    env.write(path, &good[..100]);
    quiet(&watch);
    env.write(path, good.replace("3600", "7"));
    assert_eq!(watch.json()["value"]["global"]["session_timeout"], 7);
    env.ok(&["delete", "config", "."]);
    let event = watch.json();
    assert_eq!((&event["op"], &event["value"]), (&"delete".into(), &Value::Null));
    env.ok(&["undo", "config"]);
    assert_eq!(watch.json()["value"]["global"]["session_timeout"], 7);
}

#[test]
fn started_before_anything_exists() {
    for (args, file) in [
        (&["config"][..], "user/.claude/orchestration/config.json"),
        (&["session", "--session-id", "s1"], "user/.claude/sessions/s1/state.json"),
        (&["queue"], "project/.coordination/tasks.json"),
        (&["errors"], "project/.claude/state/errors/classified.json"),
    ] {
        let env = env();
        let watch = env.spawn(&[&["watch"], args].concat());
        wait_until_it_listens(&watch);
        env.ok(&[&["set", args[0], "x", "1"], &args[1..]].concat());
        let event = watch.json();
        assert_eq!((&event["revision"], &event["value"]["x"]), (&1.into(), &1.into()), "{args:?} {event}");
        env.ok(&[&["set", args[0], "x", "2"], &args[1..]].concat());
        assert_eq!(watch.json()["value"]["x"], 2, "{args:?}");
        let text = env.read_text(file).replace("\"x\": 2", "\"x\": 3");
        env.write(file, text);
        assert_eq!(watch.json()["value"]["x"], 3, "{args:?}");
        std::fs::remove_dir_all(env.root().join(file).parent().unwrap()).unwrap();
        assert_eq!(watch.json()["value"], Value::Null, "{args:?}");
        env.ok(&[&["set", args[0], "x", "4"], &args[1..]].concat());
        let mut event = watch.json();
        while event["value"]["x"] != 4 {
            event = watch.json();
        }
    }
}

/// Waits until a command that prints nothing yet has looked at what is there and sleeps until it changes: it has an
/// inotify handle, and the kernel shows it asleep.
pub fn wait_until_it_listens(watch: &Running) {
    let process = format!("/proc/{}", watch.id());
    let has_handle = || {
        let handles = std::fs::read_dir(format!("{process}/fd")).into_iter().flatten().flatten();
        handles
            .filter_map(|handle| std::fs::read_link(handle.path()).ok())
            .any(|target| target.to_string_lossy().contains("inotify"))
    };
    // "PID (NAME) STATE ..."
    let sleeps = || {
        let text = std::fs::read_to_string(format!("{process}/stat")).unwrap_or_default();
        text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
    };
    let end = Instant::now() + Duration::from_secs(30);
    while !(has_handle() && sleeps()) {
        assert!(Instant::now() < end, "it never listens");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn made_by_hand_before_anthill_ever_wrote() {
    let env = env();
    let watch = env.spawn(&["watch", "queue"]);
    wait_until_it_listens(&watch);
    env.write("project/.coordination/tasks.json", r#"{"version": "1.0", "tasks": []}"#);
    let event = watch.json();
    assert_eq!((&event["op"], &event["value"]["version"]), (&"edit".into(), &"1.0".into()));
    env.ok(&["set", "queue", "x", "1"]);
    let event = watch.json();
    assert_eq!((&event["op"], &event["value"]["x"]), (&"set".into(), &1.into()));
    quiet(&watch);
}

#[test]
fn exec_gets_the_event_on_stdin() {
    let env = configured();
    let log = env.root().join("log");
    let script = format!("echo $ANTHILL_KIND $ANTHILL_REVISION >> {0}; cat >> {0}; exit 3", log.display());
    let mut watch = env.spawn(&["watch", "config", "--from", "1", "--exec", &script, "--count", "3"]);
    for number in 1..=3 {
        env.ok(&["set", "config", "x_count", &number.to_string()]);
    }
    assert_eq!(watch.wait(), 0, "a failing command does not end the watch");
    let text = env.read_text("log");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    for (number, pair) in lines.chunks(2).enumerate() {
        assert_eq!(pair[0], format!("config {}", number + 2));
        let event: Value = serde_json::from_str(pair[1]).unwrap();
        assert_eq!((&event["op"], &event["value"]["x_count"]), (&"set".into(), &(number + 1).into()));
    }
}

#[test]
fn state_text_never_reaches_the_shell_of_exec() {
    let env = configured();
    let mut watch = env.spawn(&["watch", "config", "--from", "1", "--exec", "cat > seen", "--count", "1"]);
    wait_until_it_listens(&watch);
    env.ok(&["set", "config", "x_note", "\"$(touch pwned); `touch pwned`; '\\\"touch pwned\""]);
    assert_eq!(watch.wait(), 0);
    assert!(env.read_text("project/seen").contains("touch pwned"));
    assert!(!env.project().join("pwned").exists());
}

#[test]
fn interval_limits_how_often() {
    let env = configured();
    let watch = env.spawn(&["watch", "config", "--interval", "0.4"]);
    assert_eq!(watch.json()["op"], "snapshot");
    let (begin, mut revisions) = (Instant::now(), Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| set_many(&env, 2, 60));
        while revisions.last() != Some(&121) {
            revisions.push(watch.json()["revision"].as_u64().unwrap());
        }
    });
    // The first change comes at once, then at most one per interval, and the newest always comes.
    assert_eq!(revisions[0], 2);
    assert!(revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");
    // Not from line to line: whoever is late to read one finds the next all the sooner.
    let intervals = revisions.len() as u32 - 1;
    assert!(
        begin.elapsed() >= Duration::from_millis(400) * intervals,
        "{:?}: {revisions:?}",
        begin.elapsed()
    );
    quiet(&watch);
}

#[test]
fn ends_when_nobody_reads() {
    let env = configured();
    let mut command: Command = env.clean("sh");
    // It says so when the pipe is closed, and not before.
    command.args(["-c", "anthill watch config | { read -r line; exec <&-; echo closed; }"]);
    let mut running = Running::start(&mut command);
    running.line();
    for number in 0..3 {
        env.ok(&["set", "config", "x_count", &number.to_string()]);
    }
    assert_eq!(running.wait(), 0);
}

/// Adds so many tasks with one command.
fn import(env: &TestEnv, name: &str, count: usize) {
    let task = |number| format!("{{\"id\":\"{name}-{number}\",\"description\":\"do it\"}}\n");
    env.write("tasks.jsonl", (0..count).map(task).collect::<String>());
    let file = env.root().join("tasks.jsonl");
    env.ok(&["leader", "import", file.to_str().unwrap()]);
}

/// Returns the most memory that a process had so far, in megabytes.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// A queue that grows while it is watched is told by its changes from when it is long, and takes no more memory for it.
#[test]
fn a_growing_queue_is_watched_in_bounded_memory() {
    let env = env();
    env.ok(&["leader", "init", "grow"]);
    import(&env, "few", 10);
    let mut watch = env.command(&["watch", "queue"]);
    let mut watch = watch.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        event
    });
    assert_eq!(lines.next().unwrap()["value"]["tasks"].as_array().unwrap().len(), 10);
    env.ok(&["worker", "claim", "early"]);
    assert_eq!(
        lines.next().unwrap()["value"]["tasks"][0]["claimed_by"],
        "early",
        "a short one is told whole"
    );
    for step in 0..3 {
        import(&env, &format!("many-{step}"), 8000);
        let event = lines.next().unwrap();
        assert!(event["value"]["tasks"].as_array().unwrap().len() > 8000 * step, "an import has no parts");
        let worker = format!("w{step}");
        env.ok(&["worker", "claim", &worker]);
        let event = lines.next().unwrap();
        assert_eq!((&event["op"], &event["value"]), (&"claim".into(), &Value::Null), "{event}");
        let path = format!("tasks[id=few-{}].claimed_by", step + 1);
        let changes = event["changes"].as_array().unwrap();
        let owner = changes.iter().find(|change| change["path"] == *path);
        assert_eq!(owner.map(|change| &change["after"]), Some(&worker.into()), "{event}");
    }
    let workers = env.spawn(&["watch", "workers"]);
    assert_eq!(workers.json()["op"], "snapshot");
    env.ok(&["worker", "claim", "late"]);
    assert_eq!(workers.json()["op"], "claim");
    assert!(peak(workers.id()) < 32, "{} MB, because a neighbour is long", peak(workers.id()));
    let most = peak(watch.id());
    assert!(most < 32, "{most} MB");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// Whoever does not read is told once what was passed over, and nothing waits in memory for them.
#[test]
fn a_slow_reader_is_left_behind() {
    let env = env();
    env.ok(&["leader", "init", "slow"]);
    import(&env, "t", 5000);
    let mut watch = env.command(&["watch", "queue"]);
    let mut watch = watch.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        event
    });
    let first = lines.next().unwrap()["revision"].as_u64().unwrap();
    // Its output is stuck in the pipe, or soon will be.
    let long = "x".repeat(60_000);
    for number in 0..30 {
        env.ok(&["leader", "add-task", &long, "--id", &format!("long-{number}")]);
    }
    let mut told = first;
    let missed = loop {
        let event = lines.next().unwrap();
        let revision = event["revision"].as_u64().unwrap();
        if let Some(missed) = event["missed"].as_u64() {
            assert_eq!(event["op"], "snapshot");
            assert_eq!(event["value"]["revision"], revision);
            assert_eq!(missed, revision - told);
            break missed;
        }
        assert_eq!(revision, told + 1, "nothing is passed over without a word");
        told = revision;
    };
    assert!(missed > 5, "{missed}");
    env.ok(&["worker", "claim", "w"]);
    let event = lines.find(|event| event["op"] == "claim").unwrap();
    assert_eq!((event.get("missed"), event.get("value")), (None, None), "{event}");
    assert!(peak(watch.id()) < 32, "{} MB", peak(watch.id()));
    watch.kill().unwrap();
    watch.wait().unwrap();
}
