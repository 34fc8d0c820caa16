//! Which commands the user lets hooks and projects run: by the hash of their text and of the scripts they name.
//!
//! A hook's command is trusted wherever it runs. What a project's own files name (its gates) is trusted for that project
//! only: the same words mean something else in another one.

use serde_json::{Value, json};

use super::{Actor, Error, Result};
use crate::hint;
use crate::model::documents::state::{Trusted, TrustedCommand, TrustedFile};
use crate::model::json;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::next::See;
use crate::model::time;
use crate::store::Engine;
use crate::store::engine::items;

/// What a command is at this moment. Hashes are SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub command: String,
    pub sha256: String,
    /// The scripts that it names.
    pub files: Vec<Script>,
    /// The root of the project whose files name it; none for a hook's.
    pub project: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub path: String,
    pub sha256: String,
}

impl Fingerprint {
    /// Returns what is noted of it, whoever trusts it.
    pub fn entry(&self) -> Value {
        let mut entry = json!({TrustedCommand::command: self.command, TrustedCommand::sha256: self.sha256});
        if let Some(project) = &self.project {
            entry.set(TrustedCommand::project, project.as_str());
        }
        if let Some((first, more)) = self.files.split_first() {
            entry.set(TrustedCommand::file, first.path.as_str());
            entry.set(TrustedCommand::file_sha256, first.sha256.as_str());
            if !more.is_empty() {
                let file = |script: &Script| {
                    json!({
                        TrustedFile::file: script.path, TrustedFile::file_sha256: script.sha256,
                    })
                };
                entry[TrustedCommand::more_files] = more.iter().map(file).collect();
            }
        }
        entry
    }

    /// Whether an entry is about this command, as far as its place is concerned.
    fn is_meant_by(&self, entry: &Value) -> bool {
        entry[TrustedCommand::command] == self.command
            && entry.text(TrustedCommand::project) == self.project.as_deref()
    }
}

/// Whether a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Trusted,
    /// Its script is not what it was.
    Changed,
    Unknown,
}

/// Trusts commands as they are now; returns what was noted. Nothing is changed for those that are trusted already.
pub fn trust(engine: &dyn Engine, commands: &[Fingerprint], actor: &Actor) -> Result<Vec<Value>> {
    for Fingerprint { command, .. } in commands {
        if command.trim().is_empty() {
            return Err(Error::Input("there is no command to trust".into()));
        }
        json::check_input(&Value::from(&**command)).map_err(Error::Input)?;
    }
    let doc = Doc::trusted();
    let mut transaction = engine.begin(&[&doc.room])?;
    let found = transaction.get(&doc)?.cloned();
    let mut document = found.unwrap_or_else(|| doc.default(actor.now()));
    let list = list_of(&mut document)?;
    let before = list.clone();
    let noted: Vec<Value> = commands.iter().map(|command| note(list, command, actor)).collect();
    if *list != before {
        transaction.put(&doc, document)?;
        transaction.commit(&actor.entry("trust"))?;
    }
    Ok(noted)
}

/// Notes one command, in the place of what was noted of it before.
fn note(list: &mut Vec<Value>, command: &Fingerprint, actor: &Actor) -> Value {
    let path = command.files.first().map(|script| script.path.as_str());
    let at =
        list.iter().position(|entry| command.is_meant_by(entry) && entry.text(TrustedCommand::file) == path);
    if let Some(entry) = at.map(|at| &list[at]).filter(|entry| fits(entry, command)) {
        return entry.clone();
    }
    let mut entry = command.entry();
    entry.set(TrustedCommand::trusted_at, time::stamp(actor.now()));
    entry.set(TrustedCommand::by, actor.entry("trust").by.as_str());
    match at {
        Some(at) => list[at] = entry.clone(),
        None => list.push(entry.clone()),
    }
    entry
}

/// Returns what is trusted.
pub fn list(engine: &dyn Engine) -> Result<Vec<Value>> {
    super::read::list(engine, &Doc::trusted(), None)
}

/// Stops trusting a command, whatever its script; returns what was forgotten.
pub fn distrust(engine: &dyn Engine, command: &str, actor: &Actor) -> Result<Vec<Value>> {
    let doc = Doc::trusted();
    let mut transaction = engine.begin(&[&doc.room])?;
    let missing =
        || Error::missing(format!("`{command}` is not trusted"), hint!["see what is: ", See::Trusted]);
    let mut document = transaction.get(&doc)?.cloned().ok_or_else(missing)?;
    let list = list_of(&mut document)?;
    let (gone, left) =
        std::mem::take(list).into_iter().partition(|entry| entry[TrustedCommand::command] == command);
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
        .filter(|entry| command.is_meant_by(entry) && entry[TrustedCommand::sha256] == command.sha256);
    Ok(match known.clone().any(|entry| fits(entry, command)) {
        true => Verdict::Trusted,
        false if known.next().is_some() => Verdict::Changed,
        false => Verdict::Unknown,
    })
}

fn fits(entry: &Value, command: &Fingerprint) -> bool {
    let more = entry.list(TrustedCommand::more_files).iter();
    let covered = std::iter::once(entry).chain(more).filter_map(|file| file.text(TrustedFile::file_sha256));
    entry[TrustedCommand::sha256] == command.sha256
        && covered.eq(command.files.iter().map(|script| &*script.sha256))
}

fn list_of(document: &mut Value) -> Result<&mut Vec<Value>> {
    let list = document.list_mut(Trusted::trusted);
    list.ok_or_else(|| Error::Input("`trusted` is no list".into()))
}
