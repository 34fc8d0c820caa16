//! JSON with comments, read without losing a byte, and changed as text.
//!
//! Settings files belong to people: their order, indentation, comments, trailing commas and line ends are not ours to touch.
//! [`Jsonc::parse`] finds where every value stands; [`Jsonc::insert`], [`Jsonc::remove`] and [`Jsonc::replace`] return a new
//! text in which everything else is as it was. What was inserted last and is removed again leaves the text it started from,
//! except that an empty object or array loses the blanks inside it.
//!
//! Documents of the store are not read here: they are strict JSON (`json.rs`).

mod edit;

use serde_json::Value;

use super::json::{MAX_DEPTH, ParseError, position};

/// A text and where its values stand.
#[derive(Debug)]
pub struct Jsonc<'t> {
    text: &'t str,
    pub root: Node,
}

/// A value in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    start: usize,
    end: usize,
    pub entries: Vec<Entry>,
    /// Where the blanks before the closing bracket begin.
    tail: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    Scalar,
}

/// A member of an object or an item of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The member's name; items have none.
    pub key: Option<String>,
    pub value: Node,
    /// Where it begins: at its name, if it has one.
    start: usize,
    /// Where the blanks before it begin.
    lead: usize,
    /// The comma after it, also a needless one.
    comma: Option<usize>,
}

impl Node {
    /// Returns the value of a member. Of members with the same name the last counts, as in every client.
    pub fn member(&self, key: &str) -> Option<&Node> {
        self.place_of(key).map(|place| &self.entries[place].value)
    }

    /// Returns the place of a member among the entries.
    pub fn place_of(&self, key: &str) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.key.as_deref() == Some(key))
    }
}

impl<'t> Jsonc<'t> {
    pub fn parse(text: &'t str) -> Result<Jsonc<'t>, ParseError> {
        let mut scanner = Scanner { text, at: 0, depth: 0 };
        if text.starts_with('\u{feff}') {
            scanner.at = '\u{feff}'.len_utf8();
        }
        scanner.skip_trivia()?;
        let root = scanner.value()?;
        scanner.skip_trivia()?;
        match scanner.peek() {
            None => Ok(Jsonc { text, root }),
            Some(_) => Err(scanner.error("there is something after the end of the value")),
        }
    }

    /// Returns what a node means.
    pub fn value(&self, node: &Node) -> Value {
        let entries = node.entries.iter();
        match node.kind {
            Kind::Object => {
                let member =
                    |entry: &Entry| (entry.key.clone().unwrap_or_default(), self.value(&entry.value));
                Value::Object(entries.map(member).collect())
            }
            Kind::Array => entries.map(|entry| self.value(&entry.value)).collect(),
            Kind::Scalar => serde_json::from_str(&self.text[node.start..node.end]).unwrap_or_default(),
        }
    }

    /// Returns line and column where a node begins.
    pub fn position(&self, node: &Node) -> (usize, usize) {
        position(self.text.as_bytes(), node.start)
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, message: &str) -> ParseError {
        let (line, column) = position(self.text.as_bytes(), self.at);
        ParseError { line, column, message: message.into() }
    }

    /// Goes past blanks and comments; returns where the last run of blanks begins.
    fn skip_trivia(&mut self) -> Result<usize, ParseError> {
        let mut blanks = self.at;
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            match comment(&self.text[self.at..]) {
                Comment::None => return Ok(blanks),
                Comment::Open => return Err(self.error("the comment never ends")),
                Comment::Line(length) | Comment::Block(length) => self.at += length,
            }
            blanks = self.at;
        }
    }

    fn value(&mut self) -> Result<Node, ParseError> {
        match self.peek() {
            Some(b'{') => self.container(Kind::Object, b'}'),
            Some(b'[') => self.container(Kind::Array, b']'),
            Some(b'"') => {
                let start = self.at;
                self.string()?;
                Ok(scalar(start, self.at))
            }
            Some(_) => self.word(),
            None => Err(self.error("the text ends where a value should be")),
        }
    }

    fn container(&mut self, kind: Kind, close: u8) -> Result<Node, ParseError> {
        let start = self.at;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("it is nested too deeply"));
        }
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let lead = self.skip_trivia()?;
            if self.peek() == Some(close) {
                self.at += 1;
                self.depth -= 1;
                return Ok(Node { kind, start, end: self.at, entries, tail: lead });
            }
            if entries.last().is_some_and(|entry| entry.comma.is_none()) {
                return Err(self.error("a comma is missing"));
            }
            entries.push(self.entry(kind, lead)?);
        }
    }

    fn entry(&mut self, kind: Kind, lead: usize) -> Result<Entry, ParseError> {
        let start = self.at;
        let key = match kind {
            Kind::Object => Some(self.key()?),
            _ => None,
        };
        let value = self.value()?;
        // A comma may follow on another line; without one, what comes next belongs to the container.
        let end = self.at;
        self.skip_trivia()?;
        let comma = (self.peek() == Some(b',')).then_some(self.at);
        self.at = comma.map_or(end, |comma| comma + 1);
        Ok(Entry { key, value, start, lead, comma })
    }

    fn key(&mut self) -> Result<String, ParseError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("a name in quotes should be here"));
        }
        let key = self.string()?;
        self.skip_trivia()?;
        if self.peek() != Some(b':') {
            return Err(self.error("a colon is missing"));
        }
        self.at += 1;
        self.skip_trivia()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<String, ParseError> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let quoted =
            self.text.get(self.at..=end).ok_or_else(|| self.error("the text in quotes never ends"))?;
        let string =
            serde_json::from_str(quoted).map_err(|_| self.error("the text in quotes is not valid"))?;
        self.at = end + 1;
        Ok(string)
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Node, ParseError> {
        let (start, rest) = (self.at, &self.text[self.at..]);
        let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '+' | '-' | '.');
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        if serde_json::from_str::<Value>(word).is_err() {
            return Err(self.error("a value should be here"));
        }
        self.at += word.len();
        Ok(scalar(start, self.at))
    }
}

fn scalar(start: usize, end: usize) -> Node {
    Node { kind: Kind::Scalar, start, end, entries: Vec::new(), tail: end }
}

/// What a text begins with.
enum Comment {
    None,
    /// It ends before the line does.
    Line(usize),
    Block(usize),
    /// It never ends.
    Open,
}

fn comment(text: &str) -> Comment {
    if text.starts_with("//") {
        let line = text.split('\n').next().unwrap_or_default();
        return Comment::Line(line.strip_suffix('\r').unwrap_or(line).len());
    }
    match text.strip_prefix("/*") {
        None => Comment::None,
        Some(rest) => rest.find("*/").map_or(Comment::Open, |inside| Comment::Block(inside + 4)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text = "\u{feff}// head\r\n{ /* a */ \"a\": [1, -2.5, true,], // b\r\n\"b\" /**/ : {\"c\\n\": \"//\"}, }\r\n//end";
        let document = Jsonc::parse(text).unwrap();
        assert_eq!(document.value(&document.root), json!({"a": [1, -2.5, true], "b": {"c\n": "//"}}));
        assert_eq!(document.position(document.root.member("b").unwrap()), (3, 12));
        let twice = Jsonc::parse("{\"a\": 1, \"a\": 2}").unwrap();
        assert_eq!(twice.value(twice.root.member("a").unwrap()), json!(2));
    }

    #[test]
    fn what_is_wrong_is_found() {
        for (text, line, column) in [
            ("", 1, 1),
            ("{\n  \"a\": 1\n  \"b\": 2}", 3, 3),
            ("{\"a\" 1}", 1, 6),
            ("{a: 1}", 1, 2),
            ("[1, nope]", 1, 5),
            ("[1", 1, 3),
            ("{\"a\": \"x}", 1, 7),
            ("{} x", 1, 4),
            ("{ /* x }", 1, 3),
            ("[,]", 1, 2),
            ("[1,,]", 1, 4),
            ("[\"\\x\"]", 1, 2),
            ("<<<<<<< HEAD", 1, 1),
            ("[ü]", 1, 2),
        ] {
            let error = Jsonc::parse(text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
        }
        assert!(Jsonc::parse(&"[".repeat(1000)).is_err());
    }
}
