//! Revisions as people and scripts see them: what happened, and what is taken back.

use std::io::{self, IsTerminal};

use anthill_core::api::documents::Edited;
use anthill_core::api::history::GoneBack;
use anthill_core::model::diff::Change;
use anthill_core::model::names::{Names, named};
use anthill_core::ops::history::TakenBack;
use anthill_core::store::Revision;
use anthill_core::view::events::{self, Event};
use anthill_core::view::text::escape;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::output::Output;
use crate::sentence::shorten;

/// How many revisions are shown unless told.
const SCREENFUL: usize = 50;

/// How many of the changes that are taken back are shown.
const CHANGES: usize = 40;

/// How much of the past to show.
#[derive(Debug, Args)]
pub struct Window {
    /// Only the newest N (on a terminal 50, unless --all or --json says otherwise)
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Everything that is kept, also on a terminal, with the renewals of leases
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

impl Window {
    /// Returns how many are wanted at most.
    pub fn limit(&self, output: &Output) -> Option<usize> {
        let watched = !output.json && !self.all && io::stdout().is_terminal();
        self.limit.or(watched.then_some(SCREENFUL))
    }

    /// Says that there may be more, if the limit was not asked for.
    pub fn say_if_cut(&self, output: &Output, shown: usize) {
        if self.limit.is_none() && self.limit(output) == Some(shown) {
            output.status(&format!("the newest {shown}; --all shows every change that is kept"));
        }
    }
}

/// How to go back.
#[derive(Debug, Args)]
pub struct GoingBack {
    /// Also take back what others did, and tasks that were claimed meanwhile
    #[arg(long)]
    pub force: bool,
    /// Say what would be taken back, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Says what was taken back, or would be, and whose it was.
pub fn tell_back(context: &Context<'_>, done: &str, GoneBack { back, dry_run, .. }: &GoneBack) -> Result<()> {
    let output = context.output;
    taken_lines(back, *dry_run).iter().for_each(|line| output.status(line));
    match dry_run {
        true if back.others.is_empty() => output.status("Nothing was changed: this was a dry run"),
        true => output.status(&format!(
            "Nothing was changed: this was a dry run; it needs --force, because it is of {}",
            back.others.join(", ")
        )),
        false => output.status(&format!("{done}, now at revision {}", back.revision)),
    }
    Ok(())
}

fn taken_lines(back: &TakenBack, is_dry: bool) -> Vec<String> {
    let word = if is_dry { "Would take back" } else { "Took back" };
    let told = |record: &Revision| {
        let Revision { revision, op, at, .. } = record;
        let when = if at.is_empty() { String::new() } else { format!(", {at}") };
        format!("{word} revision {revision}: {op} by {}{when}", record.whose())
    };
    let mut lines: Vec<_> = back.taken.iter().take(CHANGES).map(told).collect();
    lines.extend(more(back.taken.len()));
    lines.extend(back.changes.iter().take(CHANGES).map(|change| change_line(change, &back.names)));
    lines.extend(more(back.changes.len()));
    lines
}

fn more(count: usize) -> Option<String> {
    (count > CHANGES).then(|| format!("    … and {} more", count - CHANGES))
}

/// Prints revisions as a log that people can read, a line for each.
pub fn show_revisions(output: &Output, revisions: &[Revision]) -> Result<()> {
    for record in revisions {
        output.data(&escape(&event_line(record, output.width())))?;
    }
    if revisions.is_empty() {
        output.status("nothing recorded yet");
    }
    Ok(())
}

/// Tells one revision in a line.
pub fn event_line(record: &Revision, width: usize) -> String {
    let Revision { at, kind, revision, by, op, changes, names, stored, made_from, .. } = record;
    let stored = stored.as_ref().map(|place| format!("too long to tell; it became {place}"));
    let from = made_from.map(|from| format!("made from revision {from}"));
    let note = [stored, from].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let note = (!note.is_empty()).then_some(note);
    events::line(&Event { at, kind, revision: *revision, by, op, changes, names, note }, width)
}

pub fn change_line(change: &Change, names: &Names) -> String {
    let short = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(value) => shorten(&value.to_string(), 60),
    };
    let path = named(change, names);
    let path = if path.is_empty() { "(document)" } else { &path };
    format!("    {path}: {} -> {}", short(&change.before), short(&change.after))
}

/// Tells of a change to one document.
pub fn tell_revision(context: &Context<'_>, what: &str, edited: &Edited) -> Result<()> {
    context.output.status(&format!("{what}, now at revision {}", edited.changed.revision));
    Ok(())
}
