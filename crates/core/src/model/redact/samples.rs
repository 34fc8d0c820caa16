//! What the rules find and what they leave alone, measured on samples: each rule's own, forms of secrets as they turn up, and
//! ordinary texts.

use std::borrow::Cow;

use super::redact;
use super::rules::{HOOK_SAMPLES, JOINT_SAMPLES, NAME_SAMPLES, OPTION_SAMPLES, TOKEN_SAMPLES, TOKENS};

const SECRETS: &str = include_str!("samples/secrets.txt");
const ORDINARY: &str = include_str!("samples/ordinary.txt");

/// Makes up what stands in braces. The same pattern becomes the same text in every run.
struct Filler(u64);

impl Filler {
    /// Returns the text of a pattern, and what was made up.
    fn fill(&mut self, pattern: &str) -> (String, Vec<String>) {
        let (mut text, mut made) = (String::new(), Vec::new());
        let mut rest = pattern;
        while let Some((before, behind)) = rest.split_once('{') {
            text += before;
            let told = behind.split_once('}').and_then(|(told, after)| Some((self.made(told)?, after)));
            rest = match told {
                Some((piece, after)) => {
                    text += &piece;
                    made.push(piece);
                    after
                }
                None => {
                    text.push('{');
                    behind
                }
            };
        }
        ((text + rest).replace("\\n", "\n"), made)
    }

    fn made(&mut self, told: &str) -> Option<String> {
        let (kind, length) = told.split_at_checked(1)?;
        let length: usize = length.parse().ok()?;
        let letters = match kind {
            "a" => "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789",
            "x" => "0123456789abcdef",
            "A" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "m" => "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ",
            "b" => "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789+/",
            "d" => "0123456789",
            "p" => "abcdefghijkmnopqrstuvwxyz0123456789!#*+^",
            _ => return None,
        };
        // One of each sort comes first: so little would otherwise have none by chance.
        let first = match kind {
            "a" | "b" => "aB3",
            "x" => "4e",
            "A" => "Q7",
            "m" => "hG",
            "p" => "s3!c",
            _ => "1",
        };
        let mut text: String = first.chars().take(length).collect();
        while text.len() < length {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(letters.as_bytes()[(self.0 >> 33) as usize % letters.len()].into());
        }
        Some(text)
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("# ") && !line.is_empty())
}

/// Returns what is left of a secret.
fn left(pattern: &str) -> Option<String> {
    let (text, made) = Filler(7).fill(pattern);
    let clean = redact(&text);
    assert_eq!(redact(&clean), clean, "a second pass changes nothing");
    // What is shorter may stand there by chance, and is no secret by itself.
    made.iter().any(|piece| piece.len() > 4 && clean.contains(piece.as_str())).then(|| clean.into_owned())
}

/// Returns what became of a text that should have stayed.
fn lost(pattern: &str) -> Option<String> {
    let (text, _) = Filler(7).fill(pattern);
    match redact(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(clean) => Some(clean),
    }
}

#[test]
fn every_rule_finds_its_sample_and_leaves_the_other() {
    let mut wrong = Vec::new();
    for (yes, no) in
        [TOKEN_SAMPLES, NAME_SAMPLES, HOOK_SAMPLES, OPTION_SAMPLES, JOINT_SAMPLES].into_iter().flatten()
    {
        wrong.extend(left(yes).map(|left| format!("{yes} left {left}")));
        wrong.extend(lost(no).map(|lost| format!("{no} became {lost}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tokens_stand_in_the_order_of_their_first_letters() {
    assert!(TOKENS.is_sorted_by_key(|token| token.prefix.as_bytes()[0]));
    assert!(TOKENS.len() < usize::from(u8::MAX));
}

#[test]
#[expect(clippy::print_stdout, reason = "the figure is what one wants to see")]
fn nineteen_of_twenty_forms_are_found() {
    let all = lines(SECRETS).count();
    let passed: Vec<String> = lines(SECRETS).filter_map(left).collect();
    println!("{} of {all} forms found; the others:\n{}", all - passed.len(), passed.join("\n"));
    assert!(all >= 200, "{all} forms");
    assert!(passed.len() * 20 <= all, "{} of {all} pass", passed.len());
}

#[test]
#[expect(clippy::print_stdout, reason = "the figure is what one wants to see")]
fn no_ordinary_text_is_changed() {
    let all = lines(ORDINARY).count();
    let lost: Vec<String> = lines(ORDINARY).filter_map(lost).collect();
    println!("{} of {all} ordinary texts changed", lost.len());
    assert!(all >= 200 && lost.is_empty(), "{} of {all} changed:\n{}", lost.len(), lost.join("\n"));
}
