//! What is done when it goes wrong: one table for all sweeps.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::flow::{self, NewPhase, WorkflowStatus};
use anthill_core::model::hint::Plain;
use anthill_core::model::ids::SessionId;
use anthill_core::model::kind::{Doc, Kind, Scope};
use anthill_core::model::message::{Letter, Sender};
use anthill_core::model::new_task::NewTask;
use anthill_core::model::pipeline::table::Role;
use anthill_core::model::room::Room;
use anthill_core::model::session::Start;
use anthill_core::model::task::Report;
use anthill_core::model::text_file::TextFile;
use anthill_core::ops::edit::Target;
use anthill_core::ops::errors::{self, NewError};
use anthill_core::ops::history::Terms;
use anthill_core::ops::messages::{self, PollRequest};
use anthill_core::ops::pipeline::{self, NewRun};
use anthill_core::ops::queue::{lead, revise, work};
use anthill_core::ops::sessions::handoff::{self, Handoff};
use anthill_core::ops::workflow::{self, NewWorkflow};
use anthill_core::ops::{self, Actor, edit, history, sessions, settings};
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::file::fs::Fs;
use anthill_core::store::file::redirected_fs::RedirectedFs;
use anthill_core::store::file::{FileEngine, Options};
use anthill_core::store::{Durability, Engine, Entry, Upkeep};
use anthill_testkit::sim_fs::{Plan, SimFs};
use jiff::Timestamp;
use serde_json::{Value, json};

/// One operation on a prepared disk.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    /// The kinds that it changes.
    pub kinds: &'static [&'static str],
    pub segment_bytes: u64,
    pub exchange: bool,
    pub prepare: fn(&Store),
    pub act: fn(&Store) -> Result<(), Failure>,
}

/// How an operation failed, as far as the promises speak of it.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: Code,
    pub indeterminate: bool,
    #[expect(dead_code, reason = "shown by Debug in failure messages")]
    pub text: String,
}

impl From<ops::Error> for Failure {
    fn from(error: ops::Error) -> Failure {
        Failure { code: error.code(), indeterminate: error.indeterminate(), text: format!("{error:?}") }
    }
}

impl From<anthill_core::store::Error> for Failure {
    fn from(error: anthill_core::store::Error) -> Failure {
        ops::Error::from(error).into()
    }
}

/// A fresh engine on a disk, as one command has it.
pub struct Store {
    pub fs: SimFs,
    pub engine: FileEngine,
}

impl Store {
    pub fn new(fs: &SimFs, segment_bytes: u64) -> Store {
        let options = Options {
            patience: Duration::ZERO,
            segment_bytes,
            kept_segments: 2,
            long_bytes: 400,
            ..Options::default()
        };
        // What is elsewhere is on the same disk, so that the power fails for both.
        let disk = fs.clone();
        let told = |engine: &dyn Engine| settings::places(engine, None);
        let elsewhere = move |place: PathBuf| {
            let place = place.to_str().unwrap().trim_matches('/');
            Arc::new(disk.below(place)) as Arc<dyn Fs>
        };
        let home =
            RedirectedFs::new(Arc::new(fs.clone()), Box::new(told), Box::new(elsewhere), options.patience);
        let engine = FileEngine::new(Arc::new(home), Arc::new(fs.clone()), options);
        Store { fs: fs.clone(), engine }
    }

    pub fn set(&self, kind: &str, path: &str, value: Value) -> Result<(), Failure> {
        let (doc, path) = (doc(kind), path.parse().unwrap());
        let target = edit::Target { doc: &doc, path: &path, expect: None };
        Ok(edit::set(&self.engine, &target, value, &actor()).map(drop)?)
    }

    pub fn append(&self, kind: &str, path: &str, item: Value) -> Result<(), Failure> {
        let (doc, path) = (doc(kind), path.parse().unwrap());
        let target = edit::Target { doc: &doc, path: &path, expect: None };
        Ok(edit::append(&self.engine, &target, item, &actor()).map(drop)?)
    }

    pub fn delete(&self, kind: &str) -> Result<(), Failure> {
        let (doc, path) = (doc(kind), anthill_core::model::path::Path::root());
        let target = edit::Target { doc: &doc, path: &path, expect: None };
        Ok(edit::delete(&self.engine, &target, &actor()).map(drop)?)
    }

    /// Writes `mark` into every document of `kinds` in one commit.
    pub fn mark(&self, kinds: &[&str], mark: &str, durability: Durability) -> Result<(), Failure> {
        let docs: Vec<Doc> = kinds.iter().map(|kind| doc(kind)).collect();
        let rooms: Vec<_> = docs.iter().map(|doc| &doc.room).collect();
        let mut transaction = self.engine.begin(&rooms)?;
        for doc in &docs {
            let mut value = transaction.get(doc)?.cloned().unwrap_or_else(|| doc.default(now()));
            let place = match doc.kind.name {
                "group_status" => &mut value["G1"],
                _ => &mut value,
            };
            place["marker"] = mark.into();
            transaction.put(doc, value)?;
        }
        Ok(transaction.commit(&entry(durability)).map(drop)?)
    }

    /// Writes `mark` into the queue, a result and two logs, in one commit, as the end of a task does.
    pub fn complete(&self, mark: &str) -> Result<(), Failure> {
        let queue = doc("queue");
        let text_file = |id: &str| id.parse().unwrap();
        let mut transaction = self.engine.begin(&[&queue.room])?;
        let mut value = transaction.get(&queue)?.cloned().unwrap_or_else(|| queue.default(now()));
        value["marker"] = mark.into();
        transaction.put(&queue, value)?;
        transaction.write_text_file(&TextFile::Result(text_file("t1")), format!("the result of {mark}\n"))?;
        transaction.append_text_file(&TextFile::Log(text_file("leader")), &format!("[at] DONE: {mark}\n"))?;
        transaction
            .append_text_file(&TextFile::Log(text_file("w1")), &format!("[at] COMPLETED: {mark} by w1\n"))?;
        Ok(transaction.commit(&entry(Durability::Synced)).map(drop)?)
    }

    /// Makes a workflow of two phases, whose view stands beside its room.
    pub fn plan_work(&self, task: &str) -> Result<(), Failure> {
        let phase = |title: &str| NewPhase { title: title.into(), agent: "a".into(), ..NewPhase::default() };
        let phases = vec![phase("one"), NewPhase { depends_on: vec![0], ..phase("two") }];
        let new = NewWorkflow { id: Some(task.parse().unwrap()), task: task.into(), phases, replace: true };
        Ok(workflow::create(&self.engine, &new, None, &actor()).map(drop)?)
    }

    /// Begins a run of the pipeline.
    pub fn begin_run(&self, requirements: &str) -> Result<(), Failure> {
        let new = NewRun { requirements: requirements.into(), mode: None, replace: true };
        Ok(pipeline::init(&self.engine, &new, None, &actor()).map(drop)?)
    }

    /// Changes a file as a person with an editor does.
    pub fn edit_by_hand(&self, kind: &str, change: impl FnOnce(&mut Value)) {
        let path = doc(kind).path();
        let mut value: Value = serde_json::from_slice(&self.fs.get(&path).unwrap()).unwrap();
        change(&mut value);
        self.fs.put(&path, value.to_string().as_bytes());
    }

    /// Deletes a file as a person does, some time after the last commit.
    pub fn delete_by_hand(&self, kind: &str) {
        use anthill_core::store::file::fs::Fs;
        let path = doc(kind).path();
        self.fs.flush();
        self.fs.remove(&path).unwrap();
        self.fs.sync_dir(path.rsplit_once('/').unwrap().0).unwrap();
    }

    /// Repairs the room; what could not be repaired for want of a working disk is a failure.
    fn repair(&self, kind: &str) -> Result<(), Failure> {
        let findings = self.engine.check(&doc(kind).room, true)?;
        match findings.iter().find(|finding| !finding.repaired) {
            Some(finding) => {
                Err(Failure { code: finding.code, indeterminate: false, text: format!("{finding:?}") })
            }
            None => Ok(()),
        }
    }
}

/// Returns the document of a kind; of a session as `tasks of s1`.
pub fn doc(kind: &str) -> Doc {
    if let Some((kind, session)) = kind.split_once(" of ") {
        let (kind, session) = (Kind::find(kind).unwrap(), session.parse().unwrap());
        return match kind.scope {
            Scope::Mailbox => Doc::of_mailbox(kind, session),
            _ => Doc::of_session(kind, session),
        };
    }
    let kind = Kind::find(kind).unwrap();
    match kind.scope {
        Scope::Mailbox => Doc::of_mailbox(kind, session(if kind.name == "sent" { "a" } else { "b" })),
        _ => Doc::shared(kind, kind.room().unwrap()),
    }
}

fn session(id: &str) -> SessionId {
    id.parse().unwrap()
}

/// Sends a message from `a` to `b`.
fn send(store: &Store, id: &str) -> Result<(), Failure> {
    let letter = Letter {
        from: session("a"),
        to: session("b"),
        kind: "note".into(),
        payload: json!({"text": id}),
        priority: "normal",
        ttl: None,
        id: Some(id.parse().unwrap()),
        in_reply_to: None,
        sender: Sender::default(),
    };
    Ok(messages::send(&store.engine, &letter, &actor()).map(drop)?)
}

/// Reads the messages to `b`.
fn poll(store: &Store) -> Result<(), Failure> {
    let request = PollRequest { session: &session("b"), mark_read: true, again: false, limit: 10 };
    Ok(messages::poll(&store.engine, &request, &actor()).map(drop)?)
}

pub fn now() -> Timestamp {
    Timestamp::from_second(1_760_000_000).unwrap()
}

pub fn actor() -> Actor {
    Actor {
        clock: Arc::new(now()),
        session: Some("s1".into()),
        acting: None,
        user: "tester".into(),
        door: &Plain,
    }
}

pub fn entry(durability: Durability) -> Entry {
    let (by, op) = ("tester".into(), "mark".into());
    Entry { at: now(), by, author: None, op, undoes: None, token: None, durability }
}

const LARGE: u64 = 1 << 20;
const SMALL: u64 = 2_500;

/// Makes [`each_scenario`] of the table.
macro_rules! scenarios {
    ($dollar:tt $($name:ident: $scenario:expr,)*) => {
        #[expect(non_upper_case_globals, reason = "they are names of tests")]
        pub mod named {
            use super::*;

            $(pub const $name: &Scenario = &Scenario { name: stringify!($name), ..$scenario };)*
        }

        /// Makes a test for each scenario, so that all processors share a sweep and what fails has a name.
        macro_rules! each_scenario {
            ($dollar sweep:ident) => {
                mod $dollar sweep {
                    $(
                        #[test]
                        fn $name() {
                            crate::probe::sweep(super::$dollar sweep, crate::scenarios::named::$name);
                        }
                    )*
                }
            };
        }
        pub(crate) use each_scenario;
    };
}

const PLAIN: Scenario = Scenario {
    name: "",
    kinds: &["config"],
    segment_bytes: LARGE,
    exchange: true,
    prepare: |_| {},
    act: |_| Ok(()),
};

fn with_config(store: &Store) {
    store.set("config", "marker", json!("old")).unwrap();
}

fn with_pair(store: &Store) {
    store.mark(&["config", "tools"], "old", Durability::Synced).unwrap();
}

fn set_config(store: &Store) -> Result<(), Failure> {
    store.set("config", "marker", json!("new"))
}

fn mark_pair(store: &Store) -> Result<(), Failure> {
    store.mark(&["config", "tools"], "new", Durability::Synced)
}

/// Keeps sessions and mailboxes elsewhere. The configuration was replaced since its name was made, so that the power can
/// take its bytes.
fn with_paths(store: &Store) {
    store.set("config", "paths", json!({"session_state": "/far/sessions"})).unwrap();
    store.set("config", "paths.shared_state", json!("/far/shared")).unwrap();
    set_config(store).unwrap();
}

/// Kills the process right after the commit point of a change.
fn interrupted(store: &Store, change: fn(&Store) -> Result<(), Failure>) {
    let fs = store.fs.after_kill();
    let rehearsal = Store::new(&fs, LARGE);
    fs.set_plan(Plan::None);
    change(&rehearsal).unwrap();
    let publishes = |call: &String| {
        call.starts_with("exchange") || call.starts_with("sync_file orchestration/.anthill/next-")
    };
    let publishing = fs.trace().iter().position(publishes).unwrap();
    store.fs.set_plan(Plan::KillAt(publishing + 1));
    change(store).unwrap_err();
    assert!(store.fs.killed());
}

scenarios! {
    $
    first_commit_in_an_empty_store: Scenario { act: set_config, ..PLAIN },
    set: Scenario { prepare: with_config, act: set_config, ..PLAIN },
    set_without_exchange: Scenario {
        exchange: false,
        prepare: with_config,
        act: set_config,
        ..PLAIN
    },
    append: Scenario {
        kinds: &["queue"],
        prepare: |store| store.append("queue", "tasks", task("t1")).unwrap(),
        act: |store| store.append("queue", "tasks", task("t2")),
        ..PLAIN
    },
    delete_a_document: Scenario {
        prepare: |store| {
            with_config(store);
            set_config(store).unwrap();
        },
        act: |store| store.delete("config"),
        ..PLAIN
    },
    delete_a_document_in_a_sub_directory: Scenario {
        kinds: &["active_agents"],
        prepare: |store| store.set("active_agents", "marker", json!("old")).unwrap(),
        act: |store| store.delete("active_agents"),
        ..PLAIN
    },
    create_again_after_a_delete: Scenario {
        prepare: |store| {
            with_config(store);
            store.delete("config").unwrap();
        },
        act: set_config,
        ..PLAIN
    },
    two_documents: Scenario {
        kinds: &["config", "tools"],
        prepare: with_pair,
        act: mark_pair,
        ..PLAIN
    },
    two_documents_without_exchange: Scenario {
        kinds: &["config", "tools"],
        exchange: false,
        prepare: with_pair,
        act: mark_pair,
        ..PLAIN
    },
    the_first_message: Scenario {
        kinds: &["mailbox", "sent"],
        act: |store| send(store, "m1"),
        ..PLAIN
    },
    a_message_behind_others: Scenario {
        kinds: &["sent", "mailbox"],
        prepare: |store| ["m1", "m2"].iter().for_each(|id| send(store, id).unwrap()),
        act: |store| send(store, "m3"),
        ..PLAIN
    },
    messages_are_read_one_of_them_left_by_another_program: Scenario {
        kinds: &["mailbox", "sent"],
        prepare: |store| {
            ["m1", "m2"].iter().for_each(|id| send(store, id).unwrap());
            let strange = json!({"id": "m0", "from": "x", "to": "b", "type": "note", "read": false});
            store.fs.put("orchestration/messages/b/inbox/m0.json", strange.to_string().as_bytes());
        },
        act: poll,
        ..PLAIN
    },
    a_message_is_done_with: Scenario {
        kinds: &["mailbox", "sent"],
        prepare: |store| {
            ["m1", "m2"].iter().for_each(|id| send(store, id).unwrap());
            poll(store).unwrap();
        },
        act: |store| {
            let id = "m1".parse().unwrap();
            Ok(messages::done(&store.engine, &session("b"), &id, &actor()).map(drop)?)
        },
        ..PLAIN
    },
    the_first_message_with_mailboxes_elsewhere: Scenario {
        kinds: &["mailbox", "sent", "config"],
        prepare: with_paths,
        act: |store| send(store, "m1"),
        ..PLAIN
    },
    a_message_behind_others_with_mailboxes_elsewhere_and_no_exchange: Scenario {
        kinds: &["mailbox", "sent", "config"],
        exchange: false,
        prepare: |store| {
            with_paths(store);
            ["m1", "m2"].iter().for_each(|id| send(store, id).unwrap());
        },
        act: |store| send(store, "m3"),
        ..PLAIN
    },
    a_document_of_a_session_that_is_elsewhere_and_the_configuration: Scenario {
        kinds: &["config", "tasks of s1"],
        prepare: |store| {
            with_paths(store);
            store.set("tasks of s1", "marker", json!("old")).unwrap();
        },
        act: |store| store.mark(&["config", "tasks of s1"], "new", Durability::Synced),
        ..PLAIN
    },
    documents_of_two_rooms: Scenario {
        kinds: &["config", "workflow"],
        prepare: |store| store.mark(&["config", "workflow"], "old", Durability::Synced).unwrap(),
        act: |store| store.mark(&["config", "workflow"], "new", Durability::Synced),
        ..PLAIN
    },
    documents_of_three_rooms_one_a_list_one_new: Scenario {
        kinds: &["queue", "pm_state", "config"],
        prepare: |store| store.mark(&["queue", "config"], "old", Durability::Synced).unwrap(),
        act: |store| store.mark(&["queue", "pm_state", "config"], "new", Durability::Synced),
        ..PLAIN
    },
    documents_of_two_rooms_the_second_with_a_new_segment: Scenario {
        kinds: &["config", "workflow"],
        segment_bytes: SMALL,
        prepare: |store| {
            for number in 0..9 {
                store.mark(&["config", "workflow"], &format!("old {number}"), Durability::Synced).unwrap();
            }
        },
        act: |store| store.mark(&["config", "workflow"], "new", Durability::Synced),
        ..PLAIN
    },
    two_new_documents: Scenario { kinds: &["config", "tools"], act: mark_pair, ..PLAIN },
    two_documents_of_the_pipeline_one_new: Scenario {
        kinds: &["pm_state", "group_status"],
        prepare: |store| store.set("pm_state", "marker", json!("old")).unwrap(),
        act: |store| store.mark(&["pm_state", "group_status"], "new", Durability::Synced),
        ..PLAIN
    },
    change_one_delete_another: Scenario {
        kinds: &["config", "tools"],
        prepare: with_pair,
        act: |store| {
            let (config, tools) = (doc("config"), doc("tools"));
            let mut transaction = store.engine.begin(&[&config.room])?;
            let mut value = transaction.get(&config)?.cloned().unwrap();
            value["marker"] = "new".into();
            transaction.put(&config, value)?;
            transaction.delete(&tools)?;
            Ok(transaction.commit(&entry(Durability::Synced)).map(drop)?)
        },
        ..PLAIN
    },
    set_after_a_hand_edit: Scenario {
        prepare: |store| {
            with_config(store);
            store.edit_by_hand("config", |value| value["by_hand"] = true.into());
        },
        act: set_config,
        ..PLAIN
    },
    two_documents_one_edited_by_hand: Scenario {
        kinds: &["config", "tools"],
        prepare: |store| {
            with_pair(store);
            store.edit_by_hand("tools", |value| value["by_hand"] = true.into());
        },
        act: mark_pair,
        ..PLAIN
    },
    set_on_a_file_made_by_hand: Scenario {
        prepare: |store| {
            let value = doc("config").default(now());
            store.fs.put(&doc("config").path(), value.to_string().as_bytes());
        },
        act: set_config,
        ..PLAIN
    },
    set_after_a_hand_deletion: Scenario {
        kinds: &["errors"],
        prepare: |store| {
            store.set("errors", "marker", json!("old")).unwrap();
            store.delete_by_hand("errors");
        },
        act: |store| store.set("errors", "marker", json!("new")),
        ..PLAIN
    },
    deletion_of_a_document_that_is_gone: Scenario {
        prepare: |store| {
            with_config(store);
            store.delete_by_hand("config");
        },
        act: |store| store.delete("config"),
        ..PLAIN
    },
    repair_of_a_document_that_is_gone: Scenario {
        prepare: |store| {
            with_config(store);
            store.delete_by_hand("config");
        },
        act: |store| store.repair("config"),
        ..PLAIN
    },
    set_beside_a_document_that_is_gone: Scenario {
        kinds: &["tools", "config"],
        prepare: |store| {
            with_pair(store);
            store.delete_by_hand("config");
        },
        act: |store| store.set("tools", "marker", json!("new")),
        ..PLAIN
    },
    create_in_a_sub_directory: Scenario {
        kinds: &["active_agents"],
        act: |store| store.set("active_agents", "marker", json!("new")),
        ..PLAIN
    },
    restore: Scenario {
        prepare: |store| {
            with_config(store);
            set_config(store).unwrap();
        },
        act: |store| {
            Ok(history::restore(
                &store.engine,
                &Target::whole(&doc("config"), None),
                1,
                Terms::default(),
                &actor(),
            )
            .map(drop)?)
        },
        ..PLAIN
    },
    undo: Scenario {
        prepare: |store| {
            with_config(store);
            set_config(store).unwrap();
        },
        act: |store| {
            Ok(history::undo(&store.engine, &Target::whole(&doc("config"), None), Terms::default(), &actor())
                .map(drop)?)
        },
        ..PLAIN
    },
    restore_from_an_older_segment: Scenario {
        segment_bytes: SMALL,
        kinds: &["active_agents", "work_queue"],
        prepare: |store| many_segments(store, "active_agents", 24),
        act: |store| {
            let doc = doc("active_agents");
            let oldest = history::history(&store.engine, &doc, history::Told::All)?[0].revision;
            Ok(history::restore(
                &store.engine,
                &Target::whole(&doc, None),
                oldest,
                Terms::default(),
                &actor(),
            )
            .map(drop)?)
        },
        ..PLAIN
    },
    a_commit_that_starts_a_new_segment: Scenario {
        kinds: &["active_agents", "work_queue"],
        segment_bytes: SMALL,
        prepare: |store| until_rotation(store, |_| {}),
        act: set_agents,
        ..PLAIN
    },
    a_new_segment_after_a_delete_and_a_hand_deletion: Scenario {
        kinds: &["active_agents", "work_queue", "errors"],
        segment_bytes: SMALL,
        prepare: |store| {
            until_rotation(store, |store| {
                store.delete("work_queue").unwrap();
                store.delete_by_hand("errors");
            });
        },
        act: set_agents,
        ..PLAIN
    },
    set_after_a_kill_at_the_commit_point: Scenario {
        prepare: |store| {
            with_config(store);
            interrupted(store, |store| store.set("config", "marker", json!("between")));
        },
        act: set_config,
        ..PLAIN
    },
    two_documents_after_a_kill_at_the_commit_point: Scenario {
        kinds: &["config", "tools"],
        prepare: |store| {
            with_pair(store);
            interrupted(store, |store| store.mark(&["config", "tools"], "between", Durability::Synced));
        },
        act: mark_pair,
        ..PLAIN
    },
    set_after_a_kill_in_the_first_commit: Scenario {
        prepare: |store| interrupted(store, |store| store.set("config", "marker", json!("between"))),
        act: set_config,
        ..PLAIN
    },
    a_document_with_new_texts: Scenario {
        kinds: &["queue"],
        act: |store| store.complete("new"),
        ..PLAIN
    },
    a_document_with_a_replaced_text_and_longer_logs: Scenario {
        kinds: &["queue"],
        prepare: |store| store.complete("old").unwrap(),
        act: |store| store.complete("new"),
        ..PLAIN
    },
    a_first_workflow: Scenario {
        kinds: &["workflow", "task_graph"],
        act: |store| store.plan_work("new"),
        ..PLAIN
    },
    the_next_phase_of_a_workflow: Scenario {
        kinds: &["workflow", "task_graph"],
        prepare: |store| {
            store.plan_work("old").unwrap();
            workflow::start(&store.engine, None, &actor()).unwrap();
        },
        act: |store| {
            let (said, status) = (flow::Report::default(), WorkflowStatus::Completed);
            Ok(workflow::report(&store.engine, "phase_0", status, &said, None, &actor()).map(drop)?)
        },
        ..PLAIN
    },
    a_workflow_that_makes_room_for_another_without_exchange: Scenario {
        kinds: &["workflow", "task_graph"],
        exchange: false,
        segment_bytes: SMALL,
        prepare: |store| store.plan_work("old").unwrap(),
        act: |store| store.plan_work("new"),
        ..PLAIN
    },
    a_report_to_the_pipeline: Scenario {
        kinds: &["pm_state", "group_status", "orchestrator_state", "dev_to_qa"],
        prepare: |store| {
            store.begin_run("old").unwrap();
            pipeline::plan(&store.engine, &json!({"task_groups": [{"id": "A"}]}), None, &actor()).unwrap();
            pipeline::next(&store.engine, None, &actor()).unwrap();
        },
        act: |store| {
            let said = pipeline::Report {
                role: Role::Developer,
                group: "A".into(),
                status: "READY_FOR_QA".into(),
                content: serde_json::Map::new(),
                order: None,
            };
            Ok(pipeline::report(&store.engine, &said, None, &actor()).map(drop)?)
        },
        ..PLAIN
    },
    texts_without_exchange: Scenario {
        kinds: &["queue"],
        exchange: false,
        prepare: |store| store.complete("old").unwrap(),
        act: |store| store.complete("new"),
        ..PLAIN
    },
    texts_after_a_kill_at_the_commit_point: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            store.complete("old").unwrap();
            interrupted(store, |store| store.complete("between"));
        },
        act: |store| store.complete("new"),
        ..PLAIN
    },
    texts_of_which_others_wrote_a_part: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            store.complete("old").unwrap();
            let log = ".coordination/logs/leader.log";
            let text = [store.fs.get(log).unwrap(), b"echo >> by hand\n".to_vec()].concat();
            store.fs.put(log, &text);
        },
        act: |store| store.complete("new"),
        ..PLAIN
    },
    texts_and_a_new_segment: Scenario {
        kinds: &["queue"],
        segment_bytes: 1_500,
        prepare: |store| {
            for number in 0..99 {
                store.complete(&format!("{number}")).unwrap();
                let fs = store.fs.after_kill();
                let before = segments(&fs);
                Store::new(&fs, 1_500).complete("new").unwrap();
                if segments(&fs) > before {
                    return;
                }
            }
            panic!("no rotation");
        },
        act: |store| store.complete("new"),
        ..PLAIN
    },
    a_worker_claims_a_task: Scenario {
        kinds: &["queue"],
        prepare: with_plan,
        act: |store| claim(store, "w1"),
        ..PLAIN
    },
    a_worker_completes_a_task_and_sets_another_free: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_plan(store);
            claim(store, "w1").unwrap();
        },
        act: |store| {
            let (worker, task) = ("w1".parse().unwrap(), "first".parse().unwrap());
            let on = work::On { worker: &worker, task: &task, epoch: Some(1) };
            Ok(work::complete(&store.engine, on, &Report::default(), &actor()).map(drop)?)
        },
        ..PLAIN
    },
    a_claim_that_uses_the_other_buffer_again: Scenario {
        kinds: &["queue"],
        prepare: with_buffers,
        act: |store| claim(store, "w2"),
        ..PLAIN
    },
    a_new_task_in_the_other_buffer: Scenario {
        kinds: &["queue"],
        prepare: with_buffers,
        act: |store| add(store, "fourth", &[]),
        ..PLAIN
    },
    the_last_task_goes: Scenario {
        kinds: &["queue"],
        prepare: with_buffers,
        act: |store| remove(store, "third"),
        ..PLAIN
    },
    a_new_task_where_another_one_was: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            remove(store, "third").unwrap();
        },
        act: |store| add(store, "fourth", &["second"]),
        ..PLAIN
    },
    a_task_that_is_gone_comes_back: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            remove(store, "third").unwrap();
        },
        act: |store| {
            Ok(history::undo(&store.engine, &Target::whole(&doc("queue"), None), Terms::default(), &actor())
                .map(drop)?)
        },
        ..PLAIN
    },
    a_task_that_takes_the_room_of_its_neighbours: Scenario {
        kinds: &["queue"],
        prepare: with_buffers,
        act: |store| describe(store, "second", 600),
        ..PLAIN
    },
    a_task_that_finds_no_room: Scenario {
        kinds: &["queue"],
        prepare: without_room,
        act: |store| describe(store, "second", 600),
        ..PLAIN
    },
    a_task_that_finds_no_room_without_exchange: Scenario {
        kinds: &["queue"],
        exchange: false,
        prepare: without_room,
        act: |store| describe(store, "second", 600),
        ..PLAIN
    },
    a_task_in_the_middle_goes: Scenario {
        kinds: &["queue"],
        prepare: with_buffers,
        act: |store| remove(store, "second"),
        ..PLAIN
    },
    a_task_in_the_middle_goes_without_exchange: Scenario {
        kinds: &["queue"],
        exchange: false,
        prepare: with_buffers,
        act: |store| remove(store, "second"),
        ..PLAIN
    },
    a_task_in_the_middle_goes_and_a_new_segment_begins: Scenario {
        kinds: &["queue"],
        segment_bytes: SMALL,
        prepare: |store| {
            with_buffers(store);
            for number in 0..99 {
                describe(store, "third", number).unwrap();
                let fs = store.fs.after_kill();
                let before = segments(&fs);
                remove(&Store::new(&fs, SMALL), "second").unwrap();
                if segments(&fs) > before {
                    return;
                }
            }
            panic!("no rotation");
        },
        act: |store| remove(store, "second"),
        ..PLAIN
    },
    a_task_in_the_middle_goes_after_an_edit_by_hand: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            store.edit_by_hand("queue", |value| value["tasks"][2]["description"] = "by hand".into());
        },
        act: |store| remove(store, "second"),
        ..PLAIN
    },
    a_claim_after_a_task_in_the_middle_went: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            remove(store, "second").unwrap();
        },
        act: |store| claim(store, "w2"),
        ..PLAIN
    },
    another_claim_after_a_task_in_the_middle_went: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            remove(store, "second").unwrap();
            add(store, "fourth", &[]).unwrap();
        },
        act: |store| claim(store, "w2"),
        ..PLAIN
    },
    a_claim_after_the_whole_queue_was_written: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            store.mark(&["queue"], "whole", Durability::Synced).unwrap();
        },
        act: |store| claim(store, "w2"),
        ..PLAIN
    },
    a_claim_after_an_edit_of_one_task_by_hand: Scenario {
        kinds: &["queue"],
        prepare: |store| {
            with_buffers(store);
            store.edit_by_hand("queue", |value| value["tasks"][1]["description"] = "by hand".into());
        },
        act: |store| claim(store, "w2"),
        ..PLAIN
    },
    a_claim_after_a_new_segment: Scenario {
        kinds: &["queue"],
        segment_bytes: SMALL,
        prepare: |store| {
            with_buffers(store);
            for number in 0..99 {
                // Both buffers hold what no sync has seen yet when the segment begins.
                let task = ["second", "third"][number % 2];
                let before = segments(&store.fs);
                describe(store, task, number).unwrap();
                if segments(&store.fs) > before {
                    return;
                }
            }
            panic!("no rotation");
        },
        act: |store| claim(store, "w2"),
        ..PLAIN
    },
    the_leader_imports_very_many_tasks: Scenario {
        kinds: &["queue"],
        act: |store| import(store, "new"),
        ..PLAIN
    },
    the_leader_imports_very_many_tasks_into_a_queue: Scenario {
        kinds: &["queue"],
        prepare: with_plan,
        act: |store| import(store, "new"),
        ..PLAIN
    },
    the_leader_imports_very_many_tasks_without_exchange: Scenario {
        kinds: &["queue"],
        exchange: false,
        prepare: with_plan,
        act: |store| import(store, "new"),
        ..PLAIN
    },
    the_leader_lays_out_a_queue: Scenario {
        kinds: &["queue"],
        act: |store| Ok(lead::init(&store.engine, &lead::Begin { goal: "the goal", ..Default::default() }, &actor()).map(drop)?),
        ..PLAIN
    },
    errors_leave_their_list_for_an_archive: Scenario {
        kinds: &["errors"],
        prepare: with_errors,
        act: |store| fail(store, 7),
        ..PLAIN
    },
    errors_leave_their_list_for_an_archive_that_there_is_without_exchange: Scenario {
        kinds: &["errors"],
        exchange: false,
        prepare: |store| {
            with_errors(store);
            (7..13).for_each(|number| fail(store, number).unwrap());
        },
        act: |store| fail(store, 13),
        ..PLAIN
    },
    errors_leave_their_list_and_a_new_segment_begins: Scenario {
        kinds: &["errors"],
        segment_bytes: SMALL,
        prepare: with_errors,
        act: |store| fail(store, 7),
        ..PLAIN
    },
    a_session_starts: Scenario {
        kinds: &["session of s1", "events of s1", "tasks of s1"],
        act: |store| start(store, "s1"),
        ..PLAIN
    },
    a_session_ends_and_gives_its_claims_back: Scenario {
        kinds: &["session of s1", "events of s1", "queue"],
        prepare: with_session,
        act: |store| Ok(sessions::end(&store.engine, &"s1".parse().unwrap(), &actor()).map(drop)?),
        ..PLAIN
    },
    a_session_hands_its_work_over: Scenario {
        kinds: &[
            "session of s2",
            "tasks of s1",
            "tasks of s2",
            "events of s1",
            "events of s2",
            "queue",
            "mailbox of s2",
            "sent of s1",
        ],
        prepare: |store| {
            with_session(store);
            start(store, "s2").unwrap();
        },
        act: |store| {
            let (from, to) = ("s1".parse().unwrap(), "s2".parse().unwrap());
            let handoff =
                Handoff { from: &from, to: &to, task: None, context: Some("the rest"), same_agent: false };
            Ok(handoff::handoff(&store.engine, handoff, &actor()).map(drop)?)
        },
        ..PLAIN
    },
    repair_of_a_cut_file: Scenario {
        prepare: |store| {
            with_config(store);
            let path = doc("config").path();
            let bytes = store.fs.get(&path).unwrap();
            store.fs.put(&path, &bytes[..bytes.len() / 2]);
        },
        act: |store| store.repair("config"),
        ..PLAIN
    },
    repair_of_a_wrong_shape: Scenario {
        prepare: |store| {
            with_config(store);
            store.edit_by_hand("config", |value| value["global"] = 5.into());
        },
        act: |store| store.repair("config"),
        ..PLAIN
    },
}

/// As many errors as are kept until the configuration is asked; then only three are.
fn with_errors(store: &Store) {
    store.set("config", "retention", json!({"errors": 3})).unwrap();
    // Nobody writes in that room any more who could tidy it up after a power loss.
    store.fs.flush();
    (0..7).for_each(|number| fail(store, number).unwrap());
}

fn fail(store: &Store, number: usize) -> Result<(), Failure> {
    let new = NewError { message: format!("failure {number}"), ..NewError::default() };
    Ok(errors::record(&store.engine, &new, None, &actor()).map(drop)?)
}

/// Two tasks, the second of which waits for the first.
fn with_plan(store: &Store) {
    add(store, "first", &[]).unwrap();
    add(store, "second", &["first"]).unwrap();
}

/// A queue whose file and other buffer are both in use.
pub fn with_buffers(store: &Store) {
    with_plan(store);
    add(store, "third", &[]).unwrap();
    claim(store, "w1").unwrap();
    describe(store, "third", 1).unwrap();
}

/// A queue in whose file there is not one blank too many.
fn without_room(store: &Store) {
    with_buffers(store);
    store.edit_by_hand("queue", |_| {});
}

/// A session with a task of its own and a claim.
fn with_session(store: &Store) {
    start(store, "s1").unwrap();
    with_plan(store);
    claim(store, "w1").unwrap();
    // The sign of life that a claim is may be lost with the power, unless something that is synced follows it.
    store.append("tasks of s1", "tasks", json!({"id": "own"})).unwrap();
}

fn start(store: &Store, id: &str) -> Result<(), Failure> {
    let id = id.parse().unwrap();
    Ok(sessions::start(&store.engine, Some(&id), &Start::default(), &actor()).map(drop)?)
}

pub fn add(store: &Store, id: &str, after: &[&str]) -> Result<(), Failure> {
    let dependencies = after.iter().map(|id| (*id).into()).collect();
    let new = NewTask { id: Some(id.into()), description: "d".into(), dependencies, ..NewTask::default() };
    Ok(lead::add(&store.engine, &new, &actor()).map(drop)?)
}

pub fn remove(store: &Store, id: &str) -> Result<(), Failure> {
    Ok(revise::remove(&store.engine, &[id.parse().unwrap()], false, &actor()).map(drop)?)
}

/// Gives a task a text of some length.
pub fn describe(store: &Store, id: &str, length: usize) -> Result<(), Failure> {
    let queue = doc("queue");
    let mut transaction = store.engine.begin(&[&queue.room])?;
    let mut item = transaction.item(&queue, id)?.unwrap();
    item["description"] = "x".repeat(length).into();
    transaction.put_item(&queue, id, item)?;
    Ok(transaction.commit(&entry(Durability::Synced)).map(drop)?)
}

/// Imports so many tasks that they are kept beside the journal.
fn import(store: &Store, description: &str) -> Result<(), Failure> {
    let task = |number| NewTask {
        id: Some(format!("t{number}").into()),
        description: description.into(),
        ..NewTask::default()
    };
    let tasks: Vec<_> = (0..4).map(task).collect();
    Ok(lead::import(&store.engine, &tasks, &actor(), &mut |_| {}).map(drop)?)
}

pub fn claim(store: &Store, worker: &str) -> Result<(), Failure> {
    let request = work::ClaimRequest { worker: &worker.parse().unwrap(), task: None, lease: None };
    Ok(work::claim(&store.engine, &request, &actor()).map(drop)?)
}

pub fn task(id: &str) -> Value {
    json!({"id": id, "description": "d", "status": "available", "priority": 1})
}

fn set_agents(store: &Store) -> Result<(), Failure> {
    store.set("active_agents", "marker", json!("new"))
}

/// Commits until there are older segments.
fn many_segments(store: &Store, kind: &str, commits: usize) {
    store.set("work_queue", "marker", json!("other")).unwrap();
    for number in 0..commits {
        store.set(kind, "marker", json!(format!("{number:040}"))).unwrap();
    }
    assert!(segments(&store.fs) > 1, "no rotation: {:?}", store.fs.files());
}

/// Commits until the next one starts a new segment; `last` comes shortly before.
fn until_rotation(store: &Store, last: fn(&Store)) {
    store.set("errors", "marker", json!("old")).unwrap();
    store.set("work_queue", "marker", json!("old")).unwrap();
    for number in 0..99 {
        store.set("active_agents", "marker", json!(format!("{number:040}"))).unwrap();
        let fs = store.fs.after_kill();
        let rehearsal = Store::new(&fs, SMALL);
        last(&rehearsal);
        let before = segments(&fs);
        set_agents(&rehearsal).unwrap();
        if segments(&fs) > before {
            return last(store);
        }
    }
    panic!("no rotation: {:?}", store.fs.files());
}

fn segments(fs: &SimFs) -> usize {
    fs.files().iter().filter(|path| path.contains("/journal-")).count()
}

impl Scenario {
    /// Returns the disk before the operation.
    pub fn disk(&self) -> SimFs {
        let fs = SimFs::new();
        fs.set_exchange_supported(self.exchange);
        (self.prepare)(&self.store(&fs));
        fs.after_kill()
    }

    pub fn store(&self, fs: &SimFs) -> Store {
        Store::new(fs, self.segment_bytes)
    }

    pub fn docs(&self) -> Vec<Doc> {
        self.kinds.iter().map(|kind| doc(kind)).collect()
    }

    pub fn rooms(&self) -> Vec<Room> {
        let mut rooms: Vec<_> = self.docs().into_iter().map(|doc| doc.room).collect();
        rooms.dedup();
        rooms
    }

    /// Runs the operation under a plan on a copy of `disk`.
    pub fn run(&self, disk: &SimFs, plan: Plan) -> (SimFs, Result<(), Failure>) {
        let fs = disk.after_kill();
        let store = self.store(&fs);
        fs.set_plan(plan);
        let result = (self.act)(&store);
        (fs, result)
    }
}
