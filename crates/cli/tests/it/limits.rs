//! What the machine does not give: events, room in a file, a clock of this age, a place to write to.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::json;

use crate::env;

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
        let told = ran.stdout.matches(&format!("sysctl fs.inotify.max_user_{limit}=")).count();
        assert_eq!(told, 1, "{}", ran.shown());
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
            "leader init g --force",
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

#[test]
fn a_place_that_can_only_be_read_is_read() {
    let env = env();
    env.ok(&["leader", "init", "g"]);
    env.ok(&["leader", "add-task", "x"]);
    env.ok(&["session", "start", "b"]);
    env.ok(&["message", "send", "a", "b", "note", "1", "--id", "m1"]);
    env.ok(&["message", "poll", "b"]);
    env.ok(&["message", "send", "a", "b", "note", "2", "--id", "m2"]);
    let before = env.bytes();
    let lines = [
        "message poll b --no-mark-read",
        "message poll b --again",
        "message poll nobody --no-mark-read",
        "leader status",
        "get queue",
        "list queue",
        "history queue",
        "log",
        "status",
        "session list",
        "session show b",
        "error list",
        "validate",
        "diff queue",
        "clean --dry-run",
        "doctor",
    ];
    for line in lines {
        let root = env.root().display();
        let line = format!(
            "mount --bind {root} {root}; mount -o remount,ro,bind {root}; cd {root}/project; anthill {line}"
        );
        let Some(ran) = ran_apart(&env, &line) else { return };
        assert_eq!(ran.code, 0, "{line}: {}", ran.shown());
        if line.contains("poll") {
            let ids: Vec<_> =
                ran.json().as_array().unwrap().iter().map(|message| message["id"].clone()).collect();
            let expected = match line {
                _ if line.contains("nobody") => json!([]),
                _ if line.contains("again") => json!(["m1"]),
                _ => json!(["m2"]),
            };
            assert_eq!(json!(ids), expected, "{line}");
        }
    }
    assert_eq!(env.bytes(), before);
}
