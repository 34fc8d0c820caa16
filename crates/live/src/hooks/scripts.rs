//! Which files a line of shell runs, as far as its plain words tell: `./x.sh`, `FOO=1 ./x.sh`, `env X=1 bash ./x.sh`.
//!
//! This is not a shell. It does not find what is in a variable, what a script calls, or what a tool reads; other files that a line
//! names are shown to the user who trusts it.

use std::path::{Path, PathBuf};

/// Programs that run what follows, and the letters of their options that take another word.
const WRAPPERS: [(&str, &str); 17] = [
    ("exec", "a"),
    ("env", "uCS"),
    ("command", ""),
    ("nohup", ""),
    ("setsid", ""),
    ("nice", "n"),
    ("ionice", "cn"),
    ("time", "fo"),
    ("timeout", "ks"),
    ("stdbuf", "ioe"),
    ("sudo", "ugCp"),
    ("xargs", "nIPLd"),
    ("if", ""),
    ("then", ""),
    ("while", ""),
    ("do", ""),
    ("else", ""),
];

/// Programs that run the file that they are given.
const INTERPRETERS: [&str; 20] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "python", "python3", "node", "deno", "bun",
    "ruby", "perl", "php", "lua", "Rscript", ".", "source",
];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// How deep lines within lines are read.
const DEEPEST: usize = 4;

/// Returns the scripts that a line names, as seen from a directory.
pub fn found(line: &str, place: &Path) -> Vec<PathBuf> {
    let file = |names: Vec<PathBuf>| names.iter().map(|name| place.join(name)).find(|path| path.is_file());
    named(line).into_iter().filter_map(file).collect()
}

/// Whether the scripts of a line depend on the directory.
pub fn are_relative(line: &str) -> bool {
    named(line).iter().flatten().any(|name| name.is_relative())
}

/// Returns the files that a line names and that it does not run by itself, as far as can be told.
pub fn beside(line: &str, place: &Path) -> Vec<String> {
    let run = found(line, place);
    let words = commands(line).into_iter().flatten();
    let is_file = |word: &String| {
        let path = place.join(word);
        !word.is_empty() && path.is_file() && !run.contains(&path)
    };
    words.filter(is_file).collect()
}

/// Returns for every script the names that it may have.
fn named(line: &str) -> Vec<Vec<PathBuf>> {
    let mut found = Vec::new();
    read_line(line, &mut PathBuf::new(), DEEPEST, &mut found);
    found.retain(|names| !names.is_empty());
    found
}

fn read_line(line: &str, dir: &mut PathBuf, deep: usize, found: &mut Vec<Vec<PathBuf>>) {
    for words in commands(line) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["cd", into] => dir.push(into),
            _ => read_command(&words, dir, deep, found),
        }
    }
}

fn read_command(words: &[&str], dir: &Path, deep: usize, found: &mut Vec<Vec<PathBuf>>) {
    let Some((program, rest)) = program(words) else { return };
    let name = known_name(program);
    // Versions such as `python3.12`.
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if !INTERPRETERS.contains(&name) && !INTERPRETERS.contains(&bare) {
        if program.contains('/') {
            found.push(vec![dir.join(program)]);
        }
        return;
    }
    let is_inner =
        |option: &&str| option.starts_with('-') && !option.starts_with("--") && option.contains('c');
    let inner = rest.iter().position(is_inner).filter(|_| SHELLS.contains(&name) && deep > 0);
    match inner.and_then(|at| rest.get(at + 1)) {
        Some(line) => read_line(line, &mut dir.to_owned(), deep - 1, found),
        None => {
            found
                .push(rest.iter().filter(|word| !word.starts_with('-')).map(|word| dir.join(word)).collect());
        }
    }
}

/// Finds the program that is run, behind variables and programs that only run others.
fn program<'w>(mut words: &'w [&'w str]) -> Option<(&'w str, &'w [&'w str])> {
    loop {
        let (first, rest) = words.split_first()?;
        let wrapper = WRAPPERS.iter().find(|(name, _)| *name == known_name(first));
        words = match wrapper {
            _ if is_assignment(first) || *first == "!" || *first == "{" => rest,
            Some((_, with_word)) => behind_options(rest, with_word),
            None => return Some((first, rest)),
        };
    }
}

/// Returns the name of a program of the system. What stands in a project is its own, whatever it is called.
fn known_name(program: &str) -> &str {
    let is_of_system = program.starts_with("/bin/") || program.starts_with("/usr/");
    program.rsplit('/').next().filter(|_| is_of_system).unwrap_or(program)
}

fn behind_options<'w>(mut words: &'w [&'w str], with_word: &str) -> &'w [&'w str] {
    while let Some((word, rest)) = words.split_first() {
        let takes_word = |option: &str| option.len() == 1 && with_word.contains(option);
        words = match word.strip_prefix('-') {
            Some(option) if takes_word(option) => rest.get(1..).unwrap_or_default(),
            Some(_) => rest,
            // How long, how nice.
            None if word.starts_with(|letter: char| letter.is_ascii_digit()) => rest,
            None => return words,
        };
    }
    words
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        name.chars().all(plain) && name.starts_with(|letter: char| !letter.is_ascii_digit())
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Splits a line into its commands, and these into words. A file that is read from (`sh <x.sh`) counts as a word.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let (mut letters, mut quote, mut is_written) = (line.chars().peekable(), None, false);
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (None, '#') if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            (None, _) if letter.is_whitespace() || "<>;&|()`".contains(letter) => {
                words.extend(word.take().filter(|_| !std::mem::take(&mut is_written)));
                match letter {
                    '>' => is_written = true,
                    '<' | ' ' | '\t' => {}
                    // What follows `>&` is a number.
                    '&' if is_written => {}
                    _ => commands.push(std::mem::take(&mut words)),
                }
            }
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.filter(|_| !is_written));
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out scripts")]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_found_behind_what_runs_it() {
        let temp = tempfile::tempdir().unwrap();
        let place = temp.path();
        std::fs::create_dir(place.join("sub")).unwrap();
        for name in ["x.sh", "y.sh", "my x.sh", "sub/z.py", "data.txt"] {
            std::fs::write(place.join(name), "").unwrap();
        }
        let check = |line: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(|name| place.join(name)).collect();
            assert_eq!(found(line, place), expected, "{line}");
        };
        for line in [
            "./x.sh",
            "./x.sh --quick data.txt",
            "FOO=1 ./x.sh",
            "exec ./x.sh",
            "sh ./x.sh",
            "sh x.sh data.txt",
            "env X=1 bash ./x.sh",
            "env -u FOO -i ./x.sh",
            "nice -n 5 timeout -k 1 60 ./x.sh",
            "/bin/bash -o pipefail x.sh",
            "bash -ec './x.sh | cat'",
            "sh -c 'exec sh x.sh'",
            ". ./x.sh",
            "sh <x.sh",
            "'./x.sh' >data.txt 2>&1",
            "./x\\.sh",
            "A=$(date) ./x.sh",
            "! ./x.sh",
            "if ./x.sh; then true; fi # ./y.sh",
            "cd sub; cd ..; ./x.sh",
        ] {
            let path = found(line, place);
            let is_it =
                |path: &PathBuf| path.canonicalize().unwrap() == place.join("x.sh").canonicalize().unwrap();
            assert!(path.len() == 1 && path.iter().all(is_it), "{line}: {path:?}");
        }
        check("./x.sh && ./y.sh", &["./x.sh", "./y.sh"]);
        check("cat data.txt | ./y.sh", &["./y.sh"]);
        check("'./my x.sh' 1", &["./my x.sh"]);
        check("cd sub && python3.12 z.py", &["sub/z.py"]);
        for line in [
            "x.sh",
            "./nothing.sh",
            "/",
            "~/x.sh",
            "",
            "pytest data.txt",
            "python3 -m http",
            "$X/x.sh",
            "echo '",
        ] {
            check(line, &[]);
        }
    }

    #[test]
    fn what_is_not_covered_is_named() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("x.sh"), "").unwrap();
        std::fs::write(temp.path().join("data.txt"), "").unwrap();
        assert_eq!(beside("./x.sh data.txt", temp.path()), ["data.txt"]);
        assert_eq!(beside("make -f data.txt x.sh", temp.path()), ["data.txt", "x.sh"]);
        assert_eq!(beside("./x.sh", temp.path()), Vec::<String>::new());
        assert!(
            are_relative("./x.sh")
                && are_relative("sh x.sh")
                && !are_relative("/bin/x")
                && !are_relative("ls")
        );
    }
}
