//! What `init` changed and what was there before, so that `uninstall` can give it back to the byte.
//!
//! It is written before the files are, and kept in the home root: what lies in a project may come from somebody else, and must not
//! decide what is written where. A file whose content is none that we wrote has been edited since: then its original is
//! of no use, and only our parts are taken out of it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anthill_core::error::Code;
use anthill_core::model::json;
use anthill_live::hooks::fingerprint::sha256;
use serde::{Deserialize, Serialize};

use super::fs;
use super::scope::Scope;
use crate::error::{CliError, Result, io_error};

const DIR: &str = ".anthill-install";
const VERSION: u64 = 1;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Record {
    version: u64,
    about: String,
    /// What the project is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Directories that were made, as seen from the root of the scopes.
    pub dirs: Vec<PathBuf>,
    scopes: BTreeMap<String, Installed>,
}

/// What was changed for one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// What hooks have called.
    pub commands: Vec<String>,
    pub files: Vec<Kept>,
}

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// As seen from the root of the scope.
    pub path: PathBuf,
    /// `None` if there was no such file.
    pub original: Option<String>,
    /// The hashes of what we wrote; the last may not have arrived.
    pub written: Vec<String>,
}

impl Kept {
    /// Whether this is what we wrote.
    pub fn wrote(&self, content: &str) -> bool {
        self.written.contains(&sha256(content.as_bytes()))
    }
}

impl Installed {
    pub fn file(&self, path: &Path) -> Option<&Kept> {
        self.files.iter().find(|kept| kept.path == path)
    }

    /// Notes what is about to be written, and what was there before.
    pub fn note(&mut self, path: &Path, original: Option<String>, content: &str) {
        let hash = sha256(content.as_bytes());
        match self.files.iter_mut().find(|kept| kept.path == path) {
            Some(kept) => {
                kept.original = original;
                kept.written.retain(|known| *known != hash);
                kept.written.push(hash);
            }
            None => self.files.push(Kept { path: path.to_owned(), original, written: vec![hash] }),
        }
    }
}

impl Record {
    /// Reads a record; an empty one if there is none.
    pub fn load(path: &Path) -> Result<Record> {
        let read = fs::read(path).map_err(|error| io_error(&format!("read `{}`", path.display()), &error))?;
        let Some(bytes) = read else {
            return Ok(Record { version: VERSION, about: about(), ..Record::default() });
        };
        let damaged = |message: String| {
            CliError::new(Code::Damaged, format!("`{}` is damaged: {message}", path.display()))
                .hinted("without it the original files are not known: move it away and repeat, and only our parts are taken out")
        };
        let value = json::parse_within(&bytes, 100).map_err(|error| damaged(error.to_string()))?;
        if value["version"].as_u64().is_some_and(|version| version > VERSION) {
            let message = format!("`{}` was written by a newer anthill", path.display());
            return Err(CliError::new(Code::Unsupported, message).hinted("use that one"));
        }
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
    }

    /// Writes it, readable for its owner only: settings may hold secrets. One without content is removed.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        if self.scopes.is_empty() {
            return fs::remove(path);
        }
        let value = serde_json::to_value(self).map_err(io::Error::other)?;
        path.parent().map_or(Ok(()), fs::private_dir)?;
        fs::write(path, &json::render(&value), 0o600)
    }

    pub fn scope(&self, scope: Scope) -> Installed {
        self.scopes.get(scope.word()).cloned().unwrap_or_default()
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains_key(scope.word())
    }

    pub fn set(&mut self, scope: Scope, installed: Installed) {
        self.scopes.insert(scope.word().into(), installed);
    }

    pub fn forget(&mut self, scope: Scope) {
        self.scopes.remove(scope.word());
    }
}

/// Returns what other projects than that of this record are called.
pub fn other_projects(record: &Path) -> Vec<String> {
    let entries = record.parent().and_then(|dir| std::fs::read_dir(dir).ok());
    let files = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    // A record that cannot be read names nobody; who needs it will hear of that.
    // What a killed process was about to write is no record: it ends in another way.
    let is_record = |file: &PathBuf| file != record && file.extension().is_some_and(|end| end == "json");
    let records = files.filter(is_record).filter_map(|file| Record::load(&file).ok());
    records.filter_map(|record| record.project).collect()
}

/// Returns the file that keeps the record of a project, or of the user.
pub fn place(home: &Path, project: Option<&Path>) -> PathBuf {
    let name = match project {
        None => "user".into(),
        Some(project) => {
            let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
            let hash = sha256(project.as_os_str().as_encoded_bytes());
            let name = project.file_name().unwrap_or_default().to_string_lossy();
            let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
            let name: String = name.chars().take(40).map(plain).collect();
            format!("{name}-{}", &hash[..12])
        }
    };
    home.join(DIR).join(format!("{name}.json"))
}

fn about() -> String {
    "what `anthill init` changed, and what was there before; `anthill uninstall` needs it".into()
}
