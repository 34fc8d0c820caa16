//! Being told of changes.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::model::json;
use crate::store::error::Result;

/// Follows one document.
pub trait Watch: Send {
    /// Returns the next event, or `None` when `timeout` passed without one.
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Event>>;
}

/// Wakes when one of its documents changes, whoever changes it.
pub trait Listener: Send {
    /// Waits until something may have changed since this was made or last woke; returns false when
    /// `timeout` passed first.
    fn wait(&mut self, timeout: Option<Duration>) -> Result<bool>;
}

/// Something that happened to a watched document.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub revision: u64,
    /// When it was committed; unknown for a change made outside anthill.
    pub at: Option<String>,
    pub by: String,
    /// The operation, `edit` for a change made outside anthill, `snapshot` for the state at the start.
    pub op: String,
    /// The document as JSON without white space; `null` when it was deleted, or is told otherwise.
    pub text: Arc<String>,
    /// How a document is told that is too long to be told as a whole each time.
    pub long: Option<Long>,
    /// How many revisions were passed over before this one, because nobody fetched them in time.
    pub missed: u64,
}

/// Something of a long document.
#[derive(Debug, Clone, PartialEq)]
pub enum Long {
    /// What changed: a JSON array of changes.
    Changes(String),
    /// All of it.
    Whole(Stream),
}

/// A JSON text that is read piece by piece, once.
#[derive(Clone)]
pub struct Stream(Arc<Mutex<dyn io::Read + Send>>);

impl Stream {
    pub fn new(text: impl io::Read + Send + 'static) -> Stream {
        Stream(Arc::new(Mutex::new(text)))
    }

    /// Shows the text without white space, piece by piece.
    pub fn each_piece(&self, show: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let mut text = self.0.lock().map_err(|_| io::ErrorKind::Other)?;
        let (mut buffer, mut piece, mut dense) = (vec![0; 64 << 10], Vec::new(), Dense::default());
        loop {
            let read = text.read(&mut buffer)?;
            piece.extend(buffer[..read].iter().copied().filter(|byte| dense.keeps(*byte)));
            let whole = match std::str::from_utf8(&piece) {
                Ok(whole) => whole.len(),
                Err(error) => error.valid_up_to(),
            };
            show(std::str::from_utf8(&piece[..whole]).unwrap_or_default())?;
            piece.drain(..whole);
            if read == 0 {
                return Ok(());
            }
        }
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Stream")
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Tells white space between the parts of a JSON text from that within strings.
#[derive(Debug, Default)]
struct Dense {
    in_string: bool,
    escaped: bool,
}

impl Dense {
    fn keeps(&mut self, byte: u8) -> bool {
        match (self.in_string, self.escaped, byte) {
            (true, true, _) => self.escaped = false,
            (true, false, b'\\') => self.escaped = true,
            (_, false, b'"') => self.in_string = !self.in_string,
            (false, ..) => return !byte.is_ascii_whitespace(),
            _ => {}
        }
        true
    }
}

impl Event {
    /// An event that tells the whole document.
    pub fn new(revision: u64, at: Option<String>, by: &str, op: &str, text: impl Into<Arc<String>>) -> Event {
        let (by, op, text) = (by.to_owned(), op.to_owned(), text.into());
        Event { revision, at, by, op, text, long: None, missed: 0 }
    }

    /// Returns the document.
    pub fn value(&self) -> Value {
        json::parse(self.text.as_bytes()).expect("it was written from a value")
    }
}
