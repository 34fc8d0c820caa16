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
