//! Going back to an older state without giving a claim's number twice.
//!
//! An older state may say that somebody has a task whose claim is long over, or count fewer claims than there were. Either
//! would let a worker that slept through it pass the fence.

use serde_json::{Value, json};

use crate::model::kind::{Items, Kind};
use crate::model::lease;

/// How items of a kind say that nobody has them.
struct Open {
    kind: &'static str,
    /// What somebody who works on it has made of its status, and what it is without them.
    held: &'static [&'static str],
    open: &'static str,
    /// The field that names them.
    holder: &'static str,
    /// The fields that are empty then, and those that are not there.
    empty: &'static [&'static str],
    gone: &'static [&'static str],
}

const OPEN: [Open; 2] = [
    Open {
        kind: "queue",
        held: &["claimed", "in_progress"],
        open: "available",
        holder: "claimed_by",
        empty: &["claimed_by", "claimed_at", "lease"],
        gone: &["started_at", "session_id"],
    },
    Open {
        kind: "work_queue",
        held: &["in_progress"],
        open: "pending",
        holder: "assigned_to",
        empty: &[],
        gone: &["assigned_to", "session_id", "run", "lease"],
    },
];

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
            keep_epoch(kind, now, item);
        }
    }
}

/// Lets one restored item keep the number of the last claim that `now` knows.
pub fn keep_epoch(kind: &Kind, now: &Value, then: &mut Value) {
    let epoch = lease::epoch(now);
    let Some(open) = OPEN.iter().find(|open| open.kind == kind.name) else { return };
    if epoch <= lease::epoch(then) {
        return;
    }
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    let last = now.get("last_claim");
    let ended = last.and_then(|last| text(last, "ended_at"));
    let ended = ended.or_else(|| text(now, "completed_at")).or_else(|| text(now, "claimed_at"));
    let ended = ended.or_else(|| now.get("lease").and_then(|lease| text(lease, "expires_at")));
    let by = text(now, open.holder).or_else(|| last.and_then(|last| text(last, "by")));
    let by = by.or_else(|| text(then, open.holder)).unwrap_or_default();
    let last = json!({"by": by, "epoch": epoch, "ended_at": ended.unwrap_or_default(), "reason": "restored"});
    let was_held = text(then, "status").is_some_and(|status| open.held.contains(&&*status));
    let Some(fields) = then.as_object_mut() else { return };
    fields.insert("last_claim".into(), last);
    if was_held {
        fields.insert("status".into(), open.open.into());
        open.empty.iter().for_each(|field| drop(fields.insert((*field).into(), Value::Null)));
        open.gone.iter().for_each(|field| drop(fields.shift_remove(*field)));
    }
}
