//! What coding agents print about themselves when nobody sits before them: events as lines of JSON.
//!
//! Claude Code (`-p --output-format json` and `stream-json`), Codex (`exec --json`), Gemini CLI (`-o json` and
//! `stream-json`) and opencode (`run --format json`) are told apart by their events, so that any command line that ends
//! with one of them is understood. What is no event is plain talk. Pure: bytes in, words and figures out.

use anthill_core::model::usage::Usage;
use serde_json::{Deserializer, Map, Value};

use super::clip::head;

/// A line longer than this is not looked at.
const LONGEST: usize = 16 << 20;

/// How much of a line is told.
const SHOWN: usize = 8 << 10;

/// How much of plain talk is kept, and how much of anything is searched for an answer.
const KEPT: usize = 256 << 10;

/// How many places in a text are tried as the begin of an object.
const PLACES: usize = 5000;

#[derive(Debug, Default)]
pub struct Transcript {
    line: Vec<u8>,
    /// What the client says that it used.
    pub usage: Usage,
    /// What the client says went wrong.
    pub error: Option<String>,
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

    /// Returns the JSON object that the last line of the last words is.
    pub fn last_line_object(&self) -> Option<Map<String, Value>> {
        let line = self.words().lines().rfind(|line| !line.trim().is_empty())?;
        serde_json::from_str(line).ok()
    }

    /// Returns the last JSON object in the last words that is wanted.
    pub fn answer(&self, wanted: impl Fn(&Map<String, Value>) -> bool) -> Option<Map<String, Value>> {
        objects(tail(self.words())).into_iter().rev().find(|object| wanted(object))
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
            Some("turn.completed") => self.usage.add(tokens(&event["usage"], CODEX)),
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
        true
    }

    fn claude_result(&mut self, event: &Value) {
        let said = event.get("result").and_then(Value::as_str);
        self.words = said.map(Into::into).or(self.words.take());
        self.usage =
            Usage { cost_usd: dollars(event.get("total_cost_usd")), ..tokens(&event["usage"], CLAUDE) };
        if event["is_error"] == Value::Bool(true) {
            let what = said.or_else(|| event.get("subtype").and_then(Value::as_str));
            self.error = Some(what.unwrap_or("the client says that it failed").into());
        }
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
        if event["status"] == "error" {
            self.error = Some(message(event));
        }
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
    text.filter_map(Value::as_str).next().map_or_else(|| error.to_string(), Into::into)
}

/// Returns the end of a text, from a character on.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(KEPT);
    let border = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[border..]
}

/// Returns the JSON objects in a text, in their order, without those inside of others.
fn objects(text: &str) -> Vec<Map<String, Value>> {
    let (mut found, mut at) = (Vec::new(), 0);
    for _ in 0..PLACES {
        let Some(next) = text[at..].find('{').map(|next| at + next) else { break };
        let mut reading = Deserializer::from_str(&text[next..]).into_iter::<Value>();
        at = match reading.next() {
            Some(Ok(Value::Object(object))) => {
                found.push(object);
                next + reading.byte_offset().max(1)
            }
            _ => next + 1,
        };
    }
    found
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
        assert_eq!(error(r#"{"type":"error","error":{"name":"X","data":{"message":"no key"}}}"#), "no key");
        assert_eq!(error(r#"{"type":"result","status":"error","error":{"message":"no"},"stats":{}}"#), "no");
    }

    #[test]
    fn the_last_wanted_object_is_the_answer() {
        let answer = |text: &str| {
            let status = heard(text).answer(|object| object.get("status").is_some_and(Value::is_string));
            status.map(|object| object["status"].as_str().unwrap().to_owned())
        };
        assert_eq!(answer("talk\n{\"status\": \"PASS\"}\n\n").as_deref(), Some("PASS"));
        assert_eq!(
            answer("{\"status\": \"FAIL\"} {\"status\": \"PASS\"} {\"other\": 1}").as_deref(),
            Some("PASS")
        );
        assert_eq!(
            answer("```json\n{\n  \"status\": \"PASS\",\n \"x\": {\"status\": \"inner\"}}\n```").as_deref(),
            Some("PASS")
        );
        assert_eq!(answer(&"{\"a\":".repeat(100_000)), None);
        assert_eq!(answer(&"{{{{{".repeat(100_000)), None);
        assert_eq!(answer("{\"status\": 1} nothing"), None);
        let result = CLAUDE_RESULT.replace("Done", r#"All is well.\n\n{\"status\": \"APPROVED\"}"#);
        assert_eq!(answer(&result).as_deref(), Some("APPROVED"));
    }
}
