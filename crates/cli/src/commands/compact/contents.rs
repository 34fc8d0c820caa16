use serde_json::Value;

/// Names what a backup holds.
pub fn names(backup: &Value) -> String {
    let preserved = backup.get("preserved").and_then(Value::as_object);
    let names: Vec<_> = preserved.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}
