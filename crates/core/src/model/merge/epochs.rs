//! Going back to an older state without giving a claim's number twice.
//!
//! An older state may say that somebody has a task whose claim is long over, or count fewer claims than there were. Either
//! would let a worker that slept through it pass the fence.

use serde_json::{Value, json};

use crate::model::kind::{Items, Kind};
use crate::model::lease;

/// Lets a restored document keep the numbers of all claims that `ours` knows.
pub fn keep_epochs(kind: &Kind, ours: &Value, restored: &mut Value) {
    let Items::Field(field) = kind.items else { return };
    let Some(known) = ours.get(field).and_then(Value::as_array) else { return };
    let Some(items) = restored.get_mut(field).and_then(Value::as_array_mut) else { return };
    let known: std::collections::HashMap<&str, &Value> =
        known.iter().filter_map(|item| Some((item.get("id")?.as_str()?, item))).collect();
    for item in items {
        let name = item.get("id").and_then(Value::as_str).map(str::to_owned);
        if let Some(now) = name.as_deref().and_then(|name| known.get(name)) {
            keep_epoch(now, item);
        }
    }
}

fn keep_epoch(now: &Value, then: &mut Value) {
    let epoch = lease::epoch(now);
    if epoch <= lease::epoch(then) {
        return;
    }
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    let ended = now.get("last_claim").and_then(|last| text(last, "ended_at"));
    let ended = ended.or_else(|| text(now, "completed_at")).or_else(|| text(now, "claimed_at"));
    let by = text(now, "claimed_by").or_else(|| text(then, "claimed_by")).unwrap_or_default();
    let last = json!({"by": by, "epoch": epoch, "ended_at": ended.unwrap_or_default(), "reason": "restored"});
    let was_held = matches!(text(then, "status").as_deref(), Some("claimed" | "in_progress"));
    let Some(fields) = then.as_object_mut() else { return };
    fields.insert("last_claim".into(), last);
    if was_held {
        fields.insert("status".into(), "available".into());
        for field in ["claimed_by", "claimed_at", "lease"] {
            fields.insert(field.into(), Value::Null);
        }
        for field in ["started_at", "session_id"] {
            fields.shift_remove(field);
        }
    }
}
