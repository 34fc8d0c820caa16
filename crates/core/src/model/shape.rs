//! The shape of a document: one description, four uses.
//!
//! `document!` and `words!` turn a plain Rust type into a constant [`Shape`]. The shape validates
//! parsed JSON ([`Shape::check`]) and prints as JSON Schema ([`Shape::json_schema`]), so the typed view,
//! the validator and the published schema cannot drift apart. Rules read and write its fields by constants
//! ([`key`](super::key)).
//!
//! Validation follows JSON Schema, not serde: a struct is never read from an array, `1.0` is an integer,
//! unknown fields are always allowed. Times are strings here; a seed document may hold `"..."`.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value, json};

use super::key::{Fields, Held, Key, List, Numeric, Put, Text, kinds, puts};
use super::key_text::push_key;
use super::path::Segment;

/// What a JSON value must look like.
#[derive(Debug)]
pub enum Shape {
    Any,
    Text,
    /// An RFC 3339 time by intent; any string by validation.
    Time,
    Integer,
    Number,
    Bool,
    /// Exactly this string.
    Const(&'static str),
    /// One of these strings.
    Words(&'static [&'static str]),
    List(&'static Shape),
    /// A list of objects in which no `id` is there twice.
    ById(&'static Shape),
    /// An object whose every value has the inner shape.
    Map(&'static Shape),
    Nullable(&'static Shape),
    /// Any of the two (a version that is a word in one seed and a number in another).
    Either(&'static Shape, &'static Shape),
    Object(&'static [Field]),
    /// An object with these fields and no others.
    Closed(&'static [Field]),
    /// An object that has the fields of both.
    Both(&'static Shape, &'static Shape),
}

/// One named field of an object.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub about: &'static str,
    pub required: bool,
    pub shape: &'static Shape,
}

/// A Rust type that has a JSON shape.
pub trait Shaped: DeserializeOwned {
    const SHAPE: &'static Shape;
    /// Whether a field of this type must be present.
    const REQUIRED: bool = true;
    /// What a request means that leaves a field of this type out, if it may.
    const LEFT_OUT: Option<fn() -> Self> = None;
    /// What the thing is, in a sentence.
    const ABOUT: &'static str = "";

    /// Whether this value is written by leaving its field out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Reads a value. What stays a value keeps the spelling of its numbers, which serde would not.
    fn from_json(value: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(value)
    }
}

/// Where and why a value does not fit its shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("`{path}`: ") })]
pub struct Misfit {
    /// Path expression of the offending value; empty for the document itself.
    pub path: String,
    pub message: String,
}

/// Returns the published JSON Schema of a document kind.
pub fn schema_document(kind: &str, about: &str, shape: &Shape) -> Value {
    let mut document = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": format!("anthill:{kind}"),
        "title": kind,
        "description": about,
    });
    let (Value::Object(head), Value::Object(body)) = (&mut document, shape.json_schema()) else {
        unreachable!("BUG: a schema is an object");
    };
    head.extend(body);
    document
}

impl Shape {
    /// Returns the shape of a closed set of words.
    pub const fn of_words(words: &'static [&'static str]) -> Shape {
        match words {
            [word] => Shape::Const(word),
            _ => Shape::Words(words),
        }
    }

    /// Returns the first misfit of `value`, in document order.
    pub fn check(&self, value: &Value) -> Result<(), Misfit> {
        self.check_at(value, &At::Document)
    }

    fn check_at(&self, value: &Value, at: &At<'_>) -> Result<(), Misfit> {
        let fits = match (self, value) {
            (Shape::Any, _)
            | (Shape::Text | Shape::Time, Value::String(_))
            | (Shape::Number, Value::Number(_))
            | (Shape::Bool, Value::Bool(_))
            | (Shape::Nullable(_), Value::Null) => true,
            (Shape::Integer, Value::Number(number)) => is_integer(number),
            (Shape::Const(word), Value::String(text)) => text == word,
            (Shape::Words(words), Value::String(text)) => words.contains(&text.as_str()),
            (Shape::Nullable(inner), _) => return inner.check_at(value, at),
            (Shape::Either(left, right), _) => {
                left.check_at(value, at).is_ok() || right.check_at(value, at).is_ok()
            }
            (Shape::List(item), Value::Array(values)) => {
                return check_items(item, values, at);
            }
            (Shape::ById(item), Value::Array(values)) => {
                return check_items(item, values, at).and_then(|()| check_ids(values, at));
            }
            (Shape::Map(item), Value::Object(map)) => return check_values(item, map, at),
            (Shape::Object(fields), Value::Object(map)) => return check_fields(fields, map, at),
            (Shape::Closed(fields), Value::Object(map)) => {
                return check_fields(fields, map, at).and_then(|()| check_names(fields, map, at));
            }
            (Shape::Both(left, right), _) => {
                return left.check_at(value, at).and_then(|()| right.check_at(value, at));
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let message = format!("expected {}, found {}", self.expectation(), describe(value));
        Err(Misfit { path: at.path(), message })
    }

    /// Says in words what would be right here.
    fn expectation(&self) -> String {
        match self {
            Shape::Any => "anything".into(),
            Shape::Text => "a string".into(),
            Shape::Time => "a time (a string such as `2026-01-31T09:30:00Z`)".into(),
            Shape::Integer => "an integer".into(),
            Shape::Number => "a number".into(),
            Shape::Bool => "`true` or `false`".into(),
            Shape::Const(word) => format!("`\"{word}\"`"),
            Shape::Words(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Shape::List(_) | Shape::ById(_) => "an array".into(),
            Shape::Map(_) | Shape::Object(_) | Shape::Closed(_) | Shape::Both(..) => "an object".into(),
            Shape::Nullable(inner) => format!("{} or `null`", inner.expectation()),
            Shape::Either(left, right) => format!("{} or {}", left.expectation(), right.expectation()),
        }
    }

    /// Returns the shape of the items of an object's list.
    pub fn items_of(&self, field: &str) -> Option<&'static Shape> {
        let Shape::Object(fields) = self else { return None };
        match fields.iter().find(|known| known.name == field)?.shape {
            Shape::List(item) | Shape::ById(item) => Some(item),
            _ => None,
        }
    }

    /// Returns the shape of what stands at a path, if it is known.
    pub fn at(&self, path: &[Segment]) -> Option<&Shape> {
        let [first, rest @ ..] = path else { return Some(self) };
        match (self, first) {
            (Shape::Any, _) => Some(self),
            (Shape::Nullable(inner), _) => inner.at(path),
            (Shape::Either(left, right), _) => left.at(path).or_else(|| right.at(path)),
            (Shape::Object(fields), Segment::Key(key)) => {
                fields.iter().find(|field| field.name == key)?.shape.at(rest)
            }
            (Shape::Map(inner), Segment::Key(_) | Segment::Select { .. })
            | (Shape::List(inner) | Shape::ById(inner), Segment::Index(_) | Segment::Select { .. }) => {
                inner.at(rest)
            }
            _ => None,
        }
    }

    pub fn is_list(&self) -> bool {
        match self {
            Shape::Any | Shape::List(_) | Shape::ById(_) => true,
            Shape::Nullable(inner) => inner.is_list(),
            Shape::Either(left, right) => left.is_list() || right.is_list(),
            _ => false,
        }
    }

    /// Returns where lists stand, as they are named: `epics`, `epics[].stories`.
    pub fn lists(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.lists_at("", &mut found);
        found
    }

    fn lists_at(&self, path: &str, found: &mut Vec<String>) {
        match self {
            Shape::Object(fields) => fields.iter().for_each(|field| {
                let dot = if path.is_empty() { "" } else { "." };
                field.shape.lists_at(&format!("{path}{dot}{}", field.name), found);
            }),
            Shape::List(item) | Shape::ById(item) => {
                found.push(path.to_owned());
                item.lists_at(&format!("{path}[]"), found);
            }
            Shape::Nullable(inner) => inner.lists_at(path, found),
            _ => {}
        }
    }

    /// Returns this shape as a JSON Schema (draft-07 vocabulary).
    pub fn json_schema(&self) -> Value {
        match self {
            Shape::Any => json!({}),
            Shape::Text => json!({"type": "string"}),
            Shape::Time => json!({"type": "string", "format": "date-time"}),
            Shape::Integer => json!({"type": "integer"}),
            Shape::Number => json!({"type": "number"}),
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Const(word) => json!({"type": "string", "const": word}),
            Shape::Words(words) => json!({"type": "string", "enum": words}),
            Shape::List(item) | Shape::ById(item) => json!({"type": "array", "items": item.json_schema()}),
            Shape::Map(item) => json!({"type": "object", "additionalProperties": item.json_schema()}),
            Shape::Nullable(inner) => json!({"anyOf": [inner.json_schema(), {"type": "null"}]}),
            Shape::Either(left, right) => json!({"anyOf": [left.json_schema(), right.json_schema()]}),
            Shape::Object(fields) => object_schema(fields),
            Shape::Closed(fields) => {
                let mut schema = object_schema(fields);
                schema["additionalProperties"] = false.into();
                schema
            }
            Shape::Both(left, right) => json!({"allOf": [left.json_schema(), right.json_schema()]}),
        }
    }
}

/// Where a check is. Its path is put together only for a misfit: nearly every value fits.
pub enum At<'a> {
    Document,
    Item(&'a At<'a>, usize),
    Key(&'a At<'a>, &'a str),
}

impl At<'_> {
    pub fn path(&self) -> String {
        match self {
            At::Document => String::new(),
            At::Item(above, index) => format!("{}[{index}]", above.path()),
            At::Key(above, key) => {
                let mut path = above.path();
                push_key(&mut path, key);
                path
            }
        }
    }
}

fn check_items(item: &Shape, values: &[Value], at: &At<'_>) -> Result<(), Misfit> {
    values.iter().enumerate().try_for_each(|(index, value)| item.check_at(value, &At::Item(at, index)))
}

/// What items are known by.
const ID: Key<String> = Key::new("id");

/// Finds the second of two items with one id: which of them is meant could not be told.
fn check_ids(values: &[Value], at: &At<'_>) -> Result<(), Misfit> {
    let mut seen = HashMap::with_capacity(values.len());
    for (index, id) in values.iter().map(|value| value.text(ID)).enumerate() {
        if let Some(first) = id.and_then(|id| seen.insert(id, index)) {
            let message = format!("the same id as `{}`", At::Item(at, first).path());
            return Err(Misfit { path: At::Key(&At::Item(at, index), ID.name()).path(), message });
        }
    }
    Ok(())
}

fn check_values(item: &Shape, map: &Map<String, Value>, at: &At<'_>) -> Result<(), Misfit> {
    map.iter().try_for_each(|(key, value)| item.check_at(value, &At::Key(at, key)))
}

fn check_fields(fields: &[Field], map: &Map<String, Value>, at: &At<'_>) -> Result<(), Misfit> {
    for field in fields {
        match field_of(map, field.name) {
            Some(value) => field.shape.check_at(value, &At::Key(at, field.name))?,
            None if field.required => {
                let message = format!("the field `{}` is missing", field.name);
                return Err(Misfit { path: at.path(), message });
            }
            None => {}
        }
    }
    Ok(())
}

/// Finds a field that nobody has declared.
fn check_names(fields: &[Field], map: &Map<String, Value>, at: &At<'_>) -> Result<(), Misfit> {
    match map.keys().find(|key| fields.iter().all(|field| field.name != **key)) {
        Some(key) => Err(Misfit { path: at.path(), message: format!("there is no field `{key}`") }),
        None => Ok(()),
    }
}

/// Returns a field of an object. Comparing the name with a few others takes less than hashing it.
fn field_of<'v>(map: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    const FEW: usize = 16;
    match map.len() {
        0..=FEW => map.iter().find(|(key, _)| *key == name).map(|(_, value)| value),
        _ => map.get(name),
    }
}

fn object_schema(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = field.shape.json_schema();
        if let (Some(object), false) = (schema.as_object_mut(), field.about.is_empty()) {
            object.insert("description".into(), field.about.trim().into());
        }
        properties.insert(field.name.into(), schema);
    }
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "`null`".into(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) if text.chars().count() <= 40 => format!("`{}`", Value::from(text.as_str())),
        Value::String(_) => "a long string".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// Whether a JSON number has no fractional part (`3`, `-3`, `3.0`, `3e2`), as JSON Schema counts it.
fn is_integer(number: &Number) -> bool {
    number.as_i64().is_some()
        || number.as_u64().is_some()
        || number.as_f64().is_some_and(|float| float.is_finite() && float.fract() == 0.0)
}

/// A field that may be absent but, unlike `Option`, may not be `null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maybe<T>(pub Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Maybe(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Maybe(Some(value)))
    }
}

impl<T: Serialize> Serialize for Maybe<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A time as a seed writes it: meant to be RFC 3339, kept as the text it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time(pub String);

/// The format `version` of a document: a word (`"1.0.0"`) in most seeds, a number in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FormatVersion(pub Value);

macro_rules! scalar_shapes {
    ($($type:ty => $shape:expr),* $(,)?) => {
        $(impl Shaped for $type { const SHAPE: &'static Shape = &$shape; })*
    };
}

scalar_shapes! {
    String => Shape::Text,
    Time => Shape::Time,
    Integer => Shape::Integer,
    Decimal => Shape::Number,
    FormatVersion => Shape::Either(&Shape::Text, &Shape::Integer),
}

impl Shaped for Value {
    const SHAPE: &'static Shape = &Shape::Any;

    fn from_json(value: Value) -> Result<Value, serde_json::Error> {
        Ok(value)
    }
}

impl Shaped for Map<String, Value> {
    const SHAPE: &'static Shape = &Shape::Map(&Shape::Any);

    fn from_json(value: Value) -> Result<Self, serde_json::Error> {
        match value {
            Value::Object(map) => Ok(map),
            other => serde_json::from_value(other),
        }
    }
}

impl Shaped for bool {
    const SHAPE: &'static Shape = &Shape::Bool;
    const LEFT_OUT: Option<fn() -> bool> = Some(|| false);
}

kinds! {
    Time => &'v str, value => value.as_str();
    Integer => u64, value => value.as_u64();
    Decimal => f64, value => value.as_f64();
    FormatVersion => &'v Value, value => Some(value).filter(|value| !value.is_null());
    @T Entries<T> => &'v Map<String, Value>, value => value.as_object();
    @T ById<T> => &'v [Value], value => value.as_array().map(Vec::as_slice);
}

impl<T: Held> Held for Maybe<T> {
    type Kind = T::Kind;
}

impl Text for Time {}
impl Numeric for Integer {}
impl Numeric for Decimal {}
impl<T> List for ById<T> {}

puts! {
    Time: &str, String;
    Integer: i32, i64, u32, u64, usize;
    Decimal: i32, i64, u64, usize, f64;
}

impl<T> Put<ById<T>> for Vec<Value> {
    fn put(self) -> Value {
        self.into()
    }
}

/// Any JSON integer, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integer(pub Number);

impl From<u64> for Integer {
    fn from(number: u64) -> Integer {
        Integer(number.into())
    }
}

impl From<usize> for Integer {
    fn from(number: usize) -> Integer {
        Integer(number.into())
    }
}

impl Default for Integer {
    fn default() -> Self {
        Integer(0.into())
    }
}

/// Any JSON number, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decimal(pub Number);

impl Default for Decimal {
    fn default() -> Self {
        Decimal(0.into())
    }
}

/// A list of items that are known by their `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ById<T>(pub Vec<T>);

impl<T> Default for ById<T> {
    fn default() -> Self {
        ById(Vec::new())
    }
}

/// An object with free keys, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries<T>(pub Vec<(String, T)>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        let entry = |(key, value)| Ok((key, serde_json::from_value(value)?));
        map.into_iter()
            .map(entry)
            .collect::<Result<_, serde_json::Error>>()
            .map(Entries)
            .map_err(serde::de::Error::custom)
    }
}

impl<T: Serialize> Serialize for Entries<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: &'static Shape = &Shape::List(T::SHAPE);
    const LEFT_OUT: Option<fn() -> Vec<T>> = Some(Vec::new);
}

impl<T: Shaped> Shaped for ById<T> {
    const SHAPE: &'static Shape = &Shape::ById(T::SHAPE);
}

impl<T: Shaped> Shaped for Entries<T> {
    const SHAPE: &'static Shape = &Shape::Map(T::SHAPE);
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: &'static Shape = &Shape::Nullable(T::SHAPE);
    const REQUIRED: bool = false;
    const LEFT_OUT: Option<fn() -> Option<T>> = Some(|| None);

    fn from_json(value: Value) -> Result<Self, serde_json::Error> {
        if value.is_null() { Ok(None) } else { T::from_json(value).map(Some) }
    }
}

impl<T: Shaped> Shaped for Maybe<T> {
    const SHAPE: &'static Shape = T::SHAPE;
    const REQUIRED: bool = false;

    fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

/// Declares a document, or an object inside one, with its shape.
///
/// `field: T` must be present, `field: Option<T>` may be absent or `null`, `field: Maybe<T>` may be absent.
/// `field as "key": T` names a key that is no Rust identifier.
macro_rules! document {
    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $field_about:literal])* $field:ident $(as $key:literal)? : $type:ty),* $(,)?
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[doc = $field_about])*
                $(#[serde(rename = $key)])?
                #[serde(skip_serializing_if = "crate::model::shape::Shaped::is_absent")]
                pub $field: $type,
            )*
        }

        impl $crate::model::shape::Shaped for $name {
            const ABOUT: &'static str = concat!($($about),*).trim_ascii();
            const SHAPE: &'static $crate::model::shape::Shape = &$crate::model::shape::Shape::Object(&[
                $($crate::model::shape::Field {
                    name: $crate::model::shape::document!(@key $field $($key)?),
                    about: concat!($($field_about),*),
                    required: <$type as $crate::model::shape::Shaped>::REQUIRED,
                    shape: <$type as $crate::model::shape::Shaped>::SHAPE,
                },)*
            ]);
        }

        /// The fields by their names.
        #[allow(non_upper_case_globals, dead_code)]
        impl $name {
            $(
                $(#[doc = $field_about])*
                pub const $field: $crate::model::key::Key<$type> =
                    $crate::model::key::Key::new($crate::model::shape::document!(@key $field $($key)?));
            )*
        }

        impl $crate::model::key::Held for $name {
            type Kind = Self;
        }

        impl $crate::model::key::Read for $name {
            type As<'v> = &'v serde_json::Value;

            fn read(value: &serde_json::Value) -> Option<&serde_json::Value> {
                value.is_object().then_some(value)
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}
pub(crate) use document;

/// Declares a closed set of words; the first one is the default.
macro_rules! words {
    ($(#[doc = $about:literal])* $name:ident { $first:ident = $first_word:literal $(, $variant:ident = $word:literal)* $(,)? }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            #[default]
            #[serde(rename = $first_word)]
            $first,
            $(#[serde(rename = $word)] $variant,)*
        }

        impl $crate::model::shape::Shaped for $name {
            const SHAPE: &'static $crate::model::shape::Shape =
                &$crate::model::shape::Shape::of_words(&[$first_word $(, $word)*]);
        }

        impl $name {
            /// Returns what a word of a document stands for.
            pub fn of_word(word: &str) -> Option<Self> {
                match word {
                    $first_word => Some(Self::$first),
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the word that documents use.
            pub const fn word(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl $crate::model::key::Held for $name {
            type Kind = Self;
        }

        impl $crate::model::key::Read for $name {
            type As<'v> = Self;

            fn read(value: &serde_json::Value) -> Option<Self> {
                Self::of_word(value.as_str()?)
            }
        }

        impl $crate::model::key::Text for $name {}

        impl $crate::model::key::Put<Self> for $name {
            fn put(self) -> serde_json::Value {
                self.word().into()
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macros declare public types")]
mod tests {
    use super::*;

    words!(Colour { Red = "red", Green = "green" });
    document!(Inner { id: String, note: Maybe<String> });
    document!(Outer { kind as "type": Colour, count: Integer, inner: Vec<Inner>, by: Option<String> });

    fn check(value: &Value, expected: &str) {
        let found = Outer::SHAPE.check(value).map_or_else(|misfit| misfit.to_string(), |()| "fits".into());
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn the_first_misfit_is_named_with_its_path() {
        let good = json!({"type": "red", "count": 1.0, "inner": [{"id": "a", "extra": 1}], "by": null});
        check(&good, "fits");
        let with = |pointer: &str, value: Value| {
            let mut changed = good.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            changed
        };
        check(&json!([]), "expected an object, found an array");
        check(&json!({"type": "red", "count": 1}), "the field `inner` is missing");
        check(
            &with("/type", json!("blue")),
            "`type`: expected one of `\"red\"`, `\"green\"`, found `\"blue\"`",
        );
        check(&with("/count", json!(1.5)), "`count`: expected an integer, found `1.5`");
        check(&with("/inner/0/id", json!(7)), "`inner[0].id`: expected a string, found `7`");
        check(
            &with("/inner/0", json!({"id": "a", "note": null})),
            "`inner[0].note`: expected a string, found `null`",
        );
        check(&with("/inner/0", json!(["a"])), "`inner[0]`: expected an object, found an array");
    }

    #[test]
    fn an_id_is_there_once() {
        document!(Known { items: ById<Inner> });
        let check = |items: Value, expected: &str| {
            let found = Known::SHAPE.check(&json!({ "items": items }));
            assert_eq!(found.map_or_else(|misfit| misfit.to_string(), |()| "fits".into()), expected);
        };
        check(json!([{"id": "a"}, {"id": "b"}]), "fits");
        check(json!([{"id": "a"}, {"id": "b"}, {"id": "a"}]), "`items[2].id`: the same id as `items[0]`");
        check(json!([{"id": "a"}, {}]), "`items[1]`: the field `id` is missing");
        assert_eq!(<ById<Inner>>::SHAPE.json_schema(), <Vec<Inner>>::SHAPE.json_schema());
    }

    #[test]
    fn what_is_absent_stays_absent_when_written() {
        let inner = Inner { id: "a".into(), note: Maybe(None) };
        assert_eq!(serde_json::to_value(inner).unwrap(), json!({"id": "a"}));
    }

    #[test]
    fn a_schema_document_names_its_kind() {
        let schema = schema_document("inner", "An inner thing.", Inner::SHAPE);
        let expected = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "anthill:inner",
            "title": "inner",
            "description": "An inner thing.",
            "type": "object",
            "properties": {"id": {"type": "string"}, "note": {"type": "string"}},
            "required": ["id"],
        });
        assert_eq!(schema, expected);
    }
}
