//! The open record of a group: what testers found, what reviews asked for and what helpers advised, until it is closed.
//!
//! A finding is closed by PASS, an item of a review by APPROVED, advice by the developer who says that the work is done.
//! Whoever tests or reviews may close single items before that, by their ids in `closed`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::proof::failed_tests;
use super::table::{Outcome, Role};
use super::values::{clip, push};
use super::{Content, Pipeline, list, text, time, word};
use crate::model::changes::Changes;
use crate::model::documents::dispatch::{HandedOver, ItemKind, KeptOrder, OpenItem};
use crate::model::documents::pipeline::{
    Blocker, DevContext, DevMessage, DevToQa, Group, GroupStage, Iterations, QaMessage, ReviewIssue,
};
use crate::model::documents::queue::Changes as ChangesDoc;
use crate::model::key::{Fields, FieldsMut, Held, Key, List, Text};
use crate::model::plan::texts;
use crate::model::shape::Maybe;

/// How many items a group keeps open, and how much of each; the messages have all of it.
const ITEMS: usize = 50;
const TEXT: usize = 600;

/// The field of a group's entry.
const FIELD: Key<Maybe<Vec<OpenItem>>> = Group::open_items;

impl Pipeline {
    /// Opens and closes what a report says about a group.
    pub(super) fn keep_record(
        &mut self,
        (role, group): (Role, &str),
        outcome: Outcome,
        content: &Content,
        now: Timestamp,
    ) {
        let closed: Vec<ItemKind> = match outcome {
            Outcome::Pass => vec![ItemKind::Finding],
            Outcome::Approved => vec![ItemKind::Finding, ItemKind::Review, ItemKind::Advice],
            Outcome::ReadyForQa | Outcome::ReadyForReview => vec![ItemKind::Advice],
            _ => Vec::new(),
        };
        let entry = self.entry_mut(group);
        let may_close = matches!(role, Role::QaExpert | Role::TechLead);
        let named = content.at(HandedOver::closed).filter(|_| may_close).and_then(Value::as_array);
        let named: Vec<&str> = named.into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(items) = entry.list_mut(FIELD) {
            let is_closed = |item: &Value| {
                named.contains(&text(item, OpenItem::id))
                    || closed.iter().any(|kind| text(item, OpenItem::kind) == word(kind))
            };
            items.retain(|item| !is_closed(item));
        }
        let (kind, said) = match (role, outcome) {
            (Role::QaExpert, Outcome::Fail | Outcome::Flaky) => (ItemKind::Finding, found(content)),
            (Role::TechLead, Outcome::ChangesRequested) => (ItemKind::Review, asked(content)),
            (_, Outcome::Unblocked | Outcome::Continue) => (ItemKind::Advice, asked(content)),
            _ => return,
        };
        for said in said {
            let item = json!({
                OpenItem::id: free_id(entry, kind), OpenItem::kind: kind, OpenItem::from: role,
                OpenItem::at: time::stamp(now),
                OpenItem::text: clip(&said, TEXT),
            });
            push(entry, FIELD, item, ITEMS);
        }
    }

    /// Returns what is open for a group, newest first, as lines.
    pub fn open_record(&self, group: &str) -> Vec<String> {
        let Some(entry) = self.entry(group) else { return Vec::new() };
        let item = |item: &Value| {
            let kind = match text(item, OpenItem::kind) {
                "finding" => "test",
                other => other,
            };
            format!("{} ({kind}): {}", text(item, OpenItem::id), text(item, OpenItem::text))
        };
        let blocked = list(entry, Group::blockers).iter().rev();
        let blocked = blocked.filter(|blocker| blocker.at(Blocker::resolved) != Some(&Value::Bool(true)));
        let items = list(entry, FIELD).iter().rev().map(item);
        items
            .chain(blocked.map(|blocker| format!("blocked: {}", text(blocker, Blocker::description))))
            .collect()
    }

    /// Keeps what really changed while an order's agent worked, together with what its earlier ones changed.
    pub fn note_changes(&mut self, id: &str, changes: &Changes) {
        let Some(order) = self.kept_order(id) else { return };
        let all = changes.clone().and(order.at(KeptOrder::changed)).value();
        order[KeptOrder::changed] = all.clone();
        let (is_developer, group) = (
            text(order, KeptOrder::role) == word(Role::Developer),
            text(order, KeptOrder::group_id).to_owned(),
        );
        if is_developer && self.entry(&group).is_some() {
            self.entry_mut(&group)[KeptOrder::changed] = all;
        }
    }

    /// Whether the last developer of a group has handed something over, and git saw no change.
    pub fn is_hollow(&self, group: &str) -> bool {
        let changed = self.entry(group).at(Group::changed);
        changed.at(ChangesDoc::count) == Some(&json!(0))
            && !matches!(
                self.stage(group),
                GroupStage::Pending | GroupStage::DevWorking | GroupStage::DevBlocked
            )
    }

    /// Returns what the developers of a group have left so far: commits, files and their last words, as lines.
    pub fn work_so_far(&self, group: &str) -> Vec<String> {
        let Some(entry) = self.entry(group) else { return Vec::new() };
        let facts = [("Commits", Group::commits), ("Files changed", Group::files_modified)];
        let facts = facts.into_iter().map(|(name, field)| (name, texts(entry, field)));
        let facts = facts.filter(|(_, all)| !all.is_empty());
        let seen = entry.at(Group::changed).map(|changed| match texts(changed, ChangesDoc::files) {
            none if none.is_empty() => "By git: nothing changed while the last developer worked".to_owned(),
            files => format!("By git, the last developer changed: {}", files.join(", ")),
        });
        let of_group = |message: &&Value| text(message, QaMessage::group_id) == group;
        let words =
            list(&self.dev_to_qa, DevToQa::messages).iter().rev().filter(of_group).filter_map(|message| {
                let notes = text(message.at(DevMessage::context)?, DevContext::notes).trim();
                (!notes.is_empty()).then(|| format!("Developer ({}): {notes}", text(message, Group::status)))
            });
        let facts = facts.map(|(name, all)| format!("{name}: {}", all.join(", ")));
        facts.chain(seen).chain(words.take(3)).collect()
    }
}

/// Returns what a tester found, one text for each thing.
fn found(content: &Content) -> Vec<String> {
    let mut said = failed_tests(content);
    let words = [HandedOver::notes, HandedOver::feedback, HandedOver::reason];
    said.extend(words.into_iter().filter_map(|field| spoken(content, field)));
    let lists = [HandedOver::issues, HandedOver::findings, HandedOver::failures, HandedOver::failed_tests];
    said.extend(lists.into_iter().flat_map(|field| each(content, field)));
    if said.is_empty() {
        said.push("tests failed, without a word why".into());
    }
    said
}

/// Returns what a reviewer or a helper asked for, one text for each thing.
fn asked(content: &Content) -> Vec<String> {
    let mut said: Vec<String> = spoken(content, HandedOver::feedback).into_iter().collect();
    let lists = [HandedOver::issues, HandedOver::actionable_items];
    said.extend(lists.into_iter().flat_map(|field| each(content, field)));
    said
}

fn spoken<T: Held<Kind: Text>>(content: &Content, key: Key<T>) -> Option<String> {
    let text = content.text(key)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn each<T: Held<Kind: List>>(content: &Content, key: Key<T>) -> Vec<String> {
    content.list(key).iter().map(told).filter(|text| !text.is_empty()).collect()
}

/// Returns an item of a list in words: `[high] title (place): what. Mend: how`.
fn told(item: &Value) -> String {
    let of = |said: &str, before: &str, after: &str| match said.trim() {
        "" => String::new(),
        text => format!("{before}{text}{after}"),
    };
    match item {
        Value::String(text) => text.trim().to_owned(),
        Value::Object(_) if item.at(ReviewIssue::title).or(item.at(ReviewIssue::description)).is_some() => [
            of(text(item, ReviewIssue::priority), "[", "] "),
            of(text(item, ReviewIssue::title), "", ""),
            of(text(item, ReviewIssue::location), " (", ")"),
            of(text(item, ReviewIssue::description), ": ", ""),
            of(text(item, ReviewIssue::fix_suggestion), ". Mend: ", ""),
        ]
        .concat(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns an id that no open item has: the turn of whoever says it, and a number.
fn free_id(entry: &Value, kind: ItemKind) -> String {
    let (letter, turn) = match kind {
        ItemKind::Finding => ('T', Iterations::qa),
        ItemKind::Review => ('R', Iterations::tech_lead),
        ItemKind::Advice => ('A', Iterations::tech_lead),
    };
    let turn = entry.at(Group::iterations).map_or(0, |turns| super::number(turns, turn));
    let taken = |id: &str| list(entry, FIELD).iter().any(|item| text(item, OpenItem::id) == id);
    let ids = (1..).map(|number| format!("{letter}{turn}.{number}"));
    ids.into_iter().find(|id| !taken(id)).unwrap_or_default()
}
