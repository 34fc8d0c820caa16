//! Errors that agents meet: recorded with their class, tried again when it is time, resolved or handed on.
//!
//! An error that is recorded again is the same one with a retry less. When none is left it is escalated; if that
//! makes it work for the loop and there is a loop, its queue gets an item in the same commit.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::edit::Target;
use super::surplus::What;
use super::{Actor, Error, Result, document_of_state, readable, views};
use crate::hint;
use crate::model::agent_loop::{NewItem, WorkLoop};
use crate::model::current_session::{self, CurrentSessions};
use crate::model::documents::agent_loop::{ClassifiedError, CurrentSession, ErrorSummary, Errors};
use crate::model::documents::answers::ErrorStanding;
use crate::model::error_class::{self, ErrorClass, Escalation, Severity};
use crate::model::hint::Hint;
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::kind::{Doc, Kind};
use crate::model::next::See;
use crate::model::plan::word;
use crate::model::room::Room;
use crate::model::service::{self, Ailment};
use crate::model::shape::Integer;
use crate::model::{ids, json, redact, time};
use crate::store::engine::items;
use crate::store::{Engine, Transaction};

/// How many bytes of a message, and of its context, are kept.
pub const TEXT: usize = 4096;

const PENDING: &str = "pending_retry";
const RECOVERED: &str = "recovered";
const ESCALATED: &str = "escalated";

/// An error as somebody meets it.
#[derive(Debug, Default)]
pub struct NewError {
    /// Told by the message unless known.
    pub class: Option<ErrorClass>,
    pub message: String,
    pub tool: Option<String>,
    pub context: Map<String, Value>,
    /// How long the other side says to wait, if that is known beside the message.
    pub retry_after: Option<Duration>,
}

/// What a change did.
#[derive(Debug)]
pub struct ErrorChanged {
    /// The error, as it is stored now.
    pub error: Value,
    pub changed: bool,
    /// Whether it was known already.
    pub known: bool,
    pub warnings: Vec<Hint>,
}

/// Where an error stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorState {
    /// Also what has a status that is none of ours.
    Pending,
    Recovered,
    Escalated,
}

pub fn state_of(error: &Value) -> ErrorState {
    match error.text(ClassifiedError::status) {
        Some(RECOVERED) => ErrorState::Recovered,
        Some(ESCALATED) => ErrorState::Escalated,
        _ => ErrorState::Pending,
    }
}

/// Records an error, or one retry more of an error that is known and not resolved.
pub fn record(
    engine: &dyn Engine,
    new: &NewError,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<ErrorChanged> {
    let fields = checked(new)?;
    let mut transaction = engine.begin(&[&Room::State])?;
    Target::whole(&errors(), expect).expect_revision(&mut *transaction)?;
    let mut done = record_in(engine, &mut *transaction, new, &fields, actor.now())?;
    done.warnings = transaction.commit(&actor.entry("error record"))?.warnings;
    Ok(done)
}

/// Records an error that the acting session has met, and counts it among those of the session: one commit.
pub fn record_of_session(engine: &dyn Engine, new: &NewError, actor: &Actor) -> Result<ErrorChanged> {
    let fields = checked(new)?;
    let mut transaction = engine.begin(&[&Room::State])?;
    let mut done = record_in(engine, &mut *transaction, new, &fields, actor.now())?;
    count(&mut *transaction, actor, CurrentSession::errors_encountered, 1)?;
    done.warnings = transaction.commit(&actor.entry("error record"))?.warnings;
    Ok(done)
}

/// Counts something in the record of the acting session, if it is known in this project.
/// A record that cannot be read keeps nothing else from being written.
pub(super) fn count(
    transaction: &mut dyn Transaction,
    actor: &Actor,
    key: Key<Option<Integer>>,
    more: u64,
) -> Result<()> {
    let doc = document_of_state("current_session");
    let (Some(document), Some(session)) = (readable(transaction, &doc)?, &actor.session) else {
        return Ok(());
    };
    let mut present = CurrentSessions::of(Some(document));
    if let Some(record) = present.record(session) {
        current_session::count(record, key, more);
        if let Some(document) = present.into_document() {
            transaction.put(&doc, document)?;
        }
    }
    Ok(())
}

fn record_in(
    engine: &dyn Engine,
    transaction: &mut dyn Transaction,
    new: &NewError,
    fields: &Map<String, Value>,
    now: Timestamp,
) -> Result<ErrorChanged> {
    let doc = errors();
    let mut document = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let list = list_of(&mut document);
    let same = |error: &Value| {
        let alike = |(name, value): (&String, &Value)| error.get(name).unwrap_or(&Value::Null) == value;
        state_of(error) != ErrorState::Recovered && fields.iter().all(alike)
    };
    let known = list.iter().rposition(same);
    let place = known.unwrap_or_else(|| {
        list.push(first(list, fields, now));
        list.len() - 1
    });
    let error = &mut list[place];
    if known.is_some() {
        let retries = error.read(ClassifiedError::retry_count).unwrap_or(0);
        let most = max_retries(error);
        error.set(ClassifiedError::retry_count, retries.saturating_add(1).min(most.max(retries)));
        error.set(ClassifiedError::last_seen, time::stamp(now));
    }
    plan_retry(transaction, error, new.retry_after, now)?;
    let error = error.clone();
    let left = surplus(engine, list)?;
    What::Errors.put(transaction, &left, now)?;
    add_up(&mut document, left.len());
    transaction.put(&doc, document)?;
    Ok(ErrorChanged { error, changed: true, known: known.is_some(), warnings: Vec::new() })
}

/// Marks an error as recovered; one that is stays as it is.
pub fn resolve(engine: &dyn Engine, id: &str, expect: Option<u64>, actor: &Actor) -> Result<ErrorChanged> {
    let mut transaction = engine.begin(&[&Room::State])?;
    Target::whole(&errors(), expect).expect_revision(&mut *transaction)?;
    let mut done = resolve_in(&mut *transaction, id, actor.now())?;
    if done.changed {
        done.warnings = transaction.commit(&actor.entry("error resolve"))?.warnings;
    }
    Ok(done)
}

fn resolve_in(transaction: &mut dyn Transaction, id: &str, now: Timestamp) -> Result<ErrorChanged> {
    let doc = errors();
    let mut document = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let known = list_of(&mut document).iter_mut().rfind(|error| error[ClassifiedError::id] == id);
    let error = known.ok_or_else(|| {
        Error::missing(format!("there is no error `{id}`"), hint!["see them: ", See::Errors])
    })?;
    if state_of(error) == ErrorState::Recovered {
        return Ok(ErrorChanged { error: error.clone(), changed: false, known: true, warnings: Vec::new() });
    }
    mark_recovered(error, now);
    let error = error.clone();
    add_up(&mut document, 0);
    transaction.put(&doc, document)?;
    Ok(ErrorChanged { error, changed: true, known: true, warnings: Vec::new() })
}

fn mark_recovered(error: &mut Value, now: Timestamp) {
    error.set(ClassifiedError::status, RECOVERED);
    error[ClassifiedError::next_retry] = Value::Null;
    error.set(ClassifiedError::resolved_at, time::stamp(now));
}

/// Marks all of these errors as recovered, and counts them among those of the acting session: one commit. Nothing is opened if
/// there are none.
pub fn recovered(engine: &dyn Engine, wanted: impl Fn(&Value) -> bool, actor: &Actor) -> Result<()> {
    let is_open = |error: &Value| state_of(error) != ErrorState::Recovered && wanted(error);
    let any = |document: &Value| items(errors().kind, document).into_iter().any(&is_open);
    if !engine.read(&errors())?.is_some_and(|document| any(&document.value)) {
        return Ok(());
    }
    let mut transaction = engine.begin(&[&Room::State])?;
    let Some(mut document) = transaction.get(&errors())?.cloned() else { return Ok(()) };
    let mut number = 0;
    for error in list_of(&mut document).iter_mut().filter(|error| is_open(error)) {
        mark_recovered(error, actor.now());
        number += 1;
    }
    // Somebody else may have been faster.
    if number > 0 {
        add_up(&mut document, 0);
        transaction.put(&errors(), document)?;
        count(&mut *transaction, actor, CurrentSession::errors_recovered, number)?;
        transaction.commit(&actor.entry("error resolve"))?;
    }
    Ok(())
}

/// Returns the errors that stand so, or all, in the order in which they came up.
pub fn list(engine: &dyn Engine, wanted: Option<ErrorState>) -> Result<Vec<Value>> {
    let Some(document) = engine.read(&errors())? else { return Ok(Vec::new()) };
    let errors = items(errors().kind, &document.value).into_iter();
    Ok(errors.filter(|error| wanted.is_none_or(|wanted| state_of(error) == wanted)).cloned().collect())
}

/// The same, with those that were archived before them.
pub fn list_all(engine: &dyn Engine, wanted: Option<ErrorState>) -> Result<Vec<Value>> {
    let mut all = What::Errors.read(engine)?;
    all.retain(|error| wanted.is_none_or(|wanted| state_of(error) == wanted));
    all.extend(list(engine, wanted)?);
    Ok(all)
}

/// Returns the errors that can be tried again now, the longest due first.
pub fn due(engine: &dyn Engine, actor: &Actor) -> Result<Vec<Value>> {
    let now = actor.now();
    let mut due = list(engine, Some(ErrorState::Pending))?;
    due.retain(|error| is_due(error, now));
    due.sort_by_key(next_retry);
    Ok(due)
}

/// One that does not say when has nothing to wait for.
fn is_due(error: &Value, now: Timestamp) -> bool {
    next_retry(error).is_none_or(|next| next <= now)
}

/// Returns how many errors stand how, and how many of them are due; `None` if nobody has recorded any.
pub fn summary(engine: &dyn Engine, actor: &Actor) -> Result<Option<Value>> {
    let Some(mut document) = engine.read(&errors())? else { return Ok(None) };
    let now = actor.now();
    let due = |error: &&Value| state_of(error) == ErrorState::Pending && is_due(error, now);
    let due = items(errors().kind, &document.value).into_iter().filter(due).count();
    add_up(&mut document.value, 0);
    let mut summary = document.value[Errors::summary].take();
    summary.set(ErrorStanding::due, due);
    Ok(Some(summary))
}

pub fn next_retry(error: &Value) -> Option<Timestamp> {
    time::read(error.text(ClassifiedError::next_retry)?)
}

fn errors() -> Doc {
    Doc::shared(Kind::find("errors").expect("errors is a kind"), Room::State)
}

/// Returns what makes an error this one and no other, after a look at its size.
fn checked(new: &NewError) -> Result<Map<String, Value>> {
    let message = new.message.trim();
    if message.is_empty() {
        return Err(Error::Input("the message is blank".into()));
    }
    let mut context = Value::Object(new.context.clone());
    json::check_input(&json!([message, new.tool])).map_err(Error::Input)?;
    json::check_input(&context).map_err(Error::Input)?;
    let size = context.to_string().len();
    if size > TEXT {
        return Err(Error::Input(format!("the context is {size} bytes long; at most {TEXT} are allowed")));
    }
    let class = new.class.unwrap_or_else(|| class_of(message));
    // What failed may have been called with a secret. It is replaced before the text is cut, which could hide it.
    let message = redact::redact(message);
    redact::redact_value(&mut context);
    let tool = new.tool.as_deref().map(str::trim).filter(|tool| !tool.is_empty());
    let fields = [
        ("classification", word(class).into()),
        ("tool", tool.map_or(Value::Null, Value::from)),
        ("message", shortened(&message).into()),
        ("context", context),
    ];
    Ok(Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value))))
}

/// Returns what a message tells about its class, also by what clients say of their service.
fn class_of(message: &str) -> ErrorClass {
    let class = error_class::classify(message);
    let ailment = || service::diagnose(message, &Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC));
    match (class, ailment().map(|diagnosis| diagnosis.ailment)) {
        (ErrorClass::Unknown, Some(Ailment::Login | Ailment::Credit | Ailment::Place)) => {
            ErrorClass::Permission
        }
        (ErrorClass::Unknown, Some(Ailment::Limit)) => ErrorClass::RateLimit,
        (ErrorClass::Unknown, Some(Ailment::Overload)) => ErrorClass::External,
        (ErrorClass::Unknown, Some(Ailment::Network)) => ErrorClass::Network,
        (class, _) => class,
    }
}

fn shortened(message: &str) -> String {
    if message.len() <= TEXT {
        return message.to_owned();
    }
    let end = (0..=TEXT).rfind(|end| message.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &message[..end])
}

/// Returns an error that comes up for the first time, with the fields in the source's order.
fn first(list: &[Value], fields: &Map<String, Value>, now: Timestamp) -> Value {
    let free = &mut |id: &str| {
        Ok::<_, std::convert::Infallible>(list.iter().all(|error| error[ClassifiedError::id] != id))
    };
    let seed = Value::Object(fields.clone()).to_string();
    let Ok(id) = ids::new("error", now, &seed, free);
    let mut error = json!({ ClassifiedError::id: id, ClassifiedError::timestamp: time::stamp(now) });
    let told =
        [ClassifiedError::classification.any(), ClassifiedError::tool.any(), ClassifiedError::message.any()];
    for field in told {
        error[field] = fields.at(field).cloned().unwrap_or_default();
    }
    error.set(ClassifiedError::retry_count, 0);
    error.set(ClassifiedError::max_retries, error_class::max_retries(class(&error)));
    error.set(ClassifiedError::status, PENDING);
    error[ClassifiedError::next_retry] = Value::Null;
    error[ClassifiedError::context] = fields.at(ClassifiedError::context).cloned().unwrap_or_default();
    error
}

fn class(error: &Value) -> ErrorClass {
    serde_json::from_value(error[ClassifiedError::classification].clone()).unwrap_or_default()
}

/// Returns how often an error may be tried again; what it says itself counts.
fn max_retries(error: &Value) -> u64 {
    error.read(ClassifiedError::max_retries).unwrap_or_else(|| error_class::max_retries(class(error)))
}

/// Says when to try again, or hands an error on whose retries are used up.
fn plan_retry(
    transaction: &mut dyn Transaction,
    error: &mut Value,
    told: Option<Duration>,
    now: Timestamp,
) -> Result<()> {
    let (class, retries) = (class(error), error.read(ClassifiedError::retry_count).unwrap_or(0));
    if retries < max_retries(error) {
        let delay = error_class::delay(class, retries, told);
        let next = SignedDuration::try_from(delay).ok().and_then(|delay| now.checked_add(delay).ok());
        error.set(ClassifiedError::status, PENDING);
        error.set(ClassifiedError::next_retry, time::stamp(next.unwrap_or(Timestamp::MAX)));
        return Ok(());
    }
    if state_of(error) == ErrorState::Escalated {
        return Ok(());
    }
    let mut escalation = error_class::escalation(class);
    error.set(ClassifiedError::status, ESCALATED);
    error[ClassifiedError::next_retry] = Value::Null;
    if let Escalation::WorkQueue(severity) = escalation {
        match hand_on(transaction, error, severity)? {
            Some(item) => error[ClassifiedError::work_item] = item.into(),
            // Without a loop there is no queue that it could be in.
            None => escalation = Escalation::User,
        }
    }
    error.set(ClassifiedError::escalated_to, escalation.word());
    Ok(())
}

/// Makes an error an item of the loop's queue, if there is a loop.
fn hand_on(transaction: &mut dyn Transaction, error: &Value, priority: Severity) -> Result<Option<String>> {
    let doc = document_of_state("work_queue");
    let Some(queue) = readable(transaction, &doc)? else { return Ok(None) };
    let line: String = error
        .text(ClassifiedError::message)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(80)
        .collect();
    let mut work = WorkLoop { queue };
    let id = work.add(&NewItem {
        priority,
        title: format!(
            "Fix {} error: {line}",
            error.text(ClassifiedError::classification).unwrap_or_default()
        ),
        description: error.text(ClassifiedError::message).unwrap_or_default().to_owned(),
        gate: None,
        error_id: Some(error.text(ClassifiedError::id).unwrap_or_default().to_owned()),
    });
    views::put(transaction, &doc, work.queue)?;
    Ok(Some(id))
}

fn list_of(document: &mut Value) -> &mut Vec<Value> {
    document[Errors::errors].as_array_mut().expect("errors are a list in every valid document")
}

/// Takes out the errors that are too many: those that are over first, then those that were seen longest ago.
fn surplus(engine: &dyn Engine, list: &mut Vec<Value>) -> Result<Vec<Value>> {
    let number = What::Errors.surplus(engine, list.len())?;
    if number == 0 {
        return Ok(Vec::new());
    }
    let age = |place: &usize| {
        let error = &list[*place];
        let fields = [ClassifiedError::last_seen, ClassifiedError::timestamp];
        let seen = fields.into_iter().find_map(|field| time::read(error.text(field)?));
        (state_of(error) == ErrorState::Pending, seen)
    };
    let mut places: Vec<usize> = (0..list.len()).collect();
    places.sort_by_cached_key(age);
    let leaving: BTreeSet<usize> = places.into_iter().take(number).collect();
    let mut place = 0..;
    let leaves = |_: &mut Value| place.next().is_some_and(|place| leaving.contains(&place));
    Ok(list.extract_if(.., leaves).collect())
}

/// Counts how the errors of the list stand, and how many have left it for the archive.
pub(super) fn add_up(document: &mut Value, left: usize) {
    let list = list_of(document);
    let count = |wanted| list.iter().filter(|error| state_of(error) == wanted).count();
    let total = list.len();
    let (recovered, pending, escalated) =
        (count(ErrorState::Recovered), count(ErrorState::Pending), count(ErrorState::Escalated));
    if !document[Errors::summary].is_object() {
        document[Errors::summary] = json!({});
    }
    // One by one: what others keep there stays.
    for (name, number) in
        [("total", total), ("recovered", recovered), ("pending", pending), ("escalated", escalated)]
    {
        document[Errors::summary][name] = number.into();
    }
    if left > 0 {
        current_session::count(&mut document[Errors::summary], ErrorSummary::archived, left as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::hint::Plain;
    use crate::store::memory::MemoryEngine;

    const USUAL: usize = What::Errors.usual();

    fn at(seconds: i64) -> Actor {
        let now = Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        Actor { clock: Arc::new(now), session: None, acting: None, user: "ann".into(), door: &Plain }
    }

    fn new(message: impl Into<String>) -> NewError {
        NewError { message: message.into(), ..NewError::default() }
    }

    #[test]
    fn the_newest_are_kept_and_the_others_archived() {
        let engine = MemoryEngine::default();
        for number in 0..USUAL {
            record(&engine, &new(format!("m{number}")), None, &at(number as i64)).unwrap();
        }
        let all = list(&engine, None).unwrap();
        resolve(&engine, all[20]["id"].as_str().unwrap(), None, &at(100)).unwrap();
        assert!(record(&engine, &new("m0"), None, &at(5000)).unwrap().known);
        assert!(!record(&engine, &new("other"), None, &at(5001)).unwrap().known);

        let messages = |errors: &[Value]| -> Vec<String> {
            errors.iter().map(|error| error["message"].as_str().unwrap().to_owned()).collect()
        };
        let kept = messages(&list(&engine, None).unwrap());
        // The one that is over leaves first, whose retries are used up second; then those that were seen longest ago.
        let left = ["m20", "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"];
        let mut archived = messages(&What::Errors.read(&engine).unwrap());
        assert_eq!(archived.len() + kept.len(), USUAL + 1, "nothing is lost or doubled");
        archived.sort();
        let mut expected = left.map(str::to_owned);
        expected.sort();
        assert_eq!(archived, expected);
        assert!(kept.iter().all(|message| !left.contains(&message.as_str())));
        let summary = engine.read(&errors()).unwrap().unwrap().value["summary"].take();
        let expected = json!({"total": 22, "recovered": 0, "pending": 22, "escalated": 0, "archived": 9});
        assert_eq!(summary, expected, "of the list");
        assert_eq!(list_all(&engine, Some(ErrorState::Recovered)).unwrap().len(), 1);
        assert!(!record(&engine, &new("m3"), None, &at(6000)).unwrap().known, "what has left comes up anew");
    }

    #[test]
    fn the_configuration_says_how_many_stay() {
        let engine = MemoryEngine::default();
        let mut transaction = engine.begin(&[&Room::Shared]).unwrap();
        transaction.put(&Doc::config(), json!({"version": "2.0.0", "retention": {"errors": 3}})).unwrap();
        transaction.commit(&at(0).entry("test")).unwrap();
        for number in 0..40 {
            record(&engine, &new(format!("m{number}")), None, &at(number)).unwrap();
        }
        assert!(list(&engine, None).unwrap().len() < 8);
        assert_eq!(list_all(&engine, None).unwrap().len(), 40);
    }

    #[test]
    fn all_that_a_success_mends_recovers_at_once() {
        let engine = MemoryEngine::default();
        for number in 0..5 {
            record(&engine, &new(format!("m{number}")), None, &at(number)).unwrap();
        }
        let revision = || engine.read(&errors()).unwrap().unwrap().revision;
        let before = revision();
        recovered(&engine, |error| error["message"] != "m0", &at(10)).unwrap();
        assert_eq!((list(&engine, Some(ErrorState::Recovered)).unwrap().len(), revision()), (4, before + 1));
        recovered(&engine, |error| error["message"] != "m0", &at(11)).unwrap();
        assert_eq!(revision(), before + 1, "nothing was left to do");
    }

    #[test]
    fn secrets_are_not_stored() {
        let engine = MemoryEngine::default();
        let mut new = new("POST failed\nAuthorization: Bearer s3cr3t-canary");
        new.context =
            json!({"url": "https://ann:s3cr3t-canary@host/x", "password": "s3cr3t-canary", "try": 2})
                .as_object()
                .cloned()
                .unwrap();
        let error = record(&engine, &new, None, &at(0)).unwrap().error;
        assert_eq!(error["message"], "POST failed\nAuthorization: Bearer [redacted]");
        let context = json!({"url": "https://ann:[redacted]@host/x", "password": "[redacted]", "try": 2});
        assert_eq!(error["context"], context);
        assert!(!engine.read(&errors()).unwrap().unwrap().value.to_string().contains("canary"));
        assert!(record(&engine, &new, None, &at(1)).unwrap().known, "it is the same one");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let engine = MemoryEngine::default();
        let long = "ü".repeat(5000);
        let error = record(&engine, &new(long.clone()), None, &at(0)).unwrap().error;
        assert_eq!(error["message"].as_str().unwrap().chars().count(), TEXT / 2 + 1);
        assert!(record(&engine, &new(long), None, &at(1)).unwrap().known, "it is the same one");
    }
}
