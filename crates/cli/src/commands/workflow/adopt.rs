use anthill_core::api::workflow::{AdoptWorkflow, Adopted};
use clap::Args;

use super::report;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;

/// Make it the workflow of this session
///
/// A workflow belongs to the session that created it. Agents that its session starts get phases by
/// their names; agents of other sessions only by naming one (`Phase ID: phase_1`). When the session
/// has ended or expired, the next one that starts an agent for it has it by itself. What an agent has
/// in hand it keeps.
///
/// Examples:
///   anthill workflow adopt                     # inside of a session
///   anthill workflow adopt --session-id s2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AdoptArgs {
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AdoptArgs) -> Result<()> {
    let request = AdoptWorkflow { expect_revision: args.expect.expect_revision };
    context.perform(request, |Adopted { done, before }| {
        let what = match before {
            Some(before) => format!("Adopted from session {before}"),
            None => "Adopted".to_owned(),
        };
        report::tell(context, done, (&what, done.flow.id()))
    })
}
