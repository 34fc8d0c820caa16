//! What an agent used of tokens and money, as far as its client says so.

use serde_json::Value;

use super::changes::Changes;
use super::documents::queue::TaskUsage;
use super::key::{Fields, FieldsMut};
use super::plan::{figure, number};

/// What the tries of a piece of work used, printed and changed.
#[derive(Debug, Default)]
pub struct Tries {
    pub count: u64,
    /// How many of them came to nothing.
    pub failed: u64,
    pub usage: Usage,
    pub log: String,
    /// What they changed, where that can be told.
    pub changed: Option<Changes>,
}

impl Tries {
    /// Adds them to the sums that a document keeps of its tries.
    pub fn add_to(&self, sums: &mut Value) {
        let so_far = sums.read(TaskUsage::tries).unwrap_or(0);
        sums.set(TaskUsage::tries, so_far.saturating_add(self.count));
        self.usage.add_to(sums);
    }
}

/// What one try used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Input that was read from, or written to, the client's cache.
    pub cached_tokens: u64,
}

impl Usage {
    pub fn add(&mut self, other: Usage) {
        self.cost_usd += other.cost_usd;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }

    /// Adds it to the sums that a document keeps.
    pub fn add_to(self, sums: &mut Value) {
        sums[TaskUsage::cost_usd] = number(figure(sums, TaskUsage::cost_usd).unwrap_or(0.0) + self.cost_usd);
        let tokens = [
            (TaskUsage::input_tokens, self.input_tokens),
            (TaskUsage::output_tokens, self.output_tokens),
            (TaskUsage::cached_tokens, self.cached_tokens),
        ];
        for (field, more) in tokens {
            let so_far = sums.read(field).unwrap_or(0);
            sums.set(field, so_far.saturating_add(more));
        }
    }
}
