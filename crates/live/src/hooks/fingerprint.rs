//! What a command is at this moment: its text, and the bytes of the scripts that it names.

use std::io::{self, Read};
use std::path::Path;

use anthill_core::ops::trust::{Fingerprint, Script};
use sha2::{Digest, Sha256};

use super::scripts;
use crate::foreign;

/// No script is larger; programs that were built may be named as well.
const LARGEST: u64 = 1 << 30;

/// Takes a command's fingerprint as seen from a working directory.
pub fn take(command: &str, place: &Path) -> io::Result<Fingerprint> {
    let mut files: Vec<Script> = Vec::new();
    for path in scripts::found(command, place) {
        let name = path.display().to_string();
        if files.iter().all(|known| known.path != name) {
            let file = foreign::open(&path)?;
            if file.metadata()?.len() > LARGEST {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("`{name}` is too large")));
            }
            files.push(Script { sha256: hash(file)?, path: name });
        }
    }
    let sha256 = sha256(command.as_bytes());
    Ok(Fingerprint { command: command.to_owned(), sha256, files, project: None })
}

/// Takes the fingerprint of a command that the project at `root` names.
pub fn of_project(command: &str, root: &Path) -> io::Result<Fingerprint> {
    let root = root.canonicalize()?;
    let project = Some(root.display().to_string());
    Ok(Fingerprint { project, ..take(command, &root)? })
}

/// Returns the SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(mut bytes: impl Read) -> io::Result<String> {
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match bytes.read(&mut chunk) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(length) => hash.update(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_covered_with_the_text() {
        let dir = std::env::current_dir().unwrap();
        let of = |command: &str| take(command, &dir).unwrap();
        let bare = of("abc");
        assert_eq!(bare.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(bare.files, []);
        let script = of("./Cargo.toml --flag").files.remove(0);
        assert!(script.path.ends_with("/Cargo.toml") && script.sha256.len() == 64, "{script:?}");
        assert_eq!(of(&format!("{} x", script.path)).files[0].sha256, script.sha256);
        assert_eq!(of("./Cargo.toml && ./Cargo.toml").files.len(), 1, "once");
        assert_eq!(of_project("abc", &dir).unwrap().project.unwrap(), dir.display().to_string());
    }
}
