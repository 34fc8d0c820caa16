//! The calls of the engine, each of which may be the one that goes wrong.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use anthill_core::store::file::fs::{Access, Events, Fs, Handle, Lock, LockMode, Stat};

use super::tree::Ino;
use super::{Machine, SimFs};

impl Fs for SimFs {
    fn read(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let path = &*self.at(path);
        self.call("read", path, |machine| match machine.world.bytes(path)? {
            Some(bytes) if bytes.len() as u64 > limit => Err(ErrorKind::FileTooLarge.into()),
            bytes => Ok(bytes.map(<[u8]>::to_vec)),
        })
    }

    fn read_from(&self, path: &str, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let path = &*self.at(path);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        self.call("read_from", path, |machine| {
            let bytes = machine.world.bytes(path)?;
            Ok(bytes.map(|bytes| bytes.get(start..).unwrap_or_default().to_vec()))
        })
    }

    fn open(&self, path: &str, access: Access) -> io::Result<Option<Box<dyn Handle>>> {
        let path = &*self.at(path);
        let ino = self.call("open", path, |machine| match access {
            Access::Read | Access::Write | Access::Append => machine.world.file(path),
            Access::Create => machine.world.file_or_create(path).map(Some),
        })?;
        Ok(ino.map(|ino| Box::new(SimHandle::new(self, ino, path)) as Box<dyn Handle>))
    }

    fn copy(&self, from: &dyn Handle, to: &str) -> io::Result<()> {
        let bytes = from.read_at(0, usize::MAX)?;
        self.write_new(to, &bytes)
    }

    fn size(&self, path: &str) -> io::Result<Option<u64>> {
        let path = &*self.at(path);
        self.call("size", path, |machine| Ok(machine.world.bytes(path)?.map(|bytes| bytes.len() as u64)))
    }

    fn entries(&self, dir: &str) -> io::Result<Vec<String>> {
        let dir = &*self.at(dir);
        self.call("entries", dir, |machine| machine.world.entries(dir))
    }

    fn folders(&self, dir: &str) -> io::Result<Vec<String>> {
        let dir = &*self.at(dir);
        self.call("folders", dir, |machine| machine.world.folders(dir))
    }

    fn create_dir(&self, dir: &str) -> io::Result<bool> {
        let dir = &*self.at(dir);
        self.call("create_dir", dir, |machine| {
            let above = self.root.match_indices('/').map(|(end, _)| &self.root[..end]);
            // Whoever makes a root also makes what is above it, and durably.
            for above in above.filter(|_| dir == self.root) {
                machine.world.create_dir(above)?;
                machine.world.sync_name(above)?;
            }
            let made = machine.world.create_dir(dir)?;
            if dir == self.root && !dir.is_empty() {
                machine.world.sync_name(dir)?;
            }
            Ok(made)
        })
    }

    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = &*self.at(path);
        self.call_writing("write_new", path, bytes, |machine, bytes| machine.world.write_new(path, bytes))
    }

    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let path = &*self.at(path);
        let write = |machine: &mut Machine, bytes: &[u8]| machine.world.write_at(path, offset, bytes);
        self.call_writing("write_at", path, bytes, write)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = &*self.at(path);
        self.call_writing("append", path, bytes, |machine, bytes| {
            let end = machine.world.bytes(path)?.map_or(0, <[u8]>::len);
            machine.world.write_at(path, end as u64, bytes)
        })
    }

    fn truncate(&self, path: &str, length: u64) -> io::Result<()> {
        let path = &*self.at(path);
        self.call("truncate", path, |machine| machine.world.truncate(path, length))
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        let path = &*self.at(path);
        let result = self.call("sync_file", path, |machine| machine.world.sync_file(path));
        if result.is_err() && !self.killed() {
            let world = &mut self.machine().world;
            let ino = world.file(path).ok().flatten();
            world.forget_unsynced(ino);
        }
        result
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let dir = &*self.at(dir);
        self.call("sync_dir", dir, |machine| machine.world.sync_dir(dir))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (&*self.at(from), &*self.at(to));
        self.call("rename", &format!("{from} -> {to}"), |machine| machine.world.rename(from, to))
    }

    fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        let (one, other) = (&*self.at(one), &*self.at(other));
        self.call("exchange", &format!("{one} <-> {other}"), |machine| match machine.exchange_supported {
            true => machine.world.exchange(one, other),
            false => Err(ErrorKind::Unsupported.into()),
        })
    }

    fn remove(&self, path: &str) -> io::Result<bool> {
        let path = &*self.at(path);
        self.call("remove", path, |machine| machine.world.remove(path))
    }

    fn remove_dir(&self, dir: &str) -> io::Result<bool> {
        let dir = &*self.at(dir);
        self.call("remove_dir", dir, |machine| machine.world.remove_dir(dir))
    }

    fn lock(&self, path: &str, mode: LockMode, patience: Duration) -> io::Result<Box<dyn Lock>> {
        let path = &*self.at(path);
        let deadline = Instant::now().checked_add(patience);
        let mut attempt = self.call("lock", path, |machine| machine.lock(path, mode));
        while attempt.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut) {
            let mut machine = self.machine();
            attempt = machine.lock(path, mode);
            if attempt.is_err() && !SimFs::wait_until(&self.freed, machine, deadline) {
                break;
            }
        }
        Ok(Box::new(SimLock { fs: self.clone(), ino: attempt?, mode }))
    }

    fn boot_id(&self) -> io::Result<String> {
        Ok(format!("boot-{}", self.machine().boot))
    }

    fn mounted(&self, path: &str) -> io::Result<Option<u64>> {
        let path = &*self.at(path);
        self.call("mounted", path, |machine| Ok(Some(machine.mounting)))
    }

    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        let path = &*self.at(path);
        self.call("stat", path, |machine| Ok(machine.world.file(path)?.map(|ino| machine.stat(ino))))
    }

    fn folder_stamp(&self, dir: &str) -> io::Result<Option<u64>> {
        let dir = &*self.at(dir);
        self.call("folder_stamp", dir, |machine| {
            let names = machine.world.entries(dir)?;
            let mut hasher = DefaultHasher::new();
            names.hash(&mut hasher);
            Ok((!names.is_empty()).then(|| hasher.finish()))
        })
    }

    fn network_fs(&self) -> io::Result<Option<&'static str>> {
        Ok(self.machine().network_fs)
    }

    fn events(&self, _dirs: &[String]) -> io::Result<Box<dyn Events>> {
        self.machine().faults.alive()?;
        let seen = self.machine().world.changes();
        Ok(Box::new(SimEvents { fs: self.clone(), seen }))
    }

    fn display(&self, path: &str) -> String {
        format!("/sim/{}", self.at(path))
    }
}

#[derive(Debug)]
struct SimHandle {
    fs: SimFs,
    ino: Ino,
    /// By which name it was opened.
    path: String,
    opened: Stat,
}

impl SimHandle {
    fn new(fs: &SimFs, ino: Ino, path: &str) -> SimHandle {
        let mut machine = fs.machine();
        *machine.opened.entry(ino).or_default() += 1;
        SimHandle { fs: fs.clone(), ino, path: path.into(), opened: machine.stat(ino) }
    }
}

impl Drop for SimHandle {
    fn drop(&mut self) {
        if let Some(opened) = self.fs.machine().opened.get_mut(&self.ino) {
            *opened -= 1;
        }
    }
}

impl Handle for SimHandle {
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.fs.call("handle.read_at", &self.path, |machine| {
            let bytes = machine.world.bytes_of(self.ino);
            let rest = bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
            Ok(rest[..rest.len().min(length)].to_vec())
        })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge)?;
        self.fs.call_writing("handle.write_at", &self.path, bytes, |machine, bytes| {
            machine.world.write(self.ino, offset, bytes);
            Ok(())
        })
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.fs.call("handle.truncate", &self.path, |machine| machine.world.truncate_file(self.ino, length))
    }

    fn sync(&self) -> io::Result<()> {
        let result = self.fs.call("handle.sync", &self.path, |machine| {
            machine.world.sync_bytes(self.ino);
            Ok(())
        });
        if result.is_err() && !self.fs.killed() {
            self.fs.machine().world.forget_unsynced(Some(self.ino));
        }
        result
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.fs.call_writing("handle.append", &self.path, bytes, |machine, bytes| {
            let end = machine.world.bytes_of(self.ino).len();
            machine.world.write(self.ino, end, bytes);
            Ok(())
        })
    }

    fn opened(&self) -> &Stat {
        &self.opened
    }

    fn look(&self) -> io::Result<Stat> {
        self.fs.call("handle.look", &self.path, |machine| Ok(machine.stat(self.ino)))
    }

    fn mark(&self) -> io::Result<Stat> {
        self.fs.call("handle.mark", &self.path, |machine| {
            machine.world.touch(self.ino);
            Ok(machine.stat(self.ino))
        })
    }

    fn is_alone(&self) -> io::Result<bool> {
        self.fs.call("handle.is_alone", &self.path, |machine| match machine.leases_supported {
            true => Ok(machine.opened.get(&self.ino) == Some(&1)),
            false => Err(ErrorKind::Unsupported.into()),
        })
    }
}

#[derive(Debug)]
struct SimLock {
    fs: SimFs,
    ino: Ino,
    mode: LockMode,
}

impl Lock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut machine = self.fs.machine();
        let holders = machine.locks.entry(self.ino).or_default();
        if let Some(held) = holders.iter().position(|mode| *mode == self.mode) {
            holders.swap_remove(held);
        }
        self.fs.freed.notify_all();
    }
}

struct SimEvents {
    fs: SimFs,
    seen: u64,
}

impl Events for SimEvents {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let machine = self.fs.machine();
            machine.faults.alive()?;
            let seen = std::mem::replace(&mut self.seen, machine.world.changes());
            if seen != self.seen {
                return Ok(true);
            }
            if !SimFs::wait_until(&self.fs.moved, machine, deadline) {
                return Ok(false);
            }
        }
    }
}
