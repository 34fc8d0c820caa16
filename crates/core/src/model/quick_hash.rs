//! Hash tables for keys that nobody chooses to make them slow.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;
pub type QuickSet<K> = HashSet<K, BuildHasherDefault<QuickHasher>>;

/// Takes a number as it is (it should be a hash already) and sums up everything else.
#[derive(Debug, Default)]
pub struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }

    /// Strings end with one. No key has two parts here.
    fn write_u8(&mut self, _: u8) {}
}
