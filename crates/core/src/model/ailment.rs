//! What can be wrong with the service that an agent depends on.

use std::time::Duration;

/// What is wrong with the service, or with our way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ailment {
    /// So much and no more, for a while.
    Limit,
    Overload,
    Network,
    Login,
    Credit,
    /// The client does not work in this directory.
    Place,
}

impl Ailment {
    /// Whether it goes away by itself.
    pub fn passes(self) -> bool {
        matches!(self, Ailment::Limit | Ailment::Overload | Ailment::Network)
    }

    /// Returns what people are told.
    pub fn words(self) -> &'static str {
        match self {
            Ailment::Limit => "usage limit",
            Ailment::Overload => "the service is overloaded",
            Ailment::Network => "no connection to the service",
            Ailment::Login => "the client is not logged in",
            Ailment::Credit => "no credit left",
            Ailment::Place => "the client does not trust this directory",
        }
    }

    /// Returns how long to wait when nobody says how long, after so many pauses in a row.
    pub fn pause(self, pauses: u32) -> Duration {
        let (first, most) = if self == Ailment::Limit { (60, 900) } else { (5, 300) };
        Duration::from_secs(2_u64.saturating_pow(pauses).saturating_mul(first).min(most))
    }
}
