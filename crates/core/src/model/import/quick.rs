//! Reading a line of JSON straight into a task.
//!
//! This knows what nearly every line is made of. Whatever else it meets (another field, a number such as `1.0`, a
//! mistake) it leaves to the strict reader, which also knows what to say about it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::model::new_task::{NewTask, joined_files, joined_hints};

/// Returns the task of a line that is surely fine.
pub fn read(line: &str) -> Option<NewTask<'_>> {
    // Serde would read an array of values as well.
    let line = line.trim_ascii_start().starts_with('{').then_some(line)?;
    let task = NewTask::from(serde_json::from_str::<Line<'_>>(line).ok()?);
    task.check().is_ok().then_some(task)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'t> {
    #[serde(borrow)]
    id: Option<Text<'t>>,
    #[serde(borrow)]
    description: Cow<'t, str>,
    priority: Option<i64>,
    #[serde(borrow)]
    dependencies: Option<Vec<Text<'t>>>,
    #[serde(borrow)]
    context: Option<Object<Context<'t>>>,
    #[serde(borrow)]
    files: Option<Vec<Text<'t>>>,
    #[serde(borrow)]
    hints: Option<Text<'t>>,
    #[serde(borrow)]
    required_capabilities: Option<Vec<Text<'t>>>,
    #[serde(borrow)]
    labels: Option<Vec<Text<'t>>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Context<'t> {
    #[serde(borrow)]
    files: Option<Vec<Text<'t>>>,
    #[serde(borrow)]
    hints: Option<Text<'t>>,
}

/// A string that stays in the line unless it has escapes; serde borrows no bare `Cow` inside of something else.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'t> From<Line<'t>> for NewTask<'t> {
    fn from(line: Line<'t>) -> NewTask<'t> {
        let bare = |Text(text)| text;
        let all = |texts: Option<Vec<Text<'t>>>| texts.map(|texts| texts.into_iter().map(bare).collect());
        let Object(context) = line.context.unwrap_or_default();
        NewTask {
            id: line.id.map(bare),
            description: line.description,
            priority: line.priority,
            dependencies: all(line.dependencies).unwrap_or_default(),
            files: joined_files(all(context.files), all(line.files)),
            hints: joined_hints(context.hints.map(bare), line.hints.map(bare)),
            needs: all(line.required_capabilities).unwrap_or_default(),
            labels: all(line.labels).unwrap_or_default(),
            parent: None,
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
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::json::samples;

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
                "context": {"files": ["g"], "hints": "i"}, "required_capabilities": ["rust"], "labels": ["ui"]}"#,
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

    /// Fields of a line, with values that fit mostly.
    fn fields() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
        let names: [&'static str; 9] = [
            "id",
            "priority",
            "dependencies",
            "context",
            "files",
            "hints",
            "required_capabilities",
            "labels",
            "more",
        ];
        let texts = prop::collection::vec("\\PC{0,4}", 0..3);
        let values = prop_oneof![
            4 => "\\PC{0,9}".prop_map(Value::from),
            2 => (-1..13_i64).prop_map(Value::from),
            4 => texts.clone().prop_map(Value::from),
            2 => (texts, "\\PC{0,9}").prop_map(|(files, hints)| json!({"files": files, "hints": hints})),
            1 => Just(Value::Null),
            1 => samples::values(),
        ];
        prop::collection::vec((prop::sample::select(names.to_vec()), values), 0..5)
    }

    proptest! {
        #[test]
        fn what_it_reads_the_strict_reader_reads_alike(about in "\\PC{0,9}", fields in fields()) {
            let about = ("description", Value::from(about));
            let fields: Vec<_> = fields.iter().chain([&about]).map(|(name, value)| format!("\"{name}\": {value}")).collect();
            let line = format!("{{{}}}", fields.join(", "));
            if let Some(task) = read(&line) {
                prop_assert_eq!(Ok(task), super::super::from_json_line_strictly(&line), "{}", line);
            }
        }
    }
}
