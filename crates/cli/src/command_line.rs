//! The command line: which command it is, and how it is run.

use std::ffi::OsString;
use std::panic;

use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};

use crate::args::Global;
use crate::arrange::arranged;
use crate::commands::{self, Command};
use crate::error::CliError;
use crate::help;
use crate::line::first_word;
use crate::output::{self, Output};
use crate::process::ExitCode;

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
    /// only the parser of this command is built. What it refuses goes to the full parser, which says what is wrong.
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
        Cli::from_arg_matches(&Global::read_with(command, args)?).ok()
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

/// Runs a command line, the program's name included. A panic is a bug, and is reported like any other failure.
pub fn run(args: &[OsString]) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(|| run_guarded(args)).unwrap_or_else(|payload| {
        Output::new(wants_json(args), ColorChoice::Auto).failure(&CliError::bug(payload.as_ref()))
    })
}

fn run_guarded(args: &[OsString]) -> ExitCode {
    if let Some(code) = commands::hook::run_line(&args[1.min(args.len())..]) {
        return code;
    }
    run_directly(args.iter().skip(1)).unwrap_or_else(|| run_parsed(args))
}

/// Not inlined: its arguments are large, and would take room on the stack of every command.
#[inline(never)]
fn run_parsed(args: &[OsString]) -> ExitCode {
    let cli = match Cli::read(args) {
        Ok(cli) => cli,
        Err(error) => return output::usage(error, wants_json(args)),
    };
    let output = Output::new(cli.global.json, cli.global.color);
    match commands::run(&cli.global, cli.command, &output, Cli::whole) {
        Ok(code) => code,
        Err(error) => output.failure(&error),
    }
}

/// Whether JSON is wanted, as far as a line shows that could not be parsed.
fn wants_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--json")
}

const VERSION: &str = concat!("anthill ", env!("CARGO_PKG_VERSION"));

/// Runs the command line if it is a hot one; `None` leaves it to the full parser.
fn run_directly<'a>(args: impl Iterator<Item = &'a OsString>) -> Option<ExitCode> {
    let mut args = args.map(|arg| arg.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    if let [only] = &args[..]
        && (only == "--version" || only == "-V")
    {
        let told = Output::new(false, ColorChoice::Never).data(VERSION);
        return Some(ExitCode::from(u8::from(told.is_err())));
    }
    let at = first_word(&args)?;
    let noun = args.remove(at);
    let has_verb = ["leader", "worker", "session", "message"].contains(&&*noun) && args.len() > at;
    let verb = if has_verb { args.remove(at) } else { String::new() };
    commands::direct(&noun, &verb, &args)
}
