//! Requests as plain data: a list of fields becomes a struct, its shape and its strict reading.

use std::fmt;
use std::str::FromStr;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::ids::{Id, InvalidId};
use crate::model::shape::{Shape, Shaped};

/// Declares a request: its name, what it does, its command, an example, and its fields.
///
/// `field: T` must be there; a list, a flag or an `Option<T>` may be left out. A name that is not declared is refused.
macro_rules! request {
    ($(#[doc = $about:literal])* $name:ident($word:literal, $effect:ident, $command:literal, $example:expr) {
        $($(#[doc = $field_about:literal])* $field:ident $(as $key:literal)? : $type:ty),* $(,)?
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[doc = $field_about])* $(#[serde(rename = $key)])? pub $field: $type,)*
        }

        impl $crate::api::Described for $name {
            const NAME: &'static str = $word;
            const COMMAND: &'static str = $command;
            const EFFECT: $crate::api::Effect = $crate::api::Effect::$effect;
            const EXAMPLE: &'static str = $example;
        }

        impl $crate::model::shape::Shaped for $name {
            const ABOUT: &'static str = concat!($($about),*).trim_ascii();
            const SHAPE: &'static $crate::model::shape::Shape = &$crate::model::shape::Shape::Closed(&[
                $($crate::model::shape::Field {
                    name: $crate::model::shape::document!(@key $field $($key)?),
                    about: concat!($($field_about),*),
                    required: <$type as $crate::model::shape::Shaped>::LEFT_OUT.is_none(),
                    shape: <$type as $crate::model::shape::Shaped>::SHAPE,
                },)*
            ]);
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                #[allow(unused_mut)]
                let mut fields = $crate::api::request::Given::read(deserializer)?;
                let request = $name {
                    $($field: fields.take($crate::model::shape::document!(@key $field $($key)?))?,)*
                };
                fields.end().map(|()| request)
            }
        }
    };
}
pub(crate) use request;

/// The fields of a request that nobody has read yet.
pub struct Given(Map<String, Value>);

impl Given {
    pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Given, D::Error> {
        Map::deserialize(deserializer).map(Given)
    }

    pub fn take<T: Shaped, E: Error>(&mut self, name: &'static str) -> Result<T, E> {
        match (self.0.remove(name), T::LEFT_OUT) {
            (Some(value), _) => {
                serde_json::from_value(value).map_err(|error| E::custom(format!("`{name}`: {error}")))
            }
            (None, Some(left_out)) => Ok(left_out()),
            (None, None) => Err(E::missing_field(name)),
        }
    }

    pub fn end<E: Error>(self) -> Result<(), E> {
        match self.0.keys().next() {
            Some(name) => Err(E::custom(format!("there is no field `{name}`"))),
            None => Ok(()),
        }
    }
}

/// An id that somebody chooses for something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen<T>(pub T);

impl<T: Id> FromStr for Chosen<T> {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Chosen<T>, InvalidId> {
        T::chosen(text).map(Chosen)
    }
}

impl<T: fmt::Display> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: Id> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Chosen<T>, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl<T: Id> Shaped for Chosen<T>
where
    Chosen<T>: DeserializeOwned,
{
    const SHAPE: &'static Shape = &Shape::Text;
}

/// A number within bounds.
macro_rules! bounded {
    ($(#[doc = $about:literal])* $name:ident($type:ty) = $shape:expr, $range:expr, $expected:literal;) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        pub struct $name($type);

        impl $name {
            /// Returns the number if it is within the bounds; the error says what is expected.
            pub fn new(number: $type) -> Result<$name, &'static str> {
                if $range.contains(&number) { Ok($name(number)) } else { Err($expected) }
            }

            pub fn get(self) -> $type {
                self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $name::new(<$type>::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }

        impl Shaped for $name {
            const SHAPE: &'static Shape = &$shape;
        }
    };
}

bounded! {
    /// A duration in seconds.
    Seconds(f64) = Shape::Number, (0.0..=86_400_000.0), "expected a number of seconds, such as 5 or 0.5";
}

bounded! {
    /// How many, at most.
    Limit(u32) = Shape::Integer, (1..=u32::MAX), "expected a number, 1 or more";
}

/// Numbers and ids as requests have them.
macro_rules! plain {
    ($($type:ty => $shape:expr),* $(,)?) => {
        $(impl Shaped for $type { const SHAPE: &'static Shape = &$shape; })*
    };
}

plain! {
    f64 => Shape::Number,
    u64 => Shape::Integer,
    i64 => Shape::Integer,
    usize => Shape::Integer,
}
