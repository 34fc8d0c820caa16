//! Our lines in a text of others, between two lines that mark them.

use crate::model::json::ParseError;

#[derive(Debug, Clone)]
pub struct Section {
    pub begin: &'static str,
    pub end: &'static str,
    pub lines: Vec<String>,
    /// Whether lines that the text has already are left out.
    pub only_missing: bool,
}

impl Section {
    pub(super) fn put(&self, text: &str) -> Result<String, ParseError> {
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let (before, after) = match self.find(text)? {
            Some((start, end)) => (&text[..start], &text[end..]),
            None => (text, ""),
        };
        let is_there = |line: &str| before.lines().chain(after.lines()).any(|other| other.trim_end() == line);
        let lines =
            self.lines.iter().map(String::as_str).filter(|line| !self.only_missing || !is_there(line));
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            return self.take(text);
        }
        let mut new = before.to_owned();
        if after.is_empty() && !before.is_empty() && self.find(text)?.is_none() {
            // An empty line between their text and ours.
            new.push_str(&if before.ends_with('\n') { eol.to_owned() } else { eol.repeat(2) });
        }
        let block = [&[self.begin], lines.as_slice(), &[self.end]].concat();
        new.push_str(&block.join(eol));
        new.push_str(if after.is_empty() { eol } else { after });
        Ok(new)
    }

    pub(super) fn take(&self, text: &str) -> Result<String, ParseError> {
        let Some((start, end)) = self.find(text)? else { return Ok(text.into()) };
        let (mut before, mut after) = (&text[..start], &text[end..]);
        after = after.strip_prefix('\r').filter(|rest| rest.starts_with('\n')).unwrap_or(after);
        after = after.strip_prefix('\n').unwrap_or(after);
        // The empty line between their text and ours.
        for gap in ["\r\n\r\n", "\n\n"] {
            if before.ends_with(gap) {
                before = &before[..before.len() - gap.len() / 2];
                break;
            }
        }
        Ok(format!("{before}{after}"))
    }

    /// Returns where the section begins and where its last line ends, without that line's end.
    fn find(&self, text: &str) -> Result<Option<(usize, usize)>, ParseError> {
        let (mut at, mut start) = (0, None);
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let bare = line.trim_end_matches(['\n', '\r']);
            match start {
                None if bare.trim() == self.begin => start = Some((at, number)),
                Some((start, _)) if bare.trim() == self.end => return Ok(Some((start, at + bare.len()))),
                _ => {}
            }
            at += line.len();
        }
        match start {
            None => Ok(None),
            Some((_, number)) => {
                let message = format!("`{}` is never followed by `{}`", self.begin, self.end);
                Err(ParseError { line: number + 1, column: 1, message })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(lines: &[&str], only_missing: bool) -> Section {
        Section {
            begin: "<b>",
            end: "<e>",
            lines: lines.iter().map(|line| (*line).into()).collect(),
            only_missing,
        }
    }

    #[test]
    fn a_section_goes_to_the_end_and_out_again() {
        let ours = section(&["x", "y"], false);
        for (text, expected) in [
            ("", "<b>\nx\ny\n<e>\n"),
            ("a\n", "a\n\n<b>\nx\ny\n<e>\n"),
            ("a\r\nb\r\n", "a\r\nb\r\n\r\n<b>\r\nx\r\ny\r\n<e>\r\n"),
            ("\n\n", "\n\n\n<b>\nx\ny\n<e>\n"),
        ] {
            let with = ours.put(text).unwrap();
            assert_eq!(with, expected);
            assert_eq!(ours.put(&with).unwrap(), with);
            assert_eq!(ours.take(&with).unwrap(), text);
        }
        assert_eq!(ours.put("a").unwrap(), "a\n\n<b>\nx\ny\n<e>\n");
    }

    #[test]
    fn it_is_renewed_where_it_stands() {
        let text = "a\n<b>\nold\n<e>\nz";
        assert_eq!(section(&["x"], false).put(text).unwrap(), "a\n<b>\nx\n<e>\nz");
        assert_eq!(section(&["x"], false).take(text).unwrap(), "a\nz");
        assert_eq!(section(&["x"], false).take("<b>\n<e>").unwrap(), "");
        let error = section(&["x"], false).put("a\n<b>\nz").unwrap_err();
        assert_eq!(error.line, 2);
    }

    #[test]
    fn only_what_is_missing() {
        let ours = section(&["x", "y"], true);
        assert_eq!(ours.put("x \nq").unwrap(), "x \nq\n\n<b>\ny\n<e>\n");
        assert_eq!(ours.put("y\nx\n").unwrap(), "y\nx\n");
        assert_eq!(ours.put("y\nx\n\n<b>\nx\n<e>\n").unwrap(), "y\nx\n");
    }
}
