//! The line of `.claude/anthill.toml` that names the project: `project = "myapp"`, before the first table.

use std::ops::Range;

use crate::model::ids::ProjectId;

const KEY: &str = "project";

#[derive(Debug, Clone)]
pub struct Project {
    pub id: ProjectId,
}

impl Project {
    pub(super) fn put(&self, text: &str) -> String {
        let line = format!("{KEY} = \"{}\"", self.id);
        match place_of(text) {
            Some(_) if project_of(text).as_ref() == Some(&self.id) => text.into(),
            Some(place) => [&text[..place.start], &line, &text[place.end..]].concat(),
            None if text.is_empty() => format!("{line}\n"),
            None => format!("{line}\n\n{text}"),
        }
    }

    pub(super) fn take(&self, text: &str) -> String {
        let Some(place) = place_of(text).filter(|_| project_of(text).as_ref() == Some(&self.id)) else {
            return text.into();
        };
        let rest = &text[place.end..];
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        // With the line that keeps it apart from what others wrote, if it is the first.
        let rest = if place.start == 0 { rest.strip_prefix('\n').unwrap_or(rest) } else { rest };
        [&text[..place.start], rest].concat()
    }
}

/// Returns the project that a configuration names, if it is an id.
pub fn project_of(text: &str) -> Option<ProjectId> {
    let (_, value) = text[place_of(text)?].split_once('=')?;
    let value = value.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split(quote).next()?.parse().ok()
}

/// Returns where the line is, without its end.
fn place_of(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        if bare.trim_start().starts_with('[') {
            return None;
        }
        let is_it = bare.split_once('=').is_some_and(|(key, _)| key.trim() == KEY);
        if is_it {
            return Some(start..start + bare.len());
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &str) -> Project {
        Project { id: id.parse().unwrap() }
    }

    #[test]
    fn the_line_goes_in_and_out_and_others_keep_theirs() {
        let gates = "# ours\n[gates.lint]\nrun = \"make\"\n";
        for text in ["", gates, "other = 1\n", "[project]\nx = 1\n"] {
            let with = named("app").put(text);
            assert_eq!(project_of(&with), Some("app".parse().unwrap()), "{with}");
            assert_eq!(named("app").put(&with), with);
            assert_eq!(named("app").take(&with), text);
            assert_eq!(named("other").take(&with), with, "it is not the one that we wrote");
        }
        let own = format!("x = 1\nproject='mine' # chosen\n{gates}");
        assert_eq!(project_of(&own), Some("mine".parse().unwrap()));
        assert_eq!(named("mine").put(&own), own);
        assert_eq!(project_of(&named("app").put(&own)), Some("app".parse().unwrap()));
    }

    #[test]
    fn what_is_no_id_is_none() {
        for text in [
            "",
            "project",
            "project = 1",
            "project = \"../x\"",
            "[a]\nproject = \"x\"",
            "projects = \"x\"",
            "project = \"\"",
        ] {
            assert_eq!(project_of(text), None, "{text}");
        }
    }
}
