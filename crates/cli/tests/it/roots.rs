//! Where the two roots are found.

use std::path::Path;

use anthill_testkit::test_env::{Ran, TestEnv};

use crate::env;

/// Runs in a directory below the test's own, with some variables set.
#[track_caller]
fn run(env: &TestEnv, dir: &str, vars: &[(&str, &str)], args: &[&str]) -> Ran {
    let dir = env.root().join(dir);
    std::fs::create_dir_all(&dir).unwrap();
    let mut command = env.command(args);
    for (name, value) in vars {
        command.env(name, env.root().join(value));
    }
    let ran = env.finish(command.current_dir(dir), b"");
    assert_eq!(ran.code, 0, "{args:?}\n{}", ran.shown());
    ran
}

/// Writes a queue from `dir` and insists that it lands in the project `root`.
#[track_caller]
fn project_is(env: &TestEnv, dir: &str, vars: &[(&str, &str)], options: &[&str], root: &str) {
    run(env, dir, vars, &[&["set", "queue", "x", "1"], options].concat());
    let file = env.root().join(root).join(".coordination/tasks.json");
    assert!(file.is_file(), "{} does not exist", file.display());
    std::fs::remove_dir_all(env.root().join(root).join(".coordination")).unwrap();
    let others: Vec<_> = env.bytes().into_keys().filter(|path| path.contains(".coordination")).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[track_caller]
fn home_is(env: &TestEnv, vars: &[(&str, &str)], options: &[&str], home: &str) {
    run(env, "project", vars, &[&["set", "config", "x", "1"], options].concat());
    let home = env.root().join(home);
    assert!(home.join("orchestration/config.json").is_file(), "not in {}", home.display());
    std::fs::remove_dir_all(home.join("orchestration")).unwrap();
    let others: Vec<_> = env.bytes().into_keys().filter(|path| path.contains("orchestration")).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn the_nearest_mark_is_the_project() {
    let env = env();
    project_is(&env, "project/src/deep", &[], &[], "project");
    for mark in [".coordination", "coordination", ".claude", ".git"] {
        let inner = format!("project/{}", mark.trim_start_matches('.'));
        std::fs::create_dir_all(env.root().join(&inner).join(mark)).unwrap();
        if mark == "coordination" {
            project_is(&env, &format!("{inner}/src"), &[], &[], "project");
            env.write(&format!("{inner}/coordination/pm_state.json"), "{}");
        }
        project_is(&env, &format!("{inner}/src"), &[], &[], &inner);
    }
}

#[test]
fn without_a_mark_the_working_directory_is_the_project() {
    let env = env();
    std::fs::create_dir_all(env.home()).unwrap();
    project_is(&env, "user/notes/today", &[], &[], "user/notes/today");
    let vars = [("CLAUDE_CONFIG_DIR", "user/.claude")];
    project_is(&env, "user/notes/today", &vars, &[], "user/notes/today");
    // Even reached by a link, `~/.claude` is the home root and no mark.
    std::os::unix::fs::symlink(env.user(), env.root().join("link")).unwrap();
    project_is(&env, "link/notes/today", &[], &[], "user/notes/today");
}

#[test]
fn options_win_over_variables_and_those_over_marks() {
    let env = env();
    let client = ("CLAUDE_PROJECT_DIR", "client");
    let own = ("ANTHILL_ROOT", "own");
    project_is(&env, "project", &[client], &[], "client");
    project_is(&env, "project", &[client, own], &[], "own");
    let told = env.root().join("told").display().to_string();
    project_is(&env, "project", &[client, own], &["--root", &told], "told");
    project_is(&env, "project", &[], &["--root", "relative"], "project/relative");
}

#[test]
fn home_is_found_in_order() {
    let env = env();
    let client = ("CLAUDE_CONFIG_DIR", "client");
    let own = ("ANTHILL_HOME", "own");
    home_is(&env, &[], &[], "user/.claude");
    home_is(&env, &[client], &[], "client");
    home_is(&env, &[client, own], &[], "own");
    let told = env.root().join("told/deep").display().to_string();
    home_is(&env, &[client, own], &["--home", &told], "told/deep");
    home_is(&env, &[], &["--home", "relative"], "project/relative");
}

#[test]
fn worktrees_share_the_state_of_their_main_checkout() {
    let env = env();
    let git = |dir: &Path, args: &[&str]| {
        let mut command = env.clean("git");
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(dir);
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let ran = env.finish(command.args(identity).args(args), b"");
        assert_eq!(ran.code, 0, "git {args:?}\n{}", ran.shown());
    };
    let main = env.root().join("main");
    std::fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "start"]);
    git(&main, &["worktree", "add", "-q", "../side"]);
    git(&main, &["worktree", "add", "-q", ".claude/worktrees/inner"]);
    project_is(&env, "main/src", &[], &[], "main");
    project_is(&env, "side/src", &[], &[], "main");
    project_is(&env, "main/.claude/worktrees/inner/src", &[], &[], "main");
    project_is(&env, "project", &[("CLAUDE_PROJECT_DIR", "side")], &[], "main");
    // What the user names is taken as it is.
    project_is(&env, "project", &[("ANTHILL_ROOT", "side")], &[], "side");
}

#[test]
fn a_worktree_with_a_checked_in_directory_still_shares() {
    let env = env();
    let git = |dir: &str, line: &str| {
        let line = format!(
            "cd {} && git -c user.name=t -c user.email=t@example.org {line}",
            env.root().join(dir).display()
        );
        let ran = env.sh(&line);
        assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
    };
    // `.claude/` is often committed, so that each worktree has a mark of its own.
    env.write("main/.claude/settings.json", "{}");
    git("main", "init -q");
    git("main", "add -f .claude");
    git("main", "commit -q -m start");
    git("main", "worktree add -q ../side");
    project_is(&env, "side/src", &[], &[], "main");
}

#[test]
fn sessions_and_shared_state_are_where_the_configuration_says() {
    let env = env();
    let set = |path: &str, value: &str| env.ok(&["set", "config", path, &format!("{value:?}")]);
    env.ok(&["set", "session", "status", "\"active\"", "--session-id", "s1"]);
    assert!(env.home().join("sessions/s1/state.json").is_file());
    // The seed's own words mean the usual places, whatever the home is.
    set("paths.session_state", "~/.claude/sessions");
    env.ok(&["get", "session", "--session-id", "s1"]);
    set("paths.session_state", "~/else/where");
    set("paths.shared_state", &env.root().join("shared").display().to_string());
    assert_eq!(env.run(&["get", "session", "--session-id", "s1"]).code, 4, "it is looked for elsewhere");
    env.ok(&["set", "session", "status", "\"active\"", "--session-id", "s2"]);
    env.ok(&["append", "epics", "epics", r#"{"id": "e1"}"#, "--project-id", "p1"]);
    let mut waiting = env.spawn(&["message", "poll", "s2", "--wait", "60"]);
    env.ok(&["message", "send", "s1", "s2", "note", "1"]);
    assert_eq!(waiting.wait(), 0);
    for file in
        ["user/else/where/s2/state.json", "shared/projects/p1/epics.json", "shared/messages/s2/mailbox.json"]
    {
        assert!(env.root().join(file).is_file(), "{file}: {:?}", env.bytes().into_keys().collect::<Vec<_>>());
    }
    env.ok(&["doctor"]);
    env.ok(&["get", "config"]);
    set("paths.session_state", "else/where");
    let refused = env.run(&["set", "session", "status", "\"idle\"", "--session-id", "s2"]);
    assert_eq!(refused.code, 8, "{}", refused.shown());
    assert!(refused.shown().contains("paths.session_state"), "{}", refused.shown());
}
