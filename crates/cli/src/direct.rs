//! Hot commands, read without clap: building its parser costs more than most of them do.
//!
//! What is read here is read as clap would read it (a test compares the two). Whatever is not
//! understood at once (a mistake, `--help`, `--name=value`, a word that begins with a dash or is empty) is left to the full
//! parser, which also has the right error messages.

use std::mem::ManuallyDrop;

use crate::args::Global;
use crate::asides;
use crate::context::Context;
use crate::error::Result;
use crate::line::{Opt, Words};
use crate::output::Output;
use crate::process::ExitCode;

/// The arguments of a hot command.
pub trait Direct: Sized {
    const OPTIONS: &'static [Opt];

    fn read(words: &mut Words) -> Option<Self>;
}

/// Reads and runs one command. Not inlined, so that no command pays for another's memory and code.
#[inline(never)]
pub fn one<A: Direct>(rest: &[String], run: impl FnOnce(&Context<'_>, &A) -> Result<()>) -> Option<ExitCode> {
    let (global, args) = read::<A>(rest)?;
    let output = Output::new(global.json, global.color);
    let done = Context::new(&global, &output).inspect(asides::tell).and_then(|context| {
        // Not dropped: the process ends next.
        run(&ManuallyDrop::new(context), &args)
    });
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output.failure(&error),
    })
}

pub fn read<A: Direct>(rest: &[String]) -> Option<(Global, A)> {
    let mut words = Words::sort(rest, A::OPTIONS)?;
    let global = Global::read(&mut words)?;
    let args = A::read(&mut words)?;
    words.plain().is_none().then_some((global, args))
}

/// The same by clap, for comparison.
#[cfg(test)]
pub mod by_clap {
    use clap::{Args, Parser};

    use super::*;
    use crate::line::GLOBAL;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct One<A: Args> {
        #[command(flatten)]
        global: Global,
        #[command(flatten)]
        args: A,
    }

    /// Checks that clap reads a line in the same way. Returns whether it could be read directly.
    pub fn agree<A: Direct + Args + std::fmt::Debug>(words: &[String]) -> bool {
        let Some(direct) = read::<A>(words) else { return false };
        let clap = One::<A>::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        assert_eq!(format!("{direct:?}"), format!("{:?}", (clap.global, clap.args)), "{words:?}");
        true
    }

    /// Returns the names of an argument type's options and of the global ones.
    pub fn names<A: Direct>() -> Vec<&'static str> {
        let names = GLOBAL.iter().chain(A::OPTIONS).flat_map(|(name, short, _)| [*name, *short]);
        names.filter(|name| !name.is_empty()).collect()
    }
}
