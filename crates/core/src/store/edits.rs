//! What an edit by hand means, once for all engines whose documents people can edit.
//!
//! An engine finds that a document is not what its last commit left, and asks [`take_in`] what counts. The rules are in
//! `model::merge`; here is decided what the edit was made from.

use std::collections::HashMap;

use serde_json::Value;

use super::engine::{frame_of, items};
use super::error::Result;
use super::state;
use crate::model::diff::{self, Change};
use crate::model::documents::common::Item;
use crate::model::json;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Items, Kind};
use crate::model::merge::{self, Base, Clash, Merged};
use crate::model::names::{Names, names_of};

/// What a person did to a document since the last commit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edits {
    /// What counts of it.
    pub changes: Vec<Change>,
    /// The items that the changes lead into.
    pub names: Names,
    pub how: How,
    /// What could not be joined with what was committed meanwhile.
    pub clashes: Vec<Clash>,
    /// The items that `changes` speak of, where an engine has not read the others.
    pub touched: Option<Vec<Touched>>,
}

/// An item of a list, before and after an edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Touched {
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// Returns the items that two states of a document do not share: those that are gone, then the others in their order.
pub fn touched(kind: &Kind, before: &Value, after: &Value) -> Vec<Touched> {
    let (old, new) = (by_id(kind, before), by_id(kind, after));
    let gone = items(kind, before).into_iter().filter(|item| !new.contains_key(id_of(item)));
    let gone = gone.map(|item| Touched { before: Some(item.clone()), after: None });
    let others = items(kind, after).into_iter().filter_map(|item| {
        let before = old.get(id_of(item)).copied();
        let is_same = before.is_some_and(|before| before == item);
        (!is_same).then(|| Touched { before: before.cloned(), after: Some(item.clone()) })
    });
    gone.chain(others).collect()
}

fn by_id<'v>(kind: &Kind, document: &'v Value) -> HashMap<&'v str, &'v Value> {
    items(kind, document).into_iter().map(|item| (id_of(item), item)).collect()
}

fn id_of(item: &Value) -> &str {
    item.text(Item::id).unwrap_or_default()
}

impl Edits {
    /// What leads from `ours` to `value`.
    pub fn between(ours: &Value, value: &Value, how: How, clashes: Vec<Clash>) -> Edits {
        let changes = diff::diff(ours, value);
        let names = names_of(&changes, value);
        Edits { changes, names, how, clashes, touched: None }
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.clashes.is_empty()
    }
}

/// What kind of edit it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum How {
    /// Made from the last commit, or from nothing that we know.
    #[default]
    Fresh,
    /// Made from an earlier revision, and joined with what came after it.
    Merged { from: u64 },
    /// Made from a revision that is not kept any more.
    MadeLongAgo { from: u64 },
    /// It is what the document was at this revision: somebody went back.
    Restored { to: u64 },
    /// It comes from another store.
    Foreign,
}

impl How {
    /// Returns the revision that the edit was made from, where that is not the last one.
    pub fn made_from(self) -> Option<u64> {
        match self {
            How::Merged { from } | How::MadeLongAgo { from } | How::Restored { to: from } => Some(from),
            How::Fresh | How::Foreign => None,
        }
    }
}

/// What counts of an edit.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenIn {
    pub value: Value,
    pub how: How,
    pub clashes: Vec<Clash>,
}

impl TakenIn {
    /// An edit that counts as it is.
    pub fn as_it_is(value: Value) -> TakenIn {
        TakenIn { value, how: How::Fresh, clashes: Vec::new() }
    }

    fn new(how: How, Merged { value, clashes }: Merged) -> TakenIn {
        TakenIn { value, how, clashes }
    }
}

/// Calls back with every kept state of a document and its revision, oldest first.
pub type Past<'p> = &'p mut dyn FnMut(&mut dyn FnMut(u64, &Value)) -> Result<()>;

/// Decides what counts of an edit; `ours` is what the last commit left, as `revision`.
pub fn take_in(doc: &Doc, theirs: Value, ours: &Value, revision: u64, past: Past<'_>) -> Result<TakenIn> {
    if is_fresh(doc, &theirs, ours, revision) || state::check_writable(doc, &theirs).is_err() {
        return Ok(TakenIn::as_it_is(theirs));
    }
    let mut search = Search { doc, theirs: &theirs, nearest: None, same_number: None, oldest: None };
    past(&mut |revision, content| search.see(revision, content))?;
    let Search { nearest, same_number, oldest, .. } = search;
    let kind = doc.kind;
    let stated = merge::stated(kind, &theirs).revision;
    let join = |base: &Value, is| merge::merge(kind, base, &theirs, ours, is);
    let taken = match (nearest, same_number, oldest) {
        (Some(nearest), ..) => made_from(doc, nearest, &theirs, ours, revision),
        (None, Some((from, base)), _) => TakenIn::new(How::Merged { from }, join(&base, Base::Known)),
        // Whoever writes a file anew says nothing of what was there before.
        (None, None, _) if stated.is_none() => return Ok(TakenIn::as_it_is(theirs)),
        (None, None, Some((first, base)))
            if stated.is_some_and(|stated| stated < first) && merge::resembles(kind, &theirs, &base) =>
        {
            let from = stated.unwrap_or_default();
            TakenIn::new(How::MadeLongAgo { from }, join(&base, Base::Older))
        }
        _ if merge::is_at_work(kind, ours) => conflict(How::Foreign, &theirs, ours),
        _ => TakenIn { value: theirs, how: How::Foreign, clashes: Vec::new() },
    };
    match state::check(doc, &taken.value) {
        Ok(()) => Ok(taken),
        // Two good halves may make a bad whole.
        Err(_) => Ok(conflict(taken.how, &Value::Null, ours)),
    }
}

/// Decides the same for an edit of which only the items are known that matter. `states` are those with the edit's stamps,
/// oldest first, likewise. `None` if they do not tell what it was made from.
pub fn take_in_part(
    doc: &Doc,
    theirs: &Value,
    ours: &Value,
    revision: u64,
    states: &[(u64, Value)],
) -> Option<TakenIn> {
    let mut search = Search { doc, theirs, nearest: None, same_number: None, oldest: None };
    states.iter().for_each(|(revision, content)| search.see(*revision, content));
    let taken = made_from(doc, search.nearest?, theirs, ours, revision);
    match state::check(doc, &taken.value) {
        Ok(()) => Some(taken),
        // Then the whole of ours counts, which is not at hand.
        Err(_) => None,
    }
}

/// Takes in an edit whose base is known: a state with its revision, and how much of the edit is not in it.
fn made_from(
    doc: &Doc,
    (from, base, differences): (u64, Value, usize),
    theirs: &Value,
    ours: &Value,
    revision: u64,
) -> TakenIn {
    if differences > 0 || from >= revision {
        let merged = merge::merge(doc.kind, &base, theirs, ours, Base::Known);
        return TakenIn::new(How::Merged { from }, merged);
    }
    let mut value = base;
    merge::keep_epochs(doc.kind, ours, &mut value);
    TakenIn { value, how: How::Restored { to: from }, clashes: Vec::new() }
}

/// Whether an edit was made from the last commit. Whoever was shown the number that a pending edit counts as wrote that, and
/// some programs count on by themselves: with the time of the last commit it is that one.
pub fn is_fresh(doc: &Doc, theirs: &Value, ours: &Value, revision: u64) -> bool {
    let (kind, mut counted) = (doc.kind, merge::stated(doc.kind, theirs));
    counted.revision = counted.revision.map(|stated| stated.min(revision));
    merge::made_from(kind, theirs, ours)
        || (counted.revision.is_some() && counted == merge::stated(kind, ours))
}

/// Nothing of the edit counts.
fn conflict(how: How, theirs: &Value, ours: &Value) -> TakenIn {
    let theirs = (!theirs.is_null()).then(|| theirs.clone());
    let clash = Clash { path: String::new(), base: None, theirs, ours: Some(ours.clone()) };
    TakenIn { value: ours.clone(), how, clashes: vec![clash] }
}

/// Tells one place in words.
pub fn clash_in_words(clash: &Clash) -> String {
    let word = |value: &Option<Value>| match value {
        None => "gone".to_owned(),
        Some(value) => {
            let text: String = json::dense(value).chars().take(60).collect();
            if text.chars().count() == 60 { format!("{text}…") } else { text }
        }
    };
    format!("{}: by hand {}, here {}", clash.path, word(&clash.theirs), word(&clash.ours))
}

/// Looks for what an edit was made from.
struct Search<'s> {
    doc: &'s Doc,
    theirs: &'s Value,
    /// The state with the same stamps that differs least, and by how much: an edit that was taken in has the stamps of
    /// what it was made from.
    nearest: Option<(u64, Value, usize)>,
    /// The state with the same revision, whose time somebody may have changed.
    same_number: Option<(u64, Value)>,
    oldest: Option<(u64, Value)>,
}

impl Search<'_> {
    fn see(&mut self, revision: u64, content: &Value) {
        let (kind, theirs) = (self.doc.kind, self.theirs);
        if self.oldest.is_none() {
            self.oldest = Some((revision, content.clone()));
        }
        if merge::made_from(kind, theirs, content) {
            let differences = differences(self.doc, content, theirs);
            if self.nearest.as_ref().is_none_or(|(_, _, least)| differences < *least) {
                self.nearest = Some((revision, content.clone(), differences));
            }
        } else if merge::stated(kind, theirs).revision == Some(revision)
            && merge::resembles(kind, theirs, content)
        {
            self.same_number = Some((revision, content.clone()));
        }
    }
}

/// Counts what an edit has that a state has not: items, wherever they stand, and other fields. An item that was only moved is in
/// both.
fn differences(doc: &Doc, content: &Value, theirs: &Value) -> usize {
    if content == theirs {
        return 0;
    }
    let count = match doc.kind.items {
        Items::Field(_) => {
            let fields = diff::diff(&frame_of(doc, content), &frame_of(doc, theirs));
            touched(doc.kind, content, theirs).len() + fields.len()
        }
        _ => diff::diff(content, theirs).len(),
    };
    count.max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn queue(revision: u64, tasks: &[(&str, &str)]) -> Value {
        let tasks: Vec<_> = tasks
            .iter()
            .map(|(id, status)| json!({"id": id, "description": format!("do {id}"), "status": status}))
            .collect();
        json!({"version": "1.0", "last_updated": format!("t{revision}"), "tasks": tasks, "revision": revision})
    }

    fn history() -> Vec<Value> {
        let open = [("a", "available"), ("b", "available"), ("c", "available")];
        let some = [("a", "done"), ("b", "available"), ("c", "available")];
        vec![
            queue(4, &open),
            queue(5, &some),
            queue(6, &[("a", "done"), ("b", "claimed"), ("c", "available")]),
        ]
    }

    fn taken(theirs: Value) -> TakenIn {
        let states = history();
        let mut past = |visit: &mut dyn FnMut(u64, &Value)| {
            states.iter().for_each(|state| visit(state::revision_in(state), state));
            Ok(())
        };
        take_in(&Doc::queue(), theirs, &history()[2], 6, &mut past).unwrap()
    }

    fn described(mut value: Value, text: &str) -> Value {
        value["tasks"][2]["description"] = text.into();
        value
    }

    #[test]
    fn an_edit_is_joined_with_what_came_after_its_base() {
        let edit = described(history()[0].clone(), "better");
        let TakenIn { value, how, clashes } = taken(edit);
        assert_eq!((how, clashes.len()), (How::Merged { from: 4 }, 0));
        assert_eq!(value, described(history()[2].clone(), "better"));
    }

    #[test]
    fn of_two_states_with_the_same_stamps_an_edit_was_made_from_the_one_that_it_is_most_like() {
        let mut states = history();
        // Somebody took `c` out by hand: the file kept the stamps of what that was made from.
        let mut edited = states[0].clone();
        edited["tasks"].as_array_mut().unwrap().pop();
        states.insert(1, edited);
        let mut past = |visit: &mut dyn FnMut(u64, &Value)| {
            (1..).zip(&states).for_each(|(revision, state)| visit(revision, state));
            Ok(())
        };
        let mut theirs = history()[0].clone();
        theirs["tasks"].as_array_mut().unwrap().rotate_right(1);
        theirs["tasks"][1]["description"] = "better".into();
        let mut without = history()[2].clone();
        without["tasks"].as_array_mut().unwrap().pop();
        let taken = take_in(&Doc::queue(), theirs, &without, 6, &mut past).unwrap();
        assert_eq!(taken.how, How::Merged { from: 1 }, "who moved `c` had a copy that has it");
        let ids: Vec<_> = items(Doc::queue().kind, &taken.value).into_iter().map(id_of).collect();
        assert_eq!(ids, ["a", "b"], "what another took out does not come back by being moved");
        assert_eq!(taken.value["tasks"][0]["description"], "better");
    }

    #[test]
    fn an_edit_of_the_last_commit_counts_as_it_is() {
        let edit = described(history()[2].clone(), "better");
        assert_eq!(taken(edit.clone()), TakenIn::as_it_is(edit.clone()));
        let mut shown = edit;
        shown["revision"] = json!(7);
        assert_eq!(taken(shown.clone()), TakenIn::as_it_is(shown), "as readers were shown it");
    }

    #[test]
    fn entries_with_revisions_of_their_own_tell_what_an_edit_was_made_from() {
        let doc = Doc::named(&crate::model::room::Room::Pipeline, "group_status").unwrap();
        let entry = |status: &str, revision: u64| json!({"status": status, "revision": revision, "last_update": format!("t{revision}")});
        let states = [
            json!({"A": entry("pending", 1), "B": entry("pending", 1)}),
            json!({"A": entry("complete", 2), "B": entry("pending", 1)}),
        ];
        let mut theirs = states[0].clone();
        theirs["B"]["note"] = "mine".into();
        let mut past = |visit: &mut dyn FnMut(u64, &Value)| {
            (1..).zip(&states).for_each(|(revision, state)| visit(revision, state));
            Ok(())
        };
        let TakenIn { value, how, clashes } = take_in(&doc, theirs, &states[1], 2, &mut past).unwrap();
        assert_eq!((how, clashes.len()), (How::Merged { from: 1 }, 0));
        assert_eq!((&value["A"]["status"], &value["B"]["note"]), (&json!("complete"), &json!("mine")));
    }

    #[test]
    fn going_back_is_no_edit() {
        let TakenIn { value, how, clashes } = taken(history()[1].clone());
        assert_eq!((how, clashes.len(), value), (How::Restored { to: 5 }, 0, history()[1].clone()));
    }

    #[test]
    fn a_program_that_sets_the_time_itself_is_told_by_the_rest() {
        let mut edit = described(history()[0].clone(), "better");
        edit["last_updated"] = "now".into();
        let TakenIn { value, how, .. } = taken(edit.clone());
        assert_eq!((how, &value["tasks"][0]["status"]), (How::Merged { from: 4 }, &json!("done")));
        edit.as_object_mut().unwrap().remove("revision");
        assert_eq!(taken(edit.clone()), TakenIn::as_it_is(edit), "which says nothing of itself");
    }

    #[test]
    fn a_file_of_another_store_is_taken_whole_or_not_at_all() {
        let mut other = queue(90, &[("x", "available"), ("y", "done")]);
        other["last_updated"] = "elsewhere".into();
        let TakenIn { value, how, clashes } = taken(other.clone());
        assert_eq!(
            (how, clashes.len(), value),
            (How::Foreign, 1, history()[2].clone()),
            "somebody is at work"
        );
        let mut idle = history()[2].clone();
        idle["tasks"][1]["status"] = "available".into();
        let taken = take_in(&Doc::queue(), other.clone(), &idle, 6, &mut |_| Ok(())).unwrap();
        assert_eq!((taken.how, taken.value), (How::Foreign, other));
    }

    #[test]
    fn a_base_that_is_not_kept_any_more_decides_nothing() {
        let mut edit =
            described(queue(2, &[("a", "available"), ("b", "available"), ("c", "available")]), "better");
        edit["tasks"][0]["status"] = "failed".into();
        edit["tasks"][1] = history()[0]["tasks"][1].clone();
        let TakenIn { value, how, clashes } = taken(edit);
        assert_eq!(how, How::Foreign, "too little of it is known: {clashes:?} {value}");
        let edit =
            described(queue(2, &[("a", "available"), ("b", "available"), ("c", "available")]), "better");
        let TakenIn { value, how, clashes } = taken(edit);
        assert_eq!((how, clashes.len()), (How::MadeLongAgo { from: 2 }, 0));
        assert_eq!(value, described(history()[2].clone(), "better"));
    }
}
