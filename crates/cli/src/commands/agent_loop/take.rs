use anthill_core::api::agent_loop::TakeItem;
use anthill_core::api::request::Seconds;
use anthill_core::view::shell;
use clap::Args;

use super::taken_back;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::sentence::text;
use crate::typed::span;

/// Take the most urgent item that waits
///
/// Who has one in hand gets the same one again. It is yours while you give signs of life: the hooks of
/// your session do, and taking it again. After ten minutes of silence (an hour without a session)
/// whoever takes next may get it.
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
    /// How long you may be silent before others may take it [default: 600, without a session 3600]
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    lease: Option<Seconds>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &TakeArgs) -> Result<()> {
    let request = TakeItem {
        id: args.id.clone(),
        who: args.who.clone(),
        lease: args.lease,
        expect_revision: args.expect.expect_revision,
    };
    let actor = &context.actor;
    let who = args.who.as_deref().or(actor.session.as_deref()).unwrap_or(&actor.user);
    context.perform(request, |done| {
        done.given_back.iter().for_each(|given| context.output.status(&taken_back::sentence(given)));
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
        context.output.print_with_next(&said, &format!("anthill loop done {}", shell::word(id)))
    })
}
