//! Ctrl-C, `kill` and a closed terminal end the run.

use std::sync::Arc;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::run_state::RunState;
use super::{Error, Result};

/// Keeps heeding signals until it is dropped.
pub struct Heeding(Handle);

impl Drop for Heeding {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Ends the run at a signal. Signals that our caller ignores (`nohup`) stay ignored.
pub fn heed(state: &Arc<RunState>) -> Result<Heeding> {
    let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let signals = Signals::new(heeded);
    let mut signals = signals.map_err(|source| Error::Io { action: "heed signals", source })?;
    let (heeding, state) = (Heeding(signals.handle()), Arc::clone(state));
    thread::spawn(move || signals.forever().for_each(|signal| state.interrupt(signal)));
    Ok(heeding)
}

/// Returns the mask of ignored signals out of `/proc/self/status`; where there is none, nothing is ignored.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t1\n"), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
