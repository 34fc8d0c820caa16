use anthill_core::api::history::{ByHand, ShowEdits};
use anthill_core::ops::merge::Compared;
use anthill_core::store::edits::clash_in_words;
use anthill_core::store::{Aside, Edits, How};
use anthill_core::view::shell;
use clap::Args;

use super::revisions::change_line;
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Show what an edit by hand changes, and edits that could not be joined
///
/// An edit of a file that no command has taken in yet is shown as it will count. One that was made
/// from an older state and could not be joined is kept aside: both sides are shown.
///
/// Examples:
///   anthill diff queue
///   anthill diff config --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DiffArgs {
    #[command(flatten)]
    select: Select,
}

pub fn run(context: &Context<'_>, args: &DiffArgs) -> Result<()> {
    let request = ShowEdits { document: args.select.of()? };
    context.perform(request, |by_hand| tell(context, by_hand))
}

fn tell(context: &Context<'_>, ByHand { doc, pending, asides }: &ByHand) -> Result<()> {
    let mut lines = Vec::new();
    if !pending.is_empty() {
        lines.push(format!("{} was edited by hand{}:", context.engine.place(doc), origin(pending.how)));
        lines.extend(side_lines(pending));
    }
    for (Compared { edits, broken }, Aside { path, .. }) in asides {
        lines.push(format!("an edit is kept aside{}: {path}", origin(edits.how)));
        lines.extend(broken.iter().map(|why| format!("    {why}")));
        lines.extend(side_lines(edits));
        let typed = shell::word(path);
        lines.push(format!("  take it: anthill merge --theirs {typed}"));
        lines.push(format!("  drop it: anthill merge --ours {typed}"));
    }
    if lines.is_empty() {
        context
            .output
            .status(&format!("{} is as the last command left it, and no edit is kept aside", doc.kind.name));
        return Ok(());
    }
    context.output.data(&anthill_core::view::text::escape(&lines.join("\n")))
}

fn side_lines(edits: &Edits) -> Vec<String> {
    let clashes = edits.clashes.iter().map(|clash| match clash.path.is_empty() {
        true => "    the whole document: nothing of it was taken".to_owned(),
        false => format!("    {}", clash_in_words(clash)),
    });
    let changes = edits.changes.iter().map(|change| change_line(change, &edits.names));
    clashes.chain(changes).collect()
}

fn origin(how: How) -> String {
    match how {
        How::Fresh => String::new(),
        How::Merged { from } | How::MadeLongAgo { from } => format!(", made from revision {from}"),
        How::Restored { to } => format!(", back to revision {to}"),
        How::Foreign => ", from another store".to_owned(),
    }
}
