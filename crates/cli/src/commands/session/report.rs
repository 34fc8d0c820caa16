use anthill_core::ops::sessions::Changed;

use crate::context::Context;
use crate::error::Result;

/// Tells what was done to a session.
pub fn tell(context: &Context<'_>, what: &str, changed: &Changed) -> Result<()> {
    context.output.print(&format!("{what}: {}", changed.id))
}

/// Tells a person which sessions were given up on the way.
pub fn tell_expired(context: &Context<'_>, expired: &[Changed]) {
    for changed in expired {
        let back = match &changed.released[..] {
            [] => String::new(),
            released => format!(" (back in the queue: {})", released.join(" ")),
        };
        context.output.status(&format!("Given up, not heard of for too long{back}: {}", changed.id));
    }
}
