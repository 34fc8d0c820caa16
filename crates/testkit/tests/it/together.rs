//! Several projects in one process, at work at the same time: they share a home and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use anthill_core::model::ids::Key;
use anthill_core::model::new_task::NewTask;
use anthill_core::model::room::Room;
use anthill_core::model::task::Report;
use anthill_core::ops::queue::lead;
use anthill_core::ops::queue::work::{self, Claim, ClaimRequest, On};
use anthill_core::store::file::FileEngine;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::{Cursor, Engine, Upkeep};
use anthill_testkit::conformance::actor;

use crate::stores::{NORMAL, options, temp_dir};

const TASKS: usize = 20;

#[test]
fn two_projects_in_one_process_do_not_meet() {
    let dir = temp_dir();
    let engine = |project: &str| {
        let fs = |name: &str| Arc::new(RealFs::new(dir.path().join(name)));
        FileEngine::new(fs("home"), fs(project), options(NORMAL))
    };
    let projects = ["one", "other"].map(|name| (name, engine(name)));
    thread::scope(|scope| {
        for (name, engine) in &projects {
            scope.spawn(move || {
                for number in 0..TASKS {
                    let id = format!("{name}-{number}");
                    let new = NewTask { id: Some(id.into()), description: "x".into(), ..NewTask::default() };
                    lead::add(engine, &new, &actor()).unwrap();
                }
            });
            for worker in ["w1", "w2"] {
                scope.spawn(move || work_through(engine, &worker.parse().unwrap()));
            }
        }
    });
    for (name, engine) in &projects {
        for worker in ["w1", "w2"] {
            work_through(engine, &worker.parse().unwrap());
        }
        let told = engine.commits_since(&Cursor::default(), usize::MAX).unwrap();
        let done = told.commits.iter().filter(|commit| commit.op == "complete");
        let names =
            done.flat_map(|commit| &commit.revisions).flat_map(|(_, revision)| revision.names.values());
        let done: BTreeSet<_> = names.filter(|id| id.starts_with(name)).collect();
        assert_eq!(done.len(), TASKS, "{name}: each task is done");
        let other = told.commits.iter().flat_map(|commit| &commit.revisions);
        assert!(
            other
                .flat_map(|(_, revision)| revision.names.values())
                .all(|id| { id.starts_with(name) || id.starts_with('w') })
        );
        assert_eq!(engine.check(&Room::Queue, false).unwrap(), []);
    }
}

fn work_through(engine: &dyn Engine, worker: &Key) {
    let mut idle = 0;
    while idle < 3 {
        match work::claim(engine, &ClaimRequest { worker, task: None, lease: None }, &actor()) {
            Ok(Claim::Claimed { task, .. }) => {
                let task: Key = task.id().parse().unwrap();
                let on = On { worker, task: &task, epoch: None };
                work::complete(engine, on, &Report::default(), &actor()).unwrap();
            }
            // There may be no queue yet, or nothing in it.
            _ => idle += 1,
        }
    }
}
