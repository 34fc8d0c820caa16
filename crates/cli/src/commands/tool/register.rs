use anthill_core::api::planning::{Planned, RegisterTool};
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::typed::{names, parse_id};

/// Register a tool, or change what is said of it
///
/// What you do not say stays as it is. A new tool may have one open story at a time, unless you say
/// otherwise.
///
/// Examples:
///   anthill tool register qa-e2e --name "E2E Test Engineer" --capabilities testing,automation
///   anthill tool register engineering-fullstack --capabilities frontend,backend --max-instances 2 \
///       --priority high
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RegisterArgs {
    /// The tool's id
    tool: String,
    /// What people call it [default: its id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What it can do
    #[arg(long, value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    capabilities: Option<Vec<String>>,
    /// How many open stories of a project it may have at once [default: 1]
    #[arg(long, value_name = "N")]
    max_instances: Option<u32>,
    /// critical, high, normal or low [default: normal]
    #[arg(short, long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Accepted like everywhere in planning; all projects share the register
    #[arg(long, value_name = "ID", hide = true)]
    project_id: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &RegisterArgs) -> Result<()> {
    let request = RegisterTool {
        tool: parse_id(&args.tool)?,
        name: args.name.clone(),
        capabilities: args.capabilities.as_deref().map(names),
        max_instances: args.max_instances.map(u64::from),
        priority: args.priority.clone(),
        expect_revision: args.expect.expect_revision,
    };
    let next = format!("anthill story assign STORY {}", args.tool);
    context.perform(request, |Planned { done, .. }| report(context, done, ("Registered", &args.tool), &next))
}
