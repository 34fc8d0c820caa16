//! Command lines that people copy, out of the help texts and the documents: each is one that the program understands.
//!
//! A shell reads them, so quotes, pipes and comments count as they do for whoever types them; in it `anthill` only notes
//! its words and every other program does nothing. The blocks of the documents are also run, see `tests/it/texts`.

#![expect(
    clippy::disallowed_methods,
    reason = "lays out what the examples read, and looks at what they said"
)]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use clap::error::ErrorKind;

use crate::command_line::Cli;

/// Notes the words of every call in a file; reads what it is given, as the program would.
const SHELL: &str = r#"
anthill() { printf '%s\0' anthill "$@" >>words; printf '\n\0' >>words; [ -t 0 ] || while read -r _; do :; done; }
command_not_found_handle() { :; }
PATH=/nowhere
"#;

/// What examples read, and where they write.
const FILES: [&str; 3] = ["event.json", "requirements.md", "config.json"];

/// Returns the words of every call of `anthill` in a line of shell.
fn calls(line: &str) -> Vec<Vec<String>> {
    let place = tempfile::tempdir().unwrap();
    FILES.iter().for_each(|name| fs::write(place.path().join(name), "").unwrap());
    fs::create_dir_all(place.path().join(".local/share/bash-completion/completions")).unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{SHELL}{line}")]).env("HOME", place.path()).current_dir(place.path());
    shell.stdin(std::process::Stdio::null()).output().expect("bash runs");
    let noted = fs::read_to_string(place.path().join("words")).unwrap_or_default();
    let words: Vec<&str> = noted.split_terminator('\0').collect();
    let calls = words.split(|word| *word == "\n").filter(|call| !call.is_empty());
    calls.map(|call| call.iter().map(ToString::to_string).collect()).collect()
}

/// The parser of one command reads a line as that of all commands does.
fn is_read_alike(words: &[String]) {
    let args: Vec<OsString> = words.iter().map(Into::into).collect();
    let (alone, whole) = (Cli::read(&args), Cli::try_parse_from(words));
    let text = |read: Result<Cli, clap::Error>| {
        read.map_or_else(|error| error.to_string(), |cli| format!("{cli:?}"))
    };
    assert_eq!(text(alone), text(whole), "{words:?}");
}

/// Says what is wrong with a line, which may only name a command (`anthill set`) if that is allowed.
fn fault(line: &str, may_name: bool) -> Option<String> {
    let calls = calls(line);
    if calls.is_empty() {
        return Some("it does not call anthill".into());
    }
    calls.iter().for_each(|words| is_read_alike(words));
    let error = calls.iter().find_map(|words| Cli::try_parse_from(words).err())?;
    let has_placeholder = calls.concat().iter().any(|word| is_placeholder(word));
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::InvalidSubcommand
            if has_placeholder =>
        {
            None
        }
        ErrorKind::MissingRequiredArgument if may_name => None,
        _ => Some(error.to_string()),
    }
}

/// Whether a word stands for another: `KIND`, `MESSAGE-ID`.
fn is_placeholder(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

#[track_caller]
fn check(lines: impl IntoIterator<Item = (String, String)>, may_name: bool) {
    let lines: Vec<_> = lines.into_iter().collect();
    assert!(lines.len() > 20, "the examples were not found: {lines:?}");
    let faults =
        lines.iter().filter_map(|(place, line)| Some(format!("{place}: {line}\n{}", fault(line, may_name)?)));
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the examples of a command and of those below it, each with the command's name.
fn examples(command: &clap::Command, found: &mut Vec<(String, String)>) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let (_, shown) = about.split_once("Examples:\n").unwrap_or_default();
    let lines = shown.lines().take_while(|line| line.starts_with(' '));
    let whole = lines.collect::<Vec<_>>().join("\n").replace("\\\n", "");
    found.extend(whole.lines().map(|line| (command.get_name().to_owned(), line.trim().to_owned())));
    command.get_subcommands().for_each(|below| examples(below, found));
}

#[test]
fn every_example_of_the_help_can_be_typed() {
    let mut found = Vec::new();
    examples(&Cli::whole(), &mut found);
    check(found, false);
}

/// Returns the command lines within sentences. A form (`get KIND [--field PATH]`, `a|b`, `FILE…`) is none.
fn spans(text: &str) -> impl Iterator<Item = String> {
    let prose = text.split("```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2));
    let is_form = |span: &str| span.contains(['[', '|', '…']);
    prose
        .filter(move |span| span.starts_with("anthill ") && !is_form(span))
        .map(|span| span.replace('\n', " "))
}

#[test]
fn every_command_in_a_sentence_of_the_documents_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let of = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        spans(&text).map(|span| (name.clone(), span)).collect::<Vec<_>>()
    };
    check(pages.chain([root.join("README.md")]).flat_map(|path| of(&path)), true);
}
