//! Secrets in texts that others wrote (messages of errors, output of commands) are left out before they are stored.
//!
//! A text is read once, run by run: a run is what stands together of letters, digits, `_` and `-`. Each is looked at as
//! the head of a private key, the scheme of an address, the name of a value, a word that announces a token, or a
//! token itself. A name tells how sure one can be: what `password=` says is secret however it looks, what `token:`
//! says only if it looks so, because programs are full of tokens. Doubt is for keeping code and prose readable:
//! `password: String` and `token = lexer.next()` stay.
//!
//! A second pass changes nothing, for a value that holds the mark is left alone.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";

/// How much of a value is looked at to tell what it is.
const HEAD: usize = 256;

/// Returns `text` with every secret in it replaced.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut scan = Scan { text: text.as_bytes(), value_end: 0 };
    let (mut clean, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(run) = scan.run_from(at) {
        let Some(secret) = scan.secret_of(&run) else {
            at = run.end;
            continue;
        };
        clean.push_str(&text[copied..secret.start]);
        clean.push_str(MARK);
        copied = secret.end;
        at = secret.end.max(run.start + 1);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// Replaces every secret in the texts of `value`, and each text whose member's name says that it is one.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if says_secret(name, text) => *text = MARK.into(),
                    _ => redact_value(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn says_secret(name: &str, text: &str) -> bool {
    let looked = Looked { value: text.as_bytes(), quoted: true, spaced: false, last: true };
    !text.contains(MARK) && Name::of(name.as_bytes()).is_some_and(|name| looked.is_secret(name))
}

/// What a name tells of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// A secret whatever it looks like.
    Sure,
    /// A secret if it looks like one.
    Perhaps,
    /// A secret if nobody could have made it up.
    Key,
    /// The value of an `Authorization` header.
    Header,
}

/// The ends of names, without `_` and `-`. The first that fits counts.
const NAMES: [(&str, Name); 17] = [
    ("password", Name::Sure),
    ("passwd", Name::Sure),
    ("passphrase", Name::Sure),
    ("secret", Name::Sure),
    ("apikey", Name::Sure),
    ("accesskey", Name::Sure),
    ("privatekey", Name::Sure),
    ("secretkey", Name::Sure),
    ("accesstoken", Name::Sure),
    ("authtoken", Name::Sure),
    ("refreshtoken", Name::Sure),
    ("token", Name::Perhaps),
    ("pwd", Name::Perhaps),
    ("authorization", Name::Header),
    ("credential", Name::Key),
    ("credentials", Name::Key),
    ("key", Name::Key),
];

impl Name {
    fn of(run: &[u8]) -> Option<Name> {
        NAMES.iter().find(|(end, _)| ends_with(run, end)).map(|(_, name)| *name)
    }
}

/// Whether a run ends so, whatever the case and the joints between its words.
fn ends_with(run: &[u8], end: &str) -> bool {
    let mut letters = run.iter().rev().filter(|byte| !matches!(byte, b'_' | b'-'));
    end.bytes().rev().all(|wanted| letters.next().is_some_and(|byte| byte.to_ascii_lowercase() == wanted))
}

/// What follows the prefix of a token.
#[derive(Debug, Clone, Copy)]
enum Body {
    /// All of the run, with a digit in it.
    Run,
    /// Letters and digits.
    Word,
    /// Just sixteen capitals and digits.
    Sixteen,
}

/// How tokens of well-known services begin, what follows, and how much of it at least.
const TOKENS: [(&str, Body, usize); 25] = [
    ("sk-", Body::Run, 12),
    ("sk_live_", Body::Word, 10),
    ("sk_test_", Body::Word, 10),
    ("rk_live_", Body::Word, 10),
    ("whsec_", Body::Word, 16),
    ("ghp_", Body::Word, 16),
    ("gho_", Body::Word, 16),
    ("ghs_", Body::Word, 16),
    ("ghu_", Body::Word, 16),
    ("ghr_", Body::Word, 16),
    ("github_pat_", Body::Run, 16),
    ("glpat-", Body::Run, 12),
    ("xoxa-", Body::Run, 10),
    ("xoxb-", Body::Run, 10),
    ("xoxp-", Body::Run, 10),
    ("xoxr-", Body::Run, 10),
    ("xoxs-", Body::Run, 10),
    ("xapp-", Body::Run, 10),
    ("AKIA", Body::Sixteen, 16),
    ("ASIA", Body::Sixteen, 16),
    ("AIza", Body::Run, 30),
    ("hf_", Body::Word, 20),
    ("npm_", Body::Word, 20),
    ("pypi-", Body::Run, 20),
    ("dop_v1_", Body::Word, 20),
];

/// A reading of one text.
struct Scan<'a> {
    text: &'a [u8],
    /// The end of the last value without quotes: every value that begins within it ends there too, and is not
    /// measured again.
    value_end: usize,
}

impl Scan<'_> {
    fn run_from(&self, at: usize) -> Option<Range<usize>> {
        let start = at + self.text.get(at..)?.iter().position(|byte| is_run(*byte))?;
        Some(start..self.end_of(start, is_run))
    }

    /// Returns where bytes that fit end.
    fn end_of(&self, start: usize, fits: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text[start..];
        start + rest.iter().position(|byte| !fits(*byte)).unwrap_or(rest.len())
    }

    fn rest(&self, at: usize) -> &[u8] {
        self.text.get(at..).unwrap_or_default()
    }

    fn secret_of(&mut self, run: &Range<usize>) -> Option<Range<usize>> {
        self.private_key(run)
            .or_else(|| self.in_address(run))
            .or_else(|| self.web_token(run))
            .or_else(|| self.token(run))
            .or_else(|| self.named(run))
            .or_else(|| self.announced(run))
    }

    /// `-----BEGIN … PRIVATE KEY-----` and all that follows up to its end, or to the end of a text that was cut.
    fn private_key(&self, run: &Range<usize>) -> Option<Range<usize>> {
        const BEGIN: &[u8] = b"-----BEGIN";
        const END: &[u8] = b"-----END";
        if !self.text[run.clone()].ends_with(BEGIN) {
            return None;
        }
        let start = run.end - BEGIN.len();
        let label = self.end_of(run.end, |byte| byte == b' ' || byte.is_ascii_uppercase());
        if !self.text[run.end..label].ends_with(b"PRIVATE KEY") || !self.rest(label).starts_with(b"-----") {
            return None;
        }
        let Some(end) = find(self.rest(label), END) else { return Some(start..self.text.len()) };
        let name = self.end_of(label + end + END.len(), |byte| byte == b' ' || byte.is_ascii_uppercase());
        Some(start..self.end_of(name, |byte| byte == b'-').min(name + 5))
    }

    /// The password in `scheme://user:password@host`.
    fn in_address(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let start = run.end + 3;
        if !self.rest(run.end).starts_with(b"://") {
            return None;
        }
        let ends = |byte: u8| {
            byte.is_ascii_whitespace()
                || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
        };
        let authority = &self.text[start..self.end_of(start, |byte| !ends(byte))];
        let user = authority.iter().rposition(|byte| *byte == b'@')?;
        let colon = authority[..user].iter().position(|byte| *byte == b':')?;
        let secret = start + colon + 1..start + user;
        (!secret.is_empty() && !has_mark(&self.text[secret.clone()])).then_some(secret)
    }

    /// The value of a name that tells of secrets: `name=value`, `"name": "value"`, `--name value`.
    fn named(&mut self, run: &Range<usize>) -> Option<Range<usize>> {
        let name = Name::of(&self.text[run.clone()])?;
        let (start, spaced) = self.value_start(run)?;
        if name == Name::Header {
            return self.header(start);
        }
        let (value, quoted) = self.value_at(start);
        let last = matches!(self.text.get(value.end), None | Some(b'\n' | b'\r'));
        let looked = Looked { value: &self.text[value.clone()], quoted, spaced, last };
        (!has_mark(looked.head()) && looked.is_secret(name)).then_some(value)
    }

    /// Returns where the value of a name begins, and whether there is a blank before it.
    fn value_start(&self, run: &Range<usize>) -> Option<(usize, bool)> {
        let blank = |byte: u8| matches!(byte, b' ' | b'\t');
        let mut at = run.end;
        if self.rest(at).starts_with(b"\\") {
            at += 1;
        }
        if self.rest(at).starts_with(b"\"") || self.rest(at).starts_with(b"'") {
            at += 1;
        }
        let sign = self.end_of(at, blank);
        let after = match self.rest(sign) {
            // A comparison, a path or an arrow gives no value.
            [b'=' | b':', b'=' | b':' | b'>' | b'~', ..] => return None,
            [b'=' | b':', ..] => sign + 1,
            _ if sign > run.end && self.text[run.clone()].starts_with(b"--") => sign,
            _ => return None,
        };
        let start = self.end_of(after, blank);
        Some((start, start > after || sign > at))
    }

    /// Returns the value that begins here, without its quotes, and whether it has some.
    fn value_at(&mut self, start: usize) -> (Range<usize>, bool) {
        let escaped = self.rest(start).starts_with(b"\\");
        let open = start + usize::from(escaped);
        let mut start = start;
        if let Some(quote @ (b'"' | b'\'')) = self.text.get(open).copied() {
            start = open + 1;
            if let Some(end) = self.closing(start, quote, escaped) {
                return (start..end, true);
            }
        }
        if start >= self.value_end {
            let ends = |byte: u8| {
                byte.is_ascii_whitespace()
                    || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'<' | b'>' | b'\\' | b'|')
            };
            self.value_end = self.end_of(start, |byte| !ends(byte));
        }
        (start..self.value_end, false)
    }

    /// Returns where a quote ends on its line.
    fn closing(&self, start: usize, quote: u8, escaped: bool) -> Option<usize> {
        let mut at = start;
        loop {
            match self.text.get(at)? {
                b'\n' => return None,
                b'\\' if escaped && self.text.get(at + 1) == Some(&quote) => return Some(at),
                b'\\' => at += 2,
                byte if *byte == quote => return Some(at),
                _ => at += 1,
            }
        }
    }

    /// The value of an `Authorization` header, after the word for its scheme if there is one.
    fn header(&self, start: usize) -> Option<Range<usize>> {
        let start = start + usize::from(matches!(self.text.get(start), Some(b'"' | b'\'')));
        let scheme = self.end_of(start, |byte| byte.is_ascii_alphabetic());
        let schemes = ["basic", "bearer", "token", "digest", "negotiate"];
        let known =
            schemes.iter().any(|known| self.text[start..scheme].eq_ignore_ascii_case(known.as_bytes()));
        let value = if known { self.end_of(scheme, |byte| byte == b' ') } else { start };
        let end = self.end_of(value, is_opaque);
        let secret = &self.text[value..end];
        let sure = known && value > scheme && !secret.is_empty();
        (sure || is_random(secret, 8)).then_some(value..end)
    }

    /// The token after the word `Bearer`.
    fn announced(&self, run: &Range<usize>) -> Option<Range<usize>> {
        if !self.text[run.clone()].eq_ignore_ascii_case(b"bearer") || !self.rest(run.end).starts_with(b" ") {
            return None;
        }
        let secret = run.end + 1..self.end_of(run.end + 1, is_opaque);
        is_random(&self.text[secret.clone()], 8).then_some(secret)
    }

    /// Three runs that begin like JSON in base64 (`eyJ…`), or the key of a mail service (`SG.…`), with dots between.
    fn web_token(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let first = &self.text[run.clone()];
        if self.text.get(run.end) != Some(&b'.') || !(first.starts_with(b"eyJ") || first == b"SG") {
            return None;
        }
        let second = run.end + 1..self.end_of(run.end + 1, is_run);
        let third = second.end + 1..self.end_of((second.end + 1).min(self.text.len()), is_run);
        let joined = self.text.get(second.end) == Some(&b'.');
        let enough = first.len().min(second.len()) >= 6 || (first == b"SG" && second.len() >= 16);
        (joined && enough).then_some(run.start..third.end)
    }

    /// A token that is known by how it begins, at the head of the run or after one of its joints.
    fn token(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let bytes = &self.text[run.clone()];
        let last_digit = bytes.iter().rposition(u8::is_ascii_digit);
        let joint = |at: &usize| *at == 0 || matches!(bytes[at - 1], b'_' | b'-');
        (0..bytes.len()).filter(joint).find_map(|at| {
            let (prefix, body, least) =
                TOKENS.iter().find(|(prefix, ..)| bytes[at..].starts_with(prefix.as_bytes()))?;
            let start = at + prefix.len();
            let word =
                || start + bytes[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            let (end, fits) = match body {
                Body::Run => (bytes.len(), last_digit.is_some_and(|digit| digit >= start)),
                Body::Word => (word(), is_mixed(&bytes[start..word()])),
                Body::Sixteen => {
                    let plain = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
                    (word(), word() - start == 16 && bytes[start..word()].iter().all(plain))
                }
            };
            (fits && end - start >= *least).then_some(run.start + at..run.start + end)
        })
    }
}

/// A value, and how it stands in its text.
struct Looked<'a> {
    value: &'a [u8],
    quoted: bool,
    /// Whether there are blanks between it and its name.
    spaced: bool,
    /// Whether the line ends with it.
    last: bool,
}

impl Looked<'_> {
    /// Returns as much as is looked at; what is left out after a first pass can be told from it too.
    fn head(&self) -> &[u8] {
        &self.value[..self.value.len().min(HEAD + MARK.len())]
    }

    fn is_secret(&self, name: Name) -> bool {
        let value = &self.value[..self.value.len().min(HEAD)];
        if value.is_empty() || is_blank(value) {
            return false;
        }
        match name {
            Name::Header | Name::Perhaps => is_random(value, 8) && (self.quoted || !is_code(value)),
            Name::Key => is_key(value),
            Name::Sure if self.quoted => true,
            Name::Sure if is_code(value) => false,
            Name::Sure if self.spaced => {
                let plain = value.iter().all(u8::is_ascii_alphabetic);
                if plain { self.last && value.len() >= 6 } else { value.len() >= 4 }
            }
            Name::Sure => true,
        }
    }
}

/// Whether a value stands for none, or for one that is not there.
fn is_blank(value: &[u8]) -> bool {
    const WORDS: [&str; 24] = [
        "null",
        "nil",
        "none",
        "true",
        "false",
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
    ];
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || value.iter().all(|byte| matches!(byte, b'*' | b'.' | b'-' | b'_' | b' '))
}

/// Whether a value without quotes is an expression: a call, a path, a variable, a name like the one it goes with.
fn is_code(value: &[u8]) -> bool {
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    let name = value.iter().take_while(|byte| named(byte)).count();
    let begins = matches!(value[0], b'{' | b'[' | b'(' | b'&' | b'%' | b'*' | b'!' | b'/' | b'=');
    let capital = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let variable =
        value[0] == b'$' && (matches!(value.get(1), Some(b'{' | b'(')) || value[1..].iter().all(capital));
    let call =
        name > 0 && value[0].is_ascii_alphabetic() && matches!(value.get(name), Some(b'(' | b'[' | b'{'));
    let digits = value.iter().any(u8::is_ascii_digit);
    let path =
        name == value.len() && !digits && value[..name - 1].iter().any(|byte| matches!(byte, b'.' | b':'));
    let closes = value.iter().any(|byte| matches!(byte, b')' | b']' | b'}')) && !digits;
    begins || variable || call || path || closes || Name::of(value).is_some_and(|name| name != Name::Key)
}

/// Whether a value looks as if a machine had made it: long, of the letters of tokens, with letters and digits.
fn is_random(value: &[u8], least: usize) -> bool {
    value.len() >= least
        && value.iter().all(|byte| is_opaque(*byte))
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a value is long and in base64 or hexadecimal digits.
fn is_key(value: &[u8]) -> bool {
    let hexadecimal = value.len() >= 32 && value.iter().all(u8::is_ascii_hexdigit);
    let base64 = value.len() >= 20
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase)
        && !value.contains(&b'.');
    is_random(value, 20) && (hexadecimal || base64)
}

/// Whether a word is more than a word: with digits, or with capitals within.
fn is_mixed(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit)
        || (word.iter().any(u8::is_ascii_uppercase) && word.iter().any(u8::is_ascii_lowercase))
}

fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_opaque(byte: u8) -> bool {
    is_run(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn has_mark(value: &[u8]) -> bool {
    find(value, MARK.as_bytes()).is_some()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
        assert_eq!(redact(expected), expected, "a second pass changes nothing");
    }

    #[track_caller]
    fn stays(text: &str) {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} -> {}", redact(text));
    }

    #[test]
    fn tokens_of_services_are_known_by_how_they_begin() {
        let tokens = [
            "sk-proj-abcDEF1234567890abcDEF",
            "sk-ant-api03-aaaaBBBB1111-cccc_DDDD",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "gho_abcdefghijklmnopqrstuvwxyz0123456789",
            "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
            "ghu_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
            "glpat-abcDEF123456-78901234",
            "xoxb-123456789012-abcdefghijkl",
            "xoxp-1-2-3456789012",
            "AKIAIOSFODNN7EXAMPLE",
            "ASIAIOSFODNN7EXAMPLE",
            "AIzaSyA1234567890abcdefghijklmnopqrstuv",
            "hf_abcdefGHIJKLmnopqrstuv",
            "npm_abcdefghijklmnopqrstuvwxyz0123456789",
            "pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4",
            "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ];
        for token in tokens {
            check(token, MARK);
            for (before, after) in
                [("a ", " b"), ("\"", "\""), ("(", ")"), ("ü", "ü"), ("x=", ","), ("/", "/x")]
            {
                check(&format!("{before}{token}{after}"), &format!("{before}{MARK}{after}"));
            }
        }
        check("my_ghp_abcdefghijklmnopqrstuvwxyz0123456789", "my_[redacted]");
    }

    #[test]
    fn private_keys_go_to_their_end() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc+/=\n-----END RSA PRIVATE KEY-----";
        check(&format!("a\n{key}\nb"), "a\n[redacted]\nb");
        check("-----BEGIN PRIVATE KEY-----\nMIIE", MARK);
        check(&format!("{key}{key}"), "[redacted][redacted]");
        stays("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----");
    }

    #[test]
    fn headers_and_addresses_lose_what_lets_one_in() {
        check("Authorization: Bearer abc", "Authorization: Bearer [redacted]");
        check("authorization: basic dXNlcjpwYXNz\r\nHost: x", "authorization: basic [redacted]\r\nHost: x");
        check("-H 'Authorization: Bearer aaa.bbb-ccc' x", "-H 'Authorization: Bearer [redacted]' x");
        check("\"Authorization\": \"token 12345678\"", "\"Authorization\": \"token [redacted]\"");
        check("sent Bearer 0123456789abcdef", "sent Bearer [redacted]");
        check("postgres://ann:hunter2@db/x", "postgres://ann:[redacted]@db/x");
        check("redis://:p@ss@host:6379", "redis://:[redacted]@host:6379");
        check("git clone https://x:ghp_abcdefghijklmnop1@h/r", "git clone https://x:[redacted]@h/r");
        stays("https://example.com:8080/a@b?c=d:e@f");
        stays("the bearer authentication of Basic auth; Authorization: required");
    }

    #[test]
    fn named_values_go_however_they_are_written() {
        check("password=hunter2", "password=[redacted]");
        check("PASSWORD=x y", "PASSWORD=[redacted] y");
        check("password: hunter2\nnext", "password: [redacted]\nnext");
        check("password: correcthorse\n", "password: [redacted]\n");
        check("db_passwd = \"two words\", x", "db_passwd = \"[redacted]\", x");
        check(r#"{"clientSecret": "s3", "b": 1}"#, r#"{"clientSecret": "[redacted]", "b": 1}"#);
        check(r#"{\"api_key\":\"abc\"}"#, r#"{\"api_key\":\"[redacted]\"}"#);
        check(r#"secret="pa\"ss" x"#, r#"secret="[redacted]" x"#);
        check("secret=\"cut of", "secret=\"[redacted] of");
        check("X-Api-Key: abc123", "X-Api-Key: [redacted]");
        check("AWS_SECRET_ACCESS_KEY=wJalr/K7+x", "AWS_SECRET_ACCESS_KEY=[redacted]");
        check("?access_token=ab&x=1", "?access_token=[redacted]&x=1");
        check("curl --password hunter2 -v", "curl --password [redacted] -v");
        check("token=0a1b2c3d4e", "token=[redacted]");
        check("\"token\": \"0a1b2c3d4e\"", "\"token\": \"[redacted]\"");
        check("passwörd=1 password=ünï1 ü", "passwörd=1 password=[redacted] ü");
        check("signing_key = 0123456789abcdef0123456789abcdef", "signing_key = [redacted]");
        check("key: \"aB3+aB3/aB3=aB3+aB3/aB3=\"", "key: \"[redacted]\"");
    }

    #[test]
    fn prose_and_code_stay() {
        for text in [
            "",
            "the password is wrong; enter a password: please try again",
            "invalid token: expired",
            "Unexpected token: end of file",
            "SyntaxError: Unexpected token '}' in JSON at position 10",
            "fn login(password: &str, token: String, secret: Option<String>)",
            "let token = lexer.next_token();",
            "if token == \"+\" { secret != other }",
            "password=password, api_key=os.environ[\"API_KEY\"], token=self.token",
            "password = self.password",
            "secret: None, password: null, api_key: undefined",
            "max_tokens=100 tokens: 12345678 tokenizer=gpt2-large",
            "PASSWORD=$DB_PASSWORD TOKEN=${TOKEN} SECRET=$(pass show x)",
            "password: ********",
            "key: value, primary_key = users_id_1, cache-key: linux-cargo-2026",
            "sk-learn, npm_config_registry, hf_hub_download, task-20260101000000-abcd",
            "AKIA AKIAX SG.x eyJ.x.y",
            "commit 3ab96ba0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0",
            "Token::Password => secret::new()",
            "src/model/redact.rs:10: error[E0308]: mismatched types",
            "ünïcödé – “quotes” 日本語",
        ] {
            stays(text);
        }
    }

    #[test]
    fn values_are_searched_through_and_names_count() {
        let mut value = json!({
            "password": "x", "note": "token=0a1b2c3d4e", "list": ["Bearer 0123456789abcdef", 7, null],
            "token": {"password": "y", "text": "fine"}, "api_key": 12, "secret": "", "tokens": "5",
        });
        redact_value(&mut value);
        let expected = json!({
            "password": MARK, "note": "token=[redacted]", "list": ["Bearer [redacted]", 7, null],
            "token": {"password": MARK, "text": "fine"}, "api_key": 12, "secret": "", "tokens": "5",
        });
        assert_eq!(value, expected);
        let before = value.clone();
        redact_value(&mut value);
        assert_eq!(value, before);
    }

    #[test]
    fn long_texts_take_time_in_proportion() {
        for piece in
            ["token=", "sk-", "password='", "eyJ.", "SG.", "a://", "a://b:", "Authorization: ", "-----BEGIN "]
        {
            let text = piece.repeat(100_000 / piece.len());
            redact(&text);
        }
    }

    const CANARY: &str = "sk-ant-api03-CANARYcanary0123456789";

    /// Pieces that rules are made of, so that they meet in every way.
    fn texts() -> impl Strategy<Value = String> {
        let pieces = select(
            &[
                "password",
                "token",
                "secret",
                "key",
                "api_",
                "Bearer",
                "Authorization",
                "=",
                ":",
                " ",
                "\"",
                "'",
                "\\",
                "\n",
                "://",
                "@",
                "sk-",
                "ghp_",
                "AKIA",
                "eyJ",
                ".",
                "abcdef0123456789",
                "IOSFODNN7EXAMPLE",
                "-----BEGIN",
                " PRIVATE KEY",
                "-----",
                "-----END",
                "[redacted]",
                "--",
                "ü",
                "\u{2028}",
                "(",
                ")",
                "[",
                "$",
                "/",
                "x",
                "&",
                ",",
                "{",
                "}",
                "_",
                "-",
            ][..],
        );
        let any = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => ".{0,4}"];
        proptest::collection::vec(any, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_second_pass_changes_nothing(text in texts()) {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), once.as_str());
        }

        #[test]
        fn a_token_is_found_wherever_it_stands(before in texts(), after in texts()) {
            let text = format!("{before} {CANARY} {after}");
            prop_assert!(!redact(&text).contains("CANARYcanary"));
            let mut value = json!({"a": [text], "b": {"c": CANARY}});
            redact_value(&mut value);
            prop_assert!(!value.to_string().contains("CANARYcanary"));
        }

        #[test]
        fn a_password_goes_whatever_it_is(password in "[!-~]{1,40}", before in ".{0,20}") {
            let text = Value::from(password.as_str()).to_string();
            let clean = redact(&format!("{before}\n{{\"password\":{text}}}")).into_owned();
            let kept = clean.ends_with(&format!("\"password\":{text}}}"));
            prop_assert!(!kept || is_blank(password.as_bytes()) || password.contains(MARK), "{}", clean);
        }
    }
}
