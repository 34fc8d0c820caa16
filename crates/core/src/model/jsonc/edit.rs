//! Changing the text of a [`Jsonc`]: one value goes in or out, everything else stays.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::{Comment, Jsonc, Kind, Node, comment};

impl Jsonc<'_> {
    /// Appends a member (or an item, when there is no name) to a container, in the manner of its neighbours.
    pub fn insert(&self, container: &Node, key: Option<&str>, value: &Value) -> String {
        let Some(last) = container.entries.last() else { return self.insert_first(container, key, value) };
        let after = last.comma.map_or(last.value.end, |comma| comma + 1);
        let (at, gap, indent) = match self.own_line(last.start) {
            Some(indent) => (self.after_remarks(after), format!("{}{indent}", self.eol()), indent),
            None => (after, " ".into(), self.line_indent(last.start)),
        };
        let item = self.rendered(key, value, indent);
        match last.comma {
            Some(_) => self.spliced(&[(at..at, &format!("{gap}{item},"))]),
            None => self.spliced(&[(after..after, ","), (at..at, &format!("{gap}{item}"))]),
        }
    }

    fn insert_first(&self, container: &Node, key: Option<&str>, value: &Value) -> String {
        let (open, close, eol) = (container.start + 1, container.end - 1, self.eol());
        let outer = self.line_indent(container.start);
        let inner = format!("{outer}{}", self.unit());
        let item = self.rendered(key, value, &inner);
        if container.tail == open {
            return self.spliced(&[(open..close, &format!("{eol}{inner}{item}{eol}{outer}"))]);
        }
        // Comments stay above what is new.
        let gap = if self.text[container.tail..close].contains('\n') {
            format!("{eol}{inner}")
        } else {
            " ".into()
        };
        let item = if gap == " " { self.rendered(key, value, outer) } else { item };
        self.spliced(&[(container.tail..container.tail, &format!("{gap}{item}"))])
    }

    /// Takes an entry out of its container. Comments around it stay.
    pub fn remove(&self, container: &Node, place: usize) -> String {
        let entry = &container.entries[place];
        let starts_line = self.text[entry.lead..entry.start].contains('\n');
        let end = entry.comma.map_or(entry.value.end, |comma| comma + 1);
        let between = &self.text[entry.value.end..entry.comma.unwrap_or(entry.value.end)];
        let mut after = between.chars().chain(self.text[end..].chars());
        let next_on_line = after.find(|next| !matches!(next, ' ' | '\t' | '\r')) != Some('\n');
        let mut cuts = vec![(entry.start..entry.value.end, "")];
        match entry.comma {
            Some(comma) => cuts.push((comma..comma + 1, "")),
            None => {
                let before = place.checked_sub(1).and_then(|before| container.entries[before].comma);
                cuts.extend(before.map(|comma| (comma..comma + 1, "")));
            }
        }
        if !starts_line && place == 0 && container.entries.len() > 1 {
            // The next one moves up to the bracket.
            let blanks = self.text[end..].len() - self.text[end..].trim_start_matches([' ', '\t']).len();
            cuts.push((end..end + blanks, ""));
        } else if !(starts_line && next_on_line && self.follows_line_comment(container, place)) {
            cuts.push((entry.lead..entry.start, ""));
        }
        cuts.sort_by_key(|(cut, _)| (cut.start, cut.end));
        let inside = container.start + 1..container.end - 1;
        let removed: usize = cuts.iter().map(|(cut, _)| cut.len()).sum();
        let text = self.spliced(&cuts);
        let left = inside.start..inside.end - removed;
        match text[left.clone()].trim().is_empty() {
            true => format!("{}{}", &text[..left.start], &text[left.end..]),
            false => text,
        }
    }

    /// Puts another value in the place of one.
    pub fn replace(&self, node: &Node, value: &Value) -> String {
        let new = self.rendered(None, value, self.line_indent(node.start));
        self.spliced(&[(node.start..node.end, &new)])
    }

    /// Whether the blanks before an entry end a line comment, which needs its line end.
    fn follows_line_comment(&self, container: &Node, place: usize) -> bool {
        let from = match place.checked_sub(1) {
            Some(before) => container.entries[before].comma.map_or(container.start + 1, |comma| comma + 1),
            None => container.start + 1,
        };
        let (mut at, lead) = (from, container.entries[place].lead);
        while at < lead {
            match comment(&self.text[at..]) {
                Comment::Line(length) if at + length >= lead => return true,
                Comment::Line(length) | Comment::Block(length) => at += length,
                Comment::None | Comment::Open => at += 1,
            }
        }
        false
    }

    /// Replaces parts of the text, given in order.
    fn spliced(&self, parts: &[(Range<usize>, &str)]) -> String {
        let (mut text, mut at) = (String::with_capacity(self.text.len()), 0);
        for (range, new) in parts {
            text.push_str(&self.text[at..range.start]);
            text.push_str(new);
            at = range.end;
        }
        text.push_str(&self.text[at..]);
        text
    }

    fn rendered(&self, key: Option<&str>, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let unit = self.unit();
        let mut serializer =
            Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(unit.as_bytes()));
        value.serialize(&mut serializer).expect("a JSON value can always be written");
        // Line ends inside texts are written as escapes.
        let text =
            String::from_utf8(bytes).expect("JSON is text").replace('\n', &format!("{}{indent}", self.eol()));
        match key {
            Some(key) => format!("{}: {text}", Value::from(key)),
            None => text,
        }
    }

    fn eol(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns what one level of nesting is indented by.
    fn unit(&self) -> &str {
        self.unit_in(&self.root).unwrap_or("  ")
    }

    fn unit_in(&self, node: &Node) -> Option<&str> {
        let outer = self.line_indent(node.start);
        let inner = node.entries.iter().find_map(|entry| self.own_line(entry.start));
        let unit = inner.and_then(|inner| inner.strip_prefix(outer)).filter(|unit| !unit.is_empty());
        unit.or_else(|| {
            let nested = node.entries.iter().filter(|entry| entry.value.kind != Kind::Scalar);
            nested.filter_map(|entry| self.unit_in(&entry.value)).next()
        })
    }

    fn line_start(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if self.text[start..].starts_with('\u{feff}') { start + '\u{feff}'.len_utf8() } else { start }
    }

    /// Returns the blanks at the beginning of the line.
    fn line_indent(&self, at: usize) -> &str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns the indentation of something that stands first on its line.
    fn own_line(&self, at: usize) -> Option<&str> {
        let start = self.line_start(at);
        let before = &self.text[start..at];
        (start > 0 && before.trim_matches([' ', '\t']).is_empty()).then_some(before)
    }

    /// Returns the end of the remarks that follow on the same line.
    fn after_remarks(&self, from: usize) -> usize {
        let (mut at, mut end) = (from, from);
        loop {
            let rest = &self.text[at..];
            at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            match comment(&self.text[at..]) {
                Comment::Line(length) => return at + length,
                Comment::Block(length) if !self.text[at..at + length].contains('\n') => {
                    at += length;
                    end = at;
                }
                _ => return end,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_insert(text: &str, key: Option<&str>, value: &Value, expected: &str) {
        let document = Jsonc::parse(text).unwrap();
        assert_eq!(document.insert(&document.root, key, value), expected);
    }

    #[test]
    fn what_is_new_looks_like_its_neighbours() {
        check_insert("{}\n", Some("a"), &json!({"b": []}), "{\n  \"a\": {\n    \"b\": []\n  }\n}\n");
        check_insert("{\n\t\"x\": 1\n}", Some("a"), &json!([1]), "{\n\t\"x\": 1,\n\t\"a\": [\n\t\t1\n\t]\n}");
        check_insert(
            "{\r\n    \"x\": 1, // why\r\n}",
            Some("a"),
            &json!(2),
            "{\r\n    \"x\": 1, // why\r\n    \"a\": 2,\r\n}",
        );
        check_insert("[\n  1 // one\n  // none\n]", None, &json!(2), "[\n  1, // one\n  2\n  // none\n]");
        check_insert("[1]", None, &json!(2), "[1, 2]");
        check_insert("[ /* none */ ]", None, &json!(2), "[ /* none */ 2 ]");
        check_insert("[ // none\n]", None, &json!(2), "[ // none\n  2\n]");
    }

    #[track_caller]
    fn check_remove(text: &str, place: usize, expected: &str) {
        let document = Jsonc::parse(text).unwrap();
        let left = document.remove(&document.root, place);
        assert_eq!(left, expected);
        Jsonc::parse(&left).unwrap();
    }

    #[test]
    fn what_others_wrote_stays() {
        check_remove("[1, 2, 3]", 0, "[2, 3]");
        check_remove("[1, 2, 3]", 1, "[1, 3]");
        check_remove("[1, 2, 3]", 2, "[1, 2]");
        check_remove("[\n  1, // one\n  2 // two\n]", 1, "[\n  1 // one\n   // two\n]");
        check_remove("[\n  // one\n  1, 2\n]", 0, "[\n  // one\n   2\n]");
        check_remove("[ // x\n 1 /* y */ ]", 0, "[ // x\n  /* y */ ]");
        check_remove("[\n  1\n]", 0, "[]");
    }

    /// Returns texts of documents with blanks, comments and commas in odd places.
    fn texts() -> impl Strategy<Value = String> {
        let blank = || {
            prop::sample::select(vec![
                "",
                " ",
                "\n",
                "\r\n  ",
                "\t",
                "/*,*/",
                " // ]}\n",
                "\n  // \"x  \r\n ",
                "/*\n*/ ",
            ])
        };
        let scalar =
            prop::sample::select(vec!["1", "-0.5e9", "true", "null", "\"a\"", "\"\\\"//,\"", "[]", "{}"]);
        let gap = move || (blank(), blank(), blank(), blank());
        let leaf = (scalar, blank()).prop_map(|(text, after)| format!("{text}{after}"));
        let nested = leaf.prop_recursive(4, 24, 5, move |inner| {
            let entries = prop::collection::vec((inner, gap(), gap()), 0..5);
            (
                entries,
                any::<bool>(),
                any::<bool>(),
                prop::sample::select(vec!["", "/*e*/", "//e\n", " /*e*/\n"]),
            )
                .prop_map(|(entries, is_object, needless_comma, nothing)| {
                    let last = entries.len().wrapping_sub(1);
                    let mut text = String::new();
                    for (place, (value, (a, b, c, d), (e, f, g, _))) in entries.iter().enumerate() {
                        let key = if is_object { format!("\"k{place}\"{b}:{c}") } else { String::new() };
                        let comma = if place == last && !needless_comma { "" } else { "," };
                        text.push_str(&format!("{a}{key}{d}{value}{e}{comma}{f}{g}"));
                    }
                    let text = if entries.is_empty() { nothing.to_owned() } else { text };
                    if is_object { format!("{{{text}}}") } else { format!("[{text}]") }
                })
        });
        nested.prop_map(|text| format!("[{text}]"))
    }

    /// Collects the containers below a node, itself included.
    fn containers<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
        if node.kind != Kind::Scalar {
            found.push(node);
        }
        node.entries.iter().for_each(|entry| containers(&entry.value, found));
    }

    fn parsed(text: &str) -> Value {
        let document = Jsonc::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        document.value(&document.root)
    }

    /// Applies the same insertion to what the text means, at the container with this number.
    fn insert_value(value: &mut Value, nth: &mut usize, new: &Value) {
        if !value.is_object() && !value.is_array() {
            return;
        }
        let here = *nth == 0;
        *nth = nth.wrapping_sub(1);
        match value {
            Value::Object(map) if here => drop(map.insert("new".into(), new.clone())),
            Value::Array(items) if here => items.push(new.clone()),
            Value::Object(map) => map.values_mut().for_each(|value| insert_value(value, nth, new)),
            Value::Array(items) => items.iter_mut().for_each(|value| insert_value(value, nth, new)),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn inserting_and_removing_gives_the_text_back(text in texts(), pick in any::<prop::sample::Index>(), new in prop::sample::select(vec![json!(7), json!({"a": [1, {}]}), json!([])])) {
            let document = Jsonc::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let mut all = Vec::new();
            containers(&document.root, &mut all);
            let nth = pick.index(all.len());
            let key = (all[nth].kind == Kind::Object).then_some("new");
            let longer = document.insert(all[nth], key, &new);

            let mut expected = parsed(&text);
            insert_value(&mut expected, &mut nth.clone(), &new);
            prop_assert_eq!(parsed(&longer), expected, "{}", longer);

            let document = Jsonc::parse(&longer).unwrap();
            let mut all = Vec::new();
            containers(&document.root, &mut all);
            let shorter = document.remove(all[nth], all[nth].entries.len() - 1);
            prop_assert_eq!(shorter, text, "{}", longer);
        }

        #[test]
        fn removing_any_entry_leaves_the_others(text in texts(), pick in any::<prop::sample::Index>(), place in any::<prop::sample::Index>()) {
            let document = Jsonc::parse(&text).unwrap();
            let mut all = Vec::new();
            containers(&document.root, &mut all);
            all.retain(|node| !node.entries.is_empty());
            let node = all[pick.index(all.len())];
            let place = place.index(node.entries.len());
            let left = parsed(&document.remove(node, place));
            let replaced = parsed(&document.replace(&node.entries[place].value, &json!("gone")));
            fn drop_gone(value: &mut Value) {
                match value {
                    Value::Array(items) => { items.retain(|item| item != "gone"); items.iter_mut().for_each(drop_gone); }
                    Value::Object(map) => { map.retain(|_, item| item != "gone"); map.values_mut().for_each(drop_gone); }
                    _ => {}
                }
            }
            let mut expected = replaced;
            drop_gone(&mut expected);
            prop_assert_eq!(left, expected);
        }
    }
}
