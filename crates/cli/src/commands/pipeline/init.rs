use anthill_core::api::pipeline::InitRun;
use anthill_core::model::documents::pipeline::Mode;
use clap::Args;

use super::input::requirements;
use super::next_step;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{one_of, prose};

/// Begin a run for these requirements
///
/// Makes the six files of `coordination/`. The requirements are kept word for word: the end is
/// checked against them. A run that is complete makes room, and the history keeps it; one that is not
/// only with --replace. The same requirements again are no second run. --expect-revision is about
/// pm_state.
///
/// Examples:
///   anthill pipeline init "JWT authentication, user registration, password reset"
///   anthill pipeline init --mode simple "Rename the module"
///   anthill pipeline init - < requirements.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct InitArgs {
    /// What is to be built, word for word; `-` reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    requirements: String,
    /// One developer at a time, or several, whatever the plan says
    #[arg(long, value_parser = one_of::<Mode>())]
    mode: Option<Mode>,
    /// Put a run aside that is not complete
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &InitArgs) -> Result<()> {
    let request = InitRun {
        requirements: requirements(&args.requirements)?,
        mode: args.mode,
        replace: args.replace,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |done| {
        let what = if done.changed { "Started" } else { "Unchanged" };
        context.output.print(&format!("{what}: {}", done.pipeline.session()))?;
        next_step::tell(context, &done.pipeline);
        Ok(())
    })
}
