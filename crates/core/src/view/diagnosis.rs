//! The verdict on a queue and what needs somebody, in words: the same ones wherever they are shown.

use jiff::Timestamp;
use serde_json::Value;

use super::board::{Line, Page, Tone, short, since};
use super::graph::trunks;
use crate::model::diagnosis::{Cause, Counts, Diagnosis, Need, Verdict};
use crate::model::documents::answers::{NeedNote, QueueDiagnosis};
use crate::model::forecast::Forecast;
use crate::model::hint::Door;
use crate::model::ids::RULE;
use crate::model::next::{Next, See};

/// How many needs are shown, unless all are wanted.
pub const MOST: usize = 8;

/// How many links of a chain are drawn.
const LINKS: usize = 16;

/// How many ids a sentence names.
const NAMED: usize = 3;

/// Returns the page: the verdict, then what needs somebody, `most` at the most.
pub fn page(found: &Diagnosis, most: usize, width: usize, door: &dyn Door) -> Vec<Line> {
    let mut page = Page::new(width);
    page.text(tone(found.verdict), "", &verdict(found));
    ahead(found).into_iter().for_each(|told| page.text(Tone::Dim, "", &told));
    if !found.needs.is_empty() {
        page.line(Tone::Plain, "");
        page.line(Tone::Title, &format!("NEEDS YOU ({})", found.needs.len()));
        found.needs.iter().take(most).for_each(|need| page.need(need, found.at, door));
    }
    if let Some(more) = found.needs.len().checked_sub(most).filter(|more| *more > 0) {
        let all = door.say(&Next::See(See::Diagnosis { all: true }));
        page.command(&format!("  … and {more} more: {all}"));
    }
    if found.unseen > 0 {
        let text = format!("not looked at: {} that wait behind those", tasks(found.unseen));
        page.line(Tone::Dim, &text);
    }
    let next = match found.verdict {
        Verdict::Empty => Some(Next::AddTask),
        Verdict::Done => Some(Next::Aggregate),
        _ => None,
    };
    next.into_iter().for_each(|next| page.command(&format!("  {}", door.say(&next))));
    page.lines
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Empty => Tone::Dim,
        Verdict::Done => Tone::Good,
        Verdict::Stuck | Verdict::WaitsForYou => Tone::Warn,
        Verdict::Moving => Tone::Busy,
    }
}

/// Returns the verdict in one sentence.
pub fn verdict(found: &Diagnosis) -> String {
    let Counts { created, available, active, done, failed, cancelled } = found.counts;
    let (open, all) = (created + available + active, created + available + active + done + failed);
    match found.verdict {
        Verdict::Empty => "No tasks yet.".into(),
        Verdict::Done if cancelled > 0 => format!("Done: {} done, {cancelled} cancelled.", tasks(done)),
        Verdict::Done if done == 1 => "Done: the only task is done.".into(),
        Verdict::Done => format!("Done: all {} are done.", tasks(done)),
        Verdict::Stuck => {
            format!("Stuck: {} open, and nobody is at work.", is_are(open))
        }
        Verdict::WaitsForYou if open == 0 => format!("Waits for you: {} failed.", tasks(failed)),
        Verdict::WaitsForYou => {
            format!("Waits for you: {} open, and nobody was heard of lately.", is_are(open))
        }
        Verdict::Moving => {
            let parts = [(active, "at work"), (available, "ready"), (created, "waiting"), (failed, "failed")];
            let parts: Vec<_> = parts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{count} {word}"))
                .collect();
            format!("Moving: {}; {done} of {all} done.", parts.join(", "))
        }
    }
}

/// Returns when the rest may be done, and what that is based on.
pub fn ahead(found: &Diagnosis) -> Option<String> {
    let Forecast { end, per_hour, median, samples } = found.forecast.as_ref()?;
    let rest = short(since(found.at, *end));
    let median = short(median.unsigned_abs());
    Some(format!(
        "About {rest} more: {per_hour:.1} tasks per hour, {median} each (by the last {samples} done)."
    ))
}

/// Returns why something needs somebody, in one sentence.
pub fn sentence(need: &Need, now: Timestamp) -> String {
    let task = need.task().unwrap_or_default();
    let ago = need.since.map(|then| format!(" {} ago", short(since(then, now)))).unwrap_or_default();
    match &need.cause {
        Cause::Failed { by, reason } => {
            let by = by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
            format!("{task} failed{ago}{by}: {}", reason.as_deref().unwrap_or("no reason given"))
        }
        Cause::Cancelled { waiting } => format!("{waiting} waits for {task}, which was cancelled"),
        Cause::Missing { waiting } => format!("{waiting} waits for {task}, which does not exist"),
        Cause::Circle if need.tasks.len() == 1 => format!("{task} waits for itself"),
        Cause::Circle => format!("{} wait for each other", joined(&need.tasks)),
        Cause::Unfit => format!("nobody gets {task}, because its id is not valid: {RULE}"),
        Cause::Expired { by } => {
            format!("the lease of {by} on {task} ran out{ago}; the next claim takes it back")
        }
        Cause::NobodyCan { needs } => {
            let verb = if need.tasks.len() == 1 { "needs" } else { "need" };
            let needs = needs.join(", ");
            format!("{} {verb} {needs}, and no registered worker has that", joined(&need.tasks))
        }
        Cause::Unclaimed if need.tasks.len() == 1 => format!("{task} is ready, and nobody takes it"),
        Cause::Unclaimed => format!("{} are ready, and nobody takes one", joined(&need.tasks)),
        Cause::Paused { worker, until, reason } => {
            format!("{worker} is paused for {}: {reason}", short(since(now, *until)))
        }
        Cause::Silent { by, left } => {
            let left = short(left.unsigned_abs());
            format!("{by} has {task} and was last heard of{ago}; its lease lasts {left} more")
        }
        Cause::Files { with, by, ours, theirs } => {
            format!("{task} wants {ours}, but {by} is at work on {with} ({theirs})")
        }
        Cause::Later { until } => format!("{task} is to be tried again in {}", short(since(now, *until))),
    }
}

/// Says what waits because of it, if anything does.
fn held_up(need: &Need) -> Option<String> {
    let count = need.holds_up.len();
    (count > 0).then(|| format!("holds up {}: {}", tasks(count), joined(&need.holds_up)))
}

/// Returns ids as a sentence names them: the first ones, and how many more.
fn joined(ids: &[String]) -> String {
    match ids {
        [] => String::new(),
        [only] => only.clone(),
        ids if ids.len() <= NAMED => {
            format!("{} and {}", ids[..ids.len() - 1].join(", "), ids[ids.len() - 1])
        }
        ids => format!("{} and {} more", ids[..NAMED].join(", "), ids.len() - NAMED),
    }
}

/// Returns a number of tasks in words.
pub(super) fn tasks(count: usize) -> String {
    if count == 1 { "1 task".into() } else { format!("{count} tasks") }
}

/// Says that there is more to see.
pub(super) fn and_more(count: usize) -> String {
    match count {
        0 => "what helps".into(),
        1 => "and 1 more cause".into(),
        _ => format!("and {count} more causes"),
    }
}

fn is_are(count: usize) -> String {
    if count == 1 { "1 task is".into() } else { format!("{count} tasks are") }
}

impl Page {
    fn link(&mut self, before: &str, below: &str, link: &Link, door: &dyn Door) {
        let about = if link.again { "(see above)" } else { &link.about };
        self.line(link_tone(link), format!("{before}{}  {about}", link.id).trim_end());
        for step in link.steps.iter().filter(|_| !link.again) {
            self.command(&format!("{below}  {}", door.say(step)));
        }
    }

    fn need(&mut self, need: &Need, now: Timestamp, door: &dyn Door) {
        self.text(Tone::Warn, "  ", &sentence(need, now));
        held_up(need).into_iter().for_each(|held| self.line(Tone::Dim, &format!("    {held}")));
        need.steps().iter().for_each(|step| self.command(&format!("    {}", door.say(step))));
    }
}

/// Returns the same for scripts.
pub fn note(found: &Diagnosis, door: &dyn Door) -> QueueDiagnosis {
    let need = |need: &Need| NeedNote {
        kind: need.cause.word().into(),
        message: sentence(need, found.at),
        tasks: need.tasks.clone(),
        holds_up: need.holds_up.clone(),
        steps: need.steps().iter().map(|step| door.say(step)).collect(),
    };
    QueueDiagnosis {
        verdict: found.verdict.word().into(),
        message: verdict(found),
        needs: found.needs.iter().map(need).collect(),
        unseen: found.unseen.into(),
    }
}

/// One link of the chain that a task hangs on.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub id: String,
    /// How far down it is; the task itself is at 0.
    pub depth: usize,
    /// As it stands; `None` if there is no such task.
    pub status: Option<&'static str>,
    /// What is to be said of it beside that.
    pub about: String,
    /// What it waits for.
    pub waits_for: Vec<String>,
    /// Whether what it waits for was shown already.
    pub again: bool,
    pub steps: Vec<Next>,
}

/// Draws the chain as a tree, each task above what it waits for. Of a long one the beginning, and what is at its roots.
pub fn chain(links: &[Link], cut: bool, width: usize, door: &dyn Door) -> Vec<Line> {
    let (shown, rest) = links.split_at(links.len().min(LINKS));
    let mut page = Page::new(width);
    let depths: Vec<_> = shown.iter().map(|link| link.depth).collect();
    for (link, trunk) in shown.iter().zip(trunks(&depths)) {
        page.link(&trunk.line, &trunk.below, link, door);
    }
    if !rest.is_empty() {
        let or_more = if cut { " or more" } else { "" };
        page.line(Tone::Dim, &format!("… and {}{or_more} below; at the roots:", tasks(rest.len())));
        let roots = rest.iter().filter(|link| link.waits_for.is_empty());
        roots.take(MOST).for_each(|link| page.link("  ", "  ", link, door));
    }
    page.lines
}

fn link_tone(link: &Link) -> Tone {
    match link.status {
        None | Some("failed" | "cancelled") => Tone::Bad,
        Some("claimed" | "in_progress") => Tone::Busy,
        _ => Tone::Plain,
    }
}

/// Returns a link for scripts.
pub fn link_note(link: &Link, door: &dyn Door) -> Value {
    use crate::model::documents::answers::ChainLink;
    serde_json::json!({
        ChainLink::id: link.id, ChainLink::depth: link.depth, ChainLink::status: link.status,
        ChainLink::message: link.about, ChainLink::waits_for: link.waits_for,
        ChainLink::steps: link.steps.iter().map(|step| door.say(step)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hint::Plain;

    fn need(cause: Cause, tasks: &[&str], holds_up: &[&str]) -> Need {
        let [tasks, holds_up] = [tasks, holds_up].map(|ids| ids.iter().map(|&id| id.to_owned()).collect());
        Need { cause, tasks, holds_up, since: "2026-01-02T11:56:48Z".parse().ok() }
    }

    fn found(verdict: Verdict, counts: Counts, needs: Vec<Need>) -> Diagnosis {
        Diagnosis {
            verdict,
            counts,
            needs,
            unseen: 0,
            forecast: None,
            at: "2026-01-02T12:00:00Z".parse().unwrap(),
        }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| line.text.clone() + "\n").collect()
    }

    #[test]
    fn the_verdict_comes_first_then_what_to_do() {
        let failed = Cause::Failed { by: Some("w1".into()), reason: Some("the table is locked".into()) };
        let needs = vec![
            need(failed, &["model"], &["api", "docs", "web", "cli"]),
            need(Cause::NobodyCan { needs: vec!["gpu".into()] }, &["train"], &[]),
        ];
        let counts = Counts { created: 4, available: 1, failed: 1, ..Counts::default() };
        let expected = "\
Stuck: 5 tasks are open, and nobody is at work.

NEEDS YOU (2)
  model failed 3m12s ago, by w1: the table is locked
    holds up 4 tasks: api, docs, web and 1 more
    Retry(\"model\")
  train needs gpu, and no registered worker has that
    RegisterWith { needs: [\"gpu\"] }
";
        let found = found(Verdict::Stuck, counts, needs);
        assert_eq!(text(&page(&found, MOST, 80, &Plain)), expected);
        assert!(text(&page(&found, 1, 80, &Plain)).contains("  … and 1 more: "));
    }

    #[test]
    fn verdicts_count_right() {
        let check = |verdict_, counts, expected: &str| {
            assert_eq!(verdict(&found(verdict_, counts, vec![])), expected);
        };
        let none = Counts::default();
        check(Verdict::Empty, none, "No tasks yet.");
        check(Verdict::Done, Counts { done: 1, ..none }, "Done: the only task is done.");
        check(Verdict::Done, Counts { done: 3, ..none }, "Done: all 3 tasks are done.");
        check(Verdict::Done, Counts { done: 1, cancelled: 2, ..none }, "Done: 1 task done, 2 cancelled.");
        check(Verdict::Stuck, Counts { created: 1, ..none }, "Stuck: 1 task is open, and nobody is at work.");
        check(Verdict::WaitsForYou, Counts { failed: 1, ..none }, "Waits for you: 1 task failed.");
        let counts = Counts { active: 2, created: 4, done: 6, ..none };
        check(Verdict::Moving, counts, "Moving: 2 at work, 4 waiting; 6 of 12 done.");
    }

    #[test]
    fn every_cause_has_a_sentence() {
        let now = "2026-01-02T12:00:00Z".parse().unwrap();
        let check = |cause, tasks: &[&str], expected: &str| {
            assert_eq!(sentence(&need(cause, tasks, &[]), now), expected);
        };
        check(Cause::Failed { by: None, reason: None }, &["a"], "a failed 3m12s ago: no reason given");
        check(Cause::Cancelled { waiting: "b".into() }, &["a"], "b waits for a, which was cancelled");
        check(Cause::Missing { waiting: "b".into() }, &["a"], "b waits for a, which does not exist");
        check(Cause::Circle, &["a"], "a waits for itself");
        check(Cause::Circle, &["a", "b", "c"], "a, b and c wait for each other");
        check(
            Cause::Expired { by: "w1".into() },
            &["a"],
            "the lease of w1 on a ran out 3m12s ago; the next claim takes it back",
        );
        check(
            Cause::NobodyCan { needs: vec!["x".into()] },
            &["a", "b"],
            "a and b need x, and no registered worker has that",
        );
        check(Cause::Unclaimed, &["a"], "a is ready, and nobody takes it");
        check(Cause::Unclaimed, &["a", "b", "c", "d"], "a, b, c and 1 more are ready, and nobody takes one");
        let until = "2026-01-02T12:05:00Z".parse().unwrap();
        check(
            Cause::Paused { worker: "w1".into(), until, reason: "usage limit".into() },
            &[],
            "w1 is paused for 5m00s: usage limit",
        );
        check(Cause::Later { until }, &["a"], "a is to be tried again in 5m00s");
        let left = jiff::SignedDuration::from_secs(60);
        check(
            Cause::Silent { by: "w1".into(), left },
            &["a"],
            "w1 has a and was last heard of 3m12s ago; its lease lasts 1m00s more",
        );
        let files =
            Cause::Files { with: "b".into(), by: "w1".into(), ours: "src/x".into(), theirs: "src/".into() };
        check(files, &["a"], "a wants src/x, but w1 is at work on b (src/)");
    }

    #[test]
    fn a_chain_is_a_tree_down_to_its_roots() {
        let link = |id: &str, depth, status, about: &str, steps| Link {
            id: id.into(),
            depth,
            status,
            about: about.into(),
            waits_for: Vec::new(),
            again: false,
            steps,
        };
        let links = [
            link("release", 0, Some("created"), "created", vec![]),
            link("api", 1, Some("created"), "created", vec![]),
            link("model", 2, Some("failed"), "failed: locked", vec![Next::Retry("model".into())]),
            link("docs", 1, Some("in_progress"), "by w2", vec![]),
        ];
        let expected = "\
release  created
├─ api  created
│  └─ model  failed: locked
│       Retry(\"model\")
└─ docs  by w2
";
        assert_eq!(text(&chain(&links, false, 80, &Plain)), expected);

        let number = |number: usize| {
            let waits_for = if number == 99 { Vec::new() } else { vec![format!("t{}", number + 1)] };
            Link { waits_for, ..link(&format!("t{number}"), number, Some("created"), "created", vec![]) }
        };
        let long = text(&chain(&(0..100).map(number).collect::<Vec<_>>(), false, 80, &Plain));
        assert!(long.ends_with("… and 84 tasks below; at the roots:\n  t99  created\n"), "{long}");
        assert!(long.lines().all(|line| line.chars().count() <= 80), "{long}");
    }
}
