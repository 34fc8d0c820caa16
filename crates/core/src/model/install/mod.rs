//! What `anthill init` puts into files that belong to others, and how it comes out again.
//!
//! Every part works on a text and returns a text: nothing here reads or writes a file. [`Insert::put`] on a text that has the
//! part already returns it to the letter, and [`Insert::take`] on a text without it likewise.

mod hooks;
mod project;
mod section;
mod server;
mod status_line;

pub use hooks::{Hook, Hooks};
pub use project::{Project, project_of};
pub use section::Section;
pub use status_line::StatusLine;

use super::hint::Hint;
use super::json::ParseError;
use super::jsonc::{Jsonc, Kind, Node};
use super::next::Next;
use crate::hint;

#[derive(Debug, Clone)]
pub enum Insert {
    Hooks(Hooks),
    /// What an earlier version registered, and nobody can start.
    Server,
    StatusLine(StatusLine),
    Section(Section),
    Project(Project),
}

impl Insert {
    /// Returns the text with this part in it, and up to date.
    pub fn put(&self, text: &str) -> Result<String, ParseError> {
        match self {
            Insert::Hooks(hooks) => hooks.put(started(text)),
            Insert::Server => self.take(text),
            Insert::StatusLine(line) if !line.wanted && !text.contains("anthill") => Ok(text.into()),
            Insert::StatusLine(line) => line.put(started(text)),
            Insert::Section(section) => section.put(text),
            Insert::Project(project) => Ok(project.put(text)),
        }
    }

    /// Returns the text without this part; what others wrote stays.
    pub fn take(&self, text: &str) -> Result<String, ParseError> {
        match self {
            Insert::Hooks(_) | Insert::Server | Insert::StatusLine(_) if text.trim().is_empty() => {
                Ok(text.into())
            }
            Insert::Hooks(hooks) => hooks.take(text),
            Insert::Server if !text.contains("anthill") => Ok(text.into()),
            Insert::Server => server::take(text),
            Insert::StatusLine(line) => line.take(text),
            Insert::Section(section) => section.take(text),
            Insert::Project(project) => Ok(project.take(text)),
        }
    }

    /// Whether a text holds nothing: what is left of a file that was made for our parts only.
    pub fn is_nothing(&self, text: &str) -> bool {
        match self {
            Insert::Section(_) | Insert::Project(_) => text.trim().is_empty(),
            Insert::Hooks(_) | Insert::Server | Insert::StatusLine(_) => matches!(text.trim(), "" | "{}"),
        }
    }

    /// Returns why this part cannot go into a text, although it should.
    pub fn refusal(&self, text: &str) -> Option<Hint> {
        match self {
            Insert::StatusLine(line) if line.wanted && line.is_taken(text) => {
                let why = "it has a status line of its own; have that one call `";
                Some(hint![why, Next::StatusLine, "` to see both"])
            }
            _ => None,
        }
    }
}

/// Whether a command line is `anthill` and these words, under whatever path and quotes.
fn calls_us(command: &str, words: &str) -> bool {
    let program = command.trim_end().strip_suffix(words).and_then(|program| program.strip_suffix(' '));
    let Some(program) = program else { return false };
    let program = program.trim_end().trim_end_matches(['"', '\'']);
    let before = program.strip_suffix("anthill").map(|before| before.chars().next_back());
    before.is_some_and(|last| last.is_none_or(|last| matches!(last, '/' | '\\' | '"' | '\'' | ' ')))
}

/// Settings begin as an empty object.
fn started(text: &str) -> &str {
    if text.trim().is_empty() { "{}\n" } else { text }
}

/// Insists on a kind of value.
fn need(document: &Jsonc<'_>, node: &Node, kind: Kind, what: &str) -> Result<(), ParseError> {
    if node.kind == kind {
        return Ok(());
    }
    let (line, column) = document.position(node);
    let wanted = if kind == Kind::Array { "a list" } else { "an object" };
    Err(ParseError { line, column, message: format!("{what} should be {wanted}") })
}
