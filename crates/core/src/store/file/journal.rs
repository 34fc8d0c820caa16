//! The journal: one JSON line per commit, each with a checksum.
//!
//! It is the write-ahead log, the audit log, the history and the watch stream in one. A *segment* is one
//! journal file. It begins with a `snapshot` line of every document of the room, so that it can be
//! replayed without the segments before it, and it is the window of recovery: documents changed before
//! the segment began are synced.
//!
//! Behind the last line stand empty lines that are overwritten by the next ones: a line that does not change the
//! length of the file is durable in two thirds of the time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::addresses::KindFiles;
use crate::model::diff::{self, Change};
use crate::model::json;
use crate::model::kind::Kind;
use crate::model::names::Names;
use crate::model::room::Room;
use crate::model::time;
use crate::store::engine::Revision;

/// The operation of lines that repeat state at the start of a segment; they are no commits.
pub const SNAPSHOT: &str = "snapshot";
/// The operation of lines that record a change made outside anthill.
pub const EDIT: &str = "edit";
/// The operation of lines that record that somebody put an earlier state in the place of a document.
pub const RESTORE: &str = "restore";
/// Who made it, where the owner of the file is not known.
pub const HAND: &str = "hand";

/// One commit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    pub seq: u64,
    pub at: String,
    pub by: String,
    pub op: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// Of an edit by hand: the revision that it was made from, if that is not the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_from: Option<u64>,
    /// Who acted, where `by` is the role in which they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub docs: Vec<DocEntry>,
    #[serde(rename = "papers", skip_serializing_if = "Vec::is_empty")]
    pub text_files: Vec<TextEntry>,
    /// The other rooms that this commit is made in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// The line of another room without which this one does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<Lead>,
    /// What the commit was given to be known by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Names one line of another room.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lead {
    pub room: String,
    pub seq: u64,
    pub check: Sum,
}

/// What a commit did to one text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextEntry {
    pub file: String,
    /// Length of the file before this piece was appended; absent when the text is all of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Checksum of the bytes that this text replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Sum>,
    pub text: String,
    /// Whether the file is removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// What a commit did to one document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DocEntry {
    pub file: String,
    pub kind: String,
    pub revision: u64,
    /// Checksum of the file's bytes after this commit; absent when the commit deleted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Sum>,
    /// Checksum of the bytes that this commit replaces, be they ours or not; absent when there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Sum>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The items that the changes lead into.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The whole content, where this segment does not know the previous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// The file beside the journal that holds the content instead, because it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
}

impl Line {
    /// Makes a line without a number.
    pub fn new(at: Timestamp, by: &str, op: &str, docs: Vec<DocEntry>) -> Line {
        let (at, by, op) = (time::stamp(at), by.to_owned(), op.to_owned());
        let (text_files, with) = (Vec::new(), Vec::new());
        let (undoes, made_from, author, lead, token) = (None, None, None, None, None);
        Line { seq: 0, at, by, op, undoes, made_from, author, docs, text_files, with, lead, token }
    }

    /// Reads a line. By hand, because serde would respell some numbers and then no checksum would fit.
    pub fn parse(bytes: &[u8]) -> Option<Line> {
        let body = checked(bytes)?;
        let mut line = json::parse_within(body.as_bytes(), json::MAX_DEPTH + WRAPPING).ok()?;
        let text = |line: &Value, field: &str| line[field].as_str().map(str::to_owned);
        let docs =
            line.get_mut("docs")?.as_array_mut()?.iter_mut().map(DocEntry::read).collect::<Option<_>>()?;
        let text_files = line.get("papers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let text_files = text_files.iter().map(TextEntry::read).collect::<Option<_>>()?;
        Some(Line {
            seq: line["seq"].as_u64()?,
            at: text(&line, "at")?,
            by: text(&line, "by")?,
            op: text(&line, "op")?,
            undoes: line.get("undoes").and_then(Value::as_u64),
            made_from: line.get("made_from").and_then(Value::as_u64),
            author: text(&line, "author"),
            docs,
            text_files,
            with: texts(&line, "with"),
            lead: line.get("lead").and_then(Lead::read),
            token: text(&line, "token"),
        })
    }

    /// Returns the other rooms that this commit is made in. A journal may come from a stranger: it names rooms,
    /// not paths.
    pub fn others(&self) -> impl Iterator<Item = Room> {
        self.with.iter().filter_map(|room| room.parse().ok())
    }

    /// Returns the entry for one file as the neutral revision record; `before` is the content just before this line, if
    /// that is known.
    pub fn revision(&self, entry: &DocEntry, before: Option<&Value>) -> Revision {
        let whole = |before, after| vec![Change { path: String::new(), before, after, at: None }];
        let changes = match (&entry.content, before) {
            (Some(content), Some(before)) if entry.stored.is_some() => diff::diff(before, content),
            (Some(content), _) if entry.changes.is_empty() => whole(None, Some(content.clone())),
            (None, before) if entry.deletes() => match before {
                Some(before) => whole(Some(before.clone()), None),
                None => Vec::new(),
            },
            _ => entry.changes.clone(),
        };
        Revision {
            kind: entry.kind.clone(),
            key: Kind::find(&entry.kind).and_then(|kind| kind.key_of(&entry.file)),
            revision: entry.revision,
            at: self.at.clone(),
            by: self.by.clone(),
            op: self.op.clone(),
            undoes: self.undoes,
            made_from: self.made_from,
            author: self.author.clone(),
            changes,
            names: entry.names.clone(),
            stored: entry.stored.clone().filter(|_| entry.content.is_none()),
        }
    }
}

fn texts(line: &Value, field: &str) -> Vec<String> {
    let texts = line.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    texts.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Lead {
    fn read(lead: &Value) -> Option<Lead> {
        let (room, seq) = (lead["room"].as_str()?.to_owned(), lead["seq"].as_u64()?);
        Some(Lead { room, seq, check: Sum::read(lead, "check")? })
    }

    /// Whether a segment has the line.
    pub fn is_in(&self, segment: &[u8]) -> bool {
        let end = format!("{CHECK}{:016x}\"}}", self.check.0);
        let mut lines = segment.split(|byte| *byte == b'\n').filter(|line| line.ends_with(end.as_bytes()));
        lines.any(|line| Line::parse(line).is_some_and(|line| line.seq == self.seq))
    }
}

impl TextEntry {
    fn read(entry: &Value) -> Option<TextEntry> {
        Some(TextEntry {
            // Some texts are beside their room; nothing but these is written.
            file: entry["file"].as_str()?.to_owned(),
            at: entry.get("at").and_then(Value::as_u64),
            base: Sum::read(entry, "base"),
            text: entry["text"].as_str()?.to_owned(),
            gone: entry.get("gone").and_then(Value::as_bool).unwrap_or_default(),
        })
    }
}

impl DocEntry {
    /// Whether it deletes a document whose content only the lines before it know.
    pub fn deletes(&self) -> bool {
        self.sum.is_none() && self.changes.is_empty()
    }

    fn read(entry: &mut Value) -> Option<DocEntry> {
        let changes = match entry.get_mut("changes").map(Value::take) {
            Some(Value::Array(changes)) => {
                changes.into_iter().map(Change::from_value).collect::<Result<_, _>>().ok()?
            }
            _ => Vec::new(),
        };
        Some(DocEntry {
            file: file_of(entry)?,
            kind: entry["kind"].as_str()?.to_owned(),
            revision: entry["revision"].as_u64()?,
            sum: Sum::read(entry, "sum"),
            base: Sum::read(entry, "base"),
            changes,
            names: names_in(entry),
            content: entry.get_mut("content").map(Value::take),
            stored: entry.get("stored").and_then(Value::as_str).map(str::to_owned),
        })
    }
}

fn names_in(entry: &Value) -> Names {
    let names = entry.get("names").and_then(Value::as_object).into_iter().flatten();
    names.filter_map(|(place, id)| Some((place.clone(), id.as_str()?.to_owned()))).collect()
}

/// Returns the document that an entry is about. A line that leads out of its room is none of ours: it counts as damage.
fn file_of(entry: &Value) -> Option<String> {
    let file = entry["file"].as_str()?;
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    file.split('/').all(is_plain).then(|| file.to_owned())
}

/// How much deeper than a document a line around it is.
const WRAPPING: usize = 8;

/// Checksum of a file's bytes: it tells our content from a hand edit, not friend from foe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    pub fn of(bytes: &[u8]) -> Sum {
        Sum(xxh3_64(bytes))
    }

    /// The sum of something that is summed up by parts.
    pub fn from_parts(one: u64, other: u64) -> Sum {
        Sum(one.wrapping_add(other))
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    fn read(entry: &Value, field: &str) -> Option<Sum> {
        entry.get(field).and_then(Value::as_str).and_then(Sum::parse)
    }

    fn parse(text: &str) -> Option<Sum> {
        u64::from_str_radix(text, 16).ok().map(Sum)
    }
}

impl Serialize for Sum {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Sum::parse(&text).ok_or_else(|| serde::de::Error::custom("not a checksum"))
    }
}

const CHECK: &str = ",\"check\":\"";

/// Returns the checksum that a line will carry.
pub fn checksum(line: &Line) -> Sum {
    Sum::of(body(line).as_bytes())
}

fn body(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("journal types always serialise")
}

/// Renders a value as one line that carries its own checksum.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut text = body(value);
    let sum = Sum::of(text.as_bytes());
    text.pop();
    text.push_str(CHECK);
    text.push_str(&format!("{:016x}\"}}\n", sum.0));
    text.into_bytes()
}

/// Returns what [`encode`] was given, as JSON text; `None` if a byte is wrong.
fn checked(line: &[u8]) -> Option<String> {
    let (body, end) = line.split_at_checked(line.len().checked_sub(CHECK.len() + 18)?)?;
    let digits = end.strip_prefix(CHECK.as_bytes())?.strip_suffix(b"\"}")?;
    let sum = Sum::parse(std::str::from_utf8(digits).ok()?)?;
    let mut body = std::str::from_utf8(body).ok()?.to_owned();
    body.push('}');
    (Sum::of(body.as_bytes()) == sum).then_some(body)
}

/// Reads back what [`encode`] wrote, where no foreign numbers are inside.
pub fn decode<T: for<'de> Deserialize<'de>>(line: &[u8]) -> Option<T> {
    serde_json::from_str(&checked(line)?).ok()
}

/// The readable part of a segment.
#[derive(Debug, Default)]
pub struct Segment {
    pub lines: Vec<Line>,
    /// Bytes up to the end of the last good line.
    pub good: u64,
    /// Where that line begins.
    last: u64,
    /// How much there is behind them, besides empty lines.
    pub rest: usize,
    /// Whole lines after the first bad one: not a torn tail, but damage.
    pub lost_lines: usize,
    /// Whether the first bad line is whole and not one that we would write: somebody made it.
    pub is_forged: bool,
}

impl Segment {
    pub fn parse(bytes: &[u8]) -> Segment {
        Segment::parse_with(bytes, |_| {})
    }

    /// The same with the rooms and the names of the texts that the lines speak of, and nothing else: the changes of a long
    /// segment, all at once, take many times its length.
    pub fn outline(bytes: &[u8]) -> Segment {
        Segment::parse_with(bytes, |line| {
            line.docs = Vec::new();
            line.text_files.iter_mut().for_each(|text_file| text_file.text = String::new());
        })
    }

    /// The same; from every line is taken away at once what nobody asks for.
    fn parse_with(bytes: &[u8], trim: impl Fn(&mut Line)) -> Segment {
        let mut segment = Segment::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(mut parsed) = line.strip_suffix(b"\n").and_then(Line::parse) else { break };
            trim(&mut parsed);
            segment.lines.push(parsed);
            segment.last = segment.good;
            segment.good += line.len() as u64;
        }
        let rest = bytes.get(segment.good as usize..).unwrap_or_default();
        if is_only_empty_lines(rest) {
            return segment;
        }
        segment.rest = rest.trim_ascii().len();
        let first = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        segment.is_forged = checked(first).is_some();
        let lines = rest.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        segment.lost_lines = lines.filter(|line| line.len() > 1).count().saturating_sub(1);
        segment
    }

    /// Takes the last line for cut off.
    pub fn drop_last(&mut self) {
        self.lines.pop();
        self.rest += (self.good - self.last) as usize;
        self.good = self.last;
    }
}

/// Returns a line and the empty ones that go behind it, if the file has to grow from `size` to take it at `end`.
pub fn with_empty_lines(mut line: Vec<u8>, end: u64, size: u64) -> Vec<u8> {
    let after = end + line.len() as u64;
    if after > size {
        line.resize((grown(after) - end) as usize, b'\n');
    }
    line
}

/// Returns whether there is nothing in it but what [`with_empty_lines`] put there. It is compared with itself, moved by one,
/// because that is done many bytes at a time.
fn is_only_empty_lines(bytes: &[u8]) -> bool {
    match bytes {
        [b'\n', others @ ..] => others == &bytes[..others.len()],
        _ => bytes.is_empty(),
    }
}

/// Returns how long a segment becomes that has to take so much. One of a session that did little stays within one block of
/// the disk; it doubles until it is long enough to grow by steps.
fn grown(after: u64) -> u64 {
    match after.next_power_of_two().max(BLOCK) {
        small if small <= EMPTY.end => small,
        _ => (after + (after / 4).clamp(EMPTY.start, EMPTY.end)).next_multiple_of(EMPTY.start),
    }
}

/// What a disk gives a file at least.
const BLOCK: u64 = 4 << 10;

/// How much a longer segment grows at once, at least and at most.
const EMPTY: std::ops::Range<u64> = 16 << 10..64 << 10;

/// Returns when the last line of a segment was written.
pub fn last_time(bytes: &[u8]) -> Option<String> {
    bytes.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().and_then(Line::parse).map(|line| line.at)
}

/// What a segment says about one document.
#[derive(Debug, Clone)]
pub struct Known {
    pub revision: u64,
    /// `None` when it was deleted.
    pub sum: Option<Sum>,
    /// What its last commit replaced.
    pub base: Option<Sum>,
    pub content: Value,
    /// The states it had earlier in this segment, and those that its commits replaced.
    pub past: Vec<Option<Sum>>,
    /// The line that changed it last; 0 if only a snapshot speaks of it.
    pub seq: u64,
}

/// Folds lines into the newest state of each document.
#[derive(Debug, Default)]
pub struct Replay {
    pub docs: BTreeMap<String, Known>,
    pub seq: u64,
}

impl Replay {
    pub fn of(segment: &Segment) -> Replay {
        let mut replay = Replay::default();
        for line in &segment.lines {
            replay.apply(line);
        }
        replay
    }

    /// Returns the content of a document that exists.
    pub fn content(&self, file: &str) -> Option<&Value> {
        self.docs.get(file).filter(|known| known.sum.is_some()).map(|known| &known.content)
    }

    /// Applies one line. A change that does not fit its document drops it from view: better unknown than wrong.
    pub fn apply(&mut self, line: &Line) {
        self.seq = line.seq;
        let seq = if line.op == SNAPSHOT { 0 } else { line.seq };
        for entry in &line.docs {
            self.apply_entry(entry, seq);
        }
    }

    fn apply_entry(&mut self, entry: &DocEntry, seq: u64) {
        let before = self.docs.remove(&entry.file);
        let (mut past, sum, content) = match before {
            Some(known) => (known.past, known.sum, Some(known.content)),
            None => (Vec::new(), None, None),
        };
        past.extend([sum, entry.base]);
        let content = match (&entry.content, content) {
            (Some(content), _) => content.clone(),
            (None, _) if entry.sum.is_none() => Value::Null,
            (None, Some(mut content)) => {
                if diff::apply(&mut content, &entry.changes).is_err() {
                    return;
                }
                content
            }
            (None, None) => return,
        };
        let (revision, sum, base) = (entry.revision, entry.sum, entry.base);
        let known = Known { revision, sum, base, content, past, seq };
        self.docs.insert(entry.file.clone(), known);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(seq: u64) -> Line {
        let entry = DocEntry {
            file: "config.json".into(),
            kind: "config".into(),
            revision: seq,
            sum: Some(Sum::of(b"x")),
            base: Some(Sum::of(b"w")),
            changes: Vec::new(),
            names: Names::new(),
            content: Some(json!({"a": seq})),
            stored: None,
        };
        Line {
            seq,
            at: "t".into(),
            by: "b".into(),
            op: "set".into(),
            undoes: None,
            made_from: None,
            author: None,
            docs: vec![entry],
            text_files: Vec::new(),
            with: Vec::new(),
            lead: None,
            token: None,
        }
    }

    #[test]
    fn the_names_in_a_line_stay_what_older_versions_know() {
        let mut full = line(1);
        full.text_files = vec![TextEntry {
            file: "logs/w1.log".into(),
            at: Some(3),
            base: None,
            text: "x".into(),
            gone: false,
        }];
        let text = String::from_utf8(encode(&full)).unwrap();
        assert!(text.contains(r#""papers":[{"file":"logs/w1.log","at":3,"text":"x"}]"#), "{text}");
        assert_eq!(Line::parse(text.trim_end().as_bytes()), Some(full));
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let good = encode(&line(1));
        assert_eq!(Line::parse(&good[..good.len() - 1]), Some(line(1)));
        for index in 0..good.len() - 1 {
            let mut bad = good.clone();
            bad[index] ^= 1;
            assert_eq!(Line::parse(&bad[..bad.len() - 1]), None, "byte {index}");
        }
    }

    #[test]
    fn a_line_that_leads_out_of_its_room_is_damage() {
        for file in ["../../evil.json", "/etc/evil", "a/../../b", "", "a//b", "./a"] {
            let mut forged = line(2);
            forged.docs[0].file = file.into();
            let segment = Segment::parse(&[encode(&line(1)), encode(&forged)].concat());
            assert_eq!((segment.lines.len(), segment.is_forged), (1, true), "{file}");
        }
        assert!(!Segment::parse(&encode(&line(1))).is_forged);
    }

    #[test]
    fn a_torn_tail_is_cut_and_damage_is_counted() {
        let mut bytes = [encode(&line(1)), encode(&line(2))].concat();
        let whole = bytes.len() as u64;
        bytes.extend_from_slice(&encode(&line(3))[..40]);
        let segment = Segment::parse(&bytes);
        assert_eq!((segment.lines.len(), segment.good, segment.lost_lines), (2, whole, 0));
        bytes[3] ^= 1;
        let segment = Segment::parse(&bytes);
        assert_eq!((segment.lines.len(), segment.good, segment.lost_lines), (0, 0, 1));
    }

    #[test]
    fn empty_lines_behind_the_others_are_no_damage() {
        for (behind, rest, lost_lines) in
            [("", 0, 0), ("\n\n\n", 0, 0), ("\n\nx\n", 1, 0), ("\n{\n}\n\n", 3, 1)]
        {
            let segment = Segment::parse(&[encode(&line(1)).as_slice(), behind.as_bytes()].concat());
            let found = (segment.lines.len(), segment.rest, segment.lost_lines, segment.is_forged);
            assert_eq!(found, (1, rest, lost_lines, false), "{behind:?}");
        }
    }
}
