//! How a change to a plan is told.

use anthill_core::ops::planning::PlanChanged;

use crate::context::Context;
use crate::error::Result;

/// Tells what was done to a thing, whose id comes last, and what to type next.
pub fn report(context: &Context<'_>, done: &PlanChanged, (what, id): (&str, &str), next: &str) -> Result<()> {
    let what = if done.changed { what } else { "Unchanged" };
    context.output.print_with_next(&format!("{what}: {id}"), next)
}
