//! The `anthill` program: arguments in, one use case, output and exit code out.
//!
//! `args` (as typed) -> `commands` (as meant) -> `anthill_core::ops` -> `output`. How anything is stored
//! is not known here.

#![allow(rustdoc::broken_intra_doc_links, reason = "help texts show path expressions such as `epics[0]`")]
#![cfg_attr(all(target_env = "musl", not(test)), no_main)]

#[cfg(any(target_env = "musl", test))]
mod arena;
mod args;
mod arrange;
mod commands;
mod conflict;
mod consent;
mod context;
mod denied;
mod direct;
mod door;
mod env;
mod error;
#[cfg(test)]
mod examples;
mod git;
mod help;
mod hooks;
mod identity;
mod install;
mod named;
mod output;
mod planning;
mod roots;
mod staff;
mod start;
mod words;

use std::ffi::OsString;
use std::panic;

use clap::ColorChoice;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::Output;
use crate::start::ExitCode;

#[cfg(any(not(target_env = "musl"), test))]
#[expect(clippy::disallowed_methods, reason = "behind this `main` the standard library knows them")]
fn main() {
    start::survive_long_files();
    start::run_and_exit(std::env::args_os().collect())
}

/// Runs a command line, the program's name included. A panic is a bug that is told like any other failure.
fn guarded(args: &[OsString]) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(|| run(args)).unwrap_or_else(|payload| {
        Output::new(wants_json(args), ColorChoice::Auto).failure(&CliError::bug(payload.as_ref()))
    })
}

fn run(args: &[OsString]) -> ExitCode {
    if let Some(code) = commands::hook::run_line(&args[1.min(args.len())..]) {
        return code;
    }
    direct::run(args.iter().skip(1)).unwrap_or_else(|| parsed(args))
}

/// Kept apart: its arguments are large, and would make room for themselves on the stack of every command.
#[inline(never)]
fn parsed(args: &[OsString]) -> ExitCode {
    let cli = match Cli::read(args) {
        Ok(cli) => cli,
        Err(error) => return output::usage(error, wants_json(args)),
    };
    let output = Output::new(cli.global.json, cli.global.color);
    match commands::run(cli, &output) {
        Ok(code) => code,
        Err(error) => output.failure(&error),
    }
}

/// Whether the answer is to be JSON, as far as can be told from a line that was not understood.
fn wants_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--json")
}
