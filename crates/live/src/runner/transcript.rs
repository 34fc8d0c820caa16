//! What coding agents print about themselves when nobody sits before them: events as lines of JSON.
//!
//! Claude Code (`-p --output-format json` and `stream-json`), Codex (`exec --json`), Gemini CLI (`-o json` and
//! `stream-json`) and opencode (`run --format json`) are told apart by their events, so that any command line that ends
//! with one of them is understood. What is no event is plain talk. Pure: bytes in, words and figures out.

use anthill_core::model::ids::Key;
use anthill_core::model::usage::Usage;
use serde_json::Value;

use super::clip::head;

/// A line longer than this is not looked at.
const LONGEST: usize = 16 << 20;

/// How much of a line is told.
const SHOWN: usize = 8 << 10;

/// How much of plain talk is kept.
const KEPT: usize = 256 << 10;

#[derive(Debug, Default)]
pub struct Transcript {
    line: Vec<u8>,
    /// What the client says that it used.
    pub usage: Usage,
    /// What the client says went wrong.
    pub error: Option<String>,
    /// By which name the client would go on with the conversation.
    pub conversation: Option<Key>,
    /// The agent's last words by the client's events.
    words: Option<String>,
    plain: String,
}

impl Transcript {
    /// Takes all that was printed.
    #[cfg(test)]
    pub fn of(stdout: &str) -> Transcript {
        let mut transcript = Transcript::default();
        transcript.hear(stdout.as_bytes());
        transcript.hear(&[]);
        transcript
    }

    /// Takes a piece of stdout; an empty one is the end. Returns the lines that it ends, as far as people care: of
    /// events, what the agent says.
    pub fn hear(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() <= LONGEST {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_line(&mut lines);
            }
        }
        if bytes.is_empty() && !self.line.is_empty() {
            self.end_line(&mut lines);
        }
        lines
    }

    fn end_line(&mut self, lines: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let events = match serde_json::from_str(text.trim()) {
            Ok(Value::Array(events)) => events,
            Ok(event @ Value::Object(_)) => vec![event],
            Ok(_) | Err(_) => Vec::new(),
        };
        // Every one of them has to be heard.
        let known = events.iter().filter(|event| self.event(event)).count();
        if known > 0 {
            lines.extend(events.iter().flat_map(spoken).map(str::to_owned));
            return;
        }
        lines.push(head(text.trim_end_matches(['\n', '\r']), SHOWN).to_owned());
        self.plain.push_str(&text);
        if self.plain.len() > 2 * KEPT {
            self.plain = tail(&self.plain).to_owned();
        }
    }

    /// Returns the agent's last words.
    pub fn words(&self) -> &str {
        self.words.as_deref().unwrap_or(&self.plain)
    }

    /// Takes an event. Returns whether it was one.
    fn event(&mut self, event: &Value) -> bool {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        match text("type") {
            Some("result") if event.get("total_cost_usd").is_some() || event.get("subtype").is_some() => {
                self.claude_result(event);
            }
            Some("result") if event.get("stats").is_some() => self.gemini_result(event),
            Some("message") if text("role") == Some("assistant") => self.gemini_message(event),
            Some("turn.completed") => {
                self.usage.add(tokens(&event["usage"], CODEX));
                // What it told before, it has got over.
                self.error = None;
            }
            Some("turn.failed" | "error") => self.error = Some(message(event)),
            Some("item.completed") if event["item"]["type"] == "agent_message" => {
                self.words = event["item"]["text"].as_str().map(Into::into);
            }
            Some("text") if event.get("part").is_some() => {
                self.words = event["part"]["text"].as_str().map(Into::into);
            }
            Some("step_finish") if event.get("part").is_some() => self.opencode_step(&event["part"]),
            None if event.get("response").is_some() && event.get("stats").is_some() => {
                self.words = text("response").map(Into::into);
                let models = event["stats"]["models"].as_object().into_iter().flatten();
                models.for_each(|(_, model)| self.usage.add(tokens(&model["tokens"], GEMINI_MODEL)));
            }
            // Other events of these clients: nothing in them is an answer.
            Some(
                "system" | "assistant" | "user" | "init" | "message" | "tool_use" | "tool_result"
                | "step_start" | "thread.started" | "turn.started" | "item.started" | "item.updated"
                | "item.completed",
            ) => {}
            _ => return false,
        }
        let name = ["session_id", "thread_id", "sessionID"].into_iter().find_map(text);
        let name = name.and_then(|name| name.parse::<Key>().ok());
        // It becomes an argument, and must not look like an option.
        self.conversation = name.filter(|name| !name.as_str().starts_with('-')).or(self.conversation.take());
        true
    }

    fn claude_result(&mut self, event: &Value) {
        let said = event.get("result").and_then(Value::as_str);
        self.words = said.map(Into::into).or(self.words.take());
        self.usage =
            Usage { cost_usd: dollars(event.get("total_cost_usd")), ..tokens(&event["usage"], CLAUDE) };
        let failed = event["is_error"] == Value::Bool(true);
        let what = said.or_else(|| event.get("subtype").and_then(Value::as_str));
        self.error = failed.then(|| what.unwrap_or("the client says that it failed").into());
    }

    fn gemini_message(&mut self, event: &Value) {
        let said = event.get("content").and_then(Value::as_str).unwrap_or_default();
        match (&mut self.words, event["delta"] == Value::Bool(true)) {
            (Some(words), true) => words.push_str(said),
            (words, _) => *words = Some(said.into()),
        }
    }

    fn gemini_result(&mut self, event: &Value) {
        self.usage.add(tokens(&event["stats"], GEMINI));
        self.error = (event["status"] == "error").then(|| message(event));
    }

    fn opencode_step(&mut self, part: &Value) {
        let flat = |name: &str| part["tokens"]["cache"].get(name).and_then(Value::as_u64).unwrap_or(0);
        let cached_tokens = flat("read").saturating_add(flat("write"));
        let cost_usd = dollars(part.get("cost"));
        self.usage.add(Usage { cost_usd, cached_tokens, ..tokens(&part["tokens"], OPENCODE) });
    }
}

/// Returns the lines that an agent says in an event.
fn spoken(event: &Value) -> impl Iterator<Item = &str> {
    let contents = event["message"]["content"].as_array().into_iter().flatten();
    let claude = contents.filter(|_| event["type"] == "assistant").map(|part| &part["text"]);
    let codex = Some(&event["item"]["text"]).filter(|_| event["item"]["type"] == "agent_message");
    let opencode = Some(&event["part"]["text"]).filter(|_| event["type"] == "text");
    let texts = claude.chain(codex).chain(opencode).filter_map(Value::as_str);
    texts.flat_map(str::lines).map(|line| head(line, SHOWN))
}

/// The names of figures: input, output, and what is read from or written to a cache.
type Names = (&'static str, &'static str, &'static [&'static str]);

const CLAUDE: Names =
    ("input_tokens", "output_tokens", &["cache_read_input_tokens", "cache_creation_input_tokens"]);
const CODEX: Names = ("input_tokens", "output_tokens", &["cached_input_tokens"]);
const GEMINI: Names = ("input_tokens", "output_tokens", &["cached"]);
const GEMINI_MODEL: Names = ("prompt", "candidates", &["cached"]);
const OPENCODE: Names = ("input", "output", &[]);

fn tokens(value: &Value, (input, output, cached): Names) -> Usage {
    let of = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached_tokens = cached.iter().fold(0_u64, |sum, name| sum.saturating_add(of(name)));
    Usage { cost_usd: 0.0, input_tokens: of(input), output_tokens: of(output), cached_tokens }
}

fn dollars(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost > 0.0).unwrap_or(0.0)
}

/// Returns what an event says went wrong.
fn message(event: &Value) -> String {
    let error = event.get("error").unwrap_or(event);
    let data = error.get("data").unwrap_or(error);
    let text = [data.get("message"), error.get("message"), error.get("name")].into_iter().flatten();
    let Some(said) = text.filter_map(Value::as_str).next() else { return error.to_string() };
    let name = error.get("name").and_then(Value::as_str).filter(|name| *name != said);
    // What opencode knows beside the words.
    let status = data.get("statusCode").and_then(Value::as_u64).map(|status| format!(" (status {status})"));
    let wait = data["responseHeaders"].get("retry-after").and_then(Value::as_str);
    let wait = wait.map(|wait| format!(" Retry-After: {wait}"));
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}{said}{}{}", status.unwrap_or_default(), wait.unwrap_or_default())
}

/// Returns the end of a text, from a character on.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(KEPT);
    let border = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[border..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Transcript {
        let mut transcript = Transcript::default();
        for piece in text.as_bytes().chunks(7) {
            transcript.hear(piece);
        }
        transcript.hear(&[]);
        transcript
    }

    #[track_caller]
    fn check(text: &str, words: &str, (cost_usd, input, output, cached): (f64, u64, u64, u64)) {
        let transcript = heard(text);
        let usage = Usage { cost_usd, input_tokens: input, output_tokens: output, cached_tokens: cached };
        assert_eq!((transcript.words(), transcript.usage), (words, usage));
        assert_eq!(transcript.error, None);
    }

    const CLAUDE_RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":2,"result":"Done","session_id":"s","total_cost_usd":0.25,"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":4,"service_tier":"standard"}}"#;

    #[test]
    fn every_client_is_understood() {
        check(CLAUDE_RESULT, "Done", (0.25, 3, 4, 30));
        let system = r#"{"type":"system","subtype":"init","tools":[]}"#;
        let said =
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"{\"status\": \"PASS\"}"}]}}"#;
        check(&format!("{system}\n{said}\n{CLAUDE_RESULT}\n"), "Done", (0.25, 3, 4, 30));
        check(&format!("[{system},{said},{CLAUDE_RESULT}]\n"), "Done", (0.25, 3, 4, 30));
        let codex = r#"{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"ls","exit_code":0}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"First"}}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":5,"output_tokens":2}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"Last"}}
{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":1,"output_tokens":1}}"#;
        check(codex, "Last", (0.0, 11, 3, 6));
        let gemini = r#"{"type":"init","session_id":"s","model":"m"}
{"type":"message","role":"user","content":"Hello"}
{"type":"message","role":"assistant","content":"La","delta":true}
{"type":"message","role":"assistant","content":"st","delta":true}
{"type":"tool_result","tool_id":"t","status":"success","output":"x"}
{"type":"result","status":"success","stats":{"total_tokens":9,"input_tokens":7,"output_tokens":2,"cached":1}}"#;
        check(gemini, "Last", (0.0, 7, 2, 1));
        let whole = r#"{"response":"Last","stats":{"models":{"m":{"tokens":{"prompt":7,"candidates":2,"cached":1}}}}}"#;
        check(whole, "Last", (0.0, 7, 2, 1));
        let opencode = r#"{"type":"step_start","part":{"type":"step-start"}}
{"type":"text","part":{"type":"text","text":"Last"}}
{"type":"step_finish","part":{"type":"step-finish","cost":0.5,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":3,"write":4}}}}
{"type":"step_finish","part":{"type":"step-finish","cost":0.25,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":3,"write":4}}}}"#;
        check(opencode, "Last", (0.75, 2, 4, 14));
        check("plain\ntalk", "plain\ntalk", (0.0, 0, 0, 0));
    }

    #[test]
    fn people_see_what_is_said() {
        let told = |text: &str| Transcript::default().hear(text.as_bytes());
        assert_eq!(told("a\r\n\nb"), ["a", ""], "the end of b is to come");
        let claude = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"One\nTwo"},{"type":"tool_use","name":"Bash"}]}}"#;
        let user = r#"{"type":"user","message":{"content":[{"type":"text","text":"x"}]}}"#;
        assert_eq!(told(&format!("{user}\n{claude}\n{CLAUDE_RESULT}\n")), ["One", "Two"]);
        let codex = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Hello"}}"#;
        assert_eq!(told(&format!("{codex}\n")), ["Hello"]);
        assert_eq!(told("{\"type\":\"text\",\"part\":{\"text\":\"Hi\"}}\n"), ["Hi"]);
        assert_eq!(told(&format!("{}\n", "x".repeat(SHOWN + 5))), ["x".repeat(SHOWN)]);
        let mut end = Transcript::default();
        assert_eq!((end.hear(b"no end"), end.hear(&[])), (vec![], vec!["no end".to_owned()]));
    }

    #[test]
    fn what_went_wrong_is_told() {
        let error = |text: &str| heard(text).error.unwrap();
        let failed = CLAUDE_RESULT
            .replace("\"is_error\":false", "\"is_error\":true")
            .replace("Done", "API Error: 429");
        assert_eq!(error(&failed), "API Error: 429");
        assert_eq!(error(r#"{"type":"turn.failed","error":{"message":"stream closed"}}"#), "stream closed");
        assert_eq!(error(r#"{"type":"error","message":"no"}"#), "no");
        assert_eq!(
            error(r#"{"type":"error","error":{"name":"X","data":{"message":"no key"}}}"#),
            "X: no key"
        );
        assert_eq!(
            error(
                r#"{"type":"error","error":{"name":"APIError","data":{"message":"no","statusCode":429,"responseHeaders":{"retry-after":"7"}}}}"#
            ),
            "APIError: no (status 429) Retry-After: 7"
        );
        assert_eq!(error(r#"{"type":"result","status":"error","error":{"message":"no"},"stats":{}}"#), "no");
    }

    #[test]
    fn what_the_client_got_over_is_no_error() {
        let lost = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
        let turn = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#;
        assert_eq!(heard(&format!("{lost}\n{turn}")).error, None);
        assert_eq!(heard(&format!("{lost}\n{CLAUDE_RESULT}")).error, None);
        let gemini = r#"{"type":"result","status":"success","stats":{}}"#;
        assert_eq!(heard(&format!("{lost}\n{gemini}")).error, None);
        assert_eq!(heard(lost).error.as_deref(), Some("Reconnecting... 1/5"));
    }

    #[test]
    fn the_name_of_the_conversation_is_known() {
        let conversation = |text: &str| heard(text).conversation.map(|name| name.to_string());
        assert_eq!(conversation(CLAUDE_RESULT).as_deref(), Some("s"));
        let codex = r#"{"type":"thread.started","thread_id":"0199-a"}"#;
        assert_eq!(conversation(codex).as_deref(), Some("0199-a"));
        let opencode = r#"{"type":"text","sessionID":"ses_1","part":{"text":"Hi"}}"#;
        assert_eq!(conversation(opencode).as_deref(), Some("ses_1"));
        for strange in ["-rf", "a b", "$(x)", ""] {
            let event = serde_json::json!({"type": "init", "session_id": strange});
            assert_eq!(conversation(&event.to_string()), None, "{strange}");
        }
        assert_eq!(conversation(r#"{"session_id":"x"}"#), None, "no event");
    }
}
