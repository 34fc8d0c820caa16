//! What a command is at this moment: its text, and the bytes of the script that it names.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anthill_core::ops::trust::Fingerprint;
use sha2::{Digest, Sha256};

/// Takes a command's fingerprint as seen from a working directory.
pub fn take(command: &str, place: &Path) -> io::Result<Fingerprint> {
    let file = match script_of(command, place) {
        None => None,
        Some(path) => {
            let hash = hash(File::open(&path)?)?;
            Some((path.display().to_string(), hash))
        }
    };
    Ok(Fingerprint { command: command.to_owned(), sha256: hash(command.as_bytes())?, file })
}

/// Returns the file that the first word names. A name without a slash is looked for elsewhere by the shell, so it names
/// none.
fn script_of(command: &str, place: &Path) -> Option<PathBuf> {
    let word = command.split_whitespace().next().filter(|word| word.contains('/'))?;
    Some(place.join(word)).filter(|path| path.is_file())
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
    fn the_first_word_is_covered_if_it_names_a_file() {
        let dir = std::env::current_dir().unwrap();
        let of = |command: &str| take(command, &dir).unwrap();
        let bare = of("abc");
        assert_eq!(bare.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(bare.file, None);
        assert_eq!(of("Cargo.toml").file, None, "the shell would not run it");
        let (path, hash) = of("./Cargo.toml --flag").file.unwrap();
        assert!(path.ends_with("/Cargo.toml") && hash.len() == 64, "{path} {hash}");
        assert_eq!(of(&format!("{path} x")).file.unwrap().1, hash);
        for other in ["./nothing.sh", "/", "~/x.sh", ""] {
            assert_eq!(of(other).file, None, "{other}");
        }
    }
}
