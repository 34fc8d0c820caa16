use anthill_core::api::workflow::ReportPhase;
use anthill_core::model::flow::WorkflowStatus;
use clap::Args;

use super::report::{self, became};
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{one_of, prose};

/// Report how far a phase is
///
/// completed starts what waited for it; failed stops the workflow until the phase is retried with
/// active or pending; pending puts it back, from active too, and takes it out of its agent's hands.
/// Deliverables are added to those that are there. The context is what the phases after this one get
/// to know; of a phase that failed or was put back, the reason. The same report again changes nothing.
///
/// Examples:
///   anthill workflow phase phase_0 --status completed --deliverable src/calc.py \
///       --context "four functions in src/calc.py"
///   anthill workflow phase phase_1 --status failed --context "2 of 9 tests are red"
///   anthill workflow phase phase_1 --status active
///   anthill workflow phase phase_1 --status pending --context "its agent hangs"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PhaseArgs {
    /// The phase, such as phase_0
    id: String,
    /// How far it is
    #[arg(long, value_parser = one_of::<WorkflowStatus>())]
    status: WorkflowStatus,
    /// A file or an outcome
    #[arg(long, value_name = "D", num_args = 1.., value_parser = prose)]
    deliverable: Vec<String>,
    /// What the following phases should know, or why it failed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    context: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &PhaseArgs) -> Result<()> {
    let request = ReportPhase {
        id: args.id.clone(),
        status: args.status,
        deliverables: args.deliverable.clone(),
        context: args.context.clone(),
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |done| report::tell(context, done, (became(args.status), &args.id)))
}
