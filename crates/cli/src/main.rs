//! The `anthill` program: arguments in, one use case, output and exit code out.
//!
//! `command_line` (as typed) -> `commands` (as meant) -> `anthill_core::ops` -> `output`. How anything is stored
//! is not known here.

#![allow(rustdoc::broken_intra_doc_links, reason = "help texts show path expressions such as `epics[0]`")]
#![cfg_attr(all(target_env = "musl", not(test)), no_main)]

mod agent_args;
#[cfg(any(target_env = "musl", test))]
mod arena;
mod args;
mod arrange;
mod asides;
mod clock;
mod command_line;
mod commands;
mod conflict;
mod consent;
mod context;
mod denied;
mod direct;
mod door;
mod engine;
mod env;
mod error;
#[cfg(test)]
mod examples;
mod git;
mod help;
mod hook_runner;
mod hooks;
mod identity;
mod install;
mod line;
mod named;
mod output;
mod planning;
mod process;
mod project_gates;
#[cfg(test)]
mod reference;
mod remains;
mod roots;
mod sentence;
mod start;
mod typed;
mod words;

#[cfg(any(not(target_env = "musl"), test))]
#[expect(clippy::disallowed_methods, reason = "behind this `main` the standard library knows them")]
fn main() {
    start::survive_long_files();
    start::run_and_exit(std::env::args_os().collect())
}
