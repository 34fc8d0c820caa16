//! Planning: what follows from the stories for epics and sprints.
//!
//! Stories carry the facts (status, points, when they were completed). The status of an epic, the points of a
//! sprint and its burndown are computed from them. Stories are edited as the values they are, so that what we do
//! not know of them stays.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value, json};

use super::documents::common::Item;
use super::documents::state::{Epic, Sprint, Story};
use super::key::{Fields, Held, Key, List, Numeric};
use super::time;

pub use super::documents::state::{PlanStatus, SessionTaskStatus, SprintStatus};

/// How long a sprint lasts unless told.
pub const SPRINT_DAYS: i64 = 14;

/// A burndown with more days than this shows only some of them.
const MOST_DAYS: usize = 366;

/// Returns the status of an epic, a story, a sprint or a task; without one it has not begun.
pub fn status<S: DeserializeOwned>(item: &Value) -> Option<S> {
    serde_json::from_value(item.at(Item::status)?.clone()).ok()
}

/// Returns a status as documents write it.
pub fn word(status: impl Serialize) -> String {
    match serde_json::to_value(status) {
        Ok(Value::String(word)) => word,
        _ => unreachable!("BUG: a status is a word"),
    }
}

/// Returns the status of an epic or a story; one without is pending.
pub fn standing(item: &Value) -> PlanStatus {
    status(item).unwrap_or(PlanStatus::Pending)
}

/// Whether somebody who has this story is busy with it.
pub fn is_open(story: &Value) -> bool {
    matches!(standing(story), PlanStatus::Pending | PlanStatus::InProgress)
}

/// Returns who has a story.
pub fn assignee(story: &Value) -> Option<&str> {
    story.text(Story::assigned_to).filter(|agent| !agent.is_empty())
}

/// Returns the stories of an epic.
pub fn stories(epic: &Value) -> &[Value] {
    epic.list(Epic::stories)
}

/// Returns the texts of a list field.
pub fn texts<T: Held<Kind: List>>(item: &Value, key: Key<T>) -> Vec<&str> {
    item.texts(key).collect()
}

/// Gives a story a status, and the time at which it was completed. Returns whether anything changed.
pub fn set_status(story: &mut Value, status: PlanStatus, now: Timestamp) -> bool {
    let before = story.clone();
    story[Story::status] = json!(status);
    let dated = story.at(Story::completed_at).is_some_and(Value::is_string);
    match status == PlanStatus::Completed {
        true if !dated => story[Story::completed_at] = time::stamp(now).into(),
        false if dated => story[Story::completed_at] = Value::Null,
        _ => {}
    }
    *story != before
}

/// Whether a story is to be completed because all of its tasks are done. One that is over, or has no tasks, is not.
pub fn is_done_by(story: &Value, done: impl Fn(&str) -> bool) -> bool {
    let tasks = texts(story, Story::tasks);
    let is_over = matches!(standing(story), PlanStatus::Completed | PlanStatus::Cancelled);
    !is_over && !tasks.is_empty() && tasks.into_iter().all(done)
}

/// Returns where an epic stands by its stories. Cancelled stories do not count; an epic without others keeps its
/// status, and a cancelled one stays cancelled.
pub fn epic_status(now: PlanStatus, stories: &[PlanStatus]) -> PlanStatus {
    let count = |status| stories.iter().filter(|story| **story == status).count();
    let counted = stories.len() - count(PlanStatus::Cancelled);
    let completed = count(PlanStatus::Completed);
    match now {
        PlanStatus::Cancelled => now,
        _ if counted == 0 => now,
        _ if completed == counted => PlanStatus::Completed,
        _ if completed > 0 || count(PlanStatus::InProgress) > 0 => PlanStatus::InProgress,
        _ if count(PlanStatus::Blocked) > 0 => PlanStatus::Blocked,
        _ => PlanStatus::Pending,
    }
}

/// How many points are done of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Points {
    pub done: f64,
    pub total: f64,
}

/// Adds up stories; cancelled ones do not count.
pub fn points<'v>(stories: impl IntoIterator<Item = &'v Value>) -> Points {
    let mut sum = Points::default();
    for story in stories {
        let points = points_of(story);
        match standing(story) {
            PlanStatus::Cancelled => continue,
            PlanStatus::Completed => sum.done += points,
            _ => {}
        }
        sum.total += points;
    }
    sum
}

fn points_of(story: &Value) -> f64 {
    figure(story, Story::points).unwrap_or_default()
}

/// Returns a number of a document that can be reckoned with.
pub fn figure<T: Held<Kind: Numeric>>(item: &Value, key: Key<T>) -> Option<f64> {
    item.number(key).filter(|number| number.is_finite())
}

/// Returns a number as people write it: whole ones without a point, others without the noise of sums.
pub fn number(number: f64) -> Value {
    /// Above this a double has no digits behind the point.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Value::from(number as i64);
    }
    let rounded = (number * 1e6).round() / 1e6;
    Number::from_f64(if rounded.is_finite() { rounded } else { number }).map_or(Value::Null, Value::Number)
}

/// Returns the next id after the largest that is taken: `epic-001`, `epic-002`.
pub fn next_id<'v>(prefix: &str, taken: impl IntoIterator<Item = &'v str>) -> String {
    let number = |id: &str| {
        let digits = id.strip_prefix(prefix)?.strip_prefix('-')?;
        digits.parse::<u64>().ok().filter(|_| digits.len() < 16)
    };
    let largest = taken.into_iter().filter_map(number).max().unwrap_or(0);
    format!("{prefix}-{:03}", largest + 1)
}

/// Reads a calendar day such as `2026-01-31`, and nothing more.
pub fn day(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| text.len() == 10)
}

/// Returns the calendar day of a moment, by UTC as all times here.
pub fn day_of(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}

/// Returns the number of days from one to another.
pub fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| span.get_days().into())
}

/// What was left to do on one day of a sprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    pub date: Date,
    /// Points left at the end of the day; `None` for days to come.
    pub remaining: Option<f64>,
    /// What would be left if every day did the same.
    pub ideal: f64,
}

/// Returns the burndown of a sprint: from its first day to its last, or to today while it is overdue.
///
/// A completed story that does not say when it was completed counts from the first day.
pub fn burndown(sprint: &Value, stories: &[&Value], today: Date) -> Vec<Day> {
    let date = |key| sprint.text(key).and_then(day);
    let (Some(start), Some(end)) = (date(Sprint::start_date), date(Sprint::end_date)) else {
        return Vec::new();
    };
    let planned = days_between(start, end);
    if planned < 0 {
        return Vec::new();
    }
    let active = status(sprint) == Some(SprintStatus::Active);
    let shown = if active { planned.max(days_between(start, today)) } else { planned };
    let known = if active { today } else { today.min(end) };
    let sum = points(stories.iter().copied());
    let burned: Vec<_> = stories.iter().filter_map(|story| burned(story, start)).collect();
    let on = |number: i64| {
        let date = start.checked_add(Span::new().try_days(number).ok()?).ok()?;
        let done = || burned.iter().filter(|(day, _)| *day <= date).map(|(_, points)| points).sum::<f64>();
        let left = 1.0 - (number as f64 / planned.max(1) as f64).min(1.0);
        Some(Day {
            date,
            remaining: (date <= known).then(|| sum.total - done()),
            ideal: if planned == 0 { 0.0 } else { sum.total * left },
        })
    };
    let step = (shown as usize / MOST_DAYS) + 1;
    let mut days: Vec<_> = (0..shown).step_by(step).chain([shown]).filter_map(on).collect();
    days.dedup();
    days
}

/// How a sprint goes.
#[derive(Debug)]
pub struct Report {
    /// As it is stored.
    pub sprint: Value,
    /// Its stories as they are stored.
    pub stories: Vec<Value>,
    /// Added up now; of a sprint that is over, as they were then.
    pub points: Points,
    /// While it runs; negative when it is overdue.
    pub days_left: Option<i64>,
    /// The mean velocity of the other sprints that are over.
    pub velocity: Option<f64>,
    /// How many sprints have that mean.
    pub sprints_closed: usize,
    pub burndown: Vec<Day>,
}

impl Report {
    pub fn of(sprint: &Value, others: &[&Value], stories: &[&Value], today: Date) -> Report {
        let is = |sprint: &Value, wanted| status(sprint) == Some(wanted);
        let over = others.iter().filter(|sprint| is(sprint, SprintStatus::Completed));
        let velocities: Vec<_> = over.filter_map(|sprint| figure(sprint, Sprint::velocity)).collect();
        let mut sum = points(stories.iter().copied());
        if is(sprint, SprintStatus::Completed) {
            sum.done = figure(sprint, Sprint::completed_points).unwrap_or(sum.done);
            sum.total = figure(sprint, Sprint::total_points).unwrap_or(sum.total);
        }
        let end = sprint.text(Sprint::end_date).and_then(day);
        let end = end.filter(|_| is(sprint, SprintStatus::Active));
        let mean = velocities.iter().sum::<f64>() / velocities.len() as f64;
        Report {
            sprint: sprint.clone(),
            stories: stories.iter().copied().cloned().collect(),
            points: sum,
            days_left: end.map(|end| days_between(today, end)),
            velocity: (!velocities.is_empty()).then_some(mean),
            sprints_closed: velocities.len(),
            burndown: burndown(sprint, stories, today),
        }
    }
}

/// Returns when a story was completed, and its points.
fn burned(story: &Value, start: Date) -> Option<(Date, f64)> {
    let at = story.text(Story::completed_at).and_then(time::read);
    let completed = standing(story) == PlanStatus::Completed;
    completed.then(|| (at.map_or(start, day_of), points_of(story)))
}

/// Writes the points of its stories into a sprint. One that is over keeps what it had.
pub fn add_up(sprint: &mut Value, stories: &[&Value]) {
    if !matches!(status(sprint), Some(SprintStatus::Active | SprintStatus::Planned)) {
        return;
    }
    let points = points(stories_of(sprint, stories));
    for (field, sum) in [(Sprint::completed_points, points.done), (Sprint::total_points, points.total)] {
        if figure(sprint, field) != Some(sum) {
            sprint[field] = number(sum);
        }
    }
}

/// Returns the stories of a sprint.
pub fn stories_of<'v>(sprint: &Value, stories: &[&'v Value]) -> Vec<&'v Value> {
    let find = |id: &str| stories.iter().copied().find(|story| story.text(Item::id) == Some(id));
    texts(sprint, Sprint::stories).into_iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const STATUSES: [PlanStatus; 6] = [
        PlanStatus::Planned,
        PlanStatus::Pending,
        PlanStatus::InProgress,
        PlanStatus::Blocked,
        PlanStatus::Completed,
        PlanStatus::Cancelled,
    ];

    fn read(word: &str) -> PlanStatus {
        serde_json::from_value(word.into()).unwrap()
    }

    #[test]
    fn an_epic_stands_where_its_stories_do() {
        let check = |now: &str, stories: &str, expected: &str| {
            let stories: Vec<_> = stories.split_whitespace().map(read).collect();
            assert_eq!(word(epic_status(read(now), &stories)), expected, "{stories:?}");
        };
        check("blocked", "", "blocked");
        check("planned", "cancelled", "planned");
        check("pending", "completed", "completed");
        check("pending", "completed cancelled", "completed");
        check("completed", "completed pending", "in_progress");
        check("pending", "in_progress blocked", "in_progress");
        check("pending", "completed blocked", "in_progress");
        check("in_progress", "blocked pending", "blocked");
        check("in_progress", "pending planned", "pending");
        check("planned", "planned", "pending");
        check("cancelled", "in_progress", "cancelled");
    }

    #[test]
    fn a_story_remembers_when_it_was_completed() {
        let now = time::read("2026-01-02T03:04:05Z").unwrap();
        let mut story = json!({"id": "s", "x": 1});
        assert!(set_status(&mut story, PlanStatus::Completed, now));
        let completed =
            json!({"id": "s", "x": 1, "status": "completed", "completed_at": "2026-01-02T03:04:05.000Z"});
        assert_eq!(story, completed);
        assert!(!set_status(&mut story, PlanStatus::Completed, Timestamp::MAX), "once is enough");
        assert!(set_status(&mut story, PlanStatus::Blocked, now));
        assert_eq!(story["completed_at"], Value::Null);
    }

    #[test]
    fn a_story_is_done_with_its_last_task() {
        let story = |status: &str, tasks: Value| json!({"id": "s", "status": status, "tasks": tasks});
        let done = |story: &Value| is_done_by(story, |task| task.starts_with("done"));
        assert!(done(&story("in_progress", json!(["done-1", "done-2"]))));
        assert!(!done(&story("in_progress", json!(["done-1", "open"]))));
        assert!(!done(&story("pending", json!([]))), "nothing was done for it");
        assert!(!done(&story("cancelled", json!(["done-1"]))));
    }

    #[test]
    fn points_are_those_of_stories_that_count() {
        let story = |points: Value, status: &str| json!({"points": points, "status": status});
        let stories = [
            story(json!(0.1), "completed"),
            story(json!(0.2), "completed"),
            story(json!(5), "pending"),
            story(json!(8), "cancelled"),
            json!({"status": "completed"}),
        ];
        let sum = points(&stories);
        assert_eq!((number(sum.done), number(sum.total)), (json!(0.3), json!(5.3)));
        assert_eq!(number(1e300).to_string(), "1e+300");
        assert_eq!(number(f64::INFINITY), Value::Null);
    }

    #[test]
    fn ids_count_up() {
        let check = |taken: &[&str], expected: &str| assert_eq!(next_id("epic", taken.to_vec()), expected);
        check(&[], "epic-001");
        check(&["epic-001", "epic-7", "story-9", "epic-x", "epic-"], "epic-008");
        check(&["epic-999"], "epic-1000");
        check(&["epic-99999999999999999999", "epic-001"], "epic-002");
    }

    #[test]
    fn days_are_days() {
        assert!(day("2026-02-28").is_some());
        for text in ["2026-02-30", "2026-2-3", "2026-01-01T00:00", "today", ""] {
            assert_eq!(day(text), None, "{text}");
        }
    }

    fn days(start: &str, end: &str, status: &str, today: &str) -> String {
        let sprint = json!({"start_date": start, "end_date": end, "status": status});
        let stories = [
            json!({"points": 4, "status": "completed", "completed_at": "2026-01-02T23:59:59Z"}),
            json!({"points": 2, "status": "completed"}),
            json!({"points": 6, "status": "pending"}),
            json!({"points": 9, "status": "cancelled"}),
        ];
        let stories: Vec<_> = stories.iter().collect();
        let days = burndown(&sprint, &stories, day(today).unwrap());
        let figures = days.iter().map(|day| {
            let left = day.remaining.map_or("-".into(), |left| number(left).to_string());
            format!("{}:{left}/{}", day.date.day(), number(day.ideal))
        });
        figures.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_burndown_has_the_days_of_the_sprint() {
        let (start, end) = ("2026-01-01", "2026-01-04");
        assert_eq!(days(start, end, "active", "2026-01-03"), "1:10/12 2:6/8 3:6/4 4:-/0");
        assert_eq!(days(start, end, "active", "2026-01-05"), "1:10/12 2:6/8 3:6/4 4:6/0 5:6/0");
        assert_eq!(days(start, end, "completed", "2026-01-09"), "1:10/12 2:6/8 3:6/4 4:6/0");
        assert_eq!(days(start, start, "active", start), "1:10/0");
        assert_eq!(days(end, start, "active", start), "");
        assert_eq!(days("soon", end, "active", start), "");
        let long = json!({"start_date": "0001-01-01", "end_date": "9999-12-31", "status": "active"});
        assert!(burndown(&long, &[], day(start).unwrap()).len() <= MOST_DAYS + 2);
    }

    proptest! {
        #[test]
        fn roll_ups_settle(now in select(&STATUSES), stories in prop::collection::vec(select(&STATUSES), 0..6)) {
            let status = epic_status(now, &stories);
            prop_assert_eq!(epic_status(status, &stories), status, "computing it again changes nothing");
            let mut turned = stories.clone();
            turned.reverse();
            prop_assert_eq!(epic_status(now, &turned), status, "the order does not matter");
            if now != PlanStatus::Cancelled && stories.contains(&PlanStatus::InProgress) {
                prop_assert_eq!(status, PlanStatus::InProgress);
            }
        }

        #[test]
        fn no_more_is_done_than_there_is(stories in prop::collection::vec((0_u32..100, select(&STATUSES)), 0..8)) {
            let stories: Vec<_> =
                stories.into_iter().map(|(points, status)| json!({"points": points, "status": status})).collect();
            let sum = points(&stories);
            prop_assert!(sum.done <= sum.total);
            let sprint = json!({"start_date": "2026-01-01", "end_date": "2026-01-09", "status": "active"});
            let last = burndown(&sprint, &stories.iter().collect::<Vec<_>>(), day("2026-01-09").unwrap()).pop();
            prop_assert_eq!(last.unwrap().remaining, Some(sum.total - sum.done));
        }
    }
}
