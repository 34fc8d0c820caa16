//! Going back to an older state without giving a claim's number twice.
//!
//! An older state may say that somebody has a task whose claim is long over, or count fewer claims than there were. Either
//! would let a worker that slept through it pass the fence.

use serde_json::{Value, json};

use crate::model::documents::agent_loop::WorkItem;
use crate::model::documents::queue::{LastClaim, Lease, QueueTask};
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::kind::{Items, Kind};
use crate::model::lease;

/// How items of a kind say that nobody has them.
struct Open {
    kind: &'static str,
    /// What somebody who works on it has made of its status, and what it is without them.
    held: &'static [&'static str],
    open: &'static str,
    /// The field that names them.
    holder: Key<Option<String>>,
    /// The fields that are empty then, and those that are not there.
    empty: &'static [Key<Value>],
    gone: &'static [Key<Value>],
}

const OPEN: [Open; 2] = [
    Open {
        kind: "queue",
        held: &["claimed", "in_progress"],
        open: "available",
        holder: QueueTask::claimed_by,
        empty: &[QueueTask::claimed_by.any(), QueueTask::claimed_at.any(), QueueTask::lease.any()],
        gone: &[QueueTask::started_at.any(), QueueTask::session_id.any()],
    },
    Open {
        kind: "work_queue",
        held: &["in_progress"],
        open: "pending",
        holder: WorkItem::assigned_to,
        empty: &[],
        gone: &[
            WorkItem::assigned_to.any(),
            WorkItem::session_id.any(),
            WorkItem::run.any(),
            WorkItem::lease.any(),
        ],
    },
];

/// Lets a restored document keep the numbers of all claims that `ours` knows.
pub fn keep_epochs(kind: &Kind, ours: &Value, restored: &mut Value) {
    let Items::Field(field) = kind.items else { return };
    let Some(known) = ours.get(field).and_then(Value::as_array) else { return };
    let Some(items) = restored.get_mut(field).and_then(Value::as_array_mut) else { return };
    let known: std::collections::HashMap<&str, &Value> =
        known.iter().filter_map(|item| Some((item.text(QueueTask::id)?, item))).collect();
    for item in items {
        let name = item.text(QueueTask::id).map(str::to_owned);
        if let Some(now) = name.as_deref().and_then(|name| known.get(name)) {
            keep_epoch(kind, now, item);
        }
    }
}

/// Lets one restored item keep the number of the last claim that `now` knows. A lease that was renewed stays so.
pub fn keep_epoch(kind: &Kind, now: &Value, then: &mut Value) {
    let epoch = lease::epoch(now);
    let Some(open) = OPEN.iter().find(|open| open.kind == kind.name) else { return };
    lease::keep_later(now, then);
    if epoch <= lease::epoch(then) {
        return;
    }
    let last = now.at(QueueTask::last_claim);
    let ended = last.text(LastClaim::ended_at);
    let ended = ended.or(now.text(QueueTask::completed_at)).or(now.text(QueueTask::claimed_at));
    let ended = ended.or(now.at(QueueTask::lease).text(Lease::expires_at));
    let by = now.text(open.holder).or(last.text(LastClaim::by));
    let by = by.or(then.text(open.holder)).unwrap_or_default();
    let last = json!({
        LastClaim::by: by, LastClaim::epoch: epoch, LastClaim::ended_at: ended.unwrap_or_default(),
        LastClaim::reason: "restored",
    });
    let was_held = then.text(QueueTask::status).is_some_and(|status| open.held.contains(&status));
    let Some(fields) = then.as_object_mut() else { return };
    fields.set(QueueTask::last_claim, last);
    if was_held {
        fields.set(QueueTask::status, Value::from(open.open));
        open.empty.iter().for_each(|field| fields.set(*field, Value::Null));
        open.gone.iter().for_each(|field| drop(fields.unset(*field)));
    }
}
