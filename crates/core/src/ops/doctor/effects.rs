//! Which keys of the configuration do something. One that does not, and says something else than it says by default, is named: whoever
//! set it waits for what does not come. Keys that begin with `x_` are somebody's own and promise nothing.

use serde_json::Value;

use crate::error::Code;
use crate::hint;
use crate::model::hint::Door;
use crate::model::kind::Doc;
use crate::model::next::{Next, With};
use crate::model::path::Path;
use crate::store::{Engine, Finding};

/// Keys of seed 000 that have none here, why, and what has.
const WITHOUT: [(&str, &str, Option<Next>); 4] = [
    ("global.state_sync_interval", "changes are seen at once, nothing is asked for in intervals", None),
    (
        "features.enable_state_sharing",
        "the documents are shared by being files; keep a home apart by ",
        Some(Next::With(With::Home)),
    ),
    ("paths.scripts", "there are no scripts: everything is in the program", None),
    ("paths.locks", "locks stay in the home, so that all commands agree about them", None),
];

/// Returns a finding for every key of the configuration that has no effect.
pub fn without_effect(engine: &dyn Engine, door: &dyn Door) -> Vec<Finding> {
    let doc = Doc::config();
    let Ok(Some(config)) = engine.read(&doc) else { return Vec::new() };
    let usual = doc.default(jiff::Timestamp::UNIX_EPOCH);
    let mut found = Vec::new();
    each_key(&config.value, "", &mut |key, value| {
        let mut steps = key.split('.');
        let by_default = steps.try_fold(&usual, |place, step| place.get(step));
        if is_effective(key) || by_default == Some(value) {
            return;
        }
        let why = WITHOUT.iter().find(|(known, ..)| *known == key).map(|(_, why, instead)| {
            format!(": {why}{}", instead.as_ref().map(|step| door.say(step)).unwrap_or_default())
        });
        let message = format!("`{key}` in the configuration has no effect{}", why.unwrap_or_default());
        let fix = hint!["take it out: ", Next::Delete { doc: (&doc).into(), path: Some(key.into()) }];
        found.push(Finding {
            code: Code::Invalid,
            subject: engine.place(&doc),
            message,
            fix,
            repaired: false,
        });
    });
    found
}

fn is_effective(key: &str) -> bool {
    let is_known = || {
        Path::from_record(key)
            .is_ok_and(|path| path.is_own() || Doc::config().kind.shape.at(path.segments()).is_some())
    };
    !WITHOUT.iter().any(|(known, ..)| *known == key) && is_known()
}

/// Calls `visit` with every key that is no section, and its value.
fn each_key(value: &Value, above: &str, visit: &mut dyn FnMut(&str, &Value)) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        match value {
            Value::Object(_) => each_key(value, &key, visit),
            _ => visit(&key, value),
        }
    }
}
