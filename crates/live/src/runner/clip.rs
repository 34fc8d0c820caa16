//! Beginnings and ends of texts that are too long.

/// Returns the beginning of the text.
pub fn head(text: &str, limit: usize) -> &str {
    let border = (0..=limit.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    &text[..border.unwrap_or(0)]
}

/// Returns the end of the text, from the beginning of a line if one is near enough.
pub fn tail(text: &str, limit: usize) -> &str {
    let text = text.trim();
    if text.len() <= limit {
        return text;
    }
    let border = (text.len() - limit..text.len()).find(|at| text.is_char_boundary(*at));
    let end = &text[border.unwrap_or(text.len())..];
    end.split_once('\n').map_or(end, |(_, lines)| lines).trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_beginning_at_a_line_or_at_least_a_character() {
        let lines: String = (0..5000).map(|number| format!("line {number}\n")).collect();
        let end = tail(&lines, 10_000);
        assert!(end.len() <= 10_000 && end.starts_with("line ") && end.ends_with("line 4999"));
        let one = "é".repeat(10_000);
        assert_eq!(tail(&one, 101), "é".repeat(50));
        assert_eq!(head(&one, 101), "é".repeat(50));
        assert_eq!((tail("short", 10), head("short", 10)), ("short", "short"));
    }
}
