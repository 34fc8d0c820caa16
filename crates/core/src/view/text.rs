//! State text is data: before a person sees it, nothing in it can steer a terminal.

use std::borrow::Cow;

/// Returns `text` with control and bidirectional characters shown as escapes; newlines and tabs stay.
pub fn escape(text: &str) -> Cow<'_, str> {
    // Without a way out of the loop the compiler looks at many bytes at once, and most texts are plain.
    let special = |found, byte: &u8| found | !matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let plain = !text.as_bytes().iter().fold(false, special);
    if plain || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unsafe(character) {
            escaped.extend(character.escape_unicode());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn is_unsafe(character: char) -> bool {
    let layout = matches!(character, '\n' | '\t');
    let bidirectional = matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (character.is_control() && !layout) || bidirectional
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_cannot_be_steered() {
        assert_eq!(escape("plain\nünï\t✓"), "plain\nünï\t✓");
        assert_eq!(escape("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(escape("x\r\u{9b}\u{202e}y"), "x\\u{d}\\u{9b}\\u{202e}y");
    }
}
