use anthill_core::api::pipeline::ReportOrder;
use anthill_core::model::pipeline::table::{Outcome, Role};
use anthill_core::model::plan::word;
use clap::Args;
use serde_json::{Map, Value};

use super::input::read_json;
use super::next_step;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::sentence::text;
use crate::typed::one_of;

/// Report what came out of an order
///
/// Moves the group by the one table, writes the message to the next role and all figures in one commit:
///   developer  READY_FOR_QA, READY_FOR_REVIEW (nothing but unit tests), BLOCKED, INCOMPLETE
///   qa_expert  PASS, FAIL, BLOCKED, FLAKY
///   tech_lead  APPROVED, CHANGES_REQUESTED; UNBLOCKED when asked for help
///   pm         COMPLETE (or BAZINGA) with evidence, CONTINUE; GROUP is - unless it is about one group
/// The file is one JSON object: what the next one should know. An order is answered after `pipeline
/// next` gave it out. PASS needs `test_results`, and none that failed. COMPLETE needs evidence for
/// every success criterion, or for every task where the plan has no criteria. The same report again
/// changes nothing; another one for the same order is a conflict (exit 3). With --order the order
/// that is answered is sure. --expect-revision is about the group's entry, for the pm about
/// orchestrator_state.
///
/// Examples:
///   anthill pipeline report developer A READY_FOR_QA --file done.json
///   echo '{"test_results": {"e2e_tests": "2/3 passed"}, "notes": "reset link fails"}' \
///       | anthill pipeline report qa_expert A FAIL --file -
///   anthill pipeline report tech_lead A APPROVED --order v4_20260101_000001-7
///   anthill pipeline report pm - COMPLETE --file evidence.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ReportArgs {
    /// Who reports
    #[arg(value_parser = one_of::<Role>())]
    role: Role,
    /// The group; - for the project manager
    #[arg(allow_hyphen_values = true)]
    group: String,
    /// What came out
    status: String,
    /// What to hand over, a JSON object; `-` reads it from stdin
    #[arg(long, value_name = "F")]
    file: Option<String>,
    /// The order that this answers [default: the open one of this role and group]
    #[arg(long, value_name = "ID")]
    order: Option<String>,
    /// Say PASS without results of tests, and why; the reason is kept and shown
    #[arg(long, value_name = "REASON")]
    without_results: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &ReportArgs) -> Result<()> {
    let request = ReportOrder {
        role: args.role,
        group: args.group.clone(),
        status: args.status.clone(),
        content: content(args)?,
        order: args.order.clone(),
        without_results: args.without_results.clone(),
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |reported| {
        let what = if reported.done.changed { "Reported" } else { "Unchanged" };
        let field = if reported.is_of_group() { "status" } else { "current_phase" };
        let stands = text(reported.entry(), field);
        context.output.print(&format!("{what}: {} {stands}", reported.group))?;
        next_step::tell(context, &reported.done.pipeline);
        Ok(())
    })
}

fn content(args: &ReportArgs) -> Result<Option<Map<String, Value>>> {
    let content = match args.file.as_deref().map(read_json).transpose()? {
        None => None,
        Some(Value::Object(content)) => Some(content),
        Some(_) => {
            return Err(CliError::invalid("a report is one JSON object").hinted("nothing was changed"));
        }
    };
    if args.without_results.is_some() && word(Outcome::Pass) != args.status {
        return Err(CliError::invalid("--without-results is for PASS").hinted("nothing was changed"));
    }
    Ok(content)
}
