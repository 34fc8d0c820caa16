//! Which mounting of a file system holds a file.
//!
//! Linux has no name for that, but file systems that keep something have a directory in `/sys/fs` as long as they are
//! mounted, and its number is new each time. It is the same in every container and sandbox that has `/sys`.

use std::fs::File;

use rustix::fs::{self as sys, CWD};

use super::kernel;

/// Returns that number, if the file system is one of those.
pub fn number(file: &File) -> Option<u64> {
    let of = |kind: &str, name: &str| sys::stat(["/sys/fs/", kind, "/", name].concat()).ok();
    let found = match block_device(file) {
        Some(name) => ["ext4", "xfs", "f2fs"].iter().find_map(|kind| of(kind, &name)),
        None => of("btrfs", &kernel::btrfs_id(file)?),
    };
    found.map(|stat| stat.st_ino)
}

/// Returns what the kernel calls the device that a file is on.
fn block_device(file: &File) -> Option<String> {
    let device = sys::fstat(file).ok()?.st_dev;
    let link = format!("/sys/dev/block/{}:{}", sys::major(device), sys::minor(device));
    let target = sys::readlinkat(CWD, link, Vec::new()).ok()?.into_string().ok()?;
    Some(target.rsplit('/').next()?.to_owned())
}
