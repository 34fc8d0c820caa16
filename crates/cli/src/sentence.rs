//! Parts of sentences.

use serde_json::Value;

/// Shortens a text to `limit` characters.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns a text field of a thing, for a sentence.
pub fn text<'v>(item: &'v Value, field: &str) -> &'v str {
    item.get(field).and_then(Value::as_str).unwrap_or_default()
}
