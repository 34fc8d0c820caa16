//! What may happen to a loop.

use super::*;
use crate::model::hint::Plain;
use crate::model::time::Moment;

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

/// So many seconds later.
fn at(seconds: i64) -> Moment {
    Moment { at: Timestamp::from_second(seconds).unwrap(), boot: None }
}

fn by(who: &str) -> Holder<'_> {
    Holder { who, session: None, run: None, lease: 600.0 }
}

fn take(work: &mut WorkLoop, who: &str, id: Option<&str>) -> Result<String, Refusal> {
    work.take(&by(who), id, &at(0))
}

fn started() -> WorkLoop {
    WorkLoop::new("auth", Options::default(), now())
}

fn item(priority: Severity, title: &str) -> NewItem {
    NewItem { priority, title: title.into(), ..NewItem::default() }
}

fn check(ended: Ended) -> Check {
    Check {
        ended,
        issues: None,
        severity: None,
        default_severity: Severity::S1,
        blocking: true,
        detected: false,
        seconds: None,
        failures: Failures::default(),
    }
}

/// Runs an iteration in which these gates end so.
fn iterate(work: &mut WorkLoop, gates: &[(&str, i32)]) -> Verdict {
    for (name, code) in gates {
        work.note_gate(name, &check(Ended::Exit(*code)), None, now());
    }
    work.evaluate(&|gate| format!("about {gate}"), true, now(), &Plain)
}

/// The same with one gate that prints this and fails.
fn fail_with(work: &mut WorkLoop, output: &str) -> Verdict {
    let failed = Check { failures: Failures::of(output), ..check(Ended::Exit(1)) };
    work.note_gate("test", &failed, None, now());
    work.evaluate(&|_| output.to_owned(), true, now(), &Plain)
}

fn stands(work: &WorkLoop) -> (u64, u64, &str, &str) {
    (
        work.iteration(),
        work.number(WorkQueue::consecutive_passes),
        text(&work.queue, WorkQueue::phase),
        work.status(),
    )
}

#[test]
fn every_phase_is_in_the_table_once() {
    let names: Vec<String> = PHASES.iter().map(|facts| word(facts.phase)).collect();
    let expected =
        "CONTEXTUALIZE ASSESS META-COGNITION PLAN BUILD TEST QUALITY REASSESS EVALUATE RECOVER DONE";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn gates_are_judged_by_exit_code_issues_and_severity() {
    use GateStatus::{Fail, Pass, Skip, Warn};
    let told = |issues, severity| Check { issues: Some(issues), severity, ..check(Ended::Told) };
    let lenient = |ended| Check { blocking: false, ..check(ended) };
    let detected = |ended| Check { detected: true, ..check(ended) };
    let cases = [
        (check(Ended::Exit(0)), Pass),
        (check(Ended::Exit(1)), Fail),
        (detected(Ended::Exit(127)), Skip),
        (detected(Ended::Missing), Skip),
        (detected(Ended::Exit(126)), Fail),
        (check(Ended::Exit(127)), Fail),
        (check(Ended::Exit(126)), Fail),
        (check(Ended::Missing), Fail),
        (lenient(Ended::Missing), Warn),
        (check(Ended::Signal(9)), Fail),
        (check(Ended::TimedOut(600.0)), Fail),
        (lenient(Ended::Exit(1)), Warn),
        (lenient(Ended::Exit(0)), Pass),
        (told(0, None), Pass),
        (told(0, Some(Severity::S0)), Pass),
        (told(1, None), Fail),
        (told(1, Some(Severity::S1)), Fail),
        (told(1, Some(Severity::S2)), Warn),
        (Check { issues: Some(2), severity: Some(Severity::S3), ..check(Ended::Exit(1)) }, Warn),
        (Check { issues: Some(2), ..check(Ended::Exit(0)) }, Fail),
    ];
    for (check, expected) in cases {
        assert_eq!(check.status(), expected, "{check:?}");
    }
}

#[test]
fn two_passes_in_a_row_complete_a_loop_without_open_items() {
    let mut work = started();
    assert_eq!(stands(&work), (1, 0, "CONTEXTUALIZE", "in_progress"));
    assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Passed);
    assert_eq!(stands(&work), (2, 1, "CONTEXTUALIZE", "in_progress"));
    assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete);
    assert_eq!(stands(&work), (2, 2, "DONE", "complete"));
    let before = work.clone();
    assert_eq!(work.evaluate(&|_| String::new(), true, now(), &Plain), Verdict::Complete);
    assert_eq!(work, before, "once complete, a pass changes nothing");
    work.add(&item(Severity::S2, "more"));
    assert_eq!(stands(&work), (3, 0, "ASSESS", "assessing"));
}

#[test]
fn open_items_keep_a_loop_from_being_complete() {
    let mut work = started();
    let id = work.add(&item(Severity::S2, "x"));
    for passes in 1..4 {
        assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Passed);
        assert_eq!(work.number(WorkQueue::consecutive_passes), passes);
    }
    work.done(&id).unwrap();
    assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete);
}

#[test]
fn a_failed_gate_becomes_one_item_and_a_passing_one_finishes_it() {
    let mut work = started();
    iterate(&mut work, &[("lint", 0)]);
    assert_eq!(iterate(&mut work, &[("lint", 1), ("test", 0)]), Verdict::Failed(vec!["lint".into()]));
    assert_eq!(stands(&work), (3, 0, "RECOVER", "recovering"));
    let made = json!({
        "id": "work-001", "priority": "S1", "title": "Fix the failed gate: lint", "description": "about lint",
        "status": "pending", "added_iteration": 2, "completed_iteration": null, "gate": "lint",
    });
    assert_eq!(work.items(), [made]);
    assert_eq!(
        iterate(&mut work, &[("lint", 2), ("test", 1)]),
        Verdict::Failed(vec!["lint".into(), "test".into()])
    );
    assert_eq!(work.items().len(), 2, "not doubled");
    iterate(&mut work, &[("lint", 0), ("test", 1)]);
    assert_eq!(work.items()[0]["completed_iteration"], 4);
    iterate(&mut work, &[("lint", 1), ("test", 0)]);
    assert_eq!(work.items().len(), 3, "it failed again after it was done");
    let history: Vec<_> = work.queue["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["fixed"].as_u64().unwrap(), entry["new_issues"].as_u64().unwrap()))
        .collect();
    assert_eq!(history, [(0, 0), (0, 1), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn the_same_failures_call_for_another_approach_and_then_stop_the_loop() {
    let mut work = started();
    iterate(&mut work, &[("lint", 1)]);
    iterate(&mut work, &[("lint", 1)]);
    assert_eq!(stands(&work), (3, 0, "REASSESS", "reassessing"));
    assert!(
        matches!(iterate(&mut work, &[("lint", 1)]), Verdict::Stopped(reason) if reason.ends_with(": lint"))
    );
    assert_eq!(stands(&work), (3, 0, "EVALUATE", "stopped"));
    take(&mut work, "ann", None).unwrap();
    assert_eq!(work.status(), STOPPED, "work goes on, the loop does not");
    work.resume(Options::default());
    assert_eq!(stands(&work), (4, 0, "CONTEXTUALIZE", "in_progress"));
    assert_eq!(iterate(&mut work, &[("lint", 1)]), Verdict::Failed(vec!["lint".into()]));
    let mut other = started();
    iterate(&mut other, &[("lint", 1)]);
    iterate(&mut other, &[("lint", 1), ("test", 1)]);
    assert_eq!(other.number(WorkQueue::same_failures), 1, "others count anew");
}

#[test]
fn a_loop_has_so_many_iterations_and_no_more() {
    let options = Options { max_iterations: Some(2), pause_on: None };
    let mut work = WorkLoop::new("auth", options, now());
    iterate(&mut work, &[("lint", 1)]);
    assert!(matches!(iterate(&mut work, &[("lint", 0)]), Verdict::Stopped(_)));
    assert_eq!(stands(&work), (2, 1, "EVALUATE", "stopped"));
    let mut work = WorkLoop::new("auth", options, now());
    iterate(&mut work, &[("lint", 0)]);
    assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete, "the last one counts");
}

#[test]
fn bad_items_hold_the_loop_up_until_they_are_done() {
    for (pause_on, priority, held) in [
        (PauseOn::S0, Severity::S0, true),
        (PauseOn::S0, Severity::S1, false),
        (PauseOn::S1, Severity::S1, true),
        (PauseOn::Never, Severity::S0, false),
    ] {
        let mut work = WorkLoop::new("t", Options { max_iterations: None, pause_on: Some(pause_on) }, now());
        let id = work.add(&item(priority, "bad"));
        assert_eq!(matches!(iterate(&mut work, &[("lint", 0)]), Verdict::Paused(_)), held);
        assert_eq!(work.status() == PAUSED, held);
        take(&mut work, "ann", None).unwrap();
        assert_eq!(work.status() == PAUSED, held);
        work.done(&id).unwrap();
        assert_eq!((work.status(), work.reason()), ("building", ""));
    }
}

#[test]
fn the_worst_item_is_taken_first_and_by_one() {
    let mut work = started();
    for (priority, title) in
        [(Severity::S2, "a"), (Severity::S0, "b"), (Severity::S1, "c"), (Severity::S0, "d")]
    {
        work.add(&item(priority, title));
    }
    assert_eq!(work.add(&item(Severity::S1, "c")), "work-003", "the same one");
    assert_eq!(take(&mut work, "ann", None), Ok("work-002".into()));
    assert_eq!(take(&mut work, "ann", None), Ok("work-002".into()), "she has it in hand");
    assert_eq!(take(&mut work, "bob", None), Ok("work-004".into()));
    let taken = Refusal::Taken { id: "work-002".into(), by: "ann".into() };
    assert_eq!(take(&mut work, "bob", Some("work-002")), Err(taken));
    work.done("work-002").unwrap();
    work.done("work-002").unwrap();
    assert_eq!(
        take(&mut work, "ann", Some("work-002")).unwrap_err().to_string(),
        "the item `work-002` is done"
    );
    assert_eq!(take(&mut work, "ann", None), Ok("work-003".into()));
    work.done("work-003").unwrap();
    assert_eq!(take(&mut work, "ann", Some("work-001")), Ok("work-001".into()));
    let nothing = Refusal::Nothing { held: Some(("work-001".into(), "ann".into())) };
    assert_eq!(take(&mut work, "cy", None), Err(nothing.clone()));
    work.settle(&by("cy"), "work-004", false, &at(0)).unwrap();
    assert_eq!(take(&mut work, "cy", None), Err(nothing), "it is not hers");
    work.settle(&by("bob"), "work-004", false, &at(0)).unwrap();
    assert_eq!(take(&mut work, "cy", None), Ok("work-004".into()));
    assert!(matches!(work.done("work-9"), Err(Refusal::NoItem { .. })));
}

#[test]
fn a_document_of_the_source_can_be_worked_on() {
    let queue = json!({
        "version": 1, "task": "auth", "iteration": 3, "consecutive_passes": 1, "mine": 1,
        "items": [{"id": "work-001", "priority": "S1", "status": "done"}, {"id": "work-002", "status": "pending"}],
        "gate_results": {"lint": {"status": "pass", "timestamp": "...", "mine": 2}},
    });
    let mut work = WorkLoop { queue };
    assert_eq!(take(&mut work, "ann", None), Ok("work-002".into()));
    work.done("work-002").unwrap();
    assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete);
    assert_eq!((&work.queue["mine"], &work.queue["gate_results"]["lint"]["mine"]), (&json!(1), &json!(2)));
}

#[test]
fn a_record_tells_what_was_seen() {
    let told = Check { issues: Some(1), severity: Some(Severity::S2), ..check(Ended::Told) };
    let at = "1970-01-01T00:00:00.000Z";
    assert_eq!(
        told.record(None, now()),
        json!({"status": "warn", "timestamp": at, "issues": 1, "severity": "S2", "fingerprint": "1 told"})
    );
    let ran = Check { seconds: Some(1.23456), ..check(Ended::Exit(3)) };
    let expected = json!({
        "status": "fail", "timestamp": at, "issues": 1, "severity": "S1", "fingerprint": "exit 3",
        "duration_seconds": 1.235, "exit_code": 3, "reason": "exit 3", "log": "x.log",
    });
    assert_eq!(ran.record(Some("x.log"), now()), expected);
    let mut work = started();
    work.note_gate("lint", &ran, Some("x.log"), now());
    work.note_gate("lint", &check(Ended::Exit(0)), None, now());
    let expected = json!({"status": "pass", "timestamp": at, "issues": 0, "exit_code": 0});
    assert_eq!(work.queue["gate_results"]["lint"], expected, "nothing is left of the last one");
    assert_eq!(text(&work.queue, WorkQueue::phase), "QUALITY");
    work.note_gate("test", &check(Ended::Exit(0)), None, now());
    assert_eq!(text(&work.queue, WorkQueue::phase), "TEST");
}

#[test]
fn fewer_or_other_failures_are_progress() {
    let failing =
        |names: &[&str]| names.iter().map(|name| format!("test {name} ... FAILED\n")).collect::<String>();
    let mut work = started();
    let all = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
    for left in (1..=9).rev() {
        assert_eq!(fail_with(&mut work, &failing(&all[..left])), Verdict::Failed(vec!["test".into()]));
        assert_eq!(work.gate("test").unwrap()["issues"], left);
        work.done(&format!("work-{:03}", 10 - left)).unwrap();
    }
    assert_eq!(work.number(WorkQueue::same_failures), 1);
    for other in ["b", "c", "b"] {
        fail_with(&mut work, &failing(&[other]));
        assert_eq!(work.number(WorkQueue::same_failures), 1, "{other}");
    }
    assert_eq!(
        text(&work.items()[9], WorkItem::description),
        failing(&["b"]),
        "an open item tells the newest"
    );
    fail_with(&mut work, &failing(&["b"]));
    assert!(matches!(fail_with(&mut work, &failing(&["b"])), Verdict::Stopped(_)));
    assert_eq!(work.last_judged().unwrap()["issues"], 1);
}

#[test]
fn a_loop_in_which_no_gate_ran_is_never_complete() {
    let mut work = started();
    let skipped = Check { detected: true, ..check(Ended::Missing) };
    work.note_gate("test", &skipped, None, now());
    let Verdict::Stopped(reason) = work.evaluate(&|_| String::new(), false, now(), &Plain) else {
        panic!("it goes on")
    };
    assert!(reason.starts_with("no gate ran (test: its tool is not installed); "), "{reason}");
    assert_eq!(stands(&work), (1, 0, "EVALUATE", "stopped"));
    work.resume(Options::default());
    assert_eq!(iterate(&mut work, &[("test", 0)]), Verdict::Passed);
}

#[test]
fn an_iteration_is_told_once_also_after_a_stop_or_an_end() {
    let history = |work: &WorkLoop| -> Vec<(u64, u64)> {
        let entries = work.queue["history"].as_array().unwrap().iter();
        entries
            .map(|entry| (entry["iteration"].as_u64().unwrap(), entry["fixed"].as_u64().unwrap()))
            .collect()
    };
    let mut work = started();
    let id = work.add(&item(Severity::S1, "x"));
    work.done(&id).unwrap();
    for _ in 0..3 {
        iterate(&mut work, &[("lint", 1)]);
    }
    assert_eq!(history(&work), [(1, 1), (2, 0), (3, 0)]);
    work.done("work-002").unwrap();
    work.resume(Options::default());
    iterate(&mut work, &[("lint", 0)]);
    iterate(&mut work, &[("lint", 0)]);
    assert_eq!((work.status(), work.iteration()), (COMPLETE, 5));
    iterate(&mut work, &[("lint", 1)]);
    assert_eq!(history(&work), [(1, 1), (2, 0), (3, 0), (4, 1), (5, 0), (6, 0)]);
}

#[test]
fn an_item_of_somebody_silent_is_taken_over() {
    let mut work = started();
    work.add(&item(Severity::S1, "a"));
    take(&mut work, "ann", None).unwrap();
    assert_eq!(work.take_back_expired(&by("bob"), &at(599)), []);
    assert_eq!(work.take_back_expired(&by("ann"), &at(600)), [], "she is late, and has it still");
    let given = GivenBack { id: "work-001".into(), by: "ann".into() };
    assert_eq!(work.take_back_expired(&by("bob"), &at(600)), [given]);
    assert_eq!(work.take(&by("bob"), None, &at(600)), Ok("work-001".into()));
    let item = &work.items()[0];
    assert_eq!((text(item, WorkItem::assigned_to), &item["lease"]["epoch"]), ("bob", &json!(2)));
    let last = json!({"by": "ann", "epoch": 1, "ended_at": "1970-01-01T00:10:00.000Z", "reason": "expired"});
    assert_eq!(item["last_claim"], last);
    assert_eq!(work.renew(&by("ann"), "work-001", &at(601)), Ok(Grip::Lost("bob".into())));
    work.settle(&by("ann"), "work-001", true, &at(601)).unwrap();
    assert_eq!(
        text(&work.items()[0], WorkItem::assigned_to),
        "bob",
        "what was taken over is not hers to finish"
    );
}

#[test]
fn signs_of_life_renew_a_lease_and_a_late_owner_has_it_still() {
    let mut work = started();
    work.add(&item(Severity::S1, "a"));
    let session = Holder { session: Some("s1"), ..by("ann") };
    work.take(&session, None, &at(0)).unwrap();
    let fresh = work.clone();
    work.renew_session("s1", &at(59));
    assert!(!work.is_due_for("s1", &at(59)) && work == fresh, "nothing is written for nothing");
    assert!(work.is_due_for("s1", &at(60)) && !work.is_due_for("s2", &at(60)));
    work.renew_session("s1", &at(500));
    assert_eq!(work.take_back_expired(&by("bob"), &at(1099)), []);
    assert_eq!(work.take(&session, None, &at(5000)), Ok("work-001".into()), "nobody else wanted it");
    assert_eq!(work.take_back_expired(&by("bob"), &at(5599)), []);
    work.done("work-001").unwrap();
    let done = &work.items()[0];
    assert_eq!((text(done, WorkItem::assigned_to), done.get("lease")), ("ann", None));
}

#[test]
fn items_go_back_with_their_session_or_run_and_by_hand() {
    let mut work = started();
    for title in ["a", "b", "c", "d"] {
        work.add(&item(Severity::S1, title));
    }
    let ids = |given: Vec<GivenBack>| given.into_iter().map(|given| given.id).collect::<Vec<_>>();
    let of = |who, session, run| Holder { session, run, ..by(who) };
    work.take(&of("ann", Some("s1"), None), None, &at(0)).unwrap();
    work.take(&of("s1", None, None), None, &at(0)).unwrap();
    work.take(&of("run", None, Some("run-1")), None, &at(0)).unwrap();
    let second = of("run", None, Some("run-2"));
    assert_eq!(work.take(&second, None, &at(0)), Ok("work-004".into()), "another run of the same name");
    assert_eq!(work.runs(), ["run-1", "run-2"]);
    assert_eq!(ids(work.give_back_of_session("s1", "session ended", &at(1))), ["work-001", "work-002"]);
    assert_eq!(ids(work.give_back_of_run("run-1", &at(1))), ["work-003"]);
    assert_eq!(work.runs(), ["run-2"]);
    let taken = Refusal::Taken { id: "work-004".into(), by: "run".into() };
    assert_eq!(work.release("ann", Some("work-004"), &at(1)), Err(taken));
    assert_eq!(work.release("ann", None, &at(1)), Err(Refusal::EmptyHanded { who: "ann".into() }));
    assert_eq!(ids(work.release("run", Some("work-004"), &at(1)).unwrap()), ["work-004"]);
    assert_eq!(work.release("run", Some("work-004"), &at(1)), Ok(Vec::new()), "again");
    assert_eq!(work.renew(&second, "work-004", &at(1)), Ok(Grip::Dropped));
    work.take(&of("ann", Some("s1"), None), Some("work-002"), &at(2)).unwrap();
    assert_eq!(work.hand_over("s1", "s2", None, &at(3)), ["work-002"]);
    let moved = &work.items()[1];
    assert_eq!((text(moved, WorkItem::assigned_to), text(moved, WorkItem::session_id)), ("s2", "s2"));
    assert!(work.is_held_by("s2") && !work.is_held_by("s1"));
    assert!(work.items().iter().all(|item| !item["lease"].is_null() || item.get("lease").is_none()));
}
