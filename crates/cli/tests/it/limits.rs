//! What the machine does not give: events, room in a file, a clock of this age, a place to write to.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::json;

use crate::env;
use crate::owners::{as_user, may_be_others};

const MAIL: &str = "user/.claude/orchestration/messages";

/// Prepares a line of shell that runs in namespaces of its own, if this machine lets us have them.
#[expect(clippy::print_stderr, reason = "who reads the log should know that it was not tried")]
fn apart(env: &TestEnv, line: &str) -> Option<Command> {
    let unshare = |line: &str| {
        let mut command = env.clean("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", line]);
        command
    };
    // Without the program there is nothing to ask.
    let may = env
        .sh("unshare --user --map-root-user --mount sh -c 'echo 7 > /proc/sys/user/max_inotify_instances'");
    if may.code != 0 {
        eprintln!("skipped: no namespaces here: {}", may.stderr);
        return None;
    }
    Some(unshare(line))
}

fn ran_apart(env: &TestEnv, line: &str) -> Option<Ran> {
    Some(env.finish(&mut apart(env, line)?, b""))
}

#[test]
fn without_events_waiters_look_and_say_which_limit_to_raise() {
    for limit in ["instances", "watches"] {
        let env = env();
        env.ok(&["leader", "init", "g"]);
        // The second command waits until the first one does: the word that it looks comes when it begins to.
        let line = format!(
            "echo 0 > /proc/sys/user/max_inotify_{limit}
            anthill worker claim w --wait 60 2> told & waiter=$!
            anthill message poll b --wait 60 > polled 2> told-too & reader=$!
            anthill watch queue > seen 2> told-three & watcher=$!
            until grep -q sysctl told && grep -q sysctl told-too && grep -q sysctl told-three; do sleep 0.02; done
            anthill leader add-task x --id t
            anthill message send a b note 1
            wait $waiter
            wait $reader
            until grep -q '\"claimed\"' seen; do sleep 0.02; done
            kill $watcher
            cat polled told"
        );
        let Some(ran) = ran_apart(&env, &line) else { return };
        assert_eq!(ran.code, 0, "{}", ran.shown());
        assert!(
            ran.stdout.contains("Claimed for w") && ran.stdout.contains("\"payload\": 1"),
            "{}",
            ran.shown()
        );
        // Whoever runs the tests may have no instances left either, which is found out first.
        let told = |limit| ran.stdout.matches(&format!("sysctl fs.inotify.max_user_{limit}=")).count();
        let instances = if limit == "instances" { 0 } else { told("instances") };
        assert_eq!(told(limit) + instances, 1, "{}", ran.shown());
    }
}

#[test]
fn what_is_no_message_does_not_keep_others_from_being_read() {
    let env = env();
    for made in [false, true] {
        let inbox = env.root().join(format!("{MAIL}/b/inbox"));
        fs::create_dir_all(&inbox).unwrap();
        let odd = ["dir", "fifo", "link", "long"].map(|name| inbox.join(format!("{name}{made}.json")));
        fs::create_dir(&odd[0]).unwrap();
        assert_eq!(env.finish(env.clean("mkfifo").arg(&odd[1]), b"").code, 0);
        symlink("/etc/passwd", &odd[2]).unwrap();
        fs::File::create_new(&odd[3]).unwrap().set_len(65 << 20).unwrap();
        env.ok(&["message", "send", "a", "b", "note", "1"]);
        let ran = env.ok(&["message", "poll", "b"]);
        assert_eq!(ran.json().as_array().unwrap().len(), 1, "{}", ran.shown());
        let ran = env.ok(&["message", "poll", "b"]);
        for path in odd {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(ran.stderr.contains(&format!("b/inbox/{name}` is left out")), "{name}: {}", ran.shown());
            let ran = env.run(&["doctor"]);
            assert!(ran.code == 7 && ran.stderr.contains(name), "{name}: {}", ran.shown());
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "as somebody else who does what he should not")]
fn a_directory_in_the_place_of_a_twin_is_moved_aside() {
    let env = env();
    env.ok(&["leader", "init", "g"]);
    env.ok(&["leader", "add-task", "x"]);
    env.ok(&["worker", "claim", "w"]);
    let hidden = env.project().join(".coordination/.anthill");
    let plant = |name: &str| {
        let _ = fs::remove_file(hidden.join(name));
        fs::create_dir_all(hidden.join(name).join("kept")).unwrap();
    };
    plant("twin-tasks.json");
    env.ok(&["leader", "add-task", "y"]);
    env.ok(&["leader", "add-task", "z"]);
    assert!(hidden.join("quarantine/twin-tasks.json.1/kept").is_dir(), "nothing is thrown away");
    for name in ["twin-tasks.json", "index-tasks.json", "next-tasks.json"] {
        plant(name);
        let ran = env.run(&["doctor"]);
        assert!(ran.code == 7 && ran.stderr.contains(name), "{}", ran.shown());
        let ran = env.ok(&["doctor", "--repair"]);
        assert!(ran.stderr.contains("moved to"), "{}", ran.shown());
        env.ok(&["doctor"]);
        env.ok(&["leader", "add-task", "more"]);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "as somebody else who does what he should not")]
fn what_stands_in_the_place_of_our_own_files_is_found_and_moved_aside() {
    const FILES: [&str; 9] = [
        "lock",
        "head.json",
        "index-tasks.json",
        "next-tasks.json",
        "next-agents.json~",
        "journal.next",
        "journal-000000000001.jsonl",
        "content-000000000001-tasks.json",
        "journal.jsonl",
    ];
    for odd in ["mkdir -p $0/kept", "mkfifo $0", "ln -s /etc/passwd $0", "ln -s nowhere $0"] {
        let env = env();
        env.ok(&["leader", "init", "g"]);
        let hidden = env.project().join(".coordination/.anthill");
        let plant = |name: &str, odd: &str| {
            let path = hidden.join(name);
            let _ = fs::remove_file(&path);
            assert_eq!(env.finish(env.clean("sh").args(["-c", odd]).arg(&path), b"").code, 0);
            let ran = env.run(&["doctor"]);
            // A head is written anew by whoever comes first; a directory in its place is a spare then.
            if ran.code != 0 || fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
                let is_named = ran.stderr.contains(&format!("{name}`"));
                assert!(ran.code == 7 && is_named, "{odd} {name}: {}", ran.shown());
                let ran = env.ok(&["doctor", "--repair"]);
                assert!(ran.stderr.contains("moved to"), "{odd} {name}: {}", ran.shown());
            }
            env.ok(&["doctor"]);
            env.ok(&["leader", "add-task", "x"]);
        };
        FILES.iter().for_each(|name| plant(name, odd));
        for name in ["quarantine", "aside"] {
            let _ = fs::rename(hidden.join(name), hidden.join(format!("{name}-of-before")));
            plant(name, if odd.starts_with("mkdir") { "echo x > $0" } else { odd });
        }
        let tasks = env.json(&["get", "queue"])["tasks"].as_array().unwrap().len();
        assert_eq!(tasks, FILES.len() + 2, "{odd}");
        fs::remove_dir_all(&hidden).unwrap();
        fs::write(&hidden, "").unwrap();
        let ran = env.run(&["doctor"]);
        assert!(ran.code == 7 && ran.stderr.contains("move it away"), "{}", ran.shown());
    }
}

#[test]
fn a_file_that_may_not_grow_is_a_failure_and_no_death() {
    let env = env();
    env.ok(&["leader", "init", "g"]);
    let before = env.json(&["get", "queue"]);
    let ran = env.sh("ulimit -f 0; anthill leader add-task x");
    assert_eq!(ran.code, 6, "{}", ran.shown());
    assert_eq!(env.json(&["get", "queue"]), before);
    env.ok(&["leader", "add-task", "x"]);
    env.ok(&["doctor"]);
}

#[test]
fn the_end_of_the_calendar_is_a_time_like_others() {
    let env = env();
    for now in ["9999-12-31T23:59:59Z", "9999-12-30T21:59:59Z"] {
        for line in [
            "leader init g",
            "leader add-task x",
            "worker register w",
            "worker claim w --lease 600",
            "worker heartbeat w",
            "session start s",
            "session heartbeat s",
            "error record --message timeout --class timeout",
            "error list",
            "message send s s note 1 --ttl 60",
            "message poll s",
            "leader status",
            "status",
            "doctor",
        ] {
            let ran = env.sh(&format!("ANTHILL_NOW={now} anthill {line}"));
            assert!(!ran.stderr.contains("bug") && ran.code != 70, "{line}: {}", ran.shown());
            assert!(!ran.stderr.contains("is not a time"), "{line}: {}", ran.shown());
        }
    }
    assert_eq!(env.json(&["message", "poll", "s", "--again"]).as_array().unwrap().len(), 2);
}

/// Every command that only reads. Some find nothing there (4): that is an answer.
const READING: [&str; 53] = [
    "message outbox a",
    "message outbox nobody",
    "message poll b --no-mark-read",
    "message poll b --again",
    "message poll nobody --no-mark-read",
    "leader status",
    "leader status --json",
    "leader graph",
    "leader explain t",
    "worker list",
    "worker brief t",
    "get queue",
    "get config",
    "get session --session-id b",
    "get mailbox --session-id b",
    "list queue",
    "history queue",
    "log",
    "status",
    "status --line",
    "session list",
    "session list-active",
    "session show b",
    "epic list",
    "epic show e",
    "story list",
    "sprint status",
    "tool list",
    "team show",
    "workflow show",
    "workflow todos",
    "workflow graph",
    "pipeline status",
    "pipeline explain g",
    "loop status",
    "error list",
    "error due",
    "compact list",
    "compact restore",
    "agents list",
    "agents merge",
    "metrics",
    "validate",
    "diff queue",
    "clean --dry-run",
    "undo queue --dry-run",
    "undo config --dry-run --force",
    "restore queue --revision 1 --dry-run --force",
    "on --session-id b",
    "trust",
    "schema queue",
    "watch queue --from 1 --count 1",
    "doctor",
];

/// Fills both roots with something to read.
fn something_to_read(env: &TestEnv) {
    for line in [
        "leader init g",
        "leader add-task x --id t",
        "set config global.default_project \"p\"",
        "session start b",
        "message send a b note 1 --id m1",
        "message poll b",
        "message send a b note 2 --id m2",
        "workflow create w --phase a=b",
        "pipeline init g",
        "loop start g",
        "compact backup",
        "error record --message timeout --class timeout",
    ] {
        env.ok(&line.split(' ').collect::<Vec<_>>());
    }
}

#[track_caller]
fn was_read(line: &str, ran: &Ran) {
    let is_absent = ["epic", "sprint", "team", "agents", "metrics", "pipeline explain", "get", "trust", "on"];
    let may_lack = is_absent.iter().any(|word| line.starts_with(word));
    assert!(ran.code == 0 || ran.code == 4 && may_lack, "{line}: {}", ran.shown());
    if let Some(expected) = match line {
        "message poll b --no-mark-read" => Some(json!(["m2"])),
        "message poll b --again" => Some(json!(["m1"])),
        "message poll nobody --no-mark-read" => Some(json!([])),
        _ => None,
    } {
        let found = ran.json();
        let ids: Vec<_> = found.as_array().unwrap().iter().map(|message| &message["id"]).collect();
        assert_eq!(json!(ids), expected, "{line}");
    }
}

#[test]
fn a_place_that_can_only_be_read_is_read() {
    let env = env();
    something_to_read(&env);
    let before = env.bytes();
    for line in READING {
        let root = env.root().display();
        let apart = format!(
            "mount --bind {root} {root}; mount -o remount,ro,bind {root}; cd {root}/project; anthill {line}"
        );
        let Some(ran) = ran_apart(&env, &apart) else { return };
        was_read(line, &ran);
    }
    assert_eq!(env.bytes(), before);
}

#[test]
fn a_place_that_others_may_only_read_is_read_by_them() {
    let env = env();
    if !may_be_others(&env) {
        return;
    }
    something_to_read(&env);
    assert_eq!(env.sh("chmod -R a+rX ..").code, 0);
    let before = env.bytes();
    for line in READING {
        let args: Vec<_> = ["--root", "."].into_iter().chain(line.split(' ')).collect();
        let ran = env.finish(&mut as_user(&env, 65534, 65534, &env.project(), &args), b"");
        was_read(line, &ran);
    }
    assert_eq!(env.bytes(), before);
}
