//! What messages to one and to all have in common.

use anthill_core::api::messages::SentAs;
use anthill_core::api::request::{Chosen, Seconds};
use anthill_core::model::documents::state::MessagePriority;
use anthill_core::model::ids::Key;
use anthill_core::model::message::{NORMAL, PRIORITIES};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::env;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::typed::{one_of, parse_id, span};

/// What letters to one and to all have in common.
#[derive(Debug, Args)]
pub struct LetterArgs {
    /// How soon it should be read
    #[arg(long, value_name = "PRIORITY", default_value = NORMAL, value_parser = PossibleValuesParser::new(PRIORITIES))]
    pub priority: String,
    /// It expires if nobody has read it after this long
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    pub ttl: Option<Seconds>,
    /// An id of your own: sending it again is safe
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// The message that this one answers
    #[arg(long, value_name = "ID")]
    pub in_reply_to: Option<String>,
    /// What you are, for the reader (such as `qa_expert`)
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Whether a person or an agent sends this [default: agent in an agent's session, else person]
    #[arg(long = "as", value_name = "KIND", value_parser = one_of::<SentAs>())]
    pub sent_as: Option<SentAs>,
}

impl LetterArgs {
    pub const OPTIONS: [Opt; 6] = [
        ("--priority", "", Takes::One),
        ("--ttl", "", Takes::One),
        ("--id", "", Takes::One),
        ("--in-reply-to", "", Takes::One),
        ("--role", "", Takes::One),
        ("--as", "", Takes::One),
    ];

    pub fn read(words: &mut Words) -> Option<LetterArgs> {
        let priority = words.value("--priority").unwrap_or_else(|| NORMAL.into());
        PRIORITIES.contains(&&*priority).then_some(())?;
        Some(LetterArgs {
            priority,
            ttl: words.parsed("--ttl", |text| span(text).ok())?,
            id: words.value("--id"),
            in_reply_to: words.value("--in-reply-to"),
            role: words.value("--role"),
            sent_as: words.parsed("--as", SentAs::of_word)?,
        })
    }

    pub fn role(&self) -> Option<String> {
        self.role.clone().or_else(|| env::text(env::ANTHILL_ROLE))
    }

    pub fn priority(&self) -> Option<MessagePriority> {
        MessagePriority::of_word(&self.priority)
    }
}

/// Reads an id that may be left out.
pub fn perhaps(id: &Option<String>) -> Result<Option<Chosen<Key>>> {
    id.as_deref().map(parse_id).transpose()
}
