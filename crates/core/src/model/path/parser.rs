//! Reading a path expression.

use std::str::FromStr;

use super::{MAX_BYTES, MAX_SEGMENTS, Path, PathSyntaxError, Segment};
use crate::model::key_text::is_reserved;

impl Path {
    /// Reads a path out of a record (a misfit, a change), where the empty text is the whole document.
    ///
    /// Such a path was printed from a document that is already there, so no limits apply.
    pub fn from_record(text: &str) -> Result<Self, PathSyntaxError> {
        if text.is_empty() { Ok(Path::root()) } else { Parser::new(text).path() }
    }
}

impl FromStr for Path {
    type Err = PathSyntaxError;

    fn from_str(text: &str) -> Result<Self, PathSyntaxError> {
        check_limit(text.len(), "bytes", MAX_BYTES)?;
        let path = Parser::new(text).path()?;
        check_limit(path.0.len(), "segments", MAX_SEGMENTS)?;
        let reserved = path.0.iter().find_map(|segment| match segment {
            Segment::Key(key) if is_reserved(key) => Some(key.clone()),
            _ => None,
        });
        reserved.map_or(Ok(path), |key| Err(PathSyntaxError::Reserved(key)))
    }
}

fn check_limit(found: usize, unit: &'static str, limit: usize) -> Result<(), PathSyntaxError> {
    if found <= limit { Ok(()) } else { Err(PathSyntaxError::TooLong { found, unit, limit }) }
}

/// Reads a path from left to right.
struct Parser<'t> {
    text: &'t str,
    /// Offset of the next byte.
    at: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Parser { text, at: 0 }
    }

    fn path(mut self) -> Result<Path, PathSyntaxError> {
        if self.text == "." || self.text == "$" {
            return Ok(Path::root());
        }
        if self.text.starts_with("$.") || self.text.starts_with("$[") {
            self.at = 1;
        }
        let mut segments = vec![self.first()?];
        while !self.rest().is_empty() {
            segments.push(self.next()?);
        }
        Ok(Path(segments))
    }

    fn first(&mut self) -> Result<Segment, PathSyntaxError> {
        if self.rest().starts_with(['.', '[']) { self.next() } else { self.key() }
    }

    fn next(&mut self) -> Result<Segment, PathSyntaxError> {
        if self.take("[") {
            return self.bracket();
        }
        if self.take(".") {
            return self.key();
        }
        Err(self.expected("`.`, `[` or the end of the path"))
    }

    fn key(&mut self) -> Result<Segment, PathSyntaxError> {
        match self.word() {
            "" => Err(self.expected("a key (quote it as `[\"...\"]` if it is not a plain word)")),
            word => Ok(Segment::Key(word.to_owned())),
        }
    }

    fn bracket(&mut self) -> Result<Segment, PathSyntaxError> {
        const WANTED: &str = "an index, `key=value` or a quoted key";
        let wanted = self.expected(WANTED);
        let quoted = self.quoted()?;
        let word = quoted.clone().unwrap_or_else(|| self.word().to_owned());
        if word.is_empty() && quoted.is_none() {
            return Err(wanted);
        }
        if self.take("=") {
            return self.selector(word);
        }
        let index = word.parse().map(Segment::Index);
        let segment = quoted.map(Segment::Key).map_or(index, Ok).map_err(|_| wanted)?;
        self.close().map(|()| segment)
    }

    fn selector(&mut self, key: String) -> Result<Segment, PathSyntaxError> {
        let value = match self.quoted()? {
            Some(text) => text,
            None => self.until(&[']']).to_owned(),
        };
        if self.text[..self.at].ends_with('=') && value.is_empty() {
            return Err(self.expected("a value"));
        }
        self.close().map(|()| Segment::Select { key, value })
    }

    fn close(&mut self) -> Result<(), PathSyntaxError> {
        if self.take("]") { Ok(()) } else { Err(self.expected("`]`")) }
    }

    /// Takes a JSON string, if one begins here.
    fn quoted(&mut self) -> Result<Option<String>, PathSyntaxError> {
        if !self.rest().starts_with('"') {
            return Ok(None);
        }
        let mut strings = serde_json::Deserializer::from_str(self.rest()).into_iter();
        let Some(Ok(text)) = strings.next() else {
            return Err(self.expected("a JSON string with its closing quote"));
        };
        self.at += strings.byte_offset();
        Ok(Some(text))
    }

    /// Takes what `push_key` would print without quotes.
    fn word(&mut self) -> &'t str {
        self.until(&['.', '[', ']', '"', '=', '\\'])
    }

    fn until(&mut self, stops: &[char]) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(stops).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn expected(&self, expected: &'static str) -> PathSyntaxError {
        let column = 1 + self.text[..self.at].chars().count();
        PathSyntaxError::Unexpected { path: self.text.to_owned(), column, expected }
    }
}
