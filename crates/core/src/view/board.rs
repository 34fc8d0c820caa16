//! The leader's board: how a queue stands at one moment, line by line.
//!
//! A line has a tone instead of a colour, and no line break; what else stands in its text the caller escapes.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::graph::{TaskState, Tasks, all, at, cut, field, labels_of, list, one_line};
use crate::model::changes::{self, NO_CHANGE};
use crate::model::diagnosis::telling;
use crate::model::documents::queue::{Agents, LastClaim, QueueTask, TaskResult, Worker, WorkerPause};
use crate::model::hint::Door;
use crate::model::key::Fields;
use crate::model::kind::UNFIT;
use crate::model::listing::{Most, Overview};
use crate::model::next::{Next, See};
use crate::model::raw::{self, Raw};
use crate::model::task::{self, parts_of};

/// The statuses of a task in the order of its life.
const STATUSES: [&str; 7] = ["created", "available", "claimed", "in_progress", "done", "failed", "cancelled"];

/// Longer than this a task in progress is looked at with doubt.
const LONG: Duration = Duration::from_secs(30 * 60);

/// How many tasks the board shows of those that are open, and of those that are done.
pub const MOST: Most = Most { ready: 10, waiting: 10, done: 5 };

/// How much of a description must be left beside the marks; with less they get lines of their own.
const ENOUGH: usize = 24;

/// What a line means to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Title,
    Good,
    Busy,
    Warn,
    Bad,
    Dim,
}

/// One line of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub tone: Tone,
    pub text: String,
}

/// What is said behind a task's description.
pub(super) type Marks = Vec<Option<String>>;

/// The tasks of every [`TaskState`] that a task can have.
type Groups<'a> = [Vec<&'a Value>; 7];

/// A queue as it is drawn.
struct Seen<'a> {
    tasks: Tasks<'a>,
    /// The first ones of each standing at least.
    groups: Groups<'a>,
    /// How many there are of each.
    sizes: [usize; 7],
    progress: Progress,
}

/// Returns the board of a queue, at least 40 characters wide; only a command to type may be wider.
///
/// `left` returns the time left of a task's lease (negative: expired), `None` without a lease.
pub fn board(
    queue: &Value,
    now: Timestamp,
    left: &dyn Fn(&Value) -> Option<SignedDuration>,
    width: usize,
    door: &dyn Door,
) -> Vec<Line> {
    let tasks = Tasks::of(queue);
    let groups = groups(&tasks, now);
    let sizes = groups.each_ref().map(Vec::len);
    draw(&Seen { tasks, groups, sizes, progress: progress(queue) }, now, left, width, door)
}

/// Returns the same from an overview with [`MOST`]. `None` if that does not tell: nothing can be done now, and of all the
/// tasks that wait the first one is wanted that never will.
pub fn board_of_overview(
    overview: &Overview,
    now: Timestamp,
    left: &dyn Fn(&Value) -> Option<SignedDuration>,
    width: usize,
    door: &dyn Door,
) -> Option<Vec<Line>> {
    let tasks = Tasks::in_overview(overview);
    let groups = groups(&tasks, now);
    let waiting = &groups[TaskState::Waiting as usize];
    let barred = waiting.iter().filter(|task| field(task, QueueTask::status) == "available").count();
    let ready = &groups[TaskState::Ready as usize];
    let loose = ready.iter().filter(|task| field(task, QueueTask::status) == "created").count();
    let count = |status| number(&overview.counts, status);
    let working = count("claimed") + count("in_progress");
    let ready = (count("available") + loose).checked_sub(barred)?;
    let waits = (count("created") + barred).checked_sub(loose)?;
    if working + ready == 0 && waiting.len() < waits {
        return None;
    }
    let sizes = [working, ready, waits, count("failed"), count("done"), count("cancelled"), count(UNFIT)];
    let progress = Progress::of(&overview.counts);
    Some(draw(&Seen { tasks, groups, sizes, progress }, now, left, width, door))
}

fn draw(
    seen: &Seen<'_>,
    now: Timestamp,
    left: &dyn Fn(&Value) -> Option<SignedDuration>,
    width: usize,
    door: &dyn Door,
) -> Vec<Line> {
    let mut page = Page::new(width);
    page.head(&seen.sizes, &seen.progress);
    page.blocks(seen, (MOST, 0), now, left, door);
    if let Some((tone, why, step)) = hint(seen) {
        page.hint(tone, &why, &door.say(&step));
    }
    page.lines
}

/// Returns every task that is wanted, as the board would show it.
pub fn listing(
    queue: &Value,
    wanted: &Wanted,
    now: Timestamp,
    left: &dyn Fn(&Value) -> Option<SignedDuration>,
    width: usize,
    door: &dyn Door,
) -> Vec<Line> {
    let tasks = Tasks::of(queue);
    let groups = wanted_of(&tasks, wanted, now);
    if wanted.order != Order::Status {
        let mut page = Page::new(width);
        for (standing, task) in in_order(groups, wanted.order) {
            let (tone, mut marks) = match standing {
                "working" => at_work(task, now, left(task)),
                "waiting" => (Tone::Dim, waits(&tasks, task, now)),
                "failed" => (Tone::Bad, vec![by(task), reason(task)]),
                "done" => (Tone::Good, vec![tasks.rollup(task), by(task), age(task, now)]),
                _ => (Tone::Plain, Vec::new()),
            };
            marks.insert(0, Some(standing.to_owned()));
            page.task(tone, task, &marks.into_iter().flatten().chain(labels(task)).collect::<Vec<_>>());
        }
        return page.lines;
    }
    let sizes = groups.each_ref().map(Vec::len);
    let all = Most { ready: usize::MAX, waiting: usize::MAX, done: usize::MAX };
    let mut page = Page::new(width);
    page.blocks(
        &Seen { tasks, groups, sizes, progress: progress(queue) },
        (all, usize::MAX),
        now,
        left,
        door,
    );
    page.lines.into_iter().skip_while(|line| line.text.is_empty()).collect()
}

/// Returns the tasks that are wanted, in the same order.
pub fn listed(queue: &Value, wanted: &Wanted, now: Timestamp) -> Vec<Value> {
    let groups = wanted_of(&Tasks::of(queue), wanted, now);
    in_order(groups, wanted.order).into_iter().map(|(_, task)| task.clone()).collect()
}

/// Returns the tasks of all groups in one order, each with what its group is called.
fn in_order(groups: Groups<'_>, order: Order) -> Vec<(&'static str, &Value)> {
    let named = STANDINGS.into_iter().zip(groups);
    let mut tasks: Vec<_> =
        named.flat_map(|(standing, group)| group.into_iter().map(move |task| (standing, task))).collect();
    let age = |task: &Value| task::came(Some(field(task, QueueTask::created_at)));
    match order {
        Order::Status => {}
        Order::Priority => tasks.sort_by_cached_key(|(_, task)| (priority(task), age(task))),
        Order::Age => tasks.sort_by_cached_key(|(_, task)| age(task)),
        Order::Id => tasks.sort_by_key(|(_, task)| field(task, QueueTask::id)),
    }
    tasks
}

/// In which order tasks are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// As the board groups them.
    #[default]
    Status,
    Priority,
    /// The oldest first.
    Age,
    Id,
}

fn wanted_of<'a>(tasks: &Tasks<'a>, wanted: &Wanted, now: Timestamp) -> Groups<'a> {
    let mut groups = groups(tasks, now);
    for (standing, group) in STANDINGS.into_iter().zip(&mut groups) {
        group.retain(|task| wanted.has(standing, task));
    }
    groups
}

/// What the board calls the groups of tasks.
const STANDINGS: [&str; 7] = ["working", "ready", "waiting", "failed", "done", "cancelled", "unfit"];

/// Which tasks somebody wants to see.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Words of the file or of the board, any of them; without one, all that is not over.
    pub statuses: Vec<String>,
    pub worker: Option<String>,
    /// All of them.
    pub labels: Vec<String>,
    /// Also what is done or cancelled.
    pub all: bool,
    pub order: Order,
}

impl Wanted {
    /// The words that a status can be named by.
    pub fn words() -> Vec<&'static str> {
        STANDINGS[..6].iter().chain(&STATUSES[..4]).copied().collect()
    }

    fn has(&self, standing: &str, task: &Value) -> bool {
        let is = |wanted: &String| wanted == standing || wanted == field(task, QueueTask::status);
        let over = matches!(standing, "done" | "cancelled");
        let fits = match self.statuses.is_empty() {
            true => self.all || !over,
            false => self.statuses.iter().any(is),
        };
        let labels = labels_of(task);
        fits && self.worker.as_deref().is_none_or(|worker| owner(task) == Some(worker))
            && self.labels.iter().all(|label| labels.contains(&label.as_str()))
    }
}

/// Returns a line for each thing that somebody has to decide about.
pub fn notices(texts: impl Iterator<Item = String>, width: usize) -> Vec<Line> {
    let mut page = Page::new(width);
    texts.for_each(|text| page.line(Tone::Warn, &text));
    page.lines
}

/// Returns lines that name the tasks which nobody gets, by what is said of each and what to do about them. Where something
/// stands in a file is never cut.
pub fn unfit(told: &[String], fix: &str) -> Vec<Line> {
    let title = [(Tone::Plain, ""), (Tone::Title, "NEVER HANDED OUT")];
    let told = told.iter().map(|told| (Tone::Bad, &**told)).chain([(Tone::Warn, fix)]);
    let line =
        |(tone, text): (Tone, &str), indent: &str| Line { tone, text: indent.to_owned() + &one_line(text) };
    title.map(|part| line(part, "")).into_iter().chain(told.map(|part| line(part, "  "))).collect()
}

/// Returns a line for each worker of the register for which nothing is started now.
pub fn paused(register: &Value, now: Timestamp, width: usize) -> Vec<Line> {
    let mut page = Page::new(width);
    for worker in register.list(Agents::agents) {
        // What was not taken back is over by itself.
        let Some(until) = at(&worker[Worker::paused], WorkerPause::until).filter(|until| *until > now) else {
            continue;
        };
        let (id, reason, wait) = (
            field(worker, Worker::id),
            field(&worker[Worker::paused], WorkerPause::reason),
            since(now, until),
        );
        page.line(Tone::Warn, &format!("{id} is paused for {}: {reason}", short(wait)));
    }
    if !page.lines.is_empty() {
        page.lines.insert(0, Line { tone: Tone::Plain, text: String::new() });
    }
    page.lines
}

/// Returns `{counts, tasks, progress}`: a count for every status, and the tasks as they are stored.
pub fn json(queue: &Value) -> Value {
    json_of(&counts(queue), all(queue).to_vec(), &progress(queue))
}

/// Returns the same for the tasks of an overview, of which the counts are those of the whole queue.
pub fn json_of_overview(overview: Overview) -> Value {
    let counts = STATUSES.map(|status| (status, number(&overview.counts, status)));
    json_of(&counts, overview.items, &Progress::of(&overview.counts))
}

fn json_of(counts: &[(&str, usize)], tasks: Vec<Value>, progress: &Progress) -> Value {
    Value::Object(Map::from_iter([
        ("counts".to_owned(), object(counts)),
        ("tasks".to_owned(), Value::Array(tasks)),
        ("progress".to_owned(), progress.json()),
    ]))
}

/// What [`json`] returns as a pretty text, task by task and without values.
#[derive(Debug)]
pub struct Sheet {
    counts: [(&'static str, usize); 7],
    all: usize,
    tasks: Vec<u8>,
}

impl Default for Sheet {
    fn default() -> Self {
        Sheet { counts: STATUSES.map(|status| (status, 0)), all: 0, tasks: Vec::new() }
    }
}

impl Sheet {
    pub fn add(&mut self, task: &Raw) {
        let status = task.string(QueueTask::status.name()).unwrap_or_default();
        self.counts.iter_mut().filter(|(known, _)| *known == status).for_each(|(_, count)| *count += 1);
        self.tasks.extend_from_slice(if self.all == 0 { b"[\n    " } else { b",\n    " });
        self.all += 1;
        raw::write_pretty(&mut self.tasks, task.text(), 2);
    }

    /// Returns the text; `None` if a task is no text at all.
    pub fn text(self) -> Option<String> {
        let progress = Progress {
            done: number(&self.counts, "done"),
            total: self.all - number(&self.counts, "cancelled"),
        };
        let frame = json_of(&self.counts, Vec::new(), &progress);
        let frame = serde_json::to_string_pretty(&frame).expect("a JSON value can always be written");
        let (before, behind) = frame.split_once("[]").expect("the only list");
        let tasks = match self.all {
            0 => "[]".to_owned(),
            _ => String::from_utf8(self.tasks).ok()? + "\n  ]",
        };
        Some([before, &tasks, behind].concat())
    }
}

/// Returns `{counts, progress}` of a queue of which only the numbers are known.
pub fn totals(counts: &[(&str, usize)]) -> Value {
    Value::Object(Map::from_iter([
        ("counts".to_owned(), object(counts)),
        ("progress".to_owned(), Progress::of(counts).json()),
    ]))
}

fn number(counts: &[(&str, usize)], wanted: &str) -> usize {
    counts.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, number)| *number)
}

fn object(fields: &[(&str, usize)]) -> Value {
    Value::Object(fields.iter().map(|&(name, number)| (name.to_owned(), number.into())).collect())
}

/// Returns every status with the number of tasks that have it.
pub(super) fn counts(queue: &Value) -> [(&'static str, usize); 7] {
    let mut counts = STATUSES.map(|status| (status, 0));
    for task in all(queue) {
        let status = field(task, QueueTask::status);
        counts.iter_mut().filter(|(known, _)| *known == status).for_each(|(_, count)| *count += 1);
    }
    counts
}

/// How much is done of what there is to do.
pub(super) struct Progress {
    done: usize,
    total: usize,
}

/// Measures a queue. A cancelled task is not there to be done: it counts into no number.
pub(super) fn progress(queue: &Value) -> Progress {
    let [.., (_, done), _, (_, cancelled)] = counts(queue);
    Progress { done, total: all(queue).len() - cancelled }
}

impl Progress {
    /// Measures a queue of which only the numbers are known.
    fn of(counts: &[(&str, usize)]) -> Progress {
        let all: usize = counts.iter().map(|(_, number)| number).sum();
        Progress { done: number(counts, "done"), total: all - number(counts, "cancelled") }
    }

    fn json(&self) -> Value {
        object(&[("done", self.done), ("total", self.total), ("percent", self.percent())])
    }

    fn percent(&self) -> usize {
        (self.done * 100).checked_div(self.total).unwrap_or(0)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{} ({}%)", self.done, self.total, self.percent())
    }
}

/// Returns the worker that has the task or had it last.
pub(super) fn owner(task: &Value) -> Option<&str> {
    let workers = [field(task, QueueTask::claimed_by), field(&task[QueueTask::last_claim], LastClaim::by)];
    workers.into_iter().find(|worker| !worker.is_empty())
}

/// Sorts open tasks as they are claimed, finished ones newest first.
fn groups<'a>(tasks: &Tasks<'a>, now: Timestamp) -> Groups<'a> {
    let mut groups = Groups::default();
    tasks.all.iter().for_each(|task| groups[tasks.standing(task, now) as usize].push(task));
    let (open, finished) = groups.split_at_mut(TaskState::Failed as usize);
    // To read a time takes longer than to compare two, and the longer the group the more often it is compared.
    let rank = |task: &&Value| (priority(task), task::came(Some(field(task, QueueTask::created_at))));
    open.iter_mut().for_each(|group| group.sort_by_cached_key(rank));
    for group in finished {
        group.reverse();
        group.sort_by_cached_key(|task| Reverse(task::ended(Some(field(task, QueueTask::completed_at)))));
    }
    groups
}

pub(super) fn at_work(task: &Value, now: Timestamp, left: Option<SignedDuration>) -> (Tone, Marks) {
    let started = field(task, QueueTask::status) == "in_progress";
    let began =
        at(task, QueueTask::started_at).filter(|_| started).or_else(|| at(task, QueueTask::claimed_at));
    let age = began.map(|began| since(began, now));
    let stuck = started && age > Some(LONG);
    let expired = left.is_some_and(|left| left.is_negative());
    let lease = left.map(|left| short(left.unsigned_abs()));
    let marks = vec![
        by(task),
        age.map(|age| format!("for {}", short(age))),
        (!started).then(|| "not started".into()),
        lease.map(|time| if expired { format!("EXPIRED {time} ago") } else { format!("lease {time} left") }),
        stuck.then(|| "stuck?".into()),
    ];
    (if expired || stuck { Tone::Warn } else { Tone::Busy }, marks)
}

fn waits(tasks: &Tasks<'_>, task: &Value, now: Timestamp) -> Marks {
    let label = |id: &str| fault(tasks, id).map_or(id.to_owned(), |fault| format!("{id} ({fault})"));
    // Of its parts only those are named that need somebody.
    let parts = parts_of(task);
    let is_told = |id: &&str| !parts.contains(id) || fault(tasks, id).is_some();
    let open: Vec<_> = tasks.open(task).into_iter().filter(is_told).map(label).collect();
    let retry = at(task, QueueTask::next_retry_at).filter(|retry| *retry > now);
    let rollup = tasks.rollup(task);
    let unexplained = open.is_empty() && retry.is_none() && rollup.is_none();
    // The status in the file, where it says something else than the board.
    let available = field(task, QueueTask::status) == "available";
    let told = |text: String| if available { format!("available, but {text}") } else { text };
    vec![
        rollup,
        named("waits for", &open).map(told),
        retry.map(|retry| told(format!("retry in {}", short(since(now, retry))))),
        unexplained.then(|| format!("status {:?} is not known", field(task, QueueTask::status))),
    ]
}

/// Returns why a dependency will not be done by itself.
fn fault<'a>(tasks: &Tasks<'a>, id: &str) -> Option<&'a str> {
    match tasks.statuses.get(id).copied() {
        None => Some("missing"),
        status => status.filter(|status| matches!(*status, "failed" | "cancelled")),
    }
}

fn by(task: &Value) -> Option<String> {
    owner(task).map(|worker| format!("by {worker}"))
}

fn labels(task: &Value) -> Option<String> {
    let labels: Vec<_> = labels_of(task).iter().map(|label| format!("#{label}")).collect();
    (!labels.is_empty()).then(|| labels.join(" "))
}

fn reason(task: &Value) -> Option<String> {
    let line = telling(field(&task[QueueTask::result], TaskResult::error))?;
    Some(format!("— {line}"))
}

fn age(task: &Value, now: Timestamp) -> Option<String> {
    at(task, QueueTask::completed_at).map(|done| format!("{} ago", short(since(done, now))))
}

/// Says what to do next where the tasks alone do not: tone, reason, step.
fn hint(seen: &Seen<'_>) -> Option<(Tone, String, Next)> {
    let hint = |tone, why: &str, step| Some((tone, why.to_owned(), step));
    match &seen.groups {
        _ if seen.sizes == [0; 7] => hint(Tone::Dim, "no tasks yet:", Next::AddTask),
        [working, ready, ..] if !working.is_empty() || !ready.is_empty() => None,
        [_, _, waiting, ..] if !waiting.is_empty() => {
            let (id, why) = block(&seen.tasks, waiting)?;
            hint(Tone::Warn, &format!("stuck: {id} waits for {why}:"), Next::See(See::Task(id.into())))
        }
        [.., failed, _, _, _] if !failed.is_empty() => {
            hint(Tone::Warn, "only failures left:", Next::Retry(field(failed[0], QueueTask::id).into()))
        }
        [.., done, _, _] if !done.is_empty() => hint(Tone::Good, "all done:", Next::Aggregate),
        _ => None,
    }
}

/// Names a task that can never move and what it waits for; nothing if one of them only needs time.
fn block<'a>(tasks: &Tasks<'_>, waiting: &[&'a Value]) -> Option<(&'a str, String)> {
    if waiting.iter().any(|task| tasks.open(task).is_empty()) {
        return None;
    }
    let with_fault = |id| fault(tasks, id).map(|fault| format!("{id} ({fault})"));
    let by_fault = |task: &&'a Value| {
        Some((field(task, QueueTask::id), tasks.open(task).into_iter().find_map(with_fault)?))
    };
    let in_circle = || Some((field(waiting.first()?, QueueTask::id), "a circle of tasks".into()));
    waiting.iter().find_map(by_fault).or_else(in_circle)
}

/// The lines written so far.
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) lines: Vec<Line>,
}

impl Page {
    pub(super) fn new(width: usize) -> Page {
        Page { width: width.max(40), lines: Vec::new() }
    }

    pub(super) fn line(&mut self, tone: Tone, text: &str) {
        let text = cut(&one_line(text), self.width);
        self.lines.push(Line { tone, text });
    }

    /// Writes `parts` two blanks apart, on as many lines as they need.
    pub(super) fn fold(&mut self, tone: Tone, indent: &str, parts: &[String]) {
        let mut text = indent.to_owned();
        for part in parts {
            if text.len() > indent.len() && length(&text) + length(part) > self.width {
                self.line(tone, text.trim_end());
                text.truncate(indent.len());
            }
            text += &format!("{part}  ");
        }
        if text.len() > indent.len() {
            self.line(tone, text.trim_end());
        }
    }

    fn head(&mut self, sizes: &[usize; 7], progress: &Progress) {
        self.line(Tone::Title, "COORDINATION STATUS");
        let words = ["working", "ready", "waiting", "failed", "done", "cancelled", UNFIT].iter().zip(sizes);
        let counts = words.filter(|(_, size)| **size > 0);
        let counts: Vec<_> = counts.map(|(word, size)| format!("{size} {word}")).collect();
        self.fold(Tone::Plain, "", &counts);
        let label = progress.to_string();
        let cells = self.width.saturating_sub(label.len() + 3).min(40);
        let full = (progress.done * cells).checked_div(progress.total).unwrap_or(0);
        let tone = if full == cells { Tone::Good } else { Tone::Plain };
        self.line(tone, &format!("[{}{}] {label}", "█".repeat(full), "░".repeat(cells - full)));
    }

    /// Writes the tasks of every standing: so many at the most of those that there may be many of.
    fn blocks(
        &mut self,
        seen: &Seen<'_>,
        (most, cancelled): (Most, usize),
        now: Timestamp,
        left: &dyn Fn(&Value) -> Option<SignedDuration>,
        door: &dyn Door,
    ) {
        let tasks = &seen.tasks;
        let group =
            |standing: TaskState| (&seen.groups[standing as usize][..], seen.sizes[standing as usize]);
        self.block(
            "WORKING",
            group(TaskState::Working),
            usize::MAX,
            |task| at_work(task, now, left(task)),
            door,
        );
        self.block(
            "READY",
            group(TaskState::Ready),
            most.ready,
            |task| (Tone::Plain, vec![named("needs", &list(task, QueueTask::required_capabilities))]),
            door,
        );
        self.block(
            "WAITING",
            group(TaskState::Waiting),
            most.waiting,
            |task| (Tone::Dim, waits(tasks, task, now)),
            door,
        );
        self.block(
            "FAILED",
            group(TaskState::Failed),
            usize::MAX,
            |task| (Tone::Bad, vec![by(task), reason(task)]),
            door,
        );
        let done = |task: &Value| match changes::is_hollow(task) {
            true => (Tone::Warn, vec![by(task), age(task, now), Some(NO_CHANGE.into())]),
            false => (Tone::Good, vec![tasks.rollup(task), by(task), age(task, now)]),
        };
        self.block("DONE", group(TaskState::Done), most.done, done, door);
        self.block("CANCELLED", group(TaskState::Cancelled), cancelled, |_| (Tone::Dim, Vec::new()), door);
    }

    /// Writes a heading and the first `most` tasks of so many with what is to be said `about` each.
    fn block(
        &mut self,
        title: &str,
        (tasks, size): (&[&Value], usize),
        most: usize,
        about: impl Fn(&Value) -> (Tone, Marks),
        door: &dyn Door,
    ) {
        if size == 0 {
            return;
        }
        self.line(Tone::Plain, "");
        let more = || door.say(&Next::See(See::TasksThatAre(title.to_lowercase())));
        self.line(Tone::Title, &format!("{title} ({size})"));
        for task in tasks.iter().take(most) {
            let (tone, marks) = about(task);
            self.task(tone, task, &marks.into_iter().flatten().chain(labels(task)).collect::<Vec<_>>());
        }
        match size.saturating_sub(most) {
            0 => {}
            left if left == size => self.command(&format!("  see: {}", more())),
            left => self.command(&format!("  … and {left} more: {}", more())),
        }
    }

    pub(super) fn task(&mut self, tone: Tone, task: &Value, marks: &[String]) {
        let head = format!("  [{}] {}  ", priority(task), field(task, QueueTask::id));
        let description = one_line(field(task, QueueTask::description));
        let tail: String = marks.iter().map(|mark| format!("  {mark}")).collect();
        let room = self.width.saturating_sub(length(&head) + length(&tail));
        if room >= length(&description).min(ENOUGH) {
            self.line(tone, &(head + &cut(&description, room) + &tail));
        } else {
            self.line(tone, &(head + &description));
            self.fold(tone, "      ", marks);
        }
    }

    /// Writes what to type, which is never cut.
    pub(super) fn command(&mut self, text: &str) {
        self.lines.push(Line { tone: Tone::Dim, text: text.to_owned() });
    }

    /// Writes why and what to type, on one line or two; the command is never cut.
    pub(super) fn hint(&mut self, tone: Tone, why: &str, command: &str) {
        self.line(Tone::Plain, "");
        if length(why) + 1 + length(command) > self.width {
            self.line(tone, why);
            self.lines.push(Line { tone, text: one_line(command) });
        } else {
            self.line(tone, &format!("{why} {command}"));
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Returns `label` and the names, or nothing without names.
fn named(label: &str, names: &[impl AsRef<str>]) -> Option<String> {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    (!names.is_empty()).then(|| format!("{label} {}", names.join(", ")))
}

/// Returns the priority of a task: 1 first, 5 unless told.
fn priority(task: &Value) -> i64 {
    task.number(QueueTask::priority).map_or(5, |number| number as i64)
}

/// Returns the time from `then` to `now`, none if clocks disagree.
pub(super) fn since(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

/// Writes a duration with its two largest units: `12s`, `3m12s`, `2h05m`, `3d4h`.
pub(super) fn short(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (0, hours, minutes, _) => format!("{hours}h{minutes:02}m"),
        (days, hours, ..) => format!("{days}d{hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::graph::samples;
    use super::*;
    use crate::model::documents::queue::Lease;
    use crate::model::hint::Plain;

    fn lines(queue: &Value, width: usize) -> Vec<Line> {
        let now = "2026-01-02T12:00:00Z".parse().unwrap();
        let left =
            |task: &Value| Some(at(task.at(QueueTask::lease)?, Lease::expires_at)?.duration_since(now));
        board(queue, now, &left, width, &Plain)
    }

    fn check(queue: &Value, width: usize, expected: &str) {
        let text: String = lines(queue, width).into_iter().map(|line| line.text + "\n").collect();
        assert_eq!(text, expected);
    }

    fn sample() -> Value {
        json!({"tasks": [
            {"id": "t1", "description": "Create the user model with id, name, e-mail and password hash", "priority": 1,
             "status": "in_progress", "claimed_by": "w1", "claimed_at": "2026-01-02T11:50:00Z",
             "started_at": "2026-01-02T11:56:48Z", "lease": {"expires_at": "2026-01-02T12:00:42Z"}},
            {"id": "t2", "description": "Hash\npasswords", "status": "in_progress", "claimed_by": "w2",
             "claimed_at": "2026-01-02T11:20:00Z", "lease": {"expires_at": "2026-01-02T11:59:40Z"}},
            {"id": "t3", "description": "Write the guide", "status": "claimed", "claimed_by": "w3",
             "claimed_at": "2026-01-02T11:59:48Z", "priority": 2},
            {"id": "t4", "description": "Lint", "status": "available", "dependencies": ["t8"]},
            {"id": "t5", "description": "Deploy", "status": "available", "priority": 1,
             "required_capabilities": ["ops", "linux"]},
            {"id": "t6", "description": "Register", "status": "available", "dependencies": ["t1", "t7", "t9", "no"]},
            {"id": "t7", "description": "Migrate", "status": "failed", "claimed_by": "w1",
             "result": {"error": "the table is locked\nand more"}},
            {"id": "t8", "description": "Set up", "status": "done", "completed_at": "2026-01-02T09:55:00Z",
             "last_claim": {"by": "w1"}},
            {"id": "t9", "description": "Old", "status": "cancelled"},
            {"id": "t10", "description": "Again", "status": "available", "next_retry_at": "2026-01-02T12:00:30Z"},
            {"id": "t11", "description": "Set free by hand", "status": "created"},
        ]})
    }

    #[test]
    fn a_busy_queue_at_a_glance() {
        let expected = "\
COORDINATION STATUS
3 working  3 ready  2 waiting  1 failed  1 done  1 cancelled
[████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░] 1/10 (10%)

WORKING (3)
  [1] t1  Create the user model with id, name,…  by w1  for 3m12s  lease 42s left
  [2] t3  Write the guide  by w3  for 12s  not started
  [5] t2  Hash passwords  by w2  for 40m00s  EXPIRED 20s ago  stuck?

READY (3)
  [1] t5  Deploy  needs ops, linux
  [5] t4  Lint
  [5] t11  Set free by hand

WAITING (2)
  [5] t6  Register
      available, but waits for t1, t7 (failed), t9 (cancelled), no (missing)
  [5] t10  Again  available, but retry in 30s

FAILED (1)
  [5] t7  Migrate  by w1  — the table is locked

DONE (1)
  [5] t8  Set up  by w1  2h05m ago

CANCELLED (1)
  see: TasksThatAre(\"cancelled\")
";
        check(&sample(), 82, expected);
        let tone =
            |word: &str| lines(&sample(), 82).into_iter().find(|line| line.text.contains(word)).unwrap().tone;
        let tones = ["Create", "Hash", "Deploy", "Register", "Migrate", "Set up"].map(tone);
        assert_eq!(tones, [Tone::Busy, Tone::Warn, Tone::Plain, Tone::Dim, Tone::Bad, Tone::Good]);
    }

    #[test]
    fn marks_move_below_where_the_place_is_narrow() {
        let mut queue = sample();
        queue["tasks"].as_array_mut().unwrap().truncate(2);
        let expected = "\
COORDINATION STATUS
2 working
[░░░░░░░░░░░░░░░░░░░░░░░░░░░░░] 0/2 (0%)

WORKING (2)
  [1] t1  Create the user model with id…
      by w1  for 3m12s  lease 42s left
  [5] t2  Hash passwords
      by w2  for 40m00s  EXPIRED 20s ago
      stuck?
";
        check(&queue, 0, expected);
    }

    #[test]
    fn long_lists_end_with_a_number() {
        let task = |number: usize| {
            let (status, time) = if number < 12 { ("available", "") } else { ("done", "2026-01-02T11:59:") };
            json!({"id": format!("t{number}"), "status": status, "completed_at": format!("{time}{number}Z")})
        };
        let queue = json!({"tasks": (0..20).map(task).collect::<Vec<_>>()});
        let texts: Vec<_> = lines(&queue, 80).into_iter().map(|line| line.text).collect();
        for (left, status) in [(2, "ready"), (3, "done")] {
            assert!(texts.contains(&format!("  … and {left} more: TasksThatAre({status:?})")));
        }
        let newest = texts.iter().position(|text| text == "DONE (8)").unwrap() + 1;
        assert_eq!(texts[newest], "  [5] t19    41s ago");
    }

    #[test]
    fn hints_say_what_to_type_next() {
        let check = |tasks: Value, expected: &str| {
            let last = lines(&json!({"tasks": tasks}), 80).pop().unwrap().text;
            assert_eq!(last, expected);
        };
        let task =
            |id: &str, status: &str, wait: &str| json!({"id": id, "status": status, "dependencies": [wait]});
        check(json!([]), "no tasks yet: AddTask");
        check(json!([task("a", "done", "")]), "all done: Aggregate");
        check(json!([task("a", "done", ""), task("b", "cancelled", "")]), "all done: Aggregate");
        let expected = "stuck: b waits for a (failed): Task(\"b\")";
        check(
            json!([task("a", "failed", ""), task("c", "created", "b"), task("b", "created", "a")]),
            expected,
        );
        let expected = "stuck: b waits for x (missing): Task(\"b\")";
        check(json!([task("b", "available", "x")]), expected);
        let expected = "stuck: a waits for a circle of tasks: Task(\"a\")";
        check(json!([task("a", "created", "b"), task("b", "created", "a")]), expected);
        check(json!([task("a", "failed", "")]), "only failures left: Retry(\"a\")");
        check(json!([{"id": "a", "status": "cancelled"}]), "  see: TasksThatAre(\"cancelled\")");
        assert_eq!(lines(&json!({}), 40).pop().unwrap().text, "no tasks yet: AddTask");
    }

    #[test]
    fn durations_show_two_units() {
        let check = |seconds, expected: &str| assert_eq!(short(Duration::from_secs(seconds)), expected);
        check(0, "0s");
        check(59, "59s");
        check(192, "3m12s");
        check(62, "1m02s");
        check(2 * 3600 + 5 * 60 + 59, "2h05m");
        check(76 * 3600 + 1, "3d4h");
    }

    #[test]
    fn json_keeps_what_is_stored() {
        let text = r#"{"tasks":[{"id":"a","status":"done","n":1e400,"x":-0.0},{"id":"b","status":"cancelled"},{"id":"c","status":"?"},{"id":"d"}]}"#;
        let queue = crate::model::json::parse(text.as_bytes()).unwrap();
        let expected = r#"{"counts":{"created":0,"available":0,"claimed":0,"in_progress":0,"done":1,"failed":0,"cancelled":1},"tasks":[{"id":"a","status":"done","n":1e400,"x":-0.0},{"id":"b","status":"cancelled"},{"id":"c","status":"?"},{"id":"d"}],"progress":{"done":1,"total":3,"percent":33}}"#;
        assert_eq!(json(&queue).to_string(), expected);
        let mut sheet = Sheet::default();
        for task in all(&queue) {
            let mut raw = Raw::default();
            raw.read(task.to_string().as_bytes(), 0).unwrap();
            sheet.add(&raw);
        }
        assert_eq!(sheet.text().unwrap(), serde_json::to_string_pretty(&json(&queue)).unwrap());
        let empty = serde_json::to_string_pretty(&json(&Value::Null)).unwrap();
        assert_eq!(Sheet::default().text().unwrap(), empty);
        assert_eq!(json(&Value::Null)["progress"].to_string(), r#"{"done":0,"total":0,"percent":0}"#);
    }

    proptest! {
        #[test]
        fn any_queue_has_a_board(queue in samples::queues(), width in 0..100_usize) {
            let lines = lines(&queue, width);
            for line in &lines {
                let fits = length(&line.text) <= width.max(40) || line.text.contains("(\"");
                prop_assert!(fits && !line.text.contains('\n'), "{}", line.text);
            }
            json(&queue);
            for left in [SignedDuration::MIN, SignedDuration::MAX] {
                board(&queue, Timestamp::MIN, &|_| Some(left), width, &Plain);
                board(&queue, Timestamp::MAX, &|_| Some(left), width, &Plain);
            }
        }
    }
}
