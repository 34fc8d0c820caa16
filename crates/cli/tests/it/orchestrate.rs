//! `orchestrate`: whole runs with scripted agents, whatever happens to an agent or to the orchestrator.

use std::process::Command;
use std::thread;
use std::time::Duration;

use anthill_testkit::test_env::{Ran, Running, TestEnv};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::pipeline::{REQUIREMENTS, seed_plan};
use crate::run::{gone, line_of, signal};
use crate::{env, told};

/// Plays every role: tests of group A fail once, a review of group B rejects once. What it does depends on the stored
/// state alone, so that a try that was killed is repeated alike. Group B's developer reports by itself.
const TEAM: &str = r#"
echo "$ANTHILL_ORDER_ID" >>"$ANTHILL_ROOT/spawns"
cat >/dev/null
turn() { anthill get group_status --field "$ANTHILL_GROUP.iterations.$1" --format value; }
case $ANTHILL_PURPOSE-$ANTHILL_GROUP in
plan-*) cat plan.json ;;
work-B) echo '{"files_modified": ["B.py"], "unit_tests_status": "3/3 passing"}' |
    anthill pipeline report developer B READY_FOR_QA --order "$ANTHILL_ORDER_ID" --file - >/dev/null ;;
work-*) echo "working on $ANTHILL_GROUP"
    echo '{"status": "READY_FOR_QA", "summary": "made", "files_modified": ["'$ANTHILL_GROUP'.py"]}' ;;
test-A) if [ "$(turn qa)" = 1 ]; then
        echo '{"status": "FAIL", "test_results": {"e2e_tests": "2/3 passed"}, "notes": "the link is broken"}'
    else echo '{"status": "PASS", "test_results": {"e2e_tests": "3/3 passed"}}'; fi ;;
test-*) echo '{"status": "PASS", "test_results": {"e2e_tests": "3/3 passed"}}' ;;
review-B) if [ "$(turn tech_lead)" = 1 ]; then
        echo '{"status": "CHANGES_REQUESTED", "feedback": "names"}'
    else echo '{"status": "APPROVED"}'; fi ;;
review-*) echo '{"status": "APPROVED", "feedback": "good"}' ;;
guide-*|unblock-*|help-*) echo '{"status": "UNBLOCKED", "feedback": "go on"}' ;;
final_check-*) echo 'I looked at everything.'
    for task in T1 T2 T3 T4; do
        proofs="$proofs{\"requirement\": \"$task\", \"met\": true, \"evidence\": \"tests ran\"}, "
    done
    echo '{"status": "COMPLETE", "evidence": ['"$proofs"'{"requirement": "all of it", "met": true, "evidence": "tests ran"}]}' ;;
esac
"#;

/// Returns an environment with the seed's plan and the team as a script.
fn with_team() -> TestEnv {
    with_agent(TEAM)
}

fn with_agent(script: &str) -> TestEnv {
    let env = env();
    env.write("project/plan.json", seed_plan().to_string());
    env.write("project/agent.sh", script);
    env
}

/// Prepares the orchestrator by the real clock, with signals as they are for a command that a person types.
fn orchestrator(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = env.clean("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(env.binary()).arg("orchestrate");
    command.args(args).env_remove("ANTHILL_NOW").env("TMPDIR", env.root());
    command
}

fn run(env: &TestEnv, args: &[&str]) -> Ran {
    env.finish(&mut orchestrator(env, args), b"")
}

/// Runs it with the script as its agent.
fn orchestrate(env: &TestEnv, args: &[&str]) -> Ran {
    run(env, &[&["--agent", "sh agent.sh"], args].concat())
}

#[track_caller]
fn doc(env: &TestEnv, kind: &str) -> Value {
    env.ok(&["validate", kind]);
    env.json(&["get", kind])
}

fn decisions(env: &TestEnv) -> Vec<String> {
    let log = doc(env, "orchestrator_state")["decisions_log"].as_array().unwrap().clone();
    log.iter().map(|entry| entry["decision"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_seeds_example_runs_to_its_end() {
    let env = with_team();
    let tester = "qa=echo $ANTHILL_GROUP >>tested; sh agent.sh";
    let ran = orchestrate(&env, &["--watch", "--role-agent", tester, REQUIREMENTS]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let mut tested: Vec<String> = env.read_text("project/tested").lines().map(Into::into).collect();
    tested.sort();
    assert_eq!(tested, ["A", "A", "B", "B", "C"]);
    for line in [
        "Started: pm (plan)\n",
        "  C    pending          0/0/0   Password Reset  (it depends on A",
        "  A    complete         2/2/1   JWT Authentication System\n",
        "Reported: pm (plan): PLAN\n",
        "Reported: developer B (work): READY_FOR_QA\n",
        "Reported: qa_expert A (test): FAIL\n",
        "Reported: tech_lead B (review): CHANGES_REQUESTED\n",
        "Reported: pm (final_check): COMPLETE\n",
    ] {
        assert!(ran.stderr.contains(line), "`{line}` is not in:\n{}", ran.stderr);
    }
    for line in
        ["| A | JWT Authentication System | complete | 2 | 2 | 1 |", "| all of it | true | tests ran |"]
    {
        assert!(ran.stdout.contains(line), "`{line}` is not in:\n{}", ran.stdout);
    }
    assert_eq!(env.read_text("project/coordination/report.md"), ran.stdout);
    let orchestrator = doc(&env, "orchestrator_state");
    assert_eq!(orchestrator["status"], "completed");
    assert_eq!((&orchestrator["total_spawns"], &orchestrator["costs"]["spawns"]), (&json!(16), &json!(16)));
    let spawns: Vec<u64> = ["A", "B", "C", "-"]
        .iter()
        .map(|group| orchestrator["costs"]["by_group"][group]["spawns"].as_u64().unwrap())
        .collect();
    assert_eq!(spawns, [5, 6, 3, 2]);
    let groups = doc(&env, "group_status");
    assert_eq!(groups["A"]["files_modified"], json!(["A.py"]));
    assert_eq!(groups["B"]["iterations"], json!({"developer": 2, "qa": 2, "tech_lead": 2}));
    let of_a = decisions(&env).into_iter().filter(|line| line.contains("_group_A_")).collect::<Vec<_>>();
    assert_eq!(
        of_a,
        [
            "developer_group_A_READY_FOR_QA",
            "qa_expert_group_A_FAIL",
            "developer_group_A_READY_FOR_QA",
            "qa_expert_group_A_PASS",
            "tech_lead_group_A_APPROVED",
        ]
    );
    let work = orchestrator["past_orders"].as_array().unwrap();
    let work = work.iter().find(|order| order["purpose"] == "work" && order["group_id"] == "A").unwrap();
    let log = env.read_text(&format!("project/coordination/logs/{}.log", work["id"].as_str().unwrap()));
    assert!(log.starts_with("--- try 1: ended\nworking on A\n"), "{log}");
    // The same again is the same run, and it is over.
    let again = orchestrate(&env, &[REQUIREMENTS]);
    assert_eq!((again.code, &again.stdout), (0, &ran.stdout), "{}", again.shown());
    assert_eq!(env.read_text("project/spawns").lines().count(), 16);
}

#[test]
fn an_agent_knows_its_order_and_its_place() {
    let env = with_agent(
        r#"cat >prompt; cp "$ANTHILL_TASK_FILE" order.json; cd /
        echo "$ANTHILL_ORDER_ID $ANTHILL_ROLE $ANTHILL_GROUP $ANTHILL_PURPOSE $ANTHILL_WORKER $ANTHILL_ROOT${CLAUDECODE-}" >"$ANTHILL_ROOT/known"
        anthill pipeline plan --file "$ANTHILL_ROOT/plan.json" >/dev/null"#,
    );
    let args = ["--agent", "sh agent.sh", "--max-spawns", "1", "--json", "Build it"];
    let ran = env.finish(orchestrator(&env, &args).env("CLAUDECODE", "1"), b"");
    assert_eq!((ran.code, &ran.json()["error"]["costs"]["spawns"]), (1, &json!(1)), "{}", ran.shown());
    let run = doc(&env, "orchestrator_state");
    let order = format!("{}-1", run["session_id"].as_str().unwrap());
    assert_eq!(run["past_orders"][0]["said"], "PLAN");
    let known = env.read_text("project/known").replace(&env.root().display().to_string(), "$TEST_ENV");
    assert_eq!(known, format!("{order} pm - plan pm $TEST_ENV/project\n"));
    let prompt = env.read_text("project/prompt");
    assert!(
        prompt.contains("You are the project manager") && prompt.contains("end with the plan"),
        "{prompt}"
    );
    let stored: Value = serde_json::from_slice(&env.read("project/order.json")).unwrap();
    assert_eq!((&stored["id"], &stored["purpose"]), (&json!(order), &json!("plan")));
    assert_eq!(stored["state"]["pm_state"]["original_requirements"], "Build it");
}

/// A client that prints what the real one does: events, then a result with its costs.
const CLAUDE: &str = r#"#!/bin/sh
[ "$*" = "-p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools Bash Edit Write" ] || exit 64
cat >/dev/null
case $ANTHILL_PURPOSE in
plan) said='Here is the plan:\n\n```json\n{\"all_tasks\": [{\"id\": \"T1\", \"description\": \"do it\"}]}\n```' ;;
work) said='{\"status\": \"READY_FOR_REVIEW\", \"summary\": \"made\"}' ;;
review) said='Well done. {\"status\": \"APPROVED\"}' ;;
final_check) said='{\"status\": \"COMPLETE\", \"evidence\": [{\"requirement\": \"T1\", \"met\": true, \"evidence\": \"x\"}]}' ;;
esac
echo '{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"model":"m"}'
echo '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"..."}],"usage":{"input_tokens":9}}}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"duration_ms":1500,"num_turns":3,"result":"'"$said"'","session_id":"s","total_cost_usd":0.1,"usage":{"input_tokens":5,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":7,"service_tier":"standard"}}'
"#;

/// Puts a program of this name before all others.
pub fn with_program(env: &TestEnv, command: &mut Command, name: &str, script: &str) {
    env.write(&format!("bin/{name}"), script);
    let file = env.root().join("bin").join(name);
    let mut mode = std::fs::metadata(&file).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&file, mode).unwrap();
    let known = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let path = format!("{}:{}", env.root().join("bin").display(), known.unwrap().to_str().unwrap());
    command.env("PATH", path);
}

#[test]
fn what_the_client_says_it_cost_is_summed() {
    let env = env();
    let mut command = orchestrator(&env, &["--json", "Do it"]);
    with_program(&env, &mut command, "claude", CLAUDE);
    let ran = env.finish(&mut command, b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let costs = &ran.json()["orchestrator_state"]["costs"];
    let sum = |spawns: u64| {
        json!({
            "spawns": spawns, "cost_usd": spawns as f64 / 10.0, "input_tokens": 5 * spawns,
            "output_tokens": 7 * spawns, "cached_tokens": 1100 * spawns,
        })
    };
    assert_eq!(costs["by_role"], json!({"pm": sum(2), "developer": sum(1), "tech_lead": sum(1)}), "{costs}");
    assert_eq!(costs["by_group"], json!({"-": sum(2), "main": sum(2)}));
    assert_eq!((&costs["cost_usd"], &costs["cached_tokens"]), (&json!(0.4), &json!(4400)));
    assert_eq!(doc(&env, "group_status")["main"]["handoff"]["status"], "APPROVED");
}

#[test]
fn a_budget_ends_the_spawning_and_more_of_it_goes_on() {
    let env = env();
    let run = |args: &[&str]| {
        let mut command = orchestrator(&env, &[&["--json"], args].concat());
        with_program(&env, &mut command, "claude", CLAUDE);
        env.finish(&mut command, b"")
    };
    let dear = run(&["--max-cost", "0.15", "Do it"]);
    let error = dear.json()["error"].take();
    assert_eq!((dear.code, &error["costs"]["spawns"]), (1, &json!(2)), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("has cost 0.2 dollars, at most 0.15 are allowed (--max-cost)"), "{message}");
    assert_eq!(error["hint"], "allow more: anthill orchestrate --resume --max-cost 1");
    let stopped = doc(&env, "orchestrator_state");
    assert_eq!(
        (&stopped["status"], &stopped["stop_kind"]),
        (&json!("error"), &json!("gave_up")),
        "{stopped}"
    );
    let many = run(&["--resume", "--max-spawns", "3"]);
    assert_eq!((many.code, &many.json()["error"]["costs"]["spawns"]), (1, &json!(3)), "{}", many.shown());
    assert_eq!(run(&["--resume", "--max-cost", "1"]).code, 0);
    assert_eq!(doc(&env, "orchestrator_state")["costs"]["spawns"], 4);
}

#[test]
fn a_hung_agent_is_stopped_with_all_it_started_and_its_group_goes_on() {
    let hang = r#"
        if [ "$ANTHILL_PURPOSE" = work ] && [ "$(anthill get group_status --field main.iterations.developer --format value)" = 1 ]; then
            sleep 1000 & echo $! >grandchild; wait
        fi"#;
    let team = TEAM.replace("plan-*) cat plan.json", r#"plan-*) echo '{"all_tasks": [{"id": "T1"}]}'"#);
    for limit in ["--timeout", "--stall"] {
        let env = with_agent(&format!("{hang}\n{team}"));
        let ran = orchestrate(&env, &[limit, "8", "--retries", "0", "Do it"]);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        gone(&line_of(&env, "grandchild"));
        let reason = if limit == "--timeout" { "timed out after 8 s" } else { "no sign of life for 8 s" };
        assert!(ran.stderr.contains(&format!("Failed: developer main (work): {reason}\n")), "{}", ran.stderr);
        let by_group: Vec<String> =
            decisions(&env).into_iter().filter(|line| line.contains("_group_main_")).collect();
        assert_eq!(
            by_group[..3],
            [
                "developer_group_main_INCOMPLETE",
                "tech_lead_group_main_UNBLOCKED",
                "developer_group_main_READY_FOR_QA"
            ]
        );
        let costs = &doc(&env, "orchestrator_state")["costs"];
        assert_eq!((&costs["failures"], &costs["by_role"]["developer"]["failures"]), (&json!(1), &json!(1)));
    }
}

#[test]
fn a_sign_of_life_counts() {
    let quiet = r#"
        if [ "$ANTHILL_PURPOSE" = work ]; then for n in 1 2 3 4 5 6 7 8; do sleep 0.8; touch "$ANTHILL_TASK_FILE"; done; fi"#;
    let team = TEAM.replace("plan-*) cat plan.json", r#"plan-*) echo '{"all_tasks": [{"id": "T1"}]}'"#);
    let env = with_agent(&format!("{quiet}\n{team}"));
    let ran = orchestrate(&env, &["--stall", "5", "--retries", "0", "Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(doc(&env, "orchestrator_state")["costs"].get("failures"), None);
}

#[test]
fn a_failed_try_is_repeated_and_knows_why() {
    let stumble = r#"
        echo x >>tries; cat >prompt
        [ "$ANTHILL_PURPOSE" = plan ] && [ "$(wc -l <tries)" -lt 3 ] && { echo "token=hunter2hunter2 deadline exceeded" >&2; exit 1; }
        [ "$ANTHILL_PURPOSE" = plan ] && cp prompt told"#;
    let env = with_agent(&format!("{stumble}\n{TEAM}"));
    let ran = orchestrate(&env, &["--max-spawns", "3", "Do it"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(
        ran.stderr.contains("Failed: pm (plan): exit code 1: token=[redacted] deadline exceeded; again\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("Reported: pm (plan): PLAN\n"), "{}", ran.stderr);
    let told = env.read_text("project/told");
    assert!(
        told.contains("came to nothing:\n| timeout: exit code 1\n") && !told.contains("hunter2"),
        "{told}"
    );
    let order = &doc(&env, "orchestrator_state")["past_orders"][0];
    assert_eq!((&order["tries"], &order["failures"][1]["class"]), (&json!(3), &json!("timeout")));
    let log = env.read_text(&format!("project/coordination/logs/{}.log", order["id"].as_str().unwrap()));
    assert!(log.contains("--- try 2: timeout\n") && log.contains("--- try 3: ended\n"), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[test]
fn an_answer_that_is_refused_is_asked_for_again() {
    let boast = r#"
        if [ "$ANTHILL_PURPOSE" = test ] && [ ! -e boasted ]; then
            touch boasted; echo '{"status": "PASS", "test_results": {"e2e_tests": "1/3 passed"}}'; exit
        fi"#;
    let env = with_agent(&format!("{boast}\n{TEAM}"));
    let ran = orchestrate(&env, &[REQUIREMENTS]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stderr.contains("its answer was refused: the report contradicts itself"), "{}", ran.stderr);
}

#[test]
fn who_cannot_be_replaced_stops_the_run_with_a_reason() {
    let env = with_agent(&format!(
        "[ $ANTHILL_PURPOSE = review ] && {{ echo 'permission denied' >&2; exit 3; }}\n{TEAM}"
    ));
    let ran = orchestrate(&env, &["--json", REQUIREMENTS]);
    let error = ran.json()["error"].take();
    assert_eq!((ran.code, &error["code"]), (1, &json!("refused")), "{error}");
    let message = error["message"].as_str().unwrap();
    let blocked =
        |group: &str| format!("group {group} is blocked: tech_lead (review): exit code 3: permission denied");
    let missing = json!([blocked("A"), blocked("B"), "group C waits for A"]);
    assert!(message.contains(&blocked("A")), "{message}");
    assert_eq!(error["missing"], missing);
    assert!(
        error["hint"].as_str().unwrap().contains("go on: anthill orchestrate --resume --agent 'sh agent.sh'"),
        "{error}"
    );
    let run_now = doc(&env, "orchestrator_state");
    assert_eq!(
        (&run_now["status"], &run_now["orders"], &run_now["active_agents"]),
        (&json!("error"), &json!([]), &json!([]))
    );
    let shown = env.read_text("project/coordination/report.md");
    assert!(shown.contains(&format!("## Missing\n\n- {}\n", blocked("A"))), "{shown}");
    // With a reviewer that can, the run goes on.
    env.write("project/agent.sh", TEAM);
    let resumed = orchestrate(&env, &["--resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.shown());
    let nobody = with_team();
    let missing = run(&nobody, &["--agent", "no-such-agent-here", REQUIREMENTS]);
    assert_eq!(missing.code, 1, "{}", missing.shown());
    assert!(
        missing.stderr.contains("nothing can go on: pm - (plan): exit code 127: /bin/sh:")
            && missing.stderr.contains("there is no plan"),
        "{}",
        missing.stderr
    );
}

#[test]
fn who_gives_no_answer_is_asked_once_more() {
    let plan = r#"plan-*) echo '{"task_groups": [{"id": "A"}]}'"#;
    let work = r#"work-*) echo x >>asked
        case $said in *"is still open"*) cat again ;; *) echo 'All done, I think.' ;; esac ;;
        work-X)"#;
    let team = TEAM.replace("cat >/dev/null", "said=$(cat)").replace("plan-*) cat plan.json", plan);
    let env = with_agent(&team.replace("work-B)", work));
    env.write("project/again", "Sorry.\n```json\n{\n \"status\": \"READY_FOR_REVIEW\"\n}\n```\n");
    let ran = orchestrate(&env, &["Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(
        ran.stderr.contains("Asked again: developer A (work): its last words are no answer\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(env.read_text("project/asked").lines().count(), 2);
    // Who is unclear then has failed, and that is no success.
    env.write("project/again", "It is all done.\n");
    let vague = orchestrate(&env, &["--replace", "--retries", "0", "--same-failures", "1", "Do it again"]);
    assert_eq!(vague.code, 1, "{}", vague.shown());
    assert!(
        vague.stderr.contains("its last words are no answer, also when it was asked again"),
        "{}",
        vague.stderr
    );
}

#[test]
fn trouble_of_the_service_harms_no_order() {
    let ill = r#"
        if [ "$ANTHILL_PURPOSE" = work ] && [ -e ill ]; then cat ill >&2; rm ill; exit 1; fi"#;
    let plan = r#"plan-*) echo '{"task_groups": [{"id": "A"}]}'"#;
    let team = TEAM.replace("plan-*) cat plan.json", plan);
    let env = with_agent(&format!("{ill}\n{team}"));
    env.write("project/ill", "API Error: 429 Too Many Requests. Retry-After: 1\n");
    let ran = orchestrate(&env, &["Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(
        ran.stderr.contains("Put back: developer A (work): usage limit: API Error: 429"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("Paused until ") && ran.stderr.contains(": usage limit\n"), "{}", ran.stderr);
    let run = doc(&env, "orchestrator_state");
    let work =
        run["past_orders"].as_array().unwrap().iter().find(|order| order["purpose"] == "work").unwrap();
    assert_eq!((&work["tries"], work.get("failures")), (&json!(2), None), "the same order, unharmed");
    assert_eq!((run["costs"].get("failures"), run["conductor"].get("paused")), (None, None));
    assert_eq!(run["total_spawns"], run["costs"]["spawns"]);
    // What does not pass by itself ends the run with what to do.
    env.write("project/ill", "Invalid API key · Please run /login\n");
    let stopped = orchestrate(&env, &["--replace", "Do it again"]);
    assert_eq!(stopped.code, 1, "{}", stopped.shown());
    assert!(
        stopped.stderr.contains("the client is not logged in")
            && stopped.stderr.contains("log the agent's client in"),
        "{}",
        stopped.stderr
    );
    let run = doc(&env, "orchestrator_state");
    assert_eq!((&run["status"], &run["active_agents"]), (&json!("error"), &json!([])), "{run}");
    assert_eq!((run["orders"].as_array().unwrap().len(), run["orders"][0].get("failures")), (1, None));
    let resumed = orchestrate(&env, &["--resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.shown());
}

/// Six groups: four and a fifth that are free, a sixth after the second.
const SIX: &str = r#"plan-*) echo '{"mode": "parallel", "task_groups": [{"id": "A"}, {"id": "B"}, {"id": "C"}, {"id": "D"}, {"id": "E"}, {"id": "F", "depends_on": ["B"]}]}'"#;

#[test]
fn nobody_is_idle_while_a_group_is_ready() {
    // The first group ends only when the last two have begun: with phases for barriers that would never be.
    let work = r#"work-*) touch "begun-$ANTHILL_GROUP"
        if [ $ANTHILL_GROUP = A ]; then
            until [ -e begun-E ] && [ -e begun-F ]; do sleep 0.05; done
        fi
        echo '{"status": "READY_FOR_REVIEW"}' ;;
        work-B)"#;
    let team = TEAM.replace("plan-*) cat plan.json", SIX).replace("work-B)", work);
    let env = with_agent(&team.replace("review-B)", "review-X)"));
    let ran = orchestrate(&env, &["--timeout", "100", "--retries", "0", "Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let figure =
        ran.stdout.lines().find_map(|line| line.strip_prefix("Developers idle while a group was ready: "));
    let seconds: f64 = figure.unwrap().strip_suffix(" s").unwrap().parse().unwrap();
    let stored = doc(&env, "orchestrator_state");
    assert_eq!(stored["conductor"]["idle_seconds"], json!(seconds));
    // What is left is the time that the machine takes to start a process.
    assert!(seconds < 20.0, "{seconds}");
    assert_eq!(stored["total_spawns"], stored["costs"]["spawns"]);
}

#[test]
fn a_group_that_fails_in_the_same_way_is_given_up_and_the_others_complete() {
    let work = r#"work-B) echo "$ANTHILL_ORDER_ID" >>tries; echo "line $(wc -l <tries): no such thing" >&2; exit 3 ;;
        work-*) echo '{"status": "READY_FOR_REVIEW"}' ;;
        work-X)"#;
    let team = TEAM.replace("plan-*) cat plan.json", SIX).replace("work-B)", work);
    let env = with_agent(&team);
    let ran = orchestrate(&env, &["--json", "Do it"]);
    let error = ran.json()["error"].take();
    assert_eq!(ran.code, 1, "{}", ran.shown());
    let reason = "developer failed 3 times in the same way: exit code 3: line 3: no such thing";
    assert_eq!(
        error["missing"],
        json!([format!("group B is blocked: {reason}"), "group F waits for B"]),
        "{error}"
    );
    assert!(decisions(&env).contains(&"give_up_group_B".into()), "{error}");
    assert_eq!(env.read_text("project/tries").lines().count(), 3);
    let (run, groups) = (doc(&env, "orchestrator_state"), doc(&env, "group_status"));
    assert_eq!((&run["status"], &run["active_agents"]), (&json!("error"), &json!([])));
    assert!(run["stop_reason"].as_str().unwrap().contains("group F waits for B"), "{run}");
    assert_eq!(run["costs"]["by_group"]["B"]["spawns"], 4, "three developers, and somebody who helped");
    assert_eq!(run["total_spawns"], run["costs"]["spawns"]);
    assert_eq!(
        (&groups["B"]["status"], &groups["B"]["given_up"]["reason"]),
        (&json!("dev_blocked"), &json!(reason))
    );
    let complete = ["A", "C", "D", "E"].iter().all(|id| groups[id]["status"] == "complete");
    assert!(complete, "{groups}");
    let shown = env.ok(&["pipeline", "status"]);
    assert!(shown.stdout.contains("it was given up: developer failed 3 times"), "{}", shown.stdout);
    assert!(shown.stderr.contains("go on: anthill orchestrate --resume"), "{}", shown.stderr);
    // Whoever goes on tries it again.
    env.write(
        "project/agent.sh",
        team.replace("exit 3", "echo '{\"status\": \"READY_FOR_REVIEW\"}'").replace("review-B)", "review-X)"),
    );
    let resumed = orchestrate(&env, &["--resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.shown());
}

#[test]
fn an_agent_that_hangs_for_ever_is_started_a_few_times_only() {
    let work = r#"work-B) echo x >>hung; sleep 1000 ;;
        work-*) echo '{"status": "READY_FOR_REVIEW"}' ;;
        work-X)"#;
    let env = with_agent(&TEAM.replace("plan-*) cat plan.json", SIX).replace("work-B)", work));
    let ran = orchestrate(&env, &["--timeout", "8", "--same-failures", "2", "Do it"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(
        ran.stderr.contains("developer failed 2 times in the same way: timed out after 8 s"),
        "{}",
        ran.stderr
    );
    assert_eq!(env.read_text("project/hung").lines().count(), 2);
    let groups = doc(&env, "group_status");
    assert!(["A", "C", "D", "E"].iter().all(|id| groups[id]["status"] == "complete"), "{groups}");
}

#[test]
fn an_edit_of_a_groups_status_ends_its_agent() {
    let work = r#"work-*) echo $$ >at-work; sleep 1000 ;;
        work-X)"#;
    let plan = r#"plan-*) echo '{"task_groups": [{"id": "A"}]}'"#;
    let env = with_agent(&TEAM.replace("plan-*) cat plan.json", plan).replace("work-B)", work));
    let args = ["--agent", "sh agent.sh", "--json", "Do it"];
    let mut running = Running::start(&mut orchestrator(&env, &args));
    let agent = line_of(&env, "at-work");
    env.ok(&["set", "group_status", "A.status", "\"waiting_review\""]);
    assert_eq!(running.wait(), 0);
    gone(&agent);
    let log = decisions(&env);
    assert!(
        log.contains(&"edit_group_A".into()) && log.contains(&"tech_lead_group_A_APPROVED".into()),
        "{log:?}"
    );
    let said: Vec<Value> = doc(&env, "orchestrator_state")["past_orders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["said"].clone())
        .collect();
    assert_eq!(said, ["PLAN", "REPLACED", "APPROVED", "COMPLETE"]);
}

#[test]
fn a_check_has_to_pass_before_the_end() {
    let more = r#"plan-*) if grep -q 'check .test -e mended. failed' prompt; then
        echo '{"task_groups": [{"id": "fix", "name": "mend it"}]}'; else echo '{"all_tasks": [{"id": "T1"}]}'; fi"#;
    let team = TEAM
        .replace("cat >/dev/null", "cat >prompt")
        .replace("plan-*) cat plan.json", more)
        .replace("work-B)", "work-fix) touch mended; echo '{\"status\": \"READY_FOR_REVIEW\"}' ;;\nwork-B)");
    let env = with_agent(&team);
    let ran = orchestrate(&env, &["--check", "test -e mended", "--max-parallel", "1", "Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let at =
        |line: &str| ran.stderr.find(line).unwrap_or_else(|| panic!("`{line}` is not in:\n{}", ran.stderr));
    let failed = at("Checked: the check `test -e mended` failed: exit code 1\n");
    assert!(failed < at("Started: developer fix (work)\n"), "{}", ran.stderr);
    assert!(at("Checked: it passes\n") < at("Started: pm (final_check)\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("Started: pm (final_check)\n").count(), 1, "nobody is asked for nothing");
    let log = decisions(&env);
    assert!(
        log.contains(&"pm_CONTINUE".into()) && log.last().is_some_and(|last| last == "pm_COMPLETE"),
        "{log:?}"
    );
}

#[test]
fn a_signal_ends_the_agents_and_the_run_can_go_on() {
    let env = with_agent(&format!("[ -e slow ] && {{ sleep 1000 & echo $! >grandchild; wait; }}\n{TEAM}"));
    env.write("project/slow", "");
    let args = ["--agent", "sh agent.sh", "--json", REQUIREMENTS];
    let mut running = Running::start(&mut orchestrator(&env, &args));
    let grandchild = line_of(&env, "grandchild");
    let rival = orchestrate(&env, &["--resume"]);
    assert!(rival.code == 1 && rival.stderr.contains("another orchestrator is at work"), "{}", rival.shown());
    let status = |env: &TestEnv| env.json(&["pipeline", "status"])["orchestrator"].take();
    let alive = status(&env);
    assert_eq!((&alive["alive"], &alive["pid"]), (&json!(true), &json!(running.id())), "{alive}");
    let shown = env.ok(&["pipeline", "status"]).stdout;
    assert!(shown.contains(&format!("(pid {})\nat work: pm (plan), order", running.id())), "{shown}");
    signal(&running, Signal::TERM);
    assert_eq!(running.wait(), 143);
    gone(&grandchild);
    let left = doc(&env, "orchestrator_state");
    assert_eq!((left["orders"].as_array().unwrap().len(), &left["active_agents"]), (1, &json!([])));
    assert!(status(&env)["alive"] == false && status(&env)["until"].is_string());
    let shown = env.ok(&["pipeline", "status"]).stdout;
    assert!(
        shown.contains("orchestrator: none at work since ") && shown.contains("\nopen: pm (plan)"),
        "{shown}"
    );
    // One that is killed says nothing, and is not believed to be there.
    env.sh("rm -f grandchild");
    let mut killed = Running::start(&mut orchestrator(&env, &args));
    let grandchild = line_of(&env, "grandchild");
    killed.kill();
    gone(&grandchild);
    let shown = env.ok(&["pipeline", "status"]).stdout;
    assert!(
        shown.contains(&format!("(pid {}, since ", killed.id())) && shown.contains("is gone without a word"),
        "{shown}"
    );
    assert_eq!(status(&env)["alive"], false);
    env.sh("rm -f slow");
    assert_eq!(orchestrate(&env, &["--resume"]).code, 0);
}

/// Returns what a run has come to, without times and ids.
fn essence(env: &TestEnv, in_order: bool) -> Value {
    let (run, groups) = (doc(env, "orchestrator_state"), doc(env, "group_status"));
    let of_group = |group: &Value| {
        let decisions: Vec<Value> = group["tech_lead_feedback"]
            .as_array()
            .unwrap()
            .iter()
            .map(|said| said["decision"].clone())
            .collect();
        json!([
            group["status"],
            group["iterations"],
            group["counts"],
            group["files_modified"],
            group["handoff"]["content"],
            decisions
        ])
    };
    let groups: Vec<Value> = groups.as_object().unwrap().values().map(of_group).collect();
    let log = run["decisions_log"].as_array().unwrap();
    let mut log: Vec<Value> =
        log.iter().map(|line| json!([line["decision"], line["reasoning"], line["iteration"]])).collect();
    if !in_order {
        // Groups go on independently: only what each comes to is the same every time.
        let said = |line: &Value| line[0].as_str().is_some_and(|said| !said.starts_with("spawn_"));
        log = log.into_iter().filter(said).map(|line| line[0].clone()).collect();
        log.sort_by_key(ToString::to_string);
    }
    let mut spawns: Vec<Value> = run["past_orders"].as_array().unwrap().clone();
    spawns.iter_mut().for_each(|order| {
        *order = json!([order["role"], order["group_id"], order["purpose"], order["said"]]);
    });
    if !in_order {
        spawns.sort_by_key(ToString::to_string);
    }
    let agents = [&run["active_agents"], &json!(run["total_spawns"] == run["costs"]["spawns"])];
    json!({"run": [run["status"], run["last_order"], agents], "groups": groups, "decisions": log, "orders": spawns})
}

/// The team behind a client that prints its last words as the real one does.
const CLAUDE_TEAM: &str = r#"#!/bin/sh
said=$(sh "$ANTHILL_ROOT/agent.sh")
printf '%s' "$said" | jq -cRs '{type: "result", subtype: "success", is_error: false, result: ., total_cost_usd: 0.1, usage: {}}'
"#;

#[test]
fn killed_at_any_moment_it_comes_to_the_same() {
    let kills: u64 = told("KILLS", 10);
    let with_claude = |env: &TestEnv, args: &[&str]| {
        let mut command = orchestrator(env, args);
        with_program(env, &mut command, "claude", CLAUDE_TEAM);
        command
    };
    // Nobody is started for an order that is done.
    let strict = format!(
        r#"anthill get orchestrator_state --field "orders[id=$ANTHILL_ORDER_ID].id" >/dev/null || echo "$ANTHILL_ORDER_ID" >>doubled
        {TEAM}"#
    );
    for (parallel, in_order) in [("1", true), ("4", false)] {
        let args = ["--max-parallel", parallel, "--json", REQUIREMENTS];
        let calm = with_team();
        assert_eq!(calm.finish(&mut with_claude(&calm, &args), b"").code, 0);
        let mut random = 0x9e37_79b9_u64 + parallel.len() as u64;
        let mut left = kills.div_ceil(2);
        while left > 0 {
            let env = with_agent(&strict);
            let is_complete =
                || env.run(&["get", "orchestrator_state", "--field", "status"]).stdout.contains("completed");
            while left > 0 && !is_complete() {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut running = Running::start(&mut with_claude(&env, &args));
                thread::sleep(Duration::from_millis((random >> 33) % 160));
                running.kill();
                left -= 1;
            }
            let ran = env.finish(&mut with_claude(&env, &args), b"");
            assert_eq!(ran.code, 0, "{}", ran.shown());
            assert!(!env.project().join("doubled").exists(), "{}", env.read_text("project/doubled"));
            assert_eq!(essence(&env, in_order), essence(&calm, in_order));
            env.ok(&["doctor"]);
        }
    }
}

/// A project with a first commit on `main`.
fn with_git(agent: &str) -> TestEnv {
    let env = with_agent(agent);
    let made = env.sh(
        "git init -q -b main && git config user.name t && git config user.email t@t && echo base >shared.txt && git add shared.txt && git commit -qm base",
    );
    assert_eq!(made.code, 0, "{}", made.shown());
    env
}

#[test]
fn what_git_saw_stands_beside_what_a_developer_says() {
    let work = r#"work-A) echo new >a.txt; echo '{"status": "READY_FOR_REVIEW", "files_modified": ["a.txt"]}' ;;
        work-B) echo '{"status": "READY_FOR_REVIEW", "files_modified": ["b.txt"]}' ;;
        review-*) cat >>reviews; echo '{"status": "APPROVED"}' ;;
        work-X)"#;
    let plan = r#"plan-*) echo '{"mode": "parallel", "task_groups": [{"id": "A"}, {"id": "B"}]}'"#;
    let team = TEAM.replace("cat >/dev/null\n", "").replace("plan-*) cat plan.json", plan);
    let env = with_git(&team.replace("work-B)", work));
    env.sh("echo spawns >>.git/info/exclude");
    let ran = orchestrate(&env, &["--max-parallel", "1", "Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let groups = doc(&env, "group_status");
    assert_eq!(groups["A"]["changed"]["files"], json!(["a.txt"]), "{groups}");
    assert_eq!(groups["B"]["changed"], json!({"files": [], "count": 0, "by": "git"}), "{groups}");
    let told = "group B was handed over, but git saw no change";
    assert!(ran.stdout.contains(told) && !ran.stdout.contains("group A was handed"), "{}", ran.stdout);
    assert!(env.ok(&["pipeline", "status"]).stdout.contains(told));
    let reviews = env.read_text("project/reviews");
    assert!(reviews.contains("By git, the last developer changed: a.txt"), "{reviews}");
    assert!(reviews.contains("By git: nothing changed while the last developer worked"), "{reviews}");
    env.ok(&["doctor"]);
}

#[test]
fn worktrees_survive_kills() {
    let kills: u64 = told("KILLS", 10);
    let plan = r#"plan-*) echo '{"mode": "parallel", "task_groups": [{"id": "A", "name": "one"}, {"id": "B", "name": "two"}, {"id": "C", "name": "three", "depends_on": ["A", "B"]}]}'"#;
    // Every group finds what it depends on, and all files of a whole worktree.
    let work = r#"work-*) [ -e shared.txt ] || exit 9
        [ $ANTHILL_GROUP != C ] || [ -e A.txt -a -e B.txt ] || exit 9
        echo made >$ANTHILL_GROUP.txt; git add -A && { git diff --cached --quiet || git commit -qm "work on $ANTHILL_GROUP" >&2; } || exit 9
        echo '{"status": "READY_FOR_REVIEW"}' ;;
        work-B)"#;
    let approve = "review-*) echo '{\"status\": \"APPROVED\"}' ;;\n        review-B)";
    let team =
        TEAM.replace("plan-*) cat plan.json", plan).replace("work-B)", work).replace("review-B)", approve);
    let args = ["--agent", "sh \"$ANTHILL_ROOT/agent.sh\"", "--worktrees", "--retries", "0", "Do it"];
    let (mut random, mut left) = (0x2545_f491_u64, kills);
    while left > 0 {
        let env = with_git(&team);
        let is_complete =
            || env.run(&["get", "orchestrator_state", "--field", "status"]).stdout.contains("completed");
        while left > 0 && !is_complete() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut running = Running::start(&mut orchestrator(&env, &args));
            thread::sleep(Duration::from_millis((random >> 33) % 200));
            running.kill();
            left -= 1;
        }
        let ran = run(&env, &args);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        let state = env.sh("git status --porcelain A.txt B.txt C.txt; git worktree list | wc -l; git log --merges --format=%s | sort; ls *.txt");
        let expected = "1\nMerge group A (feature/group-A-one)\nMerge group B (feature/group-B-two)\n\
                        Merge group C (feature/group-C-three)\nA.txt\nB.txt\nC.txt\nshared.txt\n";
        assert_eq!(state.stdout, expected, "{}\n{}", state.shown(), ran.shown());
        env.ok(&["doctor"]);
    }
}

#[test]
fn what_git_left_behind_is_cleared_and_another_merge_is_left_alone() {
    let plan = r#"plan-*) echo '{"mode": "parallel", "task_groups": [{"id": "A", "name": "one"}]}'"#;
    let work = r#"work-*) [ -e shared.txt ] || exit 9
        [ ! -e made.txt ] || { git add made.txt && git commit -qm made >&2 || exit 9; }
        echo made >made.txt; echo '{"status": "READY_FOR_REVIEW"}' ;;
        work-B)"#;
    // Somebody begins a merge of their own while the review is on.
    let approve = r#"review-*) (cd "$ANTHILL_ROOT" && git merge -q --no-commit --no-ff other >&2); echo '{"status": "APPROVED"}' ;;
        review-B)"#;
    let team =
        TEAM.replace("plan-*) cat plan.json", plan).replace("work-B)", work).replace("review-B)", approve);
    let env = with_git(&team);
    let args = ["--agent", "sh \"$ANTHILL_ROOT/agent.sh\"", "--worktrees", "Do it"];
    let planned = run(&env, &[&args[..], &["--max-spawns", "1"]].concat());
    assert_eq!(planned.code, 1, "{}", planned.shown());
    let half = env.sh(
        "git checkout -q -b other && echo o >other.txt && git add other.txt && git commit -qm other && git checkout -q main
        place=.claude/worktrees/$(anthill get orchestrator_state --field session_id --format value)-A
        git worktree add -q -b feature/group-A-one \"$place\" HEAD && rm \"$place\"/shared.txt && printf initializing >.git/worktrees/$(basename \"$place\")/locked",
    );
    assert_eq!(half.code, 0, "{}", half.shown());
    let forgot = run(&env, &[&args[..], &["--max-spawns", "2"]].concat());
    assert!(forgot.stderr.contains("Reported: developer A (work): READY_FOR_REVIEW\n"), "{}", forgot.shown());
    let locked = env.sh("touch -d '1 hour ago' \"$(echo .git/worktrees/*-A*)/index.lock\"");
    assert_eq!(locked.code, 0, "{}", locked.shown());
    let stopped = run(&env, &args);
    assert_eq!(stopped.code, 1, "{}", stopped.shown());
    let told = "cannot be merged: another merge has begun in the project root and is not committed; merge it by hand";
    assert!(stopped.stderr.contains(told), "{}", stopped.shown());
    let feedback = &doc(&env, "group_status")["A"]["tech_lead_feedback"][0]["feedback"];
    assert_eq!(feedback, "not committed on feature/group-A-one: made.txt. Commit what belongs to the work.");
    let state =
        env.sh("git rev-parse -q --verify MERGE_HEAD >/dev/null && git commit -qm 'my merge' && echo mine");
    assert_eq!(state.stdout, "mine\n", "{}", state.shown());
    let ran = run(&env, &[&args[..args.len() - 1], &["--resume"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(
        env.sh("ls *.txt").stdout,
        "made.txt\nother.txt\nshared.txt\n",
        "{}{}",
        stopped.shown(),
        ran.shown()
    );
}

#[test]
fn groups_in_worktrees_are_merged_and_conflicts_go_back() {
    let work = r#"work-*) git merge -q -X ours main -m 'take main in' >&2 || exit 9
        echo "$ANTHILL_GROUP" >>shared.txt; pwd >>"$ANTHILL_ROOT/places"
        git add shared.txt && git commit -qm "work on $ANTHILL_GROUP" >&2
        echo '{"status": "READY_FOR_REVIEW", "files_modified": ["shared.txt"]}' ;;
        work-B)"#;
    let plan = r#"plan-*) echo '{"mode": "parallel", "task_groups": [{"id": "A", "name": "one"}, {"id": "B", "name": "two"}]}'"#;
    let approve = r#"review-*) echo '{"status": "APPROVED"}' ;;
        review-B)"#;
    let team =
        TEAM.replace("plan-*) cat plan.json", plan).replace("work-B)", work).replace("review-B)", approve);
    let env = with_agent(&team);
    let agent = r#"cd .; sh "$ANTHILL_ROOT/agent.sh""#;
    let refused = run(&env, &["--agent", agent, "--worktrees", "Do it"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("no worktrees can be made here"),
        "{}",
        refused.shown()
    );
    let made = env.sh(
        "rm -rf coordination && git init -q -b main && git config user.name t && git config user.email t@t && echo base >shared.txt && git add shared.txt && git commit -qm base",
    );
    assert_eq!(made.code, 0, "{}", made.shown());
    let ran = run(&env, &["--agent", agent, "--worktrees", "--max-parallel", "2", "Do it"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let log = decisions(&env);
    let rejected = log.iter().filter(|line| line.ends_with("_CHANGES_REQUESTED")).count();
    assert_eq!((rejected, ran.stderr.matches("Merged: ").count()), (1, 2), "{log:?}\n{}", ran.stderr);
    let groups = doc(&env, "group_status");
    let sent_back =
        groups.as_object().unwrap().values().find(|group| group["iterations"]["developer"] == 2).unwrap();
    let feedback = &sent_back["tech_lead_feedback"][0]["feedback"];
    assert!(
        feedback.as_str().unwrap().contains("does not merge into main: conflicts in shared.txt."),
        "{feedback}"
    );
    let state = env.sh("git status --porcelain .claude; git worktree list | wc -l; git log --merges --format=%s | grep -c '^Merge group'; cat shared.txt");
    assert!(state.stdout.starts_with("1\n2\nbase\n"), "{}", state.shown());
    let places = env.read_text("project/places");
    assert_eq!(
        places.lines().filter(|place| place.contains("/project/.claude/worktrees/v4_")).count(),
        3,
        "{places}"
    );
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let env = with_team();
    let before = env.bytes();
    let ran = orchestrate(&env, &["--dry-run", REQUIREMENTS]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stdout.starts_with("## pm - (plan)\n\nYou are the project manager"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "1 orders would be started; nothing was changed\n");
    assert_eq!(env.bytes(), before);
    env.ok(&["pipeline", "init", "Build it"]);
    let before = env.bytes();
    let orders = orchestrate(&env, &["--dry-run", "--resume", "--json"]).json();
    assert_eq!((orders[0]["role"].as_str(), env.bytes() == before), (Some("pm"), true));
}

#[test]
fn wrong_use_is_told() {
    let env = with_team();
    let fails = |args: &[&str], code: i32, text: &str| {
        let ran = orchestrate(&env, args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.shown());
        assert!(ran.stderr.contains(text), "{args:?}: `{text}` is not in:\n{}", ran.stderr);
    };
    let before = env.bytes();
    fails(&[], 2, "<REQUIREMENTS>");
    fails(&["--resume"], 4, "there is no pipeline yet");
    fails(&["--replace", "--resume"], 2, "cannot be used with");
    fails(
        &["--role-agent", "boss=x", "Do it"],
        2,
        "`boss` is no role; there are pm, developer, qa_expert, tech_lead",
    );
    fails(&["--role-agent", "pm", "Do it"], 2, "expected ROLE=AGENT");
    fails(&["--role-agent", "pm= ", "Do it"], 2, "the agent is blank");
    fails(&["--max-parallel", "0", "Do it"], 2, "--max-parallel");
    fails(&["--timeout", "-1", "Do it"], 2, "--timeout");
    fails(&["--max-cost", "free", "Do it"], 2, "expected a number");
    fails(&["--retries", "11", "Do it"], 2, "--retries");
    let bare = env.finish(orchestrator(&env, &["Do it"]).env("PATH", "/usr/bin:/bin"), b"");
    let dry = env.finish(orchestrator(&env, &["--dry-run", "Do it"]).env("PATH", "/usr/bin:/bin"), b"");
    assert!(dry.code == 0 && dry.stdout.starts_with("## pm - (plan)"), "{}", dry.shown());
    assert!(bare.code == 1 && bare.stderr.contains("`claude` is not in the PATH"), "{}", bare.shown());
    assert_eq!(env.bytes(), before, "nothing was changed");
    fails(&["  "], 2, "the requirements are blank");
    env.ok(&["pipeline", "init", "Something else"]);
    fails(&["Do it"], 1, "is not over: running");
    fails(&["--resume", "Do it"], 1, "is for other requirements");
    env.ok(&["set", "config", "global.max_parallel_agents", "2"]);
    fails(&["--max-parallel", "3", "Do it"], 1, "global.max_parallel_agents 3");
    fails(&["--replace", "--max-spawns", "0", "Do it"], 1, "0 agents were started, at most 0 are allowed");
    assert_eq!(doc(&env, "pm_state")["original_requirements"], "Do it");
}
