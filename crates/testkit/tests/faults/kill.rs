//! The process dies at every call.

use anthill_core::store::Engine;
use anthill_testkit::sim_fs::{Plan, SimFs};

use crate::probe::{Case, sweep};

pub fn kills(call: usize) -> [Plan; 3] {
    [Plan::KillAt(call), Plan::KillMid(call), Plan::KillAfter(call)]
}

/// Enters the room as the next writer does, which finishes what is left, and goes away again.
pub fn recover(case: &Case, disk: &SimFs, plan: Plan) -> SimFs {
    let fs = disk.after_kill();
    fs.set_plan(plan);
    let store = case.scenario.store(&fs);
    let _ = store.engine.begin(&[&case.scenario.docs()[0].room]).map(drop);
    fs
}

#[test]
fn killed_anywhere_gives_old_or_new() {
    sweep("kill points", |ref case| {
        let mut points = 0;
        for (call, plan) in (1..=case.trace.len()).flat_map(|call| kills(call).map(|plan| (call, plan))) {
            let (fs, result) = case.scenario.run(&case.disk, plan);
            let point = case.at(call, &format!("{plan:?} -> {result:?}"));
            assert!(fs.killed(), "{point}: survived");
            let allowed = if result.is_ok() { vec![&case.new] } else { vec![&case.old, &case.new] };
            case.check(&fs.after_kill(), &allowed, &point);
            points += 1;
        }
        points
    });
}

/// Whoever comes after the dead may die as well: what could be read before stays.
#[test]
fn killed_while_recovering_changes_nothing() {
    sweep("kill points while recovering", |ref case| {
        let mut points = 0;
        for call in 1..=case.trace.len() {
            let fs = case.scenario.run(&case.disk, Plan::KillAt(call)).0.after_kill();
            let before = case.see(&fs);
            let calls = recover(case, &fs, Plan::None).calls();
            for plan in (1..=calls).flat_map(kills) {
                let killed = recover(case, &fs, plan);
                points += 1;
                if !case.is_news(&killed, &[&before]) {
                    continue;
                }
                let point = case.at(call, &format!("killed; then {plan:?} at {:?}", killed.trace().last()));
                case.check(&killed.after_kill(), &[&before], &point);
            }
        }
        points
    });
}
