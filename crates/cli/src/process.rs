//! This process: how it was started, and how it ends.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();
static AT_END: OnceLock<fn()> = OnceLock::new();

/// The exit code of a process. The one of std does not give its number, which we need to end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    pub const SUCCESS: ExitCode = ExitCode(0);

    /// Returns what a shell would say of the signal that stopped us.
    pub fn of_signal(signal: i32) -> ExitCode {
        u8::try_from(128 + signal).unwrap_or(1).into()
    }
}

impl From<u8> for ExitCode {
    fn from(code: u8) -> ExitCode {
        ExitCode(code)
    }
}

/// Keeps the command line, the program's name included, for whoever asks later.
pub fn keep_arguments(args: Vec<OsString>) -> &'static [OsString] {
    ARGUMENTS.get_or_init(|| args)
}

/// Returns the words behind the program's name.
pub fn arguments() -> &'static [OsString] {
    ARGUMENTS.get().and_then(|words| words.get(1..)).unwrap_or_default()
}

/// Returns the path of this program, to start it again. If it was replaced or removed meanwhile, that is the kernel's name for it.
pub fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { "/proc/self/exe".into() })
}

/// Says what to do right before the process ends. Only the first call counts.
pub fn at_end(last: fn()) {
    AT_END.get_or_init(|| last);
}

/// Ends the process, from anywhere.
pub fn end(ExitCode(code): ExitCode) -> ! {
    AT_END.get().into_iter().for_each(|last| last());
    // Also flushes stdout.
    std::process::exit(code.into())
}
