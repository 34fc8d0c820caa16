use std::time::Duration;

use anthill_core::model::error_class::ErrorClass;
use anthill_core::model::service;
use anthill_core::ops::errors::{self, NewError, Standing};
use anthill_core::view::shell;
use anthill_live::runner;
use clap::Args;
use serde_json::{Map, Value};

use crate::args::{prose, seconds};
use crate::commands::parse_value;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Format;
use crate::planning::{ExpectArgs, one_of, text};

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
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    retry_after: Option<f64>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &RecordArgs) -> Result<()> {
    let new = if args.stdin.is_some() { from_json(parse_value("-")?)? } else { from_options(args)? };
    let now = runner::local(context.actor.now());
    let new = NewError { retry_after: new.retry_after.or_else(|| service::wait(&new.message, &now)), ..new };
    let done = errors::record(&*context.engine, &new, args.expect.expect_revision, &context.actor)?;
    done.warnings.iter().for_each(|warning| context.output.warning(warning));
    let error = &done.error;
    if context.output.json {
        return context.output.changed(error, Format::Json);
    }
    let class = text(error, "classification");
    let what = match (errors::standing(error), done.known) {
        (Standing::Escalated, _) => format!("Escalated to {} ({class})", receiver(error)),
        (_, true) => {
            format!("Recorded once more ({class}, {} of {} used)", error["retry_count"], retries(error))
        }
        (_, false) => format!("Recorded ({class}, {})", retries(error)),
    };
    context.output.said(&format!("{what}: {}", text(error, "id")))?;
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
    match (errors::standing(error), error.get("work_item").and_then(Value::as_str)) {
        (Standing::Escalated, Some(item)) => {
            format!("next: {item} of the loop's work queue; when it is done: anthill error resolve {id}")
        }
        (Standing::Escalated, None) => format!("next: when it is dealt with: anthill error resolve {id}"),
        _ => format!(
            "next: try again at {}; if that works: anthill error resolve {id}",
            text(error, "next_retry")
        ),
    }
}

fn from_options(args: &RecordArgs) -> Result<NewError> {
    let mut about = match args.context.as_deref().map(parse_value).transpose()? {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(_) => {
            return Err(wrong("--context", "a JSON object, such as '{\"url\": \"https://example.com\"}'"));
        }
    };
    let more = [("file", &args.file), ("agent_id", &args.agent_id)];
    about.extend(more.iter().filter_map(|(name, value)| Some(((*name).into(), value.as_deref()?.into()))));
    Ok(NewError {
        class: args.class,
        message: args.message.clone().unwrap_or_default(),
        tool: args.tool.clone(),
        context: about,
        retry_after: args.retry_after.map(Duration::from_secs_f64),
    })
}

fn from_json(value: Value) -> Result<NewError> {
    let Value::Object(mut told) = value else { return Err(wrong("the error on stdin", "a JSON object")) };
    let mut new = NewError::default();
    let mut take =
        |name: &'static str| told.remove(name).filter(|value| !value.is_null()).map(|value| (name, value));
    let string = |(name, value): (&str, Value)| match value {
        Value::String(text) => Ok(text),
        _ => Err(wrong(&format!("`{name}`"), "a text")),
    };
    new.message = take("message").map(string).transpose()?.unwrap_or_default();
    new.tool = take("tool").map(string).transpose()?;
    if let Some((_, class)) = take("classification").or_else(|| take("class")) {
        let known = serde_json::from_value(class);
        new.class = Some(known.map_err(|_| {
            wrong("`classification`", "one of the classes that `anthill error record --help` lists")
        })?);
    }
    if let Some((_, about)) = take("context") {
        let Value::Object(about) = about else { return Err(wrong("`context`", "an object")) };
        new.context = about;
    }
    for name in ["file", "agent_id"] {
        if let Some(text) = take(name).map(string).transpose()? {
            new.context.insert(name.into(), text.into());
        }
    }
    if let Some((_, after)) = take("retry_after") {
        let after = seconds(&after.to_string()).map_err(|_| wrong("`retry_after`", "a number of seconds"))?;
        new.retry_after = Some(Duration::from_secs_f64(after));
    }
    match told.keys().next() {
        None => Ok(new),
        Some(name) => Err(CliError::invalid(format!("`{name}` is no field of a new error"))
            .hinted("known are: classification, tool, message, context, file, agent_id, retry_after; put the rest into `context`")),
    }
}

fn wrong(what: &str, expected: &str) -> CliError {
    CliError::invalid(format!("{what} is not {expected}")).hinted("see: anthill error record --help")
}
