//! Gemini CLI. It counts the time of hooks in milliseconds.

use serde_json::Value;

use super::client::{Client, Speech, Variables};
use super::files::{Dir, Files, Instructions, Setting};
use super::heard::{Heard, Names, message, tokens};
use super::hooks::{Denial, HookEvent, Hooks, Tool, What};
use super::run::{Run, Trust, Wants};
use crate::model::ailment::Ailment;

pub const CLIENT: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    variables: Variables {
        session_of_hooks: Some("GEMINI_SESSION_ID"),
        marks: &["GEMINI_CLI"],
        ..Variables::NONE
    },
    hooks: Hooks {
        events: &[
            HookEvent::new("SessionStart", What::SessionStart),
            HookEvent::new("SessionEnd", What::SessionEnd),
            HookEvent::new("BeforeAgent", What::Prompt),
            HookEvent::new("AfterAgent", What::Stop),
            HookEvent::new("BeforeTool", What::BeforeTool).only("write_file|replace|run_shell_command"),
            HookEvent::new("AfterTool", What::AfterTool),
            // It announces every request otherwise, as it may have to be shortened.
            HookEvent::new("PreCompress", What::BeforeCompact).only("manual"),
        ],
        timeout: 10_000,
        denial: Denial::Decision,
    },
    tools: &[
        ("run_shell_command", Tool::Shell),
        ("write_file", Tool::Edit("file_path")),
        ("replace", Tool::Edit("file_path")),
        ("write_todos", Tool::Todos),
    ],
    files: Files {
        traces: &[".gemini"],
        project: &[Dir::Project.settings(".gemini/settings.json", &[Setting::Hooks, Setting::Server])],
        user: &[Dir::User.settings(".gemini/settings.json", &[Setting::Hooks, Setting::Server])],
        local: &[],
        plugin: None,
        instructions: Instructions {
            project: &["GEMINI.md"],
            user: (Dir::User, ".gemini/GEMINI.md"),
            import: None,
        },
        advice: Some("gemini: hooks run only in a folder that you trust: start gemini here once and say so"),
    },
    run: Run {
        line: "gemini -o stream-json --approval-mode yolo -p 'Do what the text before this says.'",
        resume: "gemini --resume \"$ANTHILL_CONVERSATION\" -o stream-json --approval-mode yolo -p 'Do what the text before this says.'",
        wants: Wants::Trust(Trust {
            decided: &[
                ("GEMINI_RESTRICTED_MODE", "true", false),
                ("GEMINI_CLI_TRUST_WORKSPACE", "false", false),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true", true),
            ],
            // An editor.
            asks: "GEMINI_CLI_IDE_SERVER_PORT",
            home: "GEMINI_CLI_HOME",
            dir: ".gemini",
            settings: "settings.json",
            system: &[
                ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/etc/gemini-cli/settings.json"),
                ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "/etc/gemini-cli/system-defaults.json"),
            ],
            trusts_all: |settings| settings["security"]["folderTrust"]["enabled"] == false,
            rules: ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "trustedFolders.json"),
            trusted: ("TRUST_FOLDER", "TRUST_PARENT"),
        }),
        login: "run `gemini` and choose how to log in, or set GEMINI_API_KEY",
        place: "run `gemini` here once and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true",
        codes: &[(41, Ailment::Login), (55, Ailment::Place)],
    },
    speech: Speech {
        hear,
        said: Speech::says_nothing,
        conversation: "session_id",
        context_tokens: Speech::keeps_no_count,
    },
    ailments: &[
        (Ailment::Login, &["api key not valid", "set an auth method"]),
        (
            Ailment::Place,
            &[
                "not running in a trusted directory",
                "untrusted folder",
                "untrusted workspace",
                "folder is not trusted",
            ],
        ),
    ],
};

const FIGURES: Names = ("input_tokens", "output_tokens", &["cached"]);
const FIGURES_OF_MODEL: Names = ("prompt", "candidates", &["cached"]);

/// Takes an event of `-o stream-json`, or all of `-o json`.
fn hear(event: &Value, heard: &mut Heard) -> bool {
    match event.get("type").and_then(Value::as_str) {
        Some("result") if event.get("stats").is_some() => {
            heard.usage.add(tokens(&event["stats"], FIGURES));
            heard.error = (event["status"] == "error").then(|| message(event));
        }
        Some("message") if event["role"] == "assistant" => hear_message(event, heard),
        None if event.get("response").is_some() && event.get("stats").is_some() => {
            heard.say(&event["response"]);
            let models = event["stats"]["models"].as_object().into_iter().flatten();
            models.for_each(|(_, model)| heard.usage.add(tokens(&model["tokens"], FIGURES_OF_MODEL)));
        }
        Some("init" | "message" | "tool_use" | "tool_result") => {}
        _ => return false,
    }
    true
}

fn hear_message(event: &Value, heard: &mut Heard) {
    let said = event.get("content").and_then(Value::as_str).unwrap_or_default();
    match (&mut heard.words, event["delta"] == Value::Bool(true)) {
        (Some(words), true) => words.push_str(said),
        (words, _) => *words = Some(said.into()),
    }
}
