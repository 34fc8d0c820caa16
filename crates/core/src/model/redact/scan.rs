//! Reading a text once, run by run, for what the rules know.

use std::ops::Range;

use super::looks::{Looked, NameForm, is_blank, is_code, is_opaque, is_random, is_run};
use super::names::{name_of, stem};
use super::rules::{
    BLOCKS, Class, FIRST, Form, HOOKS, JOINTS, MARK, Name, OPTIONS, Proof, SETTERS, TOKENS, Token,
};

/// How far is looked for what belongs to something: the program of an option, the host behind a password.
const NEAR: usize = 512;

/// How much of a token is looked at to tell it from words.
const PROOF: usize = 64;

/// A reading of one text.
pub struct Scan<'a> {
    text: &'a [u8],
    /// The end of the last value without quotes: every value that begins within it ends there too, and is not
    /// measured again.
    value_end: usize,
}

/// Where a value begins, and how it stands behind its name.
struct Start {
    at: usize,
    /// Whether there is a blank between them.
    spaced: bool,
    /// Whether there is no sign that gives it to the name.
    loose: bool,
}

impl Class {
    fn has(self, byte: u8) -> bool {
        match self {
            Class::Run => is_run(byte),
            Class::Word => byte.is_ascii_alphanumeric(),
            Class::Caps => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Dotted => is_run(byte) || byte == b'.',
            Class::Base => is_run(byte) || matches!(byte, b'.' | b'+' | b'/' | b'=' | b'%'),
        }
    }
}

impl<'a> Scan<'a> {
    pub fn of(text: &'a [u8]) -> Scan<'a> {
        Scan { text, value_end: 0 }
    }

    pub fn run_from(&self, at: usize) -> Option<Range<usize>> {
        let start = at + self.text.get(at..)?.iter().position(|byte| is_run(*byte))?;
        Some(start..self.end_of(start, is_run))
    }

    /// Returns where bytes that fit end.
    fn end_of(&self, start: usize, fits: impl Fn(u8) -> bool) -> usize {
        let rest = self.rest(start);
        start + rest.iter().position(|byte| !fits(*byte)).unwrap_or(rest.len())
    }

    fn rest(&self, at: usize) -> &'a [u8] {
        self.text.get(at..).unwrap_or_default()
    }

    /// Returns the secret that a run is, names or announces.
    pub fn secret_of(&mut self, run: &Range<usize>) -> Option<Range<usize>> {
        let next = self.text.get(run.end).copied();
        let first = self.text[run.start];
        let found = match next {
            Some(b':') => self.in_address(run).or_else(|| self.key_lines(run)),
            Some(b'.') => self.web_token(run).or_else(|| self.hook(run)),
            _ => None,
        };
        found
            .or_else(|| self.block(run))
            .or_else(|| if first == b'-' { self.option(run) } else { None })
            .or_else(|| self.token(run))
            .or_else(|| self.joined(run))
            .or_else(|| self.named(run))
            .or_else(|| self.announced(run))
    }

    /// `-----BEGIN … PRIVATE KEY-----` and all that follows up to its end, or to the end of a text that was cut.
    fn block(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let text = &self.text[run.clone()];
        let head = text.strip_suffix(b"BEGIN").unwrap_or(text);
        let dashes = head.iter().rev().take(5).take_while(|byte| **byte == b'-').count();
        let begin = if head.len() < text.len() {
            run.start + head.len()
        } else {
            self.end_of(run.end, |byte| byte == b' ')
        };
        if dashes < 4 || !self.rest(begin).starts_with(b"BEGIN") {
            return None;
        }
        let start = run.start + head.len() - dashes;
        let in_label = |byte: u8| byte == b' ' || byte.is_ascii_alphanumeric();
        let label = self.end_of(begin, in_label);
        let words = self.text[begin..label].to_ascii_uppercase();
        let secret = BLOCKS.iter().any(|block| find(&words, block.as_bytes()).is_some());
        if !secret || !self.rest(label).starts_with(b"----") {
            return None;
        }
        let Some(end) = end_of_block(self.rest(label)) else { return Some(start..self.text.len()) };
        let name = self.end_of(label + end, in_label);
        Some(start..self.end_of(name, |byte| byte == b'-').min(name + 5))
    }

    /// The lines of a key as PuTTY writes it.
    fn key_lines(&self, run: &Range<usize>) -> Option<Range<usize>> {
        if &self.text[run.clone()] != b"Private-Lines" {
            return None;
        }
        let start = run.end + self.rest(run.end).iter().take(16).position(|byte| *byte == b'\n')? + 1;
        let end = find(self.rest(start), b"\nPrivate-").map_or(self.text.len(), |end| start + end);
        (start < end && !has_mark(&self.text[start..end])).then_some(start..end)
    }

    /// The password in `scheme://user:password@host`, or a key in the user's place.
    fn in_address(&self, run: &Range<usize>) -> Option<Range<usize>> {
        if !self.rest(run.end).starts_with(b"://") {
            return None;
        }
        let start = run.end + 3;
        let ends = |byte: u8| {
            byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
        };
        let rest = self.rest(start);
        let rest = &rest[..rest.len().min(NEAR)];
        let address = &rest[..rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len())];
        let authority =
            address.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(address.len());
        let user =
            address[..authority].iter().position(|byte| matches!(byte, b':' | b'@')).unwrap_or(authority);
        let secret = match address.get(user) {
            Some(b'@') => Some(0..user).filter(|user| is_random(&address[user.clone()], 20)),
            Some(b':') => Some(user + 1..password_end(address, user + 1, authority)?),
            _ => None,
        }?;
        let secret = start + secret.start..start + secret.end;
        (!secret.is_empty() && !has_mark(&self.text[secret.clone()])).then_some(secret)
    }

    /// The end of an address that lets in whoever knows it.
    fn hook(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let rest = self.rest(run.start);
        let hook = HOOKS.iter().find(|hook| rest.starts_with(hook.as_bytes()))?;
        let start = run.start + hook.len();
        let fits = |byte: u8| is_opaque(byte) || matches!(byte, b'@' | b':' | b'?' | b'&' | b'%');
        let head = self.rest(start).iter().take(PROOF).take_while(|byte| fits(**byte)).count();
        let secret = head >= 8 && self.text[start..start + head].iter().any(u8::is_ascii_digit);
        secret.then(|| start..self.end_of(start, fits))
    }

    /// The value of a name that tells of secrets: `name=value`, `"name": "value"`, `--name value`, `<name>value<`.
    fn named(&mut self, run: &Range<usize>) -> Option<Range<usize>> {
        let Some(Start { at: start, spaced, loose }) = self.value_start(run) else {
            return self.netrc(run);
        };
        let run_text = stem(self.named_before(run).unwrap_or(&self.text[run.clone()]));
        let name = name_of(run_text)?;
        match name {
            Name::Header => return self.header(start),
            Name::Cookie if self.text[..start].trim_ascii_end().ends_with(b":") => return self.cookie(start),
            Name::Cookie => return None,
            _ => {}
        }
        let (value, quoted) = self.value_at(start);
        if self.text.get(run.end) == Some(&b'>') && self.text.get(value.end) != Some(&b'<') {
            return None;
        }
        let last = matches!(self.text.get(value.end), None | Some(b'\n' | b'\r'));
        let looked = Looked {
            value: &self.text[value.clone()],
            quoted,
            spaced,
            loose,
            last,
            told: NameForm::of(run_text),
        };
        (!has_mark(looked.head()) && looked.is_secret(name)).then_some(value)
    }

    /// Returns the name that a pair gives to the run `value`: `name: DB_PASSWORD` and `value: x` below it, `key="x" value="y"`.
    fn named_before(&self, run: &Range<usize>) -> Option<&'a [u8]> {
        if !self.text[run.clone()].eq_ignore_ascii_case(b"value") {
            return None;
        }
        let before = &self.text[run.start.saturating_sub(NEAR / 4)..run.start];
        let mut words = before.rsplit(|byte| !is_run(*byte)).filter(|word| !word.is_empty());
        let (name, pair) = (words.next()?, words.next()?);
        (pair.eq_ignore_ascii_case(b"name") || pair.eq_ignore_ascii_case(b"key")).then_some(name)
    }

    /// Returns where the value of a name begins.
    fn value_start(&self, run: &Range<usize>) -> Option<Start> {
        let blank = |byte: u8| matches!(byte, b' ' | b'\t');
        let mut at = run.end;
        at += usize::from(self.rest(at).starts_with(b"\\"));
        let quoted = matches!(self.text.get(at), Some(b'"' | b'\''));
        at += usize::from(quoted);
        at += usize::from(quoted && self.text.get(at) == Some(&b']'));
        let sign = self.end_of(at, blank);
        let loud = !self.text[run.clone()].iter().any(u8::is_ascii_lowercase);
        let before = &self.text[..run.start];
        let is_symbol = before.ends_with(b":") && !before.ends_with(b"::");
        let mut loose = false;
        let after = match self.rest(sign) {
            [b'=', b'>', ..] if quoted || is_symbol => sign + 2,
            [b':', b'=', rest @ ..] | [b'?', b'=', rest @ ..] if loud || is_quoted(rest) => sign + 2,
            // A comparison, a path or an arrow gives no value.
            [b'=' | b':', b'=' | b':' | b'>' | b'~', ..] => return None,
            [b'=' | b':', ..] => sign + 1,
            [b'>', ..] if sign == run.end && self.text[..run.start].ends_with(b"<") => sign + 1,
            _ if sign > run.end && self.text[run.start] == b'-' => sign,
            rest => {
                loose = true;
                match rest {
                    [b'(', rest @ ..] if sign == run.end && is_quoted(rest) => sign + 1,
                    [b'\'', ..]
                        if sign > run.end && self.text[run.clone()].eq_ignore_ascii_case(b"password") =>
                    {
                        sign
                    }
                    _ if sign > run.end && self.is_set(run.start) => sign,
                    _ => return None,
                }
            }
        };
        let start = self.end_of(after, blank);
        Some(Start { at: start, spaced: start > after || sign > at, loose })
    }

    /// Whether the word before this one sets it: `ENV API_KEY`, `npm config set //host/:_authToken`.
    fn is_set(&self, at: usize) -> bool {
        let mut before = &self.text[at.saturating_sub(NEAR / 4)..at];
        if before.ends_with(b":") {
            before = &before[..before.iter().rposition(|byte| *byte == b' ').map_or(0, |blank| blank + 1)];
        }
        let Some((b' ', before)) = before.split_last() else { return false };
        SETTERS.iter().any(|setter| {
            let rest = before.strip_suffix(setter.as_bytes());
            rest.is_some_and(|rest| !rest.last().is_some_and(|byte| is_run(*byte)))
        })
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
        let scheme = self.end_of(start, is_run);
        let is = |schemes: &[&str]| {
            schemes.iter().any(|known| self.text[start..scheme].eq_ignore_ascii_case(known.as_bytes()))
        };
        let whole = is(&["digest", "hawk", "mac", "aws4-hmac-sha256", "sharedkey", "oauth"]);
        let known = whole
            || is(&["basic", "bearer", "token", "negotiate", "ntlm", "apikey", "key", "ssws", "splunk"]);
        let value = if known { self.end_of(scheme, |byte| byte == b' ') } else { start };
        let end = match whole {
            true => self.end_of(value, |byte| !matches!(byte, b'\n' | b'\r' | b'\'')),
            false => self.end_of(value, is_opaque),
        };
        let secret = &self.text[value..end];
        let sure = known && value > scheme && !secret.is_empty() && !has_mark(secret);
        (sure || is_random(secret, 8)).then_some(value..end)
    }

    /// What a `Cookie` header holds: values with names, to the end of the line or of the quotes.
    fn cookie(&self, start: usize) -> Option<Range<usize>> {
        let start = start + usize::from(matches!(self.text.get(start), Some(b'"' | b'\'')));
        let name = self.end_of(start, |byte| is_run(byte) || byte == b'.');
        if name == start || self.text.get(name) != Some(&b'=') {
            return None;
        }
        let end = self.end_of(start, |byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`'));
        (end - name > 4 && !has_mark(&self.text[start..end])).then_some(start..end)
    }

    /// The word behind `password` where a `machine` and its `login` stand before it.
    fn netrc(&self, run: &Range<usize>) -> Option<Range<usize>> {
        if &self.text[run.clone()] != b"password" || self.text.get(run.end) != Some(&b' ') {
            return None;
        }
        let before = &self.text[run.start.saturating_sub(NEAR / 2)..run.start];
        let words: Vec<_> = words(before).collect();
        let is_entry = words.contains(&&b"machine"[..]) && words.iter().rev().nth(1) == Some(&&b"login"[..]);
        let start = self.end_of(run.end, |byte| byte == b' ');
        let secret = start..self.end_of(start, |byte| !byte.is_ascii_whitespace());
        (is_entry && !secret.is_empty() && !has_mark(&self.text[secret.clone()])).then_some(secret)
    }

    /// What an option of a command says that takes a secret.
    fn option(&mut self, run: &Range<usize>) -> Option<Range<usize>> {
        let typed = &self.text[run.clone()];
        let is_glued = self.text.get(run.end).is_some_and(|next| !next.is_ascii_whitespace());
        let (.., option, form) = OPTIONS.iter().find(|(programs, between, option, form)| {
            let fits = match form {
                Form::Attached => {
                    typed.starts_with(option.as_bytes()) && (typed.len() > option.len() || is_glued)
                }
                Form::Both => typed.starts_with(option.as_bytes()),
                _ => typed == option.as_bytes(),
            };
            fits && self.is_of(run.start, programs, between)
        })?;
        let attached = typed.len() > option.len() || (is_glued && self.text[run.end] != b'=');
        let start = match attached {
            true if matches!(form, Form::Next | Form::Pair | Form::Source) => return None,
            true => run.start + option.len(),
            false => self.end_of(run.end, |byte| matches!(byte, b' ' | b'=')),
        };
        let (value, quoted) = self.word_at(start);
        let text = &self.text[value.clone()];
        let secret = match form {
            Form::Pair => {
                value.start + text.iter().position(|byte| matches!(byte, b':' | b'%' | b'='))? + 1..value.end
            }
            Form::Source => value.start + text.strip_prefix(b"pass:").map(|_| 5)?..value.end,
            _ => value,
        };
        let text = &self.text[secret.clone()];
        let is_one = !text.is_empty() && !is_blank(text) && !has_mark(text) && (quoted || !is_code(text));
        is_one.then_some(secret)
    }

    /// Returns the word of a shell that begins here.
    fn word_at(&self, start: usize) -> (Range<usize>, bool) {
        if let Some(quote @ (b'"' | b'\'')) = self.text.get(start).copied()
            && let Some(end) = self.closing(start + 1, quote, false)
        {
            return (start + 1..end, true);
        }
        let ends = |byte: u8| {
            byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'|' | b'<' | b'>' | b'\\')
        };
        (start..self.end_of(start, |byte| !ends(byte)), false)
    }

    /// Whether what stands here is of a line that begins with one of these programs, and has the word between, if any.
    fn is_of(&self, at: usize, programs: &[&str], between: &str) -> bool {
        let before = &self.text[at.saturating_sub(NEAR)..at];
        let ends = |(place, byte): (usize, &u8)| match byte {
            b'\n' => place == 0 || before[place - 1] != b'\\',
            b';' | b'|' => true,
            _ => false,
        };
        let line = before.iter().enumerate().rposition(ends).map_or(0, |end| end + 1);
        let mut words = words(&before[line..]);
        let found = words.any(|word| programs.iter().any(|program| word == program.as_bytes()));
        found && (between.is_empty() || words.any(|word| word == between.as_bytes()))
    }

    /// The token after the word `Bearer`, and the password after `IDENTIFIED BY`.
    fn announced(&self, run: &Range<usize>) -> Option<Range<usize>> {
        if self.text[run.clone()].eq_ignore_ascii_case(b"by") && self.rest(run.end).starts_with(b" '") {
            let before = self.text[run.start.saturating_sub(NEAR / 8)..run.start].to_ascii_lowercase();
            let secret = run.end + 2..self.closing(run.end + 2, b'\'', false)?;
            let is_one = find(&before, b"identified ").is_some() && !secret.is_empty();
            return (is_one && !has_mark(&self.text[secret.clone()])).then_some(secret);
        }
        if !self.text[run.clone()].eq_ignore_ascii_case(b"bearer") || !self.rest(run.end).starts_with(b" ") {
            return None;
        }
        let secret = run.end + 1..self.end_of(run.end + 1, is_opaque);
        is_random(&self.text[secret.clone()], 8).then_some(secret)
    }

    /// Runs with dots between: three or more that begin like JSON in base64 (`eyJ…`), the key of a mail service (`SG.…`), or the
    /// token of a bot.
    fn web_token(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let first = &self.text[run.clone()];
        let bot = (23..=28).contains(&first.len()) && matches!(first[0], b'M' | b'N' | b'O');
        if !(first.starts_with(b"eyJ") || first == b"SG" || bot) {
            return None;
        }
        let part = |at: usize| at + 1..self.end_of((at + 1).min(self.text.len()), is_run);
        let second = part(run.end);
        if self.text.get(second.end) != Some(&b'.') {
            return None;
        }
        let third = part(second.end);
        let enough = match first {
            b"SG" => second.len() >= 16,
            _ if bot => second.len() == 6 && third.len() >= 27,
            _ => first.len().min(second.len()) >= 6,
        };
        let mut end = third.end;
        // One that is encrypted has five parts.
        for _ in 0..2 {
            let more = if self.text.get(end) == Some(&b'.') { part(end) } else { break };
            if more.len() < 16 {
                break;
            }
            end = more.end;
        }
        enough.then_some(run.start..end)
    }

    /// A token that is known by how it begins, at the head of the run or after one of its joints.
    fn token(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let bytes = &self.text[run.clone()];
        let joint = |at: &usize| *at == 0 || matches!(bytes[at - 1], b'_' | b'-');
        (0..bytes.len()).filter(joint).find_map(|at| {
            let [first, end] = FIRST[usize::from(bytes[at])];
            let rest = self.rest(run.start + at);
            let known = &TOKENS[usize::from(first)..usize::from(end)];
            let length = known.iter().find_map(|token| length_of(token, rest))?;
            Some(run.start + at..run.start + at + length)
        })
    }

    /// A token that is known by what joins its halves.
    fn joined(&self, run: &Range<usize>) -> Option<Range<usize>> {
        if !matches!(self.text.get(run.end), Some(b'.' | b'~' | b':' | b'|')) {
            return None;
        }
        let (before, rest) = (&self.text[run.clone()], self.rest(run.end));
        let joint = JOINTS.iter().find(|joint| {
            rest.starts_with(joint.mark.as_bytes())
                && joint.lengths.contains(&before.len())
                && before.ends_with(joint.end.as_bytes())
                && before.iter().all(|byte| joint.before.has(*byte))
                && before.iter().any(u8::is_ascii_digit)
        })?;
        let start = run.end + joint.mark.len();
        let end = self.end_of(start, |byte| Class::Dotted.has(byte) || byte == b'~');
        (end - start >= joint.behind).then_some(run.start..end)
    }
}

/// Returns how long a token is that a text begins with.
fn length_of(token: &Token, text: &[u8]) -> Option<usize> {
    let body = text.strip_prefix(token.prefix.as_bytes())?;
    let fits = |byte: &u8| token.class.has(*byte);
    let head = body.iter().take(PROOF.max(token.least)).take_while(|byte| fits(byte)).count();
    let proven = match token.proof {
        Proof::Any => true,
        Proof::Mixed => is_mixed(&body[..head.min(PROOF)]),
        Proof::Digit => body[..head.min(PROOF)].iter().any(u8::is_ascii_digit),
        Proof::Woven => body[..head.min(PROOF)].split(|byte| matches!(byte, b'_' | b'-')).any(is_woven),
        Proof::Exact => head == token.least && !body.get(head).is_some_and(u8::is_ascii_alphanumeric),
    };
    (proven && head >= token.least)
        .then(|| token.prefix.len() + body.iter().position(|byte| !fits(byte)).unwrap_or(body.len()))
}

/// Returns where the password of an address ends that begins at `start`: at the last `@` before its host. It may hold `@` and `/`.
fn password_end(address: &[u8], start: usize, authority: usize) -> Option<usize> {
    let within = address[..authority].iter().rposition(|byte| *byte == b'@').filter(|end| *end >= start);
    let port = address[start..authority].iter().all(u8::is_ascii_digit);
    if within.is_none() && port {
        return None;
    }
    let path = address.iter().position(|byte| *byte == b'?').unwrap_or(address.len());
    let beyond = (authority..path)
        .rev()
        .find(|at| address[*at] == b'@' && address[at - 1] != b'/' && is_host(&address[at + 1..]));
    let is_named = |at: &usize| address[*at..authority].iter().any(|byte| matches!(byte, b'.' | b':'));
    within.filter(is_named).or(beyond).or(within)
}

/// Whether a host may begin here.
fn is_host(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| !(is_run(*byte) || *byte == b'.')).unwrap_or(text.len());
    text[..end].iter().any(u8::is_ascii_alphabetic)
        && matches!(text.get(end), None | Some(b'/' | b':' | b'?' | b',' | b')'))
}

fn is_quoted(text: &[u8]) -> bool {
    text.iter().find(|byte| **byte != b' ').is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'))
}

/// Returns where the words behind the dashes of a block's end begin.
fn end_of_block(text: &[u8]) -> Option<usize> {
    let end = find(text, b"---END").map(|at| at + 6);
    end.or_else(|| find(text, b"--- END").map(|at| at + 7))
}

/// Returns the runs of a text.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !(is_run(*byte) || *byte == b'.')).filter(|word| !word.is_empty())
}

/// Whether a word is more than a word: with digits, or with capitals within.
fn is_mixed(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit)
        || (word.iter().any(u8::is_ascii_uppercase) && word.iter().any(u8::is_ascii_lowercase))
}

/// Whether letters and digits stand together in a part of some length.
fn is_woven(part: &[u8]) -> bool {
    part.len() >= 6 && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
}

fn has_mark(value: &[u8]) -> bool {
    find(value, MARK.as_bytes()).is_some()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
