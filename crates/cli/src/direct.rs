//! Hot commands, read without clap: building its parser costs more than most of them do.
//!
//! What is read here is read as clap would read it (a test holds the two against each other). Whatever is not
//! understood at once (a mistake, `--help`, `--name=value`, a word that begins with a dash or is empty) is left to the full
//! parser, which also finds the right words for it.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::{ColorChoice, ValueEnum};

use crate::args::{Global, seconds};
use crate::commands::{self, tell_asides};
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;
use crate::start::ExitCode;

/// How many values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    One,
    /// One or none.
    Perhaps,
    Many,
}

/// An option: its name, its short name if it has one, and what follows it.
pub type Opt = (&'static str, &'static str, Takes);

/// The arguments of a hot command.
pub trait Direct: Sized {
    const OPTIONS: &'static [Opt];

    fn read(words: &mut Words) -> Option<Self>;
}

const GLOBAL: &[Opt] = &[
    ("--root", "", Takes::One),
    ("--home", "", Takes::One),
    ("--store", "", Takes::One),
    ("--json", "", Takes::Nothing),
    ("--session-id", "", Takes::One),
    ("--lock-timeout", "", Takes::One),
    ("--color", "", Takes::One),
    ("--allow-network-fs", "", Takes::Nothing),
];

/// What `--wait` alone means, in seconds. Clap's default for it says the same.
const FOR_EVER: f64 = 86_400_000.0;

const VERSION: &str = concat!("anthill ", env!("CARGO_PKG_VERSION"));

/// Runs the command line if it is a hot one; `None` leaves it to the full parser.
pub fn run<'a>(args: impl Iterator<Item = &'a OsString>) -> Option<ExitCode> {
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

/// Returns the place of the first word after global options.
pub fn first_word(args: &[impl AsRef<str>]) -> Option<usize> {
    let mut at = 0;
    while let word = args.get(at)?.as_ref()
        && word.starts_with('-')
    {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let (.., takes) = GLOBAL.iter().find(|(known, ..)| *known == name)?;
        at += if *takes == Takes::Nothing || value.is_some() { 1 } else { 2 };
    }
    Some(at)
}

/// The same in a line with options that nobody knows, which are taken to stand alone.
pub fn likely_word(args: &[String]) -> Option<usize> {
    let mut at = 0;
    while args.get(at)?.starts_with('-') {
        let known = GLOBAL.iter().find(|(name, ..)| *name == args[at]);
        at += if known.is_some_and(|(.., takes)| *takes != Takes::Nothing) { 2 } else { 1 };
    }
    Some(at)
}

/// Reads and runs one command. Each is kept apart, so that none pays for another's memory and code.
#[inline(never)]
pub fn one<A: Direct>(rest: &[String], run: impl FnOnce(&Context<'_>, &A) -> Result<()>) -> Option<ExitCode> {
    let (global, args) = read::<A>(rest)?;
    let output = Output::new(global.json, global.color);
    let done = Context::new(&global, &output).inspect(tell_asides).and_then(|context| {
        // Dropped by the end of the process, which is next: nothing in it has more to say.
        run(&ManuallyDrop::new(context), &args)
    });
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output.failure(&error),
    })
}

pub fn read<A: Direct>(rest: &[String]) -> Option<(Global, A)> {
    let mut words = Words::sort(rest, A::OPTIONS)?;
    let global = Global {
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
    };
    let args = A::read(&mut words)?;
    words.plain.next().is_none().then_some((global, args))
}

/// A command line, sorted into plain words and options with their values.
pub struct Words {
    plain: std::vec::IntoIter<String>,
    options: Vec<(&'static str, Vec<String>)>,
}

impl Words {
    fn sort(rest: &[String], own: &'static [Opt]) -> Option<Words> {
        // Clap has its own opinion of empty words.
        if rest.iter().any(String::is_empty) {
            return None;
        }
        let (mut plain, mut options) = (Vec::new(), Vec::new());
        let mut rest = rest.iter().peekable();
        while let Some(word) = rest.next() {
            if !word.starts_with('-') {
                plain.push(word.clone());
                continue;
            }
            let known = GLOBAL.iter().chain(own).find(|(name, short, _)| word == name || word == short);
            let (name, _, takes) = *known?;
            let most = match takes {
                Takes::Nothing => 0,
                Takes::One | Takes::Perhaps => 1,
                Takes::Many => usize::MAX,
            };
            let mut values = Vec::new();
            while values.len() < most
                && let Some(value) = rest.next_if(|word| !word.starts_with('-'))
            {
                values.push(value.clone());
            }
            let missing = values.is_empty() && matches!(takes, Takes::One | Takes::Many);
            let again = takes != Takes::Many && options.iter().any(|(known, _)| *known == name);
            if missing || again {
                return None;
            }
            options.push((name, values));
        }
        Some(Words { plain: plain.into_iter(), options })
    }

    /// Returns the next word that is no option.
    pub fn plain(&mut self) -> Option<String> {
        self.plain.next()
    }

    pub fn flag(&mut self, name: &str) -> bool {
        self.options.iter().any(|(known, _)| *known == name)
    }

    pub fn value(&mut self, name: &str) -> Option<String> {
        self.values(name).pop()
    }

    /// Returns the value of an option as what it means; `None` if it means nothing.
    pub fn parsed<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
        self.value(name).map_or(Some(None), |text| parse(&text).map(Some))
    }

    /// Returns how long to wait; `--wait` alone means for ever. `None` if it means nothing.
    pub fn wait(&mut self) -> Option<Option<f64>> {
        let told = self.parsed("--wait", |text| seconds(text).ok())?;
        Some(told.or(self.flag("--wait").then_some(FOR_EVER)))
    }

    /// Returns all values of an option, which may also be lists with commas.
    pub fn split(&mut self, name: &str) -> Vec<String> {
        self.values(name).iter().flat_map(|list| list.split(',')).map(str::to_owned).collect()
    }

    /// Returns all values of an option, which may be given several times.
    pub fn values(&mut self, name: &str) -> Vec<String> {
        let given = self.options.iter_mut().filter(|(known, _)| *known == name);
        given.flat_map(|(_, values)| std::mem::take(values)).collect()
    }
}

/// The same by clap, to hold the two against each other.
#[cfg(test)]
pub mod by_clap {
    use clap::{Args, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct One<A: Args> {
        #[command(flatten)]
        global: Global,
        #[command(flatten)]
        args: A,
    }

    /// What is read directly, clap reads alike. Returns whether it was read.
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
