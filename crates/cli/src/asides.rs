//! Edits by hand that could not be joined.

use std::io::IsTerminal;

use anthill_core::ops::merge::{all_asides, in_words};

use crate::context::Context;

/// Tells a person at a terminal, once, of edits by hand that could not be joined.
pub fn tell(context: &Context<'_>) {
    if context.output.json || !std::io::stderr().is_terminal() {
        return;
    }
    for aside in all_asides(&*context.engine).iter().filter(|aside| !aside.noted) {
        context.output.warning(&in_words(aside));
        let _ = context.engine.note_aside(aside);
    }
}
