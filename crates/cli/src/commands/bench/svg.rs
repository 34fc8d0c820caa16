//! The plot as a picture: hand-written SVG that is readable on light and dark pages.

use std::fmt::Write;

use super::plot::{Series, scales, tick};
use super::stats::short;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// The frame of the plot within the picture: left, top, right, bottom.
const FRAME: (f64, f64, f64, f64) = (72.0, 64.0, 608.0, 380.0);
const COLOURS: usize = 4;

/// The picture takes the colours of light or dark from its reader.
const STYLE: &str = "\
  svg { color-scheme: light dark; font: 13px system-ui, sans-serif }
  .page { fill: #fff } .ink { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0 }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round } .dash { stroke-dasharray: 5 4 }
  .s0 { stroke: #818b98 } .s1 { stroke: #9a6700 } .s2 { stroke: #0969da } .s3 { stroke: #1a7f37 }
  .f0 { fill: #818b98 } .f1 { fill: #9a6700 } .f2 { fill: #0969da } .f3 { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .ink { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
    .s0 { stroke: #9198a1 } .s1 { stroke: #d29922 } .s2 { stroke: #4493f8 } .s3 { stroke: #3fb950 }
    .f0 { fill: #9198a1 } .f1 { fill: #d29922 } .f2 { fill: #4493f8 } .f3 { fill: #3fb950 }
  }
";

/// Draws the plot as a picture.
pub fn svg(series: &[Series], about: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">Time of one claim by number of tasks</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n"
    );
    let (left, top, right, bottom) = FRAME;
    label(
        &mut out,
        (left, 28.0),
        "ink",
        "start",
        "font-size=\"17\" font-weight=\"600\"",
        "One claim, whole process, median",
    );
    label(&mut out, (left, 48.0), "soft", "start", "", about);
    if let Some((x, y)) = scales(series) {
        let at = |(tasks, milliseconds): (f64, f64)| {
            (left + x.place(tasks) * (right - left), bottom - y.place(milliseconds) * (bottom - top))
        };
        for value in x.decades() {
            let (column, _) = at((value, 1.0));
            grid_line(&mut out, (column, top), (column, bottom));
            label(&mut out, (column, bottom + 20.0), "soft", "middle", "", &tick(value));
        }
        for value in y.decades() {
            let (_, line) = at((1.0, value));
            grid_line(&mut out, (left, line), (right, line));
            label(&mut out, (left - 10.0, line + 4.0), "soft", "end", "", &duration(value));
        }
        label(&mut out, ((left + right) / 2.0, bottom + 42.0), "soft", "middle", "", "tasks in the queue");
        curves(&mut out, series, &at);
    }
    out.push_str("</svg>\n");
    out
}

/// Draws every series, with its name at its end.
fn curves(out: &mut String, series: &[Series], at: &dyn Fn((f64, f64)) -> (f64, f64)) {
    let mut ends = ends(series, at);
    for (number, series) in series.iter().enumerate().filter(|(_, series)| !series.points.is_empty()) {
        curve(out, number % COLOURS, series, at);
        let (column, line) = ends.remove(0);
        let last = series.points.last().map_or(0.0, |point| point.1);
        let text = format!("{} {}", series.name, measured(last));
        let class = format!("f{}", number % COLOURS);
        label(out, (column + 12.0, line + 4.0), &class, "start", "font-weight=\"600\"", &text);
    }
}

/// Returns where the names of the series stand: at their ends, but never one upon the other.
fn ends(series: &[Series], at: &dyn Fn((f64, f64)) -> (f64, f64)) -> Vec<(f64, f64)> {
    const APART: f64 = 17.0;
    let mut ends: Vec<_> =
        series.iter().filter_map(|series| series.points.last()).map(|point| at(*point)).collect();
    let mut order: Vec<_> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*b].1.total_cmp(&ends[*a].1));
    for pair in 1..order.len() {
        let below = ends[order[pair - 1]].1;
        let end = &mut ends[order[pair]];
        end.1 = end.1.min(below - APART);
    }
    ends
}

/// Writes a power of ten of milliseconds.
fn duration(milliseconds: f64) -> String {
    match milliseconds >= 1e3 {
        true => format!("{} s", tick(milliseconds / 1e3)),
        false => format!("{} ms", tick(milliseconds)),
    }
}

fn measured(milliseconds: f64) -> String {
    match milliseconds >= 1e3 {
        true => format!("{} s", short(milliseconds / 1e3)),
        false => format!("{} ms", short(milliseconds)),
    }
}

fn curve(out: &mut String, colour: usize, series: &Series, at: &dyn Fn((f64, f64)) -> (f64, f64)) {
    let points: Vec<_> = series.points.iter().map(|point| at(*point)).collect();
    let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dash = if colour == 0 { " dash" } else { "" };
    let _ = writeln!(out, "<polyline class=\"line s{colour}{dash}\" points=\"{}\"/>", path.join(" "));
    for (x, y) in points {
        let _ = writeln!(out, "<circle class=\"f{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
    }
}

fn grid_line(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"grid\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn label(out: &mut String, (x, y): (f64, f64), class: &str, anchor: &str, more: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let more = if more.is_empty() { String::new() } else { format!(" {more}") };
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::super::plot::tests::series;
    use super::*;

    #[test]
    fn the_picture_names_every_series_and_escapes_text() {
        let svg = svg(&series(), "x & y");
        assert!(svg.contains(">a&lt;b 99.0 ms<") && svg.contains("x &amp; y"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("<polyline").count(), 2);
    }

    #[test]
    fn nothing_measured_is_an_empty_frame() {
        assert!(svg(&[], "").ends_with("</svg>\n"));
    }

    #[test]
    fn names_of_curves_that_end_together_stand_apart() {
        let same = [series()[0].clone(), series()[0].clone()];
        let ends = ends(&same, &|point| point);
        assert!((ends[0].1 - ends[1].1).abs() >= 17.0, "{ends:?}");
    }
}
