//! How much history stays.

use anthill_core::model::hint::Plain;
use anthill_core::model::kind::{Doc, Kind};
use anthill_core::ops::edit::{self, Target};
use anthill_core::ops::{Actor, history};
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;

use super::stores::{TINY, options, sim_fs, simulated};

#[test]
fn the_configuration_says_how_many_segments_stay() {
    let (home, project) = (sim_fs(true), sim_fs(true));
    let engine = simulated(&home, &project, options(TINY));
    let doc = |name: &str| {
        let kind = Kind::find(name).unwrap();
        Doc::shared(kind, kind.room().unwrap())
    };
    let actor = Actor {
        clock: Arc::new(Timestamp::UNIX_EPOCH),
        session: None,
        acting: None,
        user: "test".into(),
        door: &Plain,
    };
    let set = |doc: &Doc, path: &str, value| {
        let target = Target { doc, path: &path.parse().unwrap(), expect: None };
        edit::set(&engine, &target, value, &actor).unwrap()
    };
    let segments = || project.files().iter().filter(|file| file.contains("/journal-")).count();
    let workflow = doc("workflow");
    for round in 0..40 {
        set(&workflow, "task", json!(format!("round {round}")));
    }
    let before = segments();
    assert!(before > 3, "{before} segments");

    set(&doc("config"), "journal", json!({"kept_segments": 2}));
    for round in 0..20 {
        set(&workflow, "task", json!(format!("again {round}")));
    }
    assert_eq!(segments(), 2);
    let newest = history::history(&engine, &workflow, history::Told::All)
        .unwrap()
        .last()
        .map(|record| record.revision);
    assert_eq!(newest, Some(60), "what is kept is the newest");
}
