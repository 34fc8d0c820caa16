//! The file engine as it is told: two roots, and its settings. What it does stands in the files above this one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::fs::Fs;
use crate::model::room::{Room, Root};
use crate::store::engine::Engine;
use crate::store::error::Result;

/// Says how many segments stay, if somebody has decided that.
pub type ToldSegments = fn(&dyn Engine) -> Result<Option<usize>>;

/// Settings of the file engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for a lock.
    pub patience: Duration,
    pub allow_network_fs: bool,
    /// A journal longer than this starts a new segment.
    pub segment_bytes: u64,
    /// How many older segments stay for `history`, if nobody says otherwise.
    pub kept_segments: usize,
    /// Who is asked for that, whenever a segment is put aside: what cannot be told now may be that all of them stay.
    pub told_segments: Option<ToldSegments>,
    /// The content of a list that is at least this long is kept beside the journal instead of in it.
    pub long_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            patience: Duration::from_secs(10),
            allow_network_fs: false,
            segment_bytes: 1 << 20,
            kept_segments: 16,
            told_segments: None,
            long_bytes: 64 << 10,
        }
    }
}

/// How long a look waits for writers before it reads the whole document instead.
pub const BROWSE: Duration = Duration::from_millis(50);

/// Documents in files below two roots.
#[derive(Debug, Clone)]
pub struct FileEngine {
    pub(super) home: Arc<dyn Fs>,
    pub(super) project: Arc<dyn Fs>,
    pub(super) options: Options,
    /// Whether each root was found to be local, by [`Root`].
    pub(super) local: Arc<[OnceLock<()>; 2]>,
    /// Rooms in which nothing that is not there can be a lost write.
    pub(super) settled: Arc<Mutex<BTreeSet<Room>>>,
}

impl FileEngine {
    pub fn new(home: Arc<dyn Fs>, project: Arc<dyn Fs>, options: Options) -> FileEngine {
        FileEngine { home, project, options, local: Arc::default(), settled: Arc::default() }
    }

    pub(super) fn fs(&self, root: Root) -> &dyn Fs {
        match root {
            Root::Home => &*self.home,
            Root::Project => &*self.project,
        }
    }

    /// Returns how many older segments stay.
    pub(super) fn kept_segments(&self) -> usize {
        let told = self.options.told_segments.map_or(Ok(None), |told| told(self));
        told.map_or(usize::MAX, |told| told.unwrap_or(self.options.kept_segments))
    }

    pub(super) fn settled(&self) -> MutexGuard<'_, BTreeSet<Room>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
