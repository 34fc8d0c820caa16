//! What `anthill init` puts into files that belong to others, and how it comes out again.
//!
//! Every part works on a text and returns a text: nothing here reads or writes a file. [`Part::put`] on a text that has the
//! part already returns it to the letter, and [`Part::take`] on a text without it likewise.

mod hooks;
mod section;
mod server;

pub use hooks::{Hook, Hooks};
pub use section::Section;
pub use server::Server;

use super::json::ParseError;
use super::jsonc::{Jsonc, Kind, Node};

#[derive(Debug, Clone)]
pub enum Part {
    Hooks(Hooks),
    Server(Server),
    Section(Section),
}

impl Part {
    /// Returns the text with this part in it, and up to date.
    pub fn put(&self, text: &str) -> Result<String, ParseError> {
        match self {
            Part::Hooks(hooks) => hooks.put(started(text)),
            Part::Server(server) if !server.wanted && !text.contains("anthill") => Ok(text.into()),
            Part::Server(server) => server.put(started(text)),
            Part::Section(section) => section.put(text),
        }
    }

    /// Returns the text without this part; what others wrote stays.
    pub fn take(&self, text: &str) -> Result<String, ParseError> {
        match self {
            Part::Hooks(_) | Part::Server(_) if text.trim().is_empty() => Ok(text.into()),
            Part::Hooks(hooks) => hooks.take(text),
            Part::Server(server) => server.take(text),
            Part::Section(section) => section.take(text),
        }
    }

    /// Whether a text holds nothing: what is left of a file that was made for our parts only.
    pub fn is_nothing(&self, text: &str) -> bool {
        match self {
            Part::Section(_) => text.trim().is_empty(),
            Part::Hooks(_) | Part::Server(_) => matches!(text.trim(), "" | "{}"),
        }
    }
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
