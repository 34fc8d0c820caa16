//! The difference of two texts, line by line, in the form that `diff -u` has.

use std::fmt::Write as _;

/// Lines shown around a change.
const CONTEXT: usize = 3;
/// Above this many pairs of lines, what differs is shown as a whole.
const LIMIT: usize = 4 << 20;

/// Returns the difference; empty when there is none. A missing text is `/dev/null`.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let name = |side: &str, text: Option<&str>| {
        text.map_or("/dev/null".into(), |_| format!("{side}/{}", path.trim_start_matches('/')))
    };
    let head = format!("--- {}\n+++ {}\n", name("a", before), name("b", after));
    let (old, new) = (lines(before), lines(after));
    let steps = steps(&old, &new);
    let mut text = head;
    let mut at = 0;
    while let Some(first) = (at..steps.len()).find(|place| steps[*place].0 != ' ') {
        let mut last = first;
        let near = |last: usize| {
            (last + 1..steps.len().min(last + 2 * CONTEXT + 2)).rfind(|place| steps[*place].0 != ' ')
        };
        while let Some(next) = near(last) {
            last = next;
        }
        let hunk = first.saturating_sub(CONTEXT).max(at)..steps.len().min(last + 1 + CONTEXT);
        write_hunk(&mut text, &steps, hunk.clone());
        at = hunk.end;
    }
    text
}

fn write_hunk(text: &mut String, steps: &[(char, &str)], hunk: std::ops::Range<usize>) {
    let count = |steps: &[(char, &str)], other: char| steps.iter().filter(|(sign, _)| *sign != other).count();
    let (before, inside) = (&steps[..hunk.start], &steps[hunk]);
    let side = |other: char| {
        let (skipped, length) = (count(before, other), count(inside, other));
        format!("{},{length}", if length == 0 { skipped } else { skipped + 1 })
    };
    let _ = writeln!(text, "@@ -{} +{} @@", side('+'), side('-'));
    for (sign, line) in inside {
        let bare = line.strip_suffix('\n');
        let _ = writeln!(text, "{sign}{}", bare.unwrap_or(line));
        if bare.is_none() {
            text.push_str("\\ No newline at end of file\n");
        }
    }
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

/// Returns every line with what becomes of it: ` ` stays, `-` goes, `+` comes.
fn steps<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let stays = |line: &&'t str| (' ', *line);
    let mut steps: Vec<_> = old[..same].iter().map(stays).collect();
    steps.extend(middle(old_middle, new_middle));
    steps.extend(old_rest[old_rest.len() - tail..].iter().map(stays));
    steps
}

/// Compares by the longest common sequence of lines.
fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let width = new.len() + 1;
    let mut common = vec![0u32; if old.len() * new.len() > LIMIT { 0 } else { (old.len() + 1) * width }];
    if !common.is_empty() {
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                let below = common[(i + 1) * width + j].max(common[i * width + j + 1]);
                common[i * width + j] =
                    if old[i] == new[j] { common[(i + 1) * width + j + 1] + 1 } else { below };
            }
        }
    }
    let length = |i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] && !common.is_empty() {
            steps.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || length(i + 1, j) >= length(i, j + 1)) {
            steps.push(('-', old[i]));
            i += 1;
        } else {
            steps.push(('+', new[j]));
            j += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_like_that_of_diff() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
        let new = "1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let expected = "--- a/f\n+++ b/f\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n\
            @@ -9,4 +9,5 @@\n 9\n 10\n 11\n-12\n\\ No newline at end of file\n+12\n+13\n";
        assert_eq!(unified("f", Some(old), Some(new)), expected);
        assert_eq!(unified("f", Some(old), Some(old)), "");
        assert_eq!(unified("f", None, Some("a\n")), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("f", Some("a\n"), None), "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(
            unified("f", Some("a\nb\nc\n"), Some("a\nx\nb\nc\n")),
            "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n+x\n b\n c\n"
        );
    }
}
