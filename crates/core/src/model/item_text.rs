//! Writing an item of a long list, field by field: a line per field, everything else on its field's line.
//!
//! This is the form that items have in their file (`store/file/list/layout.rs`). Where thousands of items come at once, values
//! on the way would take most of the time, and so would looking at every byte of a text for what has to be escaped.

use std::borrow::Cow;

use super::key::Key;
use super::{json, short};

/// One object that is being written.
#[derive(Debug)]
pub struct ItemText<'t> {
    bytes: &'t mut Vec<u8>,
    /// What stands before the first field, and before each further one.
    between: [&'static str; 2],
    empty: bool,
}

impl ItemText<'_> {
    /// Writes an item behind what is there.
    pub fn write(bytes: &mut Vec<u8>, fields: impl FnOnce(&mut ItemText<'_>)) {
        bytes.push(b'{');
        let mut item = ItemText { bytes, between: ["\n      ", ",\n      "], empty: true };
        fields(&mut item);
        let end: &[u8] = if item.empty { b"}" } else { b"\n    }" };
        bytes.extend_from_slice(end);
    }

    pub fn null<T>(&mut self, key: Key<T>) {
        self.field(key.name()).extend_from_slice(b"null");
    }

    pub fn whole<T>(&mut self, key: Key<T>, number: i64) {
        serde_json::to_writer(self.field(key.name()), &number).expect("a number can always be written");
    }

    pub fn text<T>(&mut self, key: Key<T>, text: &str) {
        write_text(self.field(key.name()), text);
    }

    pub fn texts<T>(&mut self, key: Key<T>, texts: &[Cow<'_, str>]) {
        let bytes = self.field(key.name());
        bytes.push(b'[');
        for (number, text) in texts.iter().enumerate() {
            bytes.extend_from_slice(if number == 0 { b"" } else { b", " });
            write_text(bytes, text);
        }
        bytes.push(b']');
    }

    pub fn object<T>(&mut self, key: Key<T>, fields: impl FnOnce(&mut ItemText<'_>)) {
        let bytes = self.field(key.name());
        bytes.push(b'{');
        fields(&mut ItemText { bytes, between: ["", ", "], empty: true });
        bytes.push(b'}');
    }

    /// Begins a field whose name needs no escapes.
    #[inline]
    fn field(&mut self, name: &'static str) -> &mut Vec<u8> {
        let [first, further] = self.between;
        let before = if self.empty { first } else { further };
        self.empty = false;
        for part in [before, "\"", name, "\": "] {
            short::append(self.bytes, part.as_bytes());
        }
        self.bytes
    }
}

/// Writes a string.
pub fn write_text(bytes: &mut Vec<u8>, text: &str) {
    if json::is_plain(text.as_bytes()) {
        bytes.push(b'"');
        short::append(bytes, text.as_bytes());
        bytes.push(b'"');
    } else {
        serde_json::to_writer(bytes, text).expect("a text can always be written");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_object_without_fields_is_short() {
        let mut bytes = Vec::new();
        ItemText::write(&mut bytes, |_| {});
        assert_eq!(bytes, b"{}");
    }

    proptest! {
        #[test]
        fn a_text_is_written_as_serde_writes_it(text in "[ -~\\x00-\\x20\\x7fé\u{2028}\"\\\\]{0,40}") {
            let mut bytes = Vec::new();
            write_text(&mut bytes, &text);
            prop_assert_eq!(bytes, serde_json::to_vec(&text).expect("a text"));
        }
    }
}
