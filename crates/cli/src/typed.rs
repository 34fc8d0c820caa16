//! Arguments as typed, parsed into what they mean.

use std::io::{ErrorKind, Read};
use std::str::FromStr;

use anthill_core::api::request::{Amount, Limit, Seconds};
use anthill_core::model::ids::{Id, InvalidId};
use anthill_core::model::json;
use anthill_core::model::kind::KINDS;
use anthill_core::model::path::Path;
use anthill_core::model::plan::PlanStatus;
use anthill_core::model::shape::{Shape, Shaped};
use anthill_core::model::when::{self, UNDERSTOOD, When};
use anthill_live::foreign;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use crate::error::{CliError, Result, io_error};
use crate::sentence::shorten;

/// Reads an id that is chosen for something new.
pub fn parse_new_id<T: Id>(text: &str) -> Result<T> {
    T::chosen(text).map_err(|error| CliError::invalid(error.to_string()))
}

pub fn parse_id<T>(text: &str) -> Result<T>
where
    T: FromStr<Err = InvalidId>,
{
    text.parse().map_err(|error: InvalidId| CliError::invalid(error.to_string()))
}

/// Reads several ids.
pub fn parse_ids<T>(texts: &[String]) -> Result<Vec<T>>
where
    T: FromStr<Err = InvalidId>,
{
    texts.iter().map(|text| parse_id(text)).collect()
}

/// Reads a time of the past.
pub fn parse_when(text: &str) -> Result<When> {
    text.parse().map_err(|error: String| CliError::invalid(error).hinted(UNDERSTOOD))
}

/// Reads a path expression.
pub fn parse_path(text: &str) -> Result<Path> {
    let example = "write it like `epics[0].stories[id=story-001].status`";
    text.parse().map_err(|error| CliError::invalid(format!("{error}")).hinted(example))
}

/// Reads a file, or stdin for `-`, of at most so many bytes.
pub fn read_file(file: &str, limit: u64) -> Result<Vec<u8>> {
    let read = match file {
        "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().take(limit + 1).read_to_end(&mut bytes).map(|_| bytes)
        }
        path => foreign::read(path.as_ref(), limit),
    };
    let invalid = |message: String| Err(CliError::invalid(message).hinted("name a file, or `-` for stdin"));
    match read {
        Ok(bytes) if bytes.len() as u64 <= limit => Ok(bytes),
        Ok(_) => Err(CliError::invalid(format!("`{file}` is larger than {limit} bytes"))),
        Err(error) => match error.kind() {
            ErrorKind::NotFound => invalid(format!("there is no file `{file}`")),
            ErrorKind::IsADirectory => invalid(format!("`{file}` is a directory")),
            ErrorKind::FileTooLarge => {
                Err(CliError::invalid(format!("`{file}` is larger than {limit} bytes")))
            }
            ErrorKind::InvalidInput => invalid(format!("`{file}` cannot be read: {error}")),
            _ => Err(io_error(&format!("read `{file}`"), &error)),
        },
    }
}

/// Reads a JSON value from an argument, or from stdin for `-`.
pub fn parse_value(text: &str) -> Result<Value> {
    const LIMIT: u64 = 16 << 20;
    let mut bytes = Vec::new();
    if text == "-" {
        let read = std::io::stdin().take(LIMIT + 1).read_to_end(&mut bytes);
        read.map_err(|error| io_error("read from stdin", &error))?;
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
    if bytes.len() as u64 > LIMIT {
        return Err(CliError::invalid(format!("the value is larger than {LIMIT} bytes")));
    }
    json::parse(&bytes).map_err(|error| {
        let quoted = Value::from(shorten(text, 60));
        CliError::invalid(format!("the value is not JSON: {error}"))
            .hinted(format!("a text needs quotes of its own, inside those of the shell: '{quoted}'"))
    })
}

/// Accepts the words of a closed set, as the type that they mean.
pub fn one_of<T: Shaped + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words_of::<T>())
        .map(|word| serde_json::from_value(Value::String(word)).expect("the word is one of the set"))
}

/// Accepts where a story or an epic stands; `done` means completed.
pub fn plan_status() -> impl TypedValueParser<Value = PlanStatus> {
    let status = |word: &'static str| match word {
        "completed" => PossibleValue::new(word).alias("done"),
        word => PossibleValue::new(word),
    };
    let words = words_of::<PlanStatus>();
    PossibleValuesParser::new(words.iter().map(|word| status(word)))
        .map(|word| PlanStatus::of_word(if word == "done" { "completed" } else { &word }))
        .map(|status| status.expect("the word is one of the set"))
}

/// Returns the words of a closed set.
pub fn words_of<T: Shaped>() -> &'static [&'static str] {
    match T::SHAPE {
        Shape::Words(words) => words,
        _ => unreachable!("BUG: statuses are words"),
    }
}

/// Reads a number of points or the like: 0 or more.
pub fn amount(text: &str) -> std::result::Result<Amount, String> {
    Ok(Amount::new(text.parse().unwrap_or(f64::NAN))?)
}

/// Accepts the kinds of the registry, and some derived ones.
pub fn kind_parser(
    derived: &'static [(&'static str, &'static str)],
) -> impl TypedValueParser<Value = String> {
    let known = KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.about));
    let derived = derived.iter().map(|(name, about)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(known.chain(derived))
}

/// Reads a text that may begin with a dash, as lists do. What looks like a mistyped option is refused.
pub fn prose(text: &str) -> std::result::Result<String, String> {
    let name = text.trim_start_matches('-');
    let option = name.len() < text.len() && name.starts_with(char::is_alphabetic);
    match option && !name.contains(char::is_whitespace) {
        true => Err("it looks like an option".into()),
        false => Ok(text.to_owned()),
    }
}

/// Returns the names of a list that was split at commas, without the blanks around them.
pub fn names(list: &[String]) -> Vec<String> {
    list.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Reads a duration in seconds, fractions allowed.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    span(text).map(Seconds::get)
}

/// Reads how many are wanted at most: 1 or more.
pub fn limit_parser() -> impl TypedValueParser<Value = Limit> {
    clap::value_parser!(u32).range(1..).map(|limit| Limit::new(limit).expect("the range says so"))
}

/// Reads a duration as requests have it.
pub fn span(text: &str) -> std::result::Result<Seconds, String> {
    let told = || when::duration(text).map_or(f64::NAN, |duration| duration.as_secs_f64());
    Ok(Seconds::new(text.parse().unwrap_or_else(|_| told()))?)
}
