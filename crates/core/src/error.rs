//! The one table of error kinds: code word, exit code, whether to try again, HTTP status.

use std::error::Error;

/// What kind of failure it is, for people, scripts and servers alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Refused,
    Invalid,
    Conflict,
    NotFound,
    Busy,
    Io,
    Damaged,
    Unsupported,
    Bug,
}

/// How a [`Code`] shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeFacts {
    pub word: &'static str,
    pub exit: u8,
    /// Whether the same command may succeed later without a change of mind.
    pub retryable: bool,
    pub http: u16,
    pub meaning: &'static str,
}

impl Code {
    pub const ALL: [Code; 9] = [
        Code::Refused,
        Code::Invalid,
        Code::Conflict,
        Code::NotFound,
        Code::Busy,
        Code::Io,
        Code::Damaged,
        Code::Unsupported,
        Code::Bug,
    ];

    pub fn facts(self) -> CodeFacts {
        let facts = |word, exit, retryable, http, meaning| CodeFacts { word, exit, retryable, http, meaning };
        match self {
            Code::Refused => facts("refused", 1, false, 422, "refused by a rule"),
            Code::Invalid => facts("invalid", 2, false, 400, "invalid input or usage"),
            Code::Conflict => facts("conflict", 3, true, 409, "the revision or the lease moved on"),
            Code::NotFound => facts("not_found", 4, false, 404, "nothing there"),
            Code::Busy => facts("busy", 5, true, 503, "waited too long for a lock"),
            Code::Io => facts("io", 6, true, 500, "input or output failed; the old state is whole"),
            Code::Damaged => facts("damaged", 7, false, 500, "a damaged file, kept as it is"),
            Code::Unsupported => facts("unsupported", 8, false, 501, "unsupported place or newer format"),
            Code::Bug => facts("bug", 70, false, 500, "a bug of ours"),
        }
    }
}

/// Returns an error's message with those of its causes.
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
