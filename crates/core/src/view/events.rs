//! One line for each change of a document: when, what, who, and what became of which item.

use serde_json::Value;

use super::graph::{cut, one_line};
use crate::model::diff::Change;
use crate::model::documents::queue::QueueTask;
use crate::model::key::Fields;
use crate::model::kind::Kind;
use crate::model::names::{Names, named};
use crate::model::path::{Path, Segment};

/// How many parts of a change are told.
const PARTS: usize = 3;

/// How much is told of a value.
const VALUE: usize = 40;

/// One change of one document.
#[derive(Debug)]
pub struct Event<'a> {
    pub at: &'a str,
    pub kind: &'a str,
    pub revision: u64,
    pub by: &'a str,
    pub op: &'a str,
    pub changes: &'a [Change],
    pub names: &'a Names,
    /// What is to be said in the place of changes.
    pub note: Option<String>,
}

/// Returns the line, in at most `width` characters.
pub fn line(event: &Event<'_>, width: usize) -> String {
    let Event { at, kind, revision, by, op, .. } = event;
    let at = at.split_once('.').map_or(*at, |(second, _)| second).trim_end_matches('Z').replace('T', " ");
    let (mut told, rest) = parts(event);
    told.extend((rest > 0).then(|| format!("and {rest} more")));
    told.extend(event.note.clone());
    let told = told.join("; ");
    cut(one_line(&format!("{at}  {kind} r{revision}  {by} {op}  {told}")).trim_end(), width)
}

/// Returns the first parts of a change, and how many more there are.
fn parts(event: &Event<'_>) -> (Vec<String>, usize) {
    let kind = Kind::find(event.kind);
    let is_stamp = |change: &&Change| kind.is_some_and(|kind| kind.stamps(&change.path));
    let places: Vec<_> = event
        .changes
        .iter()
        .filter(|change| !is_stamp(change))
        .map(|change| Place::of(change, event.names))
        .collect();
    // What else changes with a status says nothing more.
    let moved: Vec<_> =
        places.iter().filter(|place| place.field == "status").map(|place| &place.item).collect();
    let says_more = |place: &&Place<'_>| place.field == "status" || !moved.contains(&&place.item);
    let told: Vec<_> = places.iter().filter(says_more).map(Place::told).collect();
    let rest = told.len().saturating_sub(PARTS);
    (told.into_iter().take(PARTS).collect(), rest)
}

/// Where a change happened: in which item, and at which of its fields.
struct Place<'a> {
    item: String,
    field: String,
    change: &'a Change,
}

impl<'a> Place<'a> {
    fn of(change: &'a Change, names: &Names) -> Place<'a> {
        let path = named(change, names);
        let Ok(whole) = Path::from_record(&change.path) else {
            return Place { item: String::new(), field: path, change };
        };
        let named: Path = path.parse().unwrap_or(whole);
        match named.segments() {
            [Segment::Key(_), Segment::Select { value, .. }, field @ ..] => {
                let field =
                    if field.is_empty() { String::new() } else { Path::from(field.to_vec()).to_string() };
                Place { item: value.clone(), field, change }
            }
            _ => Place { item: String::new(), field: path, change },
        }
    }

    fn told(&self) -> String {
        let Change { path, before, after, .. } = self.change;
        if path.is_empty() && before.is_none() {
            return self.made();
        }
        let (before, after) = (short(before.as_ref()), short(after.as_ref()));
        let name = match (&*self.item, &*self.field) {
            ("", "") => "(document)".to_owned(),
            ("", field) => field.to_owned(),
            (item, "" | "status") => item.to_owned(),
            (item, field) => format!("{item}.{field}"),
        };
        format!("{name}: {before} → {after}")
    }
}

impl Place<'_> {
    /// Tells of a new document: the items that it has from the start.
    fn made(&self) -> String {
        let fields = self.change.after.as_ref().and_then(Value::as_object).into_iter().flatten();
        let items = fields.filter_map(|(_, field)| field.as_array()).flatten();
        let ids: Vec<_> = items.filter_map(|item| item.text(QueueTask::id)).collect();
        match ids.is_empty() {
            true => "new".into(),
            false => cut(&format!("new, with {}", ids.join(", ")), VALUE),
        }
    }
}

/// Returns a value in a few words: of an item its status.
fn short(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "nothing".into(),
        Some(Value::String(text)) => cut(&one_line(text), VALUE),
        Some(Value::Object(fields)) if fields.is_empty() => "{}".into(),
        Some(object @ Value::Object(_)) => object.text(QueueTask::status).unwrap_or("{…}").into(),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            cut(&format!("[{}]", one_line(&items.join(", "))), VALUE)
        }
        Some(Value::Array(items)) if items.len() == 1 => "[1 item]".into(),
        Some(Value::Array(items)) => format!("[{} items]", items.len()),
        Some(plain) => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::diff::diff;
    use crate::model::names::names_of;

    fn check(op: &str, before: &Value, after: &Value, expected: &str) {
        let changes = diff(before, after);
        let names = names_of(&changes, after);
        let event = Event {
            at: "2026-01-02T12:00:03.123Z",
            kind: "queue",
            revision: 7,
            by: "w1",
            op,
            changes: &changes,
            names: &names,
            note: None,
        };
        let expected = format!("2026-01-02 12:00:03  queue r7  w1 {op}{expected}");
        assert_eq!(line(&event, 80), expected);
        assert!(line(&event, 40).chars().count() <= 40);
    }

    #[test]
    fn a_change_is_one_line() {
        let task = |status: &str, priority: u64| json!({"id": "model", "status": status, "priority": priority, "claimed_by": status});
        let queue = |tasks: &[Value]| json!({"tasks": tasks});
        let open = queue(&[task("available", 5)]);
        check("claim", &open, &queue(&[task("claimed", 5)]), "  model: available → claimed");
        check("add-task", &queue(&[]), &open, "  model: nothing → available");
        check("remove", &open, &queue(&[]), "  model: available → nothing");
        let mut edited = open.clone();
        edited["tasks"][0]["priority"] = 1.into();
        edited["tasks"][0]["dependencies"] = json!(["a", "b"]);
        edited["goal"] = "more\nof it".into();
        check("edit", &open, &edited, "  model.priority: 5 → 1; model.dependenci…");
        check("touch", &open, &open, "");
        let made = |queue: &Value| Change {
            path: String::new(),
            before: None,
            after: Some(queue.clone()),
            at: None,
        };
        let told = |queue: &Value| Place::of(&made(queue), &Names::new()).told();
        assert_eq!([told(&open), told(&json!({"n": 1}))], ["new, with model", "new"]);
        let many: Vec<_> =
            (0..9).map(|number| json!({"id": format!("t{number}"), "status": "done"})).collect();
        check("x", &queue(&[]), &queue(&many), "  t0: nothing → done; t1: nothing → done; t2…");
    }
}
