//! One view of the disk: inodes, the names that lead to them, and how one effect changes them.
//!
//! Names live in their directory's inode, so what is in a directory that lost its own name is lost too.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

pub(super) type Ino = usize;
pub(super) const ROOT: Ino = 0;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    File(Vec<u8>),
    Dir(BTreeMap<String, Ino>),
    /// A symbolic link, a FIFO: there, but nothing the engine may touch.
    Special,
}

/// A place for a name; it stays the same when the directory itself is renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) dir: Ino,
    pub(super) name: String,
}

/// What a call did to the disk. Namespace effects remember the inode that they happened to, because a
/// directory entry on a disk holds an inode: no loss of an earlier effect can make a rename move another file.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    Link { slot: Slot, ino: Ino },
    Unlink { slot: Slot, ino: Ino },
    Rename { from: Slot, to: Slot, ino: Ino },
    Exchange { one: (Slot, Ino), other: (Slot, Ino) },
    Write { ino: Ino, offset: usize, bytes: Vec<u8> },
    Truncate { ino: Ino, length: usize },
}

/// How much of an effect a power loss left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Lost,
    Whole,
    FirstHalf,
    SecondHalf,
    /// The file got its new length but not the bytes.
    ZeroFilled,
    /// The name leads to a file that is not on the disk: a check of a file system without a journal takes it away.
    Dropped,
}

impl Effect {
    /// Returns what a power loss may leave of this effect: [`Outcome::Lost`], [`Outcome::Whole`], then damage.
    pub(super) fn outcomes(&self) -> &'static [Outcome] {
        use Outcome::{FirstHalf, Lost, SecondHalf, Whole, ZeroFilled};
        match self {
            Effect::Write { .. } => &[Lost, Whole, FirstHalf, SecondHalf, ZeroFilled],
            _ => &[Lost, Whole],
        }
    }

    /// Returns the file that got a name of another one by this effect, the newer one of two.
    pub(super) fn renamed(&self) -> Option<Ino> {
        match self {
            Effect::Rename { ino, .. } => Some(*ino),
            Effect::Exchange { one, other } => Some(one.1.max(other.1)),
            _ => None,
        }
    }

    /// Returns the names that this effect changes.
    pub(super) fn slots(&self) -> Vec<&Slot> {
        match self {
            Effect::Link { slot, .. } | Effect::Unlink { slot, .. } => vec![slot],
            Effect::Rename { from, to, .. } => vec![from, to],
            Effect::Exchange { one, other } => vec![&one.0, &other.0],
            Effect::Write { .. } | Effect::Truncate { .. } => vec![],
        }
    }

    /// Returns the inode whose bytes this effect changes.
    pub(super) fn data_of(&self) -> Option<Ino> {
        match self {
            Effect::Write { ino, .. } | Effect::Truncate { ino, .. } => Some(*ino),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// By inode number; shared between views and images until one of them changes.
    nodes: Vec<Arc<Node>>,
}

impl Tree {
    pub(super) fn new() -> Tree {
        Tree { nodes: vec![Arc::new(Node::Dir(BTreeMap::new()))] }
    }

    /// Adds an inode that no name leads to yet.
    pub(super) fn adopt(&mut self, node: Node) -> Ino {
        self.nodes.push(Arc::new(node));
        self.nodes.len() - 1
    }

    pub(super) fn node(&self, ino: Ino) -> &Arc<Node> {
        &self.nodes[ino]
    }

    pub(super) fn at(&self, slot: &Slot) -> Option<Ino> {
        self.names(slot.dir).get(&slot.name).copied()
    }

    /// Follows a path; `None` if a part of it does not exist.
    pub(super) fn find(&self, path: &str) -> io::Result<Option<Ino>> {
        let mut ino = ROOT;
        for part in parts(path)? {
            let Node::Dir(names) = &**self.node(ino) else { return Err(ErrorKind::NotADirectory.into()) };
            match names.get(part) {
                Some(next) => ino = *next,
                None => return Ok(None),
            }
        }
        Ok(Some(ino))
    }

    /// Returns the place of a name whose directory exists.
    pub(super) fn slot(&self, path: &str) -> io::Result<Slot> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let dir = self.find(parent)?.ok_or(ErrorKind::NotFound)?;
        parts(name)?;
        match &**self.node(dir) {
            Node::Dir(_) => Ok(Slot { dir, name: name.to_owned() }),
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns everything that a path leads to, in the order of the paths' directories.
    pub(super) fn listing(&self) -> Vec<(String, Arc<Node>)> {
        let mut listing = vec![(String::new(), Arc::clone(&self.nodes[ROOT]))];
        let mut next = 0;
        while next < listing.len() {
            let (path, node) = listing[next].clone();
            if let Node::Dir(names) = &*node {
                let join =
                    |name| if path.is_empty() { String::clone(name) } else { format!("{path}/{name}") };
                listing.extend(names.iter().map(|(name, ino)| (join(name), Arc::clone(&self.nodes[*ino]))));
            }
            next += 1;
        }
        listing
    }

    /// Returns, by inode number, whether a path leads there.
    pub(super) fn reachable(&self) -> Vec<bool> {
        let mut reachable = vec![false; self.nodes.len()];
        let mut next = vec![ROOT];
        while let Some(ino) = next.pop() {
            reachable[ino] = true;
            if let Node::Dir(names) = &**self.node(ino) {
                next.extend(names.values());
            }
        }
        reachable
    }

    /// Applies what is left of an effect. Nothing happens if it cannot, because an earlier one was lost.
    pub(super) fn apply(&mut self, effect: &Effect, outcome: Outcome) {
        if outcome == Outcome::Lost {
            return;
        }
        match effect {
            Effect::Link { slot, ino } if self.at(slot).is_none() => self.set(slot, Some(*ino)),
            Effect::Unlink { slot, ino } if self.at(slot) == Some(*ino) => self.set(slot, None),
            Effect::Rename { from, to, ino } if self.at(from) == Some(*ino) => {
                self.set(from, None);
                self.set(to, Some(*ino).filter(|_| outcome != Outcome::Dropped));
            }
            Effect::Exchange { one, other } if self.holds(one) && self.holds(other) => {
                let left =
                    |ino| (outcome != Outcome::Dropped || effect.renamed() != Some(ino)).then_some(ino);
                self.set(&one.0, left(other.1));
                self.set(&other.0, left(one.1));
            }
            Effect::Write { ino, offset, bytes } => write(self.bytes(*ino), *offset, bytes, outcome),
            Effect::Truncate { ino, length } => self.bytes(*ino).resize(*length, 0),
            _ => {}
        }
    }

    /// Returns whether the directories that an effect names can be reached from the root.
    pub(super) fn reaches(&self, effect: &Effect) -> bool {
        effect.slots().iter().all(|slot| self.is_beneath(ROOT, slot.dir))
    }

    fn is_beneath(&self, top: Ino, dir: Ino) -> bool {
        let is_dir = |ino: &Ino| matches!(**self.node(*ino), Node::Dir(_));
        top == dir || self.names(top).values().filter(|ino| is_dir(ino)).any(|ino| self.is_beneath(*ino, dir))
    }

    fn holds(&self, (slot, ino): &(Slot, Ino)) -> bool {
        self.at(slot) == Some(*ino)
    }

    fn names(&self, dir: Ino) -> &BTreeMap<String, Ino> {
        match &**self.node(dir) {
            Node::Dir(names) => names,
            _ => panic!("BUG: a slot lies in something else than a directory"),
        }
    }

    fn set(&mut self, slot: &Slot, ino: Option<Ino>) {
        let Node::Dir(names) = self.node_mut(slot.dir) else {
            panic!("BUG: a slot lies in something else than a directory")
        };
        match ino {
            Some(ino) => names.insert(slot.name.clone(), ino),
            None => names.remove(&slot.name),
        };
    }

    fn bytes(&mut self, ino: Ino) -> &mut Vec<u8> {
        match self.node_mut(ino) {
            Node::File(bytes) => bytes,
            _ => panic!("BUG: bytes of something else than a regular file"),
        }
    }

    fn node_mut(&mut self, ino: Ino) -> &mut Node {
        Arc::make_mut(&mut self.nodes[ino])
    }
}

/// Bytes that were there before stay when the new ones are lost: a disk overwrites, it does not erase.
fn write(file: &mut Vec<u8>, offset: usize, bytes: &[u8], outcome: Outcome) {
    let (half, end) = (bytes.len() / 2, bytes.len());
    let (kept, reached) = match outcome {
        Outcome::Lost | Outcome::Dropped => return,
        Outcome::Whole => (0..end, end),
        Outcome::FirstHalf => (0..half, half),
        Outcome::SecondHalf => (half..end, end),
        Outcome::ZeroFilled => (0..0, end),
    };
    if reached > 0 {
        file.resize(file.len().max(offset + reached), 0);
        file[offset + kept.start..offset + kept.end].copy_from_slice(&bytes[kept]);
    }
}

fn parts(path: &str) -> io::Result<Vec<&str>> {
    if path.is_empty() {
        return Ok(vec![]);
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        true => Err(io::Error::new(ErrorKind::InvalidInput, format!("malformed path `{path}`"))),
        false => Ok(parts),
    }
}
