//! opencode. Its plugin tells our hook what happens in the words of others, so it has no events of its own.

use serde_json::Value;

use super::client::{Client, Speech, Variables};
use super::files::{Dir, Files, Instructions, SHARED_INSTRUCTIONS};
use super::heard::{Heard, Names, dollars, message, tokens};
use super::hooks::{Denial, Hooks};
use super::run::{Run, Wants};
use crate::model::ailment::Ailment;
use crate::model::usage::Usage;

pub const CLIENT: Client = Client {
    name: "opencode",
    title: "opencode",
    variables: Variables { marks: &["OPENCODE"], ..Variables::NONE },
    hooks: Hooks { events: &[], timeout: 10, denial: Denial::Permission },
    tools: &[],
    files: Files {
        traces: &[".opencode", "opencode.json", "opencode.jsonc"],
        project: &[Dir::Project.script(".opencode/plugins/anthill.js", plugin)],
        user: &[Dir::User.script(".config/opencode/plugins/anthill.js", plugin)],
        local: &[],
        plugin: None,
        instructions: Instructions {
            project: &[SHARED_INSTRUCTIONS],
            user: (Dir::User, ".config/opencode/AGENTS.md"),
            import: None,
        },
        advice: None,
    },
    run: Run {
        line: "opencode run --format json",
        resume: "opencode run --session \"$ANTHILL_CONVERSATION\" --format json",
        wants: Wants::Nothing,
        login: "run `opencode auth login`",
        place: "run `opencode` here once",
        codes: &[],
    },
    speech: Speech { hear, said, conversation: "sessionID", context_tokens: Speech::keeps_no_count },
    ailments: &[(Ailment::Login, &["providerautherror"])],
};

const FIGURES: Names = ("input", "output", &[]);

/// Takes an event of `run --format json`.
fn hear(event: &Value, heard: &mut Heard) -> bool {
    let part = event.get("part");
    match (event["type"].as_str(), part) {
        (Some("text"), Some(part)) => heard.say(&part["text"]),
        (Some("step_finish"), Some(part)) => hear_step(part, heard),
        (Some("error"), _) => heard.error = Some(message(event)),
        (Some("step_start" | "tool_use"), _) => {}
        _ => return false,
    }
    true
}

fn hear_step(part: &Value, heard: &mut Heard) {
    let flat = |name: &str| part["tokens"]["cache"].get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached_tokens = flat("read").saturating_add(flat("write"));
    let cost_usd = dollars(part.get("cost"));
    heard.usage.add(Usage { cost_usd, cached_tokens, ..tokens(&part["tokens"], FIGURES) });
}

fn said(event: &Value) -> Vec<&str> {
    event["part"]["text"].as_str().filter(|_| event["type"] == "text").into_iter().collect()
}

/// Returns its plugin, which runs this command.
fn plugin(command: &str) -> String {
    include_str!("opencode.js").replace("\"@COMMAND@\"", &Value::from(command).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_calls_the_command() {
        assert!(plugin("'/a b/anthill' hook").contains("const COMMAND = \"'/a b/anthill' hook\"\n"));
    }
}
