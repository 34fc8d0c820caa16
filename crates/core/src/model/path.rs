//! Path expressions: `epics[0].stories[1].status`, `[-1]`, `[id=story-001]`, `["a.b"]`.
//!
//! `.` or `$` alone is the whole document and a leading `$` may stand before any path. Keys and selector
//! values that are not plain words are quoted as JSON strings. A [`Path`] prints as [`push_key`] prints keys,
//! so what a misfit or a change names can be typed again.
//!
//! Reading never creates anything. Writing creates missing objects on the way, never items of an array, and
//! a write that fails has changed nothing.

mod parser;

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::key_text::push_key;

/// How many bytes a typed path may have.
pub const MAX_BYTES: usize = 1024;

/// How many segments a typed path may have.
pub const MAX_SEGMENTS: usize = 64;

/// A place in a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Vec<Segment>);

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    /// Negative indexes count from the end.
    Index(i64),
    /// The first item, or entry of an object, whose field `key` reads `value`.
    Select {
        key: String,
        value: String,
    },
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathSyntaxError {
    #[error("path `{path}`, column {column}: expected {expected}")]
    Unexpected { path: String, column: usize, expected: &'static str },
    #[error("the path has {found} {unit}; at most {limit} are allowed")]
    TooLong { found: usize, unit: &'static str, limit: usize },
    #[error("the key `{0}` is reserved")]
    Reserved(String),
}

/// Why a path does not lead anywhere in a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `present` says what is there instead; it may be empty.
    #[error("there is no `{at}`{present}")]
    NotFound { at: Path, present: String },
    #[error("`{at}` is out of range: the array has {}", items(*.length))]
    IndexOutOfRange { at: Path, length: usize },
    #[error("expected {expected} at `{at}`, found {found}")]
    WrongKind { at: Path, expected: &'static str, found: &'static str },
    #[error("the whole document cannot be removed")]
    WholeDocument,
}

/// The whole document.
pub static ROOT: Path = Path(Vec::new());

impl Path {
    /// Returns the path of the whole document.
    pub fn root() -> Self {
        Path::default()
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Tells whether this is a place of somebody's own: beneath a key `x`, or one that begins with `x_` or `x-`.
    pub fn is_own(&self) -> bool {
        let is_own = |key: &str| key == "x" || key.starts_with("x_") || key.starts_with("x-");
        self.0.iter().any(|segment| matches!(segment, Segment::Key(key) if is_own(key)))
    }

    /// Returns the value at this path.
    pub fn get<'v>(&self, root: &'v Value) -> Result<&'v Value, PathError> {
        let mut place = root;
        for depth in 0..self.0.len() {
            place = self.step(depth, place).map_err(PathError::absent)?.child(place);
        }
        Ok(place)
    }

    /// Returns the value at this path, to be changed in place.
    pub fn get_mut<'v>(&self, root: &'v mut Value) -> Result<&'v mut Value, PathError> {
        let mut place = root;
        for depth in 0..self.0.len() {
            place = self.step(depth, place).map_err(PathError::absent)?.child_mut(place);
        }
        Ok(place)
    }

    /// Puts `value` at this path and returns what was there.
    pub fn set(&self, root: &mut Value, value: Value) -> Result<Option<Value>, PathError> {
        match self.landing(root)? {
            Landing::On(place) => Ok(Some(std::mem::replace(place, value))),
            Landing::New { parent, keys } => {
                insert_nested(parent, &keys, value);
                Ok(None)
            }
        }
    }

    /// Adds `item` to the array at this path, which is created if its key is missing; returns its index.
    pub fn append(&self, root: &mut Value, item: Value) -> Result<usize, PathError> {
        match self.landing(root)? {
            Landing::On(Value::Array(items)) => {
                items.push(item);
                Ok(items.len() - 1)
            }
            Landing::On(other) => Err(self.wrong_kind(self.0.len(), "an array", other)),
            Landing::New { parent, keys } => {
                insert_nested(parent, &keys, Value::Array(vec![item]));
                Ok(0)
            }
        }
    }

    /// Takes the value at this path out of its object or array; what remains keeps its order.
    pub fn remove(&self, root: &mut Value) -> Result<Value, PathError> {
        let depth = self.0.len().checked_sub(1).ok_or(PathError::WholeDocument)?;
        let parent = self.prefix(depth).get_mut(root)?;
        let step = self.step(depth, parent).map_err(PathError::absent)?;
        Ok(match (parent, step) {
            (Value::Array(items), Step::Index(index)) => items.remove(index),
            (Value::Object(map), Step::Key(key)) => map.shift_remove(&*key).expect("the step found this key"),
            _ => unreachable!("BUG: a step fits the value it was found in"),
        })
    }

    /// Returns, from the root on, the position of each step among its siblings.
    pub(super) fn positions(&self, root: &Value) -> Option<Vec<usize>> {
        let mut place = root;
        let position = |depth| {
            let step = self.step(depth, place).ok()?;
            let position = match (&step, place) {
                (Step::Index(index), _) => *index,
                (Step::Key(key), Value::Object(map)) => map.keys().position(|other| other == key)?,
                _ => return None,
            };
            place = step.child(place);
            Some(position)
        };
        (0..self.0.len()).map(position).collect()
    }

    /// Resolves the segment at `depth` in the value it is applied to.
    fn step(&self, depth: usize, place: &Value) -> Result<Step<'_>, PathError> {
        match (&self.0[depth], place) {
            (Segment::Key(key), Value::Object(map)) if map.contains_key(key) => Ok(Step::Key(key.into())),
            (Segment::Key(_), Value::Object(map)) => {
                Err(self.not_found(depth, listed("keys present", map.keys().map(String::as_str))))
            }
            (Segment::Key(_), other) => Err(self.wrong_kind(depth, "an object", other)),
            (Segment::Index(index), Value::Array(items)) => {
                in_range(*index, items.len()).map(Step::Index).ok_or_else(|| PathError::IndexOutOfRange {
                    at: self.prefix(depth + 1),
                    length: items.len(),
                })
            }
            (Segment::Index(_), other) => Err(self.wrong_kind(depth, "an array", other)),
            (Segment::Select { key, value }, _) => self.select(depth, place, key, value),
        }
    }

    fn select(&self, depth: usize, place: &Value, key: &str, value: &str) -> Result<Step<'_>, PathError> {
        let is_match = |item: &Value| item.get(key).and_then(scalar_text).is_some_and(|text| text == value);
        let found = match place {
            Value::Array(items) => items.iter().position(is_match).map(Step::Index),
            Value::Object(map) => {
                map.iter().find(|(_, item)| is_match(item)).map(|(name, _)| Step::Key(name.clone().into()))
            }
            other => return Err(self.wrong_kind(depth, "an array or an object of objects", other)),
        };
        found.ok_or_else(|| {
            let values = children(place).filter_map(|item| item.get(key).and_then(scalar_text));
            self.not_found(depth, listed(&format!("values of `{key}` present"), values))
        })
    }

    /// Finds where a write lands, without changing anything yet.
    fn landing<'v>(&self, root: &'v mut Value) -> Result<Landing<'v, '_>, PathError> {
        let mut place = root;
        for depth in 0..self.0.len() {
            if let Some(keys) = self.missing_keys(depth, place) {
                return Ok(Landing::New { parent: place, keys });
            }
            place = self.step(depth, place)?.child_mut(place);
        }
        Ok(Landing::On(place))
    }

    /// Returns the keys that a write must create, if all that is missing from `depth` on can be created.
    fn missing_keys(&self, depth: usize, place: &Value) -> Option<Vec<&str>> {
        fn as_key(segment: &Segment) -> Option<&str> {
            if let Segment::Key(key) = segment { Some(key) } else { None }
        }
        let first = as_key(&self.0[depth])?;
        if place.as_object()?.contains_key(first) {
            return None;
        }
        self.0[depth..].iter().map(as_key).collect()
    }

    fn prefix(&self, length: usize) -> Path {
        Path(self.0[..length].to_vec())
    }

    fn not_found(&self, depth: usize, present: String) -> PathError {
        PathError::NotFound { at: self.prefix(depth + 1), present }
    }

    fn wrong_kind(&self, depth: usize, expected: &'static str, found: &Value) -> PathError {
        PathError::WrongKind { at: self.prefix(depth), expected, found: kind(found) }
    }
}

impl From<Vec<Segment>> for Path {
    fn from(segments: Vec<Segment>) -> Self {
        Path(segments)
    }
}

impl PathError {
    /// Turns an index past the end into something that is not there, as reading sees it.
    fn absent(self) -> Self {
        match self {
            PathError::IndexOutOfRange { at, length } => {
                PathError::NotFound { at, present: format!("; the array has {}", items(length)) }
            }
            other => other,
        }
    }
}

/// A segment that was found in a particular value.
enum Step<'p> {
    Key(Cow<'p, str>),
    Index(usize),
}

impl Step<'_> {
    fn child<'v>(&self, place: &'v Value) -> &'v Value {
        match self {
            Step::Key(key) => &place[&**key],
            Step::Index(index) => &place[*index],
        }
    }

    fn child_mut<'v>(&self, place: &'v mut Value) -> &'v mut Value {
        match self {
            Step::Key(key) => &mut place[&**key],
            Step::Index(index) => &mut place[*index],
        }
    }
}

/// Where a write lands: on a value that is there, or on keys that are still to be made.
enum Landing<'v, 'p> {
    On(&'v mut Value),
    /// The parent is an object.
    New {
        parent: &'v mut Value,
        keys: Vec<&'p str>,
    },
}

fn insert_nested(object: &mut Value, keys: &[&str], value: Value) {
    let wrap = |inner, key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), inner)]));
    let nested = keys[1..].iter().rfold(value, wrap);
    object[keys[0]] = nested;
}

fn in_range(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    let index = if index < 0 { length.checked_sub(distance)? } else { distance };
    (index < length).then_some(index)
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns what a selector compares: a string itself, a number or boolean as written.
fn scalar_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.as_str()),
        Value::Bool(flag) => Some(if *flag { "true" } else { "false" }),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "`null`",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn items(length: usize) -> String {
    if length == 1 { "1 item".into() } else { format!("{length} items") }
}

/// Returns the end of a message: the first few of the names that are there.
fn listed<'n>(title: &str, names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 8;
    let mut names = names.map(|name| format!("`{name}`"));
    let shown: Vec<_> = names.by_ref().take(SHOWN).collect();
    match (shown.is_empty(), names.count()) {
        (true, _) => String::new(),
        (false, 0) => format!("; {title}: {}", shown.join(", ")),
        (false, more) => format!("; {title}: {} and {more} more", shown.join(", ")),
    }
}

/// Appends an index to a path expression.
pub fn push_index(path: &mut String, index: impl fmt::Display) {
    let _ = write!(path, "[{index}]");
}

fn push_selector(path: &mut String, key: &str, value: &str) {
    let plain = !value.is_empty() && !value.contains(['[', ']', '"', '=', '\\']);
    let value = if plain { value.into() } else { Value::from(value).to_string() };
    let mut printed = String::new();
    push_key(&mut printed, key);
    // A key that is no plain word was printed in brackets of its own.
    let key = printed.strip_prefix('[').and_then(|quoted| quoted.strip_suffix(']')).unwrap_or(&printed);
    let _ = write!(path, "[{key}={value}]");
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut text = String::new();
        for segment in &self.0 {
            match segment {
                Segment::Key(key) => push_key(&mut text, key),
                Segment::Index(index) => push_index(&mut text, index),
                Segment::Select { key, value } => push_selector(&mut text, key, value),
            }
        }
        formatter.write_str(if text.is_empty() { "." } else { &text })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::json::samples;
    use super::*;

    fn path(text: &str) -> Path {
        text.parse().unwrap()
    }

    #[test]
    fn paths_are_read_and_printed() {
        let check = |text: &str, expected: &str| {
            let found = text.parse::<Path>().map_or_else(|error| error.to_string(), |path| path.to_string());
            assert_eq!(found, expected, "{text}");
        };
        check("epics[0].stories[-1].status", "epics[0].stories[-1].status");
        check("stories[id=story-001].title", "stories[id=story-001].title");
        check("$.a.b", "a.b");
        check("$[0]", "[0]");
        check(".a", "a");
        check(".", ".");
        check("$", ".");
        check("$schema", r#"["$schema"]"#);
        check(r#"["a.b"]["c"].d"#, r#"["a.b"].c.d"#);
        check(r#"a[key="va]lue"]"#, r#"a[key="va]lue"]"#);
        check(r#"a["k=y"="x y"].1.ä ö"#, r#"a["k=y"=x y].1.ä ö"#);
        check(r#"a[k=""][url=http://x/y.z]"#, r#"a[k=""][url=http://x/y.z]"#);
        check("", "path ``, column 1: expected a key (quote it as `[\"...\"]` if it is not a plain word)");
        check(
            "ä..b",
            "path `ä..b`, column 3: expected a key (quote it as `[\"...\"]` if it is not a plain word)",
        );
        check("a[", "path `a[`, column 3: expected an index, `key=value` or a quoted key");
        check("a[b]", "path `a[b]`, column 3: expected an index, `key=value` or a quoted key");
        check("a[0", "path `a[0`, column 4: expected `]`");
        check("a[0]b", "path `a[0]b`, column 5: expected `.`, `[` or the end of the path");
        check("a=b", "path `a=b`, column 2: expected `.`, `[` or the end of the path");
        check("a[id=]", "path `a[id=]`, column 6: expected a value");
        check("a[\"b]", "path `a[\"b]`, column 3: expected a JSON string with its closing quote");
        check(
            "a[99999999999999999999]",
            "path `a[99999999999999999999]`, column 3: expected an index, `key=value` or a quoted key",
        );
        check(&"a".repeat(1025), "the path has 1025 bytes; at most 1024 are allowed");
        check(&"[0]".repeat(65), "the path has 65 segments; at most 64 are allowed");
        check("x.$serde_json::private::Number", "the key `$serde_json::private::Number` is reserved");
    }

    #[test]
    fn records_name_the_document_by_an_empty_path() {
        assert_eq!(Path::from_record(""), Ok(Path::root()));
        assert_eq!(Path::from_record(&"[0]".repeat(500)).unwrap().segments().len(), 500);
    }

    fn sample() -> Value {
        json!({
            "epics": [{"id": "e1", "n": 1}, {"id": "e2", "open": true}],
            "tools": {"x": {"role": "qa"}, "y": {"role": "dev"}},
            "none": null,
        })
    }

    #[test]
    fn reading() {
        let check = |text: &str, expected: &str| {
            let root = sample();
            let found = path(text).get(&root).map_or_else(|error| error.to_string(), Value::to_string);
            assert_eq!(found, expected, "{text}");
            let mut root = root;
            let found =
                path(text).get_mut(&mut root).map_or_else(|error| error.to_string(), |v| v.to_string());
            assert_eq!(found, expected, "{text}");
        };
        check("epics[-1].id", r#""e2""#);
        check("epics[id=e2].open", "true");
        check("epics[n=1].id", r#""e1""#);
        check("epics[open=true].id", r#""e2""#);
        check("tools[role=dev]", r#"{"role":"dev"}"#);
        check("epic", "there is no `epic`; keys present: `epics`, `tools`, `none`");
        check("epics[2].id", "there is no `epics[2]`; the array has 2 items");
        check("epics[-3]", "there is no `epics[-3]`; the array has 2 items");
        check("epics[id=e3].id", "there is no `epics[id=e3]`; values of `id` present: `e1`, `e2`");
        check("epics[x=e3]", "there is no `epics[x=e3]`");
        check("epics.id", "expected an object at `epics`, found an array");
        check("tools[0]", "expected an array at `tools`, found an object");
        check("[0]", "expected an array at `.`, found an object");
        check("none.x", "expected an object at `none`, found `null`");
        check(
            "epics[0].id[a=b]",
            "expected an array or an object of objects at `epics[0].id`, found a string",
        );
        let wide = Value::Object((0..20).map(|n| (n.to_string(), n.into())).collect());
        assert!(path("x").get(&wide).unwrap_err().to_string().ends_with("`6`, `7` and 12 more"));
    }

    #[test]
    fn setting() {
        let check = |text: &str, expected: &str| {
            let mut root = sample();
            match path(text).set(&mut root, json!("new")) {
                Ok(old) => {
                    assert_eq!(format!("{old:?}"), expected, "{text}");
                    assert_eq!(path(text).get(&root), Ok(&json!("new")));
                }
                Err(error) => {
                    assert_eq!(error.to_string(), expected, "{text}");
                    assert_eq!(root, sample(), "{text}");
                }
            }
        };
        check("epics[id=e1].n", "Some(Number(1))");
        check("none", "Some(Null)");
        check("a.b.c", "None");
        check("tools[role=qa].deep.er", "None");
        check("epics[2]", "`epics[2]` is out of range: the array has 2 items");
        check("epics[-3].id", "`epics[-3]` is out of range: the array has 2 items");
        check("a.b[0].c", "there is no `a`; keys present: `epics`, `tools`, `none`");
        check("epics[id=e9].n", "there is no `epics[id=e9]`; values of `id` present: `e1`, `e2`");
        check("none.a.b", "expected an object at `none`, found `null`");
        check("epics.x", "expected an object at `epics`, found an array");
        let mut root = sample();
        assert_eq!(path(".").set(&mut root, json!(1)), Ok(Some(sample())));
        assert_eq!(root, json!(1));
    }

    #[test]
    fn appending() {
        let check = |text: &str, expected: &str| {
            let mut root = sample();
            match path(text).append(&mut root, json!("new")) {
                Ok(index) => {
                    assert_eq!(index.to_string(), expected, "{text}");
                    assert_eq!(path(text).get(&root).unwrap()[index], json!("new"));
                }
                Err(error) => {
                    assert_eq!(error.to_string(), expected, "{text}");
                    assert_eq!(root, sample(), "{text}");
                }
            }
        };
        check("epics", "2");
        check("epics[0].new.list", "0");
        check("epics[0]", "expected an array at `epics[0]`, found an object");
        check("none", "expected an array at `none`, found `null`");
        check(".", "expected an array at `.`, found an object");
        check("epics[5].list", "`epics[5]` is out of range: the array has 2 items");
        check("lists[0]", "there is no `lists`; keys present: `epics`, `tools`, `none`");
    }

    #[test]
    fn removing_keeps_the_order() {
        let check = |text: &str, expected: &str| {
            let mut root = sample();
            let found =
                path(text).remove(&mut root).map_or_else(|error| error.to_string(), |_| root.to_string());
            assert_eq!(found, expected, "{text}");
        };
        check("epics", r#"{"tools":{"x":{"role":"qa"},"y":{"role":"dev"}},"none":null}"#);
        let rest = r#""tools":{"x":{"role":"qa"},"y":{"role":"dev"}},"none":null}"#;
        check("epics[0]", &format!(r#"{{"epics":[{{"id":"e2","open":true}}],{rest}"#));
        check("epics[id=e1].id", &format!(r#"{{"epics":[{{"n":1}},{{"id":"e2","open":true}}],{rest}"#));
        check("epics[7]", "there is no `epics[7]`; the array has 2 items");
        check("nothing.at.all", "there is no `nothing`; keys present: `epics`, `tools`, `none`");
        check(".", "the whole document cannot be removed");
        let mut root = sample();
        assert_eq!(path("tools[role=qa]").remove(&mut root), Ok(json!({"role": "qa"})));
        assert_eq!(root["tools"], json!({"y": {"role": "dev"}}));
    }

    fn segments() -> impl Strategy<Value = Segment> {
        prop_oneof![
            samples::keys().prop_map(Segment::Key),
            any::<i64>().prop_map(Segment::Index),
            (samples::keys(), samples::keys()).prop_map(|(key, value)| Segment::Select { key, value }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(path in vec(segments(), 0..8).prop_map(Path::from)) {
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a$.=\\[\\]\"\\\\0-9ä-]{0,12}") {
            if let Ok(path) = text.parse::<Path>() {
                prop_assert_eq!(path.to_string().parse(), Ok(path));
            }
        }

        #[test]
        fn a_failed_write_changes_nothing(
            root in samples::values(),
            path in vec(prop_oneof!["[a-e]".prop_map(Segment::Key), (-3..3_i64).prop_map(Segment::Index)], 0..5)
                .prop_map(Path::from),
        ) {
            let mut written = root.clone();
            match path.set(&mut written, json!("new")) {
                Ok(_) => prop_assert_eq!(path.get(&written), Ok(&json!("new"))),
                Err(_) => prop_assert_eq!(&written, &root),
            }
            let mut appended = root.clone();
            if path.append(&mut appended, json!("new")).is_err() {
                prop_assert_eq!(&appended, &root);
            }
            let mut removed = root.clone();
            if path.remove(&mut removed).is_err() {
                prop_assert_eq!(&removed, &root);
            }
        }
    }
}
