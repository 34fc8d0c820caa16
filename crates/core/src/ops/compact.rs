//! Backups before a client shortens its context, and what can be got back from them.
//!
//! A backup holds what the loop (with its text), its agents, the session and the workflow were, and what the acting session had in
//! hand in the queue. The last few of each session are kept. Claims are not restored: whose a task is only the queue can say.
//!
//! A loop with very many items is not copied: the backup names its revision, and the journal has its content.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::sessions::look;
use super::{Actor, Error, Result, views};
use crate::error::Code;
use crate::hint;
use crate::model::current_session::CurrentSessions;
use crate::model::documents::agent_loop::{
    Backup as BackupDoc, CurrentSession, LoopState, Preserved, WorkItem, WorkQueue,
};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut, Key as Field};
use crate::model::kind::{Doc, Kind};
use crate::model::next::{Next, See};
use crate::model::room::Room;
use crate::model::shape::{Integer, Maybe};
use crate::model::text_file::TextFile;
use crate::model::{json, time};
use crate::store::{self, Engine, Kept, Transaction};

/// How many backups of a session are kept, and how many in all.
pub const KEPT: usize = 3;
const KEPT_IN_ALL: usize = 60;

/// The fields of `preserved` and the documents that they are copies of.
const PARTS: [(Field<Maybe<Value>>, &str); 4] = [
    (Preserved::work_queue, "work_queue"),
    (Preserved::active_agents, "active_agents"),
    (Preserved::session, "current_session"),
    (Preserved::workflow, "workflow"),
];

/// The field of `preserved` that says where the loop stood, and the field of that for the text of `LOOP_STATE.md`.
const LOOP_STATE: Field<Maybe<Value>> = Preserved::loop_state;
const MARKDOWN: Field<Option<String>> = LoopState::markdown;

/// The field of that for the revision of a work queue that is too long to be copied, and how many bytes are not too long.
const REVISION: Field<Option<Integer>> = LoopState::work_queue_revision;
const COPIED: usize = 32 << 10;

/// What is said about a backup.
#[derive(Debug, Default)]
pub struct NewBackup {
    pub reason: String,
    pub context_tokens: Option<u64>,
    pub files: Vec<String>,
}

/// A backup with the moment in its name.
#[derive(Debug)]
pub struct Backup {
    pub key: String,
    /// As it is stored.
    pub value: Value,
}

#[derive(Debug)]
pub struct BackupMade {
    pub backup: Backup,
    /// The backups that had to go.
    pub removed: Vec<String>,
    pub warnings: Vec<Hint>,
}

/// Saves what there is. Older backups of the session than the last few are deleted in the same commit.
pub fn backup(engine: &dyn Engine, new: &NewBackup, actor: &Actor) -> Result<BackupMade> {
    json::check_input(&json!([new.reason, new.files])).map_err(Error::Input)?;
    let mut warnings = Vec::new();
    let claims = claims(engine, actor, &mut warnings)?;
    let mut transaction = engine.begin(&[&Room::State])?;
    let now = actor.now();
    let mut preserved = Map::new();
    let mut loop_state = Map::new();
    for (field, kind) in PARTS {
        let found = match kind {
            "work_queue" => copy_of_loop(engine, &mut loop_state),
            _ => transaction.get(&document(kind)).map(Option::<&Value>::cloned),
        };
        match found {
            Ok(Some(value)) => preserved.set(field, value),
            Ok(None) => {}
            Err(error) if error.code() == Code::Damaged => {
                warnings.push(format!("{kind} is left out: {error}").into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    if !loop_state.has(REVISION) {
        match transaction.text_file(&TextFile::LoopState) {
            Ok(Some(text)) => drop(loop_state.shift_insert(0, MARKDOWN.into(), text.into())),
            Ok(None) => {}
            // A view that cannot be read does not stop a backup.
            Err(error) => {
                warnings.push(format!("the text of {} is left out: {error}", LOOP_STATE.name()).into());
            }
        }
    }
    let since = since(preserved.at(Preserved::session), actor.session.as_deref());
    if !loop_state.is_empty() {
        preserved.shift_insert(0, LOOP_STATE.into(), loop_state.into());
    }
    if !claims.is_empty() {
        preserved.set(Preserved::claims, Value::from(claims));
    }
    if preserved.is_empty() {
        let message = "there is nothing to back up: no loop, agent, session or workflow, and no task in hand";
        return Err(Error::missing(message, hint!["begin with one: ", Next::BeginLoop]));
    }
    let mut value = json!({ BackupDoc::timestamp: time::stamp(now), BackupDoc::reason: new.reason });
    value[BackupDoc::preserved] = Value::Object(preserved);
    if let Some(session) = &actor.session {
        value.set(BackupDoc::session_id, session.as_str());
    }
    if let Some(tokens) = new.context_tokens {
        value.set(BackupDoc::context_tokens_before, tokens);
    }
    if !new.files.is_empty() {
        value[BackupDoc::files_in_context] = json!(new.files);
    }
    let known = backups(transaction.documents(&Room::State)?);
    let key = free_key(&time::compact(now), &known);
    let doc = Doc::of_key(kind("backup"), &key);
    transaction.put(&doc, value)?;
    let surplus = outdated(engine, &known, actor.session.as_deref(), &since)?;
    let removed = forget(engine, &mut *transaction, &surplus, &mut warnings)?;
    let committed = transaction.commit(&actor.entry("compact backup"))?;
    warnings.extend(committed.warnings);
    let stored = committed.documents.into_iter().find(|(known, _)| *known == doc);
    let (_, stored) = stored.expect("a put document is committed");
    Ok(BackupMade { backup: Backup { key: key.to_string(), value: stored.value }, removed, warnings })
}

/// Returns the backups, the newest first, and what is wrong with those that cannot be read.
pub fn list(engine: &dyn Engine) -> Result<(Vec<Backup>, Vec<String>)> {
    let (mut backups, mut warnings) = (Vec::new(), Vec::new());
    for doc in documents(engine)?.into_iter().rev() {
        match read(engine, &doc) {
            Ok(found) => backups.extend(found),
            Err(error) if error.code() == Code::Damaged => warnings.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok((backups, warnings))
}

/// Returns the newest backup of one of these sessions, or of nobody in particular. One that cannot be read is none.
pub fn newest_of(engine: &dyn Engine, sessions: &[&str]) -> Result<Option<Value>> {
    for doc in documents(engine)?.into_iter().rev() {
        let found = match engine.read(&doc) {
            Err(error) if error.code() == Code::Damaged => None,
            found => found?,
        };
        let Some(backup) = found else { continue };
        if backup.value.text(BackupDoc::session_id).is_none_or(|session| sessions.contains(&session)) {
            return Ok(Some(backup.value));
        }
    }
    Ok(None)
}

/// How a document stands to its copy in a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Same,
    Missing,
    Differs,
    /// It cannot be read, and stays as it is.
    Damaged,
}

/// What a backup can give back.
#[derive(Debug)]
pub struct Restored {
    pub backup: Backup,
    /// Each kind of document in it, and how it stood before.
    pub documents: Vec<(&'static str, Comparison)>,
    /// Whether those that did not stand the same were written.
    pub applied: bool,
    pub warnings: Vec<Hint>,
}

/// Compares the newest backup, or the one of a moment, with what there is; with `apply` writes back what is missing or
/// differs, in one commit.
pub fn restore(engine: &dyn Engine, moment: Option<&str>, apply: bool, actor: &Actor) -> Result<Restored> {
    let mut transaction = if apply { Some(engine.begin(&[&Room::State])?) } else { None };
    let backup = find(engine, moment, actor.session.as_deref())?;
    let (mut documents, mut changed, mut warnings) = (Vec::new(), false, Vec::new());
    for (field, name) in PARTS {
        let copied = backup.value.at(BackupDoc::preserved).at(field);
        let copy = match copied {
            None if name == "work_queue" => named_loop(engine, &backup, &mut warnings)?,
            copied => copied.cloned(),
        };
        let Some(copy) = copy else { continue };
        let doc = document(name);
        let found = match &mut transaction {
            Some(transaction) => transaction.get(&doc).map(Option::<&Value>::cloned),
            None => engine.read(&doc).map(|found| found.map(|found| found.value)),
        };
        let standing = match found {
            Err(error) if error.code() == Code::Damaged => {
                warnings.push(error.to_string().into());
                Comparison::Damaged
            }
            Err(error) => return Err(error.into()),
            Ok(None) => Comparison::Missing,
            Ok(Some(found)) if plain(found.clone()) == plain(copy.clone()) => Comparison::Same,
            Ok(Some(_)) => Comparison::Differs,
        };
        let wanted = matches!(standing, Comparison::Missing | Comparison::Differs);
        if let Some(transaction) = transaction.as_mut().filter(|_| wanted) {
            views::put(&mut **transaction, &doc, copy)?;
            changed = true;
        }
        documents.push((name, standing));
    }
    if let (Some(transaction), Some(text)) = (&mut transaction, kept_text(&backup)) {
        let stays = documents.contains(&("work_queue", Comparison::Same));
        let found = transaction.text_file(&TextFile::LoopState)?;
        // Beside a work queue that stays, a text that somebody has edited stays too.
        if found.as_deref() != Some(text) && !(stays && found.is_some()) {
            transaction.write_text_file(&TextFile::LoopState, text.to_owned())?;
            changed = true;
        }
    }
    if let Some(transaction) = transaction.filter(|_| changed) {
        warnings.extend(transaction.commit(&actor.entry("compact restore"))?.warnings);
    }
    Ok(Restored { backup, documents, applied: apply, warnings })
}

/// Returns the text of `LOOP_STATE.md` that a backup holds.
fn kept_text(backup: &Backup) -> Option<&str> {
    backup.value.at(BackupDoc::preserved).at(LOOP_STATE).text(MARKDOWN)
}

/// Returns a copy of the work queue, unless it is too long, and says where the loop stood.
fn copy_of_loop(engine: &dyn Engine, state: &mut Map<String, Value>) -> store::Result<Option<Value>> {
    let doc = document("work_queue");
    if engine.is_absent(&doc) {
        return Ok(None);
    }
    if let Some(long) = engine.glimpse(&doc)?.filter(|begin| begin.size > COPIED) {
        sum_up(&long.value, state);
        state.set(REVISION, long.revision);
        return Ok(None);
    }
    let queue = engine.read(&doc)?.map(|queue| queue.value);
    if let Some(queue) = &queue {
        sum_up(queue, state);
        let open = |item: &&Value| !matches!(item.text(WorkItem::status), Some("done" | "cancelled"));
        let open = queue.read(WorkQueue::items).map_or(0, |items| items.iter().filter(open).count());
        state.set(LoopState::open_items, open);
    }
    Ok(queue)
}

/// Says where the loop stood, without its items.
fn sum_up(queue: &Value, state: &mut Map<String, Value>) {
    let told = [
        WorkQueue::task.any(),
        WorkQueue::status.any(),
        WorkQueue::phase.any(),
        WorkQueue::iteration.any(),
        WorkQueue::consecutive_passes.any(),
        WorkQueue::gate_results.any(),
    ];
    for field in told {
        state.extend(queue.at(field).map(|value| (field.into(), value.clone())));
    }
}

/// Returns the content of a work queue that a backup names, as long as the journal has it.
fn named_loop(engine: &dyn Engine, backup: &Backup, warnings: &mut Vec<Hint>) -> Result<Option<Value>> {
    let state = backup.value.at(BackupDoc::preserved).at(LOOP_STATE);
    let Some(revision) = state.read(REVISION) else { return Ok(None) };
    let mut content = None;
    engine.replay(&document("work_queue"), &mut |known, value| {
        if known.revision == revision {
            content = value.cloned();
        }
    })?;
    if content.is_none() {
        warnings
            .push(format!("work_queue stays as it is: its revision {revision} is not kept any more").into());
    }
    Ok(content)
}

/// Returns the first name that a backup of a session can have, by when the session came.
fn since(current: Option<&Value>, session: Option<&str>) -> String {
    let mut present = CurrentSessions::of(current.cloned());
    let record = session.and_then(|session| present.record(session));
    let started = record.and_then(|record| time::read(record.text(CurrentSession::started)?));
    started.map(time::compact).unwrap_or_default()
}

/// Returns the backups that make room for a new one of a session: its own before the last few, and the oldest of all.
fn outdated(engine: &dyn Engine, known: &[Doc], session: Option<&str>, since: &str) -> Result<Vec<Doc>> {
    let mut outdated = known[..(known.len() + 1).saturating_sub(KEPT_IN_ALL)].to_vec();
    let mut own = 1;
    for doc in known.iter().rev().take_while(|doc| key_of(doc) >= since) {
        let is_own = match read(engine, doc) {
            // One that cannot be read is nobody's, and stays for `doctor`.
            Err(error) if error.code() == Code::Damaged => false,
            found => found?.is_some_and(|backup| backup.value.text(BackupDoc::session_id) == session),
        };
        own += usize::from(is_own);
        if is_own && own > KEPT && !outdated.contains(doc) {
            outdated.push(doc.clone());
        }
    }
    Ok(outdated)
}

/// Returns the backups that are too many: of each session those before the last few, and the oldest of all.
pub(super) fn surplus(engine: &dyn Engine, known: &[Doc]) -> Result<Vec<Doc>> {
    let mut counts: HashMap<Option<String>, usize> = HashMap::new();
    let (mut total, mut surplus) = (0, Vec::new());
    for doc in known.iter().rev() {
        let session = match read(engine, doc) {
            // One that cannot be read is nobody's, and stays for `doctor`.
            Err(error) if error.code() == Code::Damaged => continue,
            found => found?.and_then(|backup| backup.value.text(BackupDoc::session_id).map(str::to_owned)),
        };
        let count = counts.entry(session).or_default();
        if *count >= KEPT || total >= KEPT_IN_ALL {
            surplus.push(doc.clone());
        } else {
            *count += 1;
            total += 1;
        }
    }
    surplus.reverse();
    Ok(surplus)
}

/// Deletes backups; returns their files.
fn forget(
    engine: &dyn Engine,
    transaction: &mut dyn Transaction,
    surplus: &[Doc],
    warnings: &mut Vec<Hint>,
) -> Result<Vec<String>> {
    let mut removed = Vec::new();
    for doc in surplus {
        match transaction.delete(doc) {
            Ok(()) => removed.push(engine.called(Kept::Document(doc)).path),
            Err(error) if error.code() == Code::Damaged => {
                warnings.push(format!("an old backup stays: {error}").into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(removed)
}

/// Returns the backups that there are, the oldest first.
fn documents(engine: &dyn Engine) -> Result<Vec<Doc>> {
    Ok(backups(engine.documents(&Room::State)?))
}

/// Returns those of a room's documents that are backups, the oldest first.
pub(super) fn backups(mut known: Vec<Doc>) -> Vec<Doc> {
    known.retain(|doc| doc.kind == kind("backup"));
    known.sort_by(|one, other| key_of(one).cmp(key_of(other)));
    known
}

/// Finds the backup of a moment: as it stands in the file's name, or in the backup itself. Without one, the session's
/// newest; the newest of all if it has none.
fn find(engine: &dyn Engine, moment: Option<&str>, session: Option<&str>) -> Result<Backup> {
    let mut known = documents(engine)?;
    let hint = match known.is_empty() {
        true => hint!["make one: ", Next::BackUp],
        false => hint!["see them: ", See::Backups],
    };
    let Some(moment) = moment else {
        for doc in known.iter().rev().filter(|_| session.is_some()) {
            match read(engine, doc) {
                Err(error) if error.code() == Code::Damaged => {}
                found => match found? {
                    Some(backup) if backup.value.text(BackupDoc::session_id) == session => return Ok(backup),
                    _ => {}
                },
            }
        }
        let Some(newest) = known.pop() else { return Err(Error::missing("there is no backup yet", hint)) };
        return read(engine, &newest)?.ok_or_else(|| Error::missing("the backup has just gone", hint));
    };
    let at = time::read(moment);
    for doc in known.iter().rev() {
        if key_of(doc) == moment {
            return read(engine, doc)?.ok_or_else(|| Error::missing("the backup has just gone", hint));
        }
        let Some(backup) = at.and_then(|_| read(engine, doc).ok().flatten()) else { continue };
        if backup.value.text(BackupDoc::timestamp).and_then(time::read) == at {
            return Ok(backup);
        }
    }
    Err(Error::missing(format!("there is no backup of `{moment}`"), hint))
}

fn read(engine: &dyn Engine, doc: &Doc) -> Result<Option<Backup>> {
    let found = engine.read(doc)?;
    Ok(found.map(|found| Backup { key: key_of(doc).to_owned(), value: found.value }))
}

/// Returns what the acting session has in the queue.
fn claims(engine: &dyn Engine, actor: &Actor, warnings: &mut Vec<Hint>) -> Result<Vec<Value>> {
    let session = actor.session.as_deref().and_then(|session| session.parse::<SessionId>().ok());
    let Some(session) = session else { return Ok(Vec::new()) };
    match look::claims(engine, &session) {
        Ok(tasks) => Ok(tasks.iter().map(|task| task.value().clone()).collect()),
        Err(error) if error.code() == Code::Damaged => {
            warnings.push(format!("claims are left out: {error}").into());
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Returns a document without the number that every write changes.
fn plain(mut value: Value) -> Value {
    value.as_object_mut().map(|map| map.unset(BackupDoc::revision));
    value
}

/// Returns a name after all of this second, also after those that had to go: the order of names is that of time.
fn free_key(second: &str, known: &[Doc]) -> Key {
    let number = |doc: &Doc| match key_of(doc).strip_prefix(second)? {
        "" => Some(1),
        rest => rest.strip_prefix('_')?.parse::<u32>().ok(),
    };
    let key = match known.iter().filter_map(number).max() {
        None => second.to_owned(),
        Some(last) => format!("{second}_{:03}", last.saturating_add(1)),
    };
    key.parse().expect("digits make an id")
}

fn key_of(doc: &Doc) -> &str {
    doc.key.as_ref().map_or("", Key::as_str)
}

fn document(name: &str) -> Doc {
    Doc::shared(kind(name), Room::State)
}

fn kind(name: &str) -> &'static Kind {
    Kind::find(name).expect("a kind of the registry")
}
