//! The keys of objects, as texts: how they stand in a path, and which there cannot be.

use std::fmt::Write;

use serde_json::Value;

/// Appends `key` to a path expression, quoted where the key is not a plain word.
pub fn push_key(path: &mut String, key: &str) {
    let plain = !key.is_empty() && !key.contains(['.', '[', ']', '"', '=', '\\']) && !key.starts_with('$');
    if !plain {
        let _ = write!(path, "[{}]", Value::from(key));
    } else if path.is_empty() {
        path.push_str(key);
    } else {
        let _ = write!(path, ".{key}");
    }
}

/// Whether a key belongs to serde_json's own signalling and would not survive reading.
pub fn is_reserved(key: &str) -> bool {
    key.starts_with("$serde_json::private::")
}
