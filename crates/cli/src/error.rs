//! Errors as people and scripts see them: a code, a message, the next thing to type.

use std::any::Any;
use std::io;

use anthill_core::error::Code;
use anthill_core::failure::Failure;
use anthill_core::view::shell;
use anthill_core::{ops, store};
use serde_json::{Value, json};

use crate::conflict;
use crate::denied;
use crate::roots::{self, Stranger};
use crate::words;

#[derive(Debug)]
pub struct CliError {
    pub code: Code,
    pub message: String,
    pub hints: Vec<String>,
    pub indeterminate: bool,
    /// Facts for scripts, beside the message.
    pub details: Vec<(&'static str, Value)>,
}

pub type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    pub fn new(code: Code, message: impl Into<String>) -> CliError {
        CliError {
            code,
            message: bounded(message.into()),
            hints: Vec::new(),
            indeterminate: false,
            details: Vec::new(),
        }
    }

    pub fn invalid(message: impl Into<String>) -> CliError {
        CliError::new(Code::Invalid, message)
    }

    pub fn hinted(mut self, hint: impl Into<String>) -> CliError {
        self.hints.push(hint.into());
        self
    }

    pub fn detail(mut self, name: &'static str, value: impl Into<Value>) -> CliError {
        self.details.push((name, value.into()));
        self
    }

    pub fn bug(payload: &(dyn Any + Send)) -> CliError {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown cause");
        CliError::new(Code::Bug, format!("BUG: {text}"))
            .hinted("please report this with the command that you typed")
    }

    pub fn json(&self) -> Value {
        let facts = self.code.facts();
        let mut error = json!({
            "code": facts.word,
            "message": self.message,
            "hint": if self.hints.is_empty() { Value::Null } else { self.hints.join("\n").into() },
            "retryable": facts.retryable,
            "indeterminate": self.indeterminate,
        });
        self.details.iter().for_each(|(name, value)| error[*name] = value.clone());
        json!({ "error": error })
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> CliError {
        let Failure { code, message, hints, facts, indeterminate } = failure;
        let hints = hints.iter().map(words::in_words).collect();
        CliError { hints, indeterminate, details: facts, ..CliError::new(code, words::in_words(&message)) }
    }
}

impl From<ops::Error> for CliError {
    fn from(error: ops::Error) -> CliError {
        match error {
            ops::Error::Store(error) => error.into(),
            other => Failure::from(other).into(),
        }
    }
}

impl From<store::Error> for CliError {
    fn from(error: store::Error) -> CliError {
        if let store::Error::Io { source, .. } = &error
            && let Some(stranger) = roots::stranger(source)
        {
            return not_ours(stranger);
        }
        let mut hints = seen_here(&error);
        let mut error = CliError::from(Failure::from(error));
        hints.append(&mut error.hints);
        CliError { hints, ..error }
    }
}

/// Returns hints that come from a look at the file itself.
fn seen_here(error: &store::Error) -> Vec<String> {
    match error {
        store::Error::Damaged { path, .. } => conflict::hint(path).into_iter().collect(),
        store::Error::Io { path, source, .. } if error.code() != Code::Damaged => denied::hints(path, source),
        _ => Vec::new(),
    }
}

/// How many characters of an argument or a file a message repeats.
pub const REPEATED: usize = 200;

/// Shortens what a message repeats: texts in quotes, and very long words.
pub fn bounded(message: String) -> String {
    if message.len() <= REPEATED {
        return message;
    }
    let words = |text: &str| text.split(' ').map(cut).collect::<Vec<_>>().join(" ");
    // Every second part is in quotes.
    let parts = message.split('`').enumerate();
    let parts: Vec<String> =
        parts.map(|(at, part)| if at % 2 == 1 { cut(part) } else { words(part) }).collect();
    parts.join("`")
}

/// Shortens one text that was typed.
pub fn cut(text: &str) -> String {
    match text.chars().count() {
        length if length <= REPEATED => text.to_owned(),
        length => {
            let (first, last) = (REPEATED * 3 / 4, REPEATED / 4 - 1);
            text.chars().take(first).chain(['…']).chain(text.chars().skip(length - last)).collect()
        }
    }
}

/// An error of input or output outside the store.
pub fn io_error(action: &str, error: &io::Error) -> CliError {
    if let Some(stranger) = roots::stranger(error) {
        return not_ours(stranger);
    }
    CliError::new(Code::Io, format!("cannot {action}: {error}"))
}

/// Says how to work in somebody else's project.
fn not_ours(stranger: &Stranger) -> CliError {
    let root = shell::word(&stranger.root.display().to_string());
    CliError::new(Code::Refused, stranger.to_string())
        .hinted("make a project of your own here: mkdir .claude")
        .hinted(format!(
            "or, if you know them, name it: anthill --root {root} ..., or export ANTHILL_ROOT={root}"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_repeats_only_so_much_of_its_cause() {
        let long = "x".repeat(5000);
        for message in
            [format!("there is no `{long}`"), format!("not JSON: {long}"), format!("`{long}` `{long}`")]
        {
            let told = CliError::invalid(message.clone()).message;
            assert!(told.split(['`', ' ']).all(|part| part.chars().count() <= REPEATED), "{told}");
            assert!(told.contains('…') && told.starts_with(&message[..5]), "{told}");
        }
        let path = format!("cannot read `/{}/tasks.json`: no", "d/".repeat(200));
        assert!(CliError::invalid(path).message.ends_with("tasks.json`: no"), "the end of a path says most");
        assert_eq!(CliError::invalid("a `b` c").message, "a `b` c");
    }
}
