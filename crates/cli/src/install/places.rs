//! Where clients look for their settings.

use std::path::{Path, PathBuf};

use anthill_core::model::clients::{CLIENTS, Client, DEFAULT, Dir};

use super::record;
use super::scope::Scope;
use crate::context::Context;
use crate::env;
use crate::error::{Result, io_error};

/// The directories in which clients look.
#[derive(Debug)]
pub struct Places {
    pub project: PathBuf,
    /// The home root, `~/.claude`.
    pub home: PathBuf,
    /// The user's home directory.
    pub user: PathBuf,
    /// Where a plugin goes.
    pub plugin: PathBuf,
}

impl Places {
    pub fn find(context: &Context<'_>, plugin: Option<&Path>) -> Result<Places> {
        let found = |place: std::io::Result<PathBuf>| {
            place.map_err(|error| io_error("find the files of clients", &error))
        };
        let home = found(context.roots.home())?;
        let plugin = match plugin {
            Some(told) => found(std::path::absolute(told))?,
            None => home.join("anthill-plugin"),
        };
        let user = env::path(env::HOME).unwrap_or_else(|| "/".into());
        Ok(Places { project: found(context.roots.project())?, home, user, plugin })
    }

    /// Returns the client that is meant unless told, and those that the project shows traces of.
    pub fn clients(&self) -> Vec<&'static Client> {
        let has = |trace: &str| self.project.join(trace).exists();
        let is_used =
            |client: &&Client| *client == DEFAULT || client.files.traces.iter().any(|trace| has(trace));
        CLIENTS.into_iter().filter(is_used).collect()
    }

    pub fn dir(&self, dir: Dir) -> &Path {
        match dir {
            Dir::Project => &self.project,
            Dir::Home => &self.home,
            Dir::User => &self.user,
        }
    }

    /// Returns the directory that paths in the record are relative to.
    pub fn base(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Project | Scope::Local => &self.project,
            Scope::User | Scope::Plugin => &self.home,
        }
    }

    /// Returns the file of the record.
    pub fn record(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::Project | Scope::Local => record::place(&self.home, Some(&self.project)),
            Scope::User | Scope::Plugin => record::place(&self.home, None),
        }
    }
}
