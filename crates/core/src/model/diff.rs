//! Exact, invertible changes between two values.
//!
//! [`diff`] makes an edit script: each change speaks of the document as the changes before it left it.
//! [`apply`] runs the script and [`invert`] turns it round. All three are exact to the letter, key order and
//! number texts included, because the journal stores these changes and recovery trusts them.
//!
//! An object whose common keys stand in another order is replaced as a whole. Items that have ids are told by them: one that
//! moved is taken out and put in. Other arrays are compared by position between their common start and end, unless most items
//! stay while others leave: a list that drops its oldest item for each new one changes by two.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::documents::common::Item;
use super::json::identical;
use super::key::Fields;
use super::key_text::push_key;
use super::path::{Path, PathError, PathSyntaxError, Segment, push_index};

/// One step of an edit script.
///
/// Without `before` it is an insertion, without `after` a removal, with both a replacement.
/// It is read back by [`Change::from_value`] only: serde would respell some numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Path expression of keys and indexes; empty for the whole document.
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Position among the keys of its object; absent for the last key and outside objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

/// Why a change does not fit the document.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("the recorded change at `{path}` is malformed: {reason}")]
    Malformed { path: String, reason: &'static str },
    #[error("the recorded path `{path}` cannot be read")]
    Syntax { path: String, source: PathSyntaxError },
    #[error("the recorded path `{path}` leads nowhere")]
    Path { path: String, source: PathError },
    #[error("`{path}` is not what the recorded change was made from")]
    Mismatch { path: String },
}

/// Returns the changes that turn `before` into `after`; none if they are written alike.
pub fn diff(before: &Value, after: &Value) -> Vec<Change> {
    let mut script = Script::default();
    script.values(before, after);
    script.changes
}

/// Returns the changes of a part of a document, whose place is `path`.
pub fn diff_at(path: &str, before: &Value, after: &Value) -> Vec<Change> {
    let mut script = Script { path: path.to_owned(), ..Script::default() };
    script.values(before, after);
    script.changes
}

/// Applies changes in their order, checking that each finds what it was made from.
///
/// After an error the changes before the failing one stay applied: work on a copy.
pub fn apply(root: &mut Value, changes: &[Change]) -> Result<(), ApplyError> {
    changes.iter().try_for_each(|change| change.apply(root))
}

/// Returns the changes that undo `changes`.
pub fn invert(changes: &[Change]) -> Vec<Change> {
    let turned = |change: &Change| {
        let Change { path, before, after, at } = change.clone();
        Change { path, before: after, after: before, at }
    };
    changes.iter().rev().map(turned).collect()
}

impl Change {
    /// Takes a change out of a parsed record with every number as it is written there.
    pub fn from_value(value: Value) -> Result<Self, ApplyError> {
        let malformed = |reason| ApplyError::Malformed { path: String::new(), reason };
        let Value::Object(mut fields) = value else { return Err(malformed("it is not an object")) };
        let Some(Value::String(path)) = fields.remove("path") else {
            return Err(malformed("it has no path"));
        };
        let at = match fields.remove("at") {
            Some(at) => Some(position(&at).ok_or(malformed("`at` is no position"))?),
            None => None,
        };
        Ok(Change { path, before: fields.remove("before"), after: fields.remove("after"), at })
    }

    /// Whether it makes or deletes a document.
    pub fn is_whole(&self) -> bool {
        self.path.is_empty() && (self.before.is_none() || self.after.is_none())
    }

    fn apply(&self, root: &mut Value) -> Result<(), ApplyError> {
        let path = Path::from_record(&self.path)
            .map_err(|source| ApplyError::Syntax { path: self.path.clone(), source })?;
        match (&self.before, &self.after) {
            (None, None) => Err(self.malformed("it has neither `before` nor `after`")),
            (None, Some(after)) => self.insert(&path, root, after),
            (Some(before), Some(after)) => {
                *self.expect(&path, root, before)? = after.clone();
                Ok(())
            }
            (Some(before), None) => {
                self.expect(&path, root, before)?;
                path.remove(root).map(drop).map_err(|source| self.nowhere(source))
            }
        }
    }

    /// Returns the place of the change, which must hold `before`.
    fn expect<'v>(
        &self,
        path: &Path,
        root: &'v mut Value,
        before: &Value,
    ) -> Result<&'v mut Value, ApplyError> {
        let place = path.get_mut(root).map_err(|source| self.nowhere(source))?;
        if identical(place, before) { Ok(place) } else { Err(self.mismatch()) }
    }

    fn insert(&self, path: &Path, root: &mut Value, after: &Value) -> Result<(), ApplyError> {
        let Some((last, parents)) = path.segments().split_last() else {
            return Err(self.malformed("the whole document cannot be inserted"));
        };
        let parent = Path::from(parents.to_vec());
        let place = parent.get_mut(root).map_err(|source| self.nowhere(source))?;
        match (place, last) {
            (Value::Object(map), Segment::Key(key)) => self.insert_key(map, key, after),
            (Value::Array(items), Segment::Index(index)) => self.insert_item(items, *index, after),
            _ => Err(self.mismatch()),
        }
    }

    fn insert_key(&self, map: &mut Map<String, Value>, key: &str, after: &Value) -> Result<(), ApplyError> {
        let at = self.at.unwrap_or(map.len());
        if map.contains_key(key) || at > map.len() {
            return Err(self.mismatch());
        }
        map.shift_insert(at, key.to_owned(), after.clone());
        Ok(())
    }

    fn insert_item(&self, items: &mut Vec<Value>, index: i64, after: &Value) -> Result<(), ApplyError> {
        let index = usize::try_from(index).ok().filter(|index| *index <= items.len());
        items.insert(index.ok_or_else(|| self.mismatch())?, after.clone());
        Ok(())
    }

    fn malformed(&self, reason: &'static str) -> ApplyError {
        ApplyError::Malformed { path: self.path.clone(), reason }
    }

    fn mismatch(&self) -> ApplyError {
        ApplyError::Mismatch { path: self.path.clone() }
    }

    fn nowhere(&self, source: PathError) -> ApplyError {
        ApplyError::Path { path: self.path.clone(), source }
    }
}

fn position(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

/// An edit script in the making.
#[derive(Default)]
struct Script {
    changes: Vec<Change>,
    /// The place that is being compared.
    path: String,
}

impl Script {
    fn values(&mut self, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Object(old), Value::Object(new)) if same_order(old, new) => self.objects(old, new),
            (Value::Array(old), Value::Array(new)) => self.arrays(old, new),
            _ if identical(before, after) => {}
            _ => self.push(Some(before), Some(after), None),
        }
    }

    fn objects(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        for (key, old) in before {
            if let Some(new) = after.get(key) {
                self.inside(|path| push_key(path, key), |script| script.values(old, new));
            }
        }
        let kept = self.removed_keys(before, after);
        self.inserted_keys(before, after, kept);
    }

    /// Removes from the end, so that the keys in front keep their positions; returns how many remain.
    fn removed_keys(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) -> usize {
        let mut length = before.len();
        for (index, (key, old)) in before.iter().enumerate().rev() {
            if !after.contains_key(key) {
                length -= 1;
                let at = (index < length).then_some(index);
                self.inside(|path| push_key(path, key), |script| script.push(Some(old), None, at));
            }
        }
        length
    }

    /// Inserts from the start, so that each key comes to its final position.
    fn inserted_keys(&mut self, before: &Map<String, Value>, after: &Map<String, Value>, mut length: usize) {
        for (index, (key, new)) in after.iter().enumerate() {
            if !before.contains_key(key) {
                let at = (index < length).then_some(index);
                self.inside(|path| push_key(path, key), |script| script.push(None, Some(new), at));
                length += 1;
            }
        }
    }

    fn arrays(&mut self, before: &[Value], after: &[Value]) {
        let (start, end) = common_ends(before, after);
        let (old, new) = (&before[start..before.len() - end], &after[start..after.len() - end]);
        let Some(gap) = old.iter().zip(new).position(|(old, new)| !is_same(old, new)) else {
            return self.paired(start, old, new);
        };
        match in_order(old, new).or_else(|| stayers(old, new, gap)) {
            Some(stay) => self.aligned(start, old, new, &stay),
            None => self.paired(start, old, new),
        }
    }

    /// Compares two lists item by item.
    fn paired(&mut self, start: usize, old: &[Value], new: &[Value]) {
        let paired = old.len().min(new.len());
        for index in 0..paired {
            self.item(start + index, |script| script.values(&old[index], &new[index]));
        }
        for index in (paired..old.len()).rev() {
            self.item(start + index, |script| script.push(Some(&old[index]), None, None));
        }
        self.came(start, new, paired);
    }

    /// Removes from the end what leaves, so that the items in front keep their positions; inserts from the start what comes,
    /// so that each comes to its final one. Those that stay, by their places before and after, have theirs then.
    fn aligned(&mut self, start: usize, old: &[Value], new: &[Value], stay: &[(usize, usize)]) {
        let mut stayers = stay.iter().rev().peekable();
        for (index, item) in old.iter().enumerate().rev() {
            if stayers.next_if(|(before, _)| *before == index).is_none() {
                self.item(start + index, |script| script.push(Some(item), None, None));
            }
        }
        let mut stayers = stay.iter().peekable();
        for (index, item) in new.iter().enumerate() {
            if stayers.next_if(|(_, after)| *after == index).is_none() {
                self.item(start + index, |script| script.push(None, Some(item), None));
            }
        }
        for (before, after) in stay {
            self.item(start + after, |script| script.values(&old[*before], &new[*after]));
        }
    }

    fn came(&mut self, start: usize, new: &[Value], known: usize) {
        for (index, item) in new.iter().enumerate().skip(known) {
            self.item(start + index, |script| script.push(None, Some(item), None));
        }
    }

    fn item(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        self.inside(|path| push_index(path, index), work);
    }

    fn inside(&mut self, enter: impl FnOnce(&mut String), work: impl FnOnce(&mut Self)) {
        let base = self.path.len();
        enter(&mut self.path);
        work(self);
        self.path.truncate(base);
    }

    fn push(&mut self, before: Option<&Value>, after: Option<&Value>, at: Option<usize>) {
        let path = self.path.clone();
        self.changes.push(Change { path, before: before.cloned(), after: after.cloned(), at });
    }
}

/// Whether the keys that both objects have stand in the same order.
fn same_order(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    let kept = before.keys().filter(|key| after.contains_key(*key));
    kept.eq(after.keys().filter(|key| before.contains_key(*key)))
}

/// Returns how many items two arrays share at their start and, behind that, at their end.
///
/// Arrays of one length are paired item by item anyway, so comparing them here would be work done twice.
fn common_ends(before: &[Value], after: &[Value]) -> (usize, usize) {
    let shorter = before.len().min(after.len());
    if before.len() == after.len() {
        return (0, 0);
    }
    let same = |(left, right): &(&Value, &Value)| identical(left, right);
    let start = before.iter().zip(after).take_while(same).count();
    let end = before.iter().rev().zip(after.iter().rev()).take(shorter - start).take_while(same).count();
    (start, end)
}

/// Returns which items of a list are the first ones of the next, in their order, if others leave from between them and most
/// stay, with their places there. The first `gap` do.
fn stayers(old: &[Value], new: &[Value], gap: usize) -> Option<Vec<(usize, usize)>> {
    let mut stay: Vec<usize> = (0..gap).collect();
    for (index, item) in old.iter().enumerate().skip(gap) {
        if new.get(stay.len()).is_some_and(|new| is_same(item, new)) {
            stay.push(index);
        }
    }
    let most = stay.len() - gap >= (old.len() - gap).div_ceil(2);
    most.then(|| stay.into_iter().enumerate().map(|(after, before)| (before, after)).collect())
}

/// Returns which items stay in their order, as many as can, by their places in both lists. `None` unless all of them are told apart
/// by their names, and some stay.
fn in_order(old: &[Value], new: &[Value]) -> Option<Vec<(usize, usize)>> {
    if !old.iter().chain(new).any(Value::is_object) {
        return None;
    }
    let (old, new) = (places(old)?, places(new)?);
    let mut common: Vec<_> =
        old.iter().filter_map(|(name, before)| Some((*before, *new.get(name)?))).collect();
    common.sort_unstable();
    let stay = rising(&common);
    (!stay.is_empty()).then_some(stay)
}

/// Returns the places of items by their names: their ids, or the strings that they are.
fn places(list: &[Value]) -> Option<HashMap<(bool, &str), usize>> {
    let mut places = HashMap::with_capacity(list.len());
    for (place, item) in list.iter().enumerate() {
        let name = item.as_str().or_else(|| item.get("id")?.as_str())?;
        if places.insert((item.is_string(), name), place).is_some() {
            return None;
        }
    }
    Some(places)
}

/// Returns as many of these pairs as can be taken so that both of their numbers rise; the first ones rise already.
pub(super) fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair with the least end of each length of a row, and for each pair the one before it in its row.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (number, (_, place)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *place);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    let mut row: Vec<_> = std::iter::successors(ends.last().copied(), |number| before[*number])
        .map(|number| pairs[number])
        .collect();
    row.reverse();
    row
}

/// Whether two items are the same one, which may have changed: they have the same `id`, or are alike.
fn is_same(before: &Value, after: &Value) -> bool {
    let [one, other] = [before, after].map(|item| item.text(Item::id));
    if one.or(other).is_some() { one == other } else { identical(before, after) }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::json::{MAX_DEPTH, parse, parse_within, render, samples};
    use super::*;

    fn check(before: &str, after: &str, expected: &[&str]) {
        let (before, after) = (parse(before.as_bytes()).unwrap(), parse(after.as_bytes()).unwrap());
        let changes = diff(&before, &after);
        let found: Vec<_> = changes.iter().map(|change| serde_json::to_string(change).unwrap()).collect();
        assert_eq!(found, expected);
        assert_exact(&before, &after);
    }

    fn assert_exact(before: &Value, after: &Value) {
        let changes = diff(before, after);
        assert_turns(before, after, &changes);
        assert_turns(after, before, &invert(&changes));
        assert_eq!(invert(&invert(&changes)), changes);
    }

    fn assert_turns(before: &Value, after: &Value, changes: &[Change]) {
        let mut root = before.clone();
        apply(&mut root, changes).unwrap_or_else(|error| panic!("{error}: {changes:?}"));
        assert_eq!(render(&root), render(after), "{changes:?}");
    }

    #[test]
    fn changes_are_small_and_readable() {
        check(r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[1,3]}}"#, &[r#"{"path":"a.b[1]","before":2,"after":3}"#]);
        check("1", "1", &[]);
        check("1.0", "1.00", &[r#"{"path":"","before":1.0,"after":1.00}"#]);
        check("[1]", "{}", &[r#"{"path":"","before":[1],"after":{}}"#]);
        check("{}", r#"{"a.b":null}"#, &[r#"{"path":"[\"a.b\"]","after":null}"#]);
        check(r#"{"a":null}"#, "{}", &[r#"{"path":"a","before":null}"#]);
        check(r#"{"a":1,"c":3}"#, r#"{"a":1,"b":2,"c":3}"#, &[r#"{"path":"b","after":2,"at":1}"#]);
        check(
            r#"{"a":1,"b":2,"c":3}"#,
            r#"{"x":0,"c":4}"#,
            &[
                r#"{"path":"c","before":3,"after":4}"#,
                r#"{"path":"b","before":2,"at":1}"#,
                r#"{"path":"a","before":1,"at":0}"#,
                r#"{"path":"x","after":0,"at":0}"#,
            ],
        );
        let swapped = r#"{"path":"o","before":{"a":1,"b":2},"after":{"b":2,"a":1}}"#;
        check(r#"{"o":{"a":1,"b":2}}"#, r#"{"o":{"b":2,"a":1}}"#, &[swapped]);
        check("[1,2,3,4]", "[1,4]", &[r#"{"path":"[2]","before":3}"#, r#"{"path":"[1]","before":2}"#]);
        check("[1,4]", "[1,2,3,4]", &[r#"{"path":"[1]","after":2}"#, r#"{"path":"[2]","after":3}"#]);
        check("[7,7]", "[7,7,7]", &[r#"{"path":"[2]","after":7}"#]);
        let grown = [r#"{"path":"[0].a","before":1,"after":2}"#, r#"{"path":"[2]","after":9}"#];
        check(r#"[{"a":1},5]"#, r#"[{"a":2},5,9]"#, &grown);
    }

    #[test]
    fn an_append_is_one_small_change() {
        let before: Value = (0..10_000).map(|id| json!({"id": id, "tags": ["a", {"b": id}]})).collect();
        let mut after = before.clone();
        after.as_array_mut().unwrap().push(json!("new"));
        let expected = Change { path: "[10000]".into(), before: None, after: Some(json!("new")), at: None };
        assert_eq!(diff(&before, &after), [expected]);
    }

    #[test]
    fn what_leaves_a_list_moves_nothing_else() {
        check(
            r#"["a","b","c"]"#,
            r#"["b","c","d"]"#,
            &[r#"{"path":"[0]","before":"a"}"#, r#"{"path":"[2]","after":"d"}"#],
        );
        let item = |id: u32, text: &str| format!(r#"{{"id":"{id}","text":"{text}"}}"#);
        let list = |items: &[String]| format!("[{}]", items.join(","));
        check(
            &list(&[item(1, "x"), item(2, "x"), item(3, "x"), item(4, "x"), item(5, "x")]),
            &list(&[item(1, "x"), item(3, "new"), item(5, "x"), item(6, "x")]),
            &[
                r#"{"path":"[3]","before":{"id":"4","text":"x"}}"#,
                r#"{"path":"[1]","before":{"id":"2","text":"x"}}"#,
                r#"{"path":"[3]","after":{"id":"6","text":"x"}}"#,
                r#"{"path":"[1].text","before":"x","after":"new"}"#,
            ],
        );
        check(
            &list(&[item(1, "x"), item(2, "x"), item(3, "x")]),
            &list(&[item(7, "x"), item(3, "x"), item(8, "x"), item(1, "new"), item(2, "x")]),
            &[
                r#"{"path":"[2]","before":{"id":"3","text":"x"}}"#,
                r#"{"path":"[0]","after":{"id":"7","text":"x"}}"#,
                r#"{"path":"[1]","after":{"id":"3","text":"x"}}"#,
                r#"{"path":"[2]","after":{"id":"8","text":"x"}}"#,
                r#"{"path":"[3].text","before":"x","after":"new"}"#,
            ],
        );
        let renamed = r#"{"path":"[0].id","before":"1","after":"2"}"#;
        check(&list(&[item(1, "x")]), &list(&[item(2, "x")]), &[renamed]);
    }

    #[test]
    fn a_change_must_find_what_it_was_made_from() {
        let check = |change: Value, expected: &str| {
            let mut root = json!({"a": 1, "list": [1], "o": {"x": 1, "y": 2}});
            let change = Change::from_value(change).and_then(|change| apply(&mut root, &[change]));
            assert_eq!(change.map_or_else(|error| error.to_string(), |()| root.to_string()), expected);
        };
        check(
            json!({"path": "a", "before": 2, "after": 3}),
            "`a` is not what the recorded change was made from",
        );
        check(json!({"path": "a", "after": 3}), "`a` is not what the recorded change was made from");
        check(json!({"path": "b", "before": 3}), "the recorded path `b` leads nowhere");
        check(json!({"path": "b", "after": 3, "at": 9}), "`b` is not what the recorded change was made from");
        check(
            json!({"path": "list[2]", "after": 3}),
            "`list[2]` is not what the recorded change was made from",
        );
        check(
            json!({"path": "o", "before": {"y": 2, "x": 1}}),
            "`o` is not what the recorded change was made from",
        );
        check(json!({"path": "a[", "before": 3}), "the recorded path `a[` cannot be read");
        check(
            json!({"path": "", "after": 3}),
            "the recorded change at `` is malformed: the whole document cannot be inserted",
        );
        check(
            json!({"path": "a"}),
            "the recorded change at `a` is malformed: it has neither `before` nor `after`",
        );
        check(json!({"path": "a", "at": -1}), "the recorded change at `` is malformed: `at` is no position");
        check(
            json!({"path": "", "before": 3, "after": 1}),
            "`` is not what the recorded change was made from",
        );
    }

    /// Walks down by `choices` and changes something there.
    fn edit(value: &mut Value, choices: &mut impl Iterator<Item = usize>, new: Value) {
        let (Some(choice), Some(place)) = (choices.next(), choices.next()) else { return };
        match value {
            Value::Array(items) if choice % 4 == 0 => items.insert(place % (items.len() + 1), new),
            Value::Array(items) if !items.is_empty() => {
                let index = place % items.len();
                if choice % 4 == 1 {
                    drop(items.remove(index));
                } else {
                    edit(&mut items[index], choices, new);
                }
            }
            Value::Object(map) if choice % 5 == 0 => {
                map.shift_insert(place % map.len().max(1), format!("new{place}"), new);
            }
            Value::Object(map) if !map.is_empty() => {
                let key = map.keys().nth(place % map.len()).unwrap().clone();
                match choice % 5 {
                    1 => drop(map.shift_remove(&key)),
                    2 => drop(map.shift_remove(&key).map(|moved| map.insert(key, moved))),
                    _ => edit(&mut map[&key], choices, new),
                }
            }
            _ => *value = new,
        }
    }

    fn edited_pairs() -> impl Strategy<Value = (Value, Value)> {
        let edits = vec((vec(any::<usize>(), 12), samples::values()), 0..6);
        (samples::values(), edits).prop_map(|(before, edits)| {
            let mut after = before.clone();
            for (choices, new) in edits {
                edit(&mut after, &mut choices.into_iter(), new);
            }
            (before, after)
        })
    }

    fn pairs() -> impl Strategy<Value = (Value, Value)> {
        prop_oneof![3 => edited_pairs(), 1 => (samples::values(), samples::values())]
    }

    proptest! {
        #[test]
        fn changes_lead_there_and_back((before, after) in pairs()) {
            assert_exact(&before, &after);
            prop_assert_eq!(diff(&before, &after).is_empty(), identical(&before, &after));
        }

        #[test]
        fn changes_survive_the_journal((before, after) in pairs()) {
            let record = serde_json::to_vec(&diff(&before, &after)).unwrap();
            let Value::Array(values) = parse_within(&record, MAX_DEPTH + 2).unwrap() else { unreachable!() };
            let read: Vec<_> = values.into_iter().map(|value| Change::from_value(value).unwrap()).collect();
            prop_assert_eq!(serde_json::to_vec(&read).unwrap(), record);
            assert_turns(&before, &after, &read);
            assert_turns(&after, &before, &invert(&read));
        }
    }
}
