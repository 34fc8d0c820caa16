//! A document as the words of the contract have it, with people who edit the file in between.

use anthill_core::model::kind::Doc;
use anthill_testkit::conformance::actor;
use serde_json::{Value, json};

use crate::histories::Action;

/// What a document is by the words of the contract.
#[derive(Debug, Default)]
pub struct Model {
    /// The content now, without stamps.
    pub content: Option<Value>,
    /// What was there before the first commit.
    origin: Option<Value>,
    pub history: Vec<Kept>,
}

#[derive(Debug, Clone)]
pub struct Kept {
    pub revision: u64,
    pub content: Option<Value>,
    pub undoes: Option<u64>,
}

impl Model {
    pub fn edited(&self) -> bool {
        self.history.last().is_some_and(|last| last.content != self.content)
    }

    pub fn revision(&self) -> u64 {
        self.history.last().map_or(0, |last| last.revision) + u64::from(self.edited())
    }

    fn commit(&mut self, content: Option<Value>, undoes: Option<u64>) {
        if self.history.is_empty() {
            self.origin = self.content.clone();
        }
        let mut revision = self.revision();
        if self.edited() {
            self.history.push(Kept { revision, content: self.content.clone(), undoes: None });
        }
        revision += 1;
        self.content = content.clone();
        self.history.push(Kept { revision, content, undoes });
    }

    /// Applies the action; returns whether a command would succeed.
    pub fn act(&mut self, doc: &Doc, action: &Action, number: u64) -> bool {
        let content = self.content.clone();
        let or_default = || content.clone().unwrap_or_else(|| bare(doc.default(actor().now())));
        match action {
            Action::Set => {
                let mut value = or_default();
                value["mark"] = number.into();
                self.commit(Some(value), None);
            }
            Action::Append => {
                let mut value = or_default();
                match value.get_mut("list").and_then(Value::as_array_mut) {
                    Some(list) => list.push(json!({"item": number})),
                    None => value["list"] = json!([{"item": number}]),
                }
                self.commit(Some(value), None);
            }
            Action::DeleteField => {
                let Some(mut value) = content else { return false };
                if value.as_object_mut().unwrap().shift_remove("list").is_none() {
                    return false;
                }
                self.commit(Some(value), None);
            }
            Action::DeleteDocument if content.is_none() => return false,
            Action::DeleteDocument => self.commit(None, None),
            Action::Undo => {
                let Some(target) = self.to_undo() else { return false };
                let before = self.history.iter().rfind(|kept| kept.revision < target);
                let before = before.map_or(self.origin.clone(), |kept| kept.content.clone());
                if before.is_some() || content.is_some() {
                    self.commit(before, Some(target));
                }
            }
            Action::Restore(pick) => {
                let Kept { content: then, .. } = pick.get(&self.history).clone();
                if then.is_some() || content.is_some() {
                    self.commit(then, None);
                }
            }
            Action::Edit(_) => {
                let mut value = or_default();
                value["by_hand"] = number.into();
                self.content = Some(value);
            }
            Action::EditAway => self.content = None,
            Action::Reopen | Action::LoseHead => {}
        }
        true
    }

    fn to_undo(&self) -> Option<u64> {
        if self.edited() {
            return Some(self.revision());
        }
        let undone: Vec<u64> = self.history.iter().filter_map(|kept| kept.undoes).collect();
        let standing = |kept: &&Kept| kept.undoes.is_none() && !undone.contains(&kept.revision);
        self.history.iter().rfind(standing).map(|kept| kept.revision)
    }
}

/// Returns a document without what the engine stamps on it.
pub fn bare(mut value: Value) -> Value {
    let fields = value.as_object_mut().unwrap();
    ["revision", "updated_at", "updated_by"].iter().for_each(|stamp| drop(fields.shift_remove(*stamp)));
    value
}
