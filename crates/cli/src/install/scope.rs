//! Whose settings an installation changes.

use anthill_core::model::clients::{self, CLIENTS, Client, File};
use clap::ValueEnum;
use clap::builder::PossibleValue;

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Project,
    User,
    Local,
    Plugin,
}

impl Scope {
    pub fn word(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
            Scope::Local => "local",
            Scope::Plugin => "plugin",
        }
    }

    fn about(self) -> String {
        let files = || CLIENTS.iter().flat_map(|client| self.files(client)).map(|file| file.path);
        match self {
            Scope::Project => "Those of this project, which everybody who works on it shares".into(),
            Scope::User => "Yours, for all projects".into(),
            Scope::Local => {
                let files: Vec<_> = files().map(|file| format!("`{file}`")).collect();
                format!("Yours, for this project: hooks in {} and nothing else", files.join(", "))
            }
            Scope::Plugin => format!("None: makes a plugin for {}", self.titles()),
        }
    }

    /// Whether it exists for a client.
    pub fn has(self, client: &Client) -> bool {
        !self.files(client).is_empty() || self == Scope::Plugin && client.files.plugin.is_some()
    }

    /// Names the clients that it exists for.
    pub fn titles(self) -> String {
        clients::titles(|client| self.has(client))
    }

    pub fn files(self, client: &Client) -> &'static [File] {
        match self {
            Scope::Project => client.files.project,
            Scope::User => client.files.user,
            Scope::Local => client.files.local,
            Scope::Plugin => &[],
        }
    }
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Scope] {
        &[Scope::Project, Scope::User, Scope::Local, Scope::Plugin]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.word()).help(self.about()))
    }
}
