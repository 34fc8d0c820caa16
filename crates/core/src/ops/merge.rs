//! Edits by hand that could not be joined: showing them, and deciding about them. And edits that come by a command.

use serde_json::Value;

use super::edit::{Changed, check_flaws};
use super::{Actor, Error, Result, begin_to_ask, queue, views};
use crate::hint;
use crate::model::diff::{self, Change};
use crate::model::hint::Hint;
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::merge::{self, Side};
use crate::model::next::See;
use crate::model::room::Room;
use crate::store::edits::{self, TakenIn};
use crate::store::{Aside, Edits, Engine, How, Kept, state};

/// Returns the edits that are kept aside in these rooms.
pub fn asides(engine: &dyn Engine, rooms: &[Room]) -> Result<Vec<Aside>> {
    let mut found = Vec::new();
    for room in rooms {
        found.extend(engine.asides(room)?);
    }
    Ok(found)
}

/// Returns the edits that are kept aside in this project and in what its documents share; what cannot be looked at has none.
pub fn all_asides(engine: &dyn Engine) -> Vec<Aside> {
    let rooms = [Room::Shared].into_iter().chain(Room::OF_PROJECT);
    rooms.flat_map(|room| engine.asides(&room).unwrap_or_default()).collect()
}

/// Tells in one line of an edit that is kept aside.
pub fn in_words(aside: &Aside) -> Hint {
    let (file, kind) = (aside.called.rsplit('/').next().unwrap_or_default(), aside.doc.kind.name);
    hint![format!("an edit of {file} could not be joined and is kept aside: "), See::Edits(Some(kind))]
}

/// An edit that is kept aside, beside what the document is now.
#[derive(Debug)]
pub struct Compared {
    pub edits: Edits,
    /// Why the edit cannot be read, if so.
    pub broken: Option<String>,
}

/// Compares an edit with what the document is now.
pub fn compare(engine: &dyn Engine, aside: &Aside) -> Result<Compared> {
    let theirs = match read(engine, aside) {
        Ok(theirs) => theirs,
        Err(error @ Error::Store(_)) => {
            return Ok(Compared { edits: Edits::default(), broken: Some(error.to_string()) });
        }
        Err(error) => return Err(error),
    };
    let Some(now) = engine.read(&aside.doc)? else {
        let edits = Edits { changes: diff::diff(&Value::Null, &theirs), ..Edits::default() };
        return Ok(Compared { edits, broken: None });
    };
    let TakenIn { value, how, clashes } = take_in(engine, &aside.doc, theirs, &now.value, now.revision)?;
    let edits = Edits::between(&now.value, &value, how, clashes);
    Ok(Compared { edits, broken: None })
}

/// Returns what is pending: an edit of the file that no commit has taken in yet.
pub fn pending(engine: &dyn Engine, doc: &Doc) -> Result<Edits> {
    Ok(begin_to_ask(engine, &doc.room)?.edits(doc)?)
}

/// Takes in an edit that no commit has taken in yet, if not all of it can be joined: what cannot is kept aside then.
pub fn settle(engine: &dyn Engine, doc: &Doc, actor: &Actor) -> Result<()> {
    if pending(engine, doc)?.clashes.is_empty() {
        return Ok(());
    }
    let mut transaction = engine.begin(&[&doc.room])?;
    let edits = transaction.edits(doc)?;
    let Some(joined) = transaction.get(doc)?.cloned() else { return Ok(()) };
    if doc.kind == Doc::queue().kind {
        return queue::replace(transaction, joined, &edits, "merge", actor).map(drop);
    }
    views::put(&mut *transaction, doc, joined)?;
    transaction.commit(&actor.entry("merge")).map(drop).map_err(Error::from)
}

/// Takes an edit that was kept aside: where both changed the same, its side counts.
pub fn take_theirs(engine: &dyn Engine, aside: &Aside, actor: &Actor) -> Result<Changed> {
    let theirs = read(engine, aside)?;
    let (changed, _) = apply(engine, &aside.doc, theirs, Side::Theirs, "merge", actor)?;
    engine.drop_aside(aside)?;
    Ok(changed)
}

/// Drops an edit that was kept aside: what was committed stays.
pub fn keep_ours(engine: &dyn Engine, aside: &Aside) -> Result<()> {
    Ok(engine.drop_aside(aside)?)
}

/// Joins an edit of a document with what was committed since it was made, as a new revision. Returns what could not be
/// joined, too.
pub fn apply(
    engine: &dyn Engine,
    doc: &Doc,
    theirs: Value,
    wins: Side,
    op: &str,
    actor: &Actor,
) -> Result<(Changed, Edits)> {
    check(engine, doc, &theirs)?;
    let mut transaction = engine.begin(&[&doc.room])?;
    let revision = transaction.revision(doc)?;
    let Some(ours) = transaction.get(doc)?.cloned() else {
        views::put(&mut *transaction, doc, theirs)?;
        return Ok((committed(transaction.commit(&actor.entry(op))?, revision + 1), Edits::default()));
    };
    let TakenIn { mut value, how, clashes } = take_in(engine, doc, theirs.clone(), &ours, revision)?;
    let clashes = if wins == Side::Theirs && !clashes.is_empty() {
        value = with_their_side(engine, doc, &theirs, &ours, how)?;
        Vec::new()
    } else {
        clashes
    };
    merge::keep_epochs(doc.kind, &ours, &mut value);
    let edits = Edits::between(&ours, &value, how, clashes);
    if edits.changes.iter().all(|change| is_stamp(doc, change)) {
        return Ok((Changed { revision, value: Value::Null, warnings: Vec::new() }, edits));
    }
    check_flaws(doc, Some(&ours), &value)?;
    if doc.kind == Doc::queue().kind {
        let warnings = queue::replace(transaction, value, &edits, op, actor)?;
        return Ok((Changed { revision: revision + 1, value: Value::Null, warnings }, edits));
    }
    views::put(&mut *transaction, doc, value)?;
    Ok((committed(transaction.commit(&actor.entry(op))?, revision + 1), edits))
}

/// Joins once more, so that their side counts where both changed the same.
fn with_their_side(engine: &dyn Engine, doc: &Doc, theirs: &Value, ours: &Value, how: How) -> Result<Value> {
    let mut base = None;
    if let Some(from) = how.made_from() {
        engine.replay(doc, &mut |record, value| {
            if record.revision <= from {
                base = value.cloned();
            }
        })?;
    }
    Ok(match base {
        Some(base) => merge::merge_for(Side::Theirs, doc.kind, &base, theirs, ours, merge::Base::Known).value,
        None => theirs.clone(),
    })
}

fn take_in(engine: &dyn Engine, doc: &Doc, theirs: Value, ours: &Value, revision: u64) -> Result<TakenIn> {
    let mut past = |visit: &mut dyn FnMut(u64, &Value)| {
        engine.replay(doc, &mut |record, value| {
            if let Some(value) = value {
                visit(record.revision, value);
            }
        })
    };
    Ok(edits::take_in(doc, theirs, ours, revision, &mut past)?)
}

fn read(engine: &dyn Engine, aside: &Aside) -> Result<Value> {
    let bytes = engine.read_aside(aside)?.ok_or_else(|| no_aside(&aside.path))?;
    Ok(state::open(&aside.doc, &aside.path, &bytes)?)
}

/// Says that no such edit is kept.
pub fn no_aside(named: &str) -> Error {
    let message = format!("no edit is kept aside as `{named}`");
    Error::missing(message, hint!["see what is there: ", See::Edits(None)])
}

fn is_stamp(doc: &Doc, change: &Change) -> bool {
    change.path == "revision"
        || change.path == "updated_by"
        || doc.kind.time_field == Some(change.path.as_str())
}

fn committed(mut committed: crate::store::Committed, revision: u64) -> Changed {
    let value = committed.documents.pop().map(|(_, document)| document.value).unwrap_or_default();
    Changed { revision, value, warnings: committed.warnings }
}

/// Reads what somebody typed: JSON, with lines of comments before it.
pub fn typed(engine: &dyn Engine, doc: &Doc, bytes: &[u8]) -> Result<Value> {
    let text = String::from_utf8_lossy(bytes);
    let json: String = text.split_inclusive('\n').skip_while(|line| is_comment(line)).collect();
    let value =
        json::parse(json.as_bytes()).map_err(|error| Error::Input(format!("this is not JSON: {error}")))?;
    check(engine, doc, &value)?;
    Ok(value)
}

fn check(engine: &dyn Engine, doc: &Doc, value: &Value) -> Result<()> {
    let name = || engine.called(Kept::Document(doc)).name;
    Ok(state::check(doc, value).map_err(|unfit| unfit.of(name()))?)
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}
