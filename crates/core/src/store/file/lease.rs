//! Asking the kernel whether a file is open elsewhere. The one place with unsafe code: no crate wraps this call.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Returns whether nobody else has the file open or mapped.
///
/// The kernel grants a write lease only then. It is given back at once; whoever opens the file in between waits
/// for that, and the signal that tells us so is one that does nothing by default.
pub fn is_alone(file: &File) -> io::Result<bool> {
    let fd = file.as_raw_fd();
    // SAFETY: fcntl with these commands takes plain integers and touches no memory of ours; `file` keeps the
    // descriptor open for the duration of the calls.
    let call =
        |command: libc::c_int, argument: libc::c_int| match unsafe { libc::fcntl(fd, command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        };
    call(F_SETSIG, libc::SIGURG)?;
    match call(libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => call(libc::F_SETLEASE, libc::F_UNLCK).map(|()| true),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
        // Not our file, or a file system without leases.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL | libc::ENOSYS)) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        Err(error) => Err(error),
    }
}

/// Which signal tells of a broken lease; not every libc names it.
const F_SETSIG: libc::c_int = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_handle_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let open = || {
            File::options().read(true).write(true).create(true).truncate(false).open(&path).expect("a file")
        };
        let file = open();
        assert!(is_alone(&file).expect("leases"));
        let reader = File::open(&path).expect("it is there");
        assert!(!is_alone(&file).expect("leases"));
        drop(reader);
        assert!(is_alone(&file).expect("leases"));
    }
}
