//! Revisions as people and scripts see them: what happened, and what is taken back.

use std::io::{self, IsTerminal};

use anthill_core::model::diff::Change;
use anthill_core::model::kind::Kind;
use anthill_core::model::names::{Names, named};
use anthill_core::ops::history::{TakenBack, Terms};
use anthill_core::store::Revision;
use anthill_core::view::text::escape;
use clap::Args;
use serde_json::Value;

use super::object;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Format, Output, shorten};

/// How many revisions somebody sees who does not say how many.
const SCREENFUL: usize = 50;

/// How many changes are shown of what is taken back.
const CHANGES: usize = 40;

/// How much of the past to show.
#[derive(Debug, Args)]
pub struct Window {
    /// Only the newest N (on a terminal 50, unless --all or --json says otherwise)
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Everything that is kept, also on a terminal
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

impl Window {
    /// Returns how many are wanted at most.
    pub fn limit(&self, output: &Output) -> Option<usize> {
        let watched = !output.json && !self.all && io::stdout().is_terminal();
        self.limit.or(watched.then_some(SCREENFUL))
    }

    /// Says that there may be more, to somebody who did not ask for so few.
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
    force: bool,
    /// Say what would be taken back, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl GoingBack {
    pub fn terms(&self) -> Terms {
        Terms { force: self.force, dry_run: self.dry_run }
    }

    /// Says what was taken back, or would be, and whose it was.
    pub fn report(&self, context: &Context<'_>, kind: &str, done: &str, back: &TakenBack) -> Result<()> {
        let output = context.output;
        back.warnings.iter().for_each(|warning| output.warning(warning));
        taken_lines(back, self.dry_run).iter().for_each(|line| output.status(line));
        match self.dry_run {
            true if back.others.is_empty() => output.status("Nothing was changed: this was a dry run"),
            true => output.status(&format!(
                "Nothing was changed: this was a dry run; it needs --force, because it is of {}",
                back.others.join(", ")
            )),
            false => output.status(&format!("{done}, now at revision {}", back.revision)),
        }
        if !output.json {
            return Ok(());
        }
        output.changed(&taken_json(kind, back, self.dry_run), Format::Json)
    }
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

fn taken_json(kind: &str, back: &TakenBack, is_dry: bool) -> Value {
    let mut value = object([
        ("kind", kind.into()),
        ("revision", back.revision.into()),
        ("taken_back", back.taken.iter().map(|record| revision_json(record, false)).collect()),
        ("changes", back.changes.iter().map(|change| change_json(change, &back.names)).collect()),
        ("others", back.others.iter().map(String::as_str).collect()),
        ("dry_run", is_dry.into()),
    ]);
    // A long list is not repeated: `changes` says what is different.
    if Kind::find(kind).is_none_or(|kind| kind.listing.is_none()) {
        value["value"] = back.value.clone().unwrap_or_default();
    }
    value
}

/// Prints revisions, as JSON or as a log that people can read.
pub fn show_revisions(output: &Output, revisions: &[Revision]) -> Result<()> {
    if output.json {
        return output
            .value(&revisions.iter().map(|record| revision_json(record, true)).collect(), Format::Json);
    }
    for record in revisions {
        let from = record.made_from.map(|from| format!(", made from revision {from}")).unwrap_or_default();
        let head = format!("{} {}{from}", record.kind, headline(record));
        let kind = Kind::find(&record.kind);
        let told = record.changes.iter().filter(|change| !kind.is_some_and(|kind| kind.stamps(&change.path)));
        let stored =
            record.stored.iter().map(|place| format!("    (document): too long to tell; it became {place}"));
        let lines =
            std::iter::once(head).chain(stored).chain(told.map(|change| change_line(change, &record.names)));
        output.data(&escape(&lines.collect::<Vec<_>>().join("\n")))?;
    }
    if revisions.is_empty() {
        output.status("nothing recorded yet");
    }
    Ok(())
}

fn headline(record: &Revision) -> String {
    format!("revision {}  {}  {} by {}", record.revision, record.at, record.op, record.whose())
}

fn revision_json(record: &Revision, with_changes: bool) -> Value {
    let mut value = object([
        ("kind", record.kind.as_str().into()),
        ("revision", record.revision.into()),
        ("at", record.at.as_str().into()),
        ("by", record.by.as_str().into()),
        ("op", record.op.as_str().into()),
    ]);
    if with_changes {
        value["changes"] = record.changes.iter().map(|change| change_json(change, &record.names)).collect();
    }
    for (field, text) in [("author", &record.author), ("stored", &record.stored)] {
        if let Some(text) = text {
            value[field] = text.as_str().into();
        }
    }
    if let Some(from) = record.made_from {
        value["made_from"] = from.into();
    }
    value
}

/// A change with items by their ids; `place` has them by position, where that is something else, to apply it.
pub fn change_json(change: &Change, names: &Names) -> Value {
    let side = |value: &Option<Value>| value.clone().unwrap_or_default();
    let path = named(change, names);
    let place = (path != change.path).then(|| Value::from(change.path.as_str()));
    let mut value =
        object([("path", path.into()), ("before", side(&change.before)), ("after", side(&change.after))]);
    if let Some(place) = place {
        value["place"] = place;
    }
    value
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
