//! What was heard of a client that prints events, and what events of several clients have in common.

use serde_json::Value;

use crate::model::ids::Key;
use crate::model::usage::Usage;

#[derive(Debug, Default)]
pub struct Heard {
    /// What the client says that it used.
    pub usage: Usage,
    /// What the client says went wrong.
    pub error: Option<String>,
    /// By which name the client would go on with the conversation.
    pub conversation: Option<Key>,
    /// The agent's last words.
    pub words: Option<String>,
}

impl Heard {
    pub(super) fn say(&mut self, words: &Value) {
        self.words = words.as_str().map(Into::into);
    }
}

/// The names of figures: input, output, and what is read from or written to a cache.
pub(super) type Names = (&'static str, &'static str, &'static [&'static str]);

pub(super) fn tokens(value: &Value, (input, output, cached): Names) -> Usage {
    let of = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached_tokens = cached.iter().fold(0_u64, |sum, name| sum.saturating_add(of(name)));
    Usage { cost_usd: 0.0, input_tokens: of(input), output_tokens: of(output), cached_tokens }
}

pub(super) fn dollars(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost > 0.0).unwrap_or(0.0)
}

/// Returns what an event says went wrong.
pub(super) fn message(event: &Value) -> String {
    let error = event.get("error").unwrap_or(event);
    let data = error.get("data").unwrap_or(error);
    let text = [data.get("message"), error.get("message"), error.get("name")].into_iter().flatten();
    let Some(said) = text.filter_map(Value::as_str).next() else { return error.to_string() };
    let name = error.get("name").and_then(Value::as_str).filter(|name| *name != said);
    // What some know beside the words.
    let status = data.get("statusCode").and_then(Value::as_u64).map(|status| format!(" (status {status})"));
    let wait = data["responseHeaders"].get("retry-after").and_then(Value::as_str);
    let wait = wait.map(|wait| format!(" Retry-After: {wait}"));
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}{said}{}{}", status.unwrap_or_default(), wait.unwrap_or_default())
}
