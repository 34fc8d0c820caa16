//! What was told of a file last, so that the next edit of it is told from the part that it changes.
//!
//! Another program mostly changes one field or one item. Everything around that has been read, checked and told
//! before: only the part in which old and new bytes differ is parsed and checked, and takes its place in the text
//! that was told. What does not fit in here (a new item, an id, damage) is left to a look at the whole file.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::model::json;
use crate::model::kind::{Doc, Items};
use crate::model::raw::{self, Raw, Walk};
use crate::model::shape::Shape;

/// Parts are at most so deep in the document: its fields, the items or fields of these, and the fields of items. They take
/// as much memory as a long list itself: there the items have to do.
const DEPTH: usize = 3;
const LONG_DEPTH: usize = 2;
const LONG: usize = 1 << 20;

/// A file, and the document as the next edit of it will be told, but for the part that it changes.
pub struct Told {
    pub bytes: Vec<u8>,
    pub text: Arc<String>,
    /// What the next edit counts as.
    pub revision: u64,
    /// In the order of the file, a part before those inside it.
    parts: Vec<Part>,
}

/// A value inside the document that can be another without a look at the rest.
struct Part {
    file: Range<usize>,
    text: Range<usize>,
    shape: &'static Shape,
    depth: usize,
    /// Whether others beside it must not have its id.
    has_id: bool,
}

/// A part as an edit left it.
pub struct Edit {
    part: usize,
    text: String,
}

impl Told {
    /// Keeps a file that was told as `text`. `next` says what an edit of it counts as, if that is sure, from the
    /// revision that the file states; a document that the head knows shows it. A file that reads otherwise than
    /// its text (other escapes) is not kept.
    pub fn new(
        doc: &Doc,
        is_known: bool,
        bytes: Vec<u8>,
        mut text: Arc<String>,
        next: impl Fn(u64) -> Option<u64>,
    ) -> Option<Told> {
        let mut pair = Pair { file: &bytes, text: text.as_bytes(), ..Pair::default() };
        pair.depth = if bytes.len() < LONG { DEPTH } else { LONG_DEPTH };
        pair.inside(doc.kind.shape, 0, false)?;
        let Pair { stated, shown, mut parts, .. } = pair;
        let revision = next(stated)?;
        if is_known && doc.kind.items != Items::Document {
            let (shown, number) = (shown?, revision.to_string());
            shift(parts.iter_mut().map(|part| &mut part.text), &shown, number.len());
            Arc::make_mut(&mut text).replace_range(shown, &number);
        }
        Some(Told { bytes, text, revision, parts })
    }

    /// Returns what an edit changed, if that is within one part and all is well with it.
    pub fn edit(&self, bytes: &[u8]) -> Option<Edit> {
        let (start, behind) = common_ends(&self.bytes, bytes);
        let end = self.bytes.len() - behind;
        let around = |part: &Part| part.file.start <= start && end <= part.file.end;
        let before = self.parts.partition_point(|part| part.file.start <= start);
        let mut around = (0..before).rev().filter(|number| around(&self.parts[*number]));
        let (number, text) = around.find_map(|number| {
            let part = &self.parts[number];
            let end = part.file.end + bytes.len() - self.bytes.len();
            let text = part.read(&bytes[part.file.start..end], &self.text[part.text.clone()])?;
            Some((number, text))
        })?;
        Some(Edit { part: number, text })
    }

    /// Takes the edit in.
    pub fn take(&mut self, edit: &Edit, bytes: Vec<u8>) {
        let (before, part) = (self.bytes.len(), &self.parts[edit.part]);
        let (file, text) = (part.file.clone(), part.text.clone());
        let length = file.len() + bytes.len() - before;
        // What is inside it may be somewhere else now.
        let inside = self.parts[edit.part + 1..].iter().take_while(|part| part.file.start < file.end).count();
        self.parts.drain(edit.part + 1..edit.part + 1 + inside);
        shift(self.parts.iter_mut().map(|part| &mut part.file), &file, length);
        shift(self.parts.iter_mut().map(|part| &mut part.text), &text, edit.text.len());
        // Whoever was told the last text has printed it by now: this is no copy.
        Arc::make_mut(&mut self.text).replace_range(text, &edit.text);
        self.bytes = bytes;
    }
}

/// Moves the ends of ranges, one of which may be `place` itself, when what is there gets another length.
fn shift<'r>(ranges: impl Iterator<Item = &'r mut Range<usize>>, place: &Range<usize>, length: usize) {
    if length == place.len() {
        return;
    }
    let moved = |at: usize| if at >= place.end { at - place.len() + length } else { at };
    for range in ranges {
        *range = moved(range.start)..moved(range.end);
    }
}

impl Part {
    /// Returns the text of the part's new bytes, if they are another value that may stand here.
    fn read(&self, bytes: &[u8], before: &str) -> Option<String> {
        let text = self.plain_text(bytes).or_else(|| self.parsed(bytes, before))?;
        (text != before).then_some(text)
    }

    /// Reads a string that is written as it is told, where any string may stand. Most edits are of that kind.
    fn plain_text(&self, bytes: &[u8]) -> Option<String> {
        let inner = bytes.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let plain = matches!(self.shape, Shape::Text | Shape::Time | Shape::Any) && json::is_plain(inner);
        if plain { std::str::from_utf8(bytes).ok().map(str::to_owned) } else { None }
    }

    fn parsed(&self, bytes: &[u8], before: &str) -> Option<String> {
        // A byte order mark may stand before a document, and nowhere else.
        bytes.first().filter(|byte| byte.is_ascii())?;
        let value = json::parse_within(bytes, json::MAX_DEPTH - self.depth).ok()?;
        self.shape.check(&value).ok()?;
        (!self.has_id || same_id(&value, before)).then(|| json::dense(&value))
    }
}

fn same_id(value: &Value, before: &str) -> bool {
    let mut raw = Raw::default();
    let id = raw.read(before.as_bytes(), 0).and_then(|_| raw.string("id"));
    value.get("id").and_then(Value::as_str) == id.as_deref()
}

/// Returns how many bytes two texts share at their start and, behind that, at their end.
fn common_ends(one: &[u8], other: &[u8]) -> (usize, usize) {
    const STEP: usize = 32;
    let steps = one.as_chunks::<STEP>().0.iter().zip(other.as_chunks::<STEP>().0);
    let start = STEP * steps.take_while(|(one, other)| one == other).count();
    let start =
        start + one[start..].iter().zip(&other[start..]).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[start..], &other[start..]);
    let steps = one.as_rchunks::<STEP>().1.iter().rev().zip(other.as_rchunks::<STEP>().1.iter().rev());
    let end = STEP * steps.take_while(|(one, other)| one == other).count();
    let rest = one[..one.len() - end].iter().rev().zip(other[..other.len() - end].iter().rev());
    (start, end + rest.take_while(|(one, other)| one == other).count())
}

/// A file that is known to be good and the text that was told of it, gone through side by side.
#[derive(Default)]
struct Pair<'b> {
    file: &'b [u8],
    at: usize,
    text: &'b [u8],
    to: usize,
    parts: Vec<Part>,
    /// The revision that the file states.
    stated: u64,
    /// Where the text shows one, which may be another.
    shown: Option<Range<usize>>,
    dense: Vec<u8>,
    /// How deep parts are at most.
    depth: usize,
}

impl<'b> Pair<'b> {
    /// Goes through an object or array with this shape, so deep in the document.
    fn inside(&mut self, shape: &'static Shape, depth: usize, has_id: bool) -> Option<()> {
        let open = self.peek()?;
        let close = if open == b'{' { b'}' } else { b']' };
        self.take(open)?;
        let mut more = self.peek()? != close;
        while more {
            let key = if open == b'{' { self.key()? } else { &[] };
            match (depth, key) {
                (0, b"revision") => self.revision()?,
                // Another format may be right where ours is not.
                (0, b"version") => self.value()?,
                (_, b"id") if has_id => self.value()?,
                _ => self.member(shape_in(shape, key)?, depth + 1, matches!(shape, Shape::ById(_)))?,
            }
            more = self.peek()? == b',';
            if more {
                self.take(b',')?;
            }
        }
        // The text may show a revision that the file does not state.
        if depth == 0 && self.text[self.to..].starts_with(b",\"revision\":") {
            let start = self.to + b",\"revision\":".len();
            self.to = start + number_length(&self.text[start..]);
            self.shown = Some(start..self.to);
        }
        self.take(close)
    }

    /// Takes a member of such an object or array, with what is inside it.
    fn member(&mut self, shape: &'static Shape, depth: usize, has_id: bool) -> Option<()> {
        let divides = matches!(self.peek()?, b'{' | b'[') && depth < self.depth && is_divisible(shape);
        let number = self.parts.len();
        // A whole list is no part: it takes as long to read as the document.
        if depth > 1 || !divides {
            self.parts.push(Part { file: self.at..0, text: self.to..0, shape, depth, has_id });
        }
        match divides {
            true => self.inside(plain(shape), depth, has_id)?,
            false => self.value()?,
        }
        if let Some(part) = self.parts.get_mut(number).filter(|part| part.depth == depth) {
            (part.file.end, part.text.end) = (self.at, self.to);
        }
        Some(())
    }

    /// Takes a value that both have.
    fn value(&mut self) -> Option<()> {
        self.peek()?;
        self.dense.clear();
        let mut walk = Walk::new(self.file, self.at, &mut self.dense);
        walk.value()?;
        let (end, dense) = (walk.at, walk.text());
        let alike = self.text[self.to..].starts_with(dense);
        (self.at, self.to) = (end, self.to + dense.len());
        alike.then_some(())
    }

    fn revision(&mut self) -> Option<()> {
        self.peek()?;
        let start = self.to;
        let length = number_length(&self.file[self.at..]);
        let value = json::parse(&self.file[self.at..self.at + length]).ok()?;
        self.stated = value.as_u64()?;
        self.at += length;
        self.to += number_length(&self.text[start..]);
        self.shown = Some(start..self.to);
        Some(())
    }

    /// Takes a key that both have, and its colon.
    fn key(&mut self) -> Option<&'b [u8]> {
        if self.peek()? != b'"' {
            return None;
        }
        let key = &self.file[self.at..raw::string_end(self.file, self.at)?];
        if !self.text[self.to..].starts_with(key) {
            return None;
        }
        (self.at, self.to) = (self.at + key.len(), self.to + key.len());
        self.take(b':')?;
        key.get(1..key.len() - 1)
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let both = self.peek()? == byte && self.text.get(self.to) == Some(&byte);
        (self.at, self.to) = (self.at + 1, self.to + 1);
        both.then_some(())
    }

    /// Returns the next byte of the file that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.file.get(self.at..)?;
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.file.get(self.at).copied()
    }
}

fn number_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns what a shape says of a value that may be null, when it is not.
fn plain(shape: &'static Shape) -> &'static Shape {
    match shape {
        Shape::Nullable(inner) => plain(inner),
        other => other,
    }
}

fn is_divisible(shape: &'static Shape) -> bool {
    matches!(plain(shape), Shape::Any | Shape::Map(_) | Shape::List(_) | Shape::ById(_) | Shape::Object(_))
}

/// Returns the shape of what is inside an object or array.
fn shape_in(shape: &'static Shape, key: &[u8]) -> Option<&'static Shape> {
    match shape {
        Shape::Any => Some(&Shape::Any),
        Shape::Map(inner) | Shape::List(inner) | Shape::ById(inner) => Some(inner),
        Shape::Object(fields) => {
            let field = fields.iter().find(|field| field.name.as_bytes() == key);
            Some(field.map_or(&Shape::Any, |field| field.shape))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{place, show_revision};
    use super::*;
    use crate::model::kind::KINDS;
    use crate::store::state;

    const NEXT: u64 = 10;

    fn task(id: &str) -> Value {
        json!({
            "id": id, "description": "what is \"to\" do\nü", "status": "available", "priority": 3,
            "claimed_by": null, "dependencies": ["b", "c"], "context": {"files": [], "hints": null},
            "result": null, "created_at": "t", "claimed_at": null, "completed_at": null, "cost": 1.50
        })
    }

    /// Returns documents of which parts are told in different ways.
    fn documents() -> Vec<(Doc, Value)> {
        let doc = |name: &str| {
            let kind = KINDS.iter().find(|kind| kind.name == name).expect("a kind");
            Doc::shared(kind, kind.room().expect("one room"))
        };
        vec![
            (
                Doc::queue(),
                json!({
                    "version": "1.0", "created_at": "t", "last_updated": "t", "tasks": [task("a"), task("b")],
                    "revision": 9, "extra": {"deep": [1, {"x": "y"}], "e": 10}
                }),
            ),
            (
                doc("config"),
                json!({"version": "2.0.0", "revision": 9, "global": {"session_timeout": 3600}, "m": 1}),
            ),
            (
                doc("group_status"),
                json!({"a": {"status": "pending", "revision": 3}, "b": {"status": "complete"}}),
            ),
        ]
    }

    fn keep(doc: &Doc, bytes: &[u8]) -> Option<Told> {
        let text = json::dense(&state::open(doc, "", bytes).expect("a good file"));
        Told::new(doc, true, bytes.to_vec(), Arc::new(text), |_| Some(NEXT))
    }

    /// Returns what a look at the whole file tells.
    fn whole(doc: &Doc, bytes: &[u8]) -> Option<String> {
        let mut value = state::open(doc, "", bytes).ok()?;
        show_revision(doc, &mut value, NEXT);
        Some(json::dense(&value))
    }

    #[track_caller]
    fn check(from: &str, to: &str, expected: bool) {
        let (doc, value) = documents().remove(0);
        let bytes = place::render(&doc, &value);
        let mut told = keep(&doc, &bytes).expect("it reads as it was told");
        let text = String::from_utf8(bytes).expect("a text");
        assert!(text.contains(from), "{text}");
        let bytes = text.replacen(from, to, 1).into_bytes();
        let edit = told.edit(&bytes);
        assert_eq!(edit.is_some(), expected, "{from} -> {to}");
        if let Some(edit) = edit {
            told.take(&edit, bytes.clone());
            assert_eq!(Some(told.text.to_string()), whole(&doc, &bytes));
        }
    }

    #[test]
    fn an_edit_of_one_part_needs_no_look_at_the_rest() {
        check("what is", "what was", true);
        check("\"priority\": 3", "\"priority\": 12345", true);
        check("\"priority\": 3", "\"priority\": 1e5", true);
        check("\"c\"]", "\"c\", \"d\"]", true);
        check("\"result\": null", "\"result\": null, \"more\": {}", true);
        check("\"last_updated\": \"t\"", "\"last_updated\": \"\\u0041\"", true);
        check("\"e\": 10", "\"e\": [[]]", true);
        check("\"e\": 10", "\"e\": \"\"", true);
        check("what is", "what \\u0077as", true);
        check("\"status\": \"available\"", "\"status\": \"done\", \"more\": \"\"", true);
    }

    #[test]
    fn everything_else_is_left_to_a_look_at_the_whole() {
        check("\"priority\": 3", "\"priority\": \"3\"", false);
        check("\"priority\": 3", "\"priority\":  3", false);
        check("\"priority\": 3", "\"priority\": 3,", false);
        check("\"status\": \"available\"", "\"status\": \"none\"", false);
        check("\"id\": \"a\"", "\"id\": \"b\"", false);
        check("\"id\": \"a\"", "\"id\": \"other\"", false);
        check("\"version\": \"1.0\"", "\"version\": \"9.0\"", false);
        check("\"revision\": 9", "\"revision\": 12", false);
        check("\"extra\"", "\"other\"", false);
        check("\"tasks\": [", "\"tasks\": [ {\"id\": \"n\"},", false);
        check("\"e\": 10", "\"e\": \u{feff}10", false);
        check("\"e\": 10", &format!("\"e\": {}{}", "[".repeat(63), "]".repeat(63)), false);
        check("\"e\": 10", &format!("\"e\": {}{}", "[".repeat(62), "]".repeat(62)), true);
    }

    #[test]
    fn a_file_that_reads_otherwise_is_not_kept() {
        let (doc, value) = documents().remove(0);
        let text = String::from_utf8(place::render(&doc, &value)).expect("a text");
        for (from, to) in [("what", "\\u0077hat"), ("\"extra\"", "\"\\u0065xtra\""), ("9,", "9.0,")] {
            assert!(keep(&doc, text.replacen(from, to, 1).as_bytes()).is_none(), "{to}");
        }
        let other = json::dense(&json!({"version": "1.0", "tasks": []}));
        assert!(Told::new(&doc, true, text.into_bytes(), Arc::new(other), |_| Some(NEXT)).is_none());
    }

    #[test]
    fn a_revision_is_shown_where_the_file_states_none() {
        let doc = documents().remove(1).0;
        let bytes = br#"{ "version": "2.0.0", "m": 1 }"#.to_vec();
        let text = r#"{"version":"2.0.0","m":1,"revision":9}"#.to_owned();
        let mut told = Told::new(&doc, true, bytes, Arc::new(text), |_| Some(NEXT)).expect("it is alike");
        let bytes = br#"{ "version": "2.0.0", "m": 23 }"#.to_vec();
        let edit = told.edit(&bytes).expect("a part");
        told.take(&edit, bytes);
        assert_eq!(*told.text, r#"{"version":"2.0.0","m":23,"revision":10}"#);
    }

    /// Pieces that edits are made of.
    const PIECES: &[&str] = &[
        "",
        "1",
        "-1.5e3",
        "\"a\"",
        "\"",
        "\\",
        "\\u0041",
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        " ",
        "\n",
        "null",
        "ü",
        "\u{feff}",
        "{\"id\":\"b\"}",
        "\"id\": \"b\"",
        "\"x\": 1,",
        "\"available\"",
        "9.0",
        "\"revision\": 7,",
    ];

    fn piece() -> impl Strategy<Value = String> {
        let mixed = prop::collection::vec(prop::sample::select(PIECES), 0..3);
        mixed.prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_two_texts_share_is_found(start in "[ab]{0,80}", end in "[ab]{0,80}", one in "[ab]{0,3}", other in "[ab]{0,3}") {
            let (one, other) = (format!("{start}{one}{end}"), format!("{start}{other}{end}"));
            let (one, other) = (one.as_bytes(), other.as_bytes());
            let (start, end) = common_ends(one, other);
            let shorter = one.len().min(other.len());
            prop_assert!(start + end <= shorter);
            prop_assert_eq!(&one[..start], &other[..start]);
            prop_assert_eq!(&one[one.len() - end..], &other[other.len() - end..]);
            prop_assert!(start == shorter || one[start] != other[start]);
            prop_assert!(start + end == shorter || one[one.len() - end - 1] != other[other.len() - end - 1]);
        }

        /// Whatever an edit does: either it is left to a look at the whole file, or it is told as that would tell it.
        #[test]
        fn a_part_is_told_like_the_whole(
            which in 0..3_usize,
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, piece()), 1..8),
        ) {
            let (doc, value) = documents().remove(which);
            let mut told = keep(&doc, &place::render(&doc, &value)).expect("it reads as it was told");
            for (at, length, piece) in edits {
                let mut bytes = told.bytes.clone();
                let at = at.index(bytes.len());
                bytes.splice(at..(at + length).min(told.bytes.len()), piece.bytes());
                if let Some(edit) = told.edit(&bytes) {
                    told.take(&edit, bytes.clone());
                    prop_assert_eq!(Some(told.text.to_string()), whole(&doc, &bytes));
                }
            }
        }
    }
}
