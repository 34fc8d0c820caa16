//! `worker run --agent`: what agents say of their work is what is recorded, and a service that does not serve harms no task.
//! The clients are scripts that print what the real ones do.

use std::process::Command;

use anthill_testkit::test_env::{Ran, Running, TestEnv};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::orchestrate::with_program;
use crate::run::{signal, status, task, until, with_tasks};

const CLIENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Says the words in `said-1` when it is called first, and so on; the last ones again and again.
const CLIENT: &str = r#"#!/bin/sh
echo "$*" >>calls
number=$(wc -l <calls | tr -d ' ')
cat >"prompt-$number"
until [ -e "said-$number" ]; do number=$((number - 1)); done
cat "said-$number"
[ ! -e "code-$number" ] || exit "$(cat "code-$number")"
"#;

/// Returns what a client prints around an agent's last words.
fn printed(client: &str, words: &str) -> String {
    let events = match client {
        "claude" => vec![
            json!({"type": "system", "subtype": "init", "session_id": "c-1"}),
            json!({"type": "result", "subtype": "success", "is_error": false, "result": words, "session_id": "c-1",
                "total_cost_usd": 0.25, "usage": {"input_tokens": 2, "output_tokens": 3}}),
        ],
        "codex" => vec![
            json!({"type": "thread.started", "thread_id": "c-1"}),
            json!({"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": words}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 2, "output_tokens": 3}}),
        ],
        "gemini" => vec![
            json!({"type": "init", "session_id": "c-1", "model": "m"}),
            json!({"type": "message", "role": "assistant", "content": words, "delta": true}),
            json!({"type": "result", "status": "success", "stats": {"input_tokens": 2, "output_tokens": 3}}),
        ],
        _ => vec![
            json!({"type": "text", "sessionID": "c-1", "part": {"type": "text", "text": words}}),
            json!({"type": "step_finish", "sessionID": "c-1", "part": {"tokens": {"input": 2, "output": 3}}}),
        ],
    };
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn say(env: &TestEnv, number: usize, printed: &str) {
    env.write(&format!("project/said-{number}"), printed);
}

/// A client that fails as Claude Code does.
fn fail(env: &TestEnv, number: usize, message: &str) {
    say(
        env,
        number,
        &json!({"type": "result", "subtype": "success", "is_error": true, "result": message}).to_string(),
    );
    env.write(&format!("project/code-{number}"), "1");
}

fn runner(env: &TestEnv, client: &str, options: &[&str]) -> Command {
    let mut command = env.clean(env.binary());
    command.args(["worker", "run", "w1", "--agent", client]).args(options).env("TMPDIR", env.root());
    with_program(env, &mut command, client, CLIENT);
    command
}

fn run(env: &TestEnv, client: &str, options: &[&str]) -> Ran {
    env.finish(&mut runner(env, client, options), b"")
}

fn calls(env: &TestEnv) -> Vec<String> {
    env.read_text("project/calls").lines().map(str::to_owned).collect()
}

const DONE: &str = r#"{"status": "done", "summary": "Made it.", "files_modified": ["a.rs"]}"#;

#[test]
fn a_failure_counts_however_it_is_written() {
    let failed =
        "I tried.\n\n```json\n{\n  \"status\": \"failed\",\n  \"summary\": \"no disk\"\n}\n```\nSorry.";
    for client in CLIENTS {
        let env = with_tasks(&["t1"]);
        say(&env, 1, &printed(client, failed));
        let ran = run(&env, client, &[]);
        assert_eq!(ran.code, 1, "{client}: {}", ran.shown());
        assert!(ran.stderr.contains("Failed: t1: no disk\n"), "{client}: {}", ran.shown());
        assert_eq!((&*status(&env, "t1"), calls(&env).len()), ("failed", 1), "{client}");
        let prompt = env.read_text("project/prompt-1");
        assert!(
            prompt.contains("`blocked`: somebody else") && !prompt.contains("anything but 0"),
            "{prompt}"
        );
    }
    let env = with_tasks(&["t1"]);
    say(&env, 1, &printed("codex", "{\"status\": \"blocked\", \"summary\": \"which port?\"}"));
    run(&env, "codex", &[]);
    assert_eq!(task(&env, "t1")["result"]["error"], "blocked: which port?");
}

#[test]
fn who_does_not_say_is_asked_in_the_same_conversation() {
    for (client, resumed) in [
        ("claude", "-p --resume c-1 --output-format stream-json "),
        ("codex", " resume c-1 -"),
        ("gemini", "--resume c-1 -o stream-json "),
        ("opencode", "run --session c-1 --format json"),
    ] {
        let env = with_tasks(&["t1"]);
        say(&env, 1, &printed(client, "All is well. I changed a.rs."));
        say(&env, 2, &printed(client, DONE));
        let ran = run(&env, client, &[]);
        assert_eq!(ran.code, 0, "{client}: {}", ran.shown());
        let again = "Again in 0 s: t1: it ended without saying whether the work is done\n";
        assert!(ran.stderr.contains(again), "{client}: {}", ran.shown());
        let result = json!({"output": "Made it.", "files_modified": ["a.rs"], "files_created": []});
        assert_eq!(task(&env, "t1")["result"], result, "{client}");
        let usage = &task(&env, "t1")["usage"];
        assert_eq!((&usage["tries"], &usage["output_tokens"]), (&json!(2), &json!(6)), "{client}");
        let calls = calls(&env);
        assert!(calls.len() == 2 && calls[1].contains(resumed), "{client}: {calls:?}");
        let question = env.read_text("project/prompt-2");
        assert!(
            question.starts_with("Your last message does not say whether your work is done."),
            "{question}"
        );
    }
}

#[test]
fn words_alone_are_never_done() {
    let env = with_tasks(&["t1"]);
    say(&env, 1, &printed("claude", "All is well."));
    let ran = run(&env, "claude", &[]);
    assert_eq!((ran.code, calls(&env).len()), (1, 2), "{}", ran.shown());
    let reason = "it ended without saying whether the work is done\nAll is well.";
    assert_eq!(task(&env, "t1")["result"], json!({"error": reason}));
    // Who cannot go on with a conversation is reminded of it.
    let env = with_tasks(&["t1"]);
    let line =
        r#"cat >asked; grep -q '^# Task: ' asked && echo 'All is ```well```.' || echo '{"status": "done"}'"#;
    env.ok(&["worker", "run", "w1", "--agent", line]);
    assert_eq!(task(&env, "t1")["result"]["output"], "All is ```well```.");
    assert!(env.read_text("project/asked").ends_with("\n````text\nAll is ```well```.\n````\n"));
}

#[test]
fn a_conversation_that_the_client_forgot_is_begun_anew() {
    let env = with_tasks(&["t1"]);
    say(&env, 1, &printed("claude", "All is well."));
    say(&env, 2, "");
    env.write("project/code-2", "1");
    say(&env, 3, &printed("claude", DONE));
    let ran = run(&env, "claude", &[]);
    assert_eq!((ran.code, calls(&env).len()), (0, 3), "{}", ran.shown());
    assert!(env.read_text("project/prompt-3").ends_with("\n```text\nAll is well.\n```\n"));
}

#[test]
fn who_reports_by_itself_is_not_asked() {
    let env = with_tasks(&["t1", "t2"]);
    let line = r#"echo x >>calls; case $ANTHILL_TASK_ID in
        t1) anthill worker complete w1 t1 'by itself';;
        t2) anthill worker fail w1 t2 'no luck';;
    esac; echo Bye."#;
    let ran = env.run(&["worker", "run", "w1", "--agent", line]);
    assert_eq!((ran.code, calls(&env).len()), (1, 2), "{}", ran.shown());
    assert_eq!(task(&env, "t1")["result"]["output"], "by itself");
    assert_eq!(task(&env, "t2")["result"]["error"], "no luck");
    // What it cost is known all the same, once.
    let env = with_tasks(&["t1"]);
    env.write("project/bye", printed("claude", "Bye."));
    let line = "anthill worker complete w1 t1 'by itself'; cat bye";
    env.ok(&["worker", "run", "w1", "--agent", line]);
    assert_eq!(task(&env, "t1")["usage"]["cost_usd"], json!(0.25));
    let explained = env.ok(&["leader", "explain", "t1"]).stdout;
    assert!(explained.contains("its agents have used $0.25, 2 tokens in, 3 out, 1 try"), "{explained}");
    assert!(env.read_text("project/.coordination/results/t1.md").contains("\n## Used\n\n$0.25,"));
}

#[test]
fn an_overloaded_service_fails_no_task() {
    let ids = ["t1", "t2", "t3", "t4", "t5"];
    let env = with_tasks(&ids);
    (1..=5).for_each(|call| fail(&env, call, "API Error: 529 Overloaded. Retry-After: 0"));
    say(&env, 6, &printed("claude", DONE));
    let ran = run(&env, "claude", &[]);
    assert!(ran.code == 0 && ran.stderr.contains("\n5 done, 0 failed, 0 released\n"), "{}", ran.shown());
    assert_eq!(ran.stderr.matches(": the service is overloaded\n").count(), 5, "{}", ran.shown());
    assert!(ran.stderr.contains("Put back: t1: exit code 1: API Error: 529 Overloaded. Retry-After: 0\n"));
    for id in ids {
        let task = task(&env, id);
        assert_eq!((&task["status"], &task["attempts"]), (&json!("done"), &Value::Null), "{task}");
    }
    let register = env.json(&["get", "workers", "--field", "agents[0]"]);
    assert_eq!((&register["id"], register.get("paused")), (&json!("w1"), None));
}

#[test]
fn several_at_once_pause_together() {
    let ids = ["t1", "t2", "t3", "t4"];
    let env = with_tasks(&ids);
    let line = r#"mkdir "at-$ANTHILL_TASK_ID-$ANTHILL_EPOCH"; case $ANTHILL_EPOCH in
        1) until [ -e at-t1-1 ] && [ -e at-t2-1 ] && [ -e at-t3-1 ] && [ -e at-t4-1 ]; do sleep 0.05; done
           echo 'read ECONNRESET, retry in 0.1s' >&2; exit 1;;
        *) echo '{"status": "done"}';;
    esac"#;
    let args = ["worker", "run", "w1", "--parallel", "4", "--until-empty", "--agent", line];
    let ran = env.run(&args);
    assert!(ran.code == 0 && ran.stderr.ends_with("\n4 done, 0 failed, 0 released\n"), "{}", ran.shown());
    assert!(ran.stderr.contains(": no connection to the service\n"), "{}", ran.shown());
}

#[test]
fn a_usage_limit_is_waited_for_in_everybodys_sight() {
    let env = with_tasks(&["t1"]);
    fail(&env, 1, "You've hit your limit · resets 3pm (UTC)");
    let mut command = env.clean("env");
    let inner = runner(&env, "claude", &["--until-empty"]);
    command
        .arg("--default-signal=INT")
        .args(["sh", "-c", "exec \"$@\" 2>told", "sh"])
        .arg(inner.get_program());
    command.args(inner.get_args()).env("ANTHILL_NOW", "2026-01-01T12:00:00Z");
    inner.get_envs().filter(|(name, _)| *name == "PATH").for_each(|(name, path)| {
        command.env(name, path.expect("it is set"));
    });
    let mut running = Running::start(&mut command);
    until("it is paused", || env.run(&["get", "workers", "--field", "agents[0].paused.until"]).code == 0);
    let paused = env.json(&["get", "workers", "--field", "agents[0].paused"]);
    assert!(paused["until"].as_str().is_some_and(|until| until.starts_with("2026-01-01T15:00:")), "{paused}");
    assert_eq!(paused["reason"], "usage limit");
    let board =
        env.finish(env.command(&["leader", "status"]).env("ANTHILL_NOW", "2026-01-01T13:58:00Z"), b"");
    assert!(board.stdout.ends_with("\nw1 is paused for 1h02m: usage limit\n"), "{}", board.shown());
    let given_back = task(&env, "t1");
    assert_eq!(
        (&given_back["status"], &given_back["result"]),
        (&json!("available"), &Value::Null),
        "{given_back}"
    );
    signal(&running, Signal::INT);
    assert_eq!(running.wait(), 130);
    // A runner that was killed cannot take its pause back; the next one does.
    env.ok(&[
        "set",
        "workers",
        "agents[0].paused",
        "{\"until\": \"2026-01-02T00:00:00Z\", \"reason\": \"x\"}",
    ]);
    env.ok(&["worker", "run", "w1", "--", "true"]);
    assert!(env.read_text("project/told").contains("Paused until 15:00: usage limit\n"));
    assert_eq!(env.json(&["get", "workers", "--field", "agents[0]"]).get("paused"), None);
    assert_eq!(calls(&env).len(), 1);
}

#[test]
fn a_client_that_calls_an_error_an_answer_is_found_out() {
    let env = with_tasks(&["t1"]);
    say(&env, 1, "Claude AI usage limit reached|1767225600\n");
    say(&env, 3, &printed("claude", DONE));
    let ran = run(&env, "claude", &[]);
    assert_eq!((ran.code, calls(&env).len()), (0, 3), "{}", ran.shown());
    assert!(ran.stderr.contains(": usage limit\n"), "{}", ran.shown());
}

#[test]
fn what_does_not_mend_itself_stops_the_runner() {
    for (message, error) in [
        (
            "Invalid API key · Please run /login",
            "error: the client is not logged in: exit code 1: Invalid API key · Please run /login\n\
             hint: run `claude` and type /login; then run this again\n[exit 1]\n",
        ),
        (
            "Credit balance is too low",
            "error: no credit left: exit code 1: Credit balance is too low\n\
             hint: add credit to the account that the agent uses, or name another agent; then run this again\n[exit 1]\n",
        ),
    ] {
        let env = with_tasks(&["t1", "t2"]);
        fail(&env, 1, message);
        let ran = run(&env, "claude", &["--until-empty"]);
        assert!(ran.shown().ends_with(error), "{}", ran.shown());
        assert_eq!(
            ([status(&env, "t1"), status(&env, "t2")], calls(&env).len()),
            (["available".into(), "available".into()], 1)
        );
        assert_eq!(task(&env, "t1")["result"], Value::Null);
    }
}

#[test]
fn the_place_is_looked_at_before_the_first_claim() {
    let env = with_tasks(&["t1"]);
    std::fs::remove_dir(env.project().join(".git")).expect("it is empty");
    let root = env.project().display().to_string();
    let mut command = runner(&env, "codex", &["--root", &root]);
    let ran = env.finish(&mut command, b"");
    let error = "error: the client does not trust this directory: `$TEST_ENV/project` is in no git repository\n\
        hint: run `git init`, or work inside a repository; then run this again\n";
    assert!(ran.code == 1 && ran.stderr.ends_with(error), "{}", ran.shown());
    let task = env.json(&["get", "queue", "--root", &root, "--field", "tasks[0]"]);
    assert_eq!(
        (&task["status"], task.get("last_claim")),
        (&json!("available"), None),
        "nobody has claimed it"
    );
}

#[test]
fn a_folder_that_gemini_does_not_trust_is_told_before_the_first_claim() {
    let env = with_tasks(&["t1"]);
    say(&env, 1, &printed("gemini", DONE));
    let folders = "user/.gemini/trustedFolders.json";
    env.write(folders, r#"{"/somewhere/else": "TRUST_FOLDER"}"#);
    let error = "error: the client does not trust this directory: `$TEST_ENV/project` is no folder that Gemini CLI trusts\n\
        hint: run `gemini` here once and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true; then run this again\n";
    let ran = run(&env, "gemini", &[]);
    assert!(ran.code == 1 && ran.stderr.ends_with(error), "{}", ran.shown());
    assert_eq!(
        (task(&env, "t1").get("last_claim"), env.root().join("project/calls").exists()),
        (None, false)
    );
    env.ok(&["leader", "add-task", "More", "--id", "t2"]);
    let ran = env.finish(runner(&env, "gemini", &[]).env("GEMINI_CLI_TRUST_WORKSPACE", "true"), b"");
    assert_eq!((ran.code, status(&env, "t1")), (0, "done".into()), "{}", ran.shown());
    env.ok(&["leader", "add-task", "Even more", "--id", "t3"]);
    env.write(folders, json!({env.project().to_str().unwrap(): "TRUST_FOLDER"}).to_string());
    let ran = run(&env, "gemini", &[]);
    assert_eq!((ran.code, status(&env, "t3")), (0, "done".into()), "{}", ran.shown());
}
