//! This process: how it was started, and how it ends.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();
static AT_END: OnceLock<fn()> = OnceLock::new();

/// What a process tells its parent at the end. Std's type keeps its number to itself, and we end the process by number.
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

/// Returns this program, to be started again. One that was replaced or removed while it runs has only the kernel's name
/// for it left.
pub fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { "/proc/self/exe".into() })
}

/// Says what is still to be done right before the process ends. The first one to say so is heard.
pub fn at_end(last: fn()) {
    AT_END.get_or_init(|| last);
}

/// Ends the process, however deep in an answer we are.
pub fn end(ExitCode(code): ExitCode) -> ! {
    AT_END.get().into_iter().for_each(|last| last());
    // Also flushes stdout.
    std::process::exit(code.into())
}
