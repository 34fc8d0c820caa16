//! Reading a line of JSON straight into a task.
//!
//! This knows what nearly every line is made of. Whatever else it meets (another field, a number such as `1.0`, a
//! mistake) it leaves to the strict reader, which also knows what to say about it.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::NewTask;

/// Returns the task of a line that is surely fine.
pub fn read(line: &str) -> Option<NewTask> {
    // Serde would read an array of values as well.
    let line = line.trim_ascii_start().starts_with('{').then_some(line)?;
    let task = NewTask::from(serde_json::from_str::<Line>(line).ok()?);
    task.check().is_ok().then_some(task)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: Option<String>,
    description: String,
    priority: Option<i64>,
    dependencies: Option<Vec<String>>,
    context: Option<Object<Context>>,
    files: Option<Vec<String>>,
    hints: Option<String>,
    required_capabilities: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Context {
    files: Option<Vec<String>>,
    hints: Option<String>,
}

impl From<Line> for NewTask {
    fn from(line: Line) -> NewTask {
        let Object(context) = line.context.unwrap_or_default();
        NewTask {
            id: line.id,
            description: line.description,
            priority: line.priority,
            dependencies: line.dependencies.unwrap_or_default(),
            files: super::joined_files(context.files, line.files),
            hints: super::joined_hints(context.hints, line.hints),
            needs: line.required_capabilities.unwrap_or_default(),
        }
    }
}

/// What is read from an object and nothing else.
#[derive(Default)]
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(std::marker::PhantomData))
    }
}

struct ObjectVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_strict_reader_or_leaves_it_the_line() {
        let check = |line: &str, quick: bool| {
            let read = read(line);
            assert_eq!(read.is_some(), quick, "{line}");
            if let Some(task) = read {
                assert_eq!(Ok(task), super::super::from_json_line_strictly(line), "{line}");
            }
        };
        check(r#" {"description": "x"} "#, true);
        check(
            r#"{"id": "a", "description": "\u0041\n", "priority": 2, "dependencies": ["b"], "files": ["f"], "hints": "h",
                "context": {"files": ["g"], "hints": "i"}, "required_capabilities": ["rust"]}"#,
            true,
        );
        check(
            r#"{"id": null, "description": "x", "priority": null, "dependencies": null, "context": null}"#,
            true,
        );
        for other in [
            r#"{"description": "x", "status": "done"}"#,
            r#"{"description": "x", "priority": 1.0}"#,
            r#"{"description": "x", "priority": 11}"#,
            r#"{"description": "x", "description": "x"}"#,
            r#"{"description": "x", "context": [["f"], "h"]}"#,
            r#"{"description": "x", "context": {"more": 1}}"#,
            r#"{"description": " "}"#,
            r#"{"description": "x"} {}"#,
            r#"{"description": "x""#,
            r#"["a", "x", 1, [], {}, [], "h", []]"#,
            r#"{}"#,
            "",
        ] {
            check(other, false);
        }
    }
}
