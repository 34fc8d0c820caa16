//! Two computations at once.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread::{self, Builder};

/// Computes both, the second one in a thread of its own if the system has one left. No file is touched in threads:
/// the order of file operations stays one that can be tested.
pub fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    let other = Mutex::new(Some(other));
    // A thread that does not start gives nothing back, so it must not own its work.
    let run = || {
        let other = other.lock().expect("BUG: nobody panics with this lock").take();
        other.expect("it is run once")()
    };
    thread::scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, run);
        let one = one();
        let other = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => run(),
        };
        (one, other)
    })
}
