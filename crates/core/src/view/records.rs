//! What hooks keep, as rows for tables. Texts are one line each; what else stands in them the caller escapes.

use serde_json::{Value, json};

use super::plan::text;

/// Returns a row for each error.
pub fn errors(errors: &[Value]) -> Value {
    let row = |error: &Value| {
        let number = |field| error.get(field).map(Value::to_string).unwrap_or_default();
        json!({
            "id": text(error, "id"), "class": text(error, "classification"), "status": text(error, "status"),
            "retries": format!("{}/{}", number("retry_count"), number("max_retries")),
            "next_retry": text(error, "next_retry"), "tool": text(error, "tool"), "message": text(error, "message"),
        })
    };
    errors.iter().map(row).collect()
}
