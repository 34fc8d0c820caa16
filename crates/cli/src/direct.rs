//! Hot commands, read without the tree of all commands: building that tree costs more than most of them do.
//!
//! The parser of each is made of the same declarations. Whatever it does not understand (a mistake, `--help`,
//! a word in an unusual place) is left to the full parser, which also finds the right words for it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Parser};

use crate::args::Global;
use crate::commands;
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;

/// One command and the global options.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct One<A: Args> {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    args: A,
}

const VERSION: &str = concat!("anthill ", env!("CARGO_PKG_VERSION"));

/// Global options that are followed by a value.
const WITH_VALUE: [&str; 6] = ["--root", "--home", "--store", "--session-id", "--lock-timeout", "--color"];

/// Runs the command line if it is a hot one; `None` leaves it to the full parser.
pub fn run(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut rest: Vec<OsString> = args.collect();
    if let [only] = &rest[..]
        && (only == "--version" || only == "-V")
    {
        let told = Output::new(false, clap::ColorChoice::Never).data(VERSION);
        return Some(ExitCode::from(u8::from(told.is_err())));
    }
    let noun = take_word(&mut rest, 0)?;
    let verb = match noun.1.as_str() {
        "leader" | "worker" => take_word(&mut rest, noun.0).filter(|(at, _)| *at == noun.0)?.1,
        _ => String::new(),
    };
    commands::direct(&noun.1, &verb, rest)
}

/// Takes the first word out that is neither an option nor the value of one; says where it was.
fn take_word(rest: &mut Vec<OsString>, from: usize) -> Option<(usize, String)> {
    let mut at = from;
    loop {
        let word = rest.get(at)?.to_str()?;
        match word {
            _ if WITH_VALUE.contains(&word) => at += 2,
            _ if word.starts_with('-') => at += 1,
            _ => break,
        }
    }
    Some((at, rest.remove(at).into_string().ok()?))
}

/// Parses and runs one command.
pub fn one<A: Args>(
    rest: Vec<OsString>,
    run: impl FnOnce(&Context<'_>, &A) -> Result<()>,
) -> Option<ExitCode> {
    let One { global, args } = One::<A>::try_parse_from(rest).ok()?;
    let output = Output::new(global.json, global.color);
    let done = Context::new(&global, &output).and_then(|context| run(&context, &args));
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output.failure(&error),
    })
}
