//! Requests as plain data: a list of fields becomes a struct, its shape and its strict reading.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::ids::{Id, InvalidId};
use crate::model::kind::Kind;
use crate::model::path::Path;
use crate::model::plan;
use crate::model::shape::{Shape, Shaped};
use crate::model::when::When;

/// Declares plain data with a strict reading.
///
/// `field: T` must be there; a list, a flag or an `Option<T>` may be left out. A name that is not declared is refused.
macro_rules! data {
    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $field_about:literal])* $field:ident $(as $key:literal)? : $type:ty),* $(,)?
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[doc = $field_about])* $(#[serde(rename = $key)])? pub $field: $type,)*
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

            fn from_json(value: serde_json::Value) -> std::result::Result<Self, serde_json::Error> {
                #[allow(unused_mut)]
                let mut fields = $crate::api::request::Given::read(value)?;
                let data = $name {
                    $($field: fields.take($crate::model::shape::document!(@key $field $($key)?))?,)*
                };
                fields.end().map(|()| data)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                <$name as $crate::model::shape::Shaped>::from_json(value).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use data;

/// Declares a request: its name, what it does, its command, an example, and its fields as in [`data!`].
macro_rules! request {
    ($(#[doc = $about:literal])* $name:ident($word:literal, $effect:ident, $command:literal, $example:expr) $fields:tt) => {
        $crate::api::request::data!($(#[doc = $about])* $name $fields);

        impl $crate::api::Described for $name {
            const NAME: &'static str = $word;
            const COMMAND: &'static str = $command;
            const EFFECT: $crate::api::Effect = $crate::api::Effect::$effect;
            const EXAMPLE: &'static str = $example;
        }
    };
}
pub(crate) use request;

/// The fields of a request that nobody has read yet.
pub struct Given(Map<String, Value>);

impl Given {
    pub fn read(value: Value) -> serde_json::Result<Given> {
        Map::from_json(value).map(Given)
    }

    pub fn take<T: Shaped>(&mut self, name: &'static str) -> serde_json::Result<T> {
        match (self.0.remove(name), T::LEFT_OUT) {
            (Some(value), _) => {
                T::from_json(value).map_err(|error| Error::custom(format!("`{name}`: {error}")))
            }
            (None, Some(left_out)) => Ok(left_out()),
            (None, None) => Err(Error::missing_field(name)),
        }
    }

    pub fn end(self) -> serde_json::Result<()> {
        match self.0.keys().next() {
            Some(name) => Err(Error::custom(format!("there is no field `{name}`"))),
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

/// A field that is written as a text.
macro_rules! by_text {
    ($($type:ty => $shape:expr),* $(,)?) => {
        $(
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
                }
            }

            impl Shaped for $type {
                const SHAPE: &'static Shape = &$shape;
            }
        )*
    };
}

by_text! {
    Path => Shape::Text,
    KindName => Shape::Text,
    When => Shape::Text,
    Day => Shape::Text,
}

/// A day of the calendar, such as 2026-01-15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day(pub Date);

impl FromStr for Day {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Day, &'static str> {
        plan::day(text).map(Day).ok_or("expected a day such as 2026-01-15")
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A document kind of the registry.
#[derive(Clone, Copy)]
pub struct KindName(pub &'static Kind);

impl FromStr for KindName {
    type Err = String;

    fn from_str(text: &str) -> Result<KindName, String> {
        Kind::find(text).map(KindName).ok_or_else(|| format!("unknown kind `{text}`"))
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.name)
    }
}

impl fmt::Debug for KindName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.name)
    }
}

impl PartialEq for KindName {
    fn eq(&self, other: &KindName) -> bool {
        self.0.name == other.0.name
    }
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
    /// A duration in minutes.
    Minutes(f64) = Shape::Number, (0.0..=1_440_000.0), "expected a number of minutes, such as 5 or 0.5";
}

bounded! {
    /// A number of points or the like.
    Amount(f64) = Shape::Number, (0.0..=f64::MAX), "expected a number, 0 or more";
}

bounded! {
    /// How many iterations a loop has at most.
    Iterations(u64) = Shape::Integer, (1..=1_000_000), "expected 1 to 1000000";
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
