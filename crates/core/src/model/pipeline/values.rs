//! Fields of the pipeline's documents, read and written as values.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::model::key::{Fields, FieldsMut, Held, Key, List, Text};
use crate::model::plan::word;
use crate::model::shape::Integer;

/// What somebody hands over beside the word.
pub type Content = Map<String, Value>;

/// Returns a text field, empty when there is none.
pub fn text<T: Held<Kind: Text>>(value: &Value, key: Key<T>) -> &str {
    value.text(key).unwrap_or_default()
}

/// Returns a list field.
pub fn list<T: Held<Kind: List>>(value: &Value, key: Key<T>) -> &[Value] {
    value.list(key)
}

pub fn number<T: Held<Kind = Integer>>(value: &Value, key: Key<T>) -> u64 {
    value.read(key).unwrap_or(0)
}

/// Counts one more in a field.
pub fn bump<T: Held<Kind = Integer>>(value: &mut Value, key: Key<T>) -> u64 {
    let next = number(value, key).saturating_add(1);
    value.set(key, next);
    next
}

/// Appends to a list field and keeps its last items.
pub fn push<T: Held<Kind: List>>(value: &mut Value, key: Key<T>, item: Value, most: usize) {
    if !value[key].is_array() {
        value[key] = json!([]);
    }
    let Some(items) = value.list_mut(key) else { return };
    items.push(item);
    let over = items.len().saturating_sub(most);
    items.drain(..over);
}

/// Adds texts to a list field that are not in it yet.
pub fn unite<T: Held<Kind: List>>(value: &mut Value, key: Key<T>, more: &[Value], most: usize) {
    for item in more.iter().filter(|item| item.is_string()) {
        if !list(value, key).contains(item) {
            push(value, key, item.clone(), most);
        }
    }
}

/// Returns the object of a field, which is made if there is none.
pub fn object<T>(value: &mut Value, key: Key<T>) -> &mut Value {
    object_named(value, key.name())
}

pub fn object_named<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    if !value[name].is_object() {
        value[name] = json!({});
    }
    &mut value[name]
}

pub fn remove<T>(value: &mut Value, key: Key<T>) {
    value.unset(key);
}

/// Returns the begin of a text, with a sign that something was cut.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

pub fn joined(words: impl IntoIterator<Item = impl Serialize>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(", ")
}
