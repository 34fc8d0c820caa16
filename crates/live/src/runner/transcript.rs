//! What coding agents print when they run without a person: events as lines of JSON.
//!
//! Clients are recognised by their events, whatever command line started them. Everything else is plain text. Pure: bytes in, words
//! and figures out.

use anthill_core::model::clients::{self, Heard};
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
    /// What the events of the client say.
    pub heard: Heard,
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
        // Every event has to be read.
        let known = events.iter().filter(|event| clients::hear(event, &mut self.heard)).count();
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
        self.heard.words.as_deref().unwrap_or(&self.plain)
    }
}

/// Returns the lines that an agent says in an event.
fn spoken(event: &Value) -> impl Iterator<Item = &str> {
    clients::said(event).flat_map(str::lines).map(|line| head(line, SHOWN))
}

/// Returns the end of a text, from a character on.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(KEPT);
    let border = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[border..]
}

#[cfg(test)]
mod tests {
    use anthill_core::model::usage::Usage;

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
        assert_eq!((transcript.words(), transcript.heard.usage), (words, usage));
        assert_eq!(transcript.heard.error, None);
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
        let error = |text: &str| heard(text).heard.error.unwrap();
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
        assert_eq!(heard(&format!("{lost}\n{turn}")).heard.error, None);
        assert_eq!(heard(&format!("{lost}\n{CLAUDE_RESULT}")).heard.error, None);
        let gemini = r#"{"type":"result","status":"success","stats":{}}"#;
        assert_eq!(heard(&format!("{lost}\n{gemini}")).heard.error, None);
        assert_eq!(heard(lost).heard.error.as_deref(), Some("Reconnecting... 1/5"));
    }

    #[test]
    fn the_name_of_the_conversation_is_known() {
        let conversation = |text: &str| heard(text).heard.conversation.map(|name| name.to_string());
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
