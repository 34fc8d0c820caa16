//! Task files: what a command can read about its task, in a private directory.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anthill_core::model::ids::Key;
use anthill_core::model::task::Task;
use serde_json::Value;

use super::{Error, Result};

/// A private directory that is removed at the end.
#[derive(Debug)]
pub struct TaskFiles(PathBuf);

impl TaskFiles {
    pub fn new() -> Result<TaskFiles> {
        made(&std::env::temp_dir()).map(TaskFiles).map_err(trouble)
    }

    pub fn dir(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, key: &Key, task: &Task) -> Result<TaskFile> {
        self.write_value(&format!("{key}-{}", task.epoch()), task.value())
    }

    /// Writes a file of this name, which is one of ours.
    pub fn write_value(&self, name: &str, value: &Value) -> Result<TaskFile> {
        let path = self.0.join(format!("{name}.json"));
        written(&path, &format!("{value:#}\n")).map_err(trouble)?;
        Ok(TaskFile(path))
    }
}

impl Drop for TaskFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One task's file, removed when it is dropped.
#[derive(Debug)]
pub struct TaskFile(PathBuf);

impl TaskFile {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TaskFile {
    #[expect(clippy::disallowed_methods, reason = "it is no state file, and it is ours")]
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const NAME: &str = "anthill-run-";

/// Whether a path is named like a directory of task files.
pub fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME))
}

/// Makes a directory that nobody else can have prepared: a name that is taken is not used.
fn made(parent: &Path) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let path = parent.join(format!("{NAME}{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            done => return done.map(|()| path),
        }
    }
}

fn written(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

fn trouble(source: io::Error) -> Error {
    Error::Io { action: "write a task file", source }
}
