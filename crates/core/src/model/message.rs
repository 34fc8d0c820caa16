//! Messages from one session to another: what they say, and how they stand.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::documents::state;
use super::documents::state::{Message as MessageDoc, MessageNote, MessageSender, MessageStatus};
use super::ids::{Key, SessionId};
use super::key::{Fields, FieldsMut};
use super::redact::redact_value;
use super::shape::Shaped;
use super::time;

/// The longest payload, as compact JSON.
pub const LIMIT: usize = 1 << 20;
/// The longest type.
const TYPE_LIMIT: usize = 128;

pub const PRIORITIES: [&str; 4] = ["critical", "high", "normal", "low"];
pub const NORMAL: &str = PRIORITIES[2];

/// Returns the place of a priority in the order of reading; one that is not told, or unknown, is normal.
pub fn urgency(priority: Option<&str>) -> i64 {
    let place = |word: &str| PRIORITIES.iter().position(|known| *known == word);
    priority.and_then(place).or_else(|| place(NORMAL)).map_or(0, |place| place as i64)
}

/// A message that is to be sent.
#[derive(Debug, Clone)]
pub struct Letter {
    pub from: SessionId,
    pub to: SessionId,
    pub kind: String,
    pub payload: Value,
    pub priority: &'static str,
    /// Seconds after which it expires unread.
    pub ttl: Option<f64>,
    /// Given by a sender that may repeat itself.
    pub id: Option<Key>,
    pub in_reply_to: Option<Key>,
    pub sender: Sender,
}

/// Who really sends, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    pub session: Option<String>,
    pub role: Option<String>,
    pub is_person: bool,
}

impl Letter {
    /// Returns it without secrets, unless a person sends it, who knows what they write.
    pub fn redacted(&self) -> Letter {
        let mut letter = self.clone();
        if !letter.sender.is_person {
            redact_value(&mut letter.payload);
        }
        letter
    }

    /// Says what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let is_word = |text: &str| !text.trim().is_empty() && !text.chars().any(char::is_control);
        if !is_word(&self.kind) || self.kind.len() > TYPE_LIMIT {
            return Err(format!(
                "the type must be a word of at most {TYPE_LIMIT} bytes, such as `task_handoff`"
            ));
        }
        if self.sender.role.as_deref().is_some_and(|role| !is_word(role) || role.len() > TYPE_LIMIT) {
            return Err(format!("the role must be a word of at most {TYPE_LIMIT} bytes"));
        }
        let size = self.payload.to_string().len();
        if size > LIMIT {
            return Err(format!(
                "the payload has {size} bytes, more than the {LIMIT} that fit into a message: put it into a file and send its path"
            ));
        }
        Ok(())
    }

    /// Makes the message, as it lies in the inbox.
    pub fn message(&self, id: &str, seq: u64, now: Timestamp) -> Value {
        let mut message = Map::new();
        message.set(MessageDoc::id, id);
        message.set(MessageDoc::from, self.from.as_str());
        message.set(MessageDoc::to, self.to.as_str());
        message.set(MessageDoc::kind, self.kind.as_str());
        message.set(MessageDoc::priority, Value::from(self.priority));
        message.set(MessageDoc::payload, self.payload.clone());
        message.set(MessageDoc::timestamp, time::stamp(now));
        if let Some(ttl) = self.ttl {
            message.set(MessageDoc::ttl, seconds(ttl));
        }
        message.set(MessageDoc::read, false);
        message.set(MessageDoc::processed, false);
        message.set(MessageDoc::seq, seq);
        if let Some(answered) = &self.in_reply_to {
            message.set(MessageDoc::in_reply_to, answered.as_str());
        }
        let Sender { session, role, is_person } = &self.sender;
        let kind = if *is_person { "person" } else { "agent" };
        message.set(
            MessageDoc::sender,
            json!({MessageSender::session_id: session, MessageSender::role: role, MessageSender::kind: kind}),
        );
        message.set(MessageDoc::status, MessageStatus::Delivered);
        message.set(MessageDoc::delivered_at, time::stamp(now));
        if let Some(end) = self.ttl.and_then(|ttl| end_of(now, ttl)) {
            message.set(MessageDoc::expires_at, time::stamp(end));
        }
        Value::Object(message)
    }

    /// Whether a message says what this letter would say.
    pub fn is(&self, message: &Value) -> bool {
        message.text(MessageDoc::from) == Some(self.from.as_str())
            && message.text(MessageDoc::to) == Some(self.to.as_str())
            && message.text(MessageDoc::kind) == Some(&self.kind)
            && urgency(message.text(MessageDoc::priority)) == urgency(Some(self.priority))
            && message.at(MessageDoc::payload) == Some(&self.payload)
            && message.number(MessageDoc::ttl) == self.ttl
            && message.text(MessageDoc::in_reply_to) == self.in_reply_to.as_ref().map(Key::as_str)
    }
}

/// Writes a number of seconds without a fraction that says nothing.
fn seconds(seconds: f64) -> Value {
    let whole = seconds as i64;
    if whole as f64 == seconds { whole.into() } else { seconds.into() }
}

fn end_of(from: Timestamp, ttl: f64) -> Option<Timestamp> {
    from.checked_add(SignedDuration::try_from_secs_f64(ttl).ok()?).ok()
}

/// Reads a message that somebody may have written by hand.
pub fn parse(text: &str) -> Result<Value, String> {
    let value = super::json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    match state::Message::SHAPE.check(&value) {
        Ok(()) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns what the mailbox notes of a message.
pub fn note(message: &Value, status: &str) -> Value {
    let mut note = Map::new();
    let copied = [
        MessageNote::id.any(),
        MessageNote::from.any(),
        MessageNote::seq.any(),
        MessageNote::kind.any(),
        MessageNote::priority.any(),
    ];
    for field in copied {
        if let Some(value) = message.at(field) {
            note.set(field, value.clone());
        }
    }
    note.set(MessageNote::status, Value::from(status));
    Value::Object(note)
}

/// Whether somebody has read it.
pub fn is_read(message: &Value) -> bool {
    message.read(MessageDoc::read).unwrap_or_default()
}

/// Whether its time is over. What the message itself says counts, so that it may be edited.
pub fn is_expired(message: &Value, now: Timestamp) -> bool {
    let end = || {
        let sent = time::read(message.text(MessageDoc::timestamp)?)?;
        end_of(sent, message.number(MessageDoc::ttl)?)
    };
    end().is_some_and(|end| end <= now)
}

/// Returns the sender's copy: what was sent, without what only the recipient knows.
pub fn copy(message: &Value) -> Value {
    let mut copy = message.clone();
    if let Some(copy) = copy.as_object_mut() {
        for field in [MessageDoc::read.any(), MessageDoc::processed.any(), MessageDoc::delivered_at.any()] {
            copy.unset(field);
        }
        copy.set(MessageDoc::status, MessageStatus::Sent);
    }
    copy
}

/// Makes a copy say what its message said when it came: it is delivered with the commit that sends it.
pub fn mark_delivered(message: &mut Value) {
    message.set(MessageDoc::read, false);
    message.set(MessageDoc::processed, false);
    message.set(MessageDoc::status, MessageStatus::Delivered);
    message[MessageDoc::delivered_at] = message.at(MessageDoc::timestamp).cloned().unwrap_or_default();
}

/// Makes a copy say how its message stands, by what the recipient's list notes of it.
pub fn stand(message: &mut Value, noted: &str, now: Timestamp) {
    mark_delivered(message);
    message.set(MessageDoc::read, matches!(noted, "read" | "processed"));
    message.set(MessageDoc::processed, noted == "processed");
    message[MessageDoc::status] = match noted {
        "unread" if is_expired(message, now) => "expired",
        "unread" => "delivered",
        noted => noted,
    }
    .into();
}

pub fn mark_read(message: &mut Value, now: Timestamp) {
    message.set(MessageDoc::read, true);
    message.set(MessageDoc::status, MessageStatus::Read);
    message.set(MessageDoc::read_at, time::stamp(now));
}

pub fn mark_processed(message: &mut Value, now: Timestamp) {
    if !is_read(message) {
        mark_read(message, now);
    }
    message.set(MessageDoc::processed, true);
    message.set(MessageDoc::status, MessageStatus::Processed);
    message.set(MessageDoc::processed_at, time::stamp(now));
}

pub fn mark_expired(message: &mut Value, now: Timestamp) {
    let ttl = message.at(MessageDoc::ttl).cloned().unwrap_or_default();
    message.set(MessageDoc::status, MessageStatus::Expired);
    message.set(MessageDoc::processed_at, time::stamp(now));
    message.set(MessageDoc::reason, format!("expired: not read within its ttl of {ttl} s"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter {
            from: "a".parse().unwrap(),
            to: "b".parse().unwrap(),
            kind: "task_handoff".into(),
            payload: json!({"task_id": "task-001"}),
            priority: "high",
            ttl: Some(3600.0),
            id: None,
            in_reply_to: None,
            sender: Sender::default(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_message_goes_through_its_states() {
        let mut message = letter().message("msg-1", 7, at(1_000));
        assert_eq!(state::Message::SHAPE.check(&message), Ok(()));
        assert!(letter().is(&message));
        assert_eq!((message["seq"].as_u64(), message["ttl"].as_u64()), (Some(7), Some(3600)));
        assert!(!is_expired(&message, at(4_599)) && is_expired(&message, at(4_600)));
        mark_read(&mut message, at(1_001));
        mark_processed(&mut message, at(1_002));
        assert_eq!(state::Message::SHAPE.check(&message), Ok(()));
        assert_eq!((&message["read"], &message["processed"]), (&json!(true), &json!(true)));
        assert_eq!(message["read_at"], "1970-01-01T00:16:41.000Z");
        assert!(letter().is(&message), "how it stands is not what it says");
    }

    #[test]
    fn a_letter_is_another_one_if_it_says_anything_else() {
        let message = letter().message("msg-1", 7, at(0));
        let others = [
            Letter { to: "c".parse().unwrap(), ..letter() },
            Letter { payload: json!({"task_id": "task-002"}), ..letter() },
            Letter { ttl: None, ..letter() },
            Letter { priority: "low", ..letter() },
            Letter { in_reply_to: Some("m".parse().unwrap()), ..letter() },
            Letter { kind: "note".into(), ..letter() },
        ];
        assert!(others.iter().all(|other| !other.is(&message)));
    }

    #[test]
    fn the_order_of_reading() {
        assert!(PRIORITIES.windows(2).all(|pair| urgency(Some(pair[0])) < urgency(Some(pair[1]))));
        assert_eq!(urgency(None), urgency(Some("normal")));
        assert_eq!(urgency(Some("whatever")), urgency(Some("normal")));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(letter().check(), Ok(()));
        let long = "x".repeat(LIMIT);
        for bad in [
            Letter { kind: " ".into(), ..letter() },
            Letter { kind: "a\u{1b}[31m".into(), ..letter() },
            Letter { kind: "x".repeat(129), ..letter() },
            Letter { payload: long.into(), ..letter() },
        ] {
            assert!(bad.check().is_err(), "{}", bad.kind);
        }
    }
}
