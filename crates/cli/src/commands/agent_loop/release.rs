use anthill_core::api::agent_loop::ReleaseItem;
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;

/// Give back an item that is in hand
///
/// Without an ID, all that you have. What somebody else has is theirs until they are silent for too
/// long; to give it back for them, say so with --as.
///
/// Examples:
///   anthill loop release
///   anthill loop release work-003
///   anthill loop release work-003 --as agent-2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ReleaseArgs {
    /// The item [default: all that you have in hand]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Who has it [default: the session, else the user]
    #[arg(long = "as", value_name = "WHO")]
    who: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &ReleaseArgs) -> Result<()> {
    let request = ReleaseItem {
        id: args.id.clone(),
        who: args.who.clone(),
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |done| {
        let ids: Vec<&str> = done.given_back.iter().map(|given| given.id.as_str()).collect();
        let said = match &ids[..] {
            [] => format!("Nobody has it: {}", args.id.as_deref().unwrap_or_default()),
            ids => format!("Released: {}", ids.join(" ")),
        };
        context.output.print_with_next(&said, "anthill loop take")
    })
}
