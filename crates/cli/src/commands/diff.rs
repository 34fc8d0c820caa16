use anthill_core::ops::merge::{self, Compared};
use anthill_core::store::edits::clash_in_words;
use anthill_core::store::{Aside, Edits, How};
use anthill_core::view::shell;
use clap::Args;
use serde_json::{Value, json};

use super::revisions::{change_json, change_line};
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

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
    let (doc, engine) = (context.select(&args.select)?, &*context.engine);
    let pending = merge::pending(engine, &doc)?;
    let asides = merge::asides(engine, std::slice::from_ref(&doc.room))?;
    let asides = asides.into_iter().filter(|aside| aside.doc == doc);
    let asides =
        asides.map(|aside| Ok((merge::compare(engine, &aside)?, aside))).collect::<Result<Vec<_>>>()?;
    if context.output.json {
        let kept: Vec<_> = asides.iter().map(|(compared, aside)| aside_json(compared, aside)).collect();
        return context.output.value(&json!({"pending": edits_json(&pending), "aside": kept}), Format::Json);
    }
    let mut lines = Vec::new();
    if !pending.is_empty() {
        lines.push(format!("{} was edited by hand{}:", engine.place(&doc), origin(pending.how)));
        lines.extend(side_lines(&pending));
    }
    for (Compared { edits, broken }, Aside { path, .. }) in &asides {
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

fn edits_json(edits: &Edits) -> Value {
    let side = |value: &Option<Value>| value.clone().unwrap_or_default();
    let clashes: Vec<Value> = edits
        .clashes
        .iter()
        .map(|clash| {
            super::object([
                ("path", clash.path.as_str().into()),
                ("base", side(&clash.base)),
                ("theirs", side(&clash.theirs)),
                ("ours", side(&clash.ours)),
            ])
        })
        .collect();
    let changes: Vec<Value> = edits.changes.iter().map(|change| change_json(change, &edits.names)).collect();
    super::object([
        ("made_from", edits.how.made_from().map_or(Value::Null, Value::from)),
        ("changes", changes.into()),
        ("clashes", clashes.into()),
    ])
}

fn aside_json(compared: &Compared, aside: &Aside) -> Value {
    let mut value = edits_json(&compared.edits);
    value["path"] = aside.path.as_str().into();
    value
}
