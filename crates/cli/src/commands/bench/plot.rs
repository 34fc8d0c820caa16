//! Latency against the number of tasks, drawn with letters. Both scales are logarithmic; `svg.rs` draws the same.

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub name: String,
    /// What marks it in text.
    pub mark: char,
    /// Number of tasks, milliseconds.
    pub points: Vec<(f64, f64)>,
}

/// A logarithmic scale from one power of ten to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn around(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor() as i32;
        let high = values.fold(f64::NEG_INFINITY, f64::max).log10().ceil() as i32;
        Scale { low, high: high.max(low + 1) }
    }

    /// Returns where a value is: 0 is the low end, 1 the high one.
    pub fn place(self, value: f64) -> f64 {
        (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    pub fn decades(self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10_f64.powi(power))
    }
}

/// Returns the scales of tasks and of milliseconds; `None` without points.
pub fn scales(series: &[Series]) -> Option<(Scale, Scale)> {
    let points =
        || series.iter().flat_map(|series| &series.points).filter(|point| point.0 > 0.0 && point.1 > 0.0);
    points().next()?;
    Some((Scale::around(points().map(|point| point.0)), Scale::around(points().map(|point| point.1))))
}

const COLUMNS: usize = 56;
const LABEL: usize = 9;

/// Draws a small plot with letters; empty without points. Later series lie over earlier ones.
pub fn text(series: &[Series]) -> Vec<String> {
    let Some((x, y)) = scales(series) else { return Vec::new() };
    let per_decade = if y.high - y.low > 4 { 2 } else { 3 };
    let height = (y.high - y.low) as usize * per_decade;
    let mut grid = vec![vec![' '; COLUMNS + 1]; height + 1];
    for series in series {
        for (tasks, milliseconds) in &series.points {
            let column = (x.place(*tasks) * COLUMNS as f64).round() as usize;
            let line = height - (y.place(*milliseconds) * height as f64).round() as usize;
            grid[line][column] = series.mark;
        }
    }
    let mut lines = vec![format!("{:>LABEL$}", "ms")];
    for (number, row) in grid.iter().enumerate() {
        let label = match (height - number) % per_decade {
            0 => tick(10_f64.powi(y.low + ((height - number) / per_decade) as i32)),
            _ => String::new(),
        };
        let axis = if label.is_empty() { '│' } else { '┤' };
        lines.push(format!("{label:>LABEL$} {axis}{}", row.iter().collect::<String>()).trim_end().to_owned());
    }
    lines.extend(foot(x));
    lines.push(format!("{:>LABEL$}  {}", "", legend(series)));
    lines
}

/// Draws the scale of tasks.
fn foot(x: Scale) -> [String; 2] {
    let (mut axis, mut labels) = (vec!['─'; COLUMNS + 1], vec![' '; COLUMNS + 12]);
    for decade in x.decades() {
        let column = (x.place(decade) * COLUMNS as f64).round() as usize;
        axis[column] = '┬';
        let label = tick(decade);
        let begin = column.saturating_sub(label.len() / 2);
        labels.splice(begin..begin + label.len(), label.chars());
    }
    let shown = |cells: Vec<char>| cells.into_iter().collect::<String>();
    let labels = shown(labels);
    [format!("{:>LABEL$} └{}", "", shown(axis)), format!("{:>LABEL$}  {} tasks", "", labels.trim_end())]
}

fn legend(series: &[Series]) -> String {
    let entries = series.iter().filter(|series| !series.points.is_empty());
    entries.map(|series| format!("{} {}", series.mark, series.name)).collect::<Vec<_>>().join("   ")
}

/// Writes a power of ten.
pub fn tick(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.0}M", value / 1e6),
        value if value >= 1e3 => format!("{:.0}k", value / 1e3),
        value if value >= 1.0 => format!("{value:.0}"),
        value => format!("{value}"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn series() -> [Series; 2] {
        [
            Series { name: "F".into(), mark: 'F', points: vec![(100.0, 0.4), (10_000.0, 0.4)] },
            Series { name: "a<b".into(), mark: '*', points: vec![(100.0, 1.0), (10_000.0, 99.0)] },
        ]
    }

    #[test]
    fn points_stand_where_the_scales_say() {
        let expected = r"
       ms
      100 ┤                                                        *
          │
          │
       10 ┤
          │
          │
        1 ┤*
          │F                                                       F
          │
      0.1 ┤
          └┬───────────────────────────┬───────────────────────────┬
           100                        1k                          10k tasks
           F F   * a<b";
        assert_eq!(text(&series()).join("\n"), expected.trim_start_matches('\n'));
    }

    #[test]
    fn nothing_measured_is_nothing_drawn() {
        assert!(text(&[]).is_empty());
    }
}
