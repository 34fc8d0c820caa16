//! The page of all commands, made of the same texts as `--help`, and compared with the committed one.

#![expect(
    clippy::disallowed_methods,
    reason = "reads, and with ANTHILL_BLESS=1 writes, a page of the repository"
)]

use std::fs;
use std::path::Path;

use clap::Command;

use crate::command_line::Cli;

const HEAD: &str = "# Reference\n\nEvery command, as `--help` tells it. This page is generated from the same source; a test holds it to that, and `ANTHILL_BLESS=1` writes it anew.\n";

/// How wide the texts are.
const WIDTH: usize = 100;

fn page() -> String {
    let mut whole = Cli::whole().term_width(WIDTH).disable_help_subcommand(true);
    whole.build();
    let mut page = HEAD.to_owned();
    tell(&whole, "anthill", &mut page);
    page
}

fn tell(command: &Command, name: &str, page: &mut String) {
    let help = command.clone().term_width(WIDTH).render_long_help().to_string();
    // What every command takes is told once, at the top.
    let own =
        if name == "anthill" { &help } else { help.split("\nGlobal options:\n").next().unwrap_or(&help) };
    let lines: Vec<_> = own.lines().map(str::trim_end).collect();
    *page += &format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim());
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        tell(verb, &format!("{name} {}", verb.get_name()), page);
    }
}

#[test]
fn the_reference_says_what_the_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let page = page();
    if std::env::var_os("ANTHILL_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    for (committed, now) in committed.split("\n## ").zip(page.split("\n## ")) {
        assert_eq!(committed, now, "ANTHILL_BLESS=1 writes docs/reference.md anew");
    }
    assert_eq!(committed.len(), page.len());
}
