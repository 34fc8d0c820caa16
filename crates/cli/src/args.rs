//! The arguments as typed. The doc comment of a command is its help.

use std::ffi::OsString;
use std::path::PathBuf;

use anthill_core::api::documents;
use anthill_core::api::request::KindName;
use anthill_core::model::ids::ProjectId;
use anthill_core::model::kind::Kind;
use clap::{ArgMatches, Args, ColorChoice, ValueEnum};

use crate::error::{self, CliError};
use crate::line::Words;
use crate::typed::{kind_parser, parse_id, seconds};

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

impl Global {
    /// Reads a command line, the program's name included, by the parser of one command.
    pub fn read_with(command: clap::Command, args: &[OsString]) -> Option<ArgMatches> {
        let program = Global::augment_args(clap::Command::new("anthill")).subcommand(command);
        program.try_get_matches_from(args).ok()
    }

    /// Reads them from sorted words.
    pub fn read(words: &mut Words) -> Option<Global> {
        Some(Global {
            root: words.value("--root").map(Into::into),
            home: words.value("--home").map(Into::into),
            store: words.value("--store").unwrap_or_else(|| "file".into()),
            json: words.flag("--json"),
            session_id: words.value("--session-id"),
            lock_timeout: words.parsed("--lock-timeout", |text| seconds(text).ok())?.unwrap_or(10.0),
            color: words
                .parsed("--color", |text| ColorChoice::from_str(text, false).ok())?
                .unwrap_or(ColorChoice::Auto),
            allow_network_fs: words.flag("--allow-network-fs"),
        })
    }
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

/// Whose plan.
#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// The project [default: this one, or the configuration's default_project]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
}

impl ProjectArgs {
    pub fn id(&self) -> error::Result<Option<ProjectId>> {
        self.project_id.as_deref().map(parse_id).transpose()
    }

    /// Returns a command to type next, about the same project.
    pub fn next(&self, command: &str) -> String {
        let project = self.project_id.iter().map(|project| format!(" --project-id {project}"));
        command.to_owned() + &project.collect::<String>()
    }
}

/// What must hold for a change.
#[derive(Debug, Clone, Args)]
pub struct ExpectArgs {
    /// Refuse (exit 3) unless the document that is changed is at this revision
    #[arg(long, value_name = "N")]
    pub expect_revision: Option<u64>,
}
