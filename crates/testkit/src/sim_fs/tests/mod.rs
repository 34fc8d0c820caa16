//! Proves that the simulation is as unkind as a disk, and no unkinder.

mod contract;
mod faults;
mod histories;
mod power_loss;

use std::io::ErrorKind;

use super::SimFs;

const BUDGET: usize = 10_000;

/// Returns what a path holds in each crash image.
fn outcomes(fs: &SimFs, path: &str) -> Vec<Option<Vec<u8>>> {
    fs.crash_images(BUDGET).iter().map(|image| image.get(path)).collect()
}

#[track_caller]
fn check_outcomes(fs: &SimFs, path: &str, expected: &[Option<&str>]) {
    let shown = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace('\0', "0");
    let mut found: Vec<_> = outcomes(fs, path).into_iter().map(|bytes| bytes.map(shown)).collect();
    found.sort();
    found.dedup();
    let mut expected: Vec<_> = expected.iter().map(|bytes| bytes.map(str::to_owned)).collect();
    expected.sort();
    assert_eq!(found, expected, "`{path}` after {:?}", fs.trace());
}

#[track_caller]
fn check_error<T: std::fmt::Debug>(result: std::io::Result<T>, expected: ErrorKind) {
    assert_eq!(result.unwrap_err().kind(), expected);
}
