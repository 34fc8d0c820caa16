//! What a repository, a hook or another user may try: nothing of theirs runs, and no odd file of theirs holds us up.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Stdio;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::json;

use super::env;
use super::owners::{as_user, may_be_others};

const CONFIG: &str = "project/.claude/anthill.toml";
const TRUSTED: &str = "user/.claude/orchestration/trusted.json";

/// What tells of a user's consent, or of the lack of it.
const TYPED: &str = "anthill trust --project";

#[track_caller]
fn refused(ran: &Ran, word: &str) {
    assert!(ran.code == 1 && ran.stderr.contains(word), "{word}: {}", ran.shown());
}

/// Runs a line of shell that must come to an end by itself.
#[track_caller]
fn ends(env: &TestEnv, line: &str) -> Ran {
    let ran = env.sh(&format!("timeout 60 sh -c 'ulimit -v 3000000; {line}'"));
    assert!(ran.code < 70, "{line}: {}", ran.shown());
    ran
}

fn gate(line: &str) -> String {
    format!("[gates.x]\nrun = {}\n", json!(line))
}

#[test]
fn gates_of_a_clone_run_only_with_consent() {
    let env = env();
    env.write(CONFIG, gate("echo ran >> ran"));
    env.ok(&["loop", "start", "t"]);
    for line in [&["loop", "gate", "x"][..], &["loop", "gate", "--all"], &["loop", "run", "--agent", "true"]]
    {
        let ran = env.run(line);
        refused(&ran, TYPED);
        assert!(ran.stderr.contains("x: echo ran >> ran"), "the commands are shown: {}", ran.shown());
    }
    assert!(env.ok(&["loop", "status"]).stderr.contains(TYPED));
    assert!(env.ok(&["doctor"]).stderr.contains("gate `x` is not trusted"));
    let shown = env.ok(&["trust", "--project", "--dry-run"]);
    assert_eq!(shown.stdout, "Would trust: echo ran >> ran\n");
    refused(&env.run(&["loop", "gate", "x"]), TYPED);
    assert!(!env.project().join("ran").exists());

    let entries = env.json(&["trust", "--project"]);
    assert_eq!(entries[0]["project"], "$TEST_ENV/project");
    env.ok(&["loop", "gate", "x"]);
    assert_eq!(env.read_text("project/ran"), "ran\n");
    env.write(CONFIG, gate("echo ran >> ran; echo more >> ran"));
    refused(&env.run(&["loop", "gate", "x"]), TYPED);
    // What was typed needs no consent, and adding a gate is consent to that one.
    env.ok(&["loop", "gate", "x", "--", "true"]);
    env.ok(&["loop", "add-gate", "mine", "--", "true"]);
    env.ok(&["loop", "gate", "mine"]);
    refused(&env.run(&["loop", "gate", "--all"]), "x: echo ran");
    assert_eq!(env.read_text("project/ran"), "ran\n");
}

/// Runs a command on a terminal of its own, with these keys typed, and returns what stood there. `None` where `script` is missing.
#[expect(clippy::print_stderr, reason = "who reads the log should know that it was not tried")]
fn on_a_terminal(env: &TestEnv, line: &str, keys: &str) -> Option<Ran> {
    let mut command = env.clean("script");
    command.args(["--quiet", "--return", "--echo", "never", "--command", line, "/dev/null"]);
    if env.sh("command -v script").code != 0 {
        eprintln!("skipped: a terminal needs `script`");
        return None;
    }
    Some(env.finish(&mut command, keys.as_bytes()))
}

#[test]
fn a_person_at_a_terminal_is_asked_once_and_shown_the_commands() {
    let env = env();
    env.write(CONFIG, gate("echo ran >> ran"));
    env.ok(&["loop", "start", "t"]);
    let asked = "x: echo ran >> ran";
    let count = || env.project().join("ran").exists().then(|| env.read_text("project/ran").lines().count());
    for no in ["nay, yes\n", "\u{4}"] {
        let Some(ran) = on_a_terminal(&env, "anthill loop gate x", no) else { return };
        assert!(
            ran.code == 1 && ran.stdout.contains(asked) && ran.stdout.contains("[y/N]"),
            "{}",
            ran.shown()
        );
        assert!(ran.stdout.contains(TYPED), "what to type later: {}", ran.shown());
        assert_eq!(count(), None, "{no:?}");
    }
    // Nobody is asked who is no person, or wants JSON.
    for line in ["anthill loop gate x --json", "CLAUDECODE=1 anthill loop gate x"] {
        let ran = on_a_terminal(&env, line, "y\n").unwrap();
        assert!(ran.code == 1 && !ran.stdout.contains("[y/N]"), "{}", ran.shown());
    }
    assert_eq!(count(), None);
    let ran = on_a_terminal(&env, "anthill loop gate x", "y\n").unwrap();
    assert!(ran.code == 0 && ran.stdout.contains(asked), "{}", ran.shown());
    let ran = on_a_terminal(&env, "anthill loop gate x", "n\n").unwrap();
    assert!(ran.code == 0 && !ran.stdout.contains("[y/N]"), "asked once: {}", ran.shown());
    assert_eq!(count(), Some(2));
    // Another command is another question; signs that steer a terminal are shown, not sent.
    env.write(CONFIG, gate("echo \u{1b}[2J more >> ran"));
    let ran = on_a_terminal(&env, "anthill loop gate x", "n\n").unwrap();
    assert!(ran.code == 1 && ran.stdout.contains("[y/N]"), "{}", ran.shown());
    assert!(!ran.stdout.contains("\u{1b}[2J"), "{:?}", ran.stdout);
    assert_eq!(count(), Some(2));
}

#[test]
fn consent_is_for_one_project_and_its_scripts_as_they_are() {
    let env = env();
    for line in ["FOO=1 ./x.sh", "exec ./x.sh", "sh x.sh", "env X=1 bash ./x.sh", "cd sub && ../x.sh"] {
        env.write("project/sub/keep", "");
        env.write("project/x.sh", "#!/bin/sh\nexit 0\n");
        fs::set_permissions(env.project().join("x.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        env.configure(gate(line));
        env.ok(&["loop", "start", "t"]);
        env.ok(&["loop", "gate", "x"]);
        env.write("project/x.sh", "#!/bin/sh\ntouch pwned\n");
        let ran = env.run(&["loop", "gate", "x"]);
        refused(&ran, "(its script has changed)");
        env.write("other/.claude/anthill.toml", gate(line));
        let other = env.root().join("other").display().to_string();
        env.ok(&["loop", "start", "t", "--root", &other]);
        refused(&env.run(&["loop", "gate", "x", "--root", &other]), TYPED);
    }
    assert!(!env.project().join("pwned").exists());
}

#[test]
fn neither_hooks_nor_agents_extend_trust() {
    let env = env();
    env.configure(gate("true"));
    env.ok(&["trust", "good"]);
    env.write(CONFIG, gate("touch pwned"));
    let before = env.read(TRUSTED);
    let entry = json!({"command": "evil", "sha256": "0"}).to_string();
    let doors: [&[&str]; 9] = [
        &["trust", "evil"],
        &["trust", "--project"],
        &["append", "trusted", "trusted", &entry],
        &["set", "trusted", "trusted[0].command", "\"evil\""],
        &["set", "trusted", "trusted", "[]"],
        &["undo", "trusted", "--force"],
        &["restore", "trusted", "--revision", "1", "--force"],
        &["delete", "trusted", "trusted[0]"],
        &["loop", "add-gate", "evil", "--", "touch", "pwned"],
    ];
    for (name, value) in [("ANTHILL_HOOK_DEPTH", "1"), ("CLAUDECODE", "1"), ("ANTHILL_SESSION_ID", "s1")] {
        for door in doors {
            let ran = env.finish(env.command(door).env(name, value), b"");
            refused(&ran, "ask your user to type");
        }
    }
    assert_eq!(env.read(TRUSTED), before);
    env.ok(&["append", "trusted", "trusted", &entry]);
}

#[test]
fn odd_files_of_a_project_hold_nobody_up() {
    let env = env();
    env.ok(&["loop", "start", "t"]);
    for name in [
        ".claude/anthill.toml",
        "package.json",
        "pyproject.toml",
        "go.mod",
        "CLAUDE.md",
        ".claude/settings.json",
    ] {
        for make in ["mkfifo", "ln -s /dev/zero", "truncate -s 8G", "mkdir"] {
            env.sh(&format!("mkdir -p .claude; {make} {name}"));
            for line in
                ["anthill loop status", "anthill init --dry-run", "anthill uninstall", "anthill list epics"]
            {
                let ran = ends(&env, line);
                assert!([0, 1, 2, 6, 7].contains(&ran.code), "{make} {name}: {line}: {}", ran.shown());
            }
            env.sh(&format!("rm -rf {name}"));
        }
    }
    env.sh("mkfifo pipe; truncate -s 8G long; ln -s /dev/zero zero");
    for file in ["pipe", "long", "zero", "."] {
        for line in ["validate --as epics --file", "leader import", "pipeline plan --file"] {
            let ran = ends(&env, &format!("anthill {line} {file}"));
            assert!([1, 2].contains(&ran.code), "{line} {file}: {}", ran.shown());
        }
    }
}

#[test]
fn files_of_our_own_that_somebody_blew_up_are_read_in_bounds() {
    for file in ["head.json", "journal.jsonl"] {
        let env = env();
        env.ok(&["set", "config", "global.default_project", "\"a\""]);
        let path = format!("$HOME/.claude/orchestration/.anthill/{file}");
        env.sh(&format!("truncate -s 8G {path}"));
        let ran = ends(&env, "anthill get config");
        assert!(ran.code == 0 && ran.stdout.contains('a'), "{file}: {}", ran.shown());
        env.ok(&["set", "config", "global.default_project", "\"b\""]);
        assert!([0, 7].contains(&ends(&env, "anthill doctor").code), "{file}");
        let ran = ends(&env, "anthill doctor --repair");
        assert_eq!(ran.code, 0, "{file}: {}", ran.shown());
        assert_eq!(ends(&env, "anthill doctor").code, 0, "{file}");
        assert_eq!(ends(&env, "anthill history config").code, 0);
    }
}

#[test]
fn a_linked_journal_is_not_written_through() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"a\""]);
    let journal = env.home().join("orchestration/.anthill/journal.jsonl");
    fs::hard_link(&journal, env.root().join("copy")).unwrap();
    let before = env.read("copy");
    env.ok(&["set", "config", "global.default_project", "\"b\""]);
    env.ok(&["set", "config", "global.default_project", "\"c\""]);
    assert_eq!(env.read("copy"), before);
    assert_eq!(env.json(&["history", "config"]).as_array().unwrap().len(), 3);
    env.ok(&["doctor"]);
}

#[test]
fn a_hook_whose_input_never_ends_ends_by_itself() {
    let env = env();
    let event = r#"{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}"#;
    let mut child = env.command(&["hook"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(event.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    drop(stdin);
    env.ok(&["session", "show", "s1"]);
    assert_eq!(ends(&env, "yes | anthill hook").code, 0);
}

#[test]
fn marks_of_a_merge_are_told_with_both_sides() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"a\""]);
    let whole = env.read_text("user/.claude/orchestration/config.json");
    let line = "    \"default_project\": \"a\"";
    assert!(whole.contains(line), "{whole}");
    let sides = "<<<<<<< HEAD\n    \"default_project\": \"left\"\n=======\n    \"default_project\": \"right\"\n>>>>>>> topic";
    env.write("user/.claude/orchestration/config.json", whole.replace(line, sides));
    for ran in [env.run(&["get", "config"]), env.run(&["doctor"])] {
        let told = ["\"left\"", "\"right\"", "git checkout --ours", "anthill validate"];
        assert!(ran.code == 7 && told.iter().all(|word| ran.stderr.contains(word)), "{}", ran.shown());
    }
}

#[test]
fn who_is_not_there_leaves_no_lock() {
    let env = env();
    for line in [
        &["session", "end", "nope"][..],
        &["session", "heartbeat", "nope"],
        &["undo", "tasks", "--session-id", "nope"],
        &["on", "--remove", "x", "--session-id", "nope"],
        &["undo", "epics", "--project-id", "nope"],
    ] {
        assert_ne!(env.run(line).code, 0, "{line:?}");
    }
    let locks = fs::read_dir(env.home().join("orchestration/locks")).unwrap();
    let names: Vec<_> = locks.map(|lock| lock.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("nope")), "{names:?}");
}

#[test]
fn worktrees_stay_in_their_project() {
    let env = env();
    fs::create_dir_all(env.root().join("outside")).unwrap();
    fs::create_dir_all(env.project().join(".claude")).unwrap();
    symlink(env.root().join("outside"), env.project().join(".claude/worktrees")).unwrap();
    let ran = env.run(&["orchestrate", "--worktrees", "--agent", "true", "a"]);
    refused(&ran, "--follow-links");
    assert_eq!(fs::read_dir(env.root().join("outside")).unwrap().count(), 0);
}

#[test]
fn an_error_repeats_little_of_what_was_typed() {
    let env = env();
    let long = "x".repeat(5000);
    for args in [
        &["get", "epics", "--project-id", &long][..],
        &["session", "show", &long],
        &["validate", "--as", "epics", "--file", &long],
    ] {
        let message = env.error(args)["message"].as_str().unwrap().to_owned();
        assert!(message.matches('x').count() < 250, "{message}");
    }
}

/// Acts as another user than the one who planted something.
fn as_somebody(env: &TestEnv, dir: &Path, args: &[&str]) -> Ran {
    let mut command = as_user(env, 65534, 65534, dir, args);
    env.finish(command.env("HOME", env.root().join("somebody")), b"")
}

#[test]
fn what_another_user_planted_above_is_no_project() {
    let env = env();
    if !may_be_others(&env) {
        return;
    }
    let at = |name: &str| env.root().join(name);
    let open =
        |name: &str, mode: u32| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    env.write("tmp/.claude/anthill.toml", gate("touch pwned"));
    for dir in ["tmp/work", "somebody"] {
        fs::create_dir_all(at(dir)).unwrap();
        chown(at(dir), Some(65534), Some(65534)).unwrap();
    }
    open("tmp", 0o1777);
    let strange = 4242;
    for name in ["tmp/.claude", "tmp/.claude/anthill.toml"] {
        chown(at(name), Some(strange), Some(strange)).unwrap();
    }
    let work = at("tmp/work");
    for line in
        [&["loop", "start", "t"][..], &["loop", "gate", "x"], &["loop", "status"], &["leader", "status"]]
    {
        let ran = as_somebody(&env, &work, line);
        refused(&ran, "belongs to user 4242 and not to you");
        assert!(ran.stderr.contains("--root $TEST_ENV/tmp"), "{}", ran.shown());
    }
    assert_eq!(as_somebody(&env, &work, &["hook"]).code, 0, "an agent is not held up");
    // Who names it has it; what it names still needs consent.
    let named = at("tmp").display().to_string();
    let ran = as_somebody(&env, &work, &["--root", &named, "loop", "gate", "x"]);
    assert!(ran.code != 0 && !ran.stderr.contains("belongs to"), "{}", ran.shown());
    // Shared on purpose.
    chown(at("tmp"), Some(strange), Some(65534)).unwrap();
    open("tmp", 0o2770);
    let ran = as_somebody(&env, &work, &["list", "epics", "--project-id", "p"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(!as_somebody(&env, &work, &["leader", "status"]).stderr.contains("belongs to"));
    open("tmp", 0o770);
    refused(&as_somebody(&env, &work, &["leader", "status"]), "belongs to user 4242");
    // Root's own, and ours.
    for owner in [0, 65534] {
        for name in ["tmp", "tmp/.claude"] {
            chown(at(name), Some(owner), Some(65534)).unwrap();
        }
        assert!(!as_somebody(&env, &work, &["leader", "status"]).stderr.contains("belongs to"), "{owner}");
    }
    assert!(!at("tmp/pwned").exists() && !at("tmp/work/pwned").exists());
}

#[test]
fn a_zone_that_is_no_file_holds_nobody_up() {
    let env = env();
    let event = json!({"session_id": "s1", "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": {"command": "x"}, "error": "You've hit your limit · resets 3pm"});
    env.write("project/event.json", event.to_string());
    assert_eq!(env.sh("mkfifo pipe").code, 0);
    for zone in [
        ":/dev/zero",
        "/dev/zero",
        "pipe",
        ":pipe",
        "../../../../dev/zero",
        "/dev",
        "Mars/Olympus",
        "",
        "UTC-99",
    ] {
        env.write("project/zone", zone);
        let ran = ends(
            &env,
            "export TZ=\"$(cat zone)\"; anthill hook <event.json && anthill error record --message \"resets 3pm\"",
        );
        assert_eq!(ran.code, 0, "{zone}: {}", ran.shown());
    }
}
