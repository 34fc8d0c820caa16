//! A disk in memory, for tests that kill the engine, refuse its calls, or cut the power.
//!
//! Running processes see the *volatile* view; `sync_file` and `sync_dir` move effects to the *durable* one
//! (`world`). [`SimFs::crash_images`] returns what a power loss may leave (`crash`), [`SimFs::after_kill`]
//! what the death of a process leaves. [`Plan`] decides which call is the last or fails (`plan`).
//!
//! It is meant to be unkind: unsynced effects survive in any combination, a synced file may lose its name,
//! and bytes written before a failed `sync_file` are not made durable by repeating it.
//!
//! Not modelled: modes, hard links, removal of directories. Nothing waits, so that a test of one thread never
//! hangs, until [`SimFs::set_waiting`] says that there are others to wait for.

mod calls;
mod crash;
mod plan;
#[cfg(test)]
mod tests;
mod tree;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anthill_core::store::file::fs::{Identity, LockMode, Stat};

use plan::{Fate, Faults};
pub use plan::{Plan, errno};
use tree::{Ino, Node};
use world::World;

/// A handle to a simulated machine; clones share it.
#[derive(Clone)]
pub struct SimFs {
    machine: Arc<Mutex<Machine>>,
    /// Told at every call.
    moved: Arc<Condvar>,
    /// Told when a lock is let go. Whoever waits for one is not woken by every call of its holder: many that wait would
    /// take all the time from it.
    freed: Arc<Condvar>,
    /// Where the root is on the disk.
    root: String,
}

#[derive(Debug)]
struct Machine {
    world: World,
    faults: Faults,
    locks: BTreeMap<Ino, Vec<LockMode>>,
    boot: usize,
    /// Counts how often the disk was mounted.
    mounting: u64,
    /// Counts through how many mounts it was looked at.
    mount: u64,
    network_fs: Option<&'static str>,
    /// How many handles are open, by file.
    opened: BTreeMap<Ino, usize>,
    exchange_supported: bool,
    leases_supported: bool,
    waiting: bool,
    /// What another process saves, and before which call.
    save: Option<(usize, Save)>,
}

/// How another process saves a file.
#[derive(Debug, Clone)]
pub struct Save {
    pub path: String,
    pub bytes: Vec<u8>,
    /// Into the file that is there; otherwise as a new file, renamed over it.
    pub in_place: bool,
}

impl SimFs {
    /// Makes an empty disk on which nothing goes wrong.
    #[expect(clippy::new_without_default, reason = "a test names what it starts from")]
    pub fn new() -> SimFs {
        SimFs::from_machine(Machine {
            world: World::new(),
            faults: Faults::default(),
            locks: BTreeMap::new(),
            boot: 0,
            mounting: 0,
            mount: 0,
            network_fs: None,
            opened: BTreeMap::new(),
            exchange_supported: true,
            leases_supported: true,
            waiting: false,
            save: None,
        })
    }

    /// Lets another process save a file right before a call; the first call after `set_plan` is number 1.
    pub fn set_save(&self, call: usize, save: Save) {
        self.machine().save = Some((call, save));
    }

    /// Returns another root on the same disk.
    pub fn below(&self, root: &str) -> SimFs {
        SimFs { root: self.at(root), ..self.clone() }
    }

    /// Returns the disk as the processes of a container see it: through another mount.
    pub fn through_another_mount(&self) -> SimFs {
        let seen = self.after_kill();
        seen.machine().mount += 1;
        seen
    }

    /// Starts a plan; calls are counted and traced anew. To go on after a kill, take [`SimFs::after_kill`]
    /// or a crash image: they come without plan and without the locks of the dead.
    pub fn set_plan(&self, plan: Plan) {
        self.machine().faults = Faults::new(plan);
    }

    pub fn set_network_fs(&self, name: Option<&'static str>) {
        self.machine().network_fs = name;
    }

    pub fn set_exchange_supported(&self, supported: bool) {
        self.machine().exchange_supported = supported;
    }

    pub fn set_leases_supported(&self, supported: bool) {
        self.machine().leases_supported = supported;
    }

    /// Makes locks and events wait for other threads as long as they are told to.
    pub fn set_waiting(&self, waiting: bool) {
        self.machine().waiting = waiting;
    }

    /// Returns how many calls were made since the plan was set.
    pub fn calls(&self) -> usize {
        self.machine().faults.trace().len()
    }

    /// Returns method and path of each call since the plan was set, for failure messages.
    pub fn trace(&self) -> Vec<String> {
        self.machine().faults.trace().to_vec()
    }

    /// Returns whether the plan has killed the process.
    pub fn killed(&self) -> bool {
        self.machine().faults.killed()
    }

    /// Returns the machine as the next process finds it: everything written is there, no lock is held.
    /// It shares nothing with this one, so it also serves to try many plans from one starting point.
    pub fn after_kill(&self) -> SimFs {
        let machine = self.machine();
        let (boot, mounting) = (machine.boot, machine.mounting);
        SimFs::from_machine(machine.restarted(machine.world.clone(), boot, mounting))
    }

    /// Returns at most `budget` machines as they may be after a power loss now, all different on disk.
    ///
    /// First come none, all, every prefix, each one lost and each one kept of the unsynced effects, and each
    /// damage to each write (half written, zero-filled); then every subset if there are at most 12 effects;
    /// then further combinations, the same on every run. Every second one is of a disk that was pulled out and put back
    /// while the machine went on: the boot is the same, but it is mounted anew.
    pub fn crash_images(&self, budget: usize) -> Vec<SimFs> {
        let machine = self.machine();
        let images = crash::images(&machine.world, budget).into_iter();
        let first = machine.faults.trace().len();
        let numbered = images.enumerate().map(|(number, world)| {
            let boot = machine.boot + (first + number) % 2;
            SimFs::from_machine(machine.restarted(world, boot, machine.mounting + 1))
        });
        numbered.collect()
    }

    /// Writes a file as another process would that syncs it and its name; parents are created.
    /// Like the other helpers here it is not counted and never fails by plan.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.set_up(path, |world| {
            world.write_at(path, 0, bytes)?;
            world.truncate(path, bytes.len() as u64)?;
            world.sync_file(path)
        });
    }

    /// Lets time pass: everything written so far reaches the disk.
    pub fn flush(&self) {
        self.machine().world.flush();
    }

    /// Plants something that is neither a file nor a directory, as a symbolic link or a FIFO.
    pub fn plant_special(&self, path: &str) {
        self.set_up(path, |world| world.create_special(path));
    }

    /// Returns the bytes of a regular file, as running processes see them.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.machine().world.bytes(path).ok().flatten().map(<[u8]>::to_vec)
    }

    /// Returns the paths of all regular files, sorted.
    pub fn files(&self) -> Vec<String> {
        let listing = self.machine().world.view().listing().into_iter();
        let is_file = |node: &Node| matches!(node, Node::File(_));
        let mut files: Vec<_> = listing.filter(|(_, node)| is_file(node)).map(|(path, _)| path).collect();
        files.sort();
        files
    }

    fn from_machine(machine: Machine) -> SimFs {
        let machine = Arc::new(Mutex::new(machine));
        SimFs { machine, moved: Arc::default(), freed: Arc::default(), root: String::new() }
    }

    /// Returns where a path is on the disk.
    fn at(&self, path: &str) -> String {
        match (self.root.as_str(), path) {
            ("", path) => path.into(),
            (root, "") => root.into(),
            (root, path) => format!("{root}/{path}"),
        }
    }

    /// A guard dropped while a test panics must not panic again, hence no poisoning.
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next thing of its kind to happen on this machine; returns false at once when it is too late.
    fn wait_until(what: &Condvar, machine: MutexGuard<'_, Machine>, deadline: Option<Instant>) -> bool {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if !machine.waiting || left == Some(Duration::ZERO) {
            return false;
        }
        drop(match left {
            Some(left) => what.wait_timeout(machine, left).map(|(machine, _)| machine).ok(),
            None => what.wait(machine).ok(),
        });
        true
    }

    fn set_up(&self, path: &str, act: impl FnOnce(&mut World) -> io::Result<()>) {
        let world = &mut self.machine().world;
        let durably = |world: &mut World| {
            for (end, _) in path.match_indices('/') {
                world.create_dir(&path[..end])?;
                world.sync_name(&path[..end])?;
            }
            act(world)?;
            world.sync_name(path)
        };
        durably(world).unwrap_or_else(|error| panic!("cannot set up `{path}`: {error}"));
        self.moved.notify_all();
    }

    fn call<T>(
        &self,
        method: &'static str,
        path: &str,
        act: impl FnOnce(&mut Machine) -> io::Result<T>,
    ) -> io::Result<T> {
        self.call_writing(method, path, &[], |machine, _| act(machine))
    }

    fn call_writing<T>(
        &self,
        method: &'static str,
        path: &str,
        bytes: &[u8],
        act: impl FnOnce(&mut Machine, &[u8]) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut machine = self.machine();
        self.moved.notify_all();
        machine.let_others_save();
        let (bytes, error) = match machine.faults.enter(method, path) {
            Fate::Run => return act(&mut machine, bytes),
            Fate::Refuse(error) => return Err(error),
            Fate::RunUnheard(error) => (bytes, error),
            Fate::RunHalf(error) => (&bytes[..bytes.len() / 2], error),
        };
        // Even a call that would have failed by itself ends with the planned error.
        let _ = act(&mut machine, bytes);
        Err(error)
    }
}

impl Machine {
    fn restarted(&self, world: World, boot: usize, mounting: u64) -> Machine {
        let (faults, locks, opened) = (Faults::default(), BTreeMap::new(), BTreeMap::new());
        Machine { world, faults, locks, opened, boot, mounting, save: None, ..*self }
    }

    /// Does what another process does at this moment. A process that is dead by now sees nothing of it.
    fn let_others_save(&mut self) {
        let next = self.faults.trace().len() + 1;
        if let Some((_, save)) = self.save.take_if(|(call, _)| *call == next && !self.faults.killed()) {
            let Save { path, bytes, in_place } = save;
            let target = if in_place { path.clone() } else { format!("{path}.swp") };
            let saved = self.world.write_at(&target, 0, &bytes).and_then(|()| {
                self.world.truncate(&target, bytes.len() as u64)?;
                if in_place { Ok(()) } else { self.world.rename(&target, &path) }
            });
            saved.unwrap_or_else(|error| panic!("cannot save `{path}`: {error}"));
        }
    }

    fn stat(&self, ino: Ino) -> Stat {
        let identity = Identity { inode: ino as u64, born: 0 };
        let (size, modified) = (self.world.bytes_of(ino).len() as u64, self.world.modified(ino).into());
        let mount = Some(self.mounting << 32 | self.mount);
        Stat { size, identity: Some(identity), modified, names: 1, mount }
    }

    fn lock(&mut self, path: &str, mode: LockMode) -> io::Result<Ino> {
        let ino = match mode {
            LockMode::Exclusive => self.world.file_or_create(path)?,
            LockMode::Shared => self.world.file(path)?.ok_or(ErrorKind::NotFound)?,
        };
        let holders = self.locks.entry(ino).or_default();
        if !holders.is_empty() && (mode == LockMode::Exclusive || holders.contains(&LockMode::Exclusive)) {
            return Err(ErrorKind::TimedOut.into());
        }
        holders.push(mode);
        Ok(ino)
    }
}

impl fmt::Debug for SimFs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimFs").finish_non_exhaustive()
    }
}
