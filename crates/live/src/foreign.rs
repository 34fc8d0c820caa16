//! Files that others wrote and we only read: settings, manifests, instructions, what somebody names on a command line.
//!
//! A repository may hold a pipe, a device or an endless file under any of these names. So there is one way to open them: without
//! waiting, only if it is a regular file, and up to the size that such a file ever needs.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open as open_at};

/// A file of a line or two: `.git` of a worktree, `commondir`.
pub const POINTER: u64 = 4 << 10;
/// The configuration of a project.
pub const CONFIG: u64 = 1 << 20;
/// What tools keep in a project: `package.json`, `pyproject.toml`, `go.mod`, a test.
pub const MANIFEST: u64 = 4 << 20;
/// Settings and instructions of clients.
pub const SETTINGS: u64 = 16 << 20;

/// How many links that lead nowhere are followed.
const LINKS: usize = 8;

/// Opens a regular file; links are followed.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open_at(path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(file),
        () if kind.is_dir() => return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory")),
        () if kind.is_fifo() => "it is a pipe, not a file",
        () if kind.is_char_device() || kind.is_block_device() => "it is a device, not a file",
        () => "it is not a file",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, what))
}

/// Reads a regular file of at most so many bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let too_large = || {
        let message = format!("it is larger than {limit} bytes");
        Err(io::Error::new(ErrorKind::FileTooLarge, message))
    };
    if length > limit {
        return too_large();
    }
    // A byte more than there is, so that the end is found without growing.
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { too_large() } else { Ok(bytes) }
}

/// Reads a regular file of text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Returns where a name below a directory leads if that is somewhere else; `None` if it stays below, or does not exist yet.
pub fn leads_out(root: &Path, name: &str) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let real = resolve(&root.join(name)).ok()?;
    (!real.starts_with(&root)).then_some(real)
}

/// Returns the file that a name leads to, also if it does not exist yet.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    resolve_within(path, LINKS)
}

fn resolve_within(path: &Path, links: usize) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => return other,
    }
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path.to_owned()) };
    match path.read_link() {
        Ok(target) if links > 0 => resolve_within(&dir.join(target), links - 1),
        Ok(_) => Err(io::Error::other("too many links")),
        Err(_) => Ok(resolve_within(dir, links)?.join(name)),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out files")]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn a_name_is_followed_to_where_it_leads() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        symlink(&outside, inside.join("dir")).unwrap();
        symlink("../out/new", inside.join("file")).unwrap();
        symlink("sub/x", inside.join("own")).unwrap();
        symlink("round", inside.join("round")).unwrap();
        assert_eq!(leads_out(&inside, "dir/deep/x"), Some(outside.join("deep/x")));
        assert_eq!(
            leads_out(&inside, "file"),
            Some(inside.join("../out/new").parent().unwrap().canonicalize().unwrap().join("new"))
        );
        for stays in ["own", "sub/y", "new/deep/x", "round"] {
            assert_eq!(leads_out(&inside, stays), None, "{stays}");
        }
    }

    #[test]
    fn only_regular_files_are_read_and_only_as_long_as_they_may_be() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("short"), "abc").unwrap();
        symlink(at("short"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        File::create(at("sparse")).unwrap().set_len(8 << 30).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from(0o600), 0).unwrap();

        assert_eq!(read_text(&at("short"), 3).unwrap(), "abc");
        assert_eq!(read(&at("link"), POINTER).unwrap(), b"abc");
        let refused = |name: &str, limit: u64| read(&at(name), limit).unwrap_err().to_string();
        assert_eq!(refused("short", 2), "it is larger than 2 bytes");
        assert_eq!(refused("sparse", CONFIG), "it is larger than 1048576 bytes");
        assert_eq!(refused("endless", CONFIG), "it is a device, not a file");
        assert_eq!(refused("pipe", CONFIG), "it is a pipe, not a file");
        assert_eq!(refused(".", CONFIG), "it is a directory");
        assert_eq!(read(&at("none"), CONFIG).unwrap_err().kind(), ErrorKind::NotFound);
        // Its length is 0, although it has contents.
        assert!(read(Path::new("/proc/self/status"), 10).is_err());
        assert!(!read(Path::new("/proc/self/status"), CONFIG).unwrap().is_empty());
    }
}
