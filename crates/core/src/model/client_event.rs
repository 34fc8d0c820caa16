//! What a coding agent's client says to its hooks: one JSON object per event.
//!
//! They say much the same, by names that are in the table of clients. What is not understood is no event: an agent must never
//! feel that.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

pub use super::clients::What;
use super::clients::{self, Denial, Tool};
use super::ids::{Id, Key, SessionId};
use super::raw::Raw;
use super::redact::redact;

/// How a patch begins, and how its lines name files.
const PATCH: &str = "*** Begin Patch";
const PATCHES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// One event.
#[derive(Debug)]
pub struct Event {
    pub what: What,
    /// As the client calls it, to answer by the same name.
    pub name: String,
    pub session: SessionId,
    /// How the client wants to be denied a tool call.
    pub denial: Denial,
    raw: Raw,
}

/// An agent that another one has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: Key,
    pub kind: String,
}

impl Event {
    /// Reads an event; `None` for whatever is none that we know.
    pub fn read(bytes: &[u8]) -> Option<Event> {
        let text = std::str::from_utf8(bytes).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let mut raw = Raw::default();
        raw.read(bytes, 0)?;
        let name = raw.string("hook_event_name")?.into_owned();
        let (client, known) = clients::event(&name)?;
        let session = SessionId::chosen(&raw.string("session_id")?).ok()?;
        // An older registration may not say which ones are wanted.
        let is_wanted = || known.matcher.is_none() || raw.string("trigger").as_deref() == known.matcher;
        if known.what == What::BeforeCompact && !is_wanted() {
            return None;
        }
        let failed = known.what == What::AfterTool && has_failed(&raw);
        let what = if failed { What::ToolFailed } else { known.what };
        Some(Event { what, name, session, denial: client.hooks.denial, raw })
    }

    /// Returns a text that is there and not empty.
    pub fn text(&self, field: &str) -> Option<Cow<'_, str>> {
        self.raw.string(field).filter(|text| !text.is_empty())
    }

    pub fn is_true(&self, field: &str) -> bool {
        self.raw.field(field) == Some(b"true")
    }

    pub fn is_false(&self, field: &str) -> bool {
        self.raw.field(field) == Some(b"false")
    }

    /// Returns a field as a value, whatever it is.
    pub fn value(&self, field: &str) -> Value {
        let text = self.raw.field(field);
        text.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default()
    }

    /// Returns the agent that this event comes from, or is about.
    pub fn agent(&self) -> Option<Agent> {
        let id = Key::chosen(&self.text("agent_id")?).ok()?;
        Some(Agent { id, kind: self.text("agent_type").unwrap_or_default().into_owned() })
    }

    pub fn tool(&self) -> Cow<'_, str> {
        self.text("tool_name").unwrap_or_default()
    }

    /// Returns what the tool of a call does.
    pub fn does(&self) -> Option<Tool> {
        clients::tool(&self.tool())
    }

    /// Returns the files that a tool call changes, as it names them.
    pub fn edited_files(&self) -> Vec<String> {
        let field = match self.does() {
            Some(Tool::Shell | Tool::Patch) => return self.patched_files(),
            Some(Tool::Edit(field)) => field,
            _ => return Vec::new(),
        };
        let input = self.raw.object("tool_input");
        let file = input.as_ref().and_then(|input| input.string(field));
        file.filter(|file| !file.is_empty()).map(Cow::into_owned).into_iter().collect()
    }

    /// Returns the files of a patch, wherever in the input it is; those in a line of shell as seen from where that line goes.
    fn patched_files(&self) -> Vec<String> {
        // Most commands are no patches, and not worth reading.
        let input = self.raw.field("tool_input").and_then(|input| std::str::from_utf8(input).ok());
        if !input.is_some_and(|input| input.contains(PATCH)) {
            return Vec::new();
        }
        let mut texts = Vec::new();
        collect_texts(&self.value("tool_input"), &mut texts);
        texts.iter().flat_map(|text| files_of_patch(text)).collect()
    }

    /// Returns the command that a prompt or a tool call runs: `/name …`, or a skill.
    pub fn command(&self) -> Option<String> {
        let named = match self.what {
            What::Prompt => self.text("prompt")?.trim_start().strip_prefix('/')?.to_owned(),
            What::AfterTool if self.does() == Some(Tool::Skill) => {
                self.value("tool_input").get("skill")?.as_str()?.to_owned()
            }
            _ => return None,
        };
        let name = named.split_whitespace().next()?;
        // A path is no command.
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        let is_name = name.len() <= 64 && name.chars().all(fits);
        // Nor is a secret that somebody pasted.
        (is_name && matches!(redact(name), Cow::Borrowed(_))).then(|| name.to_owned())
    }

    /// Whether this prompt is no person's, but tells that something in the background has come to its end.
    pub fn is_notification(&self) -> bool {
        self.what == What::Prompt
            && self.text("prompt").is_some_and(|prompt| prompt.starts_with("<task-notification>"))
    }

    /// Whether something of the session goes on in the background.
    pub fn has_background_work(&self) -> bool {
        self.value("background_tasks").as_array().is_some_and(|tasks| {
            tasks.iter().any(|task| {
                !matches!(
                    task["status"].as_str(),
                    Some("completed" | "failed" | "killed" | "stopped" | "cancelled")
                )
            })
        })
    }
}

/// Some tell of a failed tool call by the same event.
fn has_failed(raw: &Raw) -> bool {
    let error = || raw.object("tool_response")?.field("error").map(<[u8]>::to_vec);
    // Most responses, however long, do not even have the word.
    let response = raw.field("tool_response").and_then(|response| std::str::from_utf8(response).ok());
    response.is_some_and(|response| response.contains("\"error\""))
        && error().is_some_and(|error| !matches!(&error[..], b"null" | b"\"\"" | b"false"))
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

fn files_of_patch(text: &str) -> Vec<String> {
    let Some(at) = text.find(PATCH) else { return Vec::new() };
    let dir = changed_dir(&text[..at]);
    let lines = text[at..].lines().map(str::trim_start);
    let files = lines.filter_map(|line| PATCHES.iter().find_map(|mark| line.strip_prefix(mark)));
    let files = files.map(str::trim).filter(|file| !file.is_empty());
    let placed = |file: &str| match dir {
        Some(dir) if !file.starts_with('/') => format!("{dir}/{file}"),
        _ => file.to_owned(),
    };
    files.map(placed).collect()
}

/// Returns the directory that a line of shell goes to last: `cd DIR && …`.
fn changed_dir(line: &str) -> Option<&str> {
    let starts = line.match_indices("cd ").map(|(at, _)| at);
    let is_word = |at: &usize| {
        line[..*at].chars().next_back().is_none_or(|c| c.is_whitespace() || "(;&|'\"".contains(c))
    };
    let rest = line[starts.filter(is_word).last()? + 3..].trim_start();
    let dir = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next()?,
        _ => rest.split(|c: char| c.is_whitespace() || ";&|)".contains(c)).next()?,
    };
    (!dir.is_empty()).then_some(dir)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn event(fields: &Value) -> Event {
        let mut event = json!({"session_id": "s1", "cwd": "/p"});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Event::read(event.to_string().as_bytes()).expect("an event")
    }

    #[test]
    fn names_of_all_clients_mean_the_same() {
        for known in clients::CLIENTS.iter().flat_map(|client| client.hooks.events) {
            let name = known.name;
            let read = event(&json!({"hook_event_name": name, "trigger": "manual"}));
            assert_eq!(read.what, known.what, "{name}");
        }
    }

    #[test]
    fn what_is_no_event_is_none() {
        let others = [
            "",
            "x",
            "[]",
            "{}",
            r#"{"hook_event_name": "Stop"}"#,
            r#"{"session_id": "s1"}"#,
            r#"{"session_id": 1, "hook_event_name": "Stop"}"#,
            r#"{"session_id": "../x", "hook_event_name": "Stop"}"#,
            r#"{"session_id": "s1", "hook_event_name": "Unheard"}"#,
            r#"{"session_id": "s1", "hook_event_name": ["Stop"]}"#,
            r#"{"session_id": "s1", "hook_event_name": "PreCompress", "trigger": "auto"}"#,
            r#"{"session_id": "s1", "hook_event_name": "Stop""#,
            r#"{"session_id": "s1", "hook_event_name": "Stop", x}"#,
            "{\"session_id\": \"s1\", \"hook_event_name\": \"Stop\", \"x\": \"\u{1}\"}",
        ];
        for text in others {
            assert!(Event::read(text.as_bytes()).is_none(), "{text}");
        }
        assert!(Event::read(b"{\"session_id\": \"s1\", \"hook_event_name\": \"Stop\xff\"}").is_none());
    }

    #[test]
    fn files_are_those_that_the_tool_changes() {
        let files = |tool: &str, input: Value| {
            event(&json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input}))
                .edited_files()
        };
        assert_eq!(files("Write", json!({"file_path": "/p/a.rs", "content": "file_path"})), ["/p/a.rs"]);
        assert_eq!(files("NotebookEdit", json!({"notebook_path": "n.ipynb"})), ["n.ipynb"]);
        assert!(files("Read", json!({"file_path": "/p/a.rs"})).is_empty());
        assert!(files("Edit", json!({"file_path": 7})).is_empty());
        assert!(files("Edit", json!("text")).is_empty());
        let patch = "*** Begin Patch\n*** Update File: a.rs\n-x\n+y\n*** Add File: b.rs\n*** End Patch";
        assert_eq!(files("apply_patch", json!({"command": patch})), ["a.rs", "b.rs"]);
        assert_eq!(files("apply_patch", json!(patch)), ["a.rs", "b.rs"]);
        let shell = |line: &str| {
            files("Bash", json!({"command": line.replace("PATCH", &format!("<<'EOF'\n{patch}\nEOF"))}))
        };
        for line in
            ["apply_patch PATCH", "bash -lc \"apply_patch PATCH\"", "cat x; apply_patch PATCH && cargo test"]
        {
            assert_eq!(shell(line), ["a.rs", "b.rs"], "{line}");
        }
        for line in [
            "cd sub && apply_patch PATCH",
            "(cd 'sub'; apply_patch PATCH)",
            "cd x; cd \"sub\"&&apply_patch PATCH",
        ] {
            assert_eq!(shell(line), ["sub/a.rs", "sub/b.rs"], "{line}");
        }
        assert_eq!(
            files("Bash", json!({"command": ["bash", "-lc", format!("apply_patch {patch}")]})),
            ["a.rs", "b.rs"]
        );
        assert!(shell("echo '*** Add File: x'").is_empty());
        assert_eq!(files("Write", json!({"file_path": "how-to.md", "content": patch})), ["how-to.md"]);
    }

    #[test]
    fn commands_are_words_after_a_slash_and_skills() {
        let typed = |prompt: &str| event(&json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}));
        assert_eq!(typed("/loop \"x\" --reset").command().as_deref(), Some("loop"));
        assert_eq!(typed("/plugin:skill").command().as_deref(), Some("plugin:skill"));
        for other in ["loop", "/home/me/x is broken", "/", "// x", "and /loop"] {
            assert_eq!(typed(other).command(), None, "{other}");
        }
        let skill = json!({"hook_event_name": "PostToolUse", "tool_name": "Skill", "tool_input": {"skill": "assess"}});
        assert_eq!(event(&skill).command().as_deref(), Some("assess"));
        assert!(!typed("hello").is_notification());
        assert!(typed("<task-notification>\n<task-id>a</task-id>").is_notification());
    }

    #[test]
    fn failures_and_background_work_are_seen() {
        let after = |response: Value| {
            event(&json!({"hook_event_name": "AfterTool", "tool_name": "x", "tool_response": response})).what
        };
        assert_eq!(after(json!({"llmContent": "", "error": {"message": "no"}})), What::ToolFailed);
        for fine in
            [json!({"error": null}), json!("error"), json!({"a": {"error": 1}}), json!({"x": "\"error\""})]
        {
            assert_eq!(after(fine.clone()), What::AfterTool, "{fine}");
        }
        let stop = |tasks: Value| event(&json!({"hook_event_name": "Stop", "background_tasks": tasks}));
        assert!(stop(json!([{"status": "running"}])).has_background_work());
        assert!(!stop(json!([])).has_background_work());
        assert!(!stop(json!([{"status": "completed"}])).has_background_work());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Event::read(&bytes);
        }

        #[test]
        fn no_value_makes_it_panic(value in crate::model::json::samples::values()) {
            let mut text = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Edit"});
            for field in ["tool_input", "tool_response", "prompt", "background_tasks", "agent_id"] {
                text[field] = value.clone();
            }
            let event = Event::read(text.to_string().as_bytes()).expect("an event");
            let _ = (event.edited_files(), event.command(), event.agent(), event.has_background_work());
        }
    }
}
