//! The arguments as typed. The doc comment of a command is its help.

use std::ffi::OsString;
use std::path::PathBuf;

use anthill_core::api::documents;
use anthill_core::api::request::{KindName, Limit, Seconds};
use anthill_core::model::kind::{KINDS, Kind};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser};

use crate::arrange::arranged;
use crate::commands::{self, Command};
use crate::context::parse_id;
use crate::direct::{Words, first_word};
use crate::error::{self, CliError};
use crate::help;

/// Let many coding-agent sessions work as a team through human-readable JSON files
#[derive(Debug, Parser)]
#[command(name = "anthill", version, arg_required_else_help = true, subcommand_required = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line, the program's name included. The parser of all commands costs more than most of them do, so
    /// only that of this one is made; what it does not take, the whole one reads again and finds the right words for.
    pub fn read(args: &[OsString]) -> Result<Cli, clap::Error> {
        Cli::read_alone(args).map_or_else(|| Cli::read_whole(args), Ok)
    }

    /// Returns the parser of all commands.
    pub fn whole() -> clap::Command {
        help::filled(Cli::command())
    }

    fn read_whole(args: &[OsString]) -> Result<Cli, clap::Error> {
        let mut whole = Cli::whole();
        let matches = match whole.try_get_matches_from_mut(args) {
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                let arranged = Cli::arranged(args).ok_or(error)?;
                Cli::whole().try_get_matches_from(arranged)
            }
            matches => matches,
        };
        Cli::from_arg_matches(&matches?).map_err(|error| error.format(&mut whole))
    }

    /// Returns a line whose list options gave back what they took too much.
    fn arranged(args: &[OsString]) -> Option<Vec<String>> {
        let words = args.iter().map(|word| word.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
        let (name, words) = words.split_first()?;
        let mut whole = Cli::whole();
        whole.build();
        arranged(&whole, words).map(|words| std::iter::once(name.clone()).chain(words).collect())
    }

    fn read_alone(args: &[OsString]) -> Option<Cli> {
        let words: Vec<_> = args.iter().skip(1).map(|word| word.to_string_lossy()).collect();
        let command = commands::parser(&words[first_word(&words)?])?;
        let program = Global::augment_args(clap::Command::new("anthill")).subcommand(command);
        Cli::from_arg_matches(&program.try_get_matches_from(args).ok()?).ok()
    }
}

const EXAMPLES: &str = "\
Examples:
  anthill demo                                          see a team of workers (scripts) at work
  anthill leader init \"the goal\"                        then: leader add-task, leader status
  anthill worker claim terminal-2                       then: worker start, worker complete
  anthill set config global.default_project '\"myapp\"'   create the configuration
  anthill get config --field features.enable_orchestration
  anthill append epics epics '{\"id\": \"epic-001\", \"title\": \"Sign-in\", \"status\": \"pending\"}'
  anthill epic add \"Sign-in\"                            then: story add, story assign, sprint start
  anthill watch epics                                   print every change as it happens
  anthill schema                                        list the document kinds

Exit codes: 0 done, 1 refused by a rule, 2 invalid input, 3 conflict, 4 nothing there, 5 busy,
6 input or output failed, 7 damaged file, 8 unsupported place or newer format, 70 our bug";

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Project root [default: ANTHILL_ROOT, {project}, or the nearest directory with a mark]
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Home root [default: ANTHILL_HOME, {home}, or ~/.claude]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Where state is kept
    #[arg(long, global = true, value_name = "STORE", default_value = "file")]
    pub store: String,
    /// Print one JSON value on stdout, also for errors
    #[arg(long, global = true)]
    pub json: bool,
    /// The session to act for, and to look at; it is the author unless the environment names one
    #[arg(long, global = true, value_name = "ID")]
    pub session_id: Option<String>,
    /// How long to wait for a lock
    #[arg(long, global = true, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub lock_timeout: f64,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Work on a network file system although its locks cannot be trusted
    #[arg(long, global = true)]
    pub allow_network_fs: bool,
}

/// Which document.
#[derive(Debug, Clone, Args)]
pub struct Select {
    /// Document kind (`anthill schema` lists them)
    #[arg(value_parser = kind_parser(&[]))]
    pub kind: String,
    #[command(flatten)]
    pub scope: ScopeArgs,
}

impl Select {
    /// Returns it as requests have it.
    pub fn of(&self) -> error::Result<documents::Select> {
        self.scope.of(self.kind.parse().map_err(CliError::invalid)?)
    }

    /// Reads it from sorted words; a kind that does not exist is left to clap.
    pub fn read(words: &mut Words) -> Option<Select> {
        let kind = words.plain().filter(|kind| Kind::find(kind).is_some())?;
        let (project_id, agent_id) = (words.value("--project-id"), words.value("--agent-id"));
        Some(Select {
            kind,
            scope: ScopeArgs { project_id, agent_id, timestamp: words.value("--timestamp") },
        })
    }
}

/// What picks the one document of a kind.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ScopeArgs {
    /// Project of epics, sprints and team [default: this one, or the configuration's default_project]
    #[arg(long, value_name = "ID")]
    pub project_id: Option<String>,
    /// Agent of agent_result
    #[arg(long, value_name = "ID")]
    pub agent_id: Option<String>,
    /// Moment of backup [default: the newest]
    #[arg(long, value_name = "TIMESTAMP")]
    pub timestamp: Option<String>,
}

impl ScopeArgs {
    /// Refuses what picks a document where none is meant.
    pub fn none(&self, name: &str) -> error::Result<()> {
        match *self == ScopeArgs::default() {
            true => Ok(()),
            false => Err(CliError::invalid(format!(
                "`{name}` is no document kind: these options are for documents"
            ))
            .hinted("see the kinds: anthill schema")),
        }
    }

    /// Returns the document of a kind that is meant, as requests have it.
    pub fn of(&self, kind: KindName) -> error::Result<documents::Select> {
        let key = |text: &Option<String>| text.as_deref().map(parse_id).transpose();
        Ok(documents::Select {
            project_id: self.project_id.as_deref().map(parse_id).transpose()?,
            agent_id: key(&self.agent_id)?,
            timestamp: key(&self.timestamp)?,
            ..documents::Select::of(kind.0)
        })
    }
}

/// Accepts the kinds of the registry, and some derived ones.
pub fn kind_parser(
    derived: &'static [(&'static str, &'static str)],
) -> impl TypedValueParser<Value = String> {
    let known = KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.about));
    let derived = derived.iter().map(|(name, about)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(known.chain(derived))
}

/// Reads a text that may begin with a dash, as lists do. What looks like a mistyped option is not taken for one.
pub fn prose(text: &str) -> Result<String, String> {
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
pub fn seconds(text: &str) -> Result<f64, String> {
    span(text).map(Seconds::get)
}

/// Reads how many are wanted at most: 1 or more.
pub fn limit_parser() -> impl TypedValueParser<Value = Limit> {
    clap::value_parser!(u32).range(1..).map(|limit| Limit::new(limit).expect("the range says so"))
}

/// Reads a duration as requests have it.
pub fn span(text: &str) -> Result<Seconds, String> {
    Ok(Seconds::new(text.parse().unwrap_or(f64::NAN))?)
}
