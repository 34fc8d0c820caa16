use anthill_core::api::agent_loop::AddItem;
use anthill_core::model::agent_loop::Severity;
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{one_of, prose};

/// Add an item to the loop
///
/// The same open item again is no second one.
///
/// Examples:
///   anthill loop add "Implement auth endpoints" -p S1
///   anthill loop add "Update CHANGELOG" --description "Add an entry for the auth feature"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddArgs {
    /// What is to be done, in a line
    #[arg(value_name = "TITLE", allow_hyphen_values = true, value_parser = prose)]
    title: String,
    /// How urgent it is; S0 comes first
    #[arg(short, long, value_name = "SEVERITY", default_value = "S2", value_parser = one_of::<Severity>())]
    priority: Severity,
    /// More about it
    #[arg(short, long, value_name = "TEXT", default_value = "", hide_default_value = true, allow_hyphen_values = true, value_parser = prose)]
    description: String,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AddArgs) -> Result<()> {
    let request = AddItem {
        title: args.title.clone(),
        priority: Some(args.priority),
        description: Some(args.description.clone()),
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |done| {
        let id = done.item.as_deref().unwrap_or_default();
        let what = if done.changed { "Added" } else { "There already" };
        context.output.print_with_next(&format!("{what}: {id}"), "anthill loop take")
    })
}
