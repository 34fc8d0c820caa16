//! Codex CLI.

use serde_json::Value;

use super::client::{Client, Speech, Variables};
use super::files::{Dir, Files, Instructions, SHARED_INSTRUCTIONS, Setting};
use super::heard::{Heard, Names, message, tokens};
use super::hooks::{Denial, HookEvent, Hooks, Tool, What};
use super::run::{Run, Wants};
use crate::model::ailment::Ailment;

/// It lets its commands write below the working directory only, without `.git`. Its agents also commit, in worktrees too, and
/// report to anthill, whose state is in the project's root and in the home root.
macro_rules! line {
    ($rest:literal) => {
        concat!(
            "codex exec --json --sandbox workspace-write --add-dir \"$ANTHILL_ROOT\"",
            " --add-dir \"$ANTHILL_HOME/orchestration\" --add-dir \"$ANTHILL_HOME/sessions\"",
            " --add-dir \"$(git rev-parse --absolute-git-dir)\" --add-dir \"$(git rev-parse --git-common-dir)\" ",
            $rest
        )
    };
}

pub const CLIENT: Client = Client {
    name: "codex",
    title: "Codex CLI",
    variables: Variables {
        session: &["CODEX_SESSION_ID"],
        marks: &["CODEX_SANDBOX", "CODEX_SESSION_ID"],
        ..Variables::NONE
    },
    hooks: Hooks {
        events: &[
            HookEvent::new("SessionStart", What::SessionStart),
            HookEvent::new("UserPromptSubmit", What::Prompt),
            HookEvent::new("PreToolUse", What::BeforeTool).only("Bash|apply_patch"),
            HookEvent::new("PostToolUse", What::AfterTool),
            HookEvent::new("PreCompact", What::BeforeCompact),
            HookEvent::new("SubagentStart", What::AgentStart),
            HookEvent::new("SubagentStop", What::AgentStop),
            HookEvent::new("Stop", What::Stop),
            // It complains about more.
            HookEvent::new("SessionEnd", What::SessionEnd).within(3),
        ],
        timeout: 10,
        denial: Denial::Permission,
    },
    tools: &[("Bash", Tool::Shell), ("apply_patch", Tool::Patch)],
    files: Files {
        traces: &[".codex"],
        project: &[Dir::Project.settings(".codex/hooks.json", &[Setting::Hooks])],
        user: &[Dir::User.settings(".codex/hooks.json", &[Setting::Hooks])],
        local: &[],
        plugin: None,
        instructions: Instructions {
            project: &[SHARED_INSTRUCTIONS],
            user: (Dir::User, ".codex/AGENTS.md"),
            import: None,
        },
        advice: Some("codex: new and changed hooks do not run before you trust them: type /hooks in Codex"),
    },
    run: Run {
        line: line!("-"),
        resume: line!("resume \"$ANTHILL_CONVERSATION\" -"),
        wants: Wants::Repository,
        login: "run `codex login`",
        place: "run `git init`, or work inside a repository",
        codes: &[],
    },
    speech: Speech { hear, said, conversation: "thread_id", context_tokens },
    ailments: &[
        (Ailment::Login, &["log in again", "401 unauthorized", "refresh token", "sign in again"]),
        (Ailment::Place, &["not inside a trusted directory", "--skip-git-repo-check"]),
    ],
};

const FIGURES: Names = ("input_tokens", "output_tokens", &["cached_input_tokens"]);

/// Takes an event of `exec --json`.
fn hear(event: &Value, heard: &mut Heard) -> bool {
    match event["type"].as_str() {
        Some("turn.completed") => {
            heard.usage.add(tokens(&event["usage"], FIGURES));
            // What it told before, it has got over.
            heard.error = None;
        }
        Some("turn.failed" | "error") => heard.error = Some(message(event)),
        Some("item.completed") if event["item"]["type"] == "agent_message" => {
            heard.say(&event["item"]["text"]);
        }
        Some("thread.started" | "turn.started" | "item.started" | "item.updated" | "item.completed") => {}
        _ => return false,
    }
    true
}

fn said(event: &Value) -> Vec<&str> {
    let item = &event["item"];
    item["text"].as_str().filter(|_| item["type"] == "agent_message").into_iter().collect()
}

fn context_tokens(line: &Value) -> Option<u64> {
    let payload = &line["payload"];
    if payload["type"] != "token_count" {
        return None;
    }
    payload["info"]["last_token_usage"]["total_tokens"].as_u64()
}
