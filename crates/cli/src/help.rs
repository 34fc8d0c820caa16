//! Fills the names of clients into help texts, from their table.

use anthill_core::model::clients::{self, CLIENTS, Client, DEFAULT, Variables};
use clap::Command;
use clap::builder::StyledStr;

/// Fills in the help of a command and its sub-commands.
pub fn filled(mut command: Command) -> Command {
    if let Some(about) = command.get_about().and_then(fill) {
        command = command.about(about);
    }
    if let Some(about) = command.get_long_about().and_then(fill) {
        command = command.long_about(about);
    }
    let command = command.mut_args(|arg| match arg.get_help().and_then(fill) {
        Some(help) => arg.help(help),
        None => arg,
    });
    command.mut_subcommands(filled)
}

/// Returns a text with its blanks filled in; `None` if it has none.
fn fill(text: &StyledStr) -> Option<String> {
    let text = text.to_string();
    let blanks: Vec<_> = BLANKS.iter().filter(|(blank, _)| text.contains(blank)).collect();
    let fill = |text: String, (blank, words): &Blank| text.replace(blank, &words());
    (!blanks.is_empty()).then(|| blanks.into_iter().fold(text, fill))
}

/// What stands for words, and the words.
type Blank = (&'static str, fn() -> String);

const BLANKS: [Blank; 7] = [
    ("{agents}", || clients::names(", ")),
    ("{`agents`}", || format!("`{}`", clients::names("`, `"))),
    ("{client}", || DEFAULT.title.into()),
    ("{hooks}", || clients::titles(|client| !client.hooks.events.is_empty())),
    ("{status line}", || clients::titles(|client| client.files.has_status_line())),
    ("{home}", || variables(|variables| variables.home)),
    ("{project}", || variables(|variables| variables.project)),
];

fn variables(which: fn(&Variables) -> Option<&'static str>) -> String {
    let variables = |client: &&Client| which(&client.variables);
    CLIENTS.iter().filter_map(variables).collect::<Vec<_>>().join(", ")
}
