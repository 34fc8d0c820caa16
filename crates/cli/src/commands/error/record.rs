use anthill_core::api::records::RecordError;
use anthill_core::api::request::Seconds;
use anthill_core::model::error_class::ErrorClass;
use anthill_core::ops::errors::{self, ErrorChanged, ErrorState};
use anthill_core::view::shell;
use clap::Args;
use serde_json::Value;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::sentence::text;
use crate::typed::parse_value;
use crate::typed::{one_of, prose, span};

/// Record an error, or that a retry has failed too
///
/// The class is told by the message unless you name it. The same error (class, tool, message,
/// context) recorded again counts as one retry more, until it is resolved or its retries are used up.
///
/// With `-` the error comes as a JSON object on stdin, with the fields of the document:
/// classification, tool, message, context; and file, agent_id, retry_after.
///
/// Examples:
///   anthill error record --message "Connection timeout" --tool WebFetch
///   anthill error record --class rate_limit --message "slow down" --retry-after 30
///   anthill error record --message "SyntaxError: Unexpected token" --file src/auth.ts \
///       --agent-id agent-1
///   echo '{"tool": "Bash", "message": "timed out", "context": {"operation": "test"}}' \
///       | anthill error record -
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RecordArgs {
    /// `-` to read the error from stdin
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["message", "class", "tool", "file", "agent_id", "context", "retry_after"])]
    stdin: Option<String>,
    /// What went wrong
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose, required_unless_present = "stdin")]
    message: Option<String>,
    /// The class [default: told by the message]
    #[arg(short, long, value_name = "CLASS", value_parser = one_of::<ErrorClass>())]
    class: Option<ErrorClass>,
    /// The tool that failed
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// The file that it is about (kept in the context)
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// The agent that met it (kept in the context)
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// More about it: a JSON object
    #[arg(long, value_name = "JSON")]
    context: Option<String>,
    /// How long the other side says to wait [default: what the message says, such as `Retry-After: 7`]
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    retry_after: Option<Seconds>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &RecordArgs) -> Result<()> {
    let request = if args.stdin.is_some() { from_json(parse_value("-")?)? } else { from_options(args)? };
    let request = RecordError { expect_revision: args.expect.expect_revision, ..request };
    context.perform(request, |done| tell(context, done))
}

fn tell(context: &Context<'_>, done: &ErrorChanged) -> Result<()> {
    let error = &done.error;
    let class = text(error, "classification");
    let what = match (errors::state_of(error), done.known) {
        (ErrorState::Escalated, _) => format!("Escalated to {} ({class})", receiver(error)),
        (_, true) => {
            format!("Recorded once more ({class}, {} of {} used)", error["retry_count"], retries(error))
        }
        (_, false) => format!("Recorded ({class}, {})", retries(error)),
    };
    context.output.print(&format!("{what}: {}", text(error, "id")))?;
    context.output.status(&next(error));
    Ok(())
}

fn retries(error: &Value) -> String {
    let most = &error["max_retries"];
    if *most == 1 { "1 retry".into() } else { format!("{most} retries") }
}

fn receiver(error: &Value) -> &'static str {
    match text(error, "escalated_to") {
        "work_queue" => "the work queue",
        "blocked" => "blocked work",
        _ => "the user",
    }
}

fn next(error: &Value) -> String {
    let id = shell::word(text(error, "id"));
    match (errors::state_of(error), error.get("work_item").and_then(Value::as_str)) {
        (ErrorState::Escalated, Some(item)) => {
            format!("next: {item} of the loop's work queue; when it is done: anthill error resolve {id}")
        }
        (ErrorState::Escalated, None) => format!("next: when it is dealt with: anthill error resolve {id}"),
        _ => format!(
            "next: try again at {}; if that works: anthill error resolve {id}",
            text(error, "next_retry")
        ),
    }
}

fn from_options(args: &RecordArgs) -> Result<RecordError> {
    let context = match args.context.as_deref().map(parse_value).transpose()? {
        None => None,
        Some(Value::Object(map)) => Some(map),
        Some(_) => {
            return Err(wrong("--context", "a JSON object, such as '{\"url\": \"https://example.com\"}'"));
        }
    };
    Ok(RecordError {
        message: args.message.clone().unwrap_or_default(),
        classification: args.class,
        tool: args.tool.clone(),
        file: args.file.clone(),
        agent_id: args.agent_id.clone(),
        context,
        retry_after: args.retry_after,
        expect_revision: None,
    })
}

fn from_json(value: Value) -> Result<RecordError> {
    let Value::Object(mut told) = value else { return Err(wrong("the error on stdin", "a JSON object")) };
    let mut take =
        |name: &'static str| told.remove(name).filter(|value| !value.is_null()).map(|value| (name, value));
    let string = |(name, value): (&str, Value)| match value {
        Value::String(text) => Ok(text),
        _ => Err(wrong(&format!("`{name}`"), "a text")),
    };
    let class = |(_, class): (&str, Value)| {
        serde_json::from_value(class).map_err(|_| {
            wrong("`classification`", "one of the classes that `anthill error record --help` lists")
        })
    };
    let object = |(_, about): (&str, Value)| match about {
        Value::Object(about) => Ok(about),
        _ => Err(wrong("`context`", "an object")),
    };
    let after = |(_, after): (&str, Value)| {
        span(&after.to_string()).map_err(|_| wrong("`retry_after`", "a number of seconds"))
    };
    let request = RecordError {
        message: take("message").map(string).transpose()?.unwrap_or_default(),
        tool: take("tool").map(string).transpose()?,
        classification: take("classification").or_else(|| take("class")).map(class).transpose()?,
        context: take("context").map(object).transpose()?,
        file: take("file").map(string).transpose()?,
        agent_id: take("agent_id").map(string).transpose()?,
        retry_after: take("retry_after").map(after).transpose()?,
        expect_revision: None,
    };
    match told.keys().next() {
        None => Ok(request),
        Some(name) => Err(CliError::invalid(format!("`{name}` is no field of a new error"))
            .hinted("known are: classification, tool, message, context, file, agent_id, retry_after; put the rest into `context`")),
    }
}

fn wrong(what: &str, expected: &str) -> CliError {
    CliError::invalid(format!("{what} is not {expected}")).hinted("see: anthill error record --help")
}
