//! The clients of coding agents that we know: a module for each, behind one table.
//!
//! Whatever differs from client to client is a field of [`Client`]: data, and functions from values to values. Others walk
//! [`CLIENTS`] and know none of them by name. What has to look at files or processes is in `live`, told by this data where to
//! look. `docs/clients.md` says how to add one.

mod claude;
mod client;
mod codex;
mod files;
mod gemini;
mod heard;
mod hooks;
mod opencode;
mod run;

pub use client::{Client, Speech, Variables};
pub use files::{Content, Dir, File, Files, Instructions, Plugin, SHARED_INSTRUCTIONS, Setting};
pub use heard::Heard;
pub use hooks::{Denial, HookEvent, Hooks, Tool, What};
pub use run::{Run, Trust, Wants};
use serde_json::Value;

use super::ailment::Ailment;
use super::ids::Key;

pub const CLIENTS: [&Client; 4] = [&claude::CLIENT, &codex::CLIENT, &gemini::CLIENT, &opencode::CLIENT];

/// The client that is meant where none is named, and whose home is ours.
pub const DEFAULT: &Client = &claude::CLIENT;

/// The session, as scripts of the seeds read it.
pub const SEED_SESSION: &str = claude::SEED_SESSION;

/// Returns the client of this name.
pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.into_iter().find(|client| client.name == name)
}

/// Returns the event of this name, with the first client that has it. Clients that share a name mean the same by it.
pub fn event(name: &str) -> Option<(&'static Client, &'static HookEvent)> {
    let events = |client: &'static Client| client.hooks.events.iter().map(move |event| (client, event));
    CLIENTS.into_iter().flat_map(events).find(|(_, event)| event.name == name)
}

/// Returns what the tool of this name does.
pub fn tool(name: &str) -> Option<Tool> {
    let mut tools = CLIENTS.into_iter().flat_map(|client| client.tools);
    tools.find(|(tool, _)| *tool == name).map(|(_, does)| *does)
}

/// Returns the words of all by which errors tell of an ailment.
pub fn ailment_words(ailment: Ailment) -> impl Iterator<Item = &'static &'static str> {
    let of_all = CLIENTS.into_iter().flat_map(|client| client.ailments);
    of_all.filter(move |(of, _)| *of == ailment).flat_map(|(_, words)| *words)
}

/// Takes an event that one of them has printed. Returns whether it was one.
pub fn hear(event: &Value, heard: &mut Heard) -> bool {
    if !CLIENTS.into_iter().any(|client| (client.speech.hear)(event, heard)) {
        return false;
    }
    let name = CLIENTS.into_iter().find_map(|client| event.get(client.speech.conversation)?.as_str());
    let name = name.and_then(|name| name.parse::<Key>().ok());
    // It becomes an argument, and must not look like an option.
    heard.conversation = name.filter(|name| !name.as_str().starts_with('-')).or(heard.conversation.take());
    true
}

/// Returns what the agent says in an event of whichever client.
pub fn said(event: &Value) -> impl Iterator<Item = &str> {
    CLIENTS.into_iter().flat_map(|client| (client.speech.said)(event))
}

/// Returns the names of all, joined.
pub fn names(joint: &str) -> String {
    CLIENTS.map(|client| client.name).join(joint)
}

/// Returns what those are called for whom something holds.
pub fn titles(holds: impl Fn(&Client) -> bool) -> String {
    let titles: Vec<_> =
        CLIENTS.into_iter().filter(|client| holds(client)).map(|client| client.title).collect();
    titles.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_clients_share_mean_the_same() {
        for client in CLIENTS {
            assert_eq!(find(client.name), Some(client));
            for of_client in client.hooks.events {
                let (first, found) = event(of_client.name).unwrap();
                assert_eq!(found.what, of_client.what, "{found:?}");
                let denials = (first.hooks.denial, client.hooks.denial);
                assert!(found.what != What::BeforeTool || denials.0 == denials.1, "{found:?}");
            }
            for (name, does) in client.tools {
                assert_eq!(tool(name), Some(*does), "{name}");
            }
        }
        assert_eq!(find("another"), None);
    }

    #[test]
    fn words_of_errors_are_in_small_letters() {
        for (_, words) in CLIENTS.iter().flat_map(|client| client.ailments) {
            words.iter().for_each(|word| assert_eq!(*word, word.to_lowercase()));
        }
    }
}
