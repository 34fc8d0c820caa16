use anthill_core::api::pipeline::PlanRun;
use clap::Args;

use super::input::read_json;
use super::next_step;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;

/// Adopt a plan
///
/// The planning part of pm_state: mode, mode_reasoning, all_tasks, task_groups, execution_phases.
/// What is left out is filled in: the mode by what can run side by side, branches
/// `feature/group-<ID>-<slug>`, phases by depends_on. Tasks without groups become one group `main`.
/// With `success_criteria` (a list of texts) the end needs evidence for each. A second plan is taken
/// when the project manager was asked for one, or the run has stopped: complete groups stay, groups
/// that have begun stay at their step. The same plan again changes nothing. --expect-revision is
/// about pm_state.
///
/// Examples:
///   anthill pipeline plan --file plan.json
///   echo '{"task_groups": [{"id": "A", "name": "Sign-in"}, {"id": "B", "depends_on": ["A"]}]}' \
///       | anthill pipeline plan --file -
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PlanArgs {
    /// The plan as JSON; `-` reads it from stdin
    #[arg(long, value_name = "F")]
    file: String,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &PlanArgs) -> Result<()> {
    let (plan, expect_revision) = (read_json(&args.file)?, args.expect.expect_revision);
    context.perform(PlanRun { plan, expect_revision }, |done| {
        let what = if done.changed { "Planned" } else { "Unchanged" };
        let groups: Vec<&str> = done.pipeline.group_ids().collect();
        context.output.print(&format!("{what}: {}", groups.join(" ")))?;
        next_step::tell(context, &done.pipeline);
        Ok(())
    })
}
