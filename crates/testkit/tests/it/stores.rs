//! The stores that the tests run on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anthill_core::ops::settings;
use anthill_core::store::Engine;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::file::{FileEngine, Options};
use anthill_testkit::sim_fs::SimFs;
use tempfile::TempDir;

/// Segments so short that nearly every commit starts a new one.
pub const TINY: u64 = 600;
pub const NORMAL: u64 = 1 << 20;

/// Keeps all history, so that nothing is missing by intention.
pub fn options(segment_bytes: u64) -> Options {
    let defaults = Options::default();
    let long_bytes = defaults.long_bytes.min(segment_bytes as usize);
    Options {
        segment_bytes,
        long_bytes,
        kept_segments: 100_000,
        told_segments: Some(settings::kept_segments),
        patience: Duration::from_secs(20),
        ..defaults
    }
}

/// Gives up on a lock soon, but not while another thread of the same test may still need it.
pub fn hasty(segment_bytes: u64) -> Options {
    Options { patience: Duration::from_secs(2), ..options(segment_bytes) }
}

pub fn real(root: &Path, options: Options) -> FileEngine {
    let fs = |name| Arc::new(RealFs::new(root.join(name)));
    FileEngine::new(fs("home"), fs("project"), options)
}

pub fn simulated(home: &SimFs, project: &SimFs, options: Options) -> FileEngine {
    FileEngine::new(Arc::new(home.clone()), Arc::new(project.clone()), options)
}

pub fn sim_fs(exchange: bool) -> SimFs {
    let fs = SimFs::new();
    fs.set_waiting(true);
    fs.set_exchange_supported(exchange);
    fs
}

pub fn temp_dir() -> TempDir {
    tempfile::Builder::new().prefix("anthill-").tempdir().unwrap()
}

/// Makes engines on empty directories, and removes those in the end.
pub fn on_disk(segment_bytes: u64) -> impl Fn(Duration) -> Box<dyn Engine> {
    let dir = temp_dir();
    move |patience| {
        let root: PathBuf = tempfile::tempdir_in(&dir).unwrap().keep();
        Box::new(real(&root, Options { patience, ..options(segment_bytes) }))
    }
}

pub fn in_simulation(exchange: bool) -> impl Fn(Duration) -> Box<dyn Engine> {
    move |patience| {
        let options = Options { patience, ..options(NORMAL) };
        Box::new(simulated(&sim_fs(exchange), &sim_fs(exchange), options))
    }
}
