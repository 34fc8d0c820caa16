//! The start of the process.
//!
//! What the standard library does before `main` costs a tenth of an empty process: it prepares to tell of a stack
//! overflow, which a signal tells as well. The static program therefore has a `main` of its own, the C library's,
//! and does here what it needs: descriptors 0 to 2 are open, a closed pipe and a file that may not grow are errors and
//! do not kill us, and the arguments are kept, since `std::env::args` has none of them. Other targets start as usual.

use std::ffi::OsString;
#[cfg(any(not(target_env = "musl"), test))]
use std::sync::Arc;

use crate::{command_line, process};

/// Runs the program and ends the process.
pub fn run_and_exit(args: Vec<OsString>) -> ! {
    process::end(command_line::run(process::keep_arguments(args)))
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

    use crate::start::run_and_exit;

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

    /// Handles a file that may not grow: the write fails. Programs that we start do not inherit a handler; they would inherit that the
    /// signal is ignored.
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
