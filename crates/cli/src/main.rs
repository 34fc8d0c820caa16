//! The `anthill` program: arguments in, one use case, output and exit code out.
//!
//! `args` (as typed) -> `commands` (as meant) -> `anthill_core::ops` -> `output`. How anything is stored
//! is not known here.

#![allow(rustdoc::broken_intra_doc_links, reason = "help texts show path expressions such as `epics[0]`")]

mod args;
mod commands;
mod context;
mod direct;
mod env;
mod error;
mod output;
mod roots;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::Output;

/// The allocator of musl asks the system for memory at every turn.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(code) => code,
        Err(payload) => {
            let json = std::env::args_os().any(|arg| arg == "--json");
            Output::new(json, clap::ColorChoice::Auto).failure(&CliError::bug(payload.as_ref()))
        }
    }
}

fn run() -> ExitCode {
    if let Some(code) = direct::run(std::env::args_os().skip(1)) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let output = Output::new(cli.global.json, cli.global.color);
    match commands::run(cli, &output) {
        Ok(code) => code,
        Err(error) => output.failure(&error),
    }
}
