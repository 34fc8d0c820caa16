//! Many items of a list, as the texts that will stand in its file.
//!
//! A value takes several times the memory of its text, and the time to make it. Where thousands of items come at
//! once, they are written down right away, in the one form that items have: a line per field, as
//! `file::list::layout` has it. The text is JSON because [`ItemText`] wrote it.

use serde_json::Value;

use crate::model::item_text::ItemText;
use crate::model::json;

/// Items as texts, with [`Texts::BETWEEN`] between them.
#[derive(Debug, Default)]
pub struct Texts {
    parts: Vec<Batch>,
}

/// Some of them, one behind the other.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// What stands between two texts.
    pub const BETWEEN: &'static [u8] = b",\n    ";

    /// Makes room for so many items of about so many bytes.
    pub fn with_room(count: usize, bytes: usize) -> Texts {
        Texts { parts: vec![Batch { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(count) }] }
    }

    /// Puts others behind these.
    pub fn append(&mut self, others: Texts) {
        self.parts.extend(others.parts);
    }

    /// Appends an item with these fields.
    pub fn push(&mut self, fields: impl FnOnce(&mut ItemText<'_>)) {
        if self.parts.is_empty() {
            self.parts.push(Batch::default());
        }
        let part = self.parts.last_mut().expect("there is one now");
        if !part.ends.is_empty() {
            part.bytes.extend_from_slice(Texts::BETWEEN);
        }
        ItemText::write(&mut part.bytes, fields);
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
        self.parts.iter().flat_map(Batch::iter)
    }

    /// Reads the items back.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.iter().map(|text| json::parse(text).expect("BUG: what was written is JSON"))
    }
}

impl Batch {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end + Texts::BETWEEN.len()));
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::key::Key;
    use crate::store::file::list::layout;

    fn key(name: &'static str) -> Key<serde_json::Value> {
        Key::new(name)
    }

    #[test]
    fn items_have_the_form_that_they_have_in_a_file() {
        let items = [
            json!({"id": "a\n", "none": [], "list": ["x", "\"y"], "o": {"b": {"c": null}, "e": -1}}),
            json!({}),
            json!({"id": "b"}),
        ];
        let (mut texts, mut more) = (Texts::default(), Texts::with_room(1, 10));
        texts.push(|item| {
            item.text(key("id"), "a\n");
            item.texts(key("none"), &[]);
            item.texts(key("list"), &["x".into(), "\"y".into()]);
            item.object(key("o"), |inner| {
                inner.object(key("b"), |inner| inner.null(key("c")));
                inner.whole(key("e"), -1);
            });
        });
        texts.push(|_| {});
        texts.append(Texts::with_room(0, 0));
        more.push(|item| item.text(key("id"), "b"));
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
