//! Many items of a list, as the texts that will stand in its file.
//!
//! A value takes several times the memory of its text, and the time to make it. Where thousands of items come at
//! once, they are written down right away, in the one form that items have: a line per field, as
//! `file::list::layout` has it. The text is JSON because serde wrote it.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

use crate::model::json;

/// Items as texts, with [`Texts::BETWEEN`] between them.
#[derive(Debug, Default)]
pub struct Texts {
    parts: Vec<Part>,
}

/// Some of them, one behind the other.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// What stands between two texts.
    pub const BETWEEN: &'static [u8] = b",\n    ";

    /// Makes room for so many items of about so many bytes.
    pub fn with_room(count: usize, bytes: usize) -> Texts {
        Texts { parts: vec![Part { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(count) }] }
    }

    /// Puts others behind these.
    pub fn append(&mut self, others: Texts) {
        self.parts.extend(others.parts);
    }

    /// Appends an item, which serde writes as an object.
    pub fn push(&mut self, item: &impl Serialize) {
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        let part = self.parts.last_mut().expect("there is one now");
        if !part.ends.is_empty() {
            part.bytes.extend_from_slice(Texts::BETWEEN);
        }
        let form = ItemForm { depth: 0, empty: true };
        item.serialize(&mut Serializer::with_formatter(&mut part.bytes, form))
            .expect("an item can always be written");
        part.ends.push(part.bytes.len());
    }

    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.ends.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how long they are.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }

    /// Returns all of them in pieces, as they stand in a list without room for changes.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.parts.iter().filter(|part| !part.ends.is_empty()).map(|part| &part.bytes[..]);
        parts.flat_map(|bytes| [Texts::BETWEEN, bytes]).skip(1)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().flat_map(Part::iter)
    }

    /// Reads the items back.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.iter().map(|text| json::parse(text).expect("BUG: what serde writes is JSON"))
    }
}

impl Part {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end + Texts::BETWEEN.len()));
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// The form of an item: a line per field, everything else on its field's line.
struct ItemForm {
    depth: usize,
    empty: bool,
}

impl ItemForm {
    fn between<W: ?Sized + io::Write>(writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
}

impl Formatter for ItemForm {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        ItemForm::between(writer, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 0 && !self.empty { b"\n    }" } else { b"}" })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        match (self.depth, first) {
            (1, true) => writer.write_all(b"\n      "),
            (1, false) => writer.write_all(b",\n      "),
            _ => ItemForm::between(writer, first),
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::file::list::layout;

    #[test]
    fn items_have_the_form_that_they_have_in_a_file() {
        let items = [
            json!({"id": "a", "list": [1, [], {}, {"x": [true, null]}], "o": {"b": {"c": "\"d\n"}, "e": 1.5}}),
            json!({}),
            json!({"id": "b"}),
        ];
        let (mut texts, mut more) = (Texts::default(), Texts::with_room(1, 10));
        items[..2].iter().for_each(|item| texts.push(item));
        texts.append(Texts::with_room(0, 0));
        more.push(&items[2]);
        texts.append(more);
        assert_eq!(texts.len(), 3);
        for (text, item) in texts.iter().zip(&items) {
            let expected = layout::item_text(item.as_object().unwrap());
            assert_eq!(String::from_utf8_lossy(text), String::from_utf8_lossy(&expected));
        }
        assert_eq!(texts.values().collect::<Vec<_>>(), items);
        let list = [b"[", &*texts.pieces().collect::<Vec<_>>().concat(), b"]"].concat();
        assert_eq!(json::parse(&list).unwrap(), Value::from(items.to_vec()));
    }
}
