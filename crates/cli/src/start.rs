//! Begin and end of the process.
//!
//! What the standard library does before `main` costs a tenth of an empty process: it prepares to tell of a stack
//! overflow, which a signal tells as well. The static program therefore has a `main` of its own, the C library's,
//! and does here what it needs: descriptors 0 to 2 are open, a closed pipe and a file that may not grow are errors and
//! no death, and the arguments are kept, since `std::env::args` knows none of them. Other targets start as usual. Whatever wants to know
//! how this process was started asks here.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
#[cfg(any(not(target_env = "musl"), test))]
use std::sync::Arc;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// What a process tells its parent at the end. Std's type keeps its number to itself, and we end the process by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    pub const SUCCESS: ExitCode = ExitCode(0);
}

impl From<u8> for ExitCode {
    fn from(code: u8) -> ExitCode {
        ExitCode(code)
    }
}

/// Runs the program and ends the process.
pub fn run_and_exit(args: Vec<OsString>) -> ! {
    end(crate::guarded(ARGUMENTS.get_or_init(|| args)))
}

/// Returns the words behind the program's name.
pub fn arguments() -> &'static [OsString] {
    ARGUMENTS.get().and_then(|words| words.get(1..)).unwrap_or_default()
}

/// Returns this program, to be started again. One that was replaced or removed while it runs has only the kernel's name
/// for it left.
pub fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { "/proc/self/exe".into() })
}

/// Ends the process; what is to follow its change is set off.
pub fn end(ExitCode(code): ExitCode) -> ! {
    crate::hooks::set_off();
    // Also flushes stdout.
    std::process::exit(code.into())
}

/// Lets a write fail that would make a file too long (`ulimit -f`), instead of ending the process.
#[cfg(any(not(target_env = "musl"), test))]
pub fn survive_long_files() {
    /// `SIGXFSZ`, wherever there are processors that we build for.
    const FILE_TOO_LONG: i32 = 25;
    let _ = signal_hook::flag::register(FILE_TOO_LONG, Arc::default());
}

#[cfg(all(target_env = "musl", not(test)))]
mod lean {
    #![allow(unsafe_code, reason = "C calls us, and we call C")]

    use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
    use std::os::unix::ffi::OsStrExt;

    use super::run_and_exit;

    /// The allocator of musl asks the system for memory at every turn; so does any other for its first block.
    #[global_allocator]
    static ALLOCATOR: crate::arena::Arena<dlmalloc::GlobalDlmalloc> =
        crate::arena::Arena::before(dlmalloc::GlobalDlmalloc);

    // SAFETY: the one `main` of the program, with the type that C gives it.
    #[unsafe(no_mangle)]
    extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
        open_standard_files();
        // SAFETY: ignoring a signal touches nothing of ours, and neither does what we do about the other one.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            libc::signal(libc::SIGXFSZ, nothing as *const () as libc::sighandler_t);
        }
        let word = |index| {
            // SAFETY: C passes `count` words that end with a zero and stay for the life of the process.
            let word = unsafe { CStr::from_ptr(*words.add(index)) };
            OsString::from(OsStr::from_bytes(word.to_bytes()))
        };
        run_and_exit((0..usize::try_from(count).unwrap_or(0)).map(word).collect())
    }

    /// What we do about a file that may not grow: the write that wanted it fails. Who is started by us does not inherit
    /// this, as it would that the signal is ignored.
    extern "C" fn nothing(_: c_int) {}

    /// Puts `/dev/null` where a standard file is closed: else the next file that is opened, perhaps a journal, would get
    /// its number, and with it what is meant for a terminal.
    fn open_standard_files() {
        for file in 0..3 {
            // SAFETY: looks at a number that may or may not be open, and opens the lowest that is not.
            let fine = unsafe {
                libc::fcntl(file, libc::F_GETFD) != -1
                    || libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) == file
            };
            if !fine {
                std::process::abort();
            }
        }
    }
}
