use anthill_core::api::Described;
use anthill_core::api::queue::TaskList;
use anthill_core::api::queue::work::{CompleteTask, ListMine};
use anthill_core::error::Code;
use anthill_core::model::ids::Key;
use anthill_core::model::task::Task;
use anthill_core::ops::queue::work::TaskChanged;
use anthill_core::view::shell;
use clap::Args;
use serde_json::Value;

use super::worker::complete::tell;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::{CliError, Result};
use crate::identity;
use crate::line::{Opt, Takes, Words};
use crate::typed::{parse_id, prose};

/// Report a task as done: the one you have, or those you name
///
/// Short for `worker complete`. A word that has a blank in it, or that is the last of several and
/// names no task, says what you did. Who you are: as for `anthill claim`.
///
/// Examples:
///   anthill done
///   anthill done "Added the model"
///   anthill done parser "Reads everything now" --modified src/parser.rs
///   anthill done parser tests --summary ok
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DoneArgs {
    /// The tasks [default: the one you have], and what you did
    #[arg(value_name = "ID", value_parser = prose)]
    words: Vec<String>,
    /// What you did
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    summary: Option<String>,
    /// Who you are
    #[arg(short, long, value_name = "W")]
    worker: Option<String>,
    /// Files you changed
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    modified: Vec<String>,
    /// Files you made
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    created: Vec<String>,
    /// The lease you have (`lease.epoch` of the claim): refuse (exit 3) if it is another one by now
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
}

impl Direct for DoneArgs {
    const OPTIONS: &'static [Opt] = &[
        ("--summary", "-s", Takes::One),
        ("--worker", "-w", Takes::One),
        ("--modified", "-m", Takes::Many),
        ("--created", "-c", Takes::Many),
        ("--epoch", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<DoneArgs> {
        Some(DoneArgs {
            words: std::iter::from_fn(|| words.plain()).collect(),
            summary: words.value("--summary"),
            worker: words.value("--worker"),
            modified: words.values("--modified"),
            created: words.values("--created"),
            epoch: words.parsed("--epoch", |text| text.parse().ok())?,
        })
    }
}

/// What a task is said to have come to if nobody says it.
const NOTHING_SAID: &str = "Done";

pub fn run(context: &Context<'_>, args: &DoneArgs) -> Result<()> {
    let who = identity::worker(context, args.worker.as_deref())?;
    let worker = &who.worker;
    let (mut ids, summary) = args.sorted(context)?;
    let mine = match args.worker.is_none() && context.own_session().is_some() {
        true => context.ask(ListMine { worker: None })?,
        false if ids.is_empty() => context.ask(ListMine { worker: Some(worker.clone()) })?,
        false => TaskList::new(Vec::<Value>::new()),
    };
    let mine: Vec<_> = mine.items().iter().cloned().map(Task::of).collect();
    if ids.is_empty() {
        ids.push(only(&mine, worker)?);
    }
    let mut done = Vec::new();
    for id in &ids {
        // A session may have taken it under another name.
        let owner = mine.iter().find(|task| task.id() == id).and_then(Task::owner);
        let owner: Key = owner.map_or_else(|| Ok(worker.clone()), parse_id)?;
        let completed = args.complete(context, &owner, id, &summary);
        done.push(completed.map_err(|error| args.perhaps_said(error))?);
    }
    answer(context, &done)?;
    who.tell(context);
    Ok(())
}

fn answer(context: &Context<'_>, done: &[TaskChanged]) -> Result<()> {
    if let [one] = done {
        return context.answer::<CompleteTask>(one, |done| tell(context, done));
    }
    let warnings = done.iter().flat_map(|done| done.warnings.iter().cloned()).collect();
    let tasks: Vec<_> = done.iter().map(|done| done.task.value().clone()).collect();
    context.told(&TaskList::new(tasks).warned(warnings), CompleteTask::EFFECT, |_| {
        done.iter().try_for_each(|done| tell(context, done))
    })
}

/// Returns the one task that a worker has.
fn only(mine: &[Task], worker: &Key) -> Result<String> {
    let ids: Vec<_> = mine.iter().map(Task::id).collect();
    match &ids[..] {
        [id] => Ok((*id).to_owned()),
        [] => Err(CliError::new(Code::NotFound, format!("`{worker}` has no task"))
            .hinted("take one: anthill claim")
            .hinted("or say who has it: anthill done ID --worker W")),
        [id, ..] => Err(CliError::invalid(format!("`{worker}` has {} tasks: {}", ids.len(), ids.join(", ")))
            .hinted(format!("name one: anthill done {}", shell::word(id)))),
    }
}

impl DoneArgs {
    /// Tells ids from what was done.
    fn sorted(&self, context: &Context<'_>) -> Result<(Vec<String>, String)> {
        let mut ids = self.words.clone();
        let said = match (&self.summary, ids.last()) {
            (None, Some(last)) if last.contains(char::is_whitespace) => ids.pop(),
            (None, Some(last)) if ids.len() > 1 && !context.is_task(last) => ids.pop(),
            (said, _) => said.clone(),
        };
        if let Some(text) = ids.iter().find(|id| id.contains(char::is_whitespace)) {
            return Err(CliError::invalid(format!("`{text}` is no id of a task"))
                .hinted("name the tasks first, and then say what you did"));
        }
        Ok((ids, said.unwrap_or_else(|| NOTHING_SAID.into())))
    }

    /// One word alone that names no task may have been meant to say what was done.
    fn perhaps_said(&self, error: CliError) -> CliError {
        match &self.words[..] {
            [word] if error.code == Code::NotFound => error
                .hinted(format!("if that says what you did: anthill done --summary {}", shell::word(word))),
            _ => error,
        }
    }

    fn complete(&self, context: &Context<'_>, worker: &Key, id: &str, summary: &str) -> Result<TaskChanged> {
        context.by_worker([worker.as_str(), id], |id| {
            Ok(CompleteTask {
                worker: worker.clone(),
                task: Some(parse_id(id)?),
                summary: summary.to_owned(),
                modified: self.modified.clone(),
                created: self.created.clone(),
                epoch: self.epoch,
            })
        })
    }
}
