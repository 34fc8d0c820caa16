use anthill_core::api::records::ResolveError;
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::sentence::text;

/// Mark an error as recovered
///
/// The same error recorded later is a new one.
///
/// Examples:
///   anthill error resolve error-20260129103000-4f2a
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResolveArgs {
    /// The error
    id: String,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &ResolveArgs) -> Result<()> {
    let request = ResolveError { id: args.id.clone(), expect_revision: args.expect.expect_revision };
    context.perform(request, |done| {
        let what = if done.changed { "Resolved" } else { "Resolved already" };
        context.output.print(&format!("{what}: {}", text(&done.error, "id")))
    })
}
