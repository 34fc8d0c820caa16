//! Claude Code. Our home is in its home, and our events have its names.

use serde_json::{Value, json};

use super::client::{Client, Speech, Variables};
use super::files::{Dir, Files, Instructions, Plugin, Setting};
use super::heard::{Heard, Names, dollars, tokens};
use super::hooks::{Denial, HookEvent, Hooks, Tool, What};
use super::run::{Run, Wants};
use crate::model::ailment::Ailment;
use crate::model::usage::Usage;

pub const CLIENT: Client = Client {
    name: "claude",
    title: "Claude Code",
    variables: Variables {
        home: Some("CLAUDE_CONFIG_DIR"),
        project: Some("CLAUDE_PROJECT_DIR"),
        session: &["CLAUDE_CODE_SESSION_ID", SEED_SESSION],
        marks: &["CLAUDECODE"],
        inner: Some("CLAUDECODE"),
        exports: Some("CLAUDE_ENV_FILE"),
        process: Some("CLAUDE_PID"),
        ..Variables::NONE
    },
    hooks: Hooks {
        events: &[
            HookEvent::new("SessionStart", What::SessionStart),
            HookEvent::new("UserPromptSubmit", What::Prompt),
            HookEvent::new("PreToolUse", What::BeforeTool).only("Write|Edit|MultiEdit|NotebookEdit|Bash"),
            HookEvent::new("PostToolUse", What::AfterTool),
            HookEvent::new("PostToolUseFailure", What::ToolFailed),
            HookEvent::new("SubagentStart", What::AgentStart),
            HookEvent::new("SubagentStop", What::AgentStop),
            HookEvent::new("PreCompact", What::BeforeCompact),
            HookEvent::new("Stop", What::Stop),
            HookEvent::new("StopFailure", What::TurnFailed),
            HookEvent::new("SessionEnd", What::SessionEnd),
            HookEvent::new("TaskCreated", What::TaskCreated),
            HookEvent::new("TaskCompleted", What::TaskCompleted),
        ],
        timeout: 10,
        denial: Denial::Permission,
    },
    tools: &[
        ("Bash", Tool::Shell),
        ("Edit", Tool::Edit("file_path")),
        ("Write", Tool::Edit("file_path")),
        ("MultiEdit", Tool::Edit("file_path")),
        ("NotebookEdit", Tool::Edit("notebook_path")),
        ("Agent", Tool::Agent),
        ("Task", Tool::Agent),
        ("Skill", Tool::Skill),
        ("TodoWrite", Tool::Todos),
        ("TaskCreate", Tool::TaskCreate),
        ("TaskUpdate", Tool::TaskUpdate),
    ],
    files: Files {
        traces: &[".claude"],
        project: &[
            Dir::Project.settings(".claude/settings.json", SETTINGS),
            Dir::Project.settings(".mcp.json", &[Setting::Server]),
            Dir::Project.team(".claude"),
        ],
        user: &[Dir::Home.settings("settings.json", SETTINGS), Dir::Home.team("")],
        local: &[Dir::Project.settings(".claude/settings.local.json", SETTINGS)],
        plugin: Some(Plugin {
            dir: "plugins/anthill",
            protocol: "skills/team-protocol/SKILL.md",
            documents: plugin,
            install: |dir| {
                vec![
                    format!("now type: claude plugin marketplace add {dir}"),
                    "and then: claude plugin install anthill@anthill".into(),
                ]
            },
            removed: "Claude Code still knows the plugin: claude plugin uninstall anthill@anthill, claude plugin marketplace remove anthill",
        }),
        instructions: Instructions {
            project: &["CLAUDE.md", ".claude/CLAUDE.md"],
            user: (Dir::Home, "CLAUDE.md"),
            import: Some("@AGENTS.md"),
        },
        advice: None,
    },
    run: Run {
        line: "claude -p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools 'Bash Edit Write'",
        resume: "claude -p --resume \"$ANTHILL_CONVERSATION\" --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools 'Bash Edit Write'",
        wants: Wants::Nothing,
        login: "run `claude` and type /login",
        place: "run `claude` here once and trust the folder",
        codes: &[],
    },
    speech: Speech { hear, said, conversation: "session_id", context_tokens },
    ailments: &[
        (Ailment::Limit, &["hit your limit", "session limit", "weekly limit", "out of extra usage"]),
        (Ailment::Credit, &["credit balance is too low", "billing_error"]),
        (
            Ailment::Login,
            &[
                "please run /login",
                "run /login",
                "authentication_error",
                "authentication_failed",
                "invalid x-api-key",
                "invalid bearer token",
                "token revoked",
            ],
        ),
    ],
};

/// As older versions and the seeds name the session.
pub(super) const SEED_SESSION: &str = "CLAUDE_SESSION_ID";

const SETTINGS: &[Setting] = &[Setting::Hooks, Setting::StatusLine];

const FIGURES: Names =
    ("input_tokens", "output_tokens", &["cache_read_input_tokens", "cache_creation_input_tokens"]);

/// Takes an event of `-p --output-format json` or `stream-json`.
fn hear(event: &Value, heard: &mut Heard) -> bool {
    match event["type"].as_str() {
        Some("result") if event.get("total_cost_usd").is_some() || event.get("subtype").is_some() => {
            hear_result(event, heard);
            true
        }
        kind => matches!(kind, Some("system" | "assistant" | "user")),
    }
}

fn hear_result(event: &Value, heard: &mut Heard) {
    let said = event.get("result").and_then(Value::as_str);
    heard.words = said.map(Into::into).or(heard.words.take());
    heard.usage =
        Usage { cost_usd: dollars(event.get("total_cost_usd")), ..tokens(&event["usage"], FIGURES) };
    let failed = event["is_error"] == Value::Bool(true);
    let what = said.or_else(|| event.get("subtype").and_then(Value::as_str));
    heard.error = failed.then(|| what.unwrap_or("the client says that it failed").into());
}

fn said(event: &Value) -> Vec<&str> {
    let parts = event["message"]["content"].as_array().into_iter().flatten();
    parts.filter(|_| event["type"] == "assistant").filter_map(|part| part["text"].as_str()).collect()
}

/// The answer's usage. What its other agents use stands in the record too, or beside it.
fn context_tokens(line: &Value) -> Option<u64> {
    if line["type"] != "assistant" || line["isSidechain"] == true {
        return None;
    }
    let usage = line["message"]["usage"].as_object()?;
    let count = |field: &str| usage.get(field).and_then(Value::as_u64).unwrap_or(0);
    let counts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    Some(counts.map(count).iter().fold(0, |sum, count| sum.saturating_add(*count)))
}

fn plugin(hooks: &Value, version: &str) -> Vec<(&'static str, Value)> {
    let about = "Lets sessions work as a team: tasks, messages, workflow and progress through shared files";
    let marketplace = json!({
        "name": "anthill",
        "description": about,
        "owner": {"name": "anthill"},
        "plugins": [{"name": "anthill", "source": "./plugins/anthill", "description": about}],
    });
    let manifest = json!({"name": "anthill", "version": version, "description": about, "author": {"name": "anthill"}, "license": "MIT OR Apache-2.0"});
    vec![
        (".claude-plugin/marketplace.json", marketplace),
        ("plugins/anthill/.claude-plugin/plugin.json", manifest),
        ("plugins/anthill/hooks/hooks.json", json!({"description": about, "hooks": hooks})),
    ]
}
