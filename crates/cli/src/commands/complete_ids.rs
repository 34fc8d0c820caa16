use anthill_core::model::kind::KINDS;
use anthill_core::ops::queue::names;
use clap::{Arg, Args, Command};

use crate::args::Global;
use crate::context::Context;
use crate::error::Result;
use crate::line::likely_word;
use crate::output::Output;

/// Print the ids that a half-typed line may go on with, for the completion of shells
///
/// Example:
///   anthill complete-ids -- leader show pa
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompleteIdsArgs {
    /// The words of the line without the program's name; the last one is being typed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// So many are offered.
const MOST: usize = 500;

/// What is named at some place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Task,
    TaskOrKind,
    Worker,
    Session,
}

/// Returns the parser of a command, if there is one of this name.
type Parser = fn(&str) -> Option<Command>;

pub fn run(global: &Global, output: &Output, args: &CompleteIdsArgs, parser: Parser) -> Result<()> {
    let Some((typed, what)) = args.words.last().zip(expected(&args.words, parser)) else { return Ok(()) };
    let context = Context::new(&elsewhere(global, &args.words), output)?;
    let engine = &*context.engine;
    let mut ids = match what {
        What::Task | What::TaskOrKind => names::tasks(engine)?,
        What::Worker => names::workers(engine)?,
        What::Session => names::sessions(engine)?,
    };
    if what == What::TaskOrKind {
        ids.extend(KINDS.iter().map(|kind| kind.name.to_owned()));
    }
    ids.retain(|id| id.starts_with(typed.as_str()));
    ids.sort();
    ids.dedup();
    ids.truncate(MOST);
    if ids.is_empty() { Ok(()) } else { output.data(&ids.join("\n")) }
}

/// Returns where the line will look, if it says so.
fn elsewhere(global: &Global, words: &[String]) -> Global {
    let told = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).map(Into::into)
    };
    let (root, home) = (told("--root"), told("--home"));
    Global {
        root: root.or_else(|| global.root.clone()),
        home: home.or_else(|| global.home.clone()),
        ..global.clone()
    }
}

/// Returns what the last word of a line names; `None` if that is nothing with an id.
fn expected(words: &[String], parser: Parser) -> Option<What> {
    let (typed, before) = words.split_last()?;
    if typed.starts_with('-') {
        return None;
    }
    let at = likely_word(before)?;
    let mut path = before[at].clone();
    let mut command = Global::augment_args(parser(&path)?);
    let mut rest = &before[at + 1..];
    command.build();
    let mut command = &command;
    while command.has_subcommands() {
        let (verb, behind) = rest.split_first()?;
        command = command.find_subcommand(verb)?;
        (path, rest) = (format!("{path} {verb}"), behind);
    }
    what(&path, place(command, rest)?.get_id().as_str())
}

/// Returns the argument that the word behind these belongs to.
fn place<'c>(command: &'c Command, before: &[String]) -> Option<&'c Arg> {
    let (mut plain, mut open) = (0, None::<(&Arg, usize)>);
    for word in before {
        match open.take() {
            _ if word.starts_with('-') => {
                let named = |arg: &&Arg| {
                    let long = arg.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
                    long || arg.get_short().is_some_and(|short| *word == format!("-{short}"))
                };
                open = command.get_arguments().find(named).map(|arg| (arg, most(arg)));
            }
            Some((arg, left)) if left > 0 => open = Some((arg, left - 1)),
            _ => plain += 1,
        }
    }
    match open.filter(|(_, left)| *left > 0) {
        Some((arg, _)) => Some(arg),
        None => {
            let words: Vec<_> = command.get_positionals().collect();
            words.get(plain).or_else(|| words.last().filter(|last| most(last) > 1)).copied()
        }
    }
}

/// Returns how many words an argument takes.
fn most(arg: &Arg) -> usize {
    arg.get_num_args().map_or(0, |counts| counts.max_values())
}

/// What an argument of a command names.
fn what(path: &str, arg: &str) -> Option<What> {
    let noun = path.split(' ').next()?;
    match (noun, arg) {
        (_, "session_id") => Some(What::Session),
        ("show" | "edit", "name") => Some(What::TaskOrKind),
        ("leader" | "add" | "edit", "depends" | "no_depends" | "parent") => Some(What::Task),
        ("leader", "id" | "ids") if path != "leader add-task" => Some(What::Task),
        ("worker" | "claim", "id") | ("done", "words") => Some(What::Task),
        ("leader" | "worker" | "claim" | "done" | "list", "worker") => Some(What::Worker),
        ("session", "task") => Some(What::Task),
        ("session", "id" | "from" | "to") if path != "session start" => Some(What::Session),
        ("message", "from" | "to" | "session") => Some(What::Session),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::parser;

    #[test]
    fn what_a_word_names_is_told_by_its_place() {
        let check = |line: &str, expected: Option<What>| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(super::expected(&words, parser), expected, "{line}");
        };
        for line in [
            "leader show ",
            "--root /x leader show p",
            "leader cancel a b ",
            "leader add-task text --depends a ",
            "leader add-task text --parent ",
            "worker claim w1 ",
            "worker complete w1 ",
            "done a ",
            "claim --worker w1 ",
        ] {
            check(line, Some(What::Task));
        }
        check("edit ", Some(What::TaskOrKind));
        check("worker complete ", Some(What::Worker));
        check("list --worker ", Some(What::Worker));
        check("session end ", Some(What::Session));
        check("message send a ", Some(What::Session));
        check("leader status --session-id ", Some(What::Session));
        for line in [
            "",
            "lea",
            "leader ",
            "leader add-task ",
            "leader add-task x --id ",
            "leader show -",
            "nothing x ",
        ] {
            check(line, None);
        }
    }
}
