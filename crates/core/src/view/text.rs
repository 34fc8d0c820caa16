//! State text is data: before a person or an agent sees it, nothing in it can steer a terminal or hide from its reader.
//!
//! What has no look of its own is shown as an escape: control and bidirectional characters, separators of lines and paragraphs, and
//! all that is invisible (zero width, tags, variation selectors, fillers). Joiners and selectors stay where they belong, inside of an
//! emoji or a word of a script that is written with them: there they stand one by one between signs that are seen.

use std::borrow::Cow;

/// Returns `text` with everything that is not to be seen shown as escapes; newlines and tabs stay.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_with(text, |escaped, character| escaped.extend(character.escape_unicode()))
}

/// Returns `text` with everything that is not to be seen written by `write`.
pub fn escape_with(text: &str, write: impl Fn(&mut String, char)) -> Cow<'_, str> {
    // Without a way out of the loop the compiler looks at many bytes at once, and most texts are plain.
    let special = |found, byte: &u8| found | !matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let plain = !text.as_bytes().iter().fold(false, special);
    if plain || !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if is_unseen(character) && !belongs(before, character, characters.peek().copied()) {
            write(&mut escaped, character);
        } else {
            escaped.push(character);
        }
        before = Some(character);
    }
    Cow::Owned(escaped)
}

/// Whether a character steers, or has no look of its own.
fn is_unseen(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}' => true,
        // Fillers of Hangul and vowels of Khmer that leave no trace.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}' => true,
        // Zero width, marks of direction; separators; embeddings; invisible operators.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Variation selectors, also of Mongolian; notes between the lines; controls of shorthand and music.
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Tags and further variation selectors: a whole text may hide in them.
        '\u{e0000}'..='\u{e0fff}' => true,
        character => character.is_control(),
    }
}

/// Whether an unseen character is part of the sign or the word that it stands in.
fn belongs(before: Option<char>, character: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match character {
        // How the sign before it is drawn: as text, or in colours.
        '\u{fe0e}' | '\u{fe0f}' => is_picture(before) || matches!(before, '#' | '*' | '0'..='9'),
        '\u{200d}' if is_picture(before) || before == '\u{fe0f}' => after.is_some_and(is_picture),
        '\u{200c}' | '\u{200d}' => is_joined(before) && after.is_some_and(is_joined),
        _ => false,
    }
}

fn is_picture(character: char) -> bool {
    matches!(character, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
        && !is_unseen(character)
}

/// Whether a character is of a script whose words may need joiners: Arabic and those of India.
fn is_joined(character: char) -> bool {
    matches!(character, '\u{620}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{900}'..='\u{dff}')
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

    #[test]
    fn nothing_hides() {
        let unseen = [
            '\u{ad}',
            '\u{34f}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{2028}',
            '\u{2029}',
            '\u{2060}',
            '\u{2063}',
            '\u{206a}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{e01ef}',
        ];
        for character in unseen {
            let shown = format!("a{}b", character.escape_unicode());
            assert_eq!(escape(&format!("a{character}b")), shown);
            assert_eq!(escape(&shown), shown, "a second pass changes nothing");
        }
        let hidden: String =
            "rm".chars().map(|letter| char::from_u32(0xe0000 + letter as u32).unwrap()).collect();
        assert_eq!(escape(&format!("ok{hidden}")), "ok\\u{e0072}\\u{e006d}");
    }

    #[test]
    fn signs_and_words_stay_whole() {
        for text in ["❤️ and 1️⃣", "👨‍👩‍👧, 🏳️‍🌈", "می‌خواهم", "क्‍ष", "日本語 “quotes” – ✓", "a\u{a0}b"]
        {
            assert_eq!(escape(text), text);
        }
        // One belongs to the sign before it, a second one does not.
        assert_eq!(escape("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}\\u{fe0f}");
        assert_eq!(escape("👨\u{200d}\u{200d}👧"), "👨\\u{200d}\\u{200d}👧");
        assert_eq!(escape("👨\u{200d}x"), "👨\\u{200d}x");
    }
}
