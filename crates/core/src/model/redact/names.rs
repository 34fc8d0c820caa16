//! What the name of a value tells of it.

use super::rules::{Ends, NAMES, Name, STAGES};

/// Returns what a name tells of its value.
pub fn name_of(run: &[u8]) -> Option<Name> {
    let fits = |(end, _, ends): &&(&str, Name, Ends)| {
        ends_with(run, end) && (*ends == Ends::Anything || is_word(run, end))
    };
    NAMES.iter().find(fits).map(|(_, name, _)| *name)
}

/// Returns a name without what only tells which of several it is: `DB_PASSWORD_PROD`, `apiKey2`.
pub fn stem(name: &[u8]) -> &[u8] {
    let trimmed = |name: &[u8], more: fn(&u8) -> bool| {
        name.len() - name.iter().rev().take_while(|byte| more(byte) || matches!(byte, b'_' | b'-')).count()
    };
    let name = &name[..trimmed(name, u8::is_ascii_digit)];
    let Some(joint) = name.iter().rposition(|byte| matches!(byte, b'_' | b'-')) else { return name };
    let is_stage = STAGES.iter().any(|stage| name[joint + 1..].eq_ignore_ascii_case(stage.as_bytes()));
    if is_stage { &name[..trimmed(&name[..joint], |_| false)] } else { name }
}

/// Whether a run ends so, whatever the case and the joints between its words.
pub fn ends_with(run: &[u8], end: &str) -> bool {
    let mut letters = run.iter().rev().filter(|byte| !matches!(byte, b'_' | b'-'));
    end.bytes().rev().all(|wanted| letters.next().is_some_and(|byte| byte.to_ascii_lowercase() == wanted))
}

/// Whether the end of a run is a word of its own.
fn is_word(run: &[u8], end: &str) -> bool {
    let Some((before, word)) = run.split_at_checked(run.len().saturating_sub(end.len())) else {
        return false;
    };
    match before.last() {
        None | Some(b'_' | b'-') => word.len() == end.len(),
        Some(last) => last.is_ascii_lowercase() && word[0].is_ascii_uppercase(),
    }
}
