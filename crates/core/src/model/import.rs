//! Files full of tasks.
//!
//! [`parse`] tells by the content what a file is: JSON (an array, or an object with `tasks` such as another
//! queue), one JSON object per line, or a Markdown checklist. What a running queue adds to a task (status,
//! owner, result) is passed over: an imported task is new. Whether the tasks fit together, and into the
//! queue, is not asked here.

mod quick;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use self::written::{WrittenTask, WrittenTasks};
use super::both::both;
use super::json::{self, ParseError};
use super::key::Fields;
use super::new_task::{NewTask, joined_files, joined_hints};
use super::path::Path;
use super::shape::{Integer, Misfit, Shaped};

/// Where and why a file is not a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ImportError {
    /// Counted from 1.
    pub line: usize,
    pub message: String,
}

const NO_TASKS: &str = "no tasks in the file: expected JSON, or checklist lines such as \
                        `- [ ] text {id: a, p: 1, after: b c, files: x y, hints: some text, needs: rust sql}`";

/// Reads the tasks of a file, at least one, each of them [checked](NewTask::check).
pub fn parse(bytes: &[u8]) -> Result<Vec<NewTask<'_>>, ImportError> {
    let text = decode(bytes)?;
    let tasks = if !is_json(text) {
        from_lines(text, open_item, from_item)?
    } else if text.lines().find_map(not_blank).is_some_and(is_json_line) {
        from_json_lines(text)?
    } else {
        from_json(text)?
    };
    if tasks.is_empty() { Err(ImportError { line: 1, message: NO_TASKS.into() }) } else { Ok(tasks) }
}

/// Returns the text of a file without its byte order mark.
fn decode(bytes: &[u8]) -> Result<&str, ImportError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let newlines = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        ImportError { line: newlines + 1, message: "the text is not valid UTF-8".into() }
    })
}

/// Whether a text is meant as JSON; a mere `[` may also open a Markdown link.
fn is_json(text: &str) -> bool {
    let array = text.trim_start().strip_prefix('[').map(str::trim);
    text.trim_start().starts_with('{') || array.is_some_and(|items| items.starts_with('{') || items == "]")
}

/// Whether a line is a task by itself.
fn is_json_line(line: &str) -> bool {
    json::parse(line.as_bytes()).is_ok_and(|value| value.is_object() && !value.has(WrittenTasks::tasks))
}

/// Reads the lines in which `find` sees a task.
fn from_lines<'t>(
    text: &'t str,
    find: fn(&'t str) -> Option<&'t str>,
    read: fn(&'t str) -> Result<NewTask<'t>, String>,
) -> Result<Vec<NewTask<'t>>, ImportError> {
    let found = text.lines().zip(1..).filter_map(|(line, number)| Some((find(line)?, number)));
    found.map(|(text, line)| read(text).map_err(|message| ImportError { line, message })).collect()
}

/// Reads one object per line; the second half of a long text in a thread of its own.
fn from_json_lines(text: &str) -> Result<Vec<NewTask<'_>>, ImportError> {
    let read = |part| from_lines(part, not_blank, from_json_line);
    let half = text.len() / 2;
    let line_end = text.as_bytes()[half..].iter().position(|byte| *byte == b'\n');
    let (true, Some(line_end)) = (text.len() >= LONG, line_end) else { return read(text) };
    let (first, second) = text.split_at(half + line_end + 1);
    let (tasks, more) = both(|| read(first), || read(second));
    let mut tasks = tasks?;
    let behind = |error: ImportError| ImportError { line: first.lines().count() + error.line, ..error };
    tasks.append(&mut more.map_err(behind)?);
    Ok(tasks)
}

/// A text that is worth a second thread.
const LONG: usize = 1 << 20;

fn not_blank(line: &str) -> Option<&str> {
    Some(line).filter(|line| !line.trim().is_empty())
}

fn from_json_line(line: &str) -> Result<NewTask<'_>, String> {
    quick::read(line).map_or_else(|| from_json_line_strictly(line), Ok)
}

fn from_json_line_strictly(line: &str) -> Result<NewTask<'static>, String> {
    let value = json::parse(line.as_bytes()).map_err(|error| with_column(&error))?;
    from_value(&value).map_err(|misfit| misfit.to_string())
}

fn from_json(text: &str) -> Result<Vec<NewTask<'static>>, ImportError> {
    let value = json::parse(text.as_bytes())
        .map_err(|error| ImportError { line: error.line, message: with_column(&error) })?;
    let refused = |misfit: Misfit| {
        let path = Path::from_record(&misfit.path).unwrap_or_default();
        let line = json::locate(text.as_bytes(), &path).map_or(1, |(line, _)| line);
        ImportError { line, message: misfit.to_string() }
    };
    let (list, items) = if value.is_array() {
        ("", &value)
    } else {
        WrittenTasks::SHAPE.check(&value).map_err(refused)?;
        (WrittenTasks::tasks.name(), &value[WrittenTasks::tasks])
    };
    let read = |(index, item)| from_value(item).map_err(|misfit| refused(within(list, index, misfit)));
    items.as_array().into_iter().flatten().enumerate().map(read).collect()
}

fn with_column(error: &ParseError) -> String {
    format!("{} at column {}", error.message, error.column)
}

/// Names a misfit of an item from the document's root.
fn within(list: &str, index: usize, misfit: Misfit) -> Misfit {
    let dot = if misfit.path.is_empty() { "" } else { "." };
    Misfit { path: format!("{list}[{index}]{dot}{}", misfit.path), ..misfit }
}

fn from_value(value: &Value) -> Result<NewTask<'static>, Misfit> {
    let misfit = |message| Misfit { path: String::new(), message };
    WrittenTask::SHAPE.check(value)?;
    let written = WrittenTask::deserialize(value).map_err(|error| misfit(error.to_string()))?;
    let task = NewTask::from(written);
    task.check().map_err(misfit)?;
    Ok(task)
}

mod written {
    use crate::model::documents::queue::TaskContext;
    use crate::model::shape::{Integer, document};

    document!(
        WrittenTask {
            id: Option<String>,
            description: String,
            priority: Option<Integer>,
            dependencies: Option<Vec<String>>,
            context: Option<TaskContext>,
            files: Option<Vec<String>>,
            hints: Option<String>,
            required_capabilities: Option<Vec<String>>,
            labels: Option<Vec<String>>,
        }
    );

    document!(WrittenTasks { tasks: Vec<serde_json::Value> });
}

impl From<WrittenTask> for NewTask<'_> {
    fn from(written: WrittenTask) -> Self {
        let context = written.context.unwrap_or_default();
        let owned =
            |texts: Option<Vec<String>>| texts.map(|texts| texts.into_iter().map(Cow::Owned).collect());
        NewTask {
            id: written.id.map(Cow::Owned),
            description: written.description.into(),
            priority: written.priority.map(whole),
            dependencies: owned(written.dependencies).unwrap_or_default(),
            files: joined_files(owned(context.files), owned(written.files)),
            hints: joined_hints(context.hints.map(Cow::Owned), written.hints.map(Cow::Owned)),
            needs: owned(written.required_capabilities).unwrap_or_default(),
            labels: owned(written.labels).unwrap_or_default(),
            parent: None,
        }
    }
}

/// Returns an integer also where it is written as `3.0`; what is too large stays too large.
fn whole(integer: Integer) -> i64 {
    let Integer(number) = integer;
    number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64)
}

/// Returns the text of a checklist item that is not done.
fn open_item(line: &str) -> Option<&str> {
    let line = line.trim();
    let unnumbered = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let bullets: &[char] = if unnumbered.len() < line.len() { &['.', ')'] } else { &['-', '*', '+'] };
    let item = unnumbered.strip_prefix(bullets)?;
    let (mark, text) = item.trim_start().strip_prefix('[')?.split_once(']')?;
    let is_apart = |text: &str| text.is_empty() || text.starts_with(char::is_whitespace);
    (is_apart(item) && is_apart(text) && mark.trim().is_empty()).then(|| text.trim())
}

/// Reads `text {id: a, p: 1}`.
fn from_item(text: &str) -> Result<NewTask<'_>, String> {
    let (description, fields) = split_braces(text).unwrap_or((text, ""));
    let mut task = NewTask { description: description.trim().into(), ..NewTask::default() };
    for (name, value) in split_fields(fields) {
        task.set(&name, value.trim())?;
    }
    task.check().map(|()| task)
}

/// Splits off the braces at the end if a field stands in them; other braces belong to the text.
fn split_braces(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_suffix('}')?;
    let mut closed = 0;
    let open = text.rfind(|char| {
        closed += i32::from(char == '}') - i32::from(char == '{');
        closed == 0
    })?;
    let fields = &inside[open + 1..];
    split_name(fields).map(|_| (&text[..open], fields))
}

/// Splits `id: a, after: b, c, hints: d, e`: after a comma comes a new field or more of the last one.
fn split_fields(text: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for piece in text.trim_end_matches([',', ' ']).split(',') {
        // Hints are prose and may say `note: this`.
        let in_hints = fields.last().is_some_and(|(name, _)| name == "hints");
        let named = split_name(piece).filter(|(name, _)| !in_hints || FIELDS.contains(&name.as_str()));
        match (named, fields.last_mut()) {
            (Some((name, value)), _) => fields.push((name, value.into())),
            (None, Some((_, value))) => value.extend([",", piece]),
            (None, None) => {}
        }
    }
    fields
}

/// Splits `Name: value`; the name in lower case.
fn split_name(piece: &str) -> Option<(String, &str)> {
    let (name, value) = piece.split_once(':')?;
    let is_word = |name: &str| name.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    let name = Some(name.trim()).filter(|name| !name.is_empty() && is_word(name))?;
    Some((name.to_ascii_lowercase(), value))
}

const FIELDS: [&str; 11] =
    ["id", "p", "priority", "after", "depends", "depends-on", "files", "hints", "needs", "label", "labels"];

impl NewTask<'_> {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let words =
            value.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(|word| word.to_owned().into());
        match name {
            "id" if self.id.is_none() => self.id = Some(value.to_owned().into()),
            "p" | "priority" if self.priority.is_none() => self.priority = Some(integer(name, value)?),
            "after" | "depends" | "depends-on" => self.dependencies.extend(words),
            "files" => self.files.extend(words),
            "hints" if self.hints.is_none() => self.hints = Some(value.to_owned().into()),
            "needs" => self.needs.extend(words),
            "label" | "labels" => self.labels.extend(words),
            _ if FIELDS.contains(&name) => return Err(format!("`{name}` is given twice")),
            _ => {
                return Err(format!(
                    "unknown `{name}`: use `id`, `p`, `after`, `files`, `hints`, `needs`, `labels`"
                ));
            }
        }
        Ok(())
    }
}

fn integer(name: &str, text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("`{name}`: expected an integer, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Shows tasks in one line each, or the error.
    fn shown(bytes: &[u8]) -> String {
        let show = |task: &NewTask| {
            let mut text = format!("{}|{}", task.id.as_deref().unwrap_or("-"), task.description);
            let priority = task.priority.map(|priority| priority.to_string());
            let lists =
                [&task.dependencies, &task.files, &task.needs, &task.labels].map(|list| list.join(" "));
            let [after, files, needs, labels] = lists;
            let hints = task.hints.clone().map(Cow::into_owned);
            let fields = [("p", priority), ("after", Some(after)), ("files", Some(files))];
            for (name, value) in
                fields.into_iter().chain([("hints", hints), ("needs", Some(needs)), ("labels", Some(labels))])
            {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    text += &format!("|{name}={value}");
                }
            }
            text
        };
        match parse(bytes) {
            Ok(tasks) => tasks.iter().map(show).collect::<Vec<_>>().join("\n"),
            Err(error) => error.to_string(),
        }
    }

    fn check(text: impl AsRef<[u8]>, expected: &str) {
        let text = text.as_ref();
        assert_eq!(shown(text), expected, "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn json_documents() {
        check(r#"[{"description": "x"}, {"id": "b", "description": "y"}]"#, "-|x\nb|y");
        check("\u{feff}\n[ {\"description\": \"x\", \"priority\": 3.0}]", "-|x|p=3");
        check(
            r#"{"version": "1.0", "tasks": [{"id": "a", "description": "x", "status": "done",
                "priority": 2, "dependencies": ["b", "c"], "claimed_by": "w1", "result": {"output": 1},
                "context": {"files": ["s/*.rs"], "hints": "h"}, "required_capabilities": ["rust"]}]}"#,
            "a|x|p=2|after=b c|files=s/*.rs|hints=h|needs=rust",
        );
        check(
            r#"[{"description": "x", "files": ["b"], "hints": "i", "context": {"files": ["a"], "hints": "h"}}]"#,
            "-|x|files=a b|hints=h\ni",
        );
        check(
            r#"[{"id": null, "description": "x", "priority": null, "dependencies": null, "context": null}]"#,
            "-|x",
        );
    }

    #[test]
    fn a_long_text_is_read_in_two_halves() {
        let line =
            |number| format!("{{\"id\": \"t{number}\", \"description\": \"{}\"}}\r\n", "ä".repeat(600));
        let mut lines: Vec<_> = (1..=1000).map(line).collect();
        let text = lines.concat();
        let tasks = parse(text.as_bytes()).unwrap();
        let ids: Vec<_> = tasks.iter().filter_map(|task| task.id.clone()).collect();
        assert!(
            text.len() > LONG && ids == (1..=1000).map(|number| format!("t{number}")).collect::<Vec<_>>()
        );
        for bad in [900, 300, 1] {
            lines[bad - 1] = "{}\n".into();
            let error = parse(lines.concat().as_bytes()).unwrap_err();
            assert_eq!(error.line, bad, "the first one is told");
        }
    }

    #[test]
    fn json_documents_are_refused_with_their_line() {
        check("{\n\"tasks\": [\n{\"description\": \"x\",}]}", "line 3: trailing comma at column 21");
        check("[\n{\"description\": \"x\"\n", "line 3: EOF while parsing an object at column 1");
        check("[{\"description\": \"x\"}]\nmore", "line 2: trailing characters at column 1");
        check(
            "[\n{\"description\": \"x\"},\n{\"description\":\n \"x\",\n \"priority\": \"x\"}]",
            "line 5: `[1].priority`: expected an integer, found `\"x\"`",
        );
        check(
            "{\"tasks\": [\n{\"description\": \"x\"},\n{\"id\": \"b\"}]}",
            "line 3: `tasks[1]`: the field `description` is missing",
        );
        check(
            "{\"tasks\": [{\"description\": \"x\",\n\"context\": {\"files\": [7]}}]}",
            "line 2: `tasks[0].context.files[0]`: expected a string, found `7`",
        );
        check("[{\"description\": \"x\"},\n\n7]", "line 3: `[1]`: expected an object, found `7`");
        check("{\n\"tasks\": {}}", "line 2: `tasks`: expected an array, found an object");
        check("{\n\"description\": \"x\"}", "line 1: the field `tasks` is missing");
        check(
            "{\"tasks\": [{\"description\": \"x\"},\n{\"description\": \"y\", \"priority\": 1e30}]}",
            "line 2: `tasks[1]`: the priority is 9223372036854775807: use 1 (first) to 10",
        );
    }

    #[test]
    fn json_lines() {
        check("{\"description\": \"x\"}", "-|x");
        check("\n{\"description\": \"x\"}\r\n \n{\"id\": \"b\", \"description\": \"y\"}\n", "-|x\nb|y");
        check(
            "{\"description\": \"x\"}\n\n{\"description\": 5}",
            "line 3: `description`: expected a string, found `5`",
        );
        check("{\"description\": \"x\"}\n{\"a\": 1, \"a\": 2}", "line 2: duplicate key `a` at column 12");
        check("{\"description\": \"x\"}\n[]", "line 2: expected an object, found an array");
        check("{\"description\": \"x\"}\n- [ ] y", "line 2: invalid number at column 2");
    }

    #[test]
    fn checklists() {
        check("# Plan\n\nprose - [ ] no\n- [ ] x\n- [x] done\n- [X] done\n- plain\n", "-|x");
        check("* [ ] a\n+ [ ] b\n1. [ ] c\n  12) [] d\n\t- [ ]\te\r\n", "-|a\n-|b\n-|c\n-|d\n-|e");
        check("- [ ] [a](b)\n- [a](b)\n- [](b)\n-[ ] no\n1 [ ] no", "-|[a](b)");
        check("[plan](x)\n- [ ] x", "-|x");
        check(
            "- [ ] do it {id: a, p: 1, after: b c, files: x y, hints: some text, needs: rust sql}",
            "a|do it|p=1|after=b c|files=x y|hints=some text|needs=rust sql",
        );
        check("- [ ] x {ID:a,Priority: 2,Depends-On: b, c,}", "a|x|p=2|after=b c");
        check("- [ ] x {labels: slow nightly, label: ui}", "-|x|labels=slow nightly ui");
        check("- [ ] x {after: b, depends: c}", "-|x|after=b c");
        check(
            "- [ ] x {hints: first, see: http://a/b, then {more}, files: y}",
            "-|x|files=y|hints=first, see: http://a/b, then {more}",
        );
        check("- [ ] fill in {name}", "-|fill in {name}");
        check("- [ ] a {} b} {id: c}", "c|a {} b}");
        check("- [ ] a } {", "-|a } {");
        check("- [ ] a }}", "-|a }}");
    }

    #[test]
    fn checklists_are_refused_with_their_line() {
        check("# a\n- [ ]", "line 2: the description is blank: say what is to be done");
        check("- [ ] x\n- [ ] {id: a}", "line 2: the description is blank: say what is to be done");
        check("- [ ] x {p: high}", "line 1: `p`: expected an integer, found `high`");
        check("- [ ] x {p: 1, priority: 2}", "line 1: `priority` is given twice");
        check(
            "- [ ] x {id: a, prio: 2}",
            "line 1: unknown `prio`: use `id`, `p`, `after`, `files`, `hints`, `needs`, `labels`",
        );
    }

    #[test]
    fn a_file_without_tasks_is_refused() {
        for text in ["", " \n", "[]", "[ ]\n", "{\"tasks\": []}", "prose", "- [x] done", "[1, 2]"] {
            check(text, &format!("line 1: {NO_TASKS}"));
        }
        check(b"- [ ] x\n\xff", "line 2: the text is not valid UTF-8");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn any_mixture_is_read_or_refused(pieces in vec(pieces(), 0..12)) {
            let text = pieces.concat();
            match parse(text.as_bytes()) {
                Ok(tasks) => prop_assert!(tasks.iter().all(|task| task.check().is_ok())),
                Err(error) => prop_assert!((1..=text.split('\n').count()).contains(&error.line), "{error}"),
            }
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let known = [
            "- [ ] x",
            "1. [ ] ä",
            "- [x] ",
            "\n",
            "\n",
            "\r\n",
            " ",
            ",",
            ":",
            "{",
            "}",
            "[",
            "]",
            "\"",
            " {id: a",
            ", p: 1",
            "after: b c",
            "hints: ",
            "{\"tasks\": [",
            "{\"description\": \"x\"",
            "}\n",
            "\"priority\": 1e9",
            "\"context\": {",
            "\"files\": [\"a\"]",
            "\"id\": \"a\"",
            "]}",
            "null",
            "\u{feff}",
        ];
        prop_oneof![8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,4}"]
    }
}
