//! The open record of a group: what testers found, what reviews asked for and what helpers advised, until it is closed.
//!
//! A finding is closed by PASS, an item of a review by APPROVED, advice by the developer who says that the work is done.
//! Whoever tests or reviews may close single items before that, by their ids in `closed`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::proof::failed_tests;
use super::table::{Outcome, Role};
use super::{Content, Pipeline, clip, list, push, text, time, word};
use crate::model::changes::Changes;
use crate::model::documents::dispatch::ItemKind;
use crate::model::documents::pipeline::GroupStage;
use crate::model::plan::texts;

/// How many items a group keeps open, and how much of each; the messages have all of it.
const ITEMS: usize = 50;
const TEXT: usize = 600;

/// The field of a group's entry.
const FIELD: &str = "open_items";

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
        let named = content.get("closed").filter(|_| may_close).and_then(Value::as_array);
        let named: Vec<&str> = named.into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(items) = entry.get_mut(FIELD).and_then(Value::as_array_mut) {
            let is_closed = |item: &Value| {
                named.contains(&text(item, "id"))
                    || closed.iter().any(|kind| text(item, "kind") == word(kind))
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
                "id": free_id(entry, kind), "kind": kind, "from": role, "at": time::stamp(now),
                "text": clip(&said, TEXT),
            });
            push(entry, FIELD, item, ITEMS);
        }
    }

    /// Returns what is open for a group, newest first, as lines.
    pub fn open_record(&self, group: &str) -> Vec<String> {
        let Some(entry) = self.entry(group) else { return Vec::new() };
        let item = |item: &Value| {
            let kind = match text(item, "kind") {
                "finding" => "test",
                other => other,
            };
            format!("{} ({kind}): {}", text(item, "id"), text(item, "text"))
        };
        let blocked = list(entry, "blockers").iter().rev();
        let blocked = blocked.filter(|blocker| blocker.get("resolved") != Some(&Value::Bool(true)));
        let items = list(entry, FIELD).iter().rev().map(item);
        items.chain(blocked.map(|blocker| format!("blocked: {}", text(blocker, "description")))).collect()
    }

    /// Keeps what really changed while an order's agent worked, together with what its earlier ones changed.
    pub fn note_changes(&mut self, id: &str, changes: &Changes) {
        let Some(order) = self.kept_order(id) else { return };
        let all = changes.clone().and(order.get("changed")).value();
        order["changed"] = all.clone();
        let (is_developer, group) =
            (text(order, "role") == word(Role::Developer), text(order, "group_id").to_owned());
        if is_developer && self.entry(&group).is_some() {
            self.entry_mut(&group)["changed"] = all;
        }
    }

    /// Whether the last developer of a group has handed something over, and git saw no change.
    pub fn is_hollow(&self, group: &str) -> bool {
        let changed = self.entry(group).and_then(|entry| entry.get("changed"));
        changed.and_then(|changed| changed.get("count")) == Some(&json!(0))
            && !matches!(
                self.stage(group),
                GroupStage::Pending | GroupStage::DevWorking | GroupStage::DevBlocked
            )
    }

    /// Returns what the developers of a group have left so far: commits, files and their last words, as lines.
    pub fn work_so_far(&self, group: &str) -> Vec<String> {
        let Some(entry) = self.entry(group) else { return Vec::new() };
        let facts = [("Commits", "commits"), ("Files changed", "files_modified")];
        let facts = facts.into_iter().map(|(name, field)| (name, texts(entry, field)));
        let facts = facts.filter(|(_, all)| !all.is_empty());
        let seen = entry.get("changed").map(|changed| match texts(changed, "files") {
            none if none.is_empty() => "By git: nothing changed while the last developer worked".to_owned(),
            files => format!("By git, the last developer changed: {}", files.join(", ")),
        });
        let of_group = |message: &&Value| text(message, "group_id") == group;
        let words = list(&self.dev_to_qa, "messages").iter().rev().filter(of_group).filter_map(|message| {
            let notes = text(message.get("context")?, "notes").trim();
            (!notes.is_empty()).then(|| format!("Developer ({}): {notes}", text(message, "status")))
        });
        let facts = facts.map(|(name, all)| format!("{name}: {}", all.join(", ")));
        facts.chain(seen).chain(words.take(3)).collect()
    }
}

/// Returns what a tester found, one text for each thing.
fn found(content: &Content) -> Vec<String> {
    let mut said = failed_tests(content);
    said.extend(["notes", "feedback", "reason"].iter().filter_map(|field| spoken(content, field)));
    said.extend(
        ["issues", "findings", "failures", "failed_tests"].iter().flat_map(|field| each(content, field)),
    );
    if said.is_empty() {
        said.push("tests failed, without a word why".into());
    }
    said
}

/// Returns what a reviewer or a helper asked for, one text for each thing.
fn asked(content: &Content) -> Vec<String> {
    let mut said: Vec<String> = spoken(content, "feedback").into_iter().collect();
    said.extend(["issues", "actionable_items"].iter().flat_map(|field| each(content, field)));
    said
}

fn spoken(content: &Content, field: &str) -> Option<String> {
    let text = content.get(field)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn each(content: &Content, field: &str) -> Vec<String> {
    let items = content.get(field).and_then(Value::as_array).into_iter().flatten();
    items.map(told).filter(|text| !text.is_empty()).collect()
}

/// Returns an item of a list in words: `[high] title (place): what. Mend: how`.
fn told(item: &Value) -> String {
    let of = |field: &str, before: &str, after: &str| match text(item, field).trim() {
        "" => String::new(),
        text => format!("{before}{text}{after}"),
    };
    match item {
        Value::String(text) => text.trim().to_owned(),
        Value::Object(_) if item.get("title").or(item.get("description")).is_some() => [
            of("priority", "[", "] "),
            of("title", "", ""),
            of("location", " (", ")"),
            of("description", ": ", ""),
            of("fix_suggestion", ". Mend: ", ""),
        ]
        .concat(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns an id that no open item has: the turn of whoever says it, and a number.
fn free_id(entry: &Value, kind: ItemKind) -> String {
    let (letter, turn) = match kind {
        ItemKind::Finding => ('T', "qa"),
        ItemKind::Review => ('R', "tech_lead"),
        ItemKind::Advice => ('A', "tech_lead"),
    };
    let turn = entry.get("iterations").map_or(0, |turns| super::number(turns, turn));
    let taken = |id: &str| list(entry, FIELD).iter().any(|item| text(item, "id") == id);
    let ids = (1..).map(|number| format!("{letter}{turn}.{number}"));
    ids.into_iter().find(|id| !taken(id)).unwrap_or_default()
}
