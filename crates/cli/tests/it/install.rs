//! `init` and `uninstall` from the outside: files of others keep every byte, whatever they look like and whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::SystemTime;

use anthill_core::model::jsonc::Jsonc;
use anthill_testkit::test_env::{Entry, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

const SETTINGS: &str = "project/.claude/settings.json";
const EVENTS: [&str; 12] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "StopFailure",
    "SessionEnd",
    "TaskCreated",
    "TaskCompleted",
];

fn entry(command: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": command, "timeout": 10}]})
}

/// Reads settings as clients do, comments and all.
#[track_caller]
fn settings(env: &TestEnv, path: &str) -> Value {
    let text = env.read_text(path);
    let document = Jsonc::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
    document.value(&document.root)
}

/// Returns which events call us, with the number of calls.
fn calls(settings: &Value) -> BTreeMap<String, usize> {
    let ours = |group: &Value| {
        let hooks = group["hooks"].as_array().into_iter().flatten();
        hooks
            .filter(|hook| hook["command"].as_str().is_some_and(|command| command.ends_with("anthill hook")))
            .count()
    };
    let events = settings["hooks"].as_object().into_iter().flatten();
    let count = |(event, groups): (&String, &Value)| {
        (event.clone(), groups.as_array().into_iter().flatten().map(ours).sum())
    };
    events.map(count).filter(|(_, count)| *count > 0).collect()
}

/// Returns the actions by path.
fn actions(answer: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = answer["changes"].as_array().unwrap().iter();
    changes.map(|change| (text(&change["path"]), text(&change["action"]))).collect()
}

/// Returns every file's time of change.
fn times(env: &TestEnv) -> Vec<(String, SystemTime)> {
    let files = env.bytes().into_keys();
    files
        .map(|path| (path.clone(), fs::symlink_metadata(env.root().join(&path)).unwrap().modified().unwrap()))
        .collect()
}

/// Insists that init, init and uninstall leave everything as it was.
#[track_caller]
fn there_and_back(env: &TestEnv, args: &[&str]) {
    let (before, dirs) = (env.bytes(), dirs(env.root()));
    let init = [&["init"], args].concat();
    env.ok(&init);
    let (with, stamps) = (env.bytes(), times(env));
    assert!(with != before, "{args:?} changed nothing");
    let again = env.ok(&init);
    assert_eq!(again.stdout, "Nothing to change\n", "{}", again.shown());
    assert!(env.bytes() == with && times(env) == stamps, "{args:?}: the second init wrote something");
    let scope: Vec<_> = args.iter().copied().skip_while(|arg| *arg != "--scope").take(2).collect();
    let uninstall = [&["uninstall"], scope.as_slice()].concat();
    env.ok(&uninstall);
    same(env, &before);
    assert_eq!(self::dirs(env.root()), dirs, "{args:?}");
    let again = env.ok(&uninstall);
    assert_eq!(again.stdout, "Nothing to remove\n", "{}", again.shown());
}

#[track_caller]
fn same(env: &TestEnv, before: &BTreeMap<String, Entry>) {
    let after = env.bytes();
    let differs = |path: &&String| after.get(*path) != before.get(*path);
    let paths: Vec<_> = after.keys().chain(before.keys()).filter(differs).collect();
    let shown = |entry: Option<&Entry>| match entry {
        Some(Entry::File(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    };
    let first = paths
        .first()
        .map(|path| format!("{}\n--- was\n{}", shown(after.get(*path)), shown(before.get(*path))));
    assert!(paths.is_empty(), "{paths:?} are not as they were:\n{}", first.unwrap_or_default());
}

fn dirs(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(root).unwrap().map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_dir())
    {
        // Rooms stay.
        if entry.file_name() != "orchestration" {
            found.push(entry.path().display().to_string());
            found.extend(dirs(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_new_project_gets_everything() {
    let env = env();
    let ran = env.ok(&["init"]);
    assert_eq!(ran.stdout, "Set up, changed 14 files\n", "{}", ran.shown());
    assert!(ran.stderr.starts_with("  create  .claude/settings.json\n  create  "), "{}", ran.shown());
    assert_eq!(ran.stderr.lines().count(), 14 + 1, "a line per file, and one more: {}", ran.shown());
    let text = env.read_text(SETTINGS);
    let settings: Value = serde_json::from_str(&text).unwrap();
    let expected: Value =
        EVENTS.iter().map(|event| ((*event).to_owned(), json!([entry("anthill hook")]))).collect();
    assert_eq!(settings, json!({"hooks": expected}));
    let protocol = env.read_text("project/CLAUDE.md");
    assert!(protocol.starts_with("<!-- anthill:begin -->\n") && protocol.ends_with("<!-- anthill:end -->\n"));
    assert!(protocol.lines().count() <= 60);
    for command in [
        "worker claim",
        "worker complete",
        "worker heartbeat",
        "worker discover",
        "message poll",
        "workflow show",
        "workflow phase ID --status completed --deliverable",
    ] {
        assert!(protocol.contains(&format!("`anthill {command}")), "{command}");
    }
    let ignored = "# anthill:begin\n.claude/state/\n!.claude/settings.json\n!.claude/anthill.toml\n!.claude/CLAUDE.md\n!.claude/agents/\n!.claude/skills/\n\
        !.claude/hooks/\n.coordination/logs/\ncoordination/logs/\n.coordination/.anthill/\ncoordination/.anthill/\n# anthill:end\n";
    assert_eq!(env.read_text("project/.gitignore"), ignored);
    for agent in ["pm", "developer", "qa-expert", "tech-lead", "worker"] {
        assert!(
            env.read_text(&format!("project/.claude/agents/anthill-{agent}.md"))
                .contains(&format!("name: anthill-{agent}\n"))
        );
    }
    for skill in ["orchestrate", "work-loop", "leader", "worker", "team-status"] {
        assert!(
            env.read_text(&format!("project/.claude/skills/{skill}/SKILL.md"))
                .contains(&format!("name: {skill}\n"))
        );
    }
    let files: Vec<_> = env.bytes().into_keys().collect();
    assert!(!files.iter().any(|file| file.contains("mcp.json") || file.contains("anthill-new")), "{files:?}");
    assert!(!env.project().join(".claude/state").exists(), "rooms come with their first document");
}

#[test]
fn there_and_back_again() {
    there_and_back(&env(), &[]);
    let guarded = env();
    guarded.ok(&["set", "config", "features.enable_edit_guard", "true"]);
    there_and_back(&guarded, &["--guard", "--status-line", "--client", "all", "--yes"]);
    there_and_back(&env(), &["--scope", "local", "--status-line"]);
    there_and_back(&env(), &["--scope", "user", "--client", "all", "--status-line"]);
    there_and_back(&env(), &["--scope", "plugin"]);
}

#[test]
fn odd_files_of_others_keep_every_byte() {
    let odd = [
        "{}",
        "{\n}",
        "",
        " \n",
        "{ }\n",
        "{\"model\":\"x\"}",
        "\u{feff}{\r\n\t\"a\": [ 1,2 ], // why\r\n\t/* more */\r\n\t\"b\" : {},\r\n}\r\n",
        "// head\n{\n      \"hooks\": { // all\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},],\n\n      },\n   \"z\": 1\n}",
        "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\n        \"matcher\": \"Write|Edit\",\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"fmt\"} // mine\n        ]\n      }\n      // end\n    ],\n    \"Notification\": []\n  }\n}\n",
        "{\"hooks\":{}}\n",
        "{\"hooks\": {\"SessionStart\": []}, \"permissions\": {\"allow\": [\"Bash(anthill *)\"]}}",
        "/* only */ { /* comments */ } // here",
    ];
    for text in odd {
        let env = env();
        env.write(SETTINGS, text);
        env.write("project/CLAUDE.md", format!("# Mine\r\n\r\n{}", text.replace('\n', "\r\n")));
        env.write("project/AGENTS.md", "no end of line");
        env.write("project/.gitignore", "target\n.claude/state/\n");
        env.ok(&["init"]);
        let with = env.read_text(SETTINGS);
        let expected = EVENTS.iter().map(|event| ((*event).to_owned(), 1)).collect();
        assert_eq!(calls(&settings(&env, SETTINGS)), expected, "{text}\n{with}");
        let theirs = [
            "// why",
            "/* more */",
            "// all",
            "say done",
            "\"fmt\"} // mine",
            "// end",
            "/* comments */",
            "// here",
        ];
        for mark in theirs.into_iter().filter(|mark| text.contains(mark)) {
            assert!(with.contains(mark), "`{mark}` is gone:\n{with}");
        }
        assert_eq!(env.read_text("project/.gitignore").matches(".claude/state/").count(), 1);
        assert!(
            !env.read_text("project/CLAUDE.md").replace("\r\n", "").contains('\n'),
            "its line ends are CRLF"
        );
        env.ok(&["uninstall"]);
        there_and_back(&env, &[]);
        there_and_back(&env, &["--status-line"]);
        assert_eq!(env.read_text(SETTINGS), text);
        assert_eq!(env.read_text("project/AGENTS.md"), "no end of line");
    }
}

#[test]
fn edits_after_init_survive_uninstall() {
    let env = env();
    env.write(SETTINGS, "{\n  \"model\": \"x\"\n}\n");
    env.write("project/CLAUDE.md", "# Mine\n");
    env.ok(&["init"]);
    let edited = env.read_text(SETTINGS).replace("\"model\": \"x\"", "\"model\": \"y\", // faster");
    let foreign = r#""Stop": [ {"hooks": [{"type": "command", "command": "say done"}]},"#;
    env.write(SETTINGS, edited.replacen("\"Stop\": [", foreign, 1));
    env.write(
        "project/CLAUDE.md",
        format!("{}\nAnd more.\n", env.read_text("project/CLAUDE.md")).replace("# Mine", "# Ours"),
    );
    env.write("project/.gitignore", format!("{}dist/\n", env.read_text("project/.gitignore")));
    env.write("project/.claude/skills/work-loop/SKILL.md", "my own loop");
    let ran = env.ok(&["uninstall"]);
    assert!(
        ran.stderr.contains("left alone: `$TEST_ENV/project/.claude/skills/work-loop/SKILL.md` was edited"),
        "{}",
        ran.shown()
    );
    assert_eq!(
        env.read_text(SETTINGS),
        "{\n  \"model\": \"y\", // faster,\n  \"hooks\": {\n    \"Stop\": [ {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}\n"
    );
    assert_eq!(env.read_text("project/CLAUDE.md"), "# Ours\n\nAnd more.\n");
    assert_eq!(env.read_text("project/.gitignore"), "dist/\n");
    let left: Vec<_> = env.bytes().into_keys().collect();
    assert_eq!(
        left,
        [
            "project/.claude/settings.json",
            "project/.claude/skills/work-loop/SKILL.md",
            "project/.gitignore",
            "project/CLAUDE.md"
        ]
    );
}

#[test]
fn what_is_older_is_renewed_in_its_place() {
    let env = env();
    let old = json!({"hooks": {
        "Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "say done"}, {"type": "command", "command": "\"$HOME/.bin/anthill\" hook"}]}],
        "SessionStart": [entry("/opt/anthill hook"), entry("anthill hook")],
        "MessageDisplay": [entry("/opt/anthill hook")],
        "Notification": [entry("my-anthill hook")],
    }});
    env.write(SETTINGS, old.to_string());
    env.write("project/CLAUDE.md", "a\n\n<!-- anthill:begin -->\nold text\n<!-- anthill:end -->\n\nb\n");
    env.write("project/.gitignore", "# anthill:begin\n.claude/state/\n# anthill:end\nmine\n");
    env.ok(&["init"]);
    let new = settings(&env, SETTINGS);
    let mut expected: BTreeMap<_, _> = EVENTS.iter().map(|event| ((*event).to_owned(), 1)).collect();
    expected.insert("Notification".into(), 1);
    assert_eq!(calls(&new), expected, "the one that only looks like ours stays, doubles go");
    assert_eq!(new["hooks"]["Stop"][0]["hooks"][1], entry("anthill hook")["hooks"][0]);
    assert_eq!(new["hooks"].get("MessageDisplay"), None);
    let claude = env.read_text("project/CLAUDE.md");
    assert!(
        claude.starts_with("a\n\n<!-- anthill:begin -->\n## ")
            && claude.ends_with("<!-- anthill:end -->\n\nb\n")
            && !claude.contains("old text")
    );
    assert!(env.read_text("project/.gitignore").ends_with("coordination/.anthill/\n# anthill:end\nmine\n"));
    env.ok(&["uninstall"]);
    assert_eq!(calls(&settings(&env, SETTINGS)), [("Notification".to_owned(), 1)].into());
    assert_eq!(env.read_text("project/CLAUDE.md"), "a\n\nb\n");
    assert_eq!(env.read_text("project/.gitignore"), "mine\n");
}

#[test]
fn the_guard_stays_until_uninstall() {
    let env = env();
    env.ok(&["init", "--guard"]);
    let guard = settings(&env, SETTINGS)["hooks"]["PreToolUse"].take();
    assert_eq!(guard[0]["matcher"], "Write|Edit|MultiEdit|NotebookEdit|Bash");
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
    env.ok(&["uninstall"]);
    assert!(!env.project().join(SETTINGS).exists());
}

/// Earlier versions could register a server that there is not.
#[test]
fn a_server_that_cannot_be_started_goes() {
    let env = env();
    fails(&env, &["init", "--mcp"], b"", 2, "invalid");
    let server = r#""anthill": {"command": "anthill", "args": ["mcp"]}"#;
    env.write("project/.mcp.json", format!("{{\"mcpServers\": {{\"x\": 1, {server}}}}}"));
    env.ok(&["init"]);
    assert_eq!(settings(&env, "project/.mcp.json"), json!({"mcpServers": {"x": 1}}));
    env.write("project/.mcp.json", "not json, and none of our business");
    env.ok(&["init"]);
    env.ok(&["uninstall"]);
}

/// Claude Code has a `/loop` of its own, which that of earlier versions hid.
#[test]
fn a_skill_of_an_earlier_version_goes_unless_it_was_edited() {
    let env = env();
    let (loop_skill, ours) = ("project/.claude/skills/loop/SKILL.md", "---\nname: loop\n---\nanthill loop\n");
    env.ok(&["init"]);
    // As if an earlier version had written it.
    env.write(loop_skill, ours);
    let record = env.bytes().into_keys().find(|path| path.contains(".anthill-install/")).unwrap();
    let mut known: Value = serde_json::from_str(&env.read_text(&record)).unwrap();
    let hash = anthill_live::hooks::fingerprint::sha256(ours.as_bytes());
    let kept = json!({"path": ".claude/skills/loop/SKILL.md", "original": null, "written": [hash]});
    known["scopes"]["project"]["files"].as_array_mut().unwrap().push(kept);
    env.write(&record, known.to_string());
    let ran = env.ok(&["init"]);
    assert!(ran.stderr.contains("  delete  .claude/skills/loop/SKILL.md\n"), "{}", ran.shown());
    assert!(!env.project().join(".claude/skills/loop").exists());
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
    env.write(loop_skill, format!("{ours}and more of mine\n"));
    let ran = env.ok(&["init"]);
    assert!(
        ran.stderr.contains("skills/loop/SKILL.md` is of an earlier anthill, or edited"),
        "{}",
        ran.shown()
    );
    env.write(loop_skill, "somebody else's");
    assert_eq!(env.ok(&["init"]).shown(), "Nothing to change\n[exit 0]\n");
}

#[test]
fn the_guard_is_turned_on_once() {
    let env = env();
    let guard = || env.json(&["get", "config", "--field", "features.enable_edit_guard"]);
    env.ok(&["init", "--guard", "--dry-run"]);
    assert!(!env.home().exists(), "a dry run decides nothing");
    let ran = env.ok(&["init", "--guard"]);
    assert!(ran.stderr.contains("the edit guard is now on"), "{}", ran.shown());
    assert_eq!(guard(), true);
    let with = env.bytes();
    let ran = env.ok(&["init", "--guard"]);
    assert!(ran.stderr.contains("the edit guard is on already"), "{}", ran.shown());
    env.ok(&["init"]);
    assert!(env.bytes() == with, "once is enough");
    let ran = env.ok(&["uninstall"]);
    let off = "the edit guard stays on; to turn it off: anthill set config features.enable_edit_guard false";
    assert!(ran.stderr.contains(off), "{}", ran.shown());
    assert_eq!(guard(), true, "what is in the rooms stays");
    env.ok(&["set", "config", "features.enable_edit_guard", "false"]);
    let ran = env.ok(&["init", "--guard"]);
    assert!(ran.stderr.contains("the edit guard stays off"), "{}", ran.shown());
    assert_eq!(guard(), false, "whoever has said no is not overruled");
    let ran = env.ok(&["uninstall"]);
    assert!(!ran.stderr.contains("edit guard"), "{}", ran.shown());
}

#[test]
fn the_guard_finds_a_configuration_without_features() {
    let env = env();
    env.write("user/.claude/orchestration/config.json", "{\"version\": \"2.0.0\", \"mine\": 1}");
    env.ok(&["init", "--guard"]);
    let config = env.json(&["get", "config"]);
    assert_eq!((&config["features"], &config["mine"]), (&json!({"enable_edit_guard": true}), &json!(1)));
}

#[test]
fn the_status_line_stays_until_uninstall() {
    let env = env();
    let line = json!({"type": "command", "command": "anthill status --line", "padding": 0});
    env.write(SETTINGS, "{\n  // mine\n  \"model\": \"x\"\n}\n");
    let before = env.bytes();
    env.ok(&["init", "--status-line"]);
    assert_eq!(settings(&env, SETTINGS)["statusLine"], line);
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
    // What it calls is renewed; what else the user has set stays.
    let text = env.read_text(SETTINGS);
    env.write(
        SETTINGS,
        text.replace("anthill status --line", "/old/anthill status --line")
            .replace("\"padding\": 0", "\"padding\": 2"),
    );
    env.ok(&["init"]);
    let renewed = settings(&env, SETTINGS)["statusLine"].take();
    assert_eq!(renewed, json!({"type": "command", "command": "anthill status --line", "padding": 2}));
    env.ok(&["uninstall"]);
    same(&env, &before);
    // It works where it was put.
    env.ok(&["init", "--status-line"]);
    env.ok(&["leader", "init", "goal"]);
    env.ok(&["leader", "add-task", "one"]);
    let command = settings(&env, SETTINGS)["statusLine"]["command"].as_str().unwrap().to_owned();
    let ran = env.sh(&format!("echo '{{\"session_id\": \"s1\"}}' | {command}"));
    assert_eq!(ran.shown(), "ants: 0/1 done\n[exit 0]\n");
}

#[test]
fn a_status_line_of_somebody_else_stays() {
    for theirs in [
        r#"{"type": "command", "command": "my-line"}"#,
        "null",
        r#"{"command": "anthill status --line | tr a b"}"#,
    ] {
        let env = env();
        env.write(SETTINGS, format!("{{\"statusLine\": {theirs}}}"));
        let before = env.bytes();
        let ran = env.ok(&["init", "--status-line"]);
        assert!(ran.stderr.contains("has a status line of its own"), "{}", ran.shown());
        let note = env.json(&["init", "--status-line"])["notes"][0].as_str().unwrap().to_owned();
        assert!(note.contains("status line of its own"), "{note}");
        assert_eq!(settings(&env, SETTINGS)["statusLine"], serde_json::from_str::<Value>(theirs).unwrap());
        let ran = env.ok(&["init"]);
        assert!(!ran.stderr.contains("status line"), "who does not ask is not told: {}", ran.shown());
        env.ok(&["uninstall"]);
        same(&env, &before);
    }
}

#[test]
fn scopes_have_files_of_their_own() {
    let env = env();
    env.write("user/.claude/settings.json", "{\"theme\": \"dark\"}\n");
    let before = env.bytes();
    env.ok(&["init", "--scope", "local"]);
    assert_eq!(calls(&settings(&env, "project/.claude/settings.local.json")).len(), EVENTS.len());
    assert!(
        !env.project().join("CLAUDE.md").exists() && !env.project().join(".claude/settings.json").exists()
    );
    env.ok(&["init", "--scope", "user"]);
    assert_eq!(calls(&settings(&env, "user/.claude/settings.json")).len(), EVENTS.len());
    assert!(env.read_text("user/.claude/CLAUDE.md").contains("anthill worker claim"));
    env.read("user/.claude/skills/leader/SKILL.md");
    env.ok(&["init"]);
    let ran = env.ok(&["uninstall"]);
    assert!(ran.stderr.contains("anthill uninstall --scope user"), "{}", ran.shown());
    assert!(!env.project().join(".claude").exists(), "both scopes of the project are gone");
    env.ok(&["uninstall", "--scope", "user"]);
    same(&env, &before);
}

#[test]
fn a_plugin_is_made_from_the_same_sources() {
    let env = env();
    let to = env.root().join("my plugins/ants");
    let ran = env.ok(&["init", "--scope", "plugin", "--to", to.to_str().unwrap(), "--guard"]);
    assert!(
        ran.stderr.contains("now type: claude plugin marketplace add '$TEST_ENV/my plugins/ants'\n"),
        "{}",
        ran.shown()
    );
    assert!(ran.stderr.contains("claude plugin install anthill@anthill"), "{}", ran.shown());
    let read = |path: &str| -> Value {
        serde_json::from_str(&env.read_text(&format!("my plugins/ants/{path}"))).unwrap()
    };
    assert_eq!(read(".claude-plugin/marketplace.json")["plugins"][0]["source"], "./plugins/anthill");
    assert_eq!(read("plugins/anthill/.claude-plugin/plugin.json")["name"], "anthill");
    assert_eq!(calls(&read("plugins/anthill/hooks/hooks.json")).len(), EVENTS.len() + 1);
    assert!(
        env.read_text("my plugins/ants/plugins/anthill/skills/team-protocol/SKILL.md")
            .contains("anthill worker claim")
    );
    env.read("my plugins/ants/plugins/anthill/agents/anthill-pm.md");
    env.ok(&["uninstall", "--scope", "plugin"]);
    assert!(!env.root().join("my plugins").exists());
}

#[test]
fn other_clients_get_what_they_read() {
    let env = env();
    env.write("project/.codex/config.toml", "model = \"x\"\n");
    env.write("project/.gemini/settings.json", "{\"theme\": \"x\", \"hooks\": {\"AfterTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]}}");
    env.write("project/opencode.json", "{}");
    env.ok(&["set", "config", "features.enable_edit_guard", "true"]);
    let before = env.bytes();
    let ran = env.ok(&["init", "--guard"]);
    assert!(ran.stderr.contains("/hooks"), "{}", ran.shown());
    let codex = settings(&env, "project/.codex/hooks.json");
    let events: Vec<_> = codex["hooks"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(codex["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 3, "Codex gives no more");
    assert_eq!(codex["hooks"]["Stop"][0]["hooks"][0]["timeout"], 10);
    assert_eq!(
        events,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PreCompact",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "SessionEnd"
        ]
    );
    let gemini = settings(&env, "project/.gemini/settings.json");
    assert_eq!(
        gemini["hooks"]["AfterTool"][1]["hooks"][0],
        json!({"type": "command", "command": "anthill hook", "timeout": 10000})
    );
    let expected =
        ["AfterAgent", "AfterTool", "BeforeAgent", "BeforeTool", "PreCompress", "SessionEnd", "SessionStart"];
    assert_eq!(calls(&gemini).into_keys().collect::<Vec<_>>(), expected);
    assert_eq!(gemini["hooks"]["PreCompress"][0]["matcher"], "manual", "others come before every request");
    assert!(
        env.read_text("project/.opencode/plugins/anthill.js").contains("const COMMAND = \"anthill hook\"\n")
    );
    for file in ["CLAUDE.md", "AGENTS.md", "GEMINI.md"] {
        assert!(env.read_text(&format!("project/{file}")).contains("anthill worker claim"), "{file}");
    }
    env.ok(&["uninstall"]);
    same(&env, &before);
    env.ok(&["init", "--client", "codex"]);
    assert!(
        !env.project().join("CLAUDE.md").exists() && !env.project().join(".claude/settings.json").exists(),
        "only what was named"
    );
    env.ok(&["init", "--client", "codex,opencode"]);
    env.ok(&["uninstall"]);
    same(&env, &before);
}

#[test]
fn instructions_that_take_in_others_get_the_protocol_once() {
    let env = env();
    env.write("project/CLAUDE.md", "# Mine\n@AGENTS.md\n");
    env.write("project/AGENTS.md", "# All\n");
    env.ok(&["init"]);
    assert_eq!(env.read_text("project/CLAUDE.md"), "# Mine\n@AGENTS.md\n");
    assert!(env.read_text("project/AGENTS.md").contains("anthill worker claim"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let env = env();
    fails(&env, &["init", "--to", "x"], b"", 2, "invalid");
    fails(&env, &["init", "--scope", "local", "--client", "codex"], b"", 2, "invalid");
    fails(&env, &["init", "--scope", "plugin", "--client", "all"], b"", 2, "invalid");
    fails(&env, &["init", "--project-id", "../x"], b"", 2, "invalid");
    fails(&env, &["init", "--scope", "plugin", "--status-line"], b"", 2, "invalid");
    fails(&env, &["init", "--client", "codex", "--status-line"], b"", 2, "invalid");
    env.ok(&["init", "--client", "all"]);
    env.ok(&["init", "--scope", "local"]);
    env.ok(&["uninstall", "--scope", "local"]);
    assert_eq!(
        env.ok(&["init", "--client", "all"]).stdout,
        "Nothing to change\n",
        "the other scope is whole"
    );
}

#[test]
fn what_cannot_be_read_is_refused_and_kept() {
    for (text, line, column) in
        [("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3), ("[]", 1, 1), ("{\"hooks\": []}", 1, 11)]
    {
        let env = env();
        env.write(SETTINGS, text);
        let error = fails(&env, &["init", "--project-id", "myapp"], b"", 7, "damaged");
        assert_eq!((&error["line"], &error["column"]), (&json!(line), &json!(column)), "{error}");
        assert!(error["path"].as_str().unwrap().ends_with("settings.json"), "{error}");
    }
    let env = env();
    env.write("project/CLAUDE.md", b"\xff\xfe#\0");
    fails(&env, &["init"], b"", 7, "damaged");
    env.write("project/CLAUDE.md", "<!-- anthill:begin -->\nno end\n");
    fails(&env, &["init"], b"", 7, "damaged");
    env.write("project/CLAUDE.md", "");
    env.ok(&["init"]);
    env.write(SETTINGS, format!("{} }}", env.read_text(SETTINGS)));
    fails(&env, &["uninstall"], b"", 7, "damaged");
    env.write(SETTINGS, "<<<<<<< HEAD\n");
    env.ok(&["uninstall"]);
    assert_eq!(env.read_text(SETTINGS), "<<<<<<< HEAD\n", "it cannot be read, and nothing of it is ours");
}

#[test]
fn a_place_that_cannot_be_written_changes_nothing() {
    let env = env();
    env.write("project/.claude", "a file");
    fails(&env, &["init"], b"", 6, "io");
    let env = self::env();
    env.write("project/.claude/skills", "a file");
    fails(&env, &["init"], b"", 6, "io");
    let env = self::env();
    let before = env.bytes();
    let ran = env.sh("trap '' XFSZ; ulimit -f 1; anthill init 2>/dev/null");
    assert_eq!(ran.code, 6, "{}", ran.shown());
    same(&env, &before);
    // Nobody can write where there is no directory to write into, not even the superuser.
    let ran =
        env.finish(env.command(&["init", "--home", "/proc/anthill", "--json"]).stdin(Stdio::null()), b"");
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (6, &json!("io")), "{}", ran.shown());
    same(&env, &before);
}

#[test]
fn an_interrupted_init_or_uninstall_is_finished_by_the_next() {
    for also in ["init", "uninstall"] {
        let env = env();
        env.write(SETTINGS, "{ \"model\": \"x\", }");
        env.write("project/CLAUDE.md", "# Mine");
        let before = env.bytes();
        // The new content of one file has no place to go to.
        let (file, obstacle) =
            (env.project().join("CLAUDE.md"), env.project().join(".CLAUDE.md.anthill-new/x"));
        fs::create_dir_all(&obstacle).unwrap();
        let ran = env.run(&["init", "--json"]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code, &error["indeterminate"]), (6, &json!(true)), "{}", ran.shown());
        assert!(error["hint"].as_str().unwrap().contains("12 of 14 files are done"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "# Mine");
        assert!(!env.project().join(".gitignore").exists(), "it comes after the one that failed");
        fs::remove_dir_all(obstacle.parent().unwrap()).unwrap();
        if also == "init" {
            env.ok(&["init"]);
            assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
            // And the other way round.
            fs::create_dir_all(env.project().join(".claude/.settings.json.anthill-new/x")).unwrap();
            assert_eq!(env.run(&["uninstall"]).code, 6);
            fs::remove_dir_all(env.project().join(".claude/.settings.json.anthill-new")).unwrap();
        }
        env.ok(&["uninstall"]);
        same(&env, &before);
    }
}

#[test]
fn what_a_killed_process_left_is_swept() {
    let env = env();
    env.write("project/.CLAUDE.md.anthill-new", "half");
    env.write("victim", "precious");
    fs::create_dir_all(env.project().join(".claude")).unwrap();
    symlink(env.root().join("victim"), env.project().join(".claude/.settings.json.anthill-new")).unwrap();
    env.ok(&["init"]);
    assert_eq!(env.read_text("victim"), "precious", "a link in our way is not followed");
    assert!(!env.bytes().keys().any(|path| path.contains("anthill-new")));
}

#[test]
fn links_are_written_through_and_permissions_stay() {
    let env = env();
    env.write("dotfiles/settings.json", "{}\n");
    env.write("project/AGENTS.md", "# All\n");
    fs::set_permissions(env.project().join("AGENTS.md"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(env.project().join(".claude")).unwrap();
    symlink("../../dotfiles/settings.json", env.project().join(".claude/settings.json")).unwrap();
    symlink("AGENTS.md", env.project().join("CLAUDE.md")).unwrap();
    let before = env.bytes();
    for line in [&["init"][..], &["init", "--dry-run"]] {
        let ran = env.run(line);
        assert!(ran.code == 1 && ran.stderr.contains("leads out of the project"), "{}", ran.shown());
        assert!(ran.stderr.contains("--follow-links"), "{}", ran.shown());
    }
    same(&env, &before);
    let ran = env.ok(&["init", "--follow-links"]);
    assert!(
        ran.stderr.contains(
            "`$TEST_ENV/project/.claude/settings.json` is a link to `$TEST_ENV/dotfiles/settings.json`"
        ),
        "{}",
        ran.shown()
    );
    assert!(
        matches!(env.bytes()[SETTINGS], Entry::Link(_))
            && matches!(env.bytes()["project/CLAUDE.md"], Entry::Link(_))
    );
    assert_eq!(calls(&settings(&env, "dotfiles/settings.json")).len(), EVENTS.len());
    let agents = env.read_text("project/AGENTS.md");
    assert_eq!(agents.matches("anthill:begin").count(), 1, "two names, one file, one section");
    let mode = |path: &str| fs::metadata(env.root().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("project/AGENTS.md"), 0o640);
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
    assert_eq!(env.run(&["uninstall"]).code, 1);
    env.ok(&["uninstall", "--follow-links"]);
    same(&env, &before);
    assert_eq!(mode("project/AGENTS.md"), 0o640);
    let record =
        |env: &TestEnv| env.bytes().into_keys().find(|path| path.contains(".anthill-install/")).unwrap();
    env.finish(env.clean("sh").args(["-c", "umask 0; anthill init --follow-links"]), b"");
    assert_eq!(mode(&record(&env)), 0o600, "settings may hold secrets");
    assert_eq!(mode("user/.claude/.anthill-install"), 0o700);
}

#[test]
fn a_dry_run_changes_nothing_and_json_tells_all() {
    let env = env();
    env.write(SETTINGS, "{}\n");
    let (before, stamps) = (env.bytes(), times(&env));
    let ran = env.ok(&["init", "--dry-run", "--project-id", "myapp"]);
    assert_eq!(ran.stdout, "Would change 14 files; nothing was written\n");
    assert!(
        ran.stderr.contains("--- a/.claude/settings.json\n+++ b/.claude/settings.json\n"),
        "{}",
        ran.shown()
    );
    let dry = env.json(&["init", "--dry-run"]);
    assert!(env.bytes() == before && times(&env) == stamps);
    assert_eq!(dry["applied"], false);
    let done = env.json(&["init"]);
    assert_eq!(done["applied"], true);
    assert_eq!(done["changes"], dry["changes"]);
    assert_eq!(actions(&done)[".claude/settings.json"], "update");
    assert_eq!(actions(&done)["CLAUDE.md"], "create");
    let diff = done["changes"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("\n-{}\n") && diff.contains("\"command\": \"anthill hook\""), "{diff}");
    assert!(actions(&env.json(&["init"])).values().all(|action| action == "none"));
    let with = env.bytes();
    let dry = env.json(&["uninstall", "--dry-run"]);
    assert!(env.bytes() == with);
    assert_eq!((&dry["applied"], actions(&dry)["CLAUDE.md"].as_str()), (&json!(false), "delete"));
    let gone = env.json(&["uninstall"]);
    assert_eq!(
        (&gone["applied"], actions(&gone)[".claude/settings.json"].as_str()),
        (&json!(true), "update")
    );
    same(&env, &before);
    assert_eq!(
        env.json(&["uninstall"])["changes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|change| change["action"] != "none")
            .count(),
        0
    );
}

#[test]
fn files_of_others_with_our_names_are_left_alone() {
    let env = env();
    let skill = "project/.claude/skills/leader/SKILL.md";
    env.write(skill, "---\nname: leader\n---\nmine\n");
    env.write("project/.claude/agents/anthill-pm.md", b"\xff");
    let before = env.bytes();
    let ran = env.ok(&["init"]);
    assert!(ran.stderr.contains(&format!("left alone: `$TEST_ENV/{skill}`")), "{}", ran.shown());
    assert_eq!(env.read_text(skill), "---\nname: leader\n---\nmine\n");
    env.ok(&["uninstall"]);
    same(&env, &before);
}

#[test]
fn a_clone_without_a_record_can_be_cleaned_too() {
    let env = env();
    env.write(SETTINGS, "{\n  \"model\": \"x\"\n}\n");
    env.write("project/CLAUDE.md", "# Mine\n");
    let before = env.bytes();
    env.ok(&["init", "--client", "all"]);
    fs::remove_dir_all(env.home()).unwrap();
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
    assert!(!env.home().exists(), "nothing was changed, so there is nothing to remember");
    env.ok(&["uninstall"]);
    // Whether these were there before, only the record knew.
    let empty = |text: &str, names: &[&str]| -> Vec<_> {
        names.iter().map(|name| (format!("project/{name}"), Entry::File(text.into()))).collect()
    };
    let mut expected = before;
    expected.extend(empty("{}\n", &[".codex/hooks.json", ".gemini/settings.json"]));
    expected.extend(empty("project = \"project\"\n", &[".claude/anthill.toml"]));
    expected.extend(empty("", &["AGENTS.md", "GEMINI.md", ".gitignore"]));
    same(&env, &expected);
}

#[test]
fn a_project_cannot_say_what_uninstall_restores() {
    let env = env();
    env.write("user/.profile", "precious\n");
    env.write("project/.claude/.anthill-install.json", "{}");
    env.write("project/.anthill-install/project.json", "{}");
    let before = env.bytes();
    env.ok(&["uninstall"]);
    same(&env, &before);
    env.ok(&["init"]);
    let record = env.bytes().into_keys().find(|path| path.contains(".anthill-install/project-")).unwrap();
    assert!(record.starts_with("user/.claude/"), "{record}");
    let whole = env.read(&record);
    env.write(&record, &whole[..whole.len() / 2]);
    fails(&env, &["init"], b"", 7, "damaged");
    fails(&env, &["uninstall"], b"", 7, "damaged");
    env.write(&record, String::from_utf8(whole).unwrap().replacen("\"version\": 1", "\"version\": 2", 1));
    fails(&env, &["uninstall"], b"", 8, "unsupported");
}

#[test]
fn every_project_has_a_name_of_its_own() {
    let env = env();
    let other = env.root().join("elsewhere/project");
    fs::create_dir_all(other.join(".git")).unwrap();
    let there = |args: &[&str]| {
        let ran = env.finish(env.command(args).current_dir(&other).env_remove("ANTHILL_ROOT"), b"");
        assert_eq!(ran.code, 0, "{}", ran.shown());
        ran
    };
    let ran = env.ok(&["init"]);
    assert!(ran.stderr.contains("this project is called `project`;"), "{}", ran.shown());
    let ran = there(&["init"]);
    assert!(ran.stderr.contains("this project is called `project-2`;"), "{}", ran.shown());
    env.ok(&["session", "start", "s1"]);
    there(&["session", "start", "s2"]);
    let event =
        json!({"session_id": "s3", "hook_event_name": "SessionStart", "source": "startup", "cwd": other});
    env.finish(
        env.command(&["hook"]).current_dir(&other).env_remove("ANTHILL_ROOT"),
        event.to_string().as_bytes(),
    );
    let project = |id: &str| env.json(&["get", "session", "--session-id", id, "--field", "project_id"]);
    assert_eq!([project("s1"), project("s2"), project("s3")], ["project", "project-2", "project-2"]);
    // Its epics are its own, too.
    there(&["epic", "add", "Sell", "--id", "e1"]);
    assert!(env.home().join("orchestration/projects/project-2/epics.json").exists());

    let ran = env.ok(&["init", "--project-id", "shop"]);
    assert!(
        ran.stderr.contains("  update  .claude/anthill.toml\nthis project is called `shop`;"),
        "{}",
        ran.shown()
    );
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n", "it keeps its name");
    env.write("project/.claude/anthill.toml", "project = \"store\"\n\n[gates.x]\nrun = \"true\"\n");
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n", "and whatever it calls itself");
    env.ok(&["session", "start", "s4"]);
    assert_eq!(project("s4"), "store");
}

#[test]
fn the_project_of_the_configuration_is_that_of_the_first_that_asks() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    let ran = env.ok(&["init"]);
    assert!(ran.stderr.contains("this project is called `myapp`;"), "{}", ran.shown());
    env.ok(&["leader", "init", "goal"]);
    let ran = env.ok(&["uninstall"]);
    assert!(ran.stderr.contains("to remove it: rm -r .coordination"), "{}", ran.shown());
}

#[test]
fn a_program_that_is_not_on_the_path_is_called_by_its_own() {
    let env = env();
    let own = env.root().join("my bin/anthill");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::copy(env.binary(), &own).unwrap();
    let before = env.bytes();
    let ran = env.finish(env.clean(&own).arg("init"), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stderr.contains("hooks call `$TEST_ENV/my bin/anthill`"), "{}", ran.shown());
    let command = format!("'{}' hook", own.display());
    assert_eq!(settings(&env, SETTINGS)["hooks"]["Stop"], json!([entry(&command)]));
    // The one on the path takes over, and knows what the other wrote.
    env.ok(&["init"]);
    assert_eq!(settings(&env, SETTINGS)["hooks"]["Stop"], json!([entry("anthill hook")]));
    env.ok(&["uninstall"]);
    same(&env, &before);
}

#[test]
fn many_at_once_do_what_one_does() {
    let env = env();
    env.write(SETTINGS, "{ \"model\": \"x\" } // mine");
    let before = env.bytes();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| env.ok(&["init"]));
        }
    });
    assert_eq!(env.ok(&["init"]).stdout, "Nothing to change\n");
    assert_eq!(calls(&settings(&env, SETTINGS)).into_values().max(), Some(1));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| env.ok(&["uninstall"]));
        }
    });
    same(&env, &before);
}
