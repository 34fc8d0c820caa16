//! Conflict markers that a merge of git has left in a document.

use std::path::Path;

use anthill_core::view::shell;
use anthill_core::view::text::escape;
use anthill_live::foreign;

use crate::sentence::shorten;

/// How many lines of a side are shown.
const LINES: usize = 5;

/// Shows the two sides of a file that git could not merge, and says how to choose; `None` for a file without markers.
pub fn hint(path: &str) -> Option<String> {
    let text = foreign::read_text(Path::new(path), foreign::SETTINGS).ok()?;
    let (ours, theirs) = sides(&text)?;
    let place = shell::word(path);
    Some(format!(
        "git could not merge it, and nobody has chosen yet. One side:\n{}\nthe other:\n{}\n\
         edit it until one is left, or take a whole file: git checkout --ours {place} (or --theirs); then: anthill validate",
        shown(&ours),
        shown(&theirs)
    ))
}

/// Returns the lines of the first conflict, side by side.
fn sides(text: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("<<<<<<< ")).skip(1);
    let ours: Vec<&str> = lines.by_ref().take_while(|line| *line != "=======").collect();
    // Some settings of git also show the common ancestor.
    let ours = ours.into_iter().take_while(|line| !line.starts_with("||||||| ")).collect();
    let mut is_closed = false;
    let theirs = lines.take_while(|line| {
        is_closed = line.starts_with(">>>>>>> ");
        !is_closed
    });
    let theirs: Vec<&str> = theirs.collect();
    is_closed.then_some((ours, theirs))
}

fn shown(side: &[&str]) -> String {
    let line = |line: &&str| format!("  {}", shorten(&escape(line), 100));
    let mut lines: Vec<String> = side.iter().take(LINES).map(line).collect();
    if side.len() > LINES {
        lines.push(format!("  … and {} more", side.len() - LINES));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_sides_are_told_apart() {
        let text = "{\n<<<<<<< HEAD\n  a\n||||||| base\n  o\n=======\n  b\n  c\n>>>>>>> topic\n}\n";
        assert_eq!(sides(text), Some((vec!["  a"], vec!["  b", "  c"])));
        for other in ["{}", "<<<<<<< HEAD\n=======\n", "=======\n>>>>>>> x\n", "<<<<<<< a\nx\n>>>>>>> b\n"] {
            assert_eq!(sides(other), None, "{other}");
        }
    }
}
