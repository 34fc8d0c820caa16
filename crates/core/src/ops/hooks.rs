//! Change hooks: commands that a session wants run after documents of a kind have changed.
//!
//! `hooks.json` of the session says what to run. `triggers.json` only says which sessions to ask, so that a change
//! without hooks costs one look; it is written in the same commit, and again after any other change of `hooks.json`.
//! Running the commands is not done here, see `anthill_live::hooks`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Actor, Error, Result};
use crate::hint;
use crate::model::documents::state::{Hook, Hooks, Session, SessionContext, Trigger, Triggers};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::json;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, Kind};
use crate::model::next::{See, With};
use crate::model::room::Room;
use crate::model::text_file::TextFile;
use crate::model::time;
use crate::store::engine::items;
use crate::store::{Durability, Engine, Entry, Transaction};

/// A hook's log that is longer than this starts anew.
const LOG_LIMIT: usize = 1 << 20;

/// A hook to be.
#[derive(Debug)]
pub struct NewHook<'a> {
    pub session: &'a SessionId,
    pub on: &'static Kind,
    pub command: &'a str,
    /// Made up if there is none.
    pub id: Option<&'a Key>,
}

/// What registering a hook gave.
#[derive(Debug)]
pub struct Registered {
    pub hook: Value,
    /// Whether it was there before.
    pub repeated: bool,
    pub warnings: Vec<Hint>,
}

/// Registers a hook. The same id, or the same command for the same kind, gives the hook that is there.
pub fn register(engine: &dyn Engine, new: &NewHook<'_>, actor: &Actor) -> Result<Registered> {
    if new.command.trim().is_empty() {
        return Err(Error::Input("a hook needs a command".into()));
    }
    json::check_input(&Value::from(new.command)).map_err(Error::Input)?;
    let doc = Doc::hooks(new.session.clone());
    let mut transaction = engine.begin(&[&Room::Shared, &doc.room])?;
    let now = actor.now();
    let mut document = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    if let Some(hook) = known(&doc, &document, new)? {
        let mut warnings = Vec::new();
        if mirror_in(&mut *transaction, new.session, &document, now)? {
            warnings = transaction.commit(&actor.entry("register hook"))?.warnings;
        }
        return Ok(Registered { hook, repeated: true, warnings });
    }
    let id = new.id.map_or_else(|| free_id(&doc, &document, new.on), ToString::to_string);
    let hook = json!({
        Hook::id: id, Hook::on: new.on.name, Hook::command: new.command, Hook::enabled: true,
        Hook::added_at: time::stamp(now),
    });
    list_of(&mut document)?.push(hook.clone());
    mirror_in(&mut *transaction, new.session, &document, now)?;
    transaction.put(&doc, document)?;
    let committed = transaction.commit(&actor.entry("register hook"))?;
    Ok(Registered { hook, repeated: false, warnings: committed.warnings })
}

/// Returns the hook that is meant, if it is there.
fn known(doc: &Doc, document: &Value, new: &NewHook<'_>) -> Result<Option<Value>> {
    let hooks = items(doc.kind, document);
    let same = |hook: &&&Value| hook[Hook::on] == new.on.name && hook[Hook::command] == new.command;
    let named = new.id.and_then(|id| hooks.iter().find(|hook| hook[Hook::id] == id.as_str()));
    match named {
        Some(hook) if !same(&hook) => {
            let id = hook.text(Hook::id).unwrap_or_default();
            let see = See::Hooks { session: new.session.to_string() };
            let hint = hint!["see it: ", see, "; or choose another ", With::Id];
            Err(Error::clash(format!("there is another hook `{id}` already"), hint))
        }
        Some(hook) => Ok(Some((*hook).clone())),
        None => Ok(hooks.iter().find(same).map(|hook| (*hook).clone())),
    }
}

fn free_id(doc: &Doc, document: &Value, on: &Kind) -> String {
    let taken: BTreeSet<_> =
        items(doc.kind, document).iter().filter_map(|hook| hook.text(Hook::id)).collect();
    let mut ids = (1..).map(|number| format!("{}-{number}", on.name));
    ids.find(|id| !taken.contains(id.as_str())).expect("there are more numbers than hooks")
}

fn list_of(document: &mut Value) -> Result<&mut Vec<Value>> {
    let list = document.list_mut(Hooks::hooks);
    list.ok_or_else(|| Error::Input("`hooks` is no list".into()))
}

/// Returns the hooks of a session.
pub fn list(engine: &dyn Engine, session: &SessionId) -> Result<Vec<Value>> {
    super::read::list(engine, &Doc::hooks(session.clone()), None)
}

/// Returns the kinds whose changes run hooks of the session now.
pub fn triggered(engine: &dyn Engine, session: &SessionId) -> Result<BTreeSet<String>> {
    let triggers = super::read::list(engine, &Doc::triggers(), None)?;
    let own = triggers.iter().filter(|pair| pair[Trigger::session_id] == session.as_str());
    Ok(own.filter_map(|pair| pair.text(Trigger::on).map(str::to_owned)).collect())
}

/// Removes one hook and returns it.
pub fn remove(engine: &dyn Engine, session: &SessionId, id: &str, actor: &Actor) -> Result<Value> {
    let doc = Doc::hooks(session.clone());
    let mut transaction = engine.begin(&[&Room::Shared, &doc.room])?;
    let missing = || {
        let hint = hint!["see the hooks: ", See::Hooks { session: session.to_string() }];
        Error::missing(format!("session `{session}` has no hook `{id}`"), hint)
    };
    let mut document = transaction.get(&doc)?.cloned().ok_or_else(missing)?;
    let hooks = list_of(&mut document)?;
    let at = hooks.iter().position(|hook| hook[Hook::id] == id).ok_or_else(missing)?;
    let hook = hooks.remove(at);
    mirror_in(&mut *transaction, session, &document, actor.now())?;
    transaction.put(&doc, document)?;
    transaction.commit(&actor.entry("remove hook"))?;
    Ok(hook)
}

/// Makes the triggers say what a session's `hooks.json` says, after that was changed by other means.
pub fn mirror(engine: &dyn Engine, session: &SessionId, entry: &Entry) -> Result<()> {
    let doc = Doc::hooks(session.clone());
    let mut transaction = engine.begin(&[&Room::Shared, &doc.room])?;
    let document = transaction.get(&doc)?.cloned().unwrap_or_default();
    if mirror_in(&mut *transaction, session, &document, entry.at)? {
        let entry = Entry { op: "mirror hooks".into(), undoes: None, ..entry.clone() };
        transaction.commit(&entry)?;
    }
    Ok(())
}

/// The same for somebody who has no entry at hand.
pub fn tidy(engine: &dyn Engine, session: &SessionId, actor: &Actor) -> Result<()> {
    mirror(engine, session, &actor.entry("mirror hooks"))
}

/// Puts the session's pairs among the triggers. Without any pair there is no document. Returns whether anything changed.
fn mirror_in(
    transaction: &mut dyn Transaction,
    session: &SessionId,
    hooks: &Value,
    now: Timestamp,
) -> Result<bool> {
    let doc = Doc::triggers();
    let hooks = hooks.list(Hooks::hooks);
    let wanted: BTreeSet<_> =
        hooks.iter().filter(|hook| is_enabled(hook)).filter_map(|hook| hook.text(Hook::on)).collect();
    let found = transaction.get(&doc)?.cloned();
    let existed = found.is_some();
    let mut document = found.unwrap_or_else(|| doc.default(now));
    let pairs = document.list_mut(Triggers::triggers);
    let pairs = pairs.ok_or_else(|| Error::Input("`triggers` is no list".into()))?;
    let before = pairs.clone();
    let is_own = |pair: &Value| pair[Trigger::session_id] == session.as_str();
    pairs.retain(|pair| !is_own(pair) || pair.text(Trigger::on).is_some_and(|on| wanted.contains(on)));
    for on in wanted {
        if !pairs.iter().any(|pair| is_own(pair) && pair[Trigger::on] == on) {
            pairs.push(json!({Trigger::session_id: session.as_str(), Trigger::on: on}));
        }
    }
    if *pairs == before {
        return Ok(false);
    }
    match pairs.is_empty() {
        true if existed => transaction.delete(&doc)?,
        true => {}
        false => transaction.put(&doc, document)?,
    }
    Ok(true)
}

pub fn is_enabled(hook: &Value) -> bool {
    hook.read(Hook::enabled).unwrap_or(true)
}

/// What has changed, as far as it decides who hears of it.
#[derive(Debug)]
pub struct Occasion<'a> {
    pub kind: &'a str,
    /// The project of a document that belongs to one.
    pub project: Option<&'a str>,
}

/// A session that wants to hear of a change.
#[derive(Debug)]
pub struct Listening {
    pub session: SessionId,
    pub project: Option<String>,
    pub working_directory: Option<String>,
    pub hooks: Vec<Value>,
}

/// Returns the sessions with hooks for a change, apart from those that are over or belong to another project.
pub fn listening(engine: &dyn Engine, occasion: &Occasion<'_>, actor: &Actor) -> Result<Vec<Listening>> {
    let mut found = Vec::new();
    for pair in super::read::list(engine, &Doc::triggers(), None)? {
        let session = pair.text(Trigger::session_id).and_then(|id| id.parse::<SessionId>().ok());
        let (Some(session), true) = (session, pair[Trigger::on] == occasion.kind) else { continue };
        // A damaged file of one session is for `doctor` to tell, not for the others to suffer from.
        let Ok(mut hooks) = list(engine, &session) else { continue };
        hooks.retain(|hook| is_enabled(hook) && hook[Hook::on] == occasion.kind);
        if hooks.is_empty() {
            tidy(engine, &session, actor)?;
            continue;
        }
        let Ok(state) = engine.read(&Doc::session(&session)) else { continue };
        let state = state.map(|state| state.value).unwrap_or_default();
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let project = text(&state[Session::project_id]);
        let elsewhere = occasion.project.is_some_and(|of| project.as_deref().is_some_and(|own| own != of));
        if is_over(&state) || elsewhere {
            continue;
        }
        let working_directory = text(&state[Session::context][SessionContext::working_directory]);
        found.push(Listening { session, project, working_directory, hooks });
    }
    Ok(found)
}

/// Whether a session has ended. One that nobody has described yet has not.
pub fn is_over(state: &Value) -> bool {
    !matches!(state.text(Session::status), None | Some("active" | "idle"))
}

/// Adds to the log of a session's hooks.
pub fn log(engine: &dyn Engine, session: &SessionId, text: &str, actor: &Actor) -> Result<()> {
    note(engine, session, text, actor, |_| true)
}

/// Adds to the log what is to be told of the hook that `head` names, unless that was said of it last.
pub fn log_once(
    engine: &dyn Engine,
    session: &SessionId,
    head: &str,
    what: &str,
    actor: &Actor,
) -> Result<()> {
    let line = format!("[{}] {head}{what}\n", time::stamp(actor.now()));
    note(engine, session, &line, actor, |log| last_told(log, head) != Some(what))
}

/// Returns what a log says last of the hook that `head` names. What hooks printed is indented and does not count.
pub fn last_told<'l>(log: &'l str, head: &str) -> Option<&'l str> {
    let told = |line: &'l str| line.strip_prefix('[')?.split_once("] ")?.1.strip_prefix(head);
    log.lines().rev().find_map(told)
}

/// Returns the log of a session's hooks.
pub fn logged(engine: &dyn Engine, session: &SessionId) -> Result<String> {
    let text_file = TextFile::HookLog(session.clone());
    Ok(engine.begin(&[&text_file.room()])?.text_file(&text_file)?.unwrap_or_default())
}

fn note(
    engine: &dyn Engine,
    session: &SessionId,
    text: &str,
    actor: &Actor,
    wanted: impl FnOnce(&str) -> bool,
) -> Result<()> {
    let text_file = TextFile::HookLog(session.clone());
    let mut transaction = engine.begin(&[&text_file.room()])?;
    let log = transaction.text_file(&text_file)?.unwrap_or_default();
    if !wanted(&log) {
        return Ok(());
    }
    match log.len() + text.len() > LOG_LIMIT {
        true => transaction.write_text_file(&text_file, text.to_owned())?,
        false => transaction.append_text_file(&text_file, text)?,
    }
    transaction.commit(&Entry { durability: Durability::Lazy, ..actor.entry("log hook") })?;
    Ok(())
}
