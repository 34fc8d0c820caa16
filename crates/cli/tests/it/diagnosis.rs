//! Why nothing moves: the screens of `explain` as people see them, 80 columns wide.

use anthill_testkit::test_env::TestEnv;

use crate::env;

/// Returns a queue with these tasks, each as the words after `leader add-task`.
fn queue(tasks: &[&str]) -> TestEnv {
    let env = env();
    for task in tasks {
        let words: Vec<_> = ["leader", "add-task"].into_iter().chain(task.split(' ')).collect();
        env.ok(&words);
    }
    env
}

fn check(env: &TestEnv, line: &str, expected: &str) {
    let words: Vec<_> = line.split(' ').collect();
    let shown = env.ok(&words).stdout;
    assert_eq!(shown, expected);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

/// A model that failed, with an API and docs behind it.
fn failed() -> TestEnv {
    let env = queue(&["Model --id model", "Api --id api --depends model", "Docs --id docs --depends api"]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["worker", "fail", "w1", "model", "the table is locked\nand more"]);
    env
}

#[test]
fn a_failure_is_the_root_of_what_waits_behind_it() {
    let env = failed();
    let expected = "\
Stuck: 2 tasks are open, and nobody is at work.

NEEDS YOU (1)
  model failed 1s ago, by w1: the table is locked
    holds up 2 tasks: api and docs
    anthill leader retry model
";
    check(&env, "explain", expected);
    let why = env.json(&["leader", "explain"]);
    assert_eq!((&why["verdict"], &why["needs"][0]["kind"]), (&"stuck".into(), &"failed".into()));
    assert_eq!(why["needs"][0]["steps"], serde_json::json!(["anthill leader retry model"]));
    // What it says helps.
    env.ok(&["leader", "retry", "model"]);
    env.ok(&["worker", "claim", "w1"]);
    check(&env, "explain", "Moving: 1 at work, 2 waiting; 0 of 3 done.\n");
}

#[test]
fn a_task_is_explained_down_to_its_roots() {
    let expected = "\
docs is created
  - it waits for `api` (created)

docs  created, waits for
└─ api  created, waits for
   └─ model  failed, by w1: the table is locked
        anthill leader retry model
";
    let env = failed();
    check(&env, "explain docs", expected);
    let chain = env.json(&["explain", "docs"])["chain"].take();
    assert_eq!(chain[2]["steps"][0], "anthill leader retry model");
    assert!(env.json(&["explain", "api"]).get("chain").is_none(), "the reasons say it all");
}

#[test]
fn what_nobody_can_or_wants_to_take_is_named() {
    let env = queue(&[
        "Train --id train --needs gpu",
        "Old --id old",
        "Use --id use --depends old",
        "Lint --id lint",
    ]);
    env.ok(&["leader", "cancel", "old"]);
    let expected = "\
Stuck: 3 tasks are open, and nobody is at work.

NEEDS YOU (3)
  use waits for old, which was cancelled
    holds up 1 task: use
    anthill leader reset old
    anthill leader edit use --no-depends old
  train needs gpu, and no registered worker has that
    anthill worker register W --capabilities gpu
  lint is ready, and nobody takes it
    anthill worker claim W
";
    check(&env, "explain", expected);
    for step in
        ["leader edit use --no-depends old", "worker register w1 --capabilities gpu", "leader cancel lint"]
    {
        env.ok(&step.split(' ').collect::<Vec<_>>());
    }
    let expected = "\
Stuck: 2 tasks are open, and nobody is at work.

NEEDS YOU (1)
  train and use are ready, and nobody takes one
    anthill worker claim W
";
    check(&env, "explain", expected);
}

#[test]
fn leases_and_files_are_causes() {
    let env = queue(&["A --id a --files src/", "B --id b --files src/b.rs", "C --id c --depends a"]);
    env.ok(&["worker", "claim", "w1", "--lease", "20"]);
    let moving = "\
Moving: 1 at work, 1 ready, 1 waiting; 0 of 3 done.

NEEDS YOU (1)
  b wants src/b.rs, but w1 is at work on a (src/)
    anthill leader explain a
";
    check(&env, "explain", moving);
    (0..20).for_each(|_| drop(env.command(&[])));
    let expired = "\
Stuck: 3 tasks are open, and nobody is at work.

NEEDS YOU (2)
  the lease of w1 on a ran out 2s ago; the next claim takes it back
    holds up 1 task: c
    anthill worker claim W
  b is ready, and nobody takes it
    anthill worker claim W
";
    check(&env, "explain", expired);
}

#[test]
fn work_that_is_over_says_so() {
    let env = env();
    assert_eq!(env.run(&["explain"]).code, 4);
    env.ok(&["leader", "init", "Goal"]);
    check(&env, "explain", "No tasks yet.\n  anthill leader add-task \"…\"\n");
    env.ok(&["leader", "add-task", "A", "--id", "a"]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["worker", "complete", "w1", "a", "ok"]);
    check(&env, "explain", "Done: the only task is done.\n  anthill leader aggregate\n");
}

#[test]
fn of_very_many_tasks_a_part_is_looked_at_with_an_index_and_without() {
    let env = env();
    let task = |number: usize| {
        let after =
            if number == 0 { String::new() } else { format!(r#", "dependencies": ["t{}"]"#, number - 1) };
        format!(r#"{{"id": "t{number}", "description": "x"{after}}}"#)
    };
    let tasks: Vec<_> = (0..3000).map(task).collect();
    assert_eq!(env.run_with_input(&["leader", "import", "-"], tasks.join("\n").as_bytes()).code, 0);
    let expected = "\
Stuck: 3000 tasks are open, and nobody is at work.

NEEDS YOU (1)
  t0 is ready, and nobody takes it
    holds up 1000 tasks: t1, t2, t3 and 997 more
    anthill worker claim W
not looked at: 1999 tasks that wait behind those
";
    check(&env, "explain", expected);
    env.sh("rm .coordination/.anthill/index-tasks.json");
    check(&env, "explain", expected);
    let chain = env.ok(&["explain", "t500"]).stdout;
    let end =
        "… and 485 tasks below; at the roots:\n  t0  ready, and nobody has it\n    anthill worker claim W\n";
    assert!(chain.ends_with(end), "{chain}");
    assert!(chain.lines().all(|line| line.chars().count() <= 80), "{chain}");
}

#[test]
fn a_run_until_empty_that_leaves_work_says_why() {
    let env = queue(&["A --id a", "Train --id train --needs gpu"]);
    let ran = env.run(&["worker", "run", "w1", "--until-empty", "--", "true"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    let expected = "\
1 done, 0 failed, 0 released
Stuck: 1 task is open, and nobody is at work.

NEEDS YOU (1)
  train needs gpu, and no registered worker has that
    anthill worker register W --capabilities gpu
";
    assert!(ran.stderr.ends_with(expected), "{}", ran.stderr);
    let told = env.run(&["worker", "run", "w1", "--until-empty", "--json", "--", "true"]);
    assert_eq!((told.code, &told.json()["stuck"]["needs"][0]["kind"]), (1, &"capabilities".into()));
    env.ok(&["leader", "cancel", "train"]);
    let ran = env.run(&["worker", "run", "w1", "--until-empty", "--json", "--", "true"]);
    assert_eq!((ran.code, ran.json().get("stuck")), (0, None), "{}", ran.shown());
}

#[test]
fn the_status_says_who_does_what_in_the_words_of_the_board() {
    let env = queue(&["Model --id model --files src/db src/model.rs", "Api --id api --depends model"]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["worker", "start", "w1", "model"]);
    let expected = "\
QUEUE  0/2 (0%)
  1 working  1 waiting

Moving: 1 at work, 1 waiting; 0 of 2 done.
  [5] model  Model  by w1  for 1s  lease 9m59s left
      src/db  src/model.rs
";
    check(&env, "status", expected);
    let counts = env.json(&["status"])["queue"]["counts"].take();
    assert_eq!((&counts["in_progress"], &counts["created"]), (&1.into(), &1.into()));
    env.ok(&["worker", "fail", "w1", "model", "exit code 1\ncannot find `users`"]);
    let expected = "\
QUEUE  0/2 (0%)
  1 waiting  1 failed

Stuck: 1 task is open, and nobody is at work.
model failed 1s ago, by w1: cannot find `users`
  what helps: anthill explain
";
    check(&env, "status", expected);
}

/// Dependencies that somebody empties by hand: what `claim` gives out is ready.
#[test]
fn what_was_set_free_by_hand_is_ready() {
    let env = failed();
    let file = "project/.coordination/tasks.json";
    let mut queue: serde_json::Value = serde_json::from_str(&env.read_text(file)).unwrap();
    queue["tasks"][1]["dependencies"] = serde_json::json!([]);
    env.write(file, queue.to_string());
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(
        board.contains("1 ready  1 waiting  1 failed") && board.contains("READY (1)\n  [5] api  Api\n"),
        "{board}"
    );
    assert_eq!(env.json(&["worker", "claim", "w2"])["id"], "api");
}

#[test]
fn a_change_is_one_line_of_the_log() {
    let env = failed();
    let expected = "\
2026-01-01 00:00:01  queue r1  leader add-task  new, with model
2026-01-01 00:00:02  queue r2  leader add-task  api: nothing → created
2026-01-01 00:00:03  queue r3  leader add-task  docs: nothing → created
2026-01-01 00:00:04  queue r4  w1 claim  model: available → claimed
2026-01-01 00:00:05  queue r5  w1 fail  model: claimed → failed
";
    check(&env, "log --kind queue", expected);
    check(&env, "history queue", expected);
    env.ok(&["leader", "edit", "api", "--priority", "1"]);
    check(
        &env,
        "log --kind queue --limit 1",
        "2026-01-01 00:00:08  queue r6  leader edit-task  api.priority: 5 → 1\n",
    );
}

#[test]
fn a_log_is_followed() {
    let env = failed();
    let mut log = env.spawn(&["log", "--follow", "--kind", "queue", "--limit", "1"]);
    assert_eq!(log.line(), "2026-01-01 00:00:05  queue r5  w1 fail  model: claimed → failed");
    env.ok(&["leader", "retry", "model"]);
    let line = log.line();
    assert!(line.ends_with("queue r6  leader retry  model: failed → available"), "{line}");
    log.kill();
    let mut log = env.spawn(&["log", "--follow", "--json", "--kind", "queue", "--limit", "1"]);
    assert_eq!(log.json()["op"], "retry");
    env.ok(&["worker", "claim", "w1"]);
    assert_eq!(log.json()["by"], "w1");
    log.kill();
}

#[test]
fn the_longest_chain_and_the_end_are_told() {
    let env = queue(&[
        "X --id x",
        "Model --id model",
        "Api --id api --depends model",
        "Web --id web --depends api",
    ]);
    let expected = "\
3 tasks have to be done one after the other:
  1. ○ model  Model
  2. · api  Api
  3. · web  Web
";
    check(&env, "leader graph --critical", expected);
    for number in 0..5 {
        env.ok(&["leader", "add-task", "T", "--priority", "1", "--id", &format!("t{number}")]);
    }
    for _ in 0..5 {
        let id = env.json(&["worker", "claim", "w1"])["id"].take();
        env.ok(&["worker", "complete", "w1", id.as_str().unwrap(), "ok"]);
    }
    env.ok(&["worker", "claim", "w1"]);
    let expected = "\
Moving: 1 at work, 1 ready, 2 waiting; 5 of 9 done.
About 7s more: 2000.0 tasks per hour, 1s each (by the last 5 done).
";
    check(&env, "explain", expected);
}
