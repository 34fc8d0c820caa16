//! Everything at a glance: a short board with a block for each system that there is, or one line for a status line.
//!
//! Both read what [`crate::ops::status`] has seen.

use jiff::Timestamp;
use serde_json::Value;

use super::board::{Line, Page, Tone, at_work, short, since};
use super::diagnosis;
use super::graph::{at, field, one_line};
use super::text::escape;
use crate::model::diagnosis::{Scene, diagnose};
use crate::model::documents::answers::{
    AsideEdit, ErrorStanding, Failure, GroupStanding, LoopStanding, MessageStanding, Overview,
    PipelineStanding, Progress, SeenSession, Totals,
};
use crate::model::documents::queue::{QueueTask, TaskUsage};
use crate::model::documents::workflow::{Phase, Workflow};
use crate::model::hint::Door;
use crate::model::key::{Fields, Key};
use crate::model::kind::UNFIT;
use crate::model::next::{Next, See};
use crate::model::plan::figure;
use crate::model::task::Task;

/// The widest status line, in columns of a terminal.
pub const LINE: usize = 80;

/// How many columns of a status line a phase's id and title get.
const PHASE: usize = 32;

/// How many entries of a list a block shows.
const MOST: usize = 10;

/// Writes what is to be said of one system.
type Block = fn(&mut Page, &Value, Timestamp);

/// Returns the board.
pub fn board(status: &Value, now: Timestamp, width: usize, door: &dyn Door) -> Vec<Line> {
    let mut page = Page::new(width);
    let blocks: [(Key<Value>, Block); 8] = [
        (Overview::sessions.any(), sessions),
        (Overview::queue.any(), queue),
        (Overview::workflow.any(), workflow),
        (Overview::pipeline.any(), pipeline),
        (Overview::work_loop.any(), work_loop),
        (Overview::errors.any(), errors),
        (Overview::messages.any(), messages),
        (Overview::edits.any(), edits),
    ];
    for (key, block) in blocks {
        match (&status[key], status[key].text(Failure::error)) {
            (Value::Null, _) => {}
            (_, Some(error)) => page.line(Tone::Bad, &format!("{}  {error}", key.name().to_uppercase())),
            (part, None) => block(&mut page, part, now),
        }
    }
    if status.as_object().is_some_and(|parts| parts.values().any(|part| part.has(Failure::error))) {
        page.hint(Tone::Warn, "see what can be done:", &door.say(&Next::Doctor));
    }
    if page.lines.is_empty() {
        page.line(Tone::Dim, "nothing here yet");
        page.hint(Tone::Plain, "a queue of tasks:", &door.say(&Next::BeginQueue));
        page.line(Tone::Plain, &format!("inside your coding agents: {}", door.say(&Next::Install)));
    }
    page.lines
}

fn edits(page: &mut Page, edits: &Value, _: Timestamp) {
    for edit in list(edits).iter().take(MOST) {
        page.line(Tone::Warn, field(edit, AsideEdit::message));
    }
}

fn sessions(page: &mut Page, sessions: &Value, now: Timestamp) {
    let sessions = list(sessions);
    let readable = sessions.iter().filter(|session| !session.has(Failure::error)).count();
    page.line(Tone::Title, &format!("SESSIONS  {readable} at work"));
    for session in sessions.iter().take(MOST) {
        let id = field(session, SeenSession::session_id);
        if let Some(error) = session.text(Failure::error) {
            page.line(Tone::Bad, &format!("  {id}  {error}"));
            continue;
        }
        let heard = at(session, SeenSession::last_heartbeat)
            .map(|heard| format!("heard {} ago", short(since(heard, now))));
        let heard = heard.unwrap_or_default();
        let parts =
            [id, field(session, SeenSession::status), field(session, SeenSession::project_id), &heard];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect();
        page.fold(Tone::Plain, "  ", &parts);
    }
    more(page, sessions.len());
}

/// The words of the board, and the statuses of the file that they stand for.
const STANDINGS: [(&str, &[&str]); 7] = [
    ("working", &["claimed", "in_progress"]),
    ("ready", &["available"]),
    ("waiting", &["created"]),
    ("failed", &["failed"]),
    ("done", &["done"]),
    ("cancelled", &["cancelled"]),
    (UNFIT, &[UNFIT]),
];

/// Returns who does what, for how long, on which files and at what cost, below the verdict.
pub fn team(scene: &Scene, width: usize, door: &dyn Door) -> Vec<Line> {
    let (found, now) = (diagnose(scene), &scene.now);
    let mut page = Page::new(width);
    page.line(Tone::Plain, "");
    page.line(Tone::Title, &diagnosis::verdict(&found));
    diagnosis::ahead(&found).into_iter().for_each(|told| page.line(Tone::Dim, &told));
    let working: Vec<_> = scene.tasks.iter().filter(|task| task.is_active()).collect();
    for task in working.iter().take(MOST) {
        let (tone, marks) = at_work(task.value(), now.at, task.lease_left(now));
        page.task(tone, task.value(), &marks.into_iter().flatten().chain(costs(task)).collect::<Vec<_>>());
        page.fold(
            Tone::Dim,
            "      ",
            &task.files().iter().map(|file| (*file).to_owned()).collect::<Vec<_>>(),
        );
    }
    more(&mut page, working.len());
    if let Some(first) = found.needs.first() {
        let step = door.say(&Next::See(See::Diagnosis { all: false }));
        page.line(Tone::Warn, &diagnosis::sentence(first, found.at));
        page.command(&format!("  {}: {step}", diagnosis::and_more(found.needs.len() - 1)));
    }
    page.lines
}

fn costs(task: &Task) -> Option<String> {
    let usage = task.value().at(QueueTask::usage).filter(|usage| usage.is_object())?;
    figure(usage, TaskUsage::cost_usd).map(|cost| format!("${cost:.2}"))
}

fn queue(page: &mut Page, queue: &Value, _: Timestamp) {
    let (done, total) = (&queue[Totals::progress][Progress::done], &queue[Totals::progress][Progress::total]);
    page.line(
        Tone::Title,
        &format!("QUEUE  {done}/{total} ({}%)", queue[Totals::progress][Progress::percent]),
    );
    let counts = queue.at(Totals::counts);
    let count = |words: &[&str]| -> u64 {
        words.iter().map(|word| counts.and_then(|counts| counts.get(word)).map_or(0, whole)).sum()
    };
    let told = STANDINGS.iter().map(|(standing, words)| (count(words), standing));
    let told = told.filter(|(number, _)| *number > 0);
    page.fold(Tone::Plain, "  ", &told.map(|(number, word)| format!("{number} {word}")).collect::<Vec<_>>());
}

fn workflow(page: &mut Page, workflow: &Value, _: Timestamp) {
    let (status, task) = (field(workflow, Workflow::status), field(workflow, Workflow::task));
    page.line(Tone::Title, &format!("WORKFLOW  {status}  {task}"));
    let phases = workflow.list(Workflow::phases);
    for phase in phases.iter().take(MOST) {
        let (mark, tone) = match field(phase, Phase::status) {
            "active" => ('>', Tone::Busy),
            "completed" => ('x', Tone::Good),
            "failed" => ('!', Tone::Bad),
            _ => (' ', Tone::Plain),
        };
        page.line(tone, &format!("  [{mark}] {}  {}", field(phase, Phase::id), field(phase, Phase::title)));
    }
    more(page, phases.len());
}

fn pipeline(page: &mut Page, pipeline: &Value, _: Timestamp) {
    let (status, mode) = (field(pipeline, PipelineStanding::status), field(pipeline, PipelineStanding::mode));
    let (percent, orders) = (
        number(pipeline, PipelineStanding::completion_percentage),
        number(pipeline, PipelineStanding::open_orders),
    );
    let s = if orders == 1 { "" } else { "s" };
    let tone = if status == "error" { Tone::Bad } else { Tone::Title };
    page.line(tone, &format!("PIPELINE  {status}  {mode}, {percent}% complete, {orders} open order{s}"));
    let groups = pipeline.list(PipelineStanding::groups);
    let named = |group: &Value| {
        format!("{} {}", field(group, GroupStanding::id), field(group, GroupStanding::status))
    };
    page.fold(Tone::Plain, "  ", &groups.iter().take(MOST).map(named).collect::<Vec<_>>());
    more(page, groups.len());
}

fn work_loop(page: &mut Page, queue: &Value, _: Timestamp) {
    let (status, task) = (field(queue, LoopStanding::status), field(queue, LoopStanding::task));
    let status = if status.is_empty() { String::new() } else { format!("  {status}") };
    page.line(Tone::Title, &format!("LOOP  iteration {}{status}  {task}", iteration(queue)));
    let open =
        queue.read(LoopStanding::open).into_iter().flatten().filter(|(_, count)| count.as_u64() > Some(0));
    let mut parts: Vec<_> = open.map(|(severity, count)| format!("{count} {severity} open")).collect();
    let gates = queue.read(LoopStanding::gates).into_iter().flatten();
    parts.extend(gates.map(|(name, status)| format!("{name}: {}", status.as_str().unwrap_or("not run"))));
    page.fold(Tone::Plain, "  ", &parts);
}

fn errors(page: &mut Page, errors: &Value, _: Timestamp) {
    let count = |key| number(errors, key);
    let tone = if count(ErrorStanding::escalated) > 0 { Tone::Warn } else { Tone::Title };
    let text = format!(
        "ERRORS  {} pending ({} due)  {} escalated  {} recovered",
        count(ErrorStanding::pending),
        count(ErrorStanding::due),
        count(ErrorStanding::escalated),
        count(ErrorStanding::recovered)
    );
    page.line(tone, &text);
}

fn messages(page: &mut Page, messages: &Value, _: Timestamp) {
    let whose = field(messages, MessageStanding::session_id);
    let whose = if whose.is_empty() { String::new() } else { format!(" by {whose}") };
    page.line(Tone::Title, &format!("MESSAGES  {} unread{whose}", number(messages, MessageStanding::unread)));
    let sessions = messages.read(MessageStanding::sessions).into_iter().flatten();
    let waiting: Vec<_> = sessions
        .filter(|(_, unread)| unread.as_u64() != Some(0))
        .map(|(id, unread)| {
            format!("{id} {}", unread.as_u64().map_or("cannot be read".into(), |unread| unread.to_string()))
        })
        .collect();
    page.fold(Tone::Plain, "  ", &waiting[..waiting.len().min(MOST)]);
    more(page, waiting.len());
}

fn more(page: &mut Page, count: usize) {
    if count > MOST {
        page.line(Tone::Dim, &format!("  … and {} more", count - MOST));
    }
}

/// Returns one line of at most [`LINE`] columns; `None` when there is nothing to say.
pub fn line(status: &Value) -> Option<Line> {
    let mut line = with_phase(status, PHASE);
    if columns(&line.text) > LINE {
        // Without the title of its phase, of which less depends.
        line = with_phase(status, 0);
    }
    line.text = clipped(&line.text, LINE);
    (!line.text.is_empty()).then_some(line)
}

/// Returns the line with so many columns for the phase of the workflow.
fn with_phase(status: &Value, columns: usize) -> Line {
    let unreadable = status.as_object().into_iter().flatten().filter(|(_, part)| part.has(Failure::error));
    // First, so that it is not cut off.
    let mut parts: Vec<String> = unreadable.map(|(name, _)| format!("{name} unreadable")).collect();
    let (mut tone, damaged) = (Tone::Plain, !parts.is_empty());
    let queue = &status[Overview::queue];
    let (counts, progress) = (&queue[Totals::counts], queue.at(Totals::progress));
    let count = |state: &str| counts.get(state).map_or(0, whole);
    let (done, total) = (number(progress, Progress::done), number(progress, Progress::total));
    let (running, failed) = (count("claimed") + count("in_progress"), count("failed"));
    if total > 0 {
        parts.push(format!("{done}/{total} done"));
    }
    if running > 0 {
        tone = Tone::Busy;
        parts.push(format!("{running} running"));
    }
    if failed > 0 {
        tone = Tone::Warn;
        parts.push(format!("{failed} failed"));
    }
    if damaged {
        tone = Tone::Bad;
    }
    parts.extend(phase(&status[Overview::workflow], columns));
    parts.extend(run(&status[Overview::pipeline]));
    parts.extend(looping(&status[Overview::work_loop]));
    match number(&status[Overview::errors], ErrorStanding::due) {
        0 => {}
        1 => parts.push("1 error due".into()),
        due => parts.push(format!("{due} errors due")),
    }
    if number(&status[Overview::messages], MessageStanding::unread) > 0 {
        parts.push(format!("✉ {}", number(&status[Overview::messages], MessageStanding::unread)));
    }
    let text = if parts.is_empty() { String::new() } else { format!("ants: {}", parts.join(" · ")) };
    Line { tone, text }
}

/// Returns where a workflow is that is not completed.
fn phase(workflow: &Value, columns: usize) -> Option<String> {
    let (status, current) = (field(workflow, Workflow::status), field(workflow, Workflow::current_phase));
    if matches!(status, "" | "completed") {
        return None;
    }
    let phase = workflow
        .list(Workflow::phases)
        .iter()
        .find(|phase| !current.is_empty() && field(phase, Phase::id) == current);
    let failed = if status == "failed" { " failed" } else { "" };
    Some(match phase {
        Some(phase) if columns > 0 => {
            format!("wf {}{failed}", plain(&format!("{current} {}", field(phase, Phase::title)), columns))
        }
        Some(_) => format!("wf {}{failed}", plain(current, PHASE / 2)),
        None => format!("wf {status}"),
    })
}

/// Returns where a run of the pipeline is that is not completed.
fn run(pipeline: &Value) -> Option<String> {
    match field(pipeline, PipelineStanding::status) {
        "" | "completed" => None,
        "error" => Some("pipeline stopped".into()),
        _ => Some(format!("pipeline {}%", number(pipeline, PipelineStanding::completion_percentage))),
    }
}

/// Returns where a loop is that is not complete.
fn looping(queue: &Value) -> Option<String> {
    match field(queue, LoopStanding::status) {
        _ if !queue.has(LoopStanding::iteration) => None,
        "complete" => None,
        status @ ("paused" | "stopped") => {
            Some(format!("loop {} {status}", iteration(queue).replace(" of ", "/")))
        }
        _ => Some(format!("loop {}", iteration(queue).replace(" of ", "/"))),
    }
}

fn iteration(queue: &Value) -> String {
    let iteration = number(queue, LoopStanding::iteration);
    match number(queue, LoopStanding::max_iterations) {
        0 => iteration.to_string(),
        most => format!("{iteration} of {most}"),
    }
}

/// Returns state text that steers no terminal and stays on its line, in at most so many columns.
fn plain(text: &str, most: usize) -> String {
    clipped(&escape(one_line(text).trim()), most)
}

/// Returns `text` in at most so many columns, the last of them `…` when something was cut.
fn clipped(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if columns(&kept) + width(letter) >= most {
            break;
        }
        kept.push(letter);
    }
    format!("{}…", kept.trim_end())
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Returns how many columns a character takes at most. Wide scripts and pictures begin behind the narrow ones; what is
/// narrow there counts double, which makes a line shorter and never longer than it may be.
fn width(letter: char) -> usize {
    if letter < '\u{1100}' || letter == '…' { 1 } else { 2 }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number<'v, T>(value: impl Fields<'v>, key: Key<T>) -> u64 {
    value.at(key).map_or(0, whole)
}

fn whole(number: &Value) -> u64 {
    number.as_f64().map_or(0, |number| number as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::hint::Plain;

    fn text(status: &Value) -> Option<String> {
        line(status).map(|line| line.text)
    }

    fn busy(title: &str) -> Value {
        json!({
            "sessions": [{"session_id": "s1", "status": "active", "project_id": "myapp", "last_heartbeat": "2026-01-02T11:59:00Z"},
                         {"session_id": "s2", "error": "it is damaged"}],
            "queue": {"counts": {"available": 5, "claimed": 1, "in_progress": 1, "done": 3}, "progress": {"done": 3, "total": 10, "percent": 30}},
            "workflow": {"id": "wf", "task": "Build it", "status": "active", "current_phase": "phase_1",
                         "phases": [{"id": "phase_0", "title": "Look", "status": "completed"},
                                    {"id": "phase_1", "title": title, "status": "active"}]},
            "pipeline": {"status": "running", "mode": "parallel", "groups": [{"id": "A", "status": "complete"}, {"id": "B", "status": "dev_working"}],
                         "completion_percentage": 50, "open_orders": 1},
            "loop": {"task": "Get it green", "iteration": 2, "max_iterations": 50, "status": "building",
                     "open": {"S0": 0, "S1": 2, "S2": 0, "S3": 0}, "gates": {"lint": "pass", "tests": null}},
            "errors": {"total": 3, "recovered": 1, "pending": 1, "escalated": 1, "due": 1},
            "messages": {"unread": 1, "session_id": "s1"},
        })
    }

    #[test]
    fn everything_has_its_block() {
        let now = "2026-01-02T12:00:00Z".parse().unwrap();
        let shown = |status: &Value| -> String {
            board(status, now, 100, &Plain).into_iter().map(|line| line.text + "\n").collect()
        };
        let expected = "\
SESSIONS  1 at work
  s1  active  myapp  heard 1m00s ago
  s2  it is damaged
QUEUE  3/10 (30%)
  2 working  5 ready  3 done
WORKFLOW  active  Build it
  [x] phase_0  Look
  [>] phase_1  Fix
PIPELINE  running  parallel, 50% complete, 1 open order
  A complete  B dev_working
LOOP  iteration 2 of 50  building  Get it green
  2 S1 open  lint: pass  tests: not run
ERRORS  1 pending (1 due)  1 escalated  1 recovered
MESSAGES  1 unread by s1
";
        assert_eq!(shown(&busy("Fix")), expected);
        let nothing =
            "nothing here yet\n\na queue of tasks: BeginQueue\ninside your coding agents: Install\n";
        assert_eq!(shown(&json!({})), nothing);
        assert_eq!(
            shown(&json!({"queue": {"error": "line 1\nis bad"}})),
            "QUEUE  line 1 is bad\n\nsee what can be done: Doctor\n"
        );
        let many = json!({"messages": {"unread": 2, "sessions": {"a": 2, "b": 0, "c": {"error": "x"}}}});
        assert_eq!(shown(&many), "MESSAGES  2 unread\n  a 2  c cannot be read\n");
    }

    #[test]
    fn one_line_says_what_goes_on() {
        let mut status = busy("Fix");
        status["pipeline"] = Value::Null;
        status["errors"] = Value::Null;
        let expected = "ants: 3/10 done · 2 running · wf phase_1 Fix · loop 2/50 · ✉ 1";
        assert_eq!(text(&status).as_deref(), Some(expected));
        status["queue"]["counts"]["failed"] = json!(1);
        status["loop"]["status"] = json!("paused");
        status["workflow"]["status"] = json!("failed");
        let expected =
            "ants: 3/10 done · 2 running · 1 failed · wf phase_1 Fix failed · loop 2/50 paused · ✉ 1";
        assert_eq!(text(&status).unwrap(), clipped(&expected.replace(" Fix", ""), LINE));
        assert_eq!(text(&json!({"queue": {"error": "x"}})).as_deref(), Some("ants: queue unreadable"));
        for over in [
            json!({}),
            json!({"queue": {"counts": {}, "progress": {"done": 0, "total": 0, "percent": 0}}, "messages": {"unread": 0}}),
            json!({"workflow": {"status": "completed"}, "pipeline": {"status": "completed"}, "loop": {"iteration": 3, "status": "complete"}}),
        ] {
            assert_eq!(text(&over), None, "{over}");
        }
    }

    proptest! {
        #[test]
        fn a_line_is_never_wider_and_never_two(title in "\\PC{0,60}|[\\x00-\\x1f\\u{80}-\\u{9f}日本語🐜\\u{202e}\\u{2028}a]{0,60}", number in any::<u32>()) {
            let mut status = busy(&title);
            for count in ["available", "claimed", "failed", "done"] {
                status["queue"]["counts"][count] = json!(number);
            }
            status["queue"]["progress"]["total"] = json!(number);
            let text = text(&status).unwrap();
            prop_assert!(columns(&text) <= LINE && text.chars().count() <= LINE, "{text}");
            prop_assert!(!text.chars().any(char::is_control) && !text.contains(['\u{2028}', '\u{202e}']), "{text:?}");
        }
    }
}
