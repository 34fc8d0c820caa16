use anthill_core::ops::agent_loop;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::planning::{ExpectArgs, text};

/// Take the most urgent item that waits
///
/// Who has one in hand gets the same one again.
///
/// Examples:
///   anthill loop take
///   anthill loop take work-003
///   anthill loop take --as agent-2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TakeArgs {
    /// The item [default: the most urgent one]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Who takes it [default: the session, else the user]
    #[arg(long = "as", value_name = "WHO")]
    who: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &TakeArgs) -> Result<()> {
    let actor = &context.actor;
    let who = args.who.as_deref().or(actor.session.as_deref()).unwrap_or(&actor.user);
    let (id, expect) = (args.id.as_deref(), args.expect.expect_revision);
    let done = agent_loop::take(&*context.engine, who, id, expect, actor)?;
    let id = done.item.as_deref().unwrap_or_default();
    let mut said = format!("Taken for {who}: {id}");
    if let Some(item) = done.work.item(id) {
        let about = [
            format!("{}  {}", text(item, "priority"), text(item, "title")),
            text(item, "description").into(),
        ];
        let lines = about.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        lines.for_each(|line| said += &format!("\n{line}"));
    }
    report(context, &done, &said, &format!("anthill loop done {id}"))
}
