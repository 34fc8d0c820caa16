//! Errors that agents meet: recorded with their class, tried again when it is time, resolved or handed on.
//!
//! An error that is recorded again is the same one with a retry less. When none is left it is escalated; if that
//! makes it work for the loop and there is a loop, its queue gets an item in the same commit.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::agent_loop::work_queue;
use super::edit::Target;
use super::{Actor, Error, Result, document_of_state, readable, views};
use crate::model::agent_loop::{NewItem, WorkLoop};
use crate::model::error_class::{self, ErrorClass, Escalation, Severity};
use crate::model::kind::{Doc, Kind};
use crate::model::plan::word;
use crate::model::present::{self, Present};
use crate::model::room::Room;
use crate::model::service::{self, Ailment};
use crate::model::{ids, json, redact, time};
use crate::store::engine::items;
use crate::store::{Engine, Transaction};

/// The newest errors that are kept.
pub const KEPT: usize = 1000;

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
pub struct Done {
    /// The error, as it is stored now.
    pub error: Value,
    pub changed: bool,
    /// Whether it was known already.
    pub known: bool,
    pub warnings: Vec<String>,
}

/// Where an error stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Also what has a status that is none of ours.
    Pending,
    Recovered,
    Escalated,
}

pub fn standing(error: &Value) -> Standing {
    match error.get("status").and_then(Value::as_str) {
        Some(RECOVERED) => Standing::Recovered,
        Some(ESCALATED) => Standing::Escalated,
        _ => Standing::Pending,
    }
}

/// Records an error, or one retry more of an error that is known and not resolved.
pub fn record(engine: &dyn Engine, new: &NewError, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    let fields = checked(new)?;
    let mut transaction = engine.begin(&[&Room::State])?;
    Target::whole(&errors(), expect).expect_revision(&mut *transaction)?;
    let mut done = record_in(&mut *transaction, new, &fields, actor.now())?;
    done.warnings = transaction.commit(&actor.entry("error record"))?.warnings;
    Ok(done)
}

/// Records an error that the acting session has met, and counts it among those of the session: one commit.
pub fn record_of_session(engine: &dyn Engine, new: &NewError, actor: &Actor) -> Result<Done> {
    let fields = checked(new)?;
    let mut transaction = engine.begin(&[&Room::State])?;
    let mut done = record_in(&mut *transaction, new, &fields, actor.now())?;
    count(&mut *transaction, actor, "errors_encountered")?;
    done.warnings = transaction.commit(&actor.entry("error record"))?.warnings;
    Ok(done)
}

/// Counts something in the record of the acting session, if it is known in this project.
/// A record that cannot be read keeps nothing else from being written.
pub(super) fn count(transaction: &mut dyn Transaction, actor: &Actor, field: &str) -> Result<()> {
    let doc = document_of_state("current_session");
    let (Some(document), Some(session)) = (readable(transaction, &doc)?, &actor.session) else {
        return Ok(());
    };
    let mut present = Present::of(Some(document));
    if let Some(record) = present.record(session) {
        present::count(record, field);
        if let Some(document) = present.into_document() {
            transaction.put(&doc, document)?;
        }
    }
    Ok(())
}

fn record_in(
    transaction: &mut dyn Transaction,
    new: &NewError,
    fields: &Map<String, Value>,
    now: Timestamp,
) -> Result<Done> {
    let doc = errors();
    let mut document = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let list = list_of(&mut document);
    let same = |error: &Value| {
        let alike = |(name, value): (&String, &Value)| error.get(name).unwrap_or(&Value::Null) == value;
        standing(error) != Standing::Recovered && fields.iter().all(alike)
    };
    let known = list.iter().rposition(same);
    let place = known.unwrap_or_else(|| {
        list.push(first(list, fields, now));
        list.len() - 1
    });
    let error = &mut list[place];
    if known.is_some() {
        let retries = error["retry_count"].as_u64().unwrap_or(0);
        let most = max_retries(error);
        error["retry_count"] = retries.saturating_add(1).min(most.max(retries)).into();
        error["last_seen"] = time::stamp(now).into();
    }
    plan_retry(transaction, error, new.retry_after, now)?;
    let error = error.clone();
    forget_oldest(list);
    add_up(&mut document);
    transaction.put(&doc, document)?;
    Ok(Done { error, changed: true, known: known.is_some(), warnings: Vec::new() })
}

/// Marks an error as recovered; one that is stays as it is.
pub fn resolve(engine: &dyn Engine, id: &str, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    let mut transaction = engine.begin(&[&Room::State])?;
    Target::whole(&errors(), expect).expect_revision(&mut *transaction)?;
    let mut done = resolve_in(&mut *transaction, id, actor.now())?;
    if done.changed {
        done.warnings = transaction.commit(&actor.entry("error resolve"))?.warnings;
    }
    Ok(done)
}

/// Marks an error of the acting session as recovered, and counts it among those of the session: one commit.
pub fn recovered(engine: &dyn Engine, id: &str, actor: &Actor) -> Result<Done> {
    let mut transaction = engine.begin(&[&Room::State])?;
    let mut done = resolve_in(&mut *transaction, id, actor.now())?;
    if done.changed {
        count(&mut *transaction, actor, "errors_recovered")?;
        done.warnings = transaction.commit(&actor.entry("error resolve"))?.warnings;
    }
    Ok(done)
}

fn resolve_in(transaction: &mut dyn Transaction, id: &str, now: Timestamp) -> Result<Done> {
    let doc = errors();
    let mut document = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let known = list_of(&mut document).iter_mut().rfind(|error| error["id"] == id);
    let error = known
        .ok_or_else(|| Error::missing(format!("there is no error `{id}`"), "see them: anthill error list"))?;
    if standing(error) == Standing::Recovered {
        return Ok(Done { error: error.clone(), changed: false, known: true, warnings: Vec::new() });
    }
    error["status"] = RECOVERED.into();
    error["next_retry"] = Value::Null;
    error["resolved_at"] = time::stamp(now).into();
    let error = error.clone();
    add_up(&mut document);
    transaction.put(&doc, document)?;
    Ok(Done { error, changed: true, known: true, warnings: Vec::new() })
}

/// Returns the errors that stand so, or all, in the order in which they came up.
pub fn list(engine: &dyn Engine, wanted: Option<Standing>) -> Result<Vec<Value>> {
    let Some(document) = engine.read(&errors())? else { return Ok(Vec::new()) };
    let errors = items(errors().kind, &document.value).into_iter();
    Ok(errors.filter(|error| wanted.is_none_or(|wanted| standing(error) == wanted)).cloned().collect())
}

/// Returns the ids of the errors that are wanted and have not recovered.
pub fn open(engine: &dyn Engine, wanted: impl Fn(&Value) -> bool) -> Result<Vec<String>> {
    let Some(document) = engine.read(&errors())? else { return Ok(Vec::new()) };
    let open = |error: &&Value| standing(error) != Standing::Recovered && wanted(error);
    let errors = items(errors().kind, &document.value).into_iter().filter(open);
    Ok(errors.filter_map(|error| error["id"].as_str().map(str::to_owned)).collect())
}

/// Returns the errors that can be tried again now, the longest due first.
pub fn due(engine: &dyn Engine, actor: &Actor) -> Result<Vec<Value>> {
    let now = actor.now();
    let mut due = list(engine, Some(Standing::Pending))?;
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
    let due = |error: &&Value| standing(error) == Standing::Pending && is_due(error, now);
    let due = items(errors().kind, &document.value).into_iter().filter(due).count();
    add_up(&mut document.value);
    let mut summary = document.value["summary"].take();
    summary["due"] = due.into();
    Ok(Some(summary))
}

pub fn next_retry(error: &Value) -> Option<Timestamp> {
    time::read(error.get("next_retry")?.as_str()?)
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
    let free = &mut |id: &str| Ok::<_, std::convert::Infallible>(list.iter().all(|error| error["id"] != id));
    let seed = Value::Object(fields.clone()).to_string();
    let Ok(id) = ids::new("error", now, &seed, free);
    let mut error = json!({ "id": id, "timestamp": time::stamp(now) });
    for name in ["classification", "tool", "message"] {
        error[name] = fields[name].clone();
    }
    error["retry_count"] = 0.into();
    error["max_retries"] = error_class::max_retries(class(&error)).into();
    error["status"] = PENDING.into();
    error["next_retry"] = Value::Null;
    error["context"] = fields["context"].clone();
    error
}

fn class(error: &Value) -> ErrorClass {
    serde_json::from_value(error["classification"].clone()).unwrap_or_default()
}

/// Returns how often an error may be tried again; what it says itself counts.
fn max_retries(error: &Value) -> u64 {
    error["max_retries"].as_u64().unwrap_or_else(|| error_class::max_retries(class(error)))
}

/// Says when to try again, or hands an error on whose retries are used up.
fn plan_retry(
    transaction: &mut dyn Transaction,
    error: &mut Value,
    told: Option<Duration>,
    now: Timestamp,
) -> Result<()> {
    let (class, retries) = (class(error), error["retry_count"].as_u64().unwrap_or(0));
    if retries < max_retries(error) {
        let delay = error_class::delay(class, retries, told);
        let next = SignedDuration::try_from(delay).ok().and_then(|delay| now.checked_add(delay).ok());
        error["status"] = PENDING.into();
        error["next_retry"] = time::stamp(next.unwrap_or(Timestamp::MAX)).into();
        return Ok(());
    }
    if standing(error) == Standing::Escalated {
        return Ok(());
    }
    let mut escalation = error_class::escalation(class);
    error["status"] = ESCALATED.into();
    error["next_retry"] = Value::Null;
    if let Escalation::WorkQueue(severity) = escalation {
        match hand_on(transaction, error, severity)? {
            Some(item) => error["work_item"] = item.into(),
            // Without a loop there is no queue that it could be in.
            None => escalation = Escalation::User,
        }
    }
    error["escalated_to"] = escalation.word().into();
    Ok(())
}

/// Makes an error an item of the loop's queue, if there is a loop.
fn hand_on(transaction: &mut dyn Transaction, error: &Value, priority: Severity) -> Result<Option<String>> {
    let doc = work_queue();
    let Some(queue) = readable(transaction, &doc)? else { return Ok(None) };
    let text = |field: &str| error[field].as_str().unwrap_or_default();
    let line: String = text("message").lines().next().unwrap_or_default().chars().take(80).collect();
    let mut work = WorkLoop { queue };
    let id = work.add(&NewItem {
        priority,
        title: format!("Fix {} error: {line}", text("classification")),
        description: text("message").to_owned(),
        gate: None,
        error_id: Some(text("id").to_owned()),
    });
    views::put(transaction, &doc, work.queue)?;
    Ok(Some(id))
}

fn list_of(document: &mut Value) -> &mut Vec<Value> {
    document["errors"].as_array_mut().expect("errors are a list in every valid document")
}

/// Keeps the errors that were seen last.
fn forget_oldest(list: &mut Vec<Value>) {
    let seen = |error: &Value| {
        ["last_seen", "timestamp"].iter().find_map(|field| time::read(error.get(*field)?.as_str()?))
    };
    while list.len() > KEPT {
        let oldest = (0..list.len()).min_by_key(|place| seen(&list[*place])).expect("the list is not empty");
        list.remove(oldest);
    }
}

/// Counts how the errors of the list stand.
pub(super) fn add_up(document: &mut Value) {
    let list = list_of(document);
    let count = |wanted| list.iter().filter(|error| standing(error) == wanted).count();
    let total = list.len();
    let (recovered, pending, escalated) =
        (count(Standing::Recovered), count(Standing::Pending), count(Standing::Escalated));
    if !document["summary"].is_object() {
        document["summary"] = json!({});
    }
    // One by one: what others keep there stays.
    for (name, number) in
        [("total", total), ("recovered", recovered), ("pending", pending), ("escalated", escalated)]
    {
        document["summary"][name] = number.into();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::memory::MemoryEngine;

    fn at(seconds: i64) -> Actor {
        let now = Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        Actor { clock: Arc::new(now), session: None, user: "ann".into() }
    }

    fn new(message: impl Into<String>) -> NewError {
        NewError { message: message.into(), ..NewError::default() }
    }

    #[test]
    fn the_newest_are_kept_and_what_comes_up_again_is_new() {
        let engine = MemoryEngine::default();
        let mut document = errors().default(at(0).now());
        let old = |number| {
            json!({"id": format!("e{number}"), "timestamp": time::stamp(at(number).now()), "classification": "unknown",
                   "tool": null, "message": format!("m{number}"), "retry_count": 0, "max_retries": 1,
                   "status": "pending_retry", "context": {}})
        };
        document["errors"] = (0..KEPT as i64).map(old).collect();
        let mut transaction = engine.begin(&[&Room::State]).unwrap();
        transaction.put(&errors(), document).unwrap();
        transaction.commit(&at(0).entry("test")).unwrap();

        assert!(record(&engine, &new("m0"), None, &at(5000)).unwrap().known);
        assert!(!record(&engine, &new("other"), None, &at(5001)).unwrap().known);
        let kept = list(&engine, None).unwrap();
        assert_eq!(kept.len(), KEPT);
        assert_eq!((&kept[0]["id"], &kept[1]["id"]), (&json!("e0"), &json!("e2")), "e1 was seen longest ago");
        let summary = engine.read(&errors()).unwrap().unwrap().value["summary"].take();
        assert_eq!(summary, json!({"total": 1000, "recovered": 0, "pending": 999, "escalated": 1}));
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
