//! Reading parts of a JSON text without building values.
//!
//! A [`Raw`] is one object without its white space, and where its fields are. It is found by one pass over the
//! bytes, some ten times faster than parsing. The pass knows strings, brackets and white space, no more: what it
//! accepts is not proven to be JSON. But two texts that read alike differ only in white space between tokens,
//! so a text that reads like one that is known to be good is good.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::item_text::write_text;
use super::{json, short};

/// One object, and its fields in their order.
#[derive(Debug, Default, Clone)]
pub struct Raw {
    text: Vec<u8>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone)]
struct Field {
    key: Range<usize>,
    value: Range<usize>,
}

impl Raw {
    /// Reads the object that begins at `at`; returns where it ends.
    pub fn read(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        self.text.clear();
        self.fields.clear();
        let mut walk = Walk::new(bytes, at, &mut self.text);
        walk.expect(b'{')?;
        while let Some(key) = walk.key()? {
            let from = walk.len();
            walk.value()?;
            self.fields.push(Field { key, value: from..walk.len() });
            if !walk.more(b'}')? {
                break;
            }
        }
        walk.copy();
        Some(walk.at)
    }

    /// Returns the object without white space.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns keys, as they are written, and the texts of their values.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| (&self.text[field.key.clone()], &self.text[field.value.clone()]))
    }

    /// Returns the text of a field's value.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let key = |field: &&Field| short::same(&self.text[field.key.clone()], name.as_bytes());
        self.fields.iter().find(key).map(|field| &self.text[field.value.clone()])
    }

    /// Returns a field that is an object itself.
    pub fn object(&self, name: &str) -> Option<Raw> {
        let mut object = Raw::default();
        object.read(self.field(name)?, 0)?;
        Some(object)
    }

    pub fn string(&self, name: &str) -> Option<Cow<'_, str>> {
        string(self.field(name)?)
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        std::str::from_utf8(self.field(name)?).ok()?.parse().ok()
    }

    /// Returns the strings of an array; what is no string is passed over.
    pub fn strings(&self, name: &str) -> Vec<Cow<'_, str>> {
        let mut strings = Vec::new();
        let Some([b'[', list @ ..]) = self.field(name) else { return strings };
        let mut at = 0;
        while let Some(start) = list[at..].iter().position(|byte| *byte == b'"').map(|found| at + found) {
            let Some(end) = string_end(list, start) else { break };
            strings.extend(string(&list[start..end]));
            at = end;
        }
        strings
    }
}

/// Returns the fields of a document that stand before its list `field`. The text must be known to be good.
pub fn before(bytes: &[u8], field: &str) -> Option<Value> {
    let mut text = Vec::new();
    let mut walk = Walk::new(bytes, 0, &mut text);
    walk.expect(b'{')?;
    while let Some(key) = walk.key()? {
        if walk.text()[key.clone()] == *field.as_bytes() {
            let fields = walk.text()[..key.start - 1].strip_suffix(b",").unwrap_or(b"{");
            return json::parse(&[fields, b"}"].concat()).ok();
        }
        walk.value()?;
        if !walk.more(b'}')? {
            break;
        }
    }
    None
}

/// Returns a document with those items of its list `field` that are wanted; of the others no value is built. The text must be
/// known to be good. `None` if it has not the form of such a document.
pub fn sift(bytes: &[u8], field: &str, wanted: &mut dyn FnMut(&Raw) -> bool) -> Option<Value> {
    let (mut text, mut raw, mut items) = (Vec::new(), Raw::default(), Vec::new());
    let mut walk = Walk::new(bytes, 0, &mut text);
    walk.expect(b'{')?;
    while let Some(key) = walk.key()? {
        if walk.text()[key] == *field.as_bytes() {
            walk.expect(b'[')?;
            while walk.peek()? != b']' {
                let end = raw.read(bytes, walk.at)?;
                if wanted(&raw) {
                    items.push(json::parse(raw.text()).ok()?);
                }
                walk.skip_to(end);
                if walk.peek()? == b',' {
                    walk.skip_to(walk.at + 1);
                }
            }
            walk.expect(b']')?;
        } else {
            walk.value()?;
        }
        if !walk.more(b'}')? {
            break;
        }
    }
    let mut value = json::parse(walk.text()).ok()?;
    value[field] = items.into();
    Some(value)
}

/// Writes a text without white space as `to_string_pretty` writes its value, so many levels deep. The text must be known
/// to be good.
pub fn write_pretty(bytes: &mut Vec<u8>, text: &[u8], mut level: usize) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let end = match byte {
            b'"' => string_end(text, at).unwrap_or(text.len()),
            b'{' | b'[' if matches!(text.get(at + 1), Some(b'}' | b']')) => at + 2,
            byte if is_structural(*byte) => at + 1,
            _ => at + text[at..].iter().position(|byte| is_structural(*byte)).unwrap_or(text.len() - at),
        };
        let token = &text[at..end];
        match token {
            b"{" | b"[" => {
                level += 1;
                bytes.push(*byte);
                begin_line(bytes, level);
            }
            b"}" | b"]" => {
                level = level.saturating_sub(1);
                begin_line(bytes, level);
                bytes.push(*byte);
            }
            b"," => {
                bytes.push(b',');
                begin_line(bytes, level);
            }
            b":" => bytes.extend_from_slice(b": "),
            // The same string can be written in several ways.
            [b'"', ..] if token.contains(&b'\\') => match string(token) {
                Some(text) => write_text(bytes, &text),
                None => bytes.extend_from_slice(token),
            },
            _ => short::append(bytes, token),
        }
        at = end;
    }
}

/// Writes a text without white space on one line, with a blank after each comma and colon.
pub fn write_on_a_line(bytes: &mut Vec<u8>, text: &[u8]) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let end = match byte {
            b'"' => string_end(text, at).unwrap_or(text.len()),
            b',' | b':' => at + 1,
            _ => {
                let is_next = |byte: &u8| matches!(byte, b'"' | b',' | b':');
                at + text[at..].iter().position(is_next).unwrap_or(text.len() - at)
            }
        };
        short::append(bytes, &text[at..end]);
        if matches!(byte, b',' | b':') {
            bytes.push(b' ');
        }
        at = end;
    }
}

fn begin_line(bytes: &mut Vec<u8>, level: usize) {
    bytes.push(b'\n');
    bytes.resize(bytes.len() + level * 2, b' ');
}

/// Returns what a JSON string says.
fn string(text: &[u8]) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match inner.contains(&b'\\') {
        true => serde_json::from_slice(text).ok().map(Cow::Owned),
        false => std::str::from_utf8(inner).ok().map(Cow::Borrowed),
    }
}

/// Goes through a text and copies what is not white space, a run at a time.
#[derive(Debug)]
pub struct Walk<'b, 't> {
    pub bytes: &'b [u8],
    pub at: usize,
    text: &'t mut Vec<u8>,
    /// What was taken from here on is not copied yet.
    run: usize,
}

impl<'b, 't> Walk<'b, 't> {
    pub fn new(bytes: &'b [u8], at: usize, text: &'t mut Vec<u8>) -> Walk<'b, 't> {
        Walk { bytes, at, text, run: at }
    }
}

impl Walk<'_, '_> {
    /// Returns what was taken so far.
    pub fn text(&mut self) -> &[u8] {
        self.copy();
        self.text
    }

    /// Returns how long that is.
    fn len(&self) -> usize {
        self.text.len() + (self.at - self.run)
    }

    fn copy(&mut self) {
        short::append(self.text, &self.bytes[self.run..self.at]);
        self.run = self.at;
    }

    /// Goes on at another place.
    pub fn skip_to(&mut self, at: usize) {
        self.copy();
        (self.at, self.run) = (at, at);
    }

    /// Returns the next byte that is not white space, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte > b' ' => Some(*byte),
            _ => self.peek_behind_space(),
        }
    }

    fn peek_behind_space(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..)?;
        let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        self.skip_to(self.at + spaces);
        rest.get(spaces).copied()
    }

    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Takes a key and its colon; `Some(None)` at the end of an object that has no fields.
    pub fn key(&mut self) -> Option<Option<Range<usize>>> {
        let byte = self.peek()?;
        if byte == b'}' && self.last() == Some(b'{') {
            self.at += 1;
            return Some(None);
        }
        if byte != b'"' {
            return None;
        }
        let from = self.len() + 1;
        self.at = string_end(self.bytes, self.at)?;
        let key = from..self.len() - 1;
        self.expect(b':')?;
        Some(Some(key))
    }

    /// Returns the byte that was taken last.
    fn last(&self) -> Option<u8> {
        if self.at > self.run { self.bytes.get(self.at - 1).copied() } else { self.text.last().copied() }
    }

    /// Takes the comma before another field or item, or the bracket that ends them.
    pub fn more(&mut self, close: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(true),
            _ if byte == close => Some(false),
            _ => None,
        }
    }

    /// Takes one value.
    pub fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let spaced = self.at;
            let byte = self.peek()?;
            // Without this `1 2` would read like `12`.
            let glued = self.at > spaced && !is_structural(self.last()?) && !is_structural(byte);
            if glued {
                self.text.push(b' ');
            }
            self.at = match byte {
                b'"' => string_end(self.bytes, self.at)?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at + 1
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at + 1
                }
                b',' | b':' => self.at + 1,
                _ => self.word_end(),
            };
            if depth == 0 {
                return (!is_separator(byte)).then_some(());
            }
        }
    }

    fn word_end(&self) -> usize {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| is_structural(*byte) || matches!(byte, b'"' | b' ' | b'\n' | b'\r' | b'\t');
        self.at + rest.iter().position(ends).unwrap_or(rest.len())
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b':')
}

fn is_structural(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')
}

/// Finds the first quote or backslash, eight bytes at a time.
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    // The lowest byte that becomes 0 gets its high bit; what is above it may be wrong.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return Some(number * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    Some(words.len() * 8 + found)
}

/// Returns where the string that begins at `start` ends.
pub fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += quote_or_escape(bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::json;

    fn read(text: &[u8]) -> Option<Raw> {
        let mut raw = Raw::default();
        let end = raw.read(text, 0)?;
        text[end..].trim_ascii().is_empty().then_some(raw)
    }

    #[test]
    fn a_document_is_sifted_without_its_other_items() {
        let document =
            json!({"a": {"list": [1]}, "list": [{"id": "x", "n": 1}, {"id": "y", "n": 2.50}], "z": [","]});
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            let mut seen = Vec::new();
            let sifted = sift(text.as_bytes(), "list", &mut |item| {
                seen.push(item.string("id").unwrap().into_owned());
                item.field("n") == Some(b"1")
            });
            let expected = json!({"a": {"list": [1]}, "list": [{"id": "x", "n": 1}], "z": [","]});
            assert_eq!((sifted, seen), (Some(expected), vec!["x".to_owned(), "y".to_owned()]));
            assert_eq!(before(text.as_bytes(), "list"), Some(json!({"a": {"list": [1]}})));
        }
        assert_eq!(before(br#"{"list": [], "a": 1}"#, "list"), Some(json!({})));
        assert_eq!(before(br#"{"a": 1}"#, "list"), None);
        let empty = sift(br#"{"list": []}"#, "list", &mut |_| true);
        assert_eq!(empty, Some(json!({"list": []})));
        assert_eq!(sift(br#"{"list": 3}"#, "list", &mut |_| true), None);
    }

    #[test]
    fn fields_are_found() {
        let raw = read(br#"{ "id" : "a\"b" , "n": -3, "list": ["x", "\u0041", 7], "o": {"id": "other"} }"#);
        let raw = raw.expect("an object");
        assert_eq!(raw.string("id").as_deref(), Some("a\"b"));
        assert_eq!(raw.number("n"), Some(-3.0));
        assert_eq!(raw.strings("list"), ["x", "A"]);
        assert_eq!(raw.field("o"), Some(br#"{"id":"other"}"#.as_slice()));
        assert_eq!(raw.field("none"), None);
    }

    #[test]
    fn the_end_of_a_string_is_found_wherever_it_is() {
        for length in 0..40 {
            for (text, end) in
                [("x".repeat(length), length), (format!("\\\"{}", "ä".repeat(length)), 2 + 2 * length)]
            {
                let text = format!("\"{text}\"!\"\\ and more of it");
                assert_eq!(string_end(text.as_bytes(), 0), Some(end + 2), "{text}");
            }
        }
        assert_eq!(string_end(b"\"never closed", 0), None);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bad in
            ["", "[]", "{", "{\"a\"", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1]", "{\"a\" 1}", "{\"a\":\"}"]
        {
            assert!(read(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn space_inside_a_token_makes_a_difference() {
        let plain = read(b"{\"a\":[12,true]}").expect("an object");
        for other in ["{\"a\":[1 2,true]}", "{\"a\":[12,tr ue]}", "{\"a\":[12 true]}"] {
            let other = read(other.as_bytes()).expect("it has the form of an object");
            assert_ne!(plain.text(), other.text());
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~\\n\"\\\\é]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\ ]{0,3}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_pretty_text_reads_like_a_dense_one(inner in value()) {
            let document = json!({"first": inner, "last": 1});
            let dense = serde_json::to_vec(&document).expect("a value");
            let pretty = read(&json::render(&document)).expect("an object");
            prop_assert_eq!(pretty.text(), &dense[..]);
            let first = serde_json::to_vec(&document["first"]).expect("a value");
            prop_assert_eq!(pretty.field("first"), Some(&first[..]));
        }

        #[test]
        fn a_dense_text_is_made_pretty(inner in value(), spelt in any::<bool>()) {
            let document = json!([{"outer": [{"first": inner, "last": 1}]}]);
            let mut dense = serde_json::to_string(&document[0]["outer"][0]).expect("a value");
            if spelt {
                // As another program may write it.
                dense = dense.replace('é', "\\u00e9");
            }
            let mut pretty = b"[\n  {\n    \"outer\": [\n      ".to_vec();
            write_pretty(&mut pretty, dense.as_bytes(), 3);
            pretty.extend_from_slice(b"\n    ]\n  }\n]\n");
            prop_assert_eq!(pretty, json::render(&document));
        }
    }
}
