//! The short way in (`add`, `ready`, `claim`, `done`, `show`, `edit`, `list`), ids by their beginnings, words in any order,
//! and the completion of ids.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn run(env: &TestEnv, line: &str) -> Value {
    env.json(&words(line))
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32, part: &str) {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    let error = fails(env, &words(line), b"", code, word);
    assert!(error.to_string().contains(part), "{line}: {error}");
}

#[track_caller]
fn queue(ids: &[&str]) -> TestEnv {
    let env = env();
    for id in ids {
        env.ok(&[&["add", "do it", "--id"][..], &words(id)].concat());
    }
    env
}

/// Runs a command in a session.
fn in_session(env: &TestEnv, session: &str, args: &[&str]) -> Ran {
    env.finish(env.command(args).env("ANTHILL_SESSION_ID", session), b"")
}

#[test]
fn a_task_goes_through_its_life_in_short_words() {
    let env = env();
    let added = env.json(&["add", "Write the parser", "-p", "2", "--id", "parser"]);
    assert_eq!((&added["id"], &added["priority"]), (&json!("parser"), &json!(2)));
    assert_eq!(run(&env, "ready")[0]["id"], "parser");
    assert_eq!(run(&env, "list")[0]["id"], "parser");
    let claimed = run(&env, "claim");
    let worker = claimed["claimed_by"].as_str().unwrap().to_owned();
    assert!(env.ok(&["claim", "parser"]).stdout.starts_with(&format!("Claimed for {worker} until")));
    assert_eq!(run(&env, "show parser")["claimed_by"], worker, "the name stays the same");
    let done = env.json(&["done", "It reads everything", "--modified", "src/a.rs"]);
    assert_eq!(done["result"]["output"], "It reads everything");
    assert_eq!(done["result"]["files_modified"], json!(["src/a.rs"]));
    refused(&env, "done", 4, "has no task");
    refused(&env, "claim", 4, "nothing is ready");
}

#[test]
fn a_worker_is_who_it_says_or_whoever_the_environment_knows() {
    let env = queue(&["a", "b", "c", "d", "e"]);
    assert_eq!(run(&env, "claim a --worker w1")["claimed_by"], "w1");
    let runner = env.finish(env.command(&["claim", "b", "--json"]).env("ANTHILL_WORKER", "w2"), b"");
    assert_eq!(runner.json()["claimed_by"], "w2");
    assert_eq!(in_session(&env, "s1", &["claim", "c", "--json"]).json()["claimed_by"], "s1");
    assert_eq!(in_session(&env, "s1", &["done", "--json"]).json()["id"], "c");
    // Also what the session has taken under another name.
    in_session(&env, "s1", &["worker", "claim", "w3", "d"]);
    let done = in_session(&env, "s1", &["done", "--json"]).json();
    assert_eq!((&done["id"], &done["claimed_by"]), (&json!("d"), &json!("w3")));
    refused(&env, "done a", 3, "belongs now to `w1`");
    assert_eq!(run(&env, "done a --worker w1")["status"], "done");
}

#[test]
fn several_are_done_at_once_and_the_last_word_may_say_what_was_done() {
    let env = queue(&["a", "b", "c", "d"]);
    "a b c d".split(' ').for_each(|id| drop(run(&env, &format!("claim {id} -w w1"))));
    refused(&env, "done -w w1", 2, "has 4 tasks");
    let done = run(&env, "done a b ok -w w1");
    assert_eq!((&done[0]["result"]["output"], &done[1]["id"]), (&json!("ok"), &json!("b")));
    assert_eq!(run(&env, "done c -w w1")["result"]["output"], "Done");
    assert_eq!(run(&env, "done d --summary fine -w w1")["result"]["output"], "fine");
    fails(&env, &["done", "two words", "a"], b"", 2, "invalid");
    refused(&env, "done fixed -w w1", 4, "anthill done --summary fixed");
}

#[test]
fn a_kind_wins_over_a_task_of_its_name() {
    let env = queue(&["queue", "other"]);
    assert_eq!(run(&env, "show queue")["tasks"][0]["id"], "queue");
    assert_eq!(run(&env, "leader show queue")["id"], "queue");
    assert_eq!(run(&env, "show oth")["id"], "other");
    assert_eq!(run(&env, "edit other -p 1 --label x")["priority"], 1);
    refused(&env, "edit queue -p 1", 2, "anthill leader edit queue");
    refused(&env, "edit other", 2, "nothing to change");
    refused(&env, "edit quue", 4, "did you mean the kind `queue`?");
    refused(&env, "show sesion", 4, "did you mean the kind `session`?");
    refused(&env, "show other --project-id x", 2, "no document kind");
    refused(&env, "list queue --status ready", 2, "for tasks");
    refused(&env, "list --format table", 2, "name its kind");
    assert_eq!(run(&env, "list queue")[1]["id"], "other");
    assert_eq!(run(&env, "list --label x")[0]["id"], "other");
}

#[test]
fn the_beginning_of_an_id_is_enough() {
    let env = queue(&["parser", "parser-tests --depends pars", "model"]);
    assert_eq!(run(&env, "get queue --field tasks[id=parser-tests].dependencies"), json!(["parser"]));
    assert_eq!(run(&env, "show parser")["id"], "parser", "an exact id wins");
    assert_eq!(run(&env, "leader note mo hello")["id"], "model");
    refused(&env, "leader cancel pars", 2, "`parser`, `parser-tests`");
    refused(&env, "leader show modle", 4, "did you mean `model`?");
    refused(&env, "add x --depends modle", 2, "did you mean `model`?");
    assert_eq!(run(&env, "worker claim w1 mod")["id"], "model");
    assert_eq!(run(&env, "worker complete w1 mod ok")["id"], "model");
    refused(&env, "worker claim model w1", 2, "the worker comes first");
    refused(&env, "worker complete model w1 ok", 2, "that is: w1 model");
    run(&env, "worker claim terminal-1");
    assert_eq!(run(&env, "worker mine term")[0]["id"], "parser");
    assert_eq!(run(&env, "leader list --worker term")[0]["id"], "parser");
    refused(&env, "worker complete term parser ok", 3, "terminal-1");
    run(&env, "session start abc-1");
    run(&env, "session start abd-2");
    assert_eq!(run(&env, "session show abc")["session_id"], "abc-1");
    refused(&env, "session end ab", 2, "`abc-1`, `abd-2`");
    refused(&env, "session end acb-1", 4, "did you mean `abc-1`?");
    assert_eq!(run(&env, "session end abd")["session_id"], "abd-2");
}

#[test]
fn options_may_stand_before_and_behind_words() {
    let env = queue(&["model"]);
    let task = run(&env, "leader add-task --depends model Foo");
    assert_eq!((&task["description"], &task["dependencies"]), (&json!("Foo"), &json!(["model"])));
    let task = env.json(&["add", "--files", "a", "b", "Two words", "--depends", "model"]);
    assert_eq!((&task["description"], &task["context"]["files"]), (&json!("Two words"), &json!(["a", "b"])));
    run(&env, "claim model -w w1");
    let done = env.json(&["worker", "complete", "w1", "model", "--modified", "a", "b", "It works"]);
    assert_eq!(done["result"]["output"], "It works");
    assert_eq!(done["result"]["files_modified"], json!(["a", "b"]));
    refused(&env, "add --depends model", 2, "required");
    refused(&env, "add --depends model Foo --files a b", 2, "required");
}

/// Completes a line in bash, as that would do it after a press of the tabulator.
fn completed(env: &TestEnv, line: &str) -> Vec<String> {
    let script = format!(
        r#"
        anthill() {{ {program} "$@"; }}
        source <(anthill completions bash)
        COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}}
        read -ra COMP_WORDS <<<"$COMP_LINE"
        [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        function=$(complete -p anthill | sed 's/.*-F \([^ ]*\) .*/\1/')
        "$function" anthill "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
        printf '%s\n' "${{COMPREPLY[@]}}"
        "#,
        program = env.binary().display()
    );
    let mut bash = env.clean("bash");
    bash.args(["-c", &script]);
    let ran = env.finish(&mut bash, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_ids() {
    let env = queue(&["parser", "parser-tests", "model"]);
    run(&env, "worker claim terminal-1 model");
    run(&env, "session start abc-1");
    assert_eq!(completed(&env, "anthill leader show "), ["model", "parser", "parser-tests"]);
    assert_eq!(completed(&env, "anthill done pa"), ["parser", "parser-tests"]);
    assert_eq!(completed(&env, "anthill worker complete te"), ["terminal-1"]);
    assert_eq!(completed(&env, "anthill worker complete terminal-1 m"), ["model"]);
    assert_eq!(completed(&env, "anthill add x --depends mo"), ["model"]);
    assert_eq!(completed(&env, "anthill session show "), ["abc-1"]);
    assert!(completed(&env, "anthill edit mo").contains(&"model".to_owned()));
    assert!(completed(&env, "anthill edit que").contains(&"queue".to_owned()));
    assert!(completed(&env, "anthill leader ca").contains(&"cancel".to_owned()), "words as before");
    assert_eq!(completed(&env, "anthill leader show nothing"), [""]);
}

#[test]
fn scripts_of_all_shells_ask_for_ids() {
    let env = env();
    for shell in ["bash", "zsh", "fish"] {
        let script = env.ok(&["completions", shell]).stdout;
        assert!(script.contains("anthill complete-ids -- "), "{shell}");
    }
    let zsh = env.ok(&["completions", "zsh"]).stdout;
    assert_eq!(zsh.matches("funcstack").count(), 1, "one ending");
}
