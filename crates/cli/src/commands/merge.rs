use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::room::Room;
use anthill_core::ops::merge;
use anthill_core::store::Aside;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::{CliError, Result};

/// Decide about an edit by hand that could not be joined
///
/// Such an edit is kept aside as a whole, and `anthill diff KIND` shows both sides. PATH is where it is
/// kept, or the kind of its document if there is only one.
///
/// Examples:
///   anthill merge --theirs queue   # where both changed the same, the edit counts
///   anthill merge --ours queue     # what was committed stays; the edit is dropped
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MergeArgs {
    /// Take the edit
    #[arg(long, value_name = "PATH", required_unless_present = "ours", conflicts_with = "ours")]
    theirs: Option<String>,
    /// Drop the edit
    #[arg(long, value_name = "PATH")]
    ours: Option<String>,
}

pub fn run(context: &Context<'_>, args: &MergeArgs) -> Result<()> {
    let engine = &*context.engine;
    let named = args.theirs.as_deref().or(args.ours.as_deref()).unwrap_or_default();
    let aside = find(context, named)?;
    let kind = aside.doc.kind.name;
    if args.ours.is_some() {
        merge::keep_ours(engine, &aside)?;
        context.output.status(&format!("Dropped the edit of {kind}: {}", aside.path));
        return Ok(());
    }
    let changed = merge::take_theirs(engine, &aside, &context.actor)?;
    report(context, kind, &format!("Took the edit of {kind}"), &changed)
}

fn find(context: &Context<'_>, named: &str) -> Result<Aside> {
    // One that no commit has taken in yet is not kept aside yet.
    if let Some(doc) = Kind::find(named)
        .filter(|kind| !kind.is_family())
        .and_then(|kind| Some(Doc::shared(kind, kind.room()?)))
    {
        merge::settle(&*context.engine, &doc, &context.actor)?;
    }
    let rooms: Vec<Room> = context.engine.rooms()?;
    let all = merge::asides(&*context.engine, &rooms)?;
    let full = std::path::absolute(named).unwrap_or_default();
    let is_it = |aside: &&Aside| std::path::Path::new(&aside.path) == full || aside.doc.kind.name == named;
    let mut found = all.iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (Some(_), Some(_)) => {
            let paths: Vec<_> = all.iter().filter(is_it).map(|aside| aside.path.as_str()).collect();
            Err(CliError::invalid(format!("there are {} such edits", paths.len()))
                .hinted(format!("name one of them: {}", paths.join(", "))))
        }
        (None, _) => Err(merge::no_aside(named).into()),
    }
}
