//! Items of lists by their ids: `tasks[id=t-1].status` says what a change was about, also when the list has moved on.
//!
//! Changes are recorded by position, because that makes them exact and quick to apply. The ids of the items that they lead
//! into are recorded beside them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::diff::Change;
use super::documents::common::Item;
use super::key::Fields;
use super::key_text::push_key;
use super::path::{Path, Segment, push_index};

/// The ids of items, by their places (`tasks[17]`).
pub type Names = BTreeMap<String, String>;

/// Returns the ids of the items that changes lead into; `after` is what they leave: items that stay change last.
pub fn names_of(changes: &[Change], after: &Value) -> Names {
    let mut names = Names::new();
    for change in changes.iter().filter(|change| change.path.contains('[')) {
        note_items(&change.path, after, &mut names);
    }
    names
}

/// Walks down to the place of a change. The item that it puts or removes itself needs no note: the change has it.
fn note_items(path: &str, after: &Value, names: &mut Names) {
    let Ok(path) = Path::from_record(path) else { return };
    let Some((_, parents)) = path.segments().split_last() else { return };
    let (mut place, mut value) = (String::new(), after);
    for segment in parents {
        let next = match segment {
            Segment::Key(key) => {
                push_key(&mut place, key);
                value.get(key)
            }
            Segment::Index(index) => {
                push_index(&mut place, index);
                usize::try_from(*index).ok().and_then(|index| value.get(index))
            }
            Segment::Select { .. } => None,
        };
        let Some(next) = next else { return };
        value = next;
        if let (Segment::Index(_), Some(id)) = (segment, id_of(value)) {
            names.entry(place.clone()).or_insert_with(|| id.to_owned());
        }
    }
}

/// Returns the path of a change with ids in the place of positions, as far as they are known.
pub fn named(change: &Change, names: &Names) -> String {
    let Ok(path) = Path::from_record(&change.path) else { return change.path.clone() };
    let (mut place, last) = (String::new(), path.segments().len().saturating_sub(1));
    let segments = path.segments().iter().enumerate().map(|(number, segment)| {
        match segment {
            Segment::Key(key) => push_key(&mut place, key),
            Segment::Index(index) => push_index(&mut place, index),
            Segment::Select { .. } => {}
        }
        let own = || [&change.before, &change.after].into_iter().flatten().find_map(id_of);
        let id = match segment {
            Segment::Index(_) => {
                own().filter(|_| number == last).or_else(|| names.get(&place).map(String::as_str))
            }
            _ => None,
        };
        match id {
            Some(id) => Segment::Select { key: "id".into(), value: id.to_owned() },
            None => segment.clone(),
        }
    });
    let named = Path::from(segments.collect::<Vec<_>>());
    if named.segments().is_empty() { String::new() } else { named.to_string() }
}

fn id_of(item: &Value) -> Option<&str> {
    item.text(Item::id).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::diff::diff;

    fn check(before: &Value, after: &Value, expected: &[&str]) {
        let changes = diff(before, after);
        let names = names_of(&changes, after);
        let found: Vec<_> = changes.iter().map(|change| named(change, &names)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn items_are_named_wherever_they_are() {
        let before =
            json!({"epics": [{"id": "e1", "n": 1, "stories": [{"id": "s 1", "n": 1}]}, {"n": 1}], "n": [1]});
        let mut after = before.clone();
        after["epics"][0]["stories"][0]["n"] = 2.into();
        after["epics"][1]["n"] = 2.into();
        after["n"] = json!([2]);
        check(&before, &after, &["epics[id=e1].stories[id=s 1].n", "epics[1].n", "n[0]"]);
    }

    #[test]
    fn items_that_come_and_go_are_named_by_themselves() {
        let task = |id: &str| json!({"id": id, "n": 1});
        let two = json!({"tasks": [task("a"), task("b")]});
        check(&two, &json!({"tasks": [task("b")]}), &["tasks[id=a]"]);
        check(&two, &json!({"tasks": [task("a"), task("b"), task("c]")]}), &[r#"tasks[id="c]"]"#]);
        check(&two, &json!({"tasks": [task("a"), 7]}), &["tasks[id=b]"]);
        check(&two, &json!(1), &[""]);
        let mut one = json!({"tasks": [task("b"), task("c")]});
        one["tasks"][0]["n"] = 2.into();
        check(&two, &one, &["tasks[id=a]", "tasks[id=c]", "tasks[id=b].n"]);
    }
}
