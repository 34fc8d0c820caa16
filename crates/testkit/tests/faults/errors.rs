//! Every call fails, once or from then on.

use std::collections::BTreeSet;

use anthill_core::error::Code;
use anthill_testkit::sim_fs::{Plan, errno};

use crate::probe::Case;
use crate::scenarios::each_scenario;

const ERRNOS: [(&str, i32); 6] = [
    ("ENOSPC", errno::ENOSPC),
    ("EIO", errno::EIO),
    ("EACCES", errno::EACCES),
    ("EROFS", errno::EROFS),
    ("EINTR", errno::EINTR),
    ("EMFILE", errno::EMFILE),
];

fn failing(call: usize, errno: i32, persistent: bool) -> [Plan; 2] {
    [Plan::FailAt { call, errno, persistent }, Plan::FailMid { call, errno, persistent }]
}

fn check_failing(case: &Case, persistent: bool) -> usize {
    let mut points = 0;
    // A head that cannot be written is no failure of its commit, so it is tried in every run.
    let heads = (1..=case.trace.len()).filter(|call| case.trace[call - 1].ends_with("/head.json"));
    let calls: BTreeSet<usize> = case.calls().chain(heads).collect();
    for call in calls {
        for (name, number) in ERRNOS {
            // A message that may not be read is left out, and the others are read.
            if number == errno::EACCES && case.at(call, "").contains("/inbox/") {
                continue;
            }
            for plan in failing(call, number, persistent) {
                check_plan(case, call, plan, &format!("{name}, {plan:?}"));
                points += 1;
            }
        }
    }
    points
}

fn check_plan(case: &Case, call: usize, plan: Plan, what: &str) {
    let (fs, result) = case.scenario.run(&case.disk, plan);
    // A message of another program that we may not read is left out.
    if result.is_ok() && what.starts_with("EACCES") && case.trace[call - 1].contains("/inbox/") {
        return;
    }
    let point = case.at(call, &format!("{what} -> {result:?}"));
    let persistent =
        matches!(plan, Plan::FailAt { persistent, .. } | Plan::FailMid { persistent, .. } if persistent);
    let allowed = match &result {
        Ok(()) => vec![&case.new],
        Err(failure) => {
            assert_eq!(failure.code, Code::Io, "{point}");
            assert!(
                persistent || !failure.indeterminate,
                "{point}: one fault is always survived or taken back"
            );
            if failure.indeterminate { vec![&case.old, &case.new] } else { vec![&case.old] }
        }
    };
    // The next command comes when the cause is gone.
    let fs = fs.after_kill();
    if case.is_news(&fs, &allowed) {
        case.check(&fs, &allowed, &point);
    }
}

fn one_failing_call_is_survived_or_leaves_the_old_state(case: &Case) -> usize {
    check_failing(case, false)
}
each_scenario!(one_failing_call_is_survived_or_leaves_the_old_state);

fn calls_that_keep_failing_leave_the_old_state_or_say_that_they_may_not(case: &Case) -> usize {
    check_failing(case, true)
}
each_scenario!(calls_that_keep_failing_leave_the_old_state_or_say_that_they_may_not);
