//! Files that are not what they should be: refused, kept, mended on request.

#![expect(clippy::disallowed_methods, reason = "plays the editor that damages files")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anthill_testkit::test_env::TestEnv;

use crate::env;

const CONFIG: &str = "user/.claude/orchestration/config.json";

fn configured() -> TestEnv {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    env
}

#[test]
fn half_a_file_is_refused_found_and_repaired() {
    let env = configured();
    let whole = env.read(CONFIG);
    let half = &whole[..whole.len() / 2];
    env.write(CONFIG, half);
    let (line, column) = end_of(half);
    for args in [&["get", "config"][..], &["set", "config", "x", "1"]] {
        let ran = env.run(args);
        assert_eq!(ran.code, 7, "{}", ran.shown());
        let place = format!("$TEST_ENV/{CONFIG}` is damaged at line {line}, column {column}");
        assert!(ran.stderr.contains(&place), "expected {place}\n{}", ran.shown());
        assert_eq!(env.read(CONFIG), half, "the bytes stay");
    }
    let report = env.run(&["doctor", "--json"]);
    assert_eq!(report.code, 7);
    let finding = &report.json()["findings"][0];
    assert_eq!((&finding["code"], &finding["severity"]), (&"damaged".into(), &"error".into()));
    assert_eq!(finding["subject"], format!("$TEST_ENV/{CONFIG}"));
    assert_eq!(env.read(CONFIG), half, "looking mends nothing");

    let report = env.json(&["doctor", "--repair"]);
    assert_eq!((&report["ok"], &report["findings"][0]["severity"]), (&true.into(), &"repaired".into()));
    assert_eq!(env.read(CONFIG), whole);
    assert_eq!(env.read("user/.claude/orchestration/.anthill/quarantine/config.json.1"), half);
    assert_eq!(env.json(&["doctor"])["findings"].as_array().unwrap().len(), 0);
    env.ok(&["set", "config", "x", "1", "--expect-revision", "1"]);
}

/// In a copy, as after a reboot, nobody can tell a damaged edit from a torn write: the last commit counts, and what stood
/// there is kept and told.
#[test]
fn what_is_replaced_in_a_copy_is_told_once() {
    let env = configured();
    env.write(CONFIG, "{ half an edit");
    let copied = env.sh("cp -r $HOME/.claude $HOME/copy");
    assert_eq!(copied.code, 0, "{}", copied.shown());
    let set = |value: &str| {
        env.ok(&["set", "config", "x", value, "--home", &format!("{}/copy", env.user().display())])
    };
    let told = set("1");
    let kept = "user/copy/orchestration/.anthill/quarantine/config.json.1";
    for part in ["warning: `", "copy/orchestration/config.json` could not be read and was replaced", kept] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
    assert_eq!(env.read_text(kept), "{ half an edit");
    assert!(!set("2").stderr.contains("warning"), "once");
    let report = env.json(&["doctor", "--home", &format!("{}/copy", env.user().display())]);
    assert!(report["notes"].to_string().contains("quarantine/config.json.1"), "{report}");
}

/// Returns line and column of the last character.
fn end_of(bytes: &[u8]) -> (usize, usize) {
    let text = std::str::from_utf8(bytes).unwrap();
    let (before, last) = text.rsplit_once('\n').unwrap();
    (before.lines().count() + 1, last.chars().count())
}

#[test]
fn every_kind_of_spoiled_text_is_refused_and_kept() {
    let env = configured();
    let good = env.read_text(CONFIG);
    let spoiled = [
        String::new(),
        " \n".into(),
        "\0".repeat(good.len()),
        "null".into(),
        "[]".into(),
        "\"text\"".into(),
        good.replace("3600", "\"long\""),
        good.replace("\"global\"", "\"global\": {}, \"global\""),
        good.replacen('{', "{,", 1),
        good.replace("true", "True"),
        format!("{good}{good}"),
        format!("<<<<<<< ours\n{good}=======\n{good}>>>>>>> theirs\n"),
        good.replace("3600", &("[".repeat(100) + &"]".repeat(100))),
        good.replace("myapp", "my\napp"),
    ];
    for text in spoiled {
        env.write(CONFIG, &text);
        for args in [&["get", "config"][..], &["set", "config", "x", "1"], &["validate"], &["doctor"]] {
            let ran = env.run(args);
            assert_eq!(ran.code, 7, "{args:?} on {text}\n{}", ran.shown());
            assert!(ran.stderr.contains("config.json"), "{}", ran.shown());
            assert_eq!(env.read_text(CONFIG), text, "{args:?} changed the file");
        }
    }
    let broken = [good.as_bytes(), b"\xff\xfe"].concat();
    env.write(CONFIG, &broken);
    assert_eq!(env.run(&["set", "config", "x", "1"]).code, 7);
    assert_eq!(env.read(CONFIG), broken);
    env.ok(&["doctor", "--repair"]);
    assert_eq!(env.read_text(CONFIG), good);
}

#[test]
fn harmless_edits_are_accepted() {
    let env = configured();
    let good = env.read_text(CONFIG);
    for text in [
        good.replace("\n  ", "\r\n\t"),
        good.replace('\n', " "),
        format!("\u{feff}{good}"),
        good.replace("3600", "60"),
        good.replace("\"features\"", "\"x_more\": {\"a\": [1]},\n  \"features\""),
    ] {
        env.write(CONFIG, &text);
        env.ok(&["get", "config"]);
        env.ok(&["set", "config", "x", "1"]);
        assert_eq!(env.json(&["doctor"])["ok"], true, "{text}");
    }
    let history = env.json(&["history", "config"]);
    // What is the same but for white space is what the document was: somebody went back to it.
    let by_hand = |record: &&serde_json::Value| record["op"] == "edit" || record["op"] == "restore";
    let edits = history.as_array().unwrap().iter().filter(by_hand).count();
    assert_eq!(edits, 5, "each edit is in the history: {history:#}");
}

#[test]
fn a_file_without_history_cannot_be_restored_and_is_kept() {
    let env = env();
    env.write(CONFIG, "{\n  \"global\": \n");
    for args in [&["get", "config"][..], &["doctor"], &["doctor", "--repair"]] {
        assert_eq!(env.run(args).code, 7, "{args:?}");
        assert_eq!(env.read_text(CONFIG), "{\n  \"global\": \n");
    }
}

/// Puts something else in the place of the configuration and insists that it is refused and left alone.
#[track_caller]
fn refuses(put: impl FnOnce(&Path)) {
    let env = configured();
    let path = env.root().join(CONFIG);
    fs::remove_file(&path).unwrap();
    env.write("elsewhere.json", r#"{"version": "2.0.0"}"#);
    put(&path);
    let before = env.bytes();
    for args in [
        &["get", "config"][..],
        &["set", "config", "x", "1"],
        &["append", "config", "x", "1"],
        &["delete", "config", "."],
        &["undo", "config"],
        &["validate"],
        &["doctor"],
        &["doctor", "--repair"],
    ] {
        let ran = env.run(args);
        assert_eq!(ran.code, 7, "{args:?}\n{}", ran.shown());
        assert!(ran.stderr.contains("config.json"), "{args:?}\n{}", ran.shown());
        assert!(env.bytes() == before, "{args:?} changed something");
    }
}

#[test]
fn a_link_in_place_of_a_document() {
    refuses(|path| symlink("../../../elsewhere.json", path).unwrap());
}

#[test]
fn a_dangling_link_in_place_of_a_document() {
    refuses(|path| symlink("/nowhere/at/all", path).unwrap());
}

#[test]
fn a_fifo_in_place_of_a_document() {
    refuses(|path| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    });
}

#[test]
fn a_directory_in_place_of_a_document() {
    refuses(|path| fs::create_dir(path).unwrap());
}

#[test]
fn a_linked_room_is_not_entered() {
    let env = configured();
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, env.project().join("coordination")).unwrap();
    let ran = env.run(&["set", "pm_state", "x", "1"]);
    assert_eq!(ran.code, 8, "{}", ran.shown());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let hidden = env.home().join("orchestration/.anthill");
    fs::rename(&hidden, elsewhere.join("hidden")).unwrap();
    symlink(elsewhere.join("hidden"), &hidden).unwrap();
    let before = env.bytes();
    let ran = env.run(&["set", "config", "x", "1"]);
    assert_eq!(ran.code, 8, "{}", ran.shown());
    assert!(env.bytes() == before, "a write went through a link");
}

#[test]
fn only_the_user_may_read_what_is_written_whatever_the_umask() {
    let env = env();
    for line in [
        "anthill set config global.default_project '\"myapp\"'",
        "anthill set config x 1",
        "anthill set epics x 1",
        "anthill set session x 1 --session-id s1",
        "anthill set queue x 1",
        "anthill set agent_result x 1 --agent-id a1",
        "echo > $HOME/.claude/orchestration/config.json; anthill doctor --repair",
    ] {
        let ran = env.sh(&format!("umask 000; {line}"));
        assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
    }
    let mut seen = 0;
    for root in ["user/.claude", "project/.coordination", "project/.claude"] {
        check_modes(&env.root().join(root), &mut seen);
    }
    assert!(seen > 20, "only {seen} names were looked at");
}

fn check_modes(path: &Path, seen: &mut usize) {
    let metadata = fs::symlink_metadata(path).unwrap();
    let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(metadata.permissions().mode() & 0o7777, expected, "{}", path.display());
    *seen += 1;
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| check_modes(&entry.unwrap().path(), seen));
    }
}

#[test]
fn a_damaged_journal_is_kept_aside_and_the_state_stays() {
    let env = configured();
    env.ok(&["set", "config", "x", "1"]);
    env.ok(&["set", "config", "x", "2"]);
    let journal = "user/.claude/orchestration/.anthill/journal.jsonl";
    let mut bytes = env.read(journal);
    bytes[20] ^= 1;
    env.write(journal, &bytes);
    fs::remove_file(env.home().join("orchestration/.anthill/head.json")).unwrap();
    assert_eq!(env.json(&["get", "config", "--field", "x"]), 2);
    env.ok(&["set", "config", "x", "3"]);
    assert_eq!(env.json(&["get", "config"])["revision"], 4);
    assert_eq!(env.json(&["doctor"])["ok"], true);
    let kept = env.read("user/.claude/orchestration/.anthill/quarantine/journal.jsonl.1");
    assert_eq!(kept, bytes);
}

#[test]
fn what_is_no_text_is_not_written_to() {
    let env = env();
    env.ok(&["leader", "add-task", "First", "--id", "t1"]);
    let log = env.project().join(".coordination/logs/leader.log");
    fs::rename(&log, log.with_extension("old")).unwrap();
    symlink(env.root().join("outside"), &log).unwrap();
    let before = env.bytes();
    let refused = env.run(&["leader", "add-task", "Second"]);
    assert_eq!(refused.code, 7, "{}", refused.shown());
    assert!(refused.stderr.contains("leader.log"), "{}", refused.stderr);
    assert_eq!(env.bytes(), before, "nothing was changed, nothing was written through the link");
    let report = env.run(&["doctor"]);
    assert!(report.code == 7 && report.shown().contains("leader.log"), "{}", report.shown());
    fs::rename(log.with_extension("old"), &log).unwrap();
    env.ok(&["leader", "add-task", "Second"]);
    env.ok(&["doctor"]);
}

/// As after a check of a disk that lost power: a plain file stands where a folder of texts was.
#[test]
fn what_stands_in_the_place_of_a_folder_is_named_and_moved_aside() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    env.ok(&["message", "send", "a", "b", "note", "1"]);
    let home = "user/.claude/orchestration/messages";
    let folders = [
        (format!("{home}/b/inbox"), &["message", "send", "a", "b", "note", "2"][..], "mailbox"),
        (format!("{home}/a/outbox"), &["message", "send", "a", "b", "note", "3"], "mailbox"),
        ("project/.coordination/logs".into(), &["worker", "claim", "w1"], "queue"),
    ];
    for (folder, command, room) in folders {
        fs::remove_dir_all(env.root().join(&folder)).unwrap();
        env.write(&folder, "no folder");
        let ran = env.run(command);
        assert_eq!(ran.code, 6, "{room}: {}", ran.shown());
        assert!(ran.stderr.contains("anthill doctor"), "{}", ran.shown());
        let report = env.run(&["doctor"]);
        assert_eq!(report.code, 7, "{}", report.shown());
        let told = format!("{}` is damaged", folder);
        assert!(report.stderr.contains(&told), "{told}\n{}", report.shown());
        assert!(report.stderr.contains("anthill doctor --repair"), "{}", report.shown());
        let repaired = env.run(&["doctor", "--repair"]);
        assert!(env.root().join(&folder).symlink_metadata().map_or(true, |found| found.is_dir()));
        assert!(repaired.stderr.contains("moved to"), "{}", repaired.shown());
        env.ok(command);
    }
}
