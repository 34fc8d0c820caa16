//! The tasks of a queue and what they wait for, drawn as a tree, a Mermaid chart or a Graphviz graph.
//!
//! Every view of a queue reads its tasks through `Tasks`, `field` and `list`. They take any value: a field of
//! a wrong type counts as absent. Drawings show hand-made damage, circles and missing dependencies, and are
//! never longer than tasks and dependencies together, however these are knotted.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::text::escape;
use crate::model::documents::queue::{Queue, QueueTask};
use crate::model::ids;
use crate::model::key::{Fields, Held, Key, List, Text};
use crate::model::listing::Overview;
use crate::model::shape::Time;
use crate::model::task::parts_of;
use crate::model::time;

/// How many characters of an id or a description a drawing shows.
const MOST: usize = 60;

/// How wide a tree may be.
const WIDE: usize = 80;

/// The level from which a tree says its depth in figures, so that a long chain does not become a wide one.
const DEEP: usize = 13;

/// Sign, word and colour of every [`TaskState`].
const LOOKS: [(char, &str, &str); 8] = [
    ('●', "working", "#bbdefb"),
    ('○', "ready", "#fff9c4"),
    ('·', "waiting", "#eeeeee"),
    ('✗', "failed", "#ffcdd2"),
    ('✓', "done", "#c8e6c9"),
    ('–', "cancelled", "#e0e0e0"),
    ('!', "unfit", "#ffcdd2"),
    ('?', "missing", "#ffe0b2"),
];

/// In which language the graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Mermaid,
    Dot,
}

/// Draws the tasks of a queue, each below what it depends on. Retry times are not looked at.
pub fn graph(queue: &Value, format: Format) -> String {
    let nodes = nodes(&Tasks::of(queue));
    match format {
        Format::Text => tree(&nodes),
        Format::Mermaid => mermaid(&nodes),
        Format::Dot => dot(&nodes),
    }
}

/// Draws only the longest chain of tasks that have to be done one after the other: what decides how long the rest takes.
/// Of several that are as long, one.
pub fn critical(queue: &Value) -> String {
    let tasks = Tasks::of(queue);
    let chain = longest_chain(&tasks);
    let line = |(depth, task): (usize, &&Value)| {
        let node = Node::new(
            field(task, QueueTask::id),
            field(task, QueueTask::description),
            tasks.standing(task, Timestamp::MAX),
        );
        cut(&format!("{:>3}. {} {}  {}", depth + 1, node.look().0, node.id, node.description), WIDE) + "\n"
    };
    match chain.len() {
        0 => "nothing is open\n".into(),
        1 => "no open task waits for another one; the first:\n".to_owned() + &line((0, &chain[0])),
        long => {
            let text: String = chain.iter().enumerate().map(line).collect();
            format!("{long} tasks have to be done one after the other:\n{text}")
        }
    }
}

/// Returns the longest chain of open tasks, each behind the one before it. Tasks on a circle are in none.
fn longest_chain<'a>(tasks: &Tasks<'a>) -> Vec<&'a Value> {
    let is_open = |task: &Value| {
        matches!(
            field(task, QueueTask::status),
            "created" | "available" | "claimed" | "in_progress" | "failed"
        )
    };
    let open: HashMap<&str, &Value> = tasks
        .all
        .iter()
        .rev()
        .filter(|task| is_open(task))
        .map(|task| (field(task, QueueTask::id), task))
        .collect();
    let needs = |id: &str| -> Vec<&str> {
        let mut needs = open.get(id).map(|task| list(task, QueueTask::dependencies)).unwrap_or_default();
        needs.retain(|need| open.contains_key(need));
        needs.sort_unstable();
        needs.dedup();
        needs
    };
    let mut left: HashMap<&str, usize> = open.keys().map(|id| (*id, needs(id).len())).collect();
    let mut behind: HashMap<&str, Vec<&str>> = HashMap::new();
    for task in tasks.all.iter().filter(|task| is_open(task)) {
        let id = field(task, QueueTask::id);
        needs(id).into_iter().for_each(|need| behind.entry(need).or_default().push(id));
    }
    // Of each task, how long the chain to it is, and what is before it there.
    let mut reached: HashMap<&str, (usize, Option<&str>)> = HashMap::new();
    let ids = tasks.all.iter().filter(|task| is_open(task)).map(|task| field(task, QueueTask::id));
    let mut ahead: Vec<_> = ids.rev().filter(|id| left[id] == 0).collect();
    let mut last: Option<&str> = None;
    while let Some(id) = ahead.pop() {
        let length = reached.entry(id).or_insert((1, None)).0;
        if last.is_none_or(|last| reached[last].0 < length) {
            last = Some(id);
        }
        for next in behind.get(id).into_iter().flatten() {
            let known = reached.entry(next).or_insert((0, None));
            if known.0 < length + 1 {
                *known = (length + 1, Some(id));
            }
            let count = left.get_mut(next).expect("it is open");
            *count = count.saturating_sub(1);
            if *count == 0 {
                ahead.push(next);
            }
        }
    }
    let mut chain: Vec<_> = std::iter::successors(last, |id| reached[id].1).map(|id| open[id]).collect();
    chain.reverse();
    chain
}

/// Where a task stands once its dependencies and its retry time are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskState {
    Working,
    Ready,
    Waiting,
    Failed,
    Done,
    Cancelled,
    /// Open, but never handed out, as its id is none.
    Unfit,
    /// Not a task at all: only a dependency names it.
    Missing,
}

/// The tasks of a queue, to be asked about their dependencies.
pub(super) struct Tasks<'a> {
    pub(super) all: &'a [Value],
    /// The status of every task that somebody may ask for, by id.
    pub(super) statuses: HashMap<&'a str, &'a str>,
}

impl<'a> Tasks<'a> {
    pub(super) fn of(queue: &'a Value) -> Tasks<'a> {
        let all = all(queue);
        let status = |task| (field(task, QueueTask::id), field(task, QueueTask::status));
        Tasks { all, statuses: all.iter().rev().map(status).collect() }
    }

    /// The same of an overview: only what its tasks depend on is known besides.
    pub(super) fn in_overview(overview: &'a Overview) -> Tasks<'a> {
        let statuses = overview.needed.iter().map(|(id, status)| (&**id, *status));
        Tasks { all: &overview.items, statuses: statuses.collect() }
    }

    /// Returns the standing of a task; a status that no task should have waits for somebody to put it right.
    pub(super) fn standing(&self, task: &Value, now: Timestamp) -> TaskState {
        let retry_is_later = || at(task, QueueTask::next_retry_at).is_some_and(|retry| retry > now);
        match field(task, QueueTask::status) {
            "claimed" | "in_progress" => TaskState::Working,
            "created" | "available" if !ids::is_sound(field(task, QueueTask::id)) => TaskState::Unfit,
            // What was set free by hand is `created` until the next claim, which gives it out.
            "created" | "available" if self.open(task).is_empty() && !retry_is_later() => TaskState::Ready,
            "failed" => TaskState::Failed,
            "done" => TaskState::Done,
            "cancelled" => TaskState::Cancelled,
            _ => TaskState::Waiting,
        }
    }

    /// Says how many parts of a task are done; nothing of a task without parts.
    pub(super) fn rollup(&self, task: &Value) -> Option<String> {
        let (parts, whole) = (parts_of(task), field(task, QueueTask::status) == "done");
        let is_done = |id: &&&str| whole || self.statuses.get(**id) == Some(&"done");
        let done = parts.iter().filter(is_done).count();
        (!parts.is_empty()).then(|| format!("{done}/{} done", parts.len()))
    }

    /// Returns the dependencies that are not done.
    pub(super) fn open<'b>(&self, task: &'b Value) -> Vec<&'b str> {
        let is_done = |id: &str| self.statuses.get(id) == Some(&"done");
        list(task, QueueTask::dependencies).into_iter().filter(|id| !is_done(id)).collect()
    }
}

/// Returns the tasks of a queue.
pub(super) fn all(queue: &Value) -> &[Value] {
    queue.list(Queue::tasks)
}

/// Returns the text of a field, empty when there is none.
pub(super) fn field<T: Held<Kind: Text>>(value: &Value, key: Key<T>) -> &str {
    value.text(key).unwrap_or_default()
}

/// Returns the texts of a list field.
pub(super) fn list<T: Held<Kind: List>>(value: &Value, key: Key<T>) -> Vec<&str> {
    value.texts(key).collect()
}

/// Returns the labels of a task, which people may also keep in another form.
pub(super) fn labels_of(task: &Value) -> Vec<&str> {
    let labels = task.at(QueueTask::labels).and_then(Value::as_array);
    labels.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the time in a field.
pub(super) fn at<T: Held<Kind = Time>>(value: &Value, key: Key<T>) -> Option<Timestamp> {
    time::read(value.text(key)?)
}

/// Returns `text` with line breaks and tabs as blanks, and nothing in it that is not to be seen.
pub(super) fn one_line(text: &str) -> String {
    let breaks = ['\n', '\r', '\t', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    escape(&text.replace(breaks, " ")).into_owned()
}

/// Returns `text` in at most `width` characters, the last of them `…` when something was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { kept } else { format!("{}…", kept.trim_end()) }
}

/// A task or a missing dependency, with the tasks that wait for it.
struct Node {
    id: String,
    description: String,
    standing: TaskState,
    is_root: bool,
    children: Vec<usize>,
}

impl Node {
    fn new(id: &str, description: &str, standing: TaskState) -> Node {
        let [id, description] = [id, description].map(|text| cut(&one_line(text), MOST));
        Node { id, description, standing, is_root: true, children: Vec::new() }
    }

    fn look(&self) -> (char, &'static str, &'static str) {
        LOOKS[self.standing as usize]
    }
}

fn nodes(tasks: &Tasks<'_>) -> Vec<Node> {
    let node = |task| {
        let standing = tasks.standing(task, Timestamp::MAX);
        let description = field(task, QueueTask::description);
        match tasks.rollup(task) {
            Some(rollup) => {
                Node::new(field(task, QueueTask::id), &format!("({rollup}) {description}"), standing)
            }
            None => Node::new(field(task, QueueTask::id), description, standing),
        }
    };
    let mut nodes: Vec<_> = tasks.all.iter().map(node).collect();
    let mut places: HashMap<&str, usize> =
        tasks.all.iter().enumerate().rev().map(|(place, task)| (field(task, QueueTask::id), place)).collect();
    for (child, task) in tasks.all.iter().enumerate() {
        for id in list(task, QueueTask::dependencies) {
            let parent = *places.entry(id).or_insert(nodes.len());
            if parent == nodes.len() {
                nodes.push(Node::new(id, "(missing)", TaskState::Missing));
            }
            nodes[child].is_root = false;
            // Children come in order, so a dependency that is named twice finds itself here.
            if nodes[parent].children.last() != Some(&child) {
                nodes[parent].children.push(child);
            }
        }
    }
    nodes
}

/// Writes the tree. What no root leads to hangs on a circle, and is shown from its first task on.
fn tree(nodes: &[Node]) -> String {
    let mut lines = Vec::new();
    let mut shown = vec![false; nodes.len()];
    let roots = (0..nodes.len()).filter(|&place| nodes[place].is_root);
    for start in roots.chain(0..nodes.len()) {
        let mut ahead = if shown[start] { Vec::new() } else { vec![(start, 0)] };
        while let Some((place, depth)) = ahead.pop() {
            lines.push((place, depth, shown[place]));
            if !shown[place] {
                ahead.extend(nodes[place].children.iter().rev().map(|&child| (child, depth + 1)));
            }
            shown[place] = true;
        }
    }
    let depths: Vec<_> = lines.iter().map(|(_, depth, _)| *depth).collect();
    let line = |((place, _, again), trunk): (&(usize, usize, bool), Trunk)| {
        let node = &nodes[*place];
        let about = if *again { "(see above)" } else { &node.description };
        let text = format!("{}{} {}  {about}", trunk.line, node.look().0, node.id);
        cut(text.trim_end(), WIDE) + "\n"
    };
    let text: String = lines.iter().zip(trunks(&depths)).map(line).collect();
    if text.is_empty() { "no tasks yet\n".into() } else { text }
}

/// What stands before a line of a tree, and before what is said below it.
pub(super) struct Trunk {
    pub(super) line: String,
    pub(super) below: String,
}

/// Returns the branches before each line of a tree, of which the depths are known.
pub(super) fn trunks(depths: &[usize]) -> Vec<Trunk> {
    // Of every level, whether another branch follows below.
    let mut more: Vec<bool> = Vec::new();
    let mut trunks: Vec<_> = depths.iter().rev().map(|&depth| trunk(depth, &mut more)).collect();
    trunks.reverse();
    trunks
}

fn trunk(own: usize, more: &mut Vec<bool>) -> Trunk {
    more.resize(own + 1, false);
    let side = |level: usize| if more[level] { "│  " } else { "   " };
    let before: String = (1..own.min(DEEP)).map(side).collect();
    let (turn, last) = if more[own] { ("├─ ", "│  ") } else { ("└─ ", "   ") };
    more[own] = true;
    match own {
        0 => Trunk { line: String::new(), below: "  ".into() },
        1..DEEP => Trunk { line: before.clone() + turn, below: before + last },
        _ => Trunk { line: format!("{before}{turn}{own}: "), below: before + last },
    }
}

fn mermaid(nodes: &[Node]) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (place, node) in nodes.iter().enumerate() {
        let (sign, class, _) = node.look();
        let [id, description] = [&node.id, &node.description].map(|text| mermaid_text(text));
        text += &format!("    n{place}[\"{sign} {id}<br/>{description}\"]:::{class}\n");
    }
    text += &edges(nodes, "-->", "");
    for (_, class, fill) in LOOKS {
        text += &format!("    classDef {class} fill:{fill},stroke:#555555,color:#000000\n");
    }
    text
}

/// Escapes for a quoted Mermaid label. All signs but the plainest go as character codes: beside the quote there
/// are Markdown, HTML, directives and formulas to get out by, and Mermaid looks for `style…:` in whole lines.
fn mermaid_text(text: &str) -> String {
    let escape = |character: char| match character {
        '"' => "#quot;".to_owned(),
        character if character.is_control() => " ".to_owned(),
        ' ' | '.' | ',' | '-' | '_' | '/' | '(' | ')' => character.to_string(),
        character if character.is_ascii_punctuation() => format!("#{};", u32::from(character)),
        character => character.to_string(),
    };
    text.chars().map(escape).collect()
}

fn dot(nodes: &[Node]) -> String {
    let mut text = "digraph queue {\n    node [shape=box, style=\"rounded,filled\"];\n".to_owned();
    for (place, node) in nodes.iter().enumerate() {
        let (sign, _, fill) = node.look();
        let [id, description] = [&node.id, &node.description].map(|text| dot_text(text));
        text += &format!("    n{place} [label=\"{sign} {id}\\n{description}\", fillcolor=\"{fill}\"];\n");
    }
    text + &edges(nodes, "->", ";") + "}\n"
}

/// Escapes for a quoted Graphviz label, which knows escape sequences of its own and HTML entities.
fn dot_text(text: &str) -> String {
    let text = text.replace(char::is_control, " ").replace('&', "&amp;");
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn edges(nodes: &[Node], arrow: &str, end: &str) -> String {
    let from = |(place, node): (usize, &Node)| {
        let edge = |child: &usize| format!("    n{place} {arrow} n{child}{end}\n");
        node.children.iter().map(edge).collect::<String>()
    };
    nodes.iter().enumerate().map(from).collect()
}

/// Queues for property tests: knotted dependencies, and any field may be odd or absent.
#[cfg(test)]
pub(super) mod samples {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Map, Value, json};

    use crate::model::json::samples::values;

    const FIELDS: &[&str] = &[
        "id",
        "description",
        "status",
        "priority",
        "claimed_by",
        "claimed_at",
        "started_at",
        "completed_at",
        "created_at",
        "lease",
        "dependencies",
        "required_capabilities",
        "context",
        "result",
        "next_retry_at",
        "last_claim",
    ];
    const STATUSES: &[&str] =
        &["created", "available", "claimed", "in_progress", "done", "failed", "cancelled", "lost", ""];
    const TIMES: &[&str] =
        &["-009999-01-02T01:59:59Z", "2026-01-02T03:04:05.678Z", "9999-12-30T22:00:00Z", "soon"];

    fn fields() -> impl Strategy<Value = Value> {
        let odd = json!({"error": "no\nroom", "by": "w1", "files": ["a`b```c"], "hints": "~~~\n# x", "output": "```\n# y"});
        prop_oneof![select(TIMES).prop_map(Value::from), Just(odd), values()]
    }

    fn tasks() -> impl Strategy<Value = Value> {
        let dependencies = vec("[a-f]", 0..4);
        let changes = vec((select(FIELDS), fields()), 0..6);
        ("[a-d]", select(STATUSES), dependencies, changes).prop_map(|(id, status, dependencies, changes)| {
            let text = format!("do {id}\nand then \"more\"");
            let plain =
                json!({"id": id, "status": status, "dependencies": dependencies, "description": text});
            let mut task = plain.as_object().cloned().unwrap_or_default();
            task.extend(changes.into_iter().map(|(name, value)| (name.to_owned(), value)));
            Value::Object(task)
        })
    }

    pub(in crate::view) fn queues() -> impl Strategy<Value = Value> {
        let queue = vec(prop_oneof![9 => tasks(), 1 => values()], 0..12)
            .prop_map(|tasks| Value::Object(Map::from_iter([("tasks".to_owned(), Value::Array(tasks))])));
        prop_oneof![9 => queue, 1 => values()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn task(id: &str, status: &str, dependencies: &[&str]) -> Value {
        json!({"id": id, "description": format!("do {id}"), "status": status, "dependencies": dependencies})
    }

    fn check(tasks: &[Value], expected: &str) {
        assert_eq!(graph(&json!({"tasks": tasks}), Format::Text), expected);
    }

    #[test]
    fn tasks_hang_below_what_they_wait_for() {
        check(&[], "no tasks yet\n");
        let tasks = [
            task("a", "done", &[]),
            task("b", "in_progress", &["a"]),
            task("c", "available", &["a", "a"]),
            task("d", "available", &["b", "c"]),
            task("e", "created", &["d"]),
            task("f", "failed", &[]),
            task("g", "cancelled", &["f"]),
        ];
        let expected = "\
✓ a  do a
├─ ● b  do b
│  └─ · d  do d
│     └─ · e  do e
└─ ○ c  do c
   └─ · d  (see above)
✗ f  do f
└─ – g  do g
";
        check(&tasks, expected);
    }

    #[test]
    fn circles_and_missing_dependencies_are_shown() {
        let circle =
            [task("a", "available", &["b"]), task("b", "available", &["a"]), task("c", "created", &["c"])];
        check(&circle, "· a  do a\n└─ · b  do b\n   └─ · a  (see above)\n· c  do c\n└─ · c  (see above)\n");
        let missing = [task("a", "available", &["gone"]), task("b", "done", &["gone"])];
        check(&missing, "? gone  (missing)\n├─ · a  do a\n└─ ✓ b  do b\n");
        check(&[json!(7), json!({"id": 1})], "·\n·\n");
    }

    #[test]
    fn the_longest_chain_of_open_tasks_decides() {
        let check =
            |tasks: &[Value], expected: &str| assert_eq!(critical(&json!({"tasks": tasks})), expected);
        check(&[task("a", "done", &[])], "nothing is open\n");
        check(
            &[task("a", "available", &[])],
            "no open task waits for another one; the first:\n  1. ○ a  do a\n",
        );
        let tasks = [
            task("a", "done", &[]),
            task("b", "in_progress", &["a"]),
            task("c", "created", &["b", "e"]),
            task("d", "created", &["c", "b"]),
            task("e", "available", &["a"]),
            task("x", "created", &["y"]),
            task("y", "created", &["x"]),
        ];
        let expected =
            "3 tasks have to be done one after the other:\n  1. ● b  do b\n  2. · c  do c\n  3. · d  do d\n";
        check(&tasks, expected);
    }

    #[test]
    fn drawings_grow_with_tasks_and_dependencies_only() {
        let id = |number: usize| format!("t{number}");
        let chain: Vec<_> = (0..20_000).map(|n| task(&id(n), "available", &[&id(n + 1)])).collect();
        let text = graph(&json!({"tasks": chain}), Format::Text);
        assert_eq!(text.lines().count(), 20_001);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(text.contains("└─ 20000: · t0  do t0\n"), "{}", &text[text.len() - 200..]);

        let layer = |n: usize| {
            [
                task(&id(2 * n), "created", &[&id(2 * n + 2), &id(2 * n + 3)]),
                task(&id(2 * n + 1), "created", &[&id(2 * n + 2), &id(2 * n + 3)]),
            ]
        };
        let layers: Vec<_> = (0..40).flat_map(layer).collect();
        assert!(graph(&json!({"tasks": layers}), Format::Text).lines().count() <= 80 + 2 + 160);
    }

    #[test]
    fn charts_have_safe_names_and_a_class_per_standing() {
        let queue = json!({"tasks": [task("a", "done", &[]), task("b", "available", &["a"])]});
        let expected = "flowchart TD
    n0[\"✓ a<br/>do a\"]:::done
    n1[\"○ b<br/>do b\"]:::ready
    n0 --> n1
    classDef working fill:#bbdefb,stroke:#555555,color:#000000
";
        assert!(graph(&queue, Format::Mermaid).starts_with(expected));
        let expected = "digraph queue {
    node [shape=box, style=\"rounded,filled\"];
    n0 [label=\"✓ a\\ndo a\", fillcolor=\"#c8e6c9\"];
    n1 [label=\"○ b\\ndo b\", fillcolor=\"#fff9c4\"];
    n0 -> n1;
}
";
        assert_eq!(graph(&queue, Format::Dot), expected);
    }

    #[test]
    fn labels_cannot_break_out() {
        let check = |text: &str, mermaid: &str, dot: &str| {
            assert_eq!(mermaid_text(text), mermaid);
            assert_eq!(dot_text(text), dot);
        };
        check("say \"hi\"", "say #quot;hi#quot;", "say \\\"hi\\\"");
        check("a --> b]", "a --#62; b#93;", "a --> b]");
        check("end\n\u{1b}x", "end  x", "end  x");
        check("\\\" \\N", "#92;#quot; #92;N", "\\\\\\\" \\\\N");
        check(
            "`**b**` <b> &amp; #35;",
            "#96;#42;#42;b#42;#42;#96; #60;b#62; #38;amp#59; #35;35#59;",
            "`**b**` <b> &amp;amp; #35;",
        );
        check(
            "%%{init}%% style: $$",
            "#37;#37;#123;init#125;#37;#37; style#58; #36;#36;",
            "%%{init}%% style: $$",
        );
    }

    proptest! {
        #[test]
        fn any_queue_can_be_drawn(queue in samples::queues()) {
            for format in [Format::Text, Format::Mermaid, Format::Dot] {
                let text = graph(&queue, format);
                prop_assert!(text.ends_with('\n') && !text.contains("\n\n"), "{}", text);
            }
            let labels = graph(&queue, Format::Mermaid).lines().filter(|line| line.contains('[')).count();
            prop_assert_eq!(labels, nodes(&Tasks::of(&queue)).len());
        }

        #[test]
        fn quoted_text_stays_quoted(text in "[\"\\\\\\[\\]#;&<>`%{}\n\r\ta-c -]{0,12}") {
            let open_quotes = dot_text(&text).replace("\\\\", "").replace("\\\"", "");
            prop_assert!(!open_quotes.contains(['"', '\\', '\n']), "{}", open_quotes);
            let label = mermaid_text(&text);
            prop_assert!(!label.contains(['"', '`', '\n', '[', ']', '{', '<', '>', '%']), "{}", label);
        }
    }
}
