//! Joining lists: by the ids of their items, or else by what their items are.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Base, Merge, same};
use crate::model::documents::agent_loop::AgentResult;
use crate::model::documents::common::Item;
use crate::model::documents::pipeline::Group;
use crate::model::documents::state::{Member, Tool};
use crate::model::documents::workflow::PlannedPhase;
use crate::model::key::Fields;
use crate::model::{diff, json, time};

/// The fields that may tell the items of a list apart, the first that all of them have.
const IDS: &[&str] = &[
    Item::id.name(),
    AgentResult::agent_id.name(),
    "message_id",
    PlannedPhase::phase_id.name(),
    Group::group_id.name(),
    Member::agent.name(),
    Tool::name.name(),
];

/// Items by id, in no order.
type ById<'v> = HashMap<&'v str, &'v Value>;

impl Merge<'_> {
    pub(super) fn list(&mut self, base: &[Value], theirs: &[Value], ours: &[Value]) -> Vec<Value> {
        match IDS.iter().find_map(|id| Some((*id, [by_id(base, id)?, by_id(theirs, id)?, by_id(ours, id)?])))
        {
            Some((id, maps)) => self.items(id, base, theirs, ours, &maps),
            None => self.plain(base, theirs, ours),
        }
    }

    fn items(
        &mut self,
        id: &str,
        base: &[Value],
        theirs: &[Value],
        ours: &[Value],
        [base_of, theirs_of, ours_of]: &[ById<'_>; 3],
    ) -> Vec<Value> {
        let mut kept = Vec::with_capacity(ours.len());
        for item in ours {
            let name = id_in(item, id);
            match theirs_of.get(name) {
                Some(edit) => {
                    let base = base_of.get(name).copied();
                    let joined = self.at_item(id, name, |merge| merge.item(base, edit, item));
                    kept.push(joined);
                }
                None if self.is_removed(id, name, base_of.get(name).copied(), item) => {}
                None => kept.push(item.clone()),
            }
        }
        if self.is == Base::Known {
            kept = reorder(kept, id, base, theirs, [base_of, theirs_of]);
        }
        let there: HashSet<String> = kept.iter().map(|item| id_in(item, id).to_owned()).collect();
        let (mut added, mut before): (HashMap<Option<String>, Vec<Value>>, _) = (HashMap::new(), None);
        for edit in theirs {
            let name = id_in(edit, id);
            if there.contains(name) {
                before = Some(name.to_owned());
            } else if !ours_of.contains_key(name) && self.is_added(id, name, base_of.get(name).copied(), edit)
            {
                added.entry(before.clone()).or_default().push(edit.clone());
            }
        }
        let mut joined = added.remove(&None).unwrap_or_default();
        for item in kept {
            let name = Some(id_in(&item, id).to_owned());
            joined.push(item);
            joined.extend(added.remove(&name).unwrap_or_default());
        }
        joined
    }

    /// Joins one item. Two that were made under the same name are two.
    fn item(&mut self, base: Option<&Value>, theirs: &Value, ours: &Value) -> Value {
        if base.is_none() && theirs != ours {
            let is_theirs = self.clash(None, Some(theirs), Some(ours));
            return if is_theirs { theirs.clone() } else { ours.clone() };
        }
        self.value(base, Some(theirs), Some(ours)).unwrap_or_else(|| ours.clone())
    }

    /// Whether the person removed an item that nobody touched since.
    fn is_removed(&mut self, id: &str, name: &str, base: Option<&Value>, ours: &Value) -> bool {
        let Some(base) = base else { return false };
        if self.is == Base::Older && self.came_later(ours) {
            return false;
        }
        let untouched = self.is == Base::Known && same(Some(base), Some(ours));
        untouched || self.at_item(id, name, |merge| merge.clash(Some(base), None, Some(ours)))
    }

    /// Whether the person added an item; one that a commit removed comes back only if they ask for it.
    fn is_added(&mut self, id: &str, name: &str, base: Option<&Value>, edit: &Value) -> bool {
        match base {
            Some(base) if *base == *edit => false,
            Some(base) => self.at_item(id, name, |merge| merge.clash(Some(base), Some(edit), None)),
            None => true,
        }
    }

    /// Whether an item was made after what the edit was made from.
    fn came_later(&self, item: &Value) -> bool {
        let created = item.at(Item::created_at).or(item.at(Item::created)).and_then(Value::as_str);
        let (created, made) = (created.and_then(time::read), self.made_at.and_then(time::read));
        created.zip(made).is_some_and(|(created, made)| created > made)
    }

    /// Joins lists whose items have no names: what the person took out goes, what they put in comes.
    fn plain(&mut self, base: &[Value], theirs: &[Value], ours: &[Value]) -> Vec<Value> {
        let (mut removed, mut added) = (counts(base), Vec::new());
        let mut before: Option<String> = None;
        for value in theirs {
            let text = json::dense(value);
            match removed.get_mut(&text).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => added.push((before.take(), value)),
            }
            before = Some(text);
        }
        removed.retain(|_, count| *count > 0);
        let has = counts(ours);
        let lost = removed.keys().any(|text| text.starts_with('{') && !has.contains_key(text));
        if lost {
            let list = |values: &[Value]| Value::Array(values.to_vec());
            let is_theirs = self.clash(Some(&list(base)), Some(&list(theirs)), Some(&list(ours)));
            return if is_theirs { theirs.to_vec() } else { ours.to_vec() };
        }
        if removed.is_empty() && added.is_empty() && counts(theirs) == has {
            return theirs.to_vec();
        }
        let mut joined: Vec<Value> = ours.to_vec();
        joined.retain(|value| match removed.get_mut(&json::dense(value)).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                false
            }
            None => true,
        });
        for (before, value) in added.into_iter().filter(|(_, value)| !has.contains_key(&json::dense(value))) {
            let position =
                before.and_then(|before| joined.iter().rposition(|value| json::dense(value) == before));
            let at = position.map_or(joined.len(), |position| position + 1);
            joined.insert(at, value.clone());
        }
        joined
    }

    fn at_item<T>(&mut self, id: &str, name: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(&format!("[{id}={name}]"));
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        self.path.truncate(length);
        done
    }
}

/// Moves the items that the person has moved: each behind what stands before it in the edit. What they left in its order stays
/// where others put it.
fn reorder(
    kept: Vec<Value>,
    id: &str,
    base: &[Value],
    theirs: &[Value],
    [base_of, theirs_of]: [&ById<'_>; 2],
) -> Vec<Value> {
    let ours: HashSet<&str> = kept.iter().map(|item| id_in(item, id)).collect();
    let common =
        |name: &&str| base_of.contains_key(name) && theirs_of.contains_key(name) && ours.contains(name);
    let names = |list| -> Vec<&str> { ids_of(list, id).filter(common).collect() };
    let (was, wanted) = (names(base), names(theirs));
    if was == wanted {
        return kept;
    }
    let place_of: HashMap<&str, usize> = was.iter().enumerate().map(|(place, name)| (*name, place)).collect();
    let places: Vec<_> = wanted.iter().map(|name| place_of[name]).enumerate().collect();
    let staying: HashSet<&str> = diff::rising(&places).into_iter().map(|(place, _)| wanted[place]).collect();
    // Who follows whom: the moved ones behind the last that stays, by the order of the edit.
    let (mut followers, mut leader): (HashMap<Option<&str>, Vec<&str>>, _) = (HashMap::new(), None);
    for name in &wanted {
        match staying.contains(name) {
            true => leader = Some(*name),
            false => followers.entry(leader).or_default().push(name),
        }
    }
    let items: HashMap<&str, &Value> = kept.iter().map(|item| (id_in(item, id), item)).collect();
    let follow = |leader| followers.get(&leader).into_iter().flatten().map(|name| items[name]);
    let is_moved = |name: &str| place_of.contains_key(name) && !staying.contains(name);
    let still = kept.iter().filter(|item| !is_moved(id_in(item, id)));
    let behind = still.flat_map(|item| std::iter::once(item).chain(follow(Some(id_in(item, id)))));
    follow(None).chain(behind).cloned().collect()
}

fn ids_of<'v>(list: &'v [Value], id: &str) -> impl Iterator<Item = &'v str> {
    list.iter().map(move |item| id_in(item, id))
}

fn id_in<'v>(item: &'v Value, id: &str) -> &'v str {
    item.get(id).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items by their ids, if all of them have one of their own.
fn by_id<'v>(list: &'v [Value], id: &str) -> Option<ById<'v>> {
    let mut items = HashMap::with_capacity(list.len());
    for item in list {
        if items.insert(item.get(id)?.as_str()?, item).is_some() {
            return None;
        }
    }
    Some(items)
}

/// Returns how often each value is there.
fn counts(list: &[Value]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for value in list {
        *counts.entry(json::dense(value)).or_default() += 1;
    }
    counts
}
