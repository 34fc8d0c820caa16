//! The work loop.

use serde_json::Value;

use crate::model::kind::{Doc, Kind};
use crate::model::paper::Paper;
use crate::model::room::Room;

pub(super) fn work_queue() -> Doc {
    Doc::shared(Kind::find("work_queue").expect("work_queue is a kind"), Room::State)
}

/// Returns where the gates of a work queue have their logs.
pub(super) fn gate_logs(queue: &Value) -> Vec<Paper> {
    let gates = queue.get("gate_results").and_then(Value::as_object).into_iter().flatten();
    gates.filter_map(|(name, _)| name.parse().ok().map(Paper::GateLog)).collect()
}
