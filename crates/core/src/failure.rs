//! What has failed, for every door: a code, a message, facts for scripts, and what to do next.

use std::io;

use serde_json::{Value, json};

use crate::error::{Code, with_causes};
use crate::hint;
use crate::model::hint::Hint;
use crate::model::next::{Next, See, With};
use crate::model::task::Refusal;
use crate::store::error::Unplaced;
use crate::{ops, store};

#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub message: Hint,
    pub hints: Vec<Hint>,
    /// Facts for scripts, beside the message.
    pub facts: Vec<(&'static str, Value)>,
    /// Whether the change may have happened all the same.
    pub indeterminate: bool,
}

impl Failure {
    fn new(code: Code, message: impl Into<Hint>) -> Failure {
        Failure { code, message: message.into(), hints: Vec::new(), facts: Vec::new(), indeterminate: false }
    }

    fn hinted(mut self, hint: impl Into<Hint>) -> Failure {
        self.hints.extend(hint.into().lines());
        self
    }

    fn fact(mut self, name: &'static str, value: impl Into<Value>) -> Failure {
        self.facts.push((name, value.into()));
        self
    }
}

impl From<ops::Error> for Failure {
    fn from(error: ops::Error) -> Failure {
        let error = match error {
            ops::Error::Store(error) => return error.into(),
            other => other,
        };
        let base = Failure::new(error.code(), with_causes(&error));
        match error {
            ops::Error::NoDocument { kind, removed, .. } => removed
                .into_iter()
                .fold(base, Failure::hinted)
                .hinted(hint!["create it: ", Next::Create { kind }])
                .hinted(hint![
                    "look elsewhere with ",
                    With::HomeDir,
                    " or ",
                    With::RootDir,
                    "; `",
                    See::Kinds,
                    "` shows where each kind is kept",
                ]),
            ops::Error::Conflict { expected, found, .. } => base
                .hinted(hint!["read it again and repeat with ", With::Revision(Some(found))])
                .fact("expected", expected)
                .fact("revision", found),
            ops::Error::OfOthers { taken, .. } => {
                let taken = taken
                    .iter()
                    .map(|(revision, op, whose)| json!({"revision": revision, "op": op, "by": whose}));
                let taken: Vec<_> = taken.collect();
                base.hinted(hint![
                    "nothing was changed; take them back all the same: ",
                    Next::Repeat(With::Force)
                ])
                .hinted(hint!["look first what that would change: ", With::DryRun])
                .fact("taken", taken)
            }
            ops::Error::ClaimedSince { id, .. } => base
                .hinted(hint!["take it out of the work instead: ", Next::Cancel(id)])
                .hinted(hint!["or let it go all the same: ", Next::Repeat(With::Force)]),
            ops::Error::NoRevision { kind, .. } => base.hinted(hint!["see them: ", See::History(kind)]),
            ops::Error::NoList { kind } => {
                base.hinted(hint!["see the whole document: ", See::Document { kind, path: None }])
            }
            ops::Error::NoTask { .. } => base.hinted(hint!["see the tasks: ", See::Tasks]),
            ops::Error::NoWorker { worker } => base.hinted(hint!["register first: ", Next::Register(worker)]),
            ops::Error::NoLease { .. } => base.hinted(hint!["see who has what: ", See::Tasks]),
            ops::Error::OtherTask { id } => base.hinted(hint!["see it: ", See::Task(id)]).hinted(hint![
                "choose another ",
                With::Id,
                ", or leave it out to get a new one"
            ]),
            ops::Error::UnknownDependency { .. } => {
                base.hinted(hint!["see the ids: ", See::Tasks]).hinted("nothing was added")
            }
            ops::Error::Circle { .. } => base.hinted("take one of the dependencies out; nothing was added"),
            ops::Error::NoResults => base.hinted(hint![
                "results come with `",
                Next::Complete(None),
                "`; see how far the work is: ",
                See::Tasks
            ]),
            ops::Error::Task(refusal) => refused(base, refusal),
            ops::Error::Refused { hint, .. }
            | ops::Error::Missing { hint, .. }
            | ops::Error::Clash { hint, .. }
            | ops::Error::Invalid { hint, .. }
            | ops::Error::NoSuchList { hint, .. } => base.hinted(hint),
            ops::Error::NothingReady { worker, others_work } => {
                let wait = match others_work {
                    true => "others are at work; wait for what they set free: ",
                    false => "wait for the next task: ",
                };
                base.hinted(hint![wait, Next::AwaitTask { worker }])
                    .hinted(hint!["see what is open and why: ", See::Tasks])
            }
            ops::Error::NothingToEdit { id } => base.hinted(hint!["for example: ", Next::EditTask { id }]),
            ops::Error::NothingToUpdate => {
                let message =
                    hint!["say what is to change: ", With::Status, ", ", With::Assignee, ", or both"];
                Failure { message, ..base }
            }
            ops::Error::Unnamed { kind, by, path } => {
                let message = hint![kind, " needs ", With::Name(by), format!(": it is kept at `{path}`")];
                let base = Failure { message, ..base };
                match by {
                    "project-id" => base.hinted(hint!["or give this project one: ", Next::NameProject]),
                    _ => base,
                }
            }
            ops::Error::NoReader { .. } => base
                .hinted(hint!["see who is there: ", See::Sessions])
                .hinted(hint!["leave out ", With::Reader, " to send it all the same; nothing was sent"]),
            ops::Error::NoArchive { kind } => base.hinted(hint!["see its changes: ", See::History(kind)]),
            ops::Error::WhoseTask => base
                .hinted(hint!["name it: ", See::AnyBrief])
                .hinted(hint!["or its worker: ", See::BriefOfWorker]),
            ops::Error::NothingInHand { .. } => {
                base.hinted(hint!["take one: ", CLAIM]).hinted(hint!["or name any task: ", See::AnyBrief])
            }
            ops::Error::SeveralInHand { ids, .. } => {
                base.hinted(hint!["name one: ", See::Brief { task: ids[0].clone(), full: false }])
            }
            ops::Error::ManagedField { field } if field == "revision" => {
                base.hinted(hint!["use ", With::Revision(None), " to guard a change"])
            }
            ops::Error::ManagedField { .. } => base.hinted("every change sets it anew"),
            ops::Error::Store(_)
            | ops::Error::Path(_)
            | ops::Error::NothingToUndo { .. }
            | ops::Error::Input(_) => base,
        }
    }
}

/// Says what a worker that was refused can do.
fn refused(base: Failure, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Taken { id, owner, epoch, .. } => base
            .hinted("nothing was changed; the task is not yours: stop working on it and claim another one")
            .fact("task", id)
            .fact("owner", owner)
            .fact("epoch", epoch),
        Refusal::LeaseOver { id, status, .. } => base
            .hinted(hint!["nothing was changed; claim again: ", CLAIM])
            .fact("task", id)
            .fact("owner", Value::Null)
            .fact("status", status),
        Refusal::WrongState { id, verb, status } => {
            base.hinted(in_state(&id, verb, status)).fact("task", id).fact("status", status)
        }
    }
}

const CLAIM: Next = Next::Claim { named: true, session: None };

/// Says what to do about a task that is in the wrong state for something.
fn in_state(id: &str, verb: &str, status: &str) -> Hint {
    let id = || id.to_owned();
    match (verb, status) {
        ("retry", "available" | "created") => "it has not failed".into(),
        (_, "available") => hint!["it has to be claimed first: ", CLAIM],
        (_, "created") => hint!["it waits for other tasks: ", See::Task(id())],
        ("reset" | "retry", "done") => hint!["do it all over: ", Next::Reset { id: id(), force: true }],
        ("retry", "cancelled") => hint!["take it up again: ", Next::Reset { id: id(), force: false }],
        ("claim", "failed") => hint!["let it be tried again: ", Next::Retry(id())],
        ("claim", "cancelled") => hint!["take it up again: ", Next::Reset { id: id(), force: false }],
        (_, "cancelled") => "the leader took it out of the work: claim another one".into(),
        ("retry", _) => {
            hint!["only failed tasks are tried again; make it open: ", Next::Reset { id: id(), force: false }]
        }
        _ => hint!["see how it stands: ", See::Task(id())],
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        let indeterminate = error.indeterminate();
        let base = Failure { indeterminate, ..Failure::new(error.code(), with_causes(&error)) };
        match error {
            store::Error::Damaged { path, line, column, .. } => base
                .hinted(hint!["see what can be done: ", Next::Doctor, "   (mend it: ", Next::Repair, ")"])
                .fact("path", path)
                .fact("line", line)
                .fact("column", column),
            store::Error::NotAFile { path, .. } => {
                base.hinted(hint!["see what can be done: ", Next::Doctor]).fact("path", path)
            }
            store::Error::Gone { path, doc } => base
                .hinted(hint!["bring it back: ", Next::Repair])
                .hinted(hint![
                    "or begin anew without it: ",
                    Next::Delete { doc, path: None },
                    "   (its history stays)"
                ])
                .fact("path", path),
            store::Error::Busy { path, .. } => base
                .hinted(hint![
                    "wait longer with ",
                    With::LockTimeout,
                    "; a lock is free as soon as its holder ends"
                ])
                .fact("path", path),
            store::Error::Refused { hint, .. } => base.hinted(hint),
            store::Error::NewerFormat { path, .. } => {
                base.hinted("reading works; to write, use a newer anthill").fact("path", path)
            }
            store::Error::NetworkFs { .. } => base.hinted(hint![
                "keep the state on a local disk, or pass ",
                With::NetworkFs,
                " at your own risk"
            ]),
            store::Error::UnsupportedPlace { path, .. } => base
                .hinted("links and special files are not followed; use a plain directory")
                .fact("path", path),
            store::Error::Io { path, source, .. } if base.code == Code::Damaged => {
                mendable(base.fact("path", path), &source)
            }
            store::Error::Io { path, indeterminate, source, .. } => {
                base.fact("path", path).hinted(match source.kind() {
                    _ if indeterminate => {
                        Hint::from("the change may have happened: look before you repeat it")
                    }
                    io::ErrorKind::NotADirectory => {
                        hint!["see what stands where a directory belongs: ", Next::Doctor]
                    }
                    _ => "nothing was changed; free the cause and repeat".into(),
                })
            }
            store::Error::Invalid { .. } | store::Error::TooLarge { .. } => {
                base.hinted("nothing was changed")
            }
        }
    }
}

/// Says how to go on when the configuration is what cannot be read.
fn mendable(base: Failure, source: &io::Error) -> Failure {
    let base = base.hinted(hint!["mend it: ", Next::Repair]);
    match Unplaced::in_error(source) {
        Some(Unplaced(store::Error::Gone { doc, .. })) => {
            base.hinted(hint!["or begin anew without it: ", Next::Delete { doc: doc.clone(), path: None }])
        }
        _ => base,
    }
}
