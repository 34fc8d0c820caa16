//! Our command in the status line of a client: `{"statusLine": {"type": "command", "command": C, "padding": 0}}`.

use serde_json::{Value, json};

use super::{calls_us, need};
use crate::model::json::ParseError;
use crate::model::jsonc::{Jsonc, Kind, Node};

const NAME: &str = "statusLine";

#[derive(Debug, Clone)]
pub struct StatusLine {
    pub command: String,
    /// What stands behind the program in it, whatever the program's path.
    pub words: &'static str,
    /// Whether it is added; if not, it is only kept up to date where it is.
    pub wanted: bool,
    /// What earlier installations called, in whatever form.
    pub known: Vec<String>,
}

impl StatusLine {
    /// There is one status line only: that of somebody else stays.
    pub(super) fn put(&self, text: &str) -> Result<String, ParseError> {
        let document = Jsonc::parse(text)?;
        need(&document, &document.root, Kind::Object, "the file")?;
        Ok(match document.root.member(NAME) {
            None if self.wanted => document.insert(&document.root, Some(NAME), &self.value()),
            Some(line) => match line.member("command") {
                // What else was set there is a matter of taste.
                Some(command) if self.is_ours(&document, line) && document.value(command) != self.command => {
                    document.replace(command, &self.command.as_str().into())
                }
                _ => text.into(),
            },
            None => text.into(),
        })
    }

    pub(super) fn take(&self, text: &str) -> Result<String, ParseError> {
        let document = Jsonc::parse(text)?;
        let root = &document.root;
        let ours = root.place_of(NAME).filter(|place| self.is_ours(&document, &root.entries[*place].value));
        Ok(ours.map_or_else(|| text.into(), |place| document.remove(root, place)))
    }

    /// Whether a text has a status line that is not ours.
    pub(super) fn is_taken(&self, text: &str) -> bool {
        Jsonc::parse(text).is_ok_and(|document| {
            document.root.member(NAME).is_some_and(|line| !self.is_ours(&document, line))
        })
    }

    fn value(&self) -> Value {
        json!({"type": "command", "command": self.command, "padding": 0})
    }

    fn is_ours(&self, document: &Jsonc<'_>, line: &Node) -> bool {
        let command = line.member("command").map(|command| document.value(command));
        let command = command.as_ref().and_then(Value::as_str);
        command.is_some_and(|command| {
            let known = command == self.command || self.known.iter().any(|known| known == command);
            known || calls_us(command, self.words)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(command: &str, wanted: bool) -> StatusLine {
        StatusLine {
            command: command.into(),
            words: "status --line",
            wanted,
            known: vec!["/x/ah status --line".into()],
        }
    }

    #[test]
    fn it_goes_in_is_kept_up_to_date_and_comes_out_again() {
        let line = ours("anthill status --line", true);
        for text in ["{}\n", "{ // mine\n\t\"model\": \"x\",\n}", "{\"statusline\": 1}"] {
            let with = line.put(text).unwrap();
            let document = Jsonc::parse(&with).unwrap();
            let expected = json!({"type": "command", "command": "anthill status --line", "padding": 0});
            assert_eq!(document.value(document.root.member(NAME).unwrap()), expected, "{with}");
            assert_eq!(line.put(&with).unwrap(), with);
            assert_eq!(line.take(&with).unwrap(), text);
            assert!(!line.is_taken(&with) && !line.is_taken(text));
            let moved = ours("'/a b/anthill' status --line", false);
            let renewed = moved.put(&with.replace("\"padding\": 0", "\"padding\": 2")).unwrap();
            assert!(
                renewed.contains("'/a b/anthill' status --line") && renewed.contains("\"padding\": 2"),
                "{renewed}"
            );
            assert_eq!(line.take(&renewed).unwrap(), text);
            assert_eq!(moved.put(text).unwrap(), text, "only where it is");
        }
        assert_eq!(line.take(r#"{"statusLine": {"command": "/x/ah status --line"}}"#).unwrap(), "{}");
    }

    #[test]
    fn that_of_somebody_else_stays() {
        let line = ours("anthill status --line", true);
        for value in [
            r#"{"type": "command", "command": "my-line"}"#,
            "null",
            "[]",
            r#"{"command": 1}"#,
            r#"{"command": "anthill status --line | tr a b"}"#,
        ] {
            let text = format!("{{\"statusLine\": {value}}}");
            assert!(line.is_taken(&text), "{text}");
            assert_eq!(line.put(&text).unwrap(), text);
            assert_eq!(line.take(&text).unwrap(), text);
        }
    }
}
