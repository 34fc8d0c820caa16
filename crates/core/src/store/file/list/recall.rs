//! What items were when the last commit left them, after somebody has put another file in the place of that.
//!
//! The twin has most of them: it is the list as of the commit before. What the last commit wrote, and what came before there
//! was a twin, is put together from the journal. Either may be wrong about an item: its checksum in the index tells.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::answer::{Answer, sure};
use super::index::{Index, Record};
use super::layout;
use crate::model::diff::{self, Change};
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::raw::Raw;
use crate::store::file::addresses::{DocFiles, RoomFiles};
use crate::store::file::fs::Access;
use crate::store::file::journal::{DocEntry, Line};
use crate::store::file::place::{self, Head, Place};

/// Where a list is, and what its last commit left beside it.
pub struct Past<'p> {
    pub place: &'p Place<'p>,
    pub doc: &'p Doc,
    pub field: &'static str,
    pub head: &'p Head,
}

/// Items by position.
type Items = BTreeMap<usize, Value>;

/// One item, on the way back through the journal.
struct Trace {
    /// Where it stood; `None` from when it was not there yet.
    at: Option<usize>,
    /// What happened to it, the newest first.
    changes: Vec<Change>,
    /// What it was at first.
    first: Option<Value>,
}

impl Trace {
    fn of(position: usize) -> Trace {
        Trace { at: Some(position), changes: Vec::new(), first: None }
    }

    /// Goes back before a change of the item at `at`, or of a part of it.
    fn go_back(&mut self, at: usize, path: &str, change: &Change) {
        let Some(position) = self.at else { return };
        match (path.is_empty(), &change.before, &change.after) {
            (true, _, Some(after)) if at == position => (self.at, self.first) = (None, Some(after.clone())),
            (true, None, _) if at < position => self.at = Some(position - 1),
            (true, Some(_), None) if at <= position => self.at = Some(position + 1),
            (false, ..) if at == position => {
                self.changes.push(Change { path: path.to_owned(), ..change.clone() });
            }
            _ => {}
        }
    }

    /// Does to it what was done. What does not fit is found out by the item's checksum, too.
    fn redo(self) -> Option<Value> {
        let mut item = self.first?;
        let changes: Vec<_> = self.changes.into_iter().rev().collect();
        diff::apply(&mut item, &changes).ok()?;
        Some(item)
    }
}

impl Past<'_> {
    /// Returns what these items were; all of them, or none.
    pub fn recall(&self, index: &mut Index, wanted: &BTreeSet<usize>) -> Answer<Items> {
        let mut records = BTreeMap::new();
        for position in wanted {
            records.insert(*position, sure(index.record(*position))?);
        }
        let mut found = self.in_twin(&records);
        records.retain(|position, _| !found.contains_key(position));
        if !records.is_empty() {
            let told = sure(self.in_journal(&records))?;
            found.extend(told);
        }
        Ok(found)
    }

    fn in_twin(&self, records: &BTreeMap<usize, Record>) -> Items {
        let twin = self.place.fs.open(&self.place.twin(&self.doc.file()), Access::Read);
        let Ok(Some(twin)) = twin else { return Items::new() };
        let read = |(position, record): (&usize, &Record)| {
            let bytes = twin.read_at(record.slot.start, record.slot.length as usize).ok()?;
            let item = json::parse(&bytes).ok().filter(|_| is_item(&bytes, *position, record));
            item.map(|item| (*position, item))
        };
        records.iter().filter_map(read).collect()
    }

    fn in_journal(&self, records: &BTreeMap<usize, Record>) -> Option<Items> {
        let journal = self.journal()?;
        let mut traces: BTreeMap<usize, Trace> = records.keys().map(|at| (*at, Trace::of(*at))).collect();
        for line in lines(&journal) {
            let is_whole = line.contains("\"stored\":") || line.contains("\"content\":");
            let concerns =
                |(at, whole): (usize, bool)| whole || traces.values().any(|item| item.at == Some(at));
            if !is_whole && !self.positions(line).any(concerns) {
                continue;
            }
            let Some(entry) = self.entry(line)? else { continue };
            if entry.content.is_some() || entry.stored.is_some() {
                self.begin(&entry, &mut traces)?;
                break;
            }
            for change in entry.changes.iter().rev() {
                let Some((at, path)) = self.place_in(&change.path) else { continue };
                traces.values_mut().for_each(|item| item.go_back(at, path, change));
            }
        }
        let mut items = Items::new();
        for (position, record) in records {
            let item = traces.remove(position)?.redo()?;
            let text = layout::item_text(item.as_object()?);
            items.insert(*position, item);
            is_item(&text, *position, record).then_some(())?;
        }
        Some(items)
    }

    /// Returns the journal up to where it counts.
    fn journal(&self) -> Option<String> {
        let mut bytes = self.place.read(&self.place.journal()).ok()??;
        bytes.truncate(usize::try_from(self.head.end).ok()?);
        String::from_utf8(bytes).ok()
    }

    /// Returns what a line says of the list.
    fn entry(&self, line: &str) -> Option<Option<DocEntry>> {
        let line = Line::parse(line.as_bytes())?;
        Some(line.docs.into_iter().find(|entry| entry.file == self.doc.file()))
    }

    /// Lets items begin with what they were in a line that has the whole content.
    fn begin(&self, entry: &DocEntry, traces: &mut BTreeMap<usize, Trace>) -> Option<()> {
        let mut wanted = BTreeMap::new();
        for item in traces.values_mut() {
            item.at.and_then(|at| wanted.insert(at, item));
        }
        if let Some(content) = &entry.content {
            let list = content.get(self.field)?.as_array()?;
            wanted.into_iter().for_each(|(at, item)| item.first = list.get(at).cloned());
            return Some(());
        }
        let path = self.place.content_path(entry.stored.as_deref()?)?;
        let bytes = self.place.fs.read(&path, self.doc.kind.limit).ok()??;
        let mut position = 0;
        layout::visit(&bytes, self.field, &mut |raw| {
            if let Some(item) = wanted.get_mut(&position) {
                item.first = json::parse(raw.text()).ok();
            }
            position += 1;
        })?;
        Some(())
    }

    /// Returns the positions that a line's changes speak of, and whether of the whole item.
    fn positions<'l>(&self, line: &'l str) -> impl Iterator<Item = (usize, bool)> + use<'l> {
        let start = format!("\"path\":\"{}[", self.field);
        let mut rest = line;
        std::iter::from_fn(move || {
            loop {
                rest = &rest[rest.find(&start)? + start.len()..];
                if let Some((digits, path)) = rest.split_once(']')
                    && let Ok(position) = digits.parse()
                {
                    return Some((position, path.starts_with('"')));
                }
            }
        })
    }

    /// Returns which item a path leads to, and where in it.
    pub fn place_in<'c>(&self, path: &'c str) -> Option<(usize, &'c str)> {
        let (position, rest) = path.strip_prefix(self.field)?.strip_prefix('[')?.split_once(']')?;
        Some((position.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
    }

    /// Returns what was done to the list since it was at `revision` or before, the newest first, and which revision it was at then. `None`
    /// if this segment does not tell.
    pub fn since(&self, revision: u64) -> Option<(Vec<DocEntry>, u64)> {
        let journal = self.journal()?;
        let mut since = Vec::new();
        for line in lines(&journal) {
            match self.entry(line)? {
                Some(entry) if entry.revision <= revision => return Some((since, entry.revision)),
                Some(entry) if entry.content.is_some() || entry.stored.is_some() => return None,
                Some(entry) => since.push(entry),
                None => {}
            }
        }
        None
    }
}

/// Returns the lines of a journal, the last one first.
fn lines(journal: &str) -> impl Iterator<Item = &str> {
    journal.rsplit('\n').filter(|line| !line.is_empty())
}

fn is_item(text: &[u8], position: usize, record: &Record) -> bool {
    let mut raw = Raw::default();
    raw.read(text, 0) == Some(text.len()) && layout::item_sum(raw.text(), position) == record.sum
}

impl Place<'_> {
    /// Returns where the content is that a journal's line names.
    fn content_path(&self, name: &str) -> Option<String> {
        (name.starts_with(place::CONTENT) && !name.contains('/'))
            .then(|| format!("{}/{name}", self.room.hidden()))
    }
}
