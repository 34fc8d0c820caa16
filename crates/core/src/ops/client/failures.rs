//! What went wrong, by its class: tried again, made work for the loop, or shown to the user.

use jiff::Timestamp;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::turn::{Turn, document};
use crate::hint;
use crate::model::client_event::Event;
use crate::model::documents::agent_loop::{ClassifiedError, ErrorClass, ErrorContext, Errors};
use crate::model::error_class::{self, Escalation};
use crate::model::ids::SessionId;
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::next::Next;
use crate::model::service;
use crate::ops::errors::{self, ErrorState, NewError};
use crate::ops::surplus::What;
use crate::ops::{Result, readable};
use crate::store::Transaction;
use crate::view::briefing;

/// A tool call has failed.
pub fn tool(turn: &mut Turn<'_>) -> Result<()> {
    if turn.event.is_true("is_interrupt") {
        return Ok(());
    }
    let told = turn.event.text("error").map(std::borrow::Cow::into_owned);
    let response = || {
        let error = turn.event.value("tool_response")["error"].clone();
        error.text(ClassifiedError::message).or(error.as_str()).map(str::to_owned)
    };
    let Some(message) = told.or_else(response) else { return Ok(()) };
    record(turn, None, message, turn.event.tool().into_owned())
}

/// The client itself has failed, as when its service is overloaded.
pub fn turn(turn: &mut Turn<'_>) -> Result<()> {
    let kind = turn.event.text("error").unwrap_or_default().into_owned();
    let class = match &*kind {
        "rate_limit" => Some(ErrorClass::RateLimit),
        "overloaded" | "server_error" => Some(ErrorClass::External),
        "authentication_failed" | "billing_error" => Some(ErrorClass::Permission),
        "invalid_request" | "model_not_found" => Some(ErrorClass::Validation),
        "max_output_tokens" => Some(ErrorClass::Resource),
        _ => None,
    };
    let details = ["error_details", "last_assistant_message"].iter().find_map(|field| turn.event.text(field));
    let message = match details {
        Some(details) => format!("{kind}: {details}"),
        None => kind,
    };
    record(turn, class, message, "client".into())
}

fn record(turn: &mut Turn<'_>, class: Option<ErrorClass>, message: String, tool: String) -> Result<()> {
    let now = turn.actor.now();
    let mut context = Map::new();
    context.set(ErrorContext::session_id, turn.session());
    context.set(OPERATION, operation(turn.event));
    let retry_after = service::wait(&message, &now.to_zoned(turn.world.zone()));
    let new = NewError { class, message, tool: Some(tool), context, retry_after };
    let done = errors::record_of_session(turn.engine, &new, &turn.actor)?;
    turn.reply.parts.extend(briefing::failure(&done.error, now));
    let class =
        serde_json::from_value(done.error[ClassifiedError::classification].clone()).unwrap_or_default();
    // What is work for a loop, and there is none, the agent can mend itself.
    let needs_a_person = error_class::escalation(class) == Escalation::User;
    if done.error[ClassifiedError::escalated_to] == "user" && needs_a_person && !done.known {
        let line: String = done
            .error
            .text(ClassifiedError::message)
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect();
        turn.reply.tell_user = Some(turn.actor.door.tell(&hint![
            format!(
                "anthill: {} error in {}, which needs you: {line}   (when it is solved: ",
                done.error.text(ClassifiedError::classification).unwrap_or_default(),
                done.error.text(ClassifiedError::tool).unwrap_or_default()
            ),
            Next::ResolveError(done.error.text(ClassifiedError::id).unwrap_or_default().into()),
            ")",
        ]));
    }
    Ok(())
}

/// The field of an error's context that says what was tried.
const OPERATION: Key<Option<String>> = ErrorContext::operation;

/// What of a tool's input says what it does, whatever else is in there.
const INPUTS: [&str; 9] =
    ["command", "file_path", "filePath", "notebook_path", "path", "url", "query", "pattern", "skill"];

/// Returns a number for what a tool call does: the same for the same operation. What it is, is not stored.
fn operation(event: &Event) -> String {
    let input = event.value("tool_input");
    let named = INPUTS.iter().find_map(|field| input.get(*field)?.as_str());
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = match named {
        Some(text) => words(text),
        None if input.is_null() => "{}".to_owned(),
        None => input.to_string(),
    };
    format!("{:016x}", xxh3_64(format!("{} {what}", event.tool()).as_bytes()))
}

/// What has failed and now succeeds, the same operation, has recovered.
pub fn recover(turn: &mut Turn<'_>) -> Result<()> {
    let errors = document("errors");
    if turn.engine.is_absent(&errors) {
        return Ok(());
    }
    let (tool, session, operation) = (turn.event.tool(), turn.session(), operation(turn.event));
    if turn.engine.lacks(&errors, &operation) {
        return Ok(());
    }
    let ours = |error: &Value| {
        let context = &error[ClassifiedError::context];
        error[ClassifiedError::tool] == *tool
            && context[ErrorContext::session_id] == session
            && context[OPERATION] == *operation
    };
    errors::recovered(turn.engine, ours, &turn.actor)
}

/// Archives the errors of a session, or all; returns how many of them were handed on.
pub fn put_away(
    transaction: &mut dyn Transaction,
    session: &SessionId,
    all: bool,
    now: Timestamp,
) -> Result<u64> {
    let doc = document("errors");
    let Some(mut value) = readable(transaction, &doc)? else { return Ok(0) };
    let ours =
        |error: &Value| all || error[ClassifiedError::context][ErrorContext::session_id] == session.as_str();
    let Some(list) = value[Errors::errors].as_array_mut() else { return Ok(0) };
    let left: Vec<Value> = list.extract_if(.., |error| ours(error)).collect();
    let (is_empty, left_over) = (list.is_empty(), left.len());
    What::Errors.put(transaction, &left, now)?;
    if is_empty {
        transaction.delete(&doc)?;
    } else if left_over > 0 {
        errors::add_up(&mut value, left_over);
        transaction.put(&doc, value)?;
    }
    Ok(left.iter().filter(|error| errors::state_of(error) == ErrorState::Escalated).count() as u64)
}
