//! A quick look whether a text fits a shape.
//!
//! It never says yes to what [`Shape::check`] refuses. What it is not sure of has to be parsed and checked, which
//! also tells what is wrong.

use crate::model::raw::Raw;
use crate::model::shape::{Field, Shape};
use crate::model::short;

/// Whether an object surely fits; its values are nested no deeper than the shape is. `inner` is a place to read an
/// object inside of it, which has room after the first time.
pub fn surely_fits(raw: &Raw, shape: &Shape, inner: &mut Raw) -> bool {
    let Shape::Object(fields) = shape else { return false };
    if fields.len() > 64 {
        return false;
    }
    let (mut seen, mut next) = (0_u64, 0);
    for (key, value) in raw.fields() {
        match find(fields, key, next) {
            // Another field with a scalar is fine, and may be there twice for all we know.
            None => return false,
            Some(at) if seen & (1 << at) != 0 || !value_fits(value, fields[at].shape, inner) => return false,
            Some(at) => {
                seen |= 1 << at;
                next = at + 1;
            }
        }
    }
    fields.iter().enumerate().all(|(at, field)| !field.required || seen & (1 << at) != 0)
}

/// Finds a field; the fields of a text mostly have the order of its shape.
fn find(fields: &[Field], key: &[u8], next: usize) -> Option<usize> {
    let is = |at: &usize| short::same(fields[*at].name.as_bytes(), key);
    (next..fields.len()).find(is).or_else(|| (0..next.min(fields.len())).find(is))
}

fn value_fits(text: &[u8], shape: &Shape, inner: &mut Raw) -> bool {
    match shape {
        Shape::Text | Shape::Time => text.first() == Some(&b'"'),
        Shape::Integer => text.len() < 18 && text.iter().all(u8::is_ascii_digit),
        Shape::Words(words) => words.iter().any(|word| is_quoted(text, word)),
        Shape::Nullable(shape) => text == b"null" || value_fits(text, shape, inner),
        Shape::List(Shape::Text) => are_texts(text),
        Shape::Object(_) => {
            inner.read(text, 0) == Some(text.len()) && surely_fits(inner, shape, &mut Raw::default())
        }
        _ => false,
    }
}

fn is_quoted(text: &[u8], word: &str) -> bool {
    let inner = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    inner == Some(word.as_bytes())
}

/// Whether this is a list of strings.
fn are_texts(text: &[u8]) -> bool {
    let Some(mut rest) = text.strip_prefix(b"[") else { return false };
    while rest.first() == Some(&b'"') {
        let Some(end) = crate::model::raw::string_end(rest, 0) else { return false };
        rest = &rest[end..];
        match rest.first() {
            Some(b',') => rest = &rest[1..],
            _ => break,
        }
    }
    rest == b"]"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::model::json::samples;
    use crate::model::kind::Doc;

    fn shape() -> &'static Shape {
        Doc::queue().kind.shape.items_of("tasks").expect("a list")
    }

    fn fits(item: &Value) -> bool {
        let text = item.to_string();
        let mut raw = Raw::default();
        raw.read(text.as_bytes(), 0).expect("an object");
        surely_fits(&raw, shape(), &mut Raw::default())
    }

    /// A task with some fields of any value.
    fn tasks() -> impl Strategy<Value = Value> {
        let Shape::Object(fields) = shape() else { panic!("a task is an object") };
        let names: Vec<_> = fields.iter().map(|field| field.name).chain(["more"]).collect();
        let values = prop_oneof![
            3 => "\\PC{0,9}".prop_map(Value::from),
            1 => any::<i64>().prop_map(Value::from),
            2 => prop::collection::vec("\\PC{0,4}", 0..3).prop_map(Value::from),
            1 => Just(Value::Null),
            1 => samples::values(),
        ];
        let fields = prop::collection::vec((prop::sample::select(names), values), 0..3);
        fields.prop_map(|fields| {
            let good = json!({"id": "a", "description": "d", "status": "done", "priority": 3, "claimed_by": null,
                "dependencies": ["b"], "context": {"files": [], "hints": "h"}, "created_at": "t"});
            let Value::Object(good) = good else { unreachable!("it is an object") };
            let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
            Value::Object(good.into_iter().chain(fields).collect::<Map<_, _>>())
        })
    }

    proptest! {
        #[test]
        fn it_never_says_yes_to_what_the_shape_refuses(task in tasks()) {
            prop_assert!(!fits(&task) || shape().check(&task).is_ok(), "{}", task);
        }
    }

    #[test]
    fn what_surely_fits_fits() {
        let good = json!({"id": "a", "description": "d", "status": "done", "priority": 3, "claimed_by": null,
            "dependencies": ["a\"]", "b"], "context": {"files": [], "hints": "h"}, "created_at": "t"});
        assert!(fits(&good));
        let bad = [
            ("id", json!(1)),
            ("status", json!("none")),
            ("status", Value::Null),
            ("priority", json!("3")),
            ("dependencies", json!(["a", 1])),
            ("dependencies", json!("a")),
            ("context", json!([])),
            ("context", json!({"files": [1]})),
            ("context", json!({"more": {}})),
            ("more", json!(1)),
        ];
        for (field, value) in bad {
            let mut item = good.clone();
            item[field] = value;
            assert!(!fits(&item), "{item}");
        }
        assert!(!fits(&json!({"id": "a", "status": "done"})), "a field is missing");
    }
}
