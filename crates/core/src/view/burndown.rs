//! How a sprint goes: its figures, and what is left of it day by day against the ideal line.
//!
//! Lines have no line break and fit the width, which is at least 40; what stands in texts the caller escapes.

use serde_json::{Map, Value};

use super::board::{Line, Tone};
use super::graph::cut;
use super::plan::text;
use crate::model::documents::state::Sprint;
use crate::model::plan::{self, Day, Report};

/// Rows of the chart above its axis.
const HEIGHT: usize = 8;

/// The widest that one day gets.
const WIDEST: usize = 4;

/// What was left, and what would be.
const LEFT: char = '●';
const IDEAL: char = '·';

/// Returns the report as lines.
pub fn lines(report: &Report, width: usize) -> Vec<Line> {
    let width = width.clamp(40, 80);
    let mut lines = vec![line(Tone::Title, &title(&report.sprint), width)];
    let (done, total) = (report.points.done, report.points.total);
    let percent = if total > 0.0 { (done * 100.0 / total).floor() } else { 0.0 };
    let points = format!("{} of {} points done ({percent}%)", plan::number(done), plan::number(total));
    let finished = total > 0.0 && done >= total;
    lines.push(line(if finished { Tone::Good } else { Tone::Plain }, &points, width));
    lines.extend(days_left(report.days_left).map(|(tone, text)| line(tone, &text, width)));
    if let Some(velocity) = report.velocity {
        let (mean, number) = (plan::number((velocity * 10.0).round() / 10.0), report.sprints_closed);
        let sprints = if number == 1 { "sprint" } else { "sprints" };
        lines.push(line(Tone::Plain, &format!("velocity {mean} (mean of {number} closed {sprints})"), width));
    }
    lines.push(line(Tone::Plain, "", width));
    match report.burndown.is_empty() || total <= 0.0 {
        true => lines.push(line(
            Tone::Dim,
            "no burndown: it takes a start, an end and stories with points",
            width,
        )),
        false => lines.extend(chart(&report.burndown, width)),
    }
    lines
}

/// Returns the report as an object; sprint and stories as they are stored.
pub fn json(report: &Report) -> Value {
    let number = |number: Option<f64>| number.map_or(Value::Null, plan::number);
    let day = |day: &Day| {
        object([
            ("date", day.date.to_string().into()),
            ("remaining", number(day.remaining)),
            ("ideal", number(Some(day.ideal))),
        ])
    };
    object([
        ("sprint", report.sprint.clone()),
        ("stories", report.stories.clone().into()),
        ("completed_points", number(Some(report.points.done))),
        ("total_points", number(Some(report.points.total))),
        ("days_left", report.days_left.map_or(Value::Null, Value::from)),
        ("mean_velocity", number(report.velocity)),
        ("burndown", report.burndown.iter().map(day).collect()),
    ])
}

/// Makes an object of values from documents; `json!` would respell their numbers.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value))))
}

fn title(sprint: &Value) -> String {
    let days = match (text(sprint, Sprint::start_date), text(sprint, Sprint::end_date)) {
        (start, end) if start.is_empty() && end.is_empty() => String::new(),
        (start, end) => format!("  {start} to {end}"),
    };
    format!(
        "{} ({}, {}){days}",
        text(sprint, Sprint::name),
        text(sprint, Sprint::id),
        text(sprint, Sprint::status)
    )
}

fn days_left(days: Option<i64>) -> Option<(Tone, String)> {
    Some(match days? {
        0 => (Tone::Warn, "this is the last day".into()),
        1 => (Tone::Warn, "1 day left".into()),
        days if days > 0 => (Tone::Plain, format!("{days} days left")),
        days => (Tone::Bad, format!("overdue by {} days", -days)),
    })
}

fn line(tone: Tone, text: &str, width: usize) -> Line {
    Line { tone, text: cut(text, width) }
}

/// Draws what was left on each day as dots, and the ideal as a dotted line.
fn chart(days: &[Day], width: usize) -> Vec<Line> {
    let top = days.iter().flat_map(|day| [day.ideal, day.remaining.unwrap_or(0.0)]).fold(0.0, f64::max);
    let label =
        |row: usize| plan::number((top * row as f64 / HEIGHT as f64 * 10.0).round() / 10.0).to_string();
    let labels: Vec<_> = (0..=HEIGHT).map(label).collect();
    let margin = labels.iter().map(String::len).max().unwrap_or(0);
    let room = width.saturating_sub(margin + 2).max(1);
    let columns = columns(days, room);
    let level = |points: f64| ((points / top).clamp(0.0, 1.0) * HEIGHT as f64).round() as usize;
    let row = |row: usize| {
        let mark = |day: &Option<&Day>| match day {
            Some(day) if day.remaining.is_some_and(|left| level(left) == row) => LEFT,
            Some(day) if level(day.ideal) == row => IDEAL,
            _ => ' ',
        };
        // Every other label is enough to read by.
        let label = if row.is_multiple_of(2) { labels[row].as_str() } else { "" };
        let marks: String = columns.iter().map(mark).collect();
        Line { tone: Tone::Plain, text: format!("{label:>margin$} │{}", marks.trim_end()) }
    };
    let mut lines: Vec<_> = (0..=HEIGHT).rev().map(row).collect();
    let axis = "─".repeat(columns.len());
    lines.push(Line { tone: Tone::Dim, text: format!("{:margin$} └{axis}", "") });
    let (first, last) = (days[0].date.to_string(), days[days.len() - 1].date.to_string());
    let between = columns.len().saturating_sub(first.len() + last.len()).max(1);
    let dates = if first == last { first } else { format!("{first}{:between$}{last}", "") };
    lines.push(line(Tone::Dim, &format!("{:margin$}  {dates}", ""), width));
    let left = days.iter().rev().find_map(|day| day.remaining);
    let left = left.map_or(String::new(), |left| format!(": {}", plan::number(left)));
    let legend = format!("{:margin$}  {LEFT} points left{left}   {IDEAL} ideal", "");
    lines.push(line(Tone::Dim, &legend, width));
    lines
}

/// Spreads the days over the room, or picks some where there are too many; blanks stand between them.
fn columns(days: &[Day], room: usize) -> Vec<Option<&Day>> {
    let last = days.len() - 1;
    if last == 0 {
        return vec![Some(&days[0])];
    }
    let wide = ((room - 1) / last).min(WIDEST);
    if wide == 0 {
        return (0..room).map(|column| Some(&days[column * last / (room - 1).max(1)])).collect();
    }
    (0..=last * wide).map(|column| (column % wide == 0).then(|| &days[column / wide])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn report(start: &str, end: &str, today: &str, stories: &[Value]) -> Report {
        let sprint = json!({"id": "sprint-001", "name": "Sprint 1", "status": "active", "start_date": start, "end_date": end});
        let earlier = [
            json!({"status": "completed", "velocity": 20}),
            json!({"status": "completed", "velocity": 20.5}),
        ];
        let stories: Vec<_> = stories.iter().collect();
        Report::of(&sprint, &earlier.iter().collect::<Vec<_>>(), &stories, plan::day(today).unwrap())
    }

    fn shown(report: &Report, width: usize) -> String {
        lines(report, width).into_iter().map(|line| line.text + "\n").collect()
    }

    fn stories() -> [Value; 3] {
        [
            json!({"points": 5, "status": "completed", "completed_at": "2026-01-03T10:00:00Z"}),
            json!({"points": 3, "status": "completed", "completed_at": "2026-01-05T10:00:00Z"}),
            json!({"points": 8, "status": "pending"}),
        ]
    }

    #[test]
    fn a_sprint_at_a_glance() {
        let expected = "\
Sprint 1 (sprint-001, active)  2026-01-01 to 2026-01-09
8 of 16 points done (50%)
4 days left
velocity 20.3 (mean of 2 closed sprints)

16 │●   ●
   │    ·
12 │        ●   ●
   │            ·
 8 │                ●
   │                    ·
 4 │                        ·
   │                            ·
 0 │                                ·
   └─────────────────────────────────
    2026-01-01             2026-01-09
    ● points left: 8   · ideal
";
        let text = shown(&report("2026-01-01", "2026-01-09", "2026-01-05", &stories()), 80);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn without_dates_or_points_there_is_no_chart() {
        let mut report = report("2026-01-01", "2026-01-09", "2026-01-09", &[]);
        assert!(shown(&report, 80).contains("no burndown"));
        assert!(shown(&report, 80).contains("this is the last day"));
        report.days_left = Some(-2);
        assert!(shown(&report, 80).contains("overdue by 2 days"));
    }

    #[test]
    fn json_tells_every_day() {
        let json = json(&report("2026-01-01", "2026-01-02", "2026-01-01", &stories()));
        let expected = json!([{"date": "2026-01-01", "remaining": 16, "ideal": 16},
                              {"date": "2026-01-02", "remaining": null, "ideal": 0}]);
        assert_eq!(json["burndown"], expected);
        assert_eq!((&json["total_points"], &json["completed_points"]), (&json!(16), &json!(8)));
        assert_eq!(json["mean_velocity"], json!(20.25));
    }

    proptest! {
        #[test]
        fn every_chart_fits(width in 0..200_usize, days in 0_i64..4000, today in 0_i64..4000, points in 0..1_000_000_u32) {
            let date = |days: i64| plan::day("2020-01-01").unwrap().saturating_add(jiff::Span::new().days(days)).to_string();
            let stories = [json!({"points": points}), json!({"points": 0.5, "status": "completed"})];
            let report = report(&date(0), &date(days), &date(today), &stories);
            for line in lines(&report, width) {
                prop_assert!(line.text.chars().count() <= width.clamp(40, 80), "{}", line.text);
            }
        }
    }
}
