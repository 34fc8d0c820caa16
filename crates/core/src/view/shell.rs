//! Command lines that are printed to be typed: whatever stands in them is a word of a shell, and nothing more.

/// Returns a text as one word for a shell.
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,@%+=".contains(&byte);
    // Some shells read a word that begins with `=` or `%` as a program or a job.
    let begins_plain = text.bytes().next().is_some_and(|first| !b"=%".contains(&first));
    if begins_plain && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for (text, expected) in [
            ("/usr/bin/anthill", "/usr/bin/anthill"),
            ("task-20260101000000-abcd", "task-20260101000000-abcd"),
            ("/a b/x", "'/a b/x'"),
            ("/it's", r"'/it'\''s'"),
            ("", "''"),
            ("=ls", "'=ls'"),
        ] {
            assert_eq!(word(text), expected);
        }
        for text in
            ["x; touch PWN #", "a\nb", "$(id)", "`id`", "it's \"so\"", "-rf", "~", "*", "!x", "a\\", "é"]
        {
            let line = format!("printf %s {}", word(text));
            let said = Command::new("sh").args(["-c", &line]).output().unwrap().stdout;
            assert_eq!(String::from_utf8_lossy(&said), text);
        }
    }
}
