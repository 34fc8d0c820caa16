//! Change hooks: they run after a commit, only if trusted, and whatever they do is no business of that commit.

#![expect(clippy::disallowed_methods, reason = "scripts are laid out as a person would")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;

/// Longer than anything takes here; what takes longer hangs.
const HANG: Duration = Duration::from_secs(30);

/// More than a command takes, and less than it would take if it waited for a hook that hangs.
const PROMPT: Duration = Duration::from_secs(4);

#[track_caller]
fn until(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + HANG;
    while !check() {
        assert!(Instant::now() < end, "still not so: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn log(env: &TestEnv, session: &str) -> String {
    fs::read_to_string(env.home().join(format!("sessions/{session}/hooks.log"))).unwrap_or_default()
}

/// Waits until the session's log has a line with this text, and returns the log.
#[track_caller]
fn logged(env: &TestEnv, session: &str, text: &str) -> String {
    let end = Instant::now() + HANG;
    while !log(env, session).contains(text) {
        assert!(Instant::now() < end, "no `{text}` in the log of {session}:\n{}", log(env, session));
        thread::sleep(Duration::from_millis(10));
    }
    log(env, session)
}

/// Waits for a file of the project that has a whole line in it.
#[track_caller]
fn file(env: &TestEnv, name: &str) -> String {
    let read = || fs::read_to_string(env.project().join(name)).unwrap_or_default();
    until(name, || read().ends_with('\n'));
    read()
}

#[track_caller]
fn on(env: &TestEnv, session: &str, kind: &str, command: &str) {
    env.ok(&["on", kind, "--run", command, "--session-id", session]);
}

#[track_caller]
fn trusted(env: &TestEnv, session: &str, kind: &str, command: &str) {
    on(env, session, kind, command);
    env.ok(&["trust", command]);
}

/// Changes the epics of a project; the commit that hooks on epics hear of.
#[track_caller]
fn change(env: &TestEnv, project: &str) {
    env.ok(&["set", "epics", "note", "\"x\"", "--project-id", project]);
}

fn script(env: &TestEnv, name: &str, text: &str) {
    let path = env.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn is_gone(pid: &str) -> bool {
    let listed = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("ps runs");
    let state = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    state.is_empty() || state.starts_with('Z')
}

/// Runs a command and insists that it does not wait for anything.
#[track_caller]
fn prompt(env: &TestEnv, args: &[&str]) -> Ran {
    let begun = Instant::now();
    let ran = env.run(args);
    assert!(begun.elapsed() < PROMPT, "{args:?} took {:?}", begun.elapsed());
    ran
}

#[test]
fn a_hook_gets_arguments_event_place_and_environment() {
    let env = env();
    fs::create_dir(env.project().join("deep")).unwrap();
    let place = env.project().join("deep").canonicalize().unwrap().display().to_string();
    let state = json!({"session_id": "s1", "project_id": "p1", "status": "idle", "context": {"working_directory": place}});
    env.ok(&["set", "session", ".", &state.to_string(), "--session-id", "s1"]);
    let line = r#"{ echo "$#|$1|$2|$PWD"; echo "$ANTHILL_SESSION_ID|$CLAUDE_SESSION_ID|$ANTHILL_HOME|$ANTHILL_ROOT|$ANTHILL_HOOK_DEPTH"; cat; } > ../got.new; mv ../got.new ../got; echo said; echo told >&2; exit 3"#;
    trusted(&env, "s1", "epics", line);
    let changed = env.json(&[
        "append",
        "epics",
        "epics",
        r#"{"id": "e1", "title": "Sign-in"}"#,
        "--project-id",
        "p1",
        "--session-id",
        "s2",
    ]);
    let got = file(&env, "got");
    let lines: Vec<_> = got.lines().collect();
    assert_eq!(lines[0], format!("2|p1|s1|{place}"));
    let (home, root) = (env.home(), env.project());
    assert_eq!(lines[1], format!("s1|s1|{}|{}|1", home.display(), root.display()));
    let event: Value = serde_json::from_str(lines[2]).expect("an event");
    let names: Vec<_> = event.as_object().unwrap().keys().collect();
    assert_eq!(names, ["kind", "revision", "at", "by", "op", "project_id", "session_id", "value"]);
    assert_eq!(event["revision"], changed["revision"]);
    assert_eq!(
        (&event["kind"], &event["by"], &event["op"], &event["project_id"], &event["session_id"]),
        (&json!("epics"), &json!("s2"), &json!("append"), &json!("p1"), &Value::Null)
    );
    assert_eq!(event["value"], env.json(&["get", "epics", "--project-id", "p1"]));
    let log = logged(&env, "s1", "told");
    assert!(
        log.contains("epics-1 on epics at revision 1: exit 3 after ")
            && log.contains(" ms\n    said\n    told\n"),
        "{log}"
    );
}

#[test]
fn every_way_to_change_a_document_is_a_change() {
    let env = env();
    let line = r#"jq -r '"\(.op) \(.revision) \(.value | type)"' >> ops"#;
    trusted(&env, "s1", "config", line);
    let ops = |count: usize| {
        let read = || fs::read_to_string(env.project().join("ops")).unwrap_or_default();
        until(&format!("{count} runs: {}", read()), || read().lines().count() == count);
        read().lines().last().unwrap().to_owned()
    };
    let change = |count: usize, args: &[&str]| {
        env.ok(args);
        ops(count)
    };
    assert_eq!(change(1, &["set", "config", "features.x", "[]"]), "set 1 object");
    assert_eq!(change(2, &["append", "config", "features.x", "1"]), "append 2 object");
    assert_eq!(change(3, &["delete", "config", "features.x"]), "delete 3 object");
    assert_eq!(change(4, &["undo", "config"]), "undo 4 object");
    assert_eq!(change(5, &["restore", "config", "--revision", "1"]), "restore 5 object");
    assert_eq!(change(6, &["delete", "config", "."]), "delete 6 null");
    assert_eq!(env.run(&["set", "config", "version", "{}"]).code, 2, "what is refused is no change");
    assert_eq!(change(7, &["set", "config", "features.x", "2"]), "set 7 object");
    logged(&env, "s1", "at revision 7: exit 0");
}

#[test]
fn changes_of_the_queue_and_of_a_runner_are_heard_at_once() {
    let env = env();
    trusted(&env, "s1", "queue", r#"jq -r '"\(.op) \(.revision) \(.value.tasks[0].status)"' >> ops"#);
    let runs = |count: usize| {
        let read = || fs::read_to_string(env.project().join("ops")).unwrap_or_default();
        until(&format!("{count} runs"), || read().lines().count() >= count);
        read()
    };
    env.ok(&["leader", "add-task", "Do it", "--id", "t1"]);
    let added = runs(1);
    assert!(added.ends_with(" available\n"), "{added}");
    env.ok(&["worker", "claim", "w1"]);
    let claimed = runs(2);
    assert!(claimed.ends_with(" claimed\n"), "{claimed}");
    env.ok(&["worker", "release", "w1", "t1"]);
    runs(3);
    // The runner's command waits until hooks have heard of its own start.
    let line = "until [ $(wc -l < ops) -ge 5 ]; do sleep 0.01; done";
    env.ok(&["worker", "run", "w1", "--timeout", "50", "--", "sh", "-c", line]);
    runs(6);
    until("all is logged", || log(&env, "s1").matches(": exit 0 after").count() == 6);
}

#[test]
fn what_is_not_trusted_does_not_run_and_is_told_once() {
    let env = env();
    let registered = env.run(&["on", "epics", "--run", "touch 'bad file'", "--session-id", "s1"]);
    assert_eq!(
        registered.shown(),
        "Registered for changes of epics in session s1: epics-1\n--- stderr\n\
         warning: it will not run: its command is not trusted; allow it: anthill trust 'touch '\\''bad file'\\'''\n[exit 0]\n"
    );
    // Runs after the other one, and so says when that has been judged.
    trusted(&env, "s1", "epics", "echo good");
    change(&env, "p1");
    logged(&env, "s1", "revision 1: exit 0");
    change(&env, "p1");
    let log = logged(&env, "s1", "revision 2: exit 0");
    assert_eq!(log.matches("epics-1 on epics: not run: its command is not trusted").count(), 1, "{log}");
    assert!(!env.project().join("bad file").exists());
    env.ok(&["trust", "touch 'bad file'"]);
    change(&env, "p1");
    logged(&env, "s1", "epics-1 on epics at revision 3: exit 0");
    assert!(env.project().join("bad file").exists());
    env.ok(&["trust", "--remove", "touch 'bad file'"]);
    fs::remove_file(env.project().join("bad file")).unwrap();
    change(&env, "p1");
    logged(&env, "s1", "epics-2 on epics at revision 4: exit 0");
    assert!(!env.project().join("bad file").exists());
}

#[test]
fn a_changed_script_is_refused_until_it_is_trusted_again() {
    let env = env();
    script(&env, "hooks/x.sh", "#!/bin/sh\necho one \"$@\"\n");
    trusted(&env, "s1", "epics", "hooks/x.sh --flag");
    let entry = &env.json(&["trust"])[0];
    assert_eq!(entry["command"], "hooks/x.sh --flag");
    assert_eq!(entry["file"], "$TEST_ENV/project/hooks/x.sh");
    assert_eq!(
        (entry["sha256"].as_str().unwrap().len(), entry["file_sha256"].as_str().unwrap().len()),
        (64, 64)
    );
    change(&env, "p1");
    logged(&env, "s1", "    one --flag p1 s1\n");
    script(&env, "hooks/x.sh", "#!/bin/sh\necho two\n");
    change(&env, "p1");
    logged(&env, "s1", "not run: its script has changed since it was trusted");
    let listed = env.ok(&["on", "--session-id", "s1"]).stdout;
    assert!(listed.contains("does not run: its script has changed since it was trusted"), "{listed}");
    env.ok(&["trust", "hooks/x.sh --flag"]);
    change(&env, "p1");
    let log = logged(&env, "s1", "    two\n");
    assert!(!log.contains("revision 2"), "{log}");
    assert_eq!(env.json(&["trust"]).as_array().unwrap().len(), 1);
    fs::remove_file(env.project().join("hooks/x.sh")).unwrap();
    change(&env, "p1");
    logged(&env, "s1", "not run: its script is gone");
}

#[test]
fn a_hook_that_hangs_is_killed_with_all_it_started_and_nobody_waits() {
    let env = env();
    trusted(&env, "s1", "epics", "sleep 600 & echo $! > child; echo begun; sleep 600");
    trusted(&env, "s1", "epics", "echo next");
    let ran = prompt(&env, &["set", "epics", "note", "1", "--project-id", "p1"]);
    assert_eq!(ran.shown(), "--- stderr\nSet note in epics, now at revision 1\n[exit 0]\n");
    let child = file(&env, "child");
    let log = logged(&env, "s1", "epics-2 on epics at revision 1: exit 0");
    assert!(log.contains("epics-1 on epics at revision 1: stopped after 5 s\n    begun\n"), "{log}");
    until("the group is gone", || is_gone(child.trim()));
}

#[test]
fn whatever_a_hook_does_the_command_answers_the_same() {
    let set = ["set", "epics", "note", "1", "--project-id", "p1", "--json"];
    let plain = env().run(&set);
    let commands =
        ["exit 7", "/nothing/here", "kill -9 $$", "yes", "exec >&- 2>&- <&-", "sleep 600", "setsid sleep 3"];
    let envs: Vec<_> = commands.into_iter().map(|command| (env(), command)).collect();
    for (env, command) in &envs {
        trusted(env, "s1", "epics", command);
        assert_eq!(prompt(env, &set), plain, "{command}");
    }
    // They are to end before their place does.
    envs.iter().for_each(|(env, _)| drop(logged(env, "s1", "at revision 1: ")));
}

#[test]
fn how_a_hook_ended_is_logged() {
    let env = env();
    for command in [
        "exit 7",
        "/nothing/here",
        "kill -9 $$",
        "head -c 100000 /dev/zero | tr '\\0' x",
        "printf '\\033[2J'",
    ] {
        trusted(&env, "s1", "epics", command);
    }
    trusted(&env, "s1", "epics", "echo last;");
    change(&env, "p1");
    let log = logged(&env, "s1", "    last\n");
    for told in [
        "epics-1 on epics at revision 1: exit 7",
        "epics-2 on epics at revision 1: exit 127",
        "epics-3 on epics at revision 1: killed by signal 9",
        "\n    … the rest was left out\n",
        "    \\u{1b}[2J\n",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
    assert!(log.len() < 70_000, "{}", log.len());
    assert_eq!(env.ok(&["doctor"]).stdout, "");
}

#[test]
fn hooks_that_lead_to_each_other_are_stopped() {
    let env = env();
    trusted(&env, "s1", "tasks", r#"anthill set tasks note "$ANTHILL_HOOK_DEPTH" --session-id "$2""#);
    env.ok(&["set", "tasks", "note", "0", "--session-id", "s1"]);
    logged(&env, "s1", "not run: hooks have led to each other 3 times in a row");
    // The last that ran may end after that.
    until("all have ended", || log(&env, "s1").matches(": exit 0 after").count() == 3);
    assert_eq!(env.json(&["get", "tasks", "--field", "note", "--session-id", "s1"]), 3);
}

#[test]
fn only_enabled_hooks_of_sessions_that_are_concerned_run() {
    let env = env();
    let session = |id: &str, project: Value, status: &str| {
        let state = json!({"session_id": id, "project_id": project, "status": status});
        env.ok(&["set", "session", ".", &state.to_string(), "--session-id", id]);
        trusted(&env, id, "epics", "echo ran;");
    };
    session("ended", json!("p1"), "active");
    session("expired", Value::Null, "expired");
    session("other", json!("p2"), "active");
    session("free", Value::Null, "idle");
    session("own", json!("p1"), "active");
    trusted(&env, "disabled", "epics", "echo ran;");
    env.ok(&["set", "hooks", "hooks[0].enabled", "false", "--session-id", "disabled"]);
    trusted(&env, "unknown", "epics", "echo ran;");
    env.ok(&["set", "session", "status", "\"ended\"", "--session-id", "ended"]);
    change(&env, "p1");
    // They are asked in the order in which they registered: the last is one that runs.
    ["free", "own", "unknown"].into_iter().for_each(|id| drop(logged(&env, id, "    ran\n")));
    ["ended", "expired", "other", "disabled"]
        .into_iter()
        .for_each(|id| assert_eq!(log(&env, id), "", "{id}"));
    env.ok(&["set", "hooks", "hooks[0].enabled", "true", "--session-id", "disabled"]);
    change(&env, "p2");
    ["other", "free", "unknown", "disabled"]
        .into_iter()
        .for_each(|id| drop(logged(&env, id, "revision 1: exit 0")));
    assert!(!log(&env, "own").contains("revision 2"));
}

#[test]
fn a_queue_elsewhere_is_no_concern_of_a_session_here() {
    let env = env();
    let here = |id: &str, place: &str| {
        let place = env.root().join(place).display().to_string();
        let state = json!({"session_id": id, "status": "active", "context": {"working_directory": place}});
        env.ok(&["set", "session", ".", &state.to_string(), "--session-id", id]);
        trusted(&env, id, "queue", "echo ran;");
    };
    fs::create_dir_all(env.root().join("elsewhere/.git")).unwrap();
    fs::create_dir_all(env.project().join("src")).unwrap();
    here("far", "elsewhere");
    here("near", "project/src");
    env.ok(&["leader", "add-task", "Do it"]);
    logged(&env, "near", "    ran\n");
    assert_eq!(log(&env, "far"), "");
}

#[test]
fn a_hook_is_registered_once_listed_and_removed() {
    let env = env();
    let s1 = |args: &[&str]| env.json(&[args, &["--session-id", "s1"]].concat());
    let hook = s1(&["on", "epics", "--run", "./x.sh"]);
    assert_eq!(
        hook,
        json!({"id": "epics-1", "on": "epics", "command": "./x.sh", "enabled": true, "added_at": hook["added_at"]})
    );
    assert_eq!(s1(&["on", "epics", "--run", "./x.sh"]), hook, "the same again");
    assert_eq!(s1(&["on", "epics", "--run", "./x.sh", "--id", "epics-1"]), hook);
    assert_eq!(s1(&["on", "epics", "--run", "./x.sh", "--id", "other"]), hook);
    assert_eq!(s1(&["on", "epics", "--run", "./y.sh"])["id"], "epics-2");
    assert_eq!(s1(&["on", "queue", "--run", "./x.sh", "--id", "mine"])["id"], "mine");
    let clash = env.run(&["on", "team", "--run", "./x.sh", "--id", "mine", "--session-id", "s1"]);
    assert_eq!(clash.code, 3, "{}", clash.shown());
    assert_eq!(s1(&["on"]).as_array().unwrap().len(), 3);
    let pairs = || env.json(&["list", "triggers"]);
    assert_eq!(pairs(), json!([{"session_id": "s1", "on": "epics"}, {"session_id": "s1", "on": "queue"}]));
    assert_eq!(s1(&["on", "--remove", "epics-1"]), hook);
    assert_eq!(pairs().as_array().unwrap().len(), 2, "another hook is left");
    s1(&["on", "--remove", "epics-2"]);
    assert_eq!(pairs(), json!([{"session_id": "s1", "on": "queue"}]));
    s1(&["on", "--remove", "mine"]);
    assert!(
        !env.home().join("orchestration/triggers.json").exists(),
        "without hooks there is nothing to look at"
    );
    assert_eq!(s1(&["on"]), json!([]));
}

#[test]
fn mistakes_have_their_exit_codes_and_say_what_to_type() {
    let env = env();
    let check = |code: i32, args: &[&str], hint: &str| {
        let ran = env.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.shown());
        assert!(ran.stderr.contains(hint), "{args:?}: {}", ran.shown());
    };
    check(2, &["on", "epics", "--run", "x"], "--session-id");
    check(2, &["on"], "--session-id");
    check(2, &["on", "nothing", "--run", "x", "--session-id", "s1"], "possible values");
    check(2, &["on", "../../x", "--run", "x", "--session-id", "s1"], "possible values");
    check(2, &["on", "epics", "--session-id", "s1"], "--run");
    check(2, &["on", "--run", "x", "--session-id", "s1"], "KIND");
    check(2, &["on", "epics", "--run", " ", "--session-id", "s1"], "needs a command");
    check(2, &["on", "epics", "--run", "x", "--id", "../x", "--session-id", "s1"], "not a valid id");
    check(2, &["on", "epics", "--run", "x", "--session-id", "../x"], "not a valid session id");
    check(4, &["on", "--remove", "x", "--session-id", "s1"], "anthill on --session-id s1");
    check(4, &["trust", "--remove", "x"], "see what is: anthill trust");
    check(2, &["trust", ""], "no command");
    assert_eq!(env.error(&["on", "--remove", "x", "--session-id", "s1"])["code"], "not_found");
    assert!(!env.home().join("sessions/s1/hooks.json").exists());
    let refused = env.finish(env.command(&["trust", "x"]).env("ANTHILL_HOOK_DEPTH", "1"), b"");
    assert_eq!(refused.code, 1, "a hook cannot trust: {}", refused.shown());
}

#[test]
fn texts_are_data() {
    let env = env();
    let hostile = "$(touch bad1)`touch bad2`\n'\"; touch bad3; #\u{1b}[2J";
    on(&env, "s1", "epics", hostile);
    assert_eq!(env.json(&["on", "--session-id", "s1"])[0]["command"], hostile);
    assert!(!env.ok(&["on", "--session-id", "s1"]).stdout.contains('\u{1b}'));
    trusted(&env, "s1", "epics", "echo ran");
    env.ok(&["set", "epics", "note", &json!(hostile).to_string(), "--project-id", "touch-bad4"]);
    let log = logged(&env, "s1", "    ran touch-bad4 s1\n");
    assert_eq!(log.lines().filter(|line| line.starts_with('[')).count(), 2, "one line each: {log}");
    assert!(!log.contains('\u{1b}'));
    (1..=4).for_each(|number| assert!(!env.project().join(format!("bad{number}")).exists()));
}

#[test]
fn hooks_that_come_by_other_ways_count_too() {
    let env = env();
    env.ok(&["trust", "echo ran;"]);
    let hook = json!({"id": "h1", "on": "epics", "command": "echo ran;"});
    env.ok(&["append", "hooks", "hooks", &hook.to_string(), "--session-id", "s1"]);
    change(&env, "p1");
    logged(&env, "s1", "h1 on epics at revision 1: exit 0");
    env.ok(&["undo", "hooks", "--session-id", "s1"]);
    assert!(!env.home().join("orchestration/triggers.json").exists());
    env.write("user/.claude/sessions/s2/hooks.json", json!({"hooks": [hook]}).to_string());
    let listed = env.ok(&["on", "--session-id", "s2"]).stdout;
    assert!(
        listed.contains("added by hand, which registers nothing; register it: anthill on epics --run 'echo ran;' --session-id s2"),
        "{listed}"
    );
    on(&env, "s2", "epics", "echo ran;");
    change(&env, "p1");
    logged(&env, "s2", "h1 on epics at revision 2: exit 0");
}

#[test]
fn damaged_files_of_hooks_do_not_hinder_changes() {
    let env = env();
    trusted(&env, "s1", "epics", "echo ran;");
    trusted(&env, "s2", "epics", "echo ran;");
    env.write("user/.claude/sessions/s1/hooks.json", "{");
    change(&env, "p1");
    logged(&env, "s2", "revision 1: exit 0");
    env.write("user/.claude/orchestration/triggers.json", "{");
    let ran = env.ok(&["set", "epics", "note", "2", "--project-id", "p1"]);
    assert!(ran.stderr.contains("warning: the change is made, but hooks were not run"), "{}", ran.shown());
}

/// Lays out a program that a test can spoil while it runs.
fn own_program(env: &TestEnv) -> String {
    let own = env.root().join("own/anthill");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::copy(env.binary(), &own).unwrap();
    own.display().to_string()
}

/// Has a runner do this to its own program when the hooks of all that happened before have run.
#[track_caller]
fn spoil(env: &TestEnv, own: &str, how: &str) {
    trusted(env, "s1", "queue", "echo ran;");
    env.ok(&["leader", "add-task", "Do it", "--id", "t1"]);
    let log = env.home().join("sessions/s1/hooks.log").display().to_string();
    let line = format!("until [ $(grep -c ': exit 0' {log}) -ge 3 ]; do sleep 0.01; done; {how} {own}");
    let ran = env.finish(env.clean(own).args(["worker", "run", "w1", "--", "sh", "-c", &line]), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

#[test]
fn a_program_that_was_removed_while_it_ran_still_runs_hooks() {
    let env = env();
    spoil(&env, &own_program(&env), "rm");
    until("the last change is heard of", || log(&env, "s1").matches(": exit 0").count() == 4);
}

#[test]
fn hooks_that_could_not_be_started_are_told_in_the_log_and_by_the_doctor() {
    let env = env();
    spoil(&env, &own_program(&env), "chmod a-x");
    let told = "queue-1 on queue: not run: it could not be started: Permission denied";
    logged(&env, "s1", told);
    let doctor = env.ok(&["doctor"]).stderr;
    assert!(
        doctor.contains("warning: hook `queue-1` of session `s1`: it did not run at the last change"),
        "{doctor}"
    );
    env.ok(&["leader", "add-task", "Another"]);
    until("the next change is heard of", || log(&env, "s1").matches(": exit 0").count() == 4);
    assert!(env.ok(&["doctor"]).stderr.starts_with("all is well: "));
}

/// What the doctor warns of, by its own words and by the command that mends it.
fn warned(env: &TestEnv) -> Vec<(String, String)> {
    let report = env.json(&["doctor"]);
    assert_eq!(report["ok"], true, "a hook is no damage: {report}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            assert_eq!(finding["severity"], "warning", "{finding}");
            (
                text(&finding["message"]),
                text(&finding["fix"]).replace("$TEST_ENV", env.root().to_str().unwrap()),
            )
        })
        .collect()
}

#[test]
fn the_doctor_warns_of_hooks_that_will_not_run_and_says_what_to_type() {
    let env = env();
    let check = |message: &str, verb: &str| {
        let warned = warned(&env);
        let [(said, fix)] = &warned[..] else { panic!("one of `{message}`: {warned:?}") };
        assert!(said.contains(message), "{said}");
        let (_, line) = fix.split_once(verb).unwrap_or_else(|| panic!("`{verb}` in {fix}"));
        let ran = env.finish(
            env.clean("sh").args(["-c", line]).current_dir("/").env("ANTHILL_ROOT", env.project()),
            b"",
        );
        assert_eq!(ran.code, 0, "{line}: {}", ran.shown());
        assert_eq!(warned_of(&env), 0, "after {line}");
    };
    on(&env, "s1", "epics", "echo 'it is';");
    check("hook `epics-1` of session `s1`: its command is not trusted", "allow it: ");
    script(&env, "deep/x.sh", "#!/bin/sh\n");
    on(&env, "s1", "config", "deep/x.sh");
    check("hook `config-1` of session `s1`: its command is not trusted", "allow it: ");
    script(&env, "deep/x.sh", "#!/bin/sh\necho other\n");
    check("its script has changed since it was trusted (now ", "allow it: ");
    fs::remove_file(env.project().join("deep/x.sh")).unwrap();
    check("its script is gone", "drop it: ");
    let hook = json!({"id": "by-hand", "on": "team", "command": "echo 'it is';", "enabled": true});
    env.write("user/.claude/sessions/s2/hooks.json", json!({"hooks": [hook]}).to_string());
    check("hook `by-hand` of session `s2`: it was added by hand", "register it: ");
    trusted(&env, "s1", "sprints", "no-such-command");
    env.ok(&["set", "sprints", "note", "1", "--project-id", "p1"]);
    logged(&env, "s1", "sprints-1 on sprints at revision 1: exit 127");
    check("it did not run at the last change: exit 127", "drop it: ");
}

fn warned_of(env: &TestEnv) -> usize {
    warned(env).len()
}

#[test]
fn the_doctor_does_not_warn_of_hooks_that_nobody_waits_for() {
    let env = env();
    on(&env, "off", "epics", "echo;");
    env.ok(&["set", "hooks", "hooks[0].enabled", "false", "--session-id", "off"]);
    on(&env, "over", "epics", "echo;");
    let state = json!({"session_id": "over", "status": "ended"});
    env.ok(&["set", "session", ".", &state.to_string(), "--session-id", "over"]);
    assert!(env.ok(&["doctor"]).stderr.starts_with("all is well: "));
}

#[test]
fn changes_that_pile_up_are_told_one_at_a_time() {
    let env = env();
    trusted(&env, "s1", "epics", "mkdir turn || echo overlap >> ../overlap; sleep 0.05; rmdir turn");
    (0..8).for_each(|_| change(&env, "p1"));
    until("all have run", || log(&env, "s1").matches(": exit 0 after").count() == 8);
    assert!(!env.root().join("overlap").exists(), "{}", log(&env, "s1"));
}

#[test]
fn the_example_gives_the_session_a_task_for_every_story_that_nobody_has() {
    let env = env();
    let page = include_str!("../../../../docs/hooks.md");
    let (_, example) =
        page.split_once("<!-- not run: the script on-epic-update.sh").expect("the page has the example");
    let (_, example) = example.split_once("```sh\n").expect("it is a script");
    let (example, _) = example.split_once("```").expect("the script ends");
    script(&env, ".claude/hooks/on-epic-update.sh", example);
    trusted(&env, "dev", "epics", ".claude/hooks/on-epic-update.sh");
    let epic = json!({"id": "epic-001", "title": "Sign-in", "stories": [
        {"id": "story-1", "title": "A \"form\" for $USER", "status": "pending", "assigned_to": null},
        {"id": "story-2", "title": "Taken", "status": "pending", "assigned_to": "w1"},
        {"id": "story-3", "title": "Done", "status": "completed", "assigned_to": null},
    ]});
    env.ok(&["append", "epics", "epics", &epic.to_string(), "--project-id", "myapp"]);
    logged(&env, "dev", "revision 1: exit 0");
    let tasks = || env.json(&["list", "tasks", "--session-id", "dev"]);
    let first = json!({"id": "task-story-1", "type": "implement_story", "story_id": "story-1", "title": "A \"form\" for $USER", "status": "pending"});
    assert_eq!(tasks(), json!([first]));
    let story = r#"{"id": "story-7", "title": "Sign out", "status": "pending"}"#;
    env.ok(&["append", "epics", "epics[id=epic-001].stories", story, "--project-id", "myapp"]);
    logged(&env, "dev", "revision 2: exit 0");
    let ids: Vec<_> = tasks().as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
    assert_eq!(ids, ["task-story-1", "task-story-7"], "none is doubled");
}
