//! The disk of one machine: what its processes see, what surely survives, and what is in between.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::tree::{Effect, Ino, Node, Outcome, Slot, Tree};

#[derive(Debug, Clone)]
pub(super) struct World {
    volatile: Tree,
    durable: Tree,
    pending: Vec<Pending>,
    changes: u64,
    /// When the bytes of each file were last changed, counted in changes.
    modified: BTreeMap<Ino, u64>,
}

/// An effect that a power loss may still undo.
#[derive(Debug, Clone)]
struct Pending {
    effect: Effect,
    /// The directories to be synced until a namespace effect is durable.
    awaits: Vec<Ino>,
    /// A failed `sync_file` marks pages clean: the next one succeeds without having written them.
    forgotten: bool,
    settled: bool,
}

pub(super) type Fingerprint = (Vec<Option<Ino>>, Vec<Option<Arc<Node>>>);

impl World {
    pub(super) fn new() -> World {
        World::from_tree(Tree::new())
    }

    fn from_tree(tree: Tree) -> World {
        World {
            volatile: tree.clone(),
            durable: tree,
            pending: vec![],
            changes: 0,
            modified: BTreeMap::new(),
        }
    }

    /// Counts the changes that running processes could see.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn view(&self) -> &Tree {
        &self.volatile
    }

    /// Returns the possible outcomes of each effect that is not durable yet.
    pub(super) fn pending_outcomes(&self) -> Vec<&'static [Outcome]> {
        // What was synced is on the disk, and a name that leads there stays.
        let unsynced = |ino| self.pending.iter().any(|pending| pending.effect.data_of() == Some(ino));
        let outcomes = |effect: &Effect| match effect.renamed() {
            Some(ino) if unsynced(ino) => &[Outcome::Lost, Outcome::Whole, Outcome::Dropped],
            _ => effect.outcomes(),
        };
        self.pending.iter().map(|pending| outcomes(&pending.effect)).collect()
    }

    /// Returns the disk after a power loss that had these outcomes.
    pub(super) fn after_power_loss(&self, outcomes: &[Outcome]) -> World {
        let mut tree = self.durable.clone();
        for (pending, outcome) in self.pending.iter().zip(outcomes) {
            if tree.reaches(&pending.effect) {
                tree.apply(&pending.effect, *outcome);
            }
        }
        World::from_tree(tree)
    }

    /// Returns all that may differ between images of this disk: names that effects touched, and bytes.
    pub(super) fn fingerprint(&self, image: &World) -> Fingerprint {
        let reachable = image.volatile.reachable();
        let effects = || self.pending.iter().map(|pending| &pending.effect);
        let names = effects().flat_map(Effect::slots).map(|slot| match reachable[slot.dir] {
            true => image.volatile.at(slot),
            false => None,
        });
        let bytes = effects().filter_map(Effect::data_of);
        let bytes = bytes.map(|ino| reachable[ino].then(|| Arc::clone(image.volatile.node(ino))));
        (names.collect(), bytes.collect())
    }

    /// Returns a regular file's bytes, or `None` if the name does not exist.
    pub(super) fn bytes(&self, path: &str) -> io::Result<Option<&[u8]>> {
        match self.volatile.find(path)?.map(|ino| &**self.volatile.node(ino)) {
            None => Ok(None),
            Some(Node::File(bytes)) => Ok(Some(bytes)),
            Some(Node::Dir(_) | Node::Special) => Err(not_regular(path)),
        }
    }

    pub(super) fn entries(&self, dir: &str) -> io::Result<Vec<String>> {
        match self.volatile.find(dir)?.map(|ino| &**self.volatile.node(ino)) {
            None => Ok(vec![]),
            Some(Node::Dir(names)) => Ok(names.keys().cloned().collect()),
            Some(Node::File(_) | Node::Special) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn folders(&self, dir: &str) -> io::Result<Vec<String>> {
        let mut names = self.entries(dir)?;
        let is_folder = |ino| matches!(&**self.volatile.node(ino), Node::Dir(_));
        names.retain(|name| {
            self.volatile.find(&format!("{dir}/{name}")).ok().flatten().is_some_and(is_folder)
        });
        Ok(names)
    }

    pub(super) fn create_dir(&mut self, dir: &str) -> io::Result<bool> {
        let slot = self.volatile.slot(dir)?;
        match self.volatile.at(&slot).map(|ino| &**self.volatile.node(ino)) {
            Some(Node::Dir(_)) => Ok(false),
            Some(_) => Err(ErrorKind::AlreadyExists.into()),
            None => {
                self.create(slot, Node::Dir(Default::default()));
                Ok(true)
            }
        }
    }

    pub(super) fn create_special(&mut self, path: &str) -> io::Result<()> {
        let slot = self.vacant(path)?;
        self.create(slot, Node::Special);
        Ok(())
    }

    pub(super) fn write_new(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let slot = self.vacant(path)?;
        let ino = self.create(slot, Node::File(vec![]));
        self.write(ino, 0, bytes);
        Ok(())
    }

    pub(super) fn write_at(&mut self, path: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let ino = self.file_or_create(path)?;
        self.write(ino, to_usize(offset)?, bytes);
        Ok(())
    }

    pub(super) fn truncate(&mut self, path: &str, length: u64) -> io::Result<()> {
        let ino = self.file(path)?.ok_or(ErrorKind::NotFound)?;
        self.truncate_file(ino, length)
    }

    pub(super) fn truncate_file(&mut self, ino: Ino, length: u64) -> io::Result<()> {
        self.record(Effect::Truncate { ino, length: to_usize(length)? }, vec![]);
        Ok(())
    }

    pub(super) fn sync_file(&mut self, path: &str) -> io::Result<()> {
        let ino = self.file(path)?.ok_or(ErrorKind::NotFound)?;
        self.sync_bytes(ino);
        Ok(())
    }

    pub(super) fn sync_bytes(&mut self, ino: Ino) {
        for pending in &mut self.pending {
            pending.settled |= pending.effect.data_of() == Some(ino);
        }
        self.settle();
    }

    /// What a failed `sync_file` does: bytes written so far are no longer anyone's duty to write out.
    pub(super) fn forget_unsynced(&mut self, ino: Option<Ino>) {
        let is_write = |effect: &Effect| matches!(effect, Effect::Write { .. });
        for pending in self.pending.iter_mut().filter(|pending| is_write(&pending.effect)) {
            pending.forgotten |= pending.effect.data_of() == ino;
        }
    }

    pub(super) fn sync_dir(&mut self, dir: &str) -> io::Result<()> {
        let ino = self.volatile.find(dir)?.ok_or(ErrorKind::NotFound)?;
        let Node::Dir(_) = **self.volatile.node(ino) else { return Err(ErrorKind::NotADirectory.into()) };
        for pending in &mut self.pending {
            pending.awaits.retain(|awaited| *awaited != ino);
        }
        self.settle_names(|pending| pending.awaits.is_empty());
        Ok(())
    }

    /// Writes everything out, as a kernel does by itself after a while.
    pub(super) fn flush(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.settled = true);
        self.settle();
    }

    /// Makes one name durable, without its neighbours.
    pub(super) fn sync_name(&mut self, path: &str) -> io::Result<()> {
        let slot = self.volatile.slot(path)?;
        self.settle_names(|pending| pending.effect.slots().contains(&&slot));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let (slot, ino) = self.named(from)?;
        let target = self.volatile.slot(to)?;
        if from == to {
            return Ok(());
        }
        refuse_nesting(from, to)?;
        match (&**self.volatile.node(ino), self.volatile.at(&target).map(|ino| &**self.volatile.node(ino))) {
            (_, Some(Node::Dir(_))) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Dir(_), Some(_)) => return Err(ErrorKind::NotADirectory.into()),
            _ => {}
        }
        let awaits = vec![target.dir];
        self.record(Effect::Rename { from: slot, to: target, ino }, awaits);
        Ok(())
    }

    pub(super) fn exchange(&mut self, one: &str, other: &str) -> io::Result<()> {
        let (first, second) = (self.named(one)?, self.named(other)?);
        if one == other {
            return Ok(());
        }
        refuse_nesting(one, other)?;
        refuse_nesting(other, one)?;
        let awaits = vec![first.0.dir, second.0.dir];
        self.record(Effect::Exchange { one: first, other: second }, awaits);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) -> io::Result<bool> {
        let Some(ino) = self.volatile.find(path)? else { return Ok(false) };
        if let Node::Dir(_) = **self.volatile.node(ino) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let slot = self.volatile.slot(path)?;
        let awaits = vec![slot.dir];
        self.record(Effect::Unlink { slot, ino }, awaits);
        Ok(true)
    }

    pub(super) fn remove_dir(&mut self, dir: &str) -> io::Result<bool> {
        let Some(ino) = self.volatile.find(dir)? else { return Ok(false) };
        let is_empty = match &**self.volatile.node(ino) {
            Node::Dir(_) => self.entries(dir)?.is_empty(),
            _ => return Err(ErrorKind::NotADirectory.into()),
        };
        if is_empty {
            let slot = self.volatile.slot(dir)?;
            let awaits = vec![slot.dir];
            self.record(Effect::Unlink { slot, ino }, awaits);
        }
        Ok(is_empty)
    }

    /// Returns the inode of a regular file, or `None` if the name does not exist.
    pub(super) fn file(&self, path: &str) -> io::Result<Option<Ino>> {
        self.bytes(path)?;
        self.volatile.find(path)
    }

    pub(super) fn file_or_create(&mut self, path: &str) -> io::Result<Ino> {
        match self.file(path)? {
            Some(ino) => Ok(ino),
            None => {
                let slot = self.volatile.slot(path)?;
                Ok(self.create(slot, Node::File(vec![])))
            }
        }
    }

    fn vacant(&self, path: &str) -> io::Result<Slot> {
        let slot = self.volatile.slot(path)?;
        match self.volatile.at(&slot) {
            Some(_) => Err(ErrorKind::AlreadyExists.into()),
            None => Ok(slot),
        }
    }

    fn named(&self, path: &str) -> io::Result<(Slot, Ino)> {
        let slot = self.volatile.slot(path)?;
        let ino = self.volatile.at(&slot).ok_or(ErrorKind::NotFound)?;
        Ok((slot, ino))
    }

    fn create(&mut self, slot: Slot, node: Node) -> Ino {
        self.durable.adopt(node.clone());
        let ino = self.volatile.adopt(node);
        let awaits = vec![slot.dir];
        self.record(Effect::Link { slot, ino }, awaits);
        ino
    }

    /// Returns the bytes of an open file, which may have no name any more.
    pub(super) fn bytes_of(&self, ino: Ino) -> &[u8] {
        match &**self.volatile.node(ino) {
            Node::File(bytes) => bytes,
            Node::Dir(_) | Node::Special => panic!("BUG: only files are opened"),
        }
    }

    /// Says that something happened to the bytes now.
    pub(super) fn touch(&mut self, ino: Ino) {
        self.changes += 1;
        self.modified.insert(ino, self.changes);
    }

    pub(super) fn modified(&self, ino: Ino) -> u64 {
        self.modified.get(&ino).copied().unwrap_or(0)
    }

    pub(super) fn write(&mut self, ino: Ino, offset: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.record(Effect::Write { ino, offset, bytes: bytes.to_vec() }, vec![]);
        }
    }

    fn record(&mut self, effect: Effect, awaits: Vec<Ino>) {
        self.volatile.apply(&effect, Outcome::Whole);
        match effect.data_of() {
            Some(ino) => self.touch(ino),
            None => self.changes += 1,
        }
        self.pending.push(Pending { effect, awaits, forgotten: false, settled: false });
    }

    /// Makes the chosen namespace effects durable, and with each the earlier ones on the same names: what
    /// happened to one name is never durable out of order.
    fn settle_names(&mut self, chosen: impl Fn(&Pending) -> bool) {
        let mut touched: Vec<Slot> = vec![];
        for pending in self.pending.iter_mut().rev() {
            let slots = pending.effect.slots();
            if slots.is_empty() || !(chosen(pending) || slots.iter().any(|slot| touched.contains(slot))) {
                continue;
            }
            touched.extend(slots.into_iter().cloned());
            pending.settled = true;
        }
        self.settle();
    }

    fn settle(&mut self) {
        for pending in self.pending.extract_if(.., |pending| pending.settled) {
            if !pending.forgotten {
                self.durable.apply(&pending.effect, Outcome::Whole);
            }
        }
    }
}

fn refuse_nesting(outer: &str, inner: &str) -> io::Result<()> {
    match inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/')) {
        true => Err(ErrorKind::InvalidInput.into()),
        false => Ok(()),
    }
}

fn to_usize(number: u64) -> io::Result<usize> {
    usize::try_from(number).map_err(|_| ErrorKind::FileTooLarge.into())
}

fn not_regular(path: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("`{path}` is not a regular file"))
}
