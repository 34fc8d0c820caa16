//! What each command prints: two to four cases each. Edge cases are one floor down, in `core`.

use anthill_testkit::test_env::TestEnv;

use crate::env;

/// Runs a line of shell and compares stdout, stderr and exit code.
#[track_caller]
fn check(env: &TestEnv, line: &str, expected: &str) {
    let shown = env.sh(line).shown();
    assert_eq!(shown, expected.trim_start_matches('\n'), "{line}\n--- found\n{shown}");
}

/// Runs a line of shell that only prepares.
#[track_caller]
fn given(env: &TestEnv, line: &str) {
    let ran = env.sh(line);
    assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
}

#[test]
fn get() {
    let env = env();
    check(
        &env,
        "anthill get config",
        r#"
--- stderr
error: there is no config yet: `$TEST_ENV/user/.claude/orchestration/config.json` does not exist
hint: create it: anthill set config global.default_project '"myapp"'   (the rest gets its defaults)
hint: look elsewhere with --home DIR or --root DIR; `anthill schema` shows where each kind is kept
[exit 4]
"#,
    );
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    check(
        &env,
        "anthill get config --field global",
        r#"
{
  "default_project": "myapp",
  "max_parallel_agents": 5,
  "session_timeout": 3600,
  "state_sync_interval": 5000
}
[exit 0]
"#,
    );
    check(
        &env,
        "anthill get config --field global.default_project --format value",
        r#"
myapp
[exit 0]
"#,
    );
    check(
        &env,
        "anthill get config --field features --format table",
        r#"
 FIELD                   VALUE
 enable_orchestration    true
 enable_state_sharing    true
 enable_message_passing  true
 enable_auto_recovery    true
[exit 0]
"#,
    );
}

#[test]
fn list() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    check(
        &env,
        "anthill list epics",
        r#"
[]
[exit 0]
"#,
    );
    given(
        &env,
        r#"anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'"#,
    );
    given(
        &env,
        r#"anthill append epics 'epics[0].stories' '{"id": "story-001", "title": "Log in", "status": "pending", "points": 3}'"#,
    );
    check(
        &env,
        "anthill list epics --filter-status pending --format md",
        r#"
| id | title | status | stories |
| --- | --- | --- | --- |
| epic-001 | Sign-in | pending | [{"id":"story-001","title":"Log in","status":"pending","points":3}] |
[exit 0]
"#,
    );
    check(
        &env,
        "anthill list stories --format table",
        r#"
 ID         TITLE   STATUS   POINTS
 story-001  Log in  pending  3
[exit 0]
"#,
    );
    check(
        &env,
        "anthill list config",
        r#"
--- stderr
error: config has no list of items
hint: see the whole document: anthill get config
[exit 2]
"#,
    );
}

#[test]
fn watch() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    check(
        &env,
        "anthill watch config --count 1 | cut -c1-100",
        r#"
{"kind":"config","revision":1,"at":"2026-01-01T00:00:02.000Z","by":"anthill","op":"snapshot","value"
[exit 0]
"#,
    );
    check(
        &env,
        "anthill watch config --from 0 --count 1 | cut -c1-96",
        r#"
{"kind":"config","revision":1,"at":"2026-01-01T00:00:01.000Z","by":"tester","op":"set","value":{
[exit 0]
"#,
    );
    check(
        &env,
        "anthill watch config --interval soon",
        r#"
--- stderr
error: invalid value 'soon' for '--interval <SECONDS>': expected a number of seconds, such as 5 or 0.5

For more information, try '--help'.
[exit 2]
"#,
    );
}

#[test]
fn set() {
    let env = env();
    check(
        &env,
        r#"anthill set config global.default_project '"myapp"'"#,
        r#"
--- stderr
Set global.default_project in config, now at revision 1
[exit 0]
"#,
    );
    check(
        &env,
        "anthill set config global.max_parallel_agents 8 --expect-revision 1",
        r#"
--- stderr
Set global.max_parallel_agents in config, now at revision 2
[exit 0]
"#,
    );
    check(
        &env,
        "anthill set config global.max_parallel_agents 9 --json",
        r#"
{
  "kind": "config",
  "revision": 3,
  "value": 9
}
[exit 0]
"#,
    );
    check(
        &env,
        r#"anthill set config global.max_parallel_agents '"many"'"#,
        r#"
--- stderr
error: `config.json` would not be valid: `global.max_parallel_agents`: expected an integer, found `"many"`
hint: nothing was changed
[exit 2]
"#,
    );
    check(
        &env,
        "anthill set config revision 7",
        r#"
--- stderr
error: `revision` is kept by anthill and cannot be set or deleted
hint: use --expect-revision N to guard a change
[exit 2]
"#,
    );
}

#[test]
fn append() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    check(
        &env,
        r#"anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'"#,
        r#"
--- stderr
Appended to epics in epics, now at revision 1
[exit 0]
"#,
    );
    check(
        &env,
        r#"anthill append epics 'epics[0].stories' '{"id": "story-001", "title": "Log in", "status": "pending", "points": 3}' --json"#,
        r#"
{
  "kind": "epics",
  "revision": 2,
  "value": {
    "id": "story-001",
    "title": "Log in",
    "status": "pending",
    "points": 3
  }
}
[exit 0]
"#,
    );
    check(
        &env,
        "anthill append epics 'epics[0].title' 1",
        r#"
--- stderr
error: expected an array at `epics[0].title`, found a string
[exit 2]
"#,
    );
}

#[test]
fn delete() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    given(
        &env,
        r#"anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'"#,
    );
    given(
        &env,
        r#"anthill append epics 'epics[0].stories' '{"id": "story-001", "title": "Log in", "status": "pending", "points": 3}'"#,
    );
    check(
        &env,
        "anthill delete epics 'epics[id=epic-001].stories[-1]'",
        r#"
--- stderr
Deleted epics[id=epic-001].stories[-1] from epics, now at revision 3
[exit 0]
"#,
    );
    check(
        &env,
        "anthill delete epics 'epics[id=epic-002]'",
        r#"
--- stderr
error: there is no `epics[id=epic-002]`; values of `id` present: `epic-001`
[exit 4]
"#,
    );
    check(
        &env,
        "anthill delete epics . --json",
        r#"
{
  "kind": "epics",
  "revision": 4,
  "value": {
    "version": "1.0.0",
    "project_id": "myapp",
    "epics": [
      {
        "id": "epic-001",
        "title": "Sign-in",
        "status": "pending",
        "stories": []
      }
    ],
    "updated_at": "2026-01-01T00:00:04.000Z",
    "updated_by": "tester",
    "revision": 3
  }
}
[exit 0]
"#,
    );
    check(
        &env,
        "anthill get epics",
        r#"
--- stderr
error: there is no epics yet: `$TEST_ENV/user/.claude/orchestration/projects/myapp/epics.json` does not exist
hint: create it: anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'
hint: look elsewhere with --home DIR or --root DIR; `anthill schema` shows where each kind is kept
[exit 4]
"#,
    );
}

#[test]
fn validate() {
    let env = env();
    check(
        &env,
        "anthill validate",
        r#"
--- stderr
no documents yet
[exit 0]
"#,
    );
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    check(
        &env,
        "anthill validate",
        r#"
--- stderr
valid    config             $TEST_ENV/user/.claude/orchestration/config.json
[exit 0]
"#,
    );
    check(
        &env,
        "anthill validate config --json",
        r#"
[
  {
    "kind": "config",
    "path": "$TEST_ENV/user/.claude/orchestration/config.json",
    "valid": true,
    "error": null
  }
]
[exit 0]
"#,
    );
    check(
        &env,
        r#"printf '{"epics": 3}' > plan.json; anthill validate --file plan.json --as epics"#,
        r#"
--- stderr
error: `plan.json` is no valid epics: line 1, column 11: `epics`: expected an array, found `3`
hint: see what is expected: anthill schema epics
[exit 2]
"#,
    );
}

#[test]
fn schema() {
    let env = env();
    check(
        &env,
        "anthill schema | head -5",
        r#"
 KIND                WHAT                                           FILE                                              OPTION        LIST
 config              global limits, feature switches and paths      orchestration/config.json
 tools               agents and tools that work may be assigned to  orchestration/tools.json                                        tools
 epics               a project's epics and their stories            orchestration/projects/{project_id}/epics.json    --project-id  epics
 sprints             a project's sprints                            orchestration/projects/{project_id}/sprints.json  --project-id  sprints
[exit 0]
"#,
    );
    check(
        &env,
        "anthill schema team | head -6",
        r#"
{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "$id": "anthill:team",
  "title": "team",
  "description": "Who works on a project, and how many may work at once.",
  "type": "object",
[exit 0]
"#,
    );
    check(
        &env,
        "anthill schema --json | head -8",
        r#"
[
  {
    "kind": "config",
    "what": "global limits, feature switches and paths",
    "file": "orchestration/config.json",
    "option": "",
    "list": ""
  },
[exit 0]
"#,
    );
}

#[test]
fn history() {
    let env = env();
    check(
        &env,
        "anthill history config",
        r#"
--- stderr
error: there is no config yet: `$TEST_ENV/user/.claude/orchestration/config.json` does not exist
hint: create it: anthill set config global.default_project '"myapp"'   (the rest gets its defaults)
hint: look elsewhere with --home DIR or --root DIR; `anthill schema` shows where each kind is kept
[exit 4]
"#,
    );
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    given(&env, "anthill set config global.session_timeout 60 --session-id s1");
    check(
        &env,
        "anthill history config --limit 1",
        r#"
2026-01-01 00:00:03  config r2  s1 set  global.session_timeout: 3600 → 60
[exit 0]
"#,
    );
    check(
        &env,
        "anthill history config --limit 1 --json",
        r#"
[
  {
    "kind": "config",
    "revision": 2,
    "at": "2026-01-01T00:00:03.000Z",
    "by": "s1",
    "op": "set",
    "changes": [
      {
        "path": "updated_at",
        "before": "2026-01-01T00:00:02.000Z",
        "after": "2026-01-01T00:00:03.000Z"
      },
      {
        "path": "global.session_timeout",
        "before": 3600,
        "after": 60
      },
      {
        "path": "updated_by",
        "before": "tester",
        "after": "s1"
      },
      {
        "path": "revision",
        "before": 1,
        "after": 2
      }
    ]
  }
]
[exit 0]
"#,
    );
}

#[test]
fn restore() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    given(&env, "anthill set config global.session_timeout 60");
    check(
        &env,
        "anthill restore config --revision 1",
        r#"
--- stderr
Took back revision 2: set by tester, 2026-01-01T00:00:02.000Z
    global.session_timeout: 60 -> 3600
Restored config as of revision 1, now at revision 3
[exit 0]
"#,
    );
    check(
        &env,
        "anthill get config --field global.session_timeout",
        r#"
3600
[exit 0]
"#,
    );
    check(
        &env,
        "anthill restore config --revision 9",
        r#"
--- stderr
error: revision 9 of config is not kept; known are 1 to 3
hint: see them: anthill history config
[exit 4]
"#,
    );
}

#[test]
fn undo() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    given(&env, "anthill set config global.session_timeout 60");
    check(
        &env,
        "anthill undo config",
        r#"
--- stderr
Took back revision 2: set by tester, 2026-01-01T00:00:02.000Z
    global.session_timeout: 60 -> 3600
Undid the last change of config, now at revision 3
[exit 0]
"#,
    );
    check(
        &env,
        "anthill undo config",
        r#"
--- stderr
Took back revision 1: set by tester, 2026-01-01T00:00:01.000Z
    (document): {"version":"2.0.0","updated_at":"2026-01-01T00:00:03.000Z","… -> nothing
Undid the last change of config, now at revision 4
[exit 0]
"#,
    );
    check(
        &env,
        "anthill undo config",
        r#"
--- stderr
error: there is nothing to undo in config
[exit 1]
"#,
    );
}

#[test]
fn log() {
    let env = env();
    check(
        &env,
        "anthill log",
        r#"
--- stderr
nothing recorded yet
[exit 0]
"#,
    );
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    given(
        &env,
        r#"anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'"#,
    );
    check(
        &env,
        "anthill log --kind epics",
        r#"
2026-01-01 00:00:03  epics r1  tester append  new, with epic-001
[exit 0]
"#,
    );
    check(
        &env,
        "anthill log --since 2 --json | grep kind",
        r#"
    "kind": "epics",
[exit 0]
"#,
    );
    check(
        &env,
        "anthill log --since yesterday --json | grep -c kind; anthill log --since 10s --json | grep -c kind; anthill log --since whenever",
        r#"
2
2
--- stderr
error: `whenever` is no time that is understood
hint: write 90m, 2h, 3d, today, yesterday, monday, 10:30, 2026-01-31, 2026-01-31T09:30:00Z or a number of seconds
[exit 2]
"#,
    );
}

#[test]
fn doctor() {
    let env = env();
    given(&env, r#"anthill set config global.default_project '"myapp"'"#);
    check(
        &env,
        "anthill doctor",
        r#"
--- stderr
all is well: 1 document with its history; ids, dependencies, numbers; hooks, gates, settings
[exit 0]
"#,
    );
    check(
        &env,
        "anthill doctor --json",
        r#"
{
  "ok": true,
  "findings": [],
  "notes": []
}
[exit 0]
"#,
    );
    check(
        &env,
        "printf '{' > $HOME/.claude/orchestration/config.json; anthill doctor",
        r#"
--- stderr
damaged: `$TEST_ENV/user/.claude/orchestration/config.json` is damaged at line 1, column 1: EOF while parsing an object
    run `anthill doctor --repair`: it restores the last good content and keeps this file aside
[exit 7]
"#,
    );
    check(
        &env,
        "anthill doctor --repair",
        r#"
--- stderr
repaired: `$TEST_ENV/user/.claude/orchestration/config.json` is damaged at line 1, column 1: EOF while parsing an object
    restored the last good content; the bad file is `$TEST_ENV/user/.claude/orchestration/.anthill/quarantine/config.json.1`
[exit 0]
"#,
    );
    check(
        &env,
        "anthill doctor --json",
        r#"
{
  "ok": true,
  "findings": [],
  "notes": [
    "`$TEST_ENV/user/.claude/orchestration/.anthill/quarantine/config.json.1` could not be read and was replaced; remove it when nobody needs it any more"
  ]
}
[exit 0]
"#,
    );
}

#[test]
fn completions() {
    let env = env();
    check(
        &env,
        "anthill completions bash | grep -o 'complete -F _anthill .*default anthill' | sort -u",
        r#"
complete -F _anthill -o bashdefault -o default anthill
complete -F _anthill -o nosort -o bashdefault -o default anthill
[exit 0]
"#,
    );
    check(
        &env,
        "anthill completions basic 2>&1 | head -2",
        r#"
error: invalid value 'basic' for '<SHELL>'
  [possible values: bash, elvish, fish, powershell, zsh]
[exit 0]
"#,
    );
}

#[test]
fn errors_as_json() {
    let env = env();
    check(
        &env,
        "anthill get config --json",
        r#"
{
  "error": {
    "code": "not_found",
    "message": "there is no config yet: `$TEST_ENV/user/.claude/orchestration/config.json` does not exist",
    "hint": "create it: anthill set config global.default_project '\"myapp\"'   (the rest gets its defaults)\nlook elsewhere with --home DIR or --root DIR; `anthill schema` shows where each kind is kept",
    "retryable": false,
    "indeterminate": false
  }
}
[exit 4]
"#,
    );
    check(
        &env,
        "anthill set config --json",
        r#"
{
  "error": {
    "code": "invalid",
    "message": "the following required arguments were not provided:\n  <PATH>\n  <VALUE>",
    "hint": "Usage: anthill set --json <KIND> <PATH> <VALUE>\nFor more information, try '--help'.",
    "retryable": false,
    "indeterminate": false
  }
}
[exit 2]
"#,
    );
    check(
        &env,
        "anthill get confg --json",
        r#"
{
  "error": {
    "code": "invalid",
    "message": "invalid value 'confg' for '<KIND>'\n  [possible values: config, tools, epics, sprints, team, session, messages, events, hooks, tasks, mailbox, sent, triggers, trusted, pm_state, group_status, orchestrator_state, dev_to_qa, qa_to_techlead, techlead_to_dev, active_agents, agent_result, work_queue, current_session, metrics, errors, backup, workflow, task_graph, queue, workers]",
    "hint": "tip: a similar value exists: 'config'\nFor more information, try '--help'.",
    "retryable": false,
    "indeterminate": false
  }
}
[exit 2]
"#,
    );
    check(
        &env,
        "anthill xyzzy --json",
        r#"
{
  "error": {
    "code": "invalid",
    "message": "unrecognized subcommand 'xyzzy'",
    "hint": "Usage: anthill [OPTIONS] <COMMAND>\nFor more information, try '--help'.",
    "retryable": false,
    "indeterminate": false
  }
}
[exit 2]
"#,
    );
    check(
        &env,
        "anthill --json set config a 1 --expect-revision 3",
        r#"
{
  "error": {
    "code": "conflict",
    "message": "`config` is at revision 0, not 3: somebody else changed it",
    "hint": "read it again and repeat with --expect-revision 0",
    "retryable": true,
    "indeterminate": false,
    "expected": 3,
    "revision": 0
  }
}
[exit 3]
"#,
    );
    check(
        &env,
        "anthill get epics --project-id ../../x --json",
        r#"
{
  "error": {
    "code": "invalid",
    "message": "\"../../x\" is not a valid project id: use 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with `.` or `-`",
    "hint": null,
    "retryable": false,
    "indeterminate": false
  }
}
[exit 2]
"#,
    );
}

#[test]
fn near_kinds_are_suggested() {
    let env = env();
    check(
        &env,
        "anthill get confg 2>&1 | grep tip",
        r#"
  tip: a similar value exists: 'config'
[exit 0]
"#,
    );
    check(
        &env,
        "anthill list storys 2>&1 | grep tip",
        r#"
  tip: a similar value exists: 'stories'
[exit 0]
"#,
    );
    check(
        &env,
        "anthill schema workflows 2>&1 | grep tip",
        r#"
  tip: a similar value exists: 'workflow'
[exit 0]
"#,
    );
    check(
        &env,
        "anthill histori config 2>&1 | grep tip",
        r#"
  tip: some similar subcommands exist: 'restore', 'list', 'story', 'history'
[exit 0]
"#,
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    let env = env();
    let commands = [
        "get",
        "list",
        "watch",
        "set",
        "append",
        "delete",
        "validate",
        "schema",
        "history",
        "restore",
        "undo",
        "edit",
        "diff",
        "merge",
        "log",
        "on",
        "trust",
        "doctor",
        "add",
        "ready",
        "claim",
        "done",
        "show",
        "demo",
        "bench",
        "completions",
        "man",
        "update-task",
        "metrics",
        "clean",
        "hook",
        "init",
        "status",
        "explain",
        "uninstall",
        "orchestrate",
    ];
    let top = env.ok(&["--help"]).stdout;
    let nouns = [
        ("leader", 16),
        ("worker", 12),
        ("session", 7),
        ("message", 7),
        ("epic", 3),
        ("story", 6),
        ("sprint", 5),
        ("tool", 2),
        ("team", 2),
        ("error", 4),
        ("compact", 3),
        ("agents", 3),
        ("workflow", 7),
        ("pipeline", 7),
        ("loop", 10),
    ];
    for (noun, verbs) in nouns {
        let help = env.ok(&[noun, "--help"]).stdout;
        assert!(help.contains(&format!("\n  anthill {noun} ")), "{noun} shows no example:\n{help}");
        let listed = listed(&help);
        assert_eq!(listed.len(), verbs, "verbs of {noun}: {listed:?}");
        for verb in listed {
            let help = env.ok(&[noun, &verb, "--help"]).stdout;
            assert!(
                help.contains(&format!("anthill {noun} {verb}")),
                "{noun} {verb} shows no example:\n{help}"
            );
        }
    }
    for command in commands {
        let help = env.ok(&[command, "--help"]).stdout;
        assert!(help.contains(&format!("  anthill {command}")), "{command} shows no example:\n{help}");
        assert!(top.contains(&format!("\n  {command} ")), "{command} is not in the list:\n{top}");
    }
    assert_eq!(listed(&top).len(), commands.len() + nouns.len(), "a command has no test here:\n{top}");
}

/// Returns the commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn text_from_the_state_cannot_steer_a_terminal() {
    let env = env();
    given(&env, r#"anthill set config x_note '"\u001b[2J\u202e\u009b"'"#);
    for format in ["json", "table", "md"] {
        let ran = env.ok(&["get", "config", "--field", "x_note", "--format", format]);
        let steers = |text: char| text.is_control() && text != '\n' || text == '\u{202e}';
        assert!(!ran.stdout.contains(steers), "{format}: {:?}", ran.stdout);
    }
    let failed = env.run(&["get", "config", "--field", "\u{1b}[2J"]);
    assert!(!failed.stderr.contains('\u{1b}'), "{:?}", failed.stderr);
}

#[test]
fn no_message_repeats_very_much_of_what_was_typed() {
    let env = env();
    env.ok(&["leader", "init", "x"]);
    let long = "Q".repeat(5000);
    let (option, path, spaced) = (format!("--{long}"), format!("/{long}"), "Q ".repeat(2500));
    for line in [
        &[&*long][..],
        &[&option],
        &["leader", &option],
        &["get", &long],
        &["get", "queue", "--field", &long],
        &["get", &spaced],
        &["leader", "add-task", "a", "--priority", &long],
        &["leader", "add-task", "a", "--id", &long],
        &["log", "--limit", &spaced],
        &["validate", "--file", &path, "--as", "queue"],
        &["validate", "--file", "x", "--as", &long],
        &["worker", "complete", "w1", &long, "ok"],
        &["session", "show", &long],
        &["--root", &path, "status"],
        &["--color", &long, "status"],
        &["help", &long],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = env.run(&[line, json].concat());
            // What is asked for as data is whole.
            let data = if ran.code == 0 && !json.is_empty() { "" } else { &ran.stdout };
            let said = data.to_owned() + &ran.stderr;
            let most = said.lines().map(|line| line.matches('Q').count()).max();
            assert!(most <= Some(200), "{most:?} of {:?}: {said}", &line[..1]);
        }
    }
}
