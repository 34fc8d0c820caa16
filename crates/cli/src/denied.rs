//! Who owns a file that we may not use, and what that owner can do about it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anthill_core::view::shell;

use crate::roots::user_name;

/// Says who owns the file that we may not use, if it is somebody else, and what to do.
pub fn hints(path: &str, error: &io::Error) -> Vec<String> {
    let own = rustix::process::geteuid().as_raw();
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Vec::new();
    }
    let Some((found, about)) = obstacle(Path::new(path)) else { return Vec::new() };
    if about.uid() == own {
        return vec![format!("`{}` is yours: chmod u+rwX lets you use it", found.display())];
    }
    let owner = user_name(about.uid());
    let told = format!("`{}` belongs to {owner}, with mode {:04o}", found.display(), about.mode() & 0o7777);
    vec![told, way_out(&state_dir(&found, &about), about.uid())]
}

fn way_out(dir: &Path, owner: u32) -> String {
    let dir = shell::word(&dir.display().to_string());
    if owner == 0 {
        return format!("to have it back: sudo chown -R \"$(id -un)\" {dir}");
    }
    format!(
        "its owner can share it with a group of yours: chgrp -R GROUP {dir}; chmod -R g+rwX,o= {dir}; \
         find {dir} -type d -exec chmod g+s '{{}}' +"
    )
}

/// Returns the deepest part of a path that we may look at: that is what stops us.
fn obstacle(path: &Path) -> Option<(PathBuf, Metadata)> {
    path.ancestors().find_map(|path| Some((path.to_owned(), path.symlink_metadata().ok()?)))
}

/// Returns the directory of the documents that something belongs to.
fn state_dir(found: &Path, about: &Metadata) -> PathBuf {
    let dir = if about.is_dir() { found } else { found.parent().unwrap_or(found) };
    let is_hidden = dir.file_name().is_some_and(|name| name == ".anthill");
    if is_hidden { dir.parent().unwrap_or(dir) } else { dir }.to_owned()
}
