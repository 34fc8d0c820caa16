//! The benchmark, at its smallest: that it measures, tells and tidies, not what it finds.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::Value;

use crate::env;

/// Runs a benchmark of tiny queues, with temporary files below the test's own directory.
fn bench(env: &TestEnv, args: &[&str]) -> Ran {
    let temp = env.root().join("temp");
    std::fs::create_dir_all(&temp).unwrap();
    let small = ["bench", "--quick", "--sizes", "50,10", "--rounds", "2"];
    let mut command = env.command(&[&small, args].concat());
    let ran = env.finish(command.env_remove("ANTHILL_NOW").env("TMPDIR", &temp), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let left: Vec<_> = std::fs::read_dir(&temp).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    ran
}

/// The rows of an old store beside a new one.
const OF_THE_PAST: [&str; 26] = [
    "B44", "B45", "B46", "B47", "B48", "B49", "B50", "B51", "B52", "B53", "B54", "B55", "B60", "B61", "B62",
    "B63", "B64", "B65", "B66", "B67", "B68", "B69", "B70", "B71", "B72", "B73",
];

#[test]
fn an_old_store_is_measured_by_itself_before_and_after_cleaning() {
    let env = env();
    let report = bench(&env, &["--past", "--json"]).json();
    let rows = report["rows"].as_array().unwrap();
    rows.iter().for_each(is_whole);
    let ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, OF_THE_PAST.iter().flat_map(|id| [*id; 2]).collect::<Vec<_>>());
    let cleaned = rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with("cleaned "));
    assert_eq!(cleaned.count(), OF_THE_PAST.len());
    assert!(rows.iter().all(|row| row["times_limit"].is_number()), "{rows:?}");
}

#[test]
fn figures_come_as_one_json_document_and_a_picture() {
    let env = env();
    env.ok(&["leader", "init", "mine"]);
    let before = env.bytes();
    let report = bench(&env, &["--json", "--svg", "claim.svg"]).json();

    assert_eq!(report["sizes"], serde_json::json!([10, 50]));
    let rows = report["rows"].as_array().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    for id in [
        "B01", "B02", "B03", "B04", "B05", "B06", "B09", "B11", "B12", "B13", "B14", "B15", "B16", "B18",
        "B19", "B20", "B21", "B24", "B25", "B30", "B40", "B41", "B42", "B43",
    ]
    .iter()
    .chain(&OF_THE_PAST)
    {
        assert!(ids.contains(id), "{id} is missing: {ids:?}");
    }
    rows.iter().for_each(is_whole);
    let claims: Vec<_> = rows.iter().filter(|row| row["name"] == "claim").map(|row| &row["tasks"]).collect();
    assert_eq!(claims, [10, 50]);
    assert!(report["growth"].as_array().unwrap().iter().any(|growth| growth["name"] == "claim"));

    is_well_formed(&env.read_text("project/claim.svg"));
    let mut after = env.bytes();
    after.remove("project/claim.svg");
    assert_eq!(before, after, "the user's own state is not touched");
}

#[track_caller]
fn is_whole(row: &Value) {
    if row["error"].is_string() {
        // Until `worker list` has --limit.
        assert!(row["id"] == "B13" || row["id"] == "B14", "{row}");
        return;
    }
    assert!(row["p50"].as_f64().is_some_and(|p50| p50 > 0.0), "{row}");
    assert!(row["rounds"].as_u64().is_some_and(|rounds| rounds > 0), "{row}");
    assert_eq!(row["met"].is_boolean(), row["target"].is_string() && row["busy"] == false, "{row}");
    if row["unit"] == "ms" {
        assert!(row["times_floor"].as_f64().is_some_and(|times| times > 0.0), "{row}");
    }
}

/// Every tag that is opened is closed, in order.
#[track_caller]
fn is_well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("tags end");
        let name = tag.split([' ', '\n']).next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{svg}"),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty() && svg.starts_with("<svg "), "{svg}");
}

#[test]
fn a_person_gets_a_table_and_a_plot() {
    let env = env();
    let ran = bench(&env, &[]);
    for part in ["P50 MS", "B01  start", "B09  claim", "GROWTH", "ONE CLAIM", "* anthill", "B26  claim"] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    assert!(ran.stderr.contains("measured in"), "{}", ran.stderr);
}

#[test]
fn what_is_no_option_is_refused() {
    let env = env();
    for wrong in [["--fast", "1"], ["--sizes", "0"], ["--rounds", "0"], ["--sizes", "many"]] {
        assert_eq!(env.run(&[&["bench"], &wrong[..]].concat()).code, 2, "{wrong:?}");
    }
}
