//! What anybody may ask of a team: one request type per use case, one answer type, one registry of all of them.
//!
//! Doors (command line, MCP, HTTP, WebSocket) parse into a request, [perform](Request::perform) it and print the answer; they
//! hold no rule and put no JSON together. A request is plain data, strict about names it does not know. An answer is
//! what [`ops`](crate::ops) returns, and says itself how it looks as JSON: stored things stay the values they are, so that
//! unknown fields, the order of keys and the spelling of numbers survive.
//!
//! - [`request`]: the macro that makes a request of a list of fields, and the types of such fields
//! - [`registry`]: all use cases, for doors that speak JSON and for tests
//! - one module per system: its requests, and which answer each has
//!
//! Rules stay in `model` and `ops`. What takes long (watching, waiting, running agents) is a loop around these requests, in `live`.

pub mod agent_loop;
pub mod documents;
pub mod history;
pub mod mail;
pub mod messages;
pub mod overview;
pub mod pipeline;
pub mod planning;
pub mod queue;
pub mod records;
pub mod registry;
pub mod request;
pub mod sessions;
pub mod stories;
pub mod workflow;

use std::borrow::Cow;
use std::marker::PhantomData;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::Value;

use crate::model::hint::Hint;
use crate::model::ids::{ProjectId, SessionId};
use crate::model::json;
use crate::model::redact::redact;
use crate::model::shape::{Shape, Shaped};
use crate::model::text_file::TextFile;
use crate::model::when::{UNDERSTOOD, When};
use crate::ops::{Actor, Error, Result};
use crate::store::{Engine, Finding, Kept};

/// A use case, as somebody asks for it.
pub trait Request: Described + Shaped + Serialize {
    type Answer: Answer;

    fn perform(self, caller: &Caller<'_>) -> Result<Self::Answer>;
}

/// What is known of a use case without performing it; `request!` writes this.
pub trait Described {
    /// The noun and the verb: `task.claim`.
    const NAME: &'static str;
    /// The words of the command line.
    const COMMAND: &'static str;
    const EFFECT: Effect;
    /// A request, as JSON, that can be performed after those before it in the [registry].
    const EXAMPLE: &'static str;
}

/// What a use case does to the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Changes,
    /// It may take something away.
    Removes,
}

/// What comes back.
pub trait Answer {
    const SHAPE: &'static Shape;

    /// Returns the answer as JSON.
    fn json(&self) -> Cow<'_, Value>;

    /// Returns it as a text, for those who would only write the JSON down.
    fn text(&self) -> String {
        serde_json::to_string_pretty(&*self.json()).unwrap_or_default()
    }

    /// Returns what should be heard beside it.
    fn warnings(&self) -> &[Hint] {
        &[]
    }
}

/// Who asks, and of which store.
#[derive(Clone, Copy)]
pub struct Caller<'c> {
    pub engine: &'c dyn Engine,
    pub actor: &'c Actor,
    pub around: &'c dyn Surroundings,
}

impl Caller<'_> {
    /// Returns the session at work, if it is known.
    fn session(&self) -> Option<SessionId> {
        self.actor.session.as_ref()?.parse().ok()
    }

    /// Returns where a text of the project is, as the caller would name it.
    fn shown(&self, text_file: &TextFile) -> String {
        self.around.shown(&self.engine.called(Kept::TextFile(text_file)).path)
    }

    /// Returns the moment that the caller means.
    fn moment(&self, when: &When) -> Result<Timestamp> {
        let moment = when.moment(self.actor.now(), self.around.zone());
        moment.ok_or_else(|| Error::Input(format!("`{when}` is before all calendars: {UNDERSTOOD}")))
    }

    /// Returns what was said as it is kept: without secrets, unless a person said it, who knows what they write.
    fn told(&self, text: String) -> String {
        if self.around.is_person() { text } else { redact(&text).into_owned() }
    }
}

/// What a door knows of whoever calls. It is asked for what matters to a use case, and when it does.
pub trait Surroundings {
    /// Returns the project that the caller works on, by its own configuration.
    fn project(&self) -> Option<ProjectId> {
        None
    }

    /// Whether a person speaks, as far as can be told.
    fn is_person(&self) -> bool {
        false
    }

    /// Whether a coding agent speaks, as far as it says so.
    fn is_agent(&self) -> bool {
        true
    }

    /// Returns the directory that the caller works in.
    fn directory(&self) -> Option<String> {
        None
    }

    /// Returns the branch that is checked out in a directory.
    fn branch(&self, _directory: &str) -> Option<String> {
        None
    }

    /// Returns a path inside the project as seen from its root; others stay as they are.
    fn below_root(&self, path: String) -> String {
        path
    }

    /// Returns a path below the project's root as the caller would name it.
    fn shown(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Returns a path as the caller names it from the root of all paths.
    fn absolute(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Returns what keeps the project from working as it was told to, as far as only the caller's machine can tell.
    fn obstacles(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    /// Returns the time zone in which the caller's programs tell the time.
    fn zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    /// Returns a text that no other caller has, to make names of.
    fn mark(&self) -> String;
}

/// What is stored, or found, as the value it is; `T` says how it looks.
pub struct Stored<T> {
    pub value: Value,
    pub warnings: Vec<Hint>,
    looks: PhantomData<fn() -> T>,
}

impl<T> Stored<T> {
    pub fn new(value: impl Into<Value>) -> Stored<T> {
        Stored { value: value.into(), warnings: Vec::new(), looks: PhantomData }
    }

    pub fn warned(self, warnings: Vec<Hint>) -> Stored<T> {
        Stored { warnings, ..self }
    }

    /// Returns the items of a list.
    pub fn items(&self) -> &[Value] {
        self.value.as_array().map_or(&[], Vec::as_slice)
    }
}

impl<T: Shaped> Answer for Stored<T> {
    const SHAPE: &'static Shape = T::SHAPE;

    fn json(&self) -> Cow<'_, Value> {
        Cow::Borrowed(&self.value)
    }

    fn warnings(&self) -> &[Hint] {
        &self.warnings
    }
}

impl<T> std::fmt::Debug for Stored<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(formatter)
    }
}

/// Says how answers look that hold what is stored, or that are put together of named fields.
macro_rules! answers {
    ($($answer:ty: $shape:ty, $this:ident => $json:expr $(, warns $warnings:expr)?;)*) => {
        $(impl $crate::api::Answer for $answer {
            const SHAPE: &'static $crate::model::shape::Shape =
                <$shape as $crate::model::shape::Shaped>::SHAPE;

            fn json(&self) -> std::borrow::Cow<'_, serde_json::Value> {
                let $this = self;
                std::borrow::Cow::from($crate::api::Json::from($json))
            }

            $(fn warnings(&self) -> &[$crate::model::hint::Hint] {
                let $this = self;
                $warnings
            })?
        })*
    };
}
use answers;

/// A value of an answer, its own or somebody else's.
struct Json<'a>(Cow<'a, Value>);

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Json<'a> {
        Json(Cow::Borrowed(value))
    }
}

impl From<Value> for Json<'_> {
    fn from(value: Value) -> Self {
        Json(Cow::Owned(value))
    }
}

impl<'a> From<Json<'a>> for Cow<'a, Value> {
    fn from(Json(value): Json<'a>) -> Cow<'a, Value> {
        value
    }
}

/// Makes a value of named fields. It goes by its text: serde would respell the numbers of values inside.
fn written(answer: &impl Serialize) -> Value {
    let text = serde_json::to_vec(answer).expect("an answer is plain data");
    json::parse(&text).expect("we wrote it")
}
