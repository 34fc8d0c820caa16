//! The fields of documents by constants: a field that does not exist does not compile, nor is it read as something it
//! is not.
//!
//! [`document!`](super::shape) gives a type one [`Key`] for each field. Documents stay the values they are, so that unknown fields,
//! the order of keys and the spelling of numbers survive; a key looks into them ([`Fields`]) and changes them
//! ([`FieldsMut`]):
//!
//! ```text
//! task.read(QueueTask::status)                              Option<QueueStatus>
//! task.at(QueueTask::context).texts(TaskContext::files)     the texts of a list inside
//! task.at(QueueTask::result)                                None: absent; Some(null): null
//! task.set(QueueTask::claimed_by, "w1")
//! ```
//!
//! Names that are not ours (payloads of clients, settings of others, what people add) stay texts.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde_json::{Map, Value};

/// A field of a document that holds a `T`.
pub struct Key<T> {
    name: &'static str,
    holds: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    pub const fn new(name: &'static str) -> Key<T> {
        Key { name, holds: PhantomData }
    }

    /// Returns the field's name, for paths, texts and messages.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the key of the same field, whatever it holds: for lists of fields.
    pub const fn any(self) -> Key<Value> {
        Key::new(self.name)
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Key<T>) -> bool {
        self.name == other.name
    }
}

impl<T> Eq for Key<T> {}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({})", self.name)
    }
}

/// A key names its field in `json!({ Message::id: id })`.
impl<T> From<Key<T>> for String {
    fn from(key: Key<T>) -> String {
        key.name.into()
    }
}

/// What a field is read as: the same whether it must be there, may be absent or may be `null`.
pub trait Held {
    type Kind: Read;
}

/// How a value is read.
pub trait Read {
    type As<'v>;

    /// Reads the value; `None` where it is `null` or something else.
    fn read(value: &Value) -> Option<Self::As<'_>>;
}

/// What is written as a JSON string.
pub trait Text: Read {}

/// What is written as a JSON number.
pub trait Numeric: Read {}

/// What is written as a JSON array.
pub trait List: Read {}

/// What may be written into a field that holds `K`. A value may be anything: what it is worth, validation says.
pub trait Put<K> {
    fn put(self) -> Value;
}

type As<'v, T> = <<T as Held>::Kind as Read>::As<'v>;

/// Looking into an object: a value, a map, or one that may not be there.
pub trait Fields<'v>: Sized {
    fn named(self, name: &str) -> Option<&'v Value>;

    /// Returns what stands in the field; `null` is something.
    fn at<T>(self, key: Key<T>) -> Option<&'v Value> {
        self.named(key.name)
    }

    /// Whether the field is there, be it as `null`.
    fn has<T>(self, key: Key<T>) -> bool {
        self.at(key).is_some()
    }

    fn read<T: Held>(self, key: Key<T>) -> Option<As<'v, T>> {
        self.at(key).and_then(T::Kind::read)
    }

    /// Returns the text of the field, also of a word that we do not know.
    fn text<T: Held<Kind: Text>>(self, key: Key<T>) -> Option<&'v str> {
        self.at(key).and_then(Value::as_str)
    }

    /// Returns the number in the field, also where a whole one is written as `2.0`.
    fn number<T: Held<Kind: Numeric>>(self, key: Key<T>) -> Option<f64> {
        self.at(key).and_then(Value::as_f64)
    }

    /// Returns the items of a list; none where there is no list.
    fn list<T: Held<Kind: List>>(self, key: Key<T>) -> &'v [Value] {
        self.at(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the texts in a list.
    fn texts<T: Held<Kind: List>>(self, key: Key<T>) -> impl Iterator<Item = &'v str> + Clone {
        self.list(key).iter().filter_map(Value::as_str)
    }
}

impl<'v> Fields<'v> for &'v Value {
    fn named(self, name: &str) -> Option<&'v Value> {
        self.get(name)
    }
}

impl<'v> Fields<'v> for &'v Map<String, Value> {
    fn named(self, name: &str) -> Option<&'v Value> {
        self.get(name)
    }
}

impl<'v> Fields<'v> for Option<&'v Value> {
    fn named(self, name: &str) -> Option<&'v Value> {
        self?.get(name)
    }
}

impl<'v> Fields<'v> for Option<&'v Map<String, Value>> {
    fn named(self, name: &str) -> Option<&'v Value> {
        self?.get(name)
    }
}

/// Changing an object.
pub trait FieldsMut {
    /// Returns the fields of an object.
    fn fields_mut(&mut self) -> Option<&mut Map<String, Value>>;

    /// Makes `null` an object.
    fn begin(&mut self) {}

    fn at_mut<T>(&mut self, key: Key<T>) -> Option<&mut Value> {
        self.fields_mut()?.get_mut(key.name)
    }

    /// Returns the items of a list, if it is there.
    fn list_mut<T: Held<Kind: List>>(&mut self, key: Key<T>) -> Option<&mut Vec<Value>> {
        self.at_mut(key).and_then(Value::as_array_mut)
    }

    /// Writes the field; a new one comes last. `null` becomes an object, anything else that is none stays as it is.
    fn set<T: Held>(&mut self, key: Key<T>, value: impl Put<T::Kind>) {
        self.begin();
        if let Some(fields) = self.fields_mut() {
            fields.insert(key.name.into(), value.put());
        }
    }

    /// Removes the field; the others keep their order.
    fn unset<T>(&mut self, key: Key<T>) -> Option<Value> {
        self.fields_mut()?.shift_remove(key.name)
    }
}

impl FieldsMut for Value {
    fn fields_mut(&mut self) -> Option<&mut Map<String, Value>> {
        self.as_object_mut()
    }

    fn begin(&mut self) {
        if self.is_null() {
            *self = Value::Object(Map::new());
        }
    }
}

impl FieldsMut for Map<String, Value> {
    fn fields_mut(&mut self) -> Option<&mut Map<String, Value>> {
        Some(self)
    }
}

impl<T> Index<Key<T>> for Value {
    type Output = Value;

    fn index(&self, key: Key<T>) -> &Value {
        &self[key.name]
    }
}

impl<T> IndexMut<Key<T>> for Value {
    fn index_mut(&mut self, key: Key<T>) -> &mut Value {
        &mut self[key.name]
    }
}

impl<T: Held> Held for Option<T> {
    type Kind = T::Kind;
}

/// Says what values of some types are read as.
macro_rules! kinds {
    ($($(@$item:ident)? $kind:ty => $as:ty, $value:ident => $read:expr;)*) => {
        $(
            impl$(<$item>)? $crate::model::key::Held for $kind {
                type Kind = Self;
            }

            impl$(<$item>)? $crate::model::key::Read for $kind {
                type As<'v> = $as;

                fn read($value: &serde_json::Value) -> Option<Self::As<'_>> {
                    $read
                }
            }
        )*
    };
}

pub(super) use kinds;

kinds! {
    Value => &'v Value, value => Some(value).filter(|value| !value.is_null());
    String => &'v str, value => value.as_str();
    bool => bool, value => value.as_bool();
    Map<String, Value> => &'v Map<String, Value>, value => value.as_object();
    @T Vec<T> => &'v [Value], value => value.as_array().map(Vec::as_slice);
}

impl Text for String {}
impl<T> List for Vec<T> {}

impl<K> Put<K> for Value {
    fn put(self) -> Value {
        self
    }
}

/// Nothing is written as `null`.
impl<K, V: Put<K>> Put<K> for Option<V> {
    fn put(self) -> Value {
        self.map_or(Value::Null, V::put)
    }
}

/// Says which values may be written where some types are held.
macro_rules! puts {
    ($($kind:ty: $($value:ty),+;)*) => {
        $($(
            impl $crate::model::key::Put<$kind> for $value {
                fn put(self) -> serde_json::Value {
                    self.into()
                }
            }
        )+)*
    };
}
pub(super) use puts;

puts! {
    String: &str, String;
    bool: bool;
    Vec<String>: Vec<String>, Vec<&str>, &[String];
    Map<String, Value>: Map<String, Value>;
}

impl<T> Put<Vec<T>> for Vec<Value> {
    fn put(self) -> Value {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::json;
    use crate::model::shape::{Integer, Maybe, Time, document, words};

    words!(Colour { Red = "red", Green = "green" });
    document!(Leaf { name: Option<String>, tags: Option<Vec<String>> });
    document!(Tree {
        id: String,
        kind as "type": Colour,
        count: Option<Integer>,
        grown: Maybe<Time>,
        leaf: Option<Leaf>,
        leaves: Option<Vec<Leaf>>,
    });

    fn tree() -> Value {
        json::parse(
            br#"{"type": "green", "id": "t", "own": 1e400, "count": 2.0, "grown": null,
                "leaf": {"name": "l", "tags": ["a", 1, "b"]}, "leaves": 7}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_field_is_read_as_what_it_holds() {
        let tree = tree();
        assert_eq!((tree.read(Tree::id), tree.read(Tree::kind)), (Some("t"), Some(Colour::Green)));
        assert_eq!((tree.text(Tree::kind), tree.number(Tree::count)), (Some("green"), Some(2.0)));
        assert_eq!(tree.at(Tree::leaf).text(Leaf::name), Some("l"));
        assert_eq!(tree.read(Tree::leaf).texts(Leaf::tags).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(
            (tree.list(Tree::leaves).len(), tree.read(Tree::leaves)),
            (0, None),
            "what is no list has no items"
        );
        assert_eq!(json!({"type": "blue"}).read(Tree::kind), None);
        assert_eq!(json!({"type": "blue"}).text(Tree::kind), Some("blue"), "as it is written");
    }

    #[test]
    fn absent_is_not_null() {
        let tree = tree();
        assert_eq!((tree.at(Tree::grown), tree.read(Tree::grown)), (Some(&Value::Null), None));
        assert!(tree.has(Tree::grown) && !json!({}).has(Tree::grown));
        assert_eq!((None::<&Value>.at(Tree::id), json!(7).at(Tree::id)), (None, None));
        assert_eq!(tree[Tree::grown], json!({})[Tree::grown]);
    }

    #[test]
    fn writing_keeps_what_it_does_not_know() {
        let mut tree = tree();
        tree.set(Tree::kind, Colour::Red);
        tree.set(Tree::count, 3u64);
        tree.set(Tree::grown, None::<&str>);
        tree.unset(Tree::leaves);
        tree[Tree::leaf].set(Leaf::name, "m");
        let expected = r#"{"type":"red","id":"t","own":1e400,"count":3,"grown":null,"leaf":{"name":"m","tags":["a",1,"b"]}}"#;
        assert_eq!(json::dense(&tree), expected);
        let mut none = Value::Null;
        assert_eq!(none.unset(Tree::id), None);
        assert_eq!(none, Value::Null, "taking something out of nothing makes nothing");
        none.set(Tree::id, "t");
        assert_eq!(none, json!({Tree::id: "t"}));
        let mut list = json!([]);
        list.set(Tree::id, "t");
        assert_eq!(list, json!([]), "what is no object gets no fields");
    }
}
