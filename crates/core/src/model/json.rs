//! Strict reading of JSON and the one way of writing it.
//!
//! [`parse`] refuses what other readers pass over (duplicate keys, bottomless nesting, a second value) and
//! keeps what they lose: the order of keys and the text of numbers. [`render`] is the only form in which
//! documents are written; `parse(render(value))` gives back the same value to the letter.
//!
//! serde_json alone does not keep number texts: its parser spells `1e400` as `1e+400`, and `from_value` turns
//! `-0` into `0`. [`parse`] takes numbers as they stand in the source. What must stay exact to the letter is
//! therefore parsed here and taken apart by hand, not deserialized into types.

use std::cell::Cell;
use std::fmt;
use std::fmt::Write as _;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::key_text::{is_reserved, push_key};
use super::path::Path;

/// How deep objects and arrays of a document may be nested.
pub const MAX_DEPTH: usize = 64;

/// How many bytes one string of a user's input may have.
pub const MAX_TEXT: usize = 64 * 1024;

/// Where and why a text is not the JSON we read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    pub message: String,
}

/// Reads exactly one JSON value, strictly.
pub fn parse(bytes: &[u8]) -> Result<Value, ParseError> {
    parse_within(bytes, MAX_DEPTH)
}

/// Reads like [`parse`] with another limit of nesting, for records that wrap whole documents.
///
/// The limit cannot be raised above 127, where serde_json gives up by itself.
pub fn parse_within(bytes: &[u8], max_depth: usize) -> Result<Value, ParseError> {
    let text = decode(bytes)?;
    let numbers = Exponents { rest: Cell::new(text) };
    let reader = Reader { max_depth, depth: 0, source: &numbers };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = reader.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| parse_error(text, &error))
}

/// Returns line and column where the value at `path` begins, if the text can be read and has such a value.
pub fn locate(bytes: &[u8], path: &Path) -> Option<(usize, usize)> {
    let text = decode(bytes).ok()?.as_bytes();
    let positions = path.positions(&parse(text).ok()?)?;
    let start = skip_space(text, 0);
    let offset = positions.into_iter().try_fold(start, |open, nth| member_start(text, open, nth))?;
    Some(position(text, offset))
}

/// Writes a document: two spaces, one line per entry, a newline at the end.
pub fn render(value: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("a JSON value can always be written");
    bytes.push(b'\n');
    bytes
}

/// Writes a value without white space.
pub fn dense(value: &Value) -> String {
    serde_json::to_string(value).expect("a JSON value can always be written")
}

/// Appends a string to a JSON text.
pub fn push_text(json: &mut String, text: &str) {
    match is_plain(text.as_bytes()) {
        true => json.extend(["\"", text, "\""]),
        false => json.push_str(&dense(&text.into())),
    }
}

/// Whether a string is written as it is, between two quotes.
pub fn is_plain(text: &[u8]) -> bool {
    // Without a way out of the loop the compiler looks at many bytes at once.
    let special = |found, byte: &u8| found | (*byte < b' ') | (*byte == b'"') | (*byte == b'\\');
    !text.iter().fold(false, special)
}

/// Whether two values are written alike: unlike `==`, the order of keys counts.
pub fn identical(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| identical(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same =
                |((left_key, left), (right_key, right))| left_key == right_key && identical(left, right);
            left.len() == right.len() && left.iter().zip(right).all(same)
        }
        _ => left == right,
    }
}

/// Returns how deep objects and arrays are nested; 0 for a scalar.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Checks the limits of a value that comes from a user; the error says what is too large.
pub fn check_input(value: &Value) -> Result<(), String> {
    let levels = depth(value);
    if levels > MAX_DEPTH {
        return Err(format!("the value is nested {levels} levels deep; at most {MAX_DEPTH} are allowed"));
    }
    check_texts(value, &mut String::new())
}

fn check_texts(value: &Value, path: &mut String) -> Result<(), String> {
    match value {
        Value::String(text) => check_length("string", text, path),
        Value::Number(number) => check_length("number", number.as_str(), path),
        Value::Array(items) => check_items(items, path),
        Value::Object(map) => check_entries(map, path),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn check_items(items: &[Value], path: &mut String) -> Result<(), String> {
    let base = path.len();
    for (index, item) in items.iter().enumerate() {
        let _ = write!(path, "[{index}]");
        check_texts(item, path)?;
        path.truncate(base);
    }
    Ok(())
}

fn check_entries(map: &Map<String, Value>, path: &mut String) -> Result<(), String> {
    let base = path.len();
    for (key, value) in map {
        check_length("key", key, path)?;
        if is_reserved(key) {
            return Err(format!("the key `{key}` is reserved"));
        }
        push_key(path, key);
        check_texts(value, path)?;
        path.truncate(base);
    }
    Ok(())
}

fn check_length(what: &str, text: &str, path: &str) -> Result<(), String> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
    Err(format!("the {what}{place} is {} bytes long; at most {MAX_TEXT} are allowed", text.len()))
}

/// Returns the text of a file without its byte order mark.
fn decode(bytes: &[u8]) -> Result<&str, ParseError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = position(bytes, error.valid_up_to());
        ParseError { line, column, message: "the text is not valid UTF-8".into() }
    })?;
    if text.trim_ascii().is_empty() {
        return Err(ParseError { line: 1, column: 1, message: "the file is empty".into() });
    }
    Ok(text)
}

fn parse_error(text: &str, error: &serde_json::Error) -> ParseError {
    let (line, taken) = (error.line(), error.column());
    let mut message = error.to_string();
    if let Some(start) = message.rfind(&format!(" at line {line} column {taken}")) {
        message.truncate(start);
    }
    // serde_json counts the bytes it has taken from the line, the offending one included.
    let bytes = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default().as_bytes();
    let column = characters(&bytes[..taken.min(bytes.len())]).max(1);
    ParseError { line: line.max(1), column, message }
}

/// Returns line and column of a byte offset.
pub(super) fn position(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    (line, 1 + characters(&before[line_start..]))
}

fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Returns where the value of the `nth` member begins, in valid JSON with an object or array at `open`.
fn member_start(text: &[u8], open: usize, nth: usize) -> Option<usize> {
    let start = skip_space(text, nth_member(text, open, nth)?);
    if text[open] == b'[' {
        return Some(start);
    }
    let colon = skip_space(text, string_end(text, start));
    Some(skip_space(text, colon + 1))
}

/// Returns the offset after the bracket or comma before the `nth` member.
fn nth_member(text: &[u8], open: usize, nth: usize) -> Option<usize> {
    let (mut at, mut commas, mut nested) = (open + 1, 0, 0);
    while commas < nth {
        match text.get(at)? {
            b'"' => at = string_end(text, at) - 1,
            b'[' | b'{' => nested += 1,
            b']' | b'}' => nested -= 1,
            b',' if nested == 0 => commas += 1,
            _ => {}
        }
        at += 1;
    }
    Some(at)
}

fn skip_space(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns the offset after the string that opens at `quote`, or the end of a text that never closes it.
fn string_end(text: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The numbers with an exponent in a source text, one after the other, as they are written there.
struct Exponents<'t> {
    rest: Cell<&'t str>,
}

impl<'t> Exponents<'t> {
    fn next(&self) -> Option<&'t str> {
        loop {
            let number = self.next_number()?;
            if number.contains(['e', 'E']) {
                return Some(number);
            }
        }
    }

    fn next_number(&self) -> Option<&'t str> {
        let text = self.rest.get();
        let mut start = text.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])?;
        while text.as_bytes()[start] == b'"' {
            let after = string_end(text.as_bytes(), start);
            start = after + text[after..].find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
        }
        let number = &text[start..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        let (number, rest) = number.split_at(number.find(|c| !is_part(c)).unwrap_or(number.len()));
        self.rest.set(rest);
        Some(number)
    }
}

/// Builds a [`Value`] and refuses what a document may not hold.
#[derive(Clone, Copy)]
struct Reader<'t> {
    max_depth: usize,
    /// How many objects and arrays are open around the value.
    depth: usize,
    /// Where the spelling of a number is looked up.
    source: &'t Exponents<'t>,
}

impl Reader<'_> {
    /// Returns the reader for what lies inside an object or array.
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == self.max_depth {
            return Err(E::custom(format_args!("nested deeper than {} levels", self.max_depth)));
        }
        Ok(Reader { depth: self.depth + 1, ..self })
    }

    /// Returns the number that serde_json spells as `text`, as the document spells it.
    fn number(self, text: String) -> Value {
        let written = if text.contains('e') { self.source.next().map(str::to_owned) } else { None };
        // The public constructors respell exponents; serde_json has just checked the text.
        Value::Number(Number::from_string_unchecked(written.unwrap_or(text)))
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut next = access.next_key_seed(KeySeed)?;
        if let Some(Key::Signal) = next {
            return access.next_value().map(|text| self.number(text));
        }
        let inside = self.inside()?;
        let mut map = Map::new();
        while let Some(key) = next {
            let slot = match map.entry(key.usable()?) {
                Entry::Vacant(slot) => slot,
                Entry::Occupied(slot) => {
                    return Err(A::Error::custom(format_args!("duplicate key `{}`", slot.key())));
                }
            };
            slot.insert(access.next_value_seed(inside)?);
            next = access.next_key_seed(KeySeed)?;
        }
        Ok(Value::Object(map))
    }
}

/// A key as it arrives: one of the document, or serde_json's signal that a number follows.
enum Key {
    Signal,
    Name(String),
}

impl Key {
    fn usable<E: serde::de::Error>(self) -> Result<String, E> {
        match self {
            Key::Name(name) if !is_reserved(&name) => Ok(name),
            Key::Name(name) => Err(E::custom(format_args!("the key `{name}` is reserved"))),
            Key::Signal => Err(E::custom("BUG: a number inside an object's keys")),
        }
    }
}

/// Tells the signal from a key of the document that only looks like it.
///
/// Asked for an option, serde_json answers `Some` for a real key and a bare string for its signal.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a string key")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        serde::Deserialize::deserialize(deserializer).map(Key::Name)
    }

    fn visit_str<E>(self, _: &str) -> Result<Key, E> {
        Ok(Key::Signal)
    }
}

/// Values for property tests: awkward keys, awkward numbers, some nesting.
#[cfg(test)]
pub(crate) mod samples {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn keys() -> impl Strategy<Value = String> {
        prop_oneof![4 => "[a-e]", 1 => "[a-e.$=\\[\\]\"\\\\ \\n-]{0,4}", 1 => ".{0,6}"]
    }

    pub(crate) fn numbers() -> impl Strategy<Value = Value> {
        let text = "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?";
        prop_oneof![(0..4_u8).prop_map(|number| number.to_string()), text]
            .prop_map(|text| Value::Number(Number::from_string_unchecked(text)))
    }

    pub(crate) fn values() -> impl Strategy<Value = Value> {
        let scalars = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            numbers(),
            "(\\PC|[\\n\"\\\\e1]){0,6}".prop_map(Value::String),
        ];
        scalars.prop_recursive(4, 48, 6, |inner| {
            let entries = vec((keys(), inner.clone()), 0..6);
            prop_oneof![
                vec(inner, 0..6).prop_map(Value::Array),
                entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(text: impl AsRef<[u8]>, expected: &str) {
        let text = text.as_ref();
        let found = parse(text).map_or_else(|error| error.to_string(), |value| value.to_string());
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn texts_are_written_like_values() {
        for text in ["", "plain ü \u{7f}\u{202e}", "a\"b", "a\\b", "a\nb\u{1}", "/"] {
            let mut json = "x".to_owned();
            push_text(&mut json, text);
            assert_eq!(json, format!("x{}", Value::from(text)));
        }
    }

    #[test]
    fn strict_reading() {
        check("\u{feff} {\"b\": [1, null], \"a\": true}\n", r#"{"b":[1,null],"a":true}"#);
        check("", "line 1, column 1: the file is empty");
        check(" \n\t", "line 1, column 1: the file is empty");
        check(b"{\n  \"a\xc3\xa4\": \"\xff\"", "line 2, column 10: the text is not valid UTF-8");
        check("{\n  \"ä\": 1,\n  \"ä\": 2}", "line 3, column 5: duplicate key `ä`");
        check(r#"[{"x": {"a": 1, "b": 2, "a": 3}}]"#, "line 1, column 27: duplicate key `a`");
        check(r#"{"a": 1, "\u0061": 2}"#, "line 1, column 17: duplicate key `a`");
        check("{} {}", "line 1, column 4: trailing characters");
        check("[1,]", "line 1, column 4: trailing comma");
        check("{\"ääää\" 1}", "line 1, column 9: expected `:`");
        check("[\n  01]", "line 2, column 4: invalid number");
        check(r#"["\ud800"]"#, "line 1, column 9: unexpected end of hex escape");
        check("nul", "line 1, column 3: EOF while parsing a value");
    }

    #[test]
    fn a_key_may_speak_of_lines_and_columns() {
        check(
            r#"{"x at line 1 column 2": 1, "x at line 1 column 2": 1}"#,
            "line 1, column 50: duplicate key `x at line 1 column 2`",
        );
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(parse(nested(MAX_DEPTH).as_bytes()).map(|value| depth(&value)), Ok(MAX_DEPTH));
        let refused = parse(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert_eq!(refused.message, "nested deeper than 64 levels");
        assert_eq!(
            parse("[".repeat(100_000).as_bytes()).unwrap_err().message,
            "nested deeper than 64 levels"
        );
        assert!(parse_within(nested(MAX_DEPTH + 1).as_bytes(), 70).is_ok());
        let objects = r#"{"a":"#.repeat(64) + "1e5" + &"}".repeat(64);
        assert!(parse(objects.as_bytes()).is_ok());
        assert!(parse(objects.replace("1e5", "{}").as_bytes()).is_err());
    }

    #[test]
    fn number_texts_survive() {
        let texts =
            ["1.10", "123456789012345678901234567890", "1e400", "1E5", "1e+5", "1E-5", "-0", "-0.0", "0"];
        for text in texts {
            check(text, text);
        }
        let line = format!(r#"{{"1e1 \" 2E2":[{}],"e":"\\","z":[1E2]}}"#, texts.join(","));
        check(&line, &line);
    }

    #[test]
    fn the_number_signal_is_no_key() {
        for value in ["\"1\"", "1", "{}"] {
            let text = format!(r#"{{"$serde_json::private::Number": {value}}}"#);
            let message = parse(text.as_bytes()).unwrap_err().message;
            assert_eq!(message, "the key `$serde_json::private::Number` is reserved");
        }
        assert!(parse(br#"{"a": 1, "\u0024serde_json::private::Number": "1"}"#).is_err());
        assert!(parse(br#"{"$serde_json::private::RawValue": "1"}"#).is_err());
        check(
            r#"{"$schema":"$serde_json::private::Number"}"#,
            r#"{"$schema":"$serde_json::private::Number"}"#,
        );
    }

    #[test]
    fn input_has_limits() {
        let check = |value: Value, expected: &str| {
            assert_eq!(check_input(&value).err().unwrap_or_default(), expected);
        };
        let long = "x".repeat(MAX_TEXT);
        let longer = format!("{long}x");
        check(json!({"a": [long]}), "");
        check(json!(longer), "the string is 65537 bytes long; at most 65536 are allowed");
        check(
            json!({"a": [0, longer]}),
            "the string at `a[1]` is 65537 bytes long; at most 65536 are allowed",
        );
        check(json!({"a": {longer: 0}}), "the key at `a` is 65537 bytes long; at most 65536 are allowed");
        let deep = (0..70).fold(Value::Null, |inner, _| json!([inner]));
        check(deep, "the value is nested 70 levels deep; at most 64 are allowed");
        check(
            json!({"$serde_json::private::Number": 1}),
            "the key `$serde_json::private::Number` is reserved",
        );
    }

    #[test]
    fn documents_are_written_with_two_spaces() {
        let text = "{\n  \"b\": [\n    1.10\n  ],\n  \"a\": {}\n}\n";
        assert_eq!(String::from_utf8(render(&parse(text.as_bytes()).unwrap())).unwrap(), text);
    }

    #[test]
    fn values_are_located() {
        let text = "\u{feff}{\n  \"ä,[\": [1, \"x\\\",\", {\"k\" : 2}],\n  \"z\":\n    {\"id\": \"q\"}\n}";
        let check = |path: &str, expected: Option<(usize, usize)>| {
            assert_eq!(locate(text.as_bytes(), &path.parse().unwrap()), expected, "{path}");
        };
        check(".", Some((1, 1)));
        check(r#"["ä,["]"#, Some((2, 10)));
        check(r#"["ä,["][0]"#, Some((2, 11)));
        check(r#"["ä,["][1]"#, Some((2, 14)));
        check(r#"["ä,["][-1].k"#, Some((2, 29)));
        check("z", Some((4, 5)));
        check("[id=q].id", Some((4, 12)));
        check("y", None);
        check("z[0]", None);
        assert_eq!(locate(b"{", &Path::root()), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in samples::values()) {
            let bytes = render(&value);
            let back = parse(&bytes).unwrap();
            prop_assert!(identical(&back, &value), "{back} is not {value}");
            prop_assert_eq!(render(&back), bytes);
        }

        #[test]
        fn any_bytes_are_read_or_refused(text in "[\\[\\]{}\",:0-9eE.+\\- \\n\\\\a-f]{0,24}") {
            prop_assert_eq!(parse(text.as_bytes()).is_ok(), plainly_valid(&text), "{}", text);
        }
    }

    /// Whether serde_json takes the text and writes all of its keys again: the loss is the duplicates.
    fn plainly_valid(text: &str) -> bool {
        let keys = |text: &str| text.matches(':').count();
        serde_json::from_str::<Value>(text).is_ok_and(|value| keys(&value.to_string()) == keys(text))
    }
}
