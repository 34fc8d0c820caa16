//! What a person should know although nothing has failed and no command asked for it.

use std::sync::OnceLock;

/// Says it.
type Teller = fn(&str);

static TELLER: OnceLock<Teller> = OnceLock::new();

/// Names who is told; before that nobody is.
pub fn on_news(tell: Teller) {
    let _ = TELLER.set(tell);
}

pub(super) fn tell(text: &str) {
    if let Some(tell) = TELLER.get() {
        tell(text);
    }
}
