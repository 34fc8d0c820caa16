//! How a long list stands in its file: a frame, and one slot with room to grow for each item.
//!
//! ```text
//! {                                   \
//!   "version": "1.0",                  | prefix: the fields up to the list
//!   "revision": 17,                    |
//!   "tasks": [······                  /
//!     {                               \
//!       "id": "a",                     | slot: the item, a comma, blanks
//!       "lease": {"epoch": 1, …}       |
//!     },······························/
//!     {…}······
//!   ]                                 \  suffix: the fields behind the list
//! }                                   /
//! ```
//!
//! Items have one line per field. An item is changed by writing its slot, as long as it fits. Any other form
//! of the same JSON is read too; what it leaves no room for is written anew as a whole.
//!
//! White space has no meaning, so it does not count: the [`Sum`] of a list is that of its frame plus those of its items.

use serde_json::{Map, Value};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::model::kind::{Doc, Items};
use crate::model::raw::{self, Raw, Walk};
use crate::store::file::journal::Sum;

/// Returns the field that holds a kind's items, if they are kept as a long list.
pub fn field_of(doc: &Doc) -> Option<&'static str> {
    match (doc.kind.listing, doc.kind.items) {
        (Some(_), Items::Field(field)) => Some(field),
        _ => None,
    }
}

/// Returns how much room each item gets, for what is added to it later. A task: what a claim, a start and a short result add. A
/// message: what the longest state has more than the first one.
pub fn room_of(doc: &Doc) -> usize {
    match doc.kind.name {
        "queue" => 448,
        "mailbox" => 4,
        _ => 0,
    }
}

/// Returns up to which length a file is read as a whole: the index of a short mailbox would be many times as long.
pub fn short_of(doc: &Doc) -> u64 {
    if doc.kind.name == "mailbox" { 8 << 10 } else { 0 }
}

/// Between two slots, and before the first: a new line, and the indentation of the items.
pub const GAP: &[u8] = b"\n    ";
/// Blanks behind the frame's fields, for the digits of revisions.
pub const FRAME_ROOM: usize = 24;

/// Where one item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub start: u64,
    pub length: u32,
    /// How long the item may become; one byte more is there for a comma.
    pub room: u32,
}

impl Slot {
    /// Returns the bytes of the whole slot with this item in it, if there is room.
    pub fn fill(&self, item: &[u8], last: bool) -> Option<Vec<u8>> {
        let room = self.room as usize;
        (item.len() <= room).then(|| {
            let mut bytes = Vec::with_capacity(room + 1);
            bytes.extend_from_slice(item);
            bytes.push(if last { b' ' } else { b',' });
            bytes.resize(room + 1, b' ');
            bytes
        })
    }

    pub fn end(&self) -> u64 {
        self.start + u64::from(self.room) + 1
    }
}

/// Where the parts of a file are, besides the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where the prefix ends, blanks included.
    pub prefix: u64,
    /// Where the suffix begins.
    pub suffix: u64,
    pub size: u64,
    pub sum: u64,
}

/// Goes through a file and shows each item; `None` if it has not the form of a list.
pub fn scan(bytes: &[u8], field: &str, visit: &mut dyn FnMut(Slot, &Raw)) -> Option<Frame> {
    let (mut text, mut raw) = (Vec::new(), Raw::default());
    let (mut prefix, mut suffix) = (0, 0);
    let mut walk = Walk::new(bytes, 0, &mut text);
    walk.expect(b'{')?;
    while let Some(key) = walk.key()? {
        if walk.text()[key] == *field.as_bytes() && walk.peek()? == b'[' && prefix == 0 {
            walk.expect(b'[')?;
            prefix = blanks_end(bytes, walk.at);
            let end = scan_items(&mut walk, &mut raw, visit)?;
            suffix = end.unwrap_or(prefix);
        } else {
            walk.value()?;
        }
        if !walk.more(b'}')? {
            break;
        }
    }
    let whole = walk.peek().is_none() && prefix > 0;
    let (size, sum) = (bytes.len() as u64, xxh3_64(walk.text()));
    whole.then_some(Frame { prefix: prefix as u64, suffix: suffix as u64, size, sum })
}

/// Goes through the items and the bracket behind them; returns where the last slot ends, if there is one.
fn scan_items(
    walk: &mut Walk<'_, '_>,
    raw: &mut Raw,
    visit: &mut dyn FnMut(Slot, &Raw),
) -> Option<Option<usize>> {
    if walk.peek()? == b']' {
        walk.expect(b']')?;
        return Some(None);
    }
    loop {
        walk.peek()?;
        let start = walk.at;
        let end = raw.read(walk.bytes, start)?;
        walk.skip_to(end);
        let last = match walk.peek()? {
            b']' => true,
            b',' => false,
            _ => return None,
        };
        let length = u32::try_from(end - start).ok()?;
        let closed = if last { end } else { end + 1 };
        // A comma that does not follow at once leaves no room at all.
        let beside = last || walk.at == end;
        let blanks = blanks_end(walk.bytes, closed) - closed;
        let room = match (last, beside) {
            (_, false) => 0,
            (true, _) => (end - start + blanks).saturating_sub(1),
            (false, _) => end - start + blanks,
        };
        visit(Slot { start: start as u64, length, room: u32::try_from(room).ok()? }, raw);
        walk.skip_to(if beside { closed + blanks } else { walk.at + 1 });
        if last {
            walk.expect(b']')?;
            return Some(Some(closed + blanks));
        }
    }
}

/// Returns where the blanks from `at` on end. They are most of a new list, so they are taken eight at a time.
fn blanks_end(bytes: &[u8], at: usize) -> usize {
    let eights = bytes[at..].as_chunks::<8>().0.iter().take_while(|eight| **eight == [b' '; 8]).count();
    let at = at + eights * 8;
    at + bytes[at..].iter().take_while(|byte| **byte == b' ').count()
}

/// What an item adds to the sum of its list.
pub fn item_sum(raw: &[u8], position: usize) -> u64 {
    xxh3_64_with_seed(raw, position as u64 + 1)
}

/// Returns the checksum of a list; of the bytes, if they have not the form of one.
pub fn sum(bytes: &[u8], field: &str) -> Sum {
    visit(bytes, field, &mut |_| {}).unwrap_or_else(|| Sum::of(bytes))
}

/// Visits every item of a list, and returns its checksum; `None` if it has not the form of one.
pub fn visit(bytes: &[u8], field: &str, visit: &mut dyn FnMut(&Raw)) -> Option<Sum> {
    let (mut total, mut position) = (0_u64, 0);
    let frame = scan(bytes, field, &mut |_, raw| {
        total = total.wrapping_add(item_sum(raw.text(), position));
        position += 1;
        visit(raw);
    })?;
    Some(Sum::from_parts(frame.sum, total))
}

/// Writes a document whose `field` is a list of objects, each with so much room.
pub fn render(document: &Map<String, Value>, field: &str, room: usize) -> Option<Vec<u8>> {
    let items = document.get(field)?.as_array()?;
    let (mut bytes, suffix) = frame(document, field)?;
    pad(&mut bytes, FRAME_ROOM);
    for (number, item) in items.iter().enumerate() {
        bytes.extend_from_slice(GAP);
        let text = item_text(item.as_object()?);
        bytes.extend_from_slice(&text);
        bytes.push(if number + 1 < items.len() { b',' } else { b' ' });
        pad(&mut bytes, room);
    }
    bytes.extend_from_slice(&suffix);
    Some(bytes)
}

fn pad(bytes: &mut Vec<u8>, blanks: usize) {
    bytes.resize(bytes.len() + blanks, b' ');
}

/// Returns what stands before and behind the items.
pub fn frame(document: &Map<String, Value>, field: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = document.keys().position(|key| key == field)?;
    let (mut prefix, mut suffix) = (b"{\n".to_vec(), b"\n  ]".to_vec());
    for (key, value) in document.iter().take(at) {
        write_field(&mut prefix, "  ", key, value);
        prefix.extend_from_slice(b",\n");
    }
    prefix.extend_from_slice(b"  ");
    write_value(&mut prefix, &Value::from(field));
    prefix.extend_from_slice(b": [");
    for (key, value) in document.iter().skip(at + 1) {
        suffix.extend_from_slice(b",\n");
        write_field(&mut suffix, "  ", key, value);
    }
    suffix.extend_from_slice(b"\n}\n");
    Some((prefix, suffix))
}

/// Returns the bytes of a prefix that must fill a place of this length.
pub fn fill_prefix(mut prefix: Vec<u8>, length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok()?;
    (prefix.len() <= length).then(|| {
        prefix.resize(length, b' ');
        prefix
    })
}

/// Returns a slot for a new item of this length behind everything else.
pub fn slot_behind(length: usize, at: u64, room: usize) -> Slot {
    Slot { start: at + GAP.len() as u64, length: length as u32, room: (length + room) as u32 }
}

/// Writes a slot with this item, and what stands before it.
pub fn write_slot(bytes: &mut Vec<u8>, item: &[u8], last: bool, room: usize) {
    bytes.extend_from_slice(GAP);
    bytes.extend_from_slice(item);
    bytes.push(if last { b' ' } else { b',' });
    pad(bytes, room);
}

/// Returns a slot for a new item behind everything else, and the bytes from `at` to its end.
pub fn append(item: &[u8], at: u64, room: usize) -> (Slot, Vec<u8>) {
    let slot = slot_behind(item.len(), at, room);
    let mut bytes = GAP.to_vec();
    bytes.extend(slot.fill(item, true).expect("it has room"));
    (slot, bytes)
}

/// Writes an item: one line per field.
pub fn item_text(item: &Map<String, Value>) -> Vec<u8> {
    let mut text = b"{".to_vec();
    for (number, (key, value)) in item.iter().enumerate() {
        text.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
        write_field(&mut text, "      ", key, value);
    }
    text.extend_from_slice(if item.is_empty() { b"}" } else { b"\n    }" });
    text
}

/// Writes an item in that form from its text, whatever its form was. Not a letter changes.
pub fn respell(item: &Raw) -> Vec<u8> {
    let mut text = Vec::with_capacity(item.text().len() * 2);
    for (key, value) in item.fields() {
        text.extend_from_slice(if text.is_empty() { b"{\n      \"" } else { b",\n      \"" });
        text.extend_from_slice(key);
        text.extend_from_slice(b"\": ");
        raw::write_on_a_line(&mut text, value);
    }
    text.extend_from_slice(if text.is_empty() { b"{}" } else { b"\n    }" });
    text
}

fn write_field(text: &mut Vec<u8>, indent: &str, key: &str, value: &Value) {
    text.extend_from_slice(indent.as_bytes());
    write_value(text, &Value::from(key));
    text.extend_from_slice(b": ");
    write_value(text, value);
}

/// Writes a value on one line, with a blank after each comma and colon.
fn write_value(text: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Array(items) => {
            text.push(b'[');
            for (number, item) in items.iter().enumerate() {
                text.extend_from_slice(if number == 0 { b"" } else { b", " });
                write_value(text, item);
            }
            text.push(b']');
        }
        Value::Object(map) => {
            text.push(b'{');
            for (number, (key, value)) in map.iter().enumerate() {
                text.extend_from_slice(if number == 0 { b"" } else { b", " });
                write_field(text, "", key, value);
            }
            text.push(b'}');
        }
        _ => serde_json::to_writer(text, value).expect("a scalar can always be written"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ROOM: usize = 448;
    use crate::model::json;

    fn map(value: &Value) -> &Map<String, Value> {
        value.as_object().expect("an object")
    }

    fn slots(bytes: &[u8]) -> (Frame, Vec<Slot>) {
        let mut slots = Vec::new();
        let frame = scan(bytes, "tasks", &mut |slot, _| slots.push(slot)).expect("a list");
        (frame, slots)
    }

    fn queue() -> Value {
        json!({
            "version": "1.0", "revision": 3,
            "tasks": [{"id": "a", "lease": {"epoch": 1, "x": [1, 2]}}, {"id": "b}]\"", "n": null}, {}],
            "last_updated": "t"
        })
    }

    #[test]
    fn what_is_written_reads_back() {
        for value in [queue(), json!({"tasks": []}), json!({"a": 1, "tasks": [{"id": "x"}]})] {
            let bytes = render(map(&value), "tasks", ROOM).expect("a list");
            assert_eq!(json::parse(&bytes).expect("JSON"), value, "{}", String::from_utf8_lossy(&bytes));
            assert_eq!(
                sum(&bytes, "tasks"),
                sum(&json::render(&value), "tasks"),
                "white space does not count"
            );
            assert_eq!(sum(&bytes, "tasks"), sum(&serde_json::to_vec(&value).expect("JSON"), "tasks"));
        }
    }

    #[test]
    fn slots_are_where_the_scan_finds_them() {
        let value = queue();
        let mut bytes = render(map(&value), "tasks", ROOM).expect("a list");
        let (frame, found) = slots(&bytes);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|slot| slot.room as usize == slot.length as usize + ROOM));
        assert_eq!(frame.suffix, found[2].end());
        let item = item_text(map(&json!({"id": "a", "more": "x".repeat(300)})));
        let filled = found[0].fill(&item, false).expect("there is room");
        bytes[found[0].start as usize..found[0].end() as usize].copy_from_slice(&filled);
        let (same, moved) = slots(&bytes);
        assert_eq!((same.prefix, same.suffix, &moved[1..]), (frame.prefix, frame.suffix, &found[1..]));
        assert_eq!((moved[0].room, moved[0].length as usize), (found[0].room, item.len()));
        assert_eq!(found[0].fill(&vec![b'x'; found[0].room as usize + 1], false), None);
    }

    #[test]
    fn an_item_is_appended() {
        let mut value = json!({"revision": 1, "tasks": [], "z": 1});
        for number in 0..3 {
            let bytes = render(map(&value), "tasks", ROOM).expect("a list");
            let (frame, found) = slots(&bytes);
            let item = json!({"id": format!("task-{number}")});
            let (slot, piece) = append(&item_text(map(&item)), frame.suffix, ROOM);
            let mut grown = bytes[..frame.suffix as usize].to_vec();
            if let Some(last) = found.last() {
                grown[last.start as usize + last.length as usize] = b',';
            }
            grown.extend_from_slice(&piece);
            grown.extend_from_slice(&bytes[frame.suffix as usize..]);
            value["tasks"].as_array_mut().expect("a list").push(item);
            assert_eq!(json::parse(&grown).expect("JSON"), value);
            assert_eq!(slots(&grown).1.last(), Some(&slot));
            assert_eq!(slots(&grown), slots(&render(map(&value), "tasks", ROOM).expect("a list")));
        }
    }

    #[test]
    fn foreign_forms_have_no_room() {
        for text in ["{\"tasks\":[{\"id\":1},{\"id\":2}]}", "{\"tasks\": [{\"id\":1}\n,{\"id\":2}\n]}"] {
            for (slot, last) in slots(text.as_bytes()).1.into_iter().zip([false, true]) {
                assert_eq!(slot.fill(b"{\"id\":10}", last), None);
            }
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for bad in [
            "",
            "[]",
            "{}",
            "{\"tasks\":{}}",
            "{\"tasks\":[1]}",
            "{\"tasks\":[{},]}",
            "{\"tasks\":[{}!{}]}",
            "{\"tasks\":[{}]",
            "{\"tasks\":[{}]}x",
        ] {
            assert!(scan(bad.as_bytes(), "tasks", &mut |_, _| {}).is_none(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_changed_byte_but_a_blank_changes_the_sum(at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let bytes = render(map(&queue()), "tasks", ROOM).expect("a list");
            let at = at.index(bytes.len());
            let mut changed = bytes.clone();
            changed[at] = to;
            let alike = json::parse(&changed).is_ok_and(|value| json::identical(&value, &queue()));
            prop_assert_eq!(sum(&changed, "tasks") == sum(&bytes, "tasks"), alike);
        }
    }
}
