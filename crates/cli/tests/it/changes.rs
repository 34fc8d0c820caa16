//! What really changed while an agent worked, beside what it says: by git, on tasks of the queue and items of the loop.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;

const GIT: &str = "git -c user.name=t -c user.email=t@example.org";

/// A project that is a git repository with two files.
fn repository() -> TestEnv {
    let env = env();
    sh(
        &env,
        &format!(
            "rm -r .git && git init -q && echo 1 >a && echo 1 >b && git add . && {GIT} commit -q -m one"
        ),
    );
    env
}

#[track_caller]
fn sh(env: &TestEnv, line: &str) {
    let ran = env.sh(line);
    assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
}

/// Has a task done that names `a`, by a line of shell.
fn do_task(env: &TestEnv, id: &str, line: &str) -> (Ran, Value) {
    env.ok(&["leader", "add-task", "Change it", "--id", id, "--files", "a"]);
    let ran = run(env, line);
    (ran, env.json(&["get", "queue", "--field", &format!("tasks[id={id}].result")]))
}

fn run(env: &TestEnv, line: &str) -> Ran {
    env.finish(env.command(&["worker", "run", "w1", "--", "sh", "-c", line]).env_remove("ANTHILL_NOW"), b"")
}

fn git_saw(files: &[&str]) -> Value {
    json!({"files": files, "count": files.len(), "by": "git"})
}

#[test]
fn what_changed_is_recorded_however_it_changed() {
    let env = repository();
    // Dirty before anybody works.
    sh(&env, "echo mine >b && echo mine >c");
    let commit = format!("echo 3 >a; git add a; {GIT} commit -q -m two; echo done");
    for (id, line, files) in [
        ("edit", "echo 2 >a", &["a"][..]),
        ("commit", &commit, &["a"]),
        ("new", "mkdir -p d/e; echo 1 >d/e/f", &["d/e/f"]),
        ("again", "echo other >b", &["b"]),
        ("deletion", "rm a c", &["a", "c"]),
        ("nothing", "echo no >/dev/null", &[]),
    ] {
        let (ran, result) = do_task(&env, id, line);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        assert_eq!(result["changed"], git_saw(files), "{id}");
    }
    let (_, result) = do_task(&env, "failure", "echo 9 >a; exit 3");
    assert_eq!(result["changed"], git_saw(&["a"]), "a failure leaves something behind too");
    let by_itself = r#"echo 10 >a; anthill worker complete w1 "$ANTHILL_TASK_ID" "By myself" --modified z"#;
    let (_, result) = do_task(&env, "itself", by_itself);
    assert_eq!((&result["changed"], &result["files_modified"]), (&git_saw(&["a"]), &json!(["z"])));
    assert!(
        env.read_text("project/.coordination/results/itself.md").contains("## Changed\n\nBy git:\n\n- a\n")
    );
}

#[test]
fn done_without_a_change_is_shown_as_such() {
    let env = repository();
    env.ok(&["leader", "add-task", "Think about it", "--id", "thought"]);
    let (ran, _) = do_task(&env, "hollow", "echo All done.");
    assert!(
        ran.stderr.contains("warning: `hollow` is reported as done, but git saw no change\n"),
        "{}",
        ran.shown()
    );
    assert!(!ran.stderr.contains("`thought` is reported"), "it names no files: {}", ran.shown());
    let (ran, _) = do_task(&env, "real", "echo 2 >a");
    assert!(!ran.stderr.contains("warning"), "{}", ran.shown());
    let board = env.ok(&["leader", "status"]).stdout;
    let marked: Vec<_> = board.lines().filter(|line| line.contains("but git saw no change")).collect();
    assert!(matches!(marked[..], [line] if line.contains("hollow")), "{board}");
    let nothing =
        "## Changed\n\nNothing: the task names files and is reported as done, but git saw no change.\n";
    assert!(env.read_text("project/.coordination/results/hollow.md").contains(nothing));
    let ran = env.ok(&["leader", "aggregate"]);
    assert_eq!(ran.stderr, "warning: done, but git saw no change: hollow\n");
    assert_eq!(env.json(&["leader", "aggregate"])["without_change"], json!(["hollow"]));
    let summary = env.read_text("project/.coordination/summary.md");
    assert!(summary.contains("| hollow | done, but git saw no change |"), "{summary}");
    assert!(
        env.ok(&["leader", "explain", "hollow"])
            .stdout
            .contains("it is done, by `w1`, but git saw no change")
    );
}

#[test]
fn what_may_be_of_others_is_said_to_be_shared() {
    let env = repository();
    for id in ["one", "two"] {
        env.ok(&["leader", "add-task", "Change it", "--id", id, "--files", id]);
    }
    let line = "touch $ANTHILL_TASK_ID; until [ -e one ] && [ -e two ]; do sleep 0.05; done";
    let mut command = env.command(&["worker", "run", "w1", "--parallel", "2", "--timeout", "100"]);
    let ran = env.finish(command.args(["--", "sh", "-c", line]).env_remove("ANTHILL_NOW"), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    for id in ["one", "two"] {
        let changed = env.json(&["get", "queue", "--field", &format!("tasks[id={id}].result.changed")]);
        assert_eq!(changed["shared"], true, "{changed}");
        assert!(changed["files"].as_array().is_some_and(|files| files.contains(&json!(id))), "{changed}");
    }
    let (_, alone) = do_task(&env, "three", "touch three");
    assert_eq!(alone["changed"], git_saw(&["three"]));
}

#[test]
fn without_git_nothing_is_recorded_and_nothing_fails() {
    let env = env();
    let (ran, result) = do_task(&env, "t1", "echo 1 >a");
    assert_eq!((ran.code, result.get("changed")), (0, None), "{}", ran.shown());
    assert!(!env.read_text("project/.coordination/results/t1.md").contains("## Changed"));
    let env = repository();
    env.ok(&["leader", "add-task", "Change it", "--id", "t2", "--files", "a"]);
    // There is no git to ask.
    sh(&env, "mkdir bin && for tool in sh echo; do ln -s \"$(command -v $tool)\" bin/; done");
    let mut command = env.command(&["worker", "run", "w1", "--", "/bin/sh", "-c", "echo 2 >a"]);
    command.env("PATH", env.project().join("bin")).env_remove("ANTHILL_NOW");
    let ran = env.finish(&mut command, b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(env.json(&["get", "queue", "--field", "tasks[id=t2].result"]).get("changed"), None);
}

#[test]
fn items_of_the_loop_have_their_changes_too() {
    let env = repository();
    env.configure("[gates.test]\nrun = \"true\"\n");
    env.ok(&["loop", "start", "Make it work"]);
    env.ok(&["loop", "add", "First", "-p", "S1"]);
    env.ok(&["loop", "add", "Second", "-p", "S2"]);
    let agent = r#"[ $ANTHILL_TASK_ID = work-001 ] && echo 2 >a; echo '{"status": "done", "summary": "ok"}'"#;
    let ran = env.finish(env.command(&["loop", "run", "--agent", agent]).env_remove("ANTHILL_NOW"), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let items = env.json(&["get", "work_queue", "--field", "items"]);
    assert_eq!((&items[0]["changed"], &items[1]["changed"]), (&git_saw(&["a"]), &git_saw(&[])), "{items}");
    let shown = env.ok(&["loop", "status"]).stdout;
    assert!(shown.contains("Second (run-1), but git saw no change"), "{shown}");
}
