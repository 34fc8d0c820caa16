//! People edit files while others commit: what they changed counts, nothing else is undone, and nothing is lost untold.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;

const QUEUE: &str = "project/.coordination/tasks.json";

/// A queue of four tasks, without a word of it.
fn with_tasks() -> TestEnv {
    let env = env();
    for id in ["t1", "t2", "t3", "t4"] {
        env.ok(&["leader", "add-task", &format!("do {id}"), "--id", id]);
    }
    env
}

fn finish(env: &TestEnv, count: usize) {
    for _ in 0..count {
        let task = env.json(&["worker", "claim", "w1"]);
        env.ok(&["worker", "complete", "w1", task["id"].as_str().unwrap(), "made it"]);
    }
}

fn statuses(env: &TestEnv) -> Vec<String> {
    let tasks = env.json(&["leader", "status"])["tasks"].as_array().unwrap().clone();
    tasks.iter().map(|task| task["status"].as_str().unwrap().to_owned()).collect()
}

fn task(env: &TestEnv, id: &str) -> Value {
    env.json(&["get", "queue", "--field", &format!("tasks[id={id}]")])
}

/// What was open in an editor since before three tasks were done changes one description, and no more.
#[test]
fn a_stale_save_undoes_nothing_however_it_is_saved() {
    for (name, save) in [
        ("write in place", "cat edited > $FILE"),
        ("rename", "cp edited $FILE.tmp && mv $FILE.tmp $FILE"),
        ("backup and rename", "cp $FILE $FILE~ && rm $FILE && cp edited $FILE"),
        ("in pieces", "head -c 200 edited > $FILE; sleep 0.02; tail -c +201 edited >> $FILE"),
        ("twice", "cat edited > $FILE; cp edited $FILE.tmp && mv $FILE.tmp $FILE"),
        ("sorted by a script", "jq -S . edited > $FILE.tmp && mv $FILE.tmp $FILE"),
        (
            "with a time of its own",
            "jq '.last_updated = \"2026-05-05T00:00:00Z\"' edited > $FILE.tmp && mv $FILE.tmp $FILE",
        ),
    ] {
        let env = with_tasks();
        let stale = env.read_text(QUEUE);
        finish(&env, 3);
        env.write("project/edited", stale.replace("do t4", "do t4 with care"));
        let ran = env.sh(&format!("FILE=.coordination/tasks.json; {save}"));
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        assert_eq!(statuses(&env), ["done", "done", "done", "available"], "{name}: for a reader");
        let next = env.json(&["worker", "claim", "w2"]);
        assert_eq!((&next["id"], &next["description"]), (&json!("t4"), &json!("do t4 with care")), "{name}");
        let log = env.read_text("project/.coordination/logs/leader.log");
        assert!(!log.contains("set from done"), "{name}: {log}");
        assert!(log.contains("EDITED: an edit made from revision 4 was joined"), "{name}: {log}");
        let history = env.json(&["history", "queue"]);
        let edit = history.as_array().unwrap().iter().find(|record| record["op"] == "edit").unwrap();
        assert_eq!(edit["made_from"], 4, "{name}: {edit}");
        assert_eq!(env.json(&["doctor"]), json!({"ok": true, "findings": [], "notes": []}), "{name}");
    }
}

/// Somebody corrects what somebody else has finished meanwhile.
fn with_conflict() -> TestEnv {
    let env = with_tasks();
    let stale = env.read_text(QUEUE);
    finish(&env, 1);
    let mut edit: Value = serde_json::from_str(&stale).unwrap();
    edit["tasks"][0]["status"] = "cancelled".into();
    edit["tasks"][1]["description"] = "do t2 with care".into();
    env.write(QUEUE, edit.to_string());
    env
}

#[test]
fn what_cannot_be_joined_is_told_where_people_look() {
    let env = with_conflict();
    let ran = env.ok(&["worker", "claim", "w2"]);
    assert!(
        ran.stderr.contains("anthill diff queue") && ran.stderr.contains("anthill merge --theirs"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        statuses(&env)[..2],
        ["done", "claimed"],
        "what was finished stays, the rest of the edit counts"
    );
    assert_eq!(task(&env, "t2")["description"], "do t2 with care");
    let told = "anthill diff queue";
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(board.contains(told), "{board}");
    let status = env.ok(&["status"]).stdout;
    assert!(status.contains(told), "{status}");
    assert_eq!(env.json(&["status"])["edits"][0]["kind"], "queue");
    let log = env.read_text("project/.coordination/logs/leader.log");
    assert!(log.contains("CONFLICT: tasks[id=t1].status: by hand \"cancelled\", here \"done\""), "{log}");
    let doctor = env.json(&["doctor"]);
    assert_eq!(
        (&doctor["ok"], &doctor["findings"][0]["severity"]),
        (&json!(true), &json!("warning")),
        "{doctor}"
    );
    let diff = env.ok(&["diff", "queue"]).stdout;
    assert!(diff.contains("made from revision 4") && diff.contains("tasks[id=t1].status"), "{diff}");
    let kept = env.json(&["diff", "queue"])["aside"][0].clone();
    assert_eq!(kept["clashes"][0]["theirs"], "cancelled", "{kept}");
}

/// Whatever command takes an edit in, the log tells of it once, and what was set back is set back as at the queue itself.
#[test]
fn every_command_that_takes_an_edit_in_tells_of_it_once() {
    for command in [
        &["set", "queue", "x_mine", "1"][..],
        &["worker", "claim", "w2"],
        &["leader", "note", "t2", "look"],
        &["undo", "queue", "--force"],
    ] {
        let env = with_conflict();
        // Nobody has what it needs: a claim that finds nothing takes nothing in, and so it tells nothing.
        env.sh(r#"f=.coordination/tasks.json; jq '.tasks[].required_capabilities = ["x"]' $f > new && mv new $f"#);
        let none = env.run(&["worker", "claim", "w3"]);
        assert_eq!(none.code, 4, "{}", none.stderr);
        let log = env.read_text("project/.coordination/logs/leader.log");
        assert!(!log.contains("CONFLICT"), "{command:?}: {log}");
        env.ok(&["worker", "register", "w2", "--capabilities", "x"]);
        env.ok(command);
        env.ok(&["set", "queue", "x_more", "1"]);
        let log = env.read_text("project/.coordination/logs/leader.log");
        let count = |word: &str| log.lines().filter(|line| line.contains(word)).count();
        assert_eq!(count("CONFLICT: tasks[id=t1].status"), 1, "{command:?}: {log}");
        assert_eq!(count("EDITED: an edit made from revision 4 was joined"), 1, "{command:?}: {log}");
    }
}

#[test]
fn a_task_that_is_set_free_by_hand_is_free_whoever_takes_that_in() {
    let env = with_tasks();
    env.ok(&["worker", "claim", "w1"]);
    env.sh(r#"f=.coordination/tasks.json; jq '.tasks[0].status = "available" | .tasks[0].claimed_by = null' $f > new && mv new $f"#);
    env.ok(&["set", "queue", "x_mine", "1"]);
    let freed = task(&env, "t1");
    assert_eq!((&freed["lease"], &freed["last_claim"]["epoch"]), (&Value::Null, &json!(1)), "{freed}");
    assert_eq!(env.run(&["worker", "complete", "w1", "t1", "late"]).code, 3);
    assert_eq!(env.json(&["worker", "claim", "w2"])["lease"]["epoch"], 2);
    assert!(env.read_text("project/.coordination/logs/w1.log").contains("EDITED"), "its owner is told");
}

#[test]
fn whose_side_counts_can_be_decided() {
    let env = with_conflict();
    env.ok(&["worker", "claim", "w2"]);
    env.ok(&["merge", "--theirs", "queue"]);
    assert_eq!(statuses(&env)[..2], ["cancelled", "claimed"], "only what clashed is another");
    assert_eq!(env.run(&["merge", "--theirs", "queue"]).code, 4, "it is gone");
    assert_eq!(env.json(&["diff", "queue"])["aside"], json!([]));
    let env = with_conflict();
    env.ok(&["worker", "claim", "w2"]);
    let path = env.json(&["diff", "queue"])["aside"][0]["path"].as_str().unwrap().to_owned();
    let path = path.replace("$TEST_ENV", env.root().to_str().unwrap());
    env.ok(&["merge", "--ours", &path]);
    assert_eq!(statuses(&env)[..2], ["done", "claimed"]);
    assert_eq!(env.json(&["doctor"])["findings"], json!([]));
    assert_eq!(env.run(&["merge"]).code, 2);
}

#[test]
fn going_back_is_honoured_and_gives_no_lease_twice() {
    let env = with_tasks();
    let first = env.json(&["worker", "claim", "w1"]);
    let old = env.read_text(QUEUE);
    env.ok(&["worker", "release", "w1", "t1"]);
    let second = env.json(&["worker", "claim", "w2"]);
    assert_eq!((&first["lease"]["epoch"], &second["lease"]["epoch"]), (&json!(1), &json!(2)));
    env.write(QUEUE, old);
    let third = env.json(&["worker", "claim", "w3"]);
    assert_eq!(
        (&third["id"], &third["lease"]["epoch"]),
        (&json!("t1"), &json!(3)),
        "as before, and newer than all"
    );
    for worker in ["w1", "w2"] {
        assert_eq!(env.run(&["worker", "complete", worker, "t1", "late"]).code, 3, "{worker}");
    }
    let log = env.read_text("project/.coordination/logs/leader.log");
    assert!(log.contains("RESTORED: the queue was put back to revision 5 by hand"), "{log}");
    let history = env.json(&["history", "queue"]);
    assert!(
        history
            .as_array()
            .unwrap()
            .iter()
            .any(|record| record["op"] == "restore" && record["made_from"] == 5)
    );
}

/// Nobody has to wait for the next commit to decide.
#[test]
fn an_edit_that_no_commit_has_taken_in_can_be_decided_about() {
    let env = with_conflict();
    env.ok(&["merge", "--theirs", "queue"]);
    assert_eq!(statuses(&env)[..2], ["cancelled", "available"]);
    assert_eq!(task(&env, "t2")["description"], "do t2 with care");
    let env = with_conflict();
    env.ok(&["merge", "--ours", "queue"]);
    assert_eq!(statuses(&env)[..2], ["done", "available"]);
    assert_eq!(task(&env, "t2")["description"], "do t2 with care", "what could be joined counts");
    assert_eq!(env.json(&["doctor"])["findings"], json!([]));
    for kind in ["queue", "config", "backup", "nothing"] {
        assert_eq!(env.run(&["merge", "--theirs", kind]).code, 4, "{kind}");
    }
}

#[test]
fn undo_and_restore_give_no_lease_twice() {
    let env = with_tasks();
    env.json(&["worker", "claim", "w1"]);
    env.ok(&["undo", "queue", "--force"]);
    assert_eq!(env.json(&["worker", "claim", "w2"])["lease"]["epoch"], 2);
    env.ok(&["restore", "queue", "--revision", "4", "--force"]);
    assert_eq!(env.json(&["worker", "claim", "w3"])["lease"]["epoch"], 3);
}

#[test]
fn a_file_of_another_store_is_taken_whole_or_kept_aside() {
    let other = env();
    for number in 0..9 {
        other.ok(&["leader", "add-task", &format!("elsewhere {number}"), "--id", &format!("x{number}")]);
    }
    let foreign = other.read_text(QUEUE);
    let env = with_tasks();
    env.json(&["worker", "claim", "w1"]);
    env.write(QUEUE, &foreign);
    env.ok(&["worker", "complete", "w1", "t1", "done here"]);
    assert_eq!(statuses(&env), ["done", "available", "available", "available"], "work was under way");
    assert!(env.ok(&["diff", "queue"]).stdout.contains("from another store"));
    env.ok(&["merge", "--ours", "queue"]);
    env.write(QUEUE, &foreign);
    assert_eq!(env.json(&["worker", "claim", "w1"])["id"], "x0", "nothing was");
}

/// Runs `edit` with a script as the editor.
fn edit(env: &TestEnv, kind: &str, script: &str, more: &[&str]) -> anthill_testkit::test_env::Ran {
    env.write("project/editor", format!("#!/bin/sh\nFILE=$1\n{script}\n"));
    let mut args = vec!["edit", kind];
    args.extend(more);
    env.finish(env.command(&args).env("EDITOR", "sh ./editor"), b"")
}

#[test]
fn an_editor_may_stay_open_while_others_work() {
    let env = with_tasks();
    let anthill = env.binary().display().to_string();
    let work = format!(
        "T=$({anthill} worker claim w1 --json | jq -r .id) && {anthill} worker complete w1 $T made >/dev/null"
    );
    let ran = edit(&env, "queue", &format!("{work}\nsed -i 's/do t4/do t4 with care/' $FILE"), &[]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(
        (statuses(&env)[0].as_str(), &task(&env, "t4")["description"]),
        ("done", &json!("do t4 with care"))
    );
    let ran = edit(&env, "queue", "true", &[]);
    assert!(ran.code == 0 && ran.stderr.contains("Nothing changed"), "{}", ran.shown());
    let work = work.replace("made", "twice");
    let clash = format!("{work}\njq '.tasks[1].status = \"cancelled\"' $FILE > new && cat new > $FILE");
    let ran = edit(&env, "queue", &clash, &[]);
    assert!(ran.code == 3 && ran.stderr.contains("what you typed is in"), "{}", ran.shown());
    assert_eq!(task(&env, "t2")["status"], "done");
}

#[test]
fn what_is_not_valid_is_opened_again_with_the_reason() {
    let env = with_tasks();
    let twice = "if grep -q '^// ' $FILE; then grep -v '^//' $FILE | sed 's/\"nonsense\"/\"available\"/; s/do t3/do t3 well/' > new; \
                 else sed '0,/\"available\"/s//\"nonsense\"/' $FILE > new; fi; cat new > $FILE";
    let ran = edit(&env, "queue", twice, &[]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(task(&env, "t3")["description"], "do t3 well");
    let ran = edit(&env, "queue", "echo '{' > $FILE.x; grep -q '^//' $FILE || cat $FILE.x > $FILE", &[]);
    assert!(ran.code == 2 && ran.stderr.contains("what you typed is in"), "{}", ran.shown());
    let ran = edit(&env, "queue", "echo '{' > $FILE", &[]);
    assert!(ran.code == 2 && ran.stderr.contains("what you typed is in"), "the same again: {}", ran.shown());
    let range = "if grep -q '^// .*priority' $FILE; then sed -i '/^\\/\\//d; s/\"priority\": 99/\"priority\": 3/' $FILE; \
                 else sed -i '0,/\"priority\": 5/s//\"priority\": 99/' $FILE; fi";
    let ran = edit(&env, "queue", range, &[]);
    assert!(ran.code == 0 && task(&env, "t1")["priority"] == 3, "{}", ran.shown());
    let ran = edit(&env, "queue", "exit 1", &[]);
    assert!(ran.code == 2 && ran.stderr.contains("set EDITOR"), "{}", ran.shown());
}

/// What a person put in, took out and moved is told by the ids of these tasks; the others are not spoken of.
#[test]
fn the_history_tells_only_what_was_moved() {
    let env = with_tasks();
    let mut edit: Value = serde_json::from_str(&env.read_text(QUEUE)).unwrap();
    let tasks = edit["tasks"].as_array_mut().unwrap();
    let first = tasks.remove(0);
    tasks.insert(2, first);
    tasks.insert(1, json!({"id": "new", "description": "by hand", "status": "available"}));
    env.write(QUEUE, edit.to_string());
    env.ok(&["leader", "add-task", "the last", "--id", "last"]);
    let history = env.json(&["history", "queue"]);
    let edit = history.as_array().unwrap().iter().find(|record| record["op"] == "edit").unwrap();
    let paths: Vec<_> =
        edit["changes"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["tasks[id=t1]", "tasks[id=new]", "tasks[id=t1]"], "{edit}");
    let ids: Vec<_> =
        env.json(&["list", "queue"]).as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
    assert_eq!(ids, ["t2", "new", "t3", "t1", "t4", "last"]);
    env.ok(&["undo", "queue"]);
    env.ok(&["undo", "queue"]);
    assert_eq!(env.json(&["leader", "status"])["tasks"].as_array().unwrap().len(), 4);
}

/// Workers, and editors that save what they read a while ago, each in its way. For more of it: `ANTHILL_EDIT_TASKS=3000
/// ANTHILL_EDIT_PACE=1.5` (seconds for a task) takes ten minutes. One that judges every change of every edit is `tests/edit-storm.py`.
#[test]
fn an_edit_storm_loses_no_edit_and_undoes_no_work() {
    let (env, count) = (env(), crate::told("EDIT_TASKS", 120_usize));
    let pace = crate::told("EDIT_PACE", 0.0_f64).to_string();
    let tasks: Vec<_> =
        (0..count).map(|id| json!({"id": format!("t{id}"), "description": format!("do t{id}")})).collect();
    env.write("project/all.json", serde_json::to_vec(&tasks).unwrap());
    env.ok(&["leader", "import", "all.json"]);
    env.write("project/editor.py", EDITOR);
    let anthill = env.binary().display().to_string();
    let worker = format!(
        "while true; do T=$({anthill} worker claim $1 --json); CODE=$?; [ $CODE = 4 ] && exit 0; [ $CODE = 0 ] || exit 8; sleep {pace}; \
         {anthill} worker complete $1 $(echo \"$T\" | jq -r .id) made >/dev/null || exit 9; done"
    );
    let workers: Vec<_> = (0..8)
        .map(|number| {
            env.clean("sh")
                .args(["-c", &worker, "sh", &format!("w{number}")])
                .current_dir(env.project())
                .spawn()
                .unwrap()
        })
        .collect();
    let edits = (count / 12).max(5).to_string();
    let editors: Vec<_> = ["rename", "truncate", "pieces"]
        .iter()
        .map(|style| {
            env.clean("python3")
                .args(["editor.py", style, &edits, &anthill, &pace])
                .current_dir(env.project())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in editors.into_iter().chain(workers) {
        assert!(child.wait().unwrap().success());
    }
    env.ok(&["leader", "add-task", "the last", "--id", "last"]);
    let queue = env.json(&["get", "queue"]);
    let tasks = queue["tasks"].as_array().unwrap();
    assert!(
        tasks.iter().all(|task| task["status"] == "done" || task["id"] == "last"),
        "{}",
        statuses(&env).join(" ")
    );
    let log = env.read_text("project/.coordination/logs/leader.log");
    assert!(!log.contains("set from done"), "{log}");
    let logs = (0..8)
        .map(|number| env.read_text(&format!("project/.coordination/logs/w{number}.log")))
        .collect::<String>();
    assert_eq!(logs.matches("COMPLETED").count(), count, "each task was done once");
    let kept = env.json(&["diff", "queue"])["aside"].to_string();
    for style in ["rename", "truncate", "pieces"] {
        for number in 0..edits.parse::<usize>().unwrap() {
            let word = format!("{style}-{number}");
            let taken = tasks.iter().any(|task| task["remarks"].get(&word).is_some());
            assert!(taken || kept.contains(&word) || aside(&env, &word), "{word} is lost");
        }
    }
    assert_eq!(env.json(&["doctor"])["ok"], true);
}

/// Whether an edit that was kept aside has this word.
fn aside(env: &TestEnv, word: &str) -> bool {
    env.bytes().into_keys().any(|path| {
        path.contains("/aside/") && !path.ends_with(".noted") && env.read_text(&path).contains(word)
    })
}

/// Reads, waits, adds a note to a task of its own choice, and saves in its way. Whoever saves over an edit of another that no
/// command has seen yet replaces it, as with any file: they take turns to save.
const EDITOR: &str = r#"
import fcntl, json, os, subprocess, sys, time
style, count, anthill, pace = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
turn = open("turn", "w")
path = ".coordination/tasks.json"
def read():
    while True:
        try:
            with open(path) as f: return json.load(f)
        except (ValueError, FileNotFoundError): time.sleep(0.001)
notes = {}
for number in range(count):
    doc = read()
    time.sleep(pace * 33 if number % 50 == 49 else max(pace, 0.05) * (number % 3))
    word = "%s-%d" % (style, number)
    index = (number * 7 + len(style)) % len(doc["tasks"])
    doc["tasks"][index].setdefault("remarks", {})[word] = "by hand"
    text = json.dumps(doc, indent=1)
    fcntl.flock(turn, fcntl.LOCK_EX)
    if style == "rename":
        with open(path + "." + style, "w") as f: f.write(text)
        os.rename(path + "." + style, path)
    else:
        with open(path, "w") as f:
            half = len(text) // 2 if style == "pieces" else len(text)
            f.write(text[:half]); f.flush()
            if style == "pieces": time.sleep(0.002)
            f.write(text[half:])
    subprocess.run([anthill, "set", "queue", "x_turn", json.dumps(word)], check=True, capture_output=True)
    fcntl.flock(turn, fcntl.LOCK_UN)
"#;
