//! What can go wrong in a store. Every I/O error knows its path.

use std::io;
use std::time::Duration;

use crate::error::Code;
use crate::model::hint::Hint;
use crate::model::next::DocName;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{subject}` would not be valid: {message}")]
    Invalid { subject: String, message: String },
    #[error("`{subject}` is too large: {size} bytes, at most {limit} are allowed")]
    TooLarge { subject: String, size: u64, limit: u64 },
    #[error("{message}")]
    Refused { message: String, hint: Hint },
    #[error("waited {:.1} s for the lock `{path}`; another process holds it", waited.as_secs_f64())]
    Busy { path: String, waited: Duration },
    #[error("cannot {action} {}", named(path))]
    Io {
        action: &'static str,
        path: String,
        /// Whether the change may have happened all the same.
        indeterminate: bool,
        #[source]
        source: io::Error,
    },
    #[error("`{path}` is damaged at line {line}, column {column}: {message}")]
    Damaged { path: String, line: usize, column: usize, message: String },
    #[error("`{path}` is damaged: {message}")]
    NotAFile { path: String, message: String },
    #[error("`{path}` is gone, and the history knows it")]
    Gone { path: String, doc: DocName },
    #[error("`{path}` has format version {found}; this anthill writes up to {known}")]
    NewerFormat { path: String, found: u64, known: u64 },
    #[error("`{path}` is on a network file system ({name}), where locks cannot be trusted")]
    NetworkFs { path: String, name: &'static str },
    #[error("`{path}` is not a directory of our own: {message}")]
    UnsupportedPlace { path: String, message: String },
}

/// Why a content cannot be written, before somebody says whose it is.
#[derive(Debug)]
pub enum Unfit {
    Invalid(String),
    TooLarge { size: u64, limit: u64 },
    Newer { found: u64, known: u64 },
}

impl Unfit {
    /// Says it of a document that people call so.
    pub fn of(self, name: impl Into<String>) -> Error {
        let name = name.into();
        match self {
            Unfit::Invalid(message) => Error::Invalid { subject: name, message },
            Unfit::TooLarge { size, limit } => Error::TooLarge { subject: name, size, limit },
            Unfit::Newer { found, known } => Error::NewerFormat { path: name, found, known },
        }
    }
}

/// Why the configuration does not tell where something is.
#[derive(Debug, thiserror::Error)]
#[error("the configuration does not tell where this is: {0}")]
pub struct Unplaced(pub Error);

impl Unplaced {
    pub fn in_error(source: &io::Error) -> Option<&Unplaced> {
        source.get_ref()?.downcast_ref()
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Error::Invalid { .. } | Error::TooLarge { .. } => Code::Invalid,
            Error::Refused { .. } => Code::Refused,
            Error::Busy { .. } => Code::Busy,
            Error::Io { source, .. } => Unplaced::in_error(source).map_or(Code::Io, |why| why.0.code()),
            Error::Damaged { .. } | Error::NotAFile { .. } | Error::Gone { .. } => Code::Damaged,
            Error::NewerFormat { .. } | Error::NetworkFs { .. } | Error::UnsupportedPlace { .. } => {
                Code::Unsupported
            }
        }
    }

    /// Says of an I/O error that the change may have happened all the same.
    pub(super) fn into_indeterminate(self) -> Error {
        match self {
            Error::Io { action, path, source, .. } => Error::Io { action, path, indeterminate: true, source },
            other => other,
        }
    }

    /// Whether we may not write there.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Error::Io { source, .. } if forbids_writing(source))
    }

    /// Whether the change may have happened although this error came back.
    pub fn indeterminate(&self) -> bool {
        matches!(self, Error::Io { indeterminate: true, .. })
    }
}

/// A project that could not be found has no path yet.
fn named(path: &str) -> String {
    if path.is_empty() { "the project".into() } else { format!("`{path}`") }
}

/// Whether a place can only be read, or not by us.
pub fn forbids_writing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}
