//! Options that take several words, in front of the words that a command needs: `add-task --depends model "Write it"`.
//!
//! Such an option takes all words up to the next one, and then a word is missing. It is the last one that the option took, if
//! there is only one option that can have taken it; of several, the one that took words with blanks in them, as ids and files
//! have none. Otherwise nobody can tell, and the mistake stays one.

use clap::{Arg, Command};

/// A line, sorted into options with what follows them, and words that stand alone.
struct Line {
    /// The words up to the verb.
    head: Vec<String>,
    plain: Vec<String>,
    options: Vec<Opt>,
}

struct Opt {
    name: String,
    values: Vec<String>,
    /// How many of them it needs, if it takes any number; else it keeps what it has.
    needs: Option<usize>,
}

/// Returns the words of a line in an order in which nothing is missing; `None` if there is none.
pub fn arranged(program: &Command, words: &[String]) -> Option<Vec<String>> {
    let (command, head) = verb(program, words)?;
    let line = Line::sort(program, command, &words[..head], &words[head..])?;
    line.arrange(command.get_positionals().filter(|word| word.is_required_set()).count())
}

/// Walks down to the verb of a line, past options that all commands know.
fn verb<'c>(program: &'c Command, words: &[String]) -> Option<(&'c Command, usize)> {
    let (mut command, mut at) = (program, 0);
    while command.has_subcommands() {
        let word = words.get(at)?;
        match word.starts_with('-') {
            true => at += 1 + usize::from(takes_value(program, word)?),
            false => {
                command = command.find_subcommand(word)?;
                at += 1;
            }
        }
    }
    Some((command, at))
}

/// Whether one word follows an option that all commands know; `None` if they do not.
fn takes_value(program: &Command, word: &str) -> Option<bool> {
    let option = option(program, word.split('=').next()?)?;
    Some(!word.contains('=') && option.get_num_args().is_some_and(|most| most.max_values() > 0))
}

/// Returns the option that a word names.
fn option<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let long = word.strip_prefix("--");
    let is_long = |arg: &&Arg| {
        let aliases = arg.get_visible_aliases().unwrap_or_default();
        long.is_some_and(|name| arg.get_long() == Some(name) || aliases.contains(&name))
    };
    let short = word.strip_prefix('-').and_then(|name| name.parse::<char>().ok());
    let is_short = |arg: &&Arg| short.is_some() && arg.get_short() == short;
    command.get_arguments().find(|arg| is_long(arg) || is_short(arg))
}

impl Line {
    fn sort(program: &Command, command: &Command, head: &[String], rest: &[String]) -> Option<Line> {
        let (mut plain, mut options) = (Vec::new(), Vec::new());
        let mut rest = rest.iter().peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                return None;
            }
            if !word.starts_with('-') {
                plain.push(word.clone());
                continue;
            }
            let name = word.split('=').next()?;
            let known = option(command, name).or_else(|| option(program, name))?;
            let counts = known.get_num_args().unwrap_or_else(|| 0.into());
            let mut values = Vec::new();
            while !word.contains('=') && values.len() < counts.max_values() {
                match rest.next_if(|word| !word.starts_with('-')) {
                    Some(value) => values.push(value.clone()),
                    None => break,
                }
            }
            let needs = (counts.max_values() > 1).then_some(counts.min_values());
            options.push(Opt { name: word.clone(), values, needs });
        }
        Some(Line { head: head.to_vec(), plain, options })
    }

    /// Puts the words that a command needs first, taken from the option that took them.
    fn arrange(mut self, needed: usize) -> Option<Vec<String>> {
        let missing = needed.checked_sub(self.plain.len()).filter(|missing| *missing > 0)?;
        let can =
            |option: &&mut Opt| option.needs.is_some_and(|needs| option.values.len() >= needs + missing);
        let with_blank = |option: &&mut Opt| option.values.last().is_some_and(|last| last.contains(' '));
        let mut able: Vec<_> = self.options.iter_mut().filter(can).collect();
        if able.len() > 1 {
            able.retain(with_blank);
        }
        let [option] = &mut able[..] else { return None };
        let taken = option.values.split_off(option.values.len() - missing);
        self.plain.extend(taken);
        let options =
            self.options.into_iter().flat_map(|option| std::iter::once(option.name).chain(option.values));
        Some(self.head.into_iter().chain(self.plain).chain(options).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::command_line::Cli;

    /// Reads a line of which every `_` stands for a blank.
    fn check(line: &str, expected: &str) {
        let words: Vec<_> = line.split(' ').map(|word| word.replace('_', " ")).collect();
        let mut program = Cli::whole();
        program.build();
        let found = super::arranged(&program, &words)
            .map(|words| words.into_iter().map(|word| word.replace(' ', "_")).collect::<Vec<_>>().join(" "));
        assert_eq!(found.unwrap_or_default(), expected, "{line}");
    }

    #[test]
    fn a_word_that_an_option_took_comes_back() {
        check("leader add-task --depends model Foo", "leader add-task Foo --depends model");
        check("leader add-task --depends a b Foo -p 1", "leader add-task Foo --depends a b -p 1");
        check("--root /x leader add-task -f a Foo --json", "--root /x leader add-task Foo -f a --json");
        check("worker complete w1 t1 --modified a b did_it", "worker complete w1 t1 did_it --modified a b");
        check("worker complete --modified a w1 t1 ok", "worker complete w1 t1 ok --modified a");
        check("leader edit --no-depends x", "leader edit x --no-depends");
        check("leader edit --label a b t1 -p 2", "leader edit t1 --label a b -p 2");
    }

    #[test]
    fn of_several_options_that_took_words_one_must_be_plain() {
        check(
            "leader add-task --depends a Do_it --files b c",
            "leader add-task Do_it --depends a --files b c",
        );
        check("leader add-task --depends a Foo --files b c", "");
    }

    #[test]
    fn what_is_missing_stays_missing() {
        for line in [
            "leader add-task --depends model",
            "leader add-task",
            "leader add-task Foo --depends a b",
            "leader add-task --depends a -- Foo",
            "leader add-task --nothing a Foo",
            "worker complete w1 --modified a",
            "nothing",
        ] {
            check(line, "");
        }
    }
}
