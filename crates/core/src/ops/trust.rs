//! Which commands the user lets hooks run: by the hash of their text and of the script they name.

use serde_json::{Value, json};

use super::{Actor, Error, Result};
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::time;
use crate::store::Engine;
use crate::store::engine::items;

/// What a command is at this moment. Hashes are SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub command: String,
    pub sha256: String,
    /// The file that its first word names, and that file's hash.
    pub file: Option<(String, String)>,
}

/// Whether a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Trusted,
    /// Its script is not what it was.
    Changed,
    Unknown,
}

/// Trusts a command as it is now; returns what was noted. Nothing is changed for one that is trusted already.
pub fn trust(engine: &dyn Engine, command: &Fingerprint, actor: &Actor) -> Result<Value> {
    if command.command.trim().is_empty() {
        return Err(Error::Input("there is no command to trust".into()));
    }
    json::check_input(&Value::from(&*command.command)).map_err(Error::Input)?;
    let doc = Doc::trusted();
    let mut transaction = engine.begin(&[&doc.room])?;
    let now = actor.now();
    let mut document = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let list = list_of(&mut document)?;
    let path = command.file.as_ref().map(|(path, _)| path.as_str());
    let at =
        list.iter().position(|entry| entry["command"] == command.command && entry["file"].as_str() == path);
    if let Some(entry) = at.map(|at| &list[at]).filter(|entry| fits(entry, command)) {
        return Ok(entry.clone());
    }
    let mut entry = json!({"command": command.command, "sha256": command.sha256});
    if let Some((path, sha256)) = &command.file {
        entry["file"] = path.as_str().into();
        entry["file_sha256"] = sha256.as_str().into();
    }
    let who = actor.entry("trust");
    entry["trusted_at"] = time::stamp(now).into();
    entry["by"] = who.by.as_str().into();
    match at {
        Some(at) => list[at] = entry.clone(),
        None => list.push(entry.clone()),
    }
    transaction.put(&doc, document)?;
    transaction.commit(&who)?;
    Ok(entry)
}

/// Returns what is trusted.
pub fn list(engine: &dyn Engine) -> Result<Vec<Value>> {
    super::read::list(engine, &Doc::trusted(), None)
}

/// Stops trusting a command, whatever its script; returns what was forgotten.
pub fn distrust(engine: &dyn Engine, command: &str, actor: &Actor) -> Result<Vec<Value>> {
    let doc = Doc::trusted();
    let mut transaction = engine.begin(&[&doc.room])?;
    let missing = || Error::missing(format!("`{command}` is not trusted"), "see what is: anthill trust");
    let mut document = transaction.get(&doc)?.cloned().ok_or_else(missing)?;
    let list = list_of(&mut document)?;
    let (gone, left) = std::mem::take(list).into_iter().partition(|entry| entry["command"] == command);
    *list = left;
    let gone: Vec<Value> = gone;
    if gone.is_empty() {
        return Err(missing());
    }
    transaction.put(&doc, document)?;
    transaction.commit(&actor.entry("distrust"))?;
    Ok(gone)
}

/// Judges a command as it is now.
pub fn judge(engine: &dyn Engine, command: &Fingerprint) -> Result<Verdict> {
    let document = engine.read(&Doc::trusted())?.map(|document| document.value).unwrap_or_default();
    let entries = items(Doc::trusted().kind, &document);
    let mut known = entries
        .iter()
        .filter(|entry| entry["command"] == command.command && entry["sha256"] == command.sha256);
    Ok(match known.clone().any(|entry| fits(entry, command)) {
        true => Verdict::Trusted,
        false if known.next().is_some() => Verdict::Changed,
        false => Verdict::Unknown,
    })
}

fn fits(entry: &Value, command: &Fingerprint) -> bool {
    let file = command.file.as_ref().map(|(_, sha256)| sha256.as_str());
    entry["sha256"] == command.sha256 && entry["file_sha256"].as_str() == file
}

fn list_of(document: &mut Value) -> Result<&mut Vec<Value>> {
    let list = document.get_mut("trusted").and_then(Value::as_array_mut);
    list.ok_or_else(|| Error::Input("`trusted` is no list".into()))
}
