//! The files of a client in which `init` puts something.

use serde_json::Value;

/// Instructions that several clients read.
pub const SHARED_INSTRUCTIONS: &str = "AGENTS.md";

#[derive(Debug)]
pub struct Files {
    /// What shows in a project that the client is used there.
    pub traces: &'static [&'static str],
    pub project: &'static [File],
    /// For all projects of a user.
    pub user: &'static [File],
    /// For one user and one project; empty if the client has no such settings.
    pub local: &'static [File],
    pub plugin: Option<Plugin>,
    pub instructions: Instructions,
    /// What a person has to do besides.
    pub advice: Option<&'static str>,
}

impl Files {
    /// Whether its status line can show something of ours.
    pub fn has_status_line(&self) -> bool {
        let files = self.project.iter().chain(self.user);
        files.into_iter().any(
            |file| matches!(file.content, Content::Settings(parts) if parts.contains(&Setting::StatusLine)),
        )
    }
}

#[derive(Debug)]
pub struct File {
    pub dir: Dir,
    pub path: &'static str,
    pub content: Content,
}

/// What a path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dir {
    Project,
    /// The home root.
    Home,
    /// The user's home directory.
    User,
}

impl Dir {
    pub(super) const fn settings(self, path: &'static str, parts: &'static [Setting]) -> File {
        File { dir: self, path, content: Content::Settings(parts) }
    }

    pub(super) const fn team(self, path: &'static str) -> File {
        File { dir: self, path, content: Content::Team }
    }

    pub(super) const fn script(self, path: &'static str, text: fn(&str) -> String) -> File {
        File { dir: self, path, content: Content::Script(text) }
    }
}

#[derive(Debug)]
pub enum Content {
    /// Settings of others, with these parts of ours.
    Settings(&'static [Setting]),
    /// A text of ours that runs the command that it is given.
    Script(fn(&str) -> String),
    /// A directory with our agents and skills.
    Team,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Hooks,
    StatusLine,
    /// What an earlier version registered.
    Server,
}

/// The files of instructions that its agents read.
#[derive(Debug)]
pub struct Instructions {
    /// In a project. Of several, it is the first one that is there.
    pub project: &'static [&'static str],
    /// For all projects of a user.
    pub user: (Dir, &'static str),
    /// The line that takes in [`SHARED_INSTRUCTIONS`].
    pub import: Option<&'static str>,
}

/// A plugin in a marketplace of its own.
#[derive(Debug)]
pub struct Plugin {
    /// Where in the marketplace it is.
    pub dir: &'static str,
    /// Where in it the protocol is.
    pub protocol: &'static str,
    /// Returns the documents of the marketplace, from the entries of the hooks and our version.
    pub documents: fn(&Value, &str) -> Vec<(&'static str, Value)>,
    /// Returns what a person types to have it, from where the marketplace is.
    pub install: fn(&str) -> Vec<String>,
    /// What a person has to know when it is gone.
    pub removed: &'static str,
}
