//! What a value looks like: a secret, a word for none, an expression of a program.

use super::names::{ends_with, name_of};
use super::rules::{KNOWN_KEYS, MARK, Name};

/// How much of a value is looked at to tell what it is.
const HEAD: usize = 256;

/// A value, and how it stands in its text.
pub struct Looked<'a> {
    pub value: &'a [u8],
    pub quoted: bool,
    /// Whether there are blanks between it and its name.
    pub spaced: bool,
    /// Whether nothing but its place says that it belongs to its name.
    pub loose: bool,
    /// Whether the line ends with it.
    pub last: bool,
    pub told: NameForm,
}

/// What the name itself looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameForm {
    /// In capitals, as those of an environment.
    Loud,
    /// Of more than one word.
    Joined,
    Bare,
    /// Of a key that everybody may know.
    Known,
}

impl NameForm {
    pub fn of(name: &[u8]) -> NameForm {
        if KNOWN_KEYS.iter().any(|known| ends_with(name, known)) {
            return NameForm::Known;
        }
        let name = name.strip_prefix(b"--").unwrap_or(name);
        let joined = name.iter().any(|byte| matches!(byte, b'_' | b'-')) || is_camel(name);
        match joined {
            true if !name.iter().any(u8::is_ascii_lowercase) => NameForm::Loud,
            true => NameForm::Joined,
            false => NameForm::Bare,
        }
    }
}

fn is_camel(name: &[u8]) -> bool {
    name.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

impl Looked<'_> {
    /// Returns as much as is looked at; what is left out after a first pass can be told from it too.
    pub fn head(&self) -> &[u8] {
        &self.value[..self.value.len().min(HEAD + MARK.len())]
    }

    pub fn is_secret(&self, name: Name) -> bool {
        let value = &self.value[..self.value.len().min(HEAD)];
        if value.is_empty() || is_blank(value) {
            return false;
        }
        if self.loose && !is_random(value, 8) && !(value.len() >= 6 && is_made_up(value)) {
            return false;
        }
        let code = || !self.quoted && is_code(value);
        match name {
            Name::Cookie => value.len() > 4 && value.contains(&b'='),
            // A word for the scheme, and what lets one in.
            Name::Header if self.quoted && value.contains(&b' ') => true,
            Name::Header | Name::Perhaps => {
                let loud = self.told == NameForm::Loud && !self.spaced && value.len() >= 16;
                // In an address it goes on behind a sign that had to be written otherwise.
                let begin = value.split(|byte| *byte == b'%').next().unwrap_or_default();
                !code() && (is_random(begin, 8) || (loud && value.iter().all(|byte| is_opaque(*byte))))
            }
            Name::Pass if self.told == NameForm::Bare => !code() && value.len() >= 6 && is_made_up(value),
            Name::Pass => {
                let counts = value.len() < 6 && value.iter().all(u8::is_ascii_digit);
                !code() && !counts && self.is_sure(value)
            }
            Name::Key if self.told == NameForm::Known => false,
            Name::Key => is_key(value, self.told),
            Name::Coded => is_coded(value),
            Name::Sure => !code() && self.is_sure(value),
        }
    }

    fn is_sure(&self, value: &[u8]) -> bool {
        if self.quoted || !self.spaced {
            return true;
        }
        let plain = value.iter().all(u8::is_ascii_alphabetic);
        let counts = !value.iter().any(u8::is_ascii_alphabetic) && value.len() < 6;
        if plain { self.last && value.len() >= 6 } else { value.len() >= 4 && !counts }
    }
}

/// Whether a value stands for none, or for one that is not there.
pub fn is_blank(value: &[u8]) -> bool {
    const WORDS: [&str; 30] = [
        "null",
        "nil",
        "none",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "undefined",
        "string",
        "str",
        "bool",
        "boolean",
        "bytes",
        "any",
        "required",
        "optional",
        "missing",
        "invalid",
        "incorrect",
        "expired",
        "empty",
        "unset",
        "changed",
        "denied",
        "secretstr",
        "redacted",
        "<redacted>",
        "(redacted)",
    ];
    // Of a type or a way of writing, with its width.
    const TYPES: [&str; 10] =
        ["int", "uint", "float", "bytes", "char", "varchar", "string", "base", "sha", "utf"];
    let word = &value[..value.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1)];
    let is_type =
        word.len() < value.len() && TYPES.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    is_type
        || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || value.iter().all(|byte| matches!(byte, b'*' | b'.' | b'-' | b'_' | b' '))
        || (value.len() > 3 && value.iter().all(|byte| matches!(byte, b'x' | b'X')))
        || value.first() == Some(&b'<') && value.last() == Some(&b'>')
}

/// Whether a value without quotes is an expression: a call, a path, a variable, a name like the one it goes with.
pub fn is_code(value: &[u8]) -> bool {
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    let name = value.iter().take_while(|byte| named(byte)).count();
    let begins = matches!(value[0], b'{' | b'[' | b'(' | b'&' | b'%' | b'*' | b'!' | b'/' | b'=' | b'<');
    let capital = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let variable =
        value[0] == b'$' && (matches!(value.get(1), Some(b'{' | b'(')) || value[1..].iter().all(capital));
    let call =
        name > 0 && value[0].is_ascii_alphabetic() && matches!(value.get(name), Some(b'(' | b'[' | b'{'));
    let digits = value.iter().any(u8::is_ascii_digit);
    let path =
        name == value.len() && !digits && value[..name - 1].iter().any(|byte| matches!(byte, b'.' | b':'));
    let closes = value.iter().any(|byte| matches!(byte, b')' | b']' | b'}')) && !digits;
    begins || variable || call || path || closes || name_of(value).is_some_and(|name| name != Name::Key)
}

/// Whether a value looks as if a machine had made it: long, of the letters of tokens, with letters and digits.
pub fn is_random(value: &[u8], least: usize) -> bool {
    value.len() >= least
        && value.iter().all(|byte| is_opaque(*byte))
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

/// Whether somebody made it up so that nobody finds it out: with digits or signs among letters.
fn is_made_up(value: &[u8]) -> bool {
    let sign = |byte: &u8| {
        byte.is_ascii_digit() || matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'?' | b'+')
    };
    value.iter().any(sign)
        && value.iter().any(u8::is_ascii_alphabetic)
        && value.iter().all(|byte| !matches!(byte, b'/' | b'.'))
}

/// Whether a value is long and in base64 or, where its name is no bare word, in hexadecimal digits.
fn is_key(value: &[u8], told: NameForm) -> bool {
    let value = value.strip_prefix(b"base64:").unwrap_or(value);
    let value = value.split(|byte| *byte == b'%').next().unwrap_or_default();
    let hexadecimal = told != NameForm::Bare && value.len() >= 32 && value.iter().all(u8::is_ascii_hexdigit);
    let both = value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    let base64 = value.len() >= 20 && both && !value.contains(&b'.') && !is_slug(value);
    is_random(value, 20) && (hexadecimal || base64)
}

/// Whether a value is words with `-` between, as the names that people and tools give.
fn is_slug(value: &[u8]) -> bool {
    let word = |part: &[u8]| (2..=12).contains(&part.len()) && part.iter().all(u8::is_ascii_alphabetic);
    value.contains(&b'-') && value.split(|byte| *byte == b'-').next().is_some_and(word)
}

/// Whether a value is in base64: both cases, with digits or padding.
fn is_coded(value: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let both = value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    let more = value.iter().any(|byte| byte.is_ascii_digit() || *byte == b'=');
    value.len() >= 12 && value.iter().all(letter) && both && more
}

pub fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub fn is_opaque(byte: u8) -> bool {
    is_run(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}
