//! The process dies at every call.

use anthill_core::store::{Durability, Engine};
use anthill_testkit::sim_fs::{Plan, SimFs};

use crate::probe::Case;
use crate::scenarios::{Store, doc, each_scenario};

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

fn killed_anywhere_gives_old_or_new(case: &Case) -> usize {
    let mut points = 0;
    for (call, plan) in case.calls().flat_map(|call| kills(call).map(|plan| (call, plan))) {
        let (fs, result) = case.scenario.run(&case.disk, plan);
        let point = case.at(call, &format!("{plan:?} -> {result:?}"));
        assert!(fs.killed(), "{point}: survived");
        let allowed = if result.is_ok() { vec![&case.new] } else { vec![&case.old, &case.new] };
        case.check(&fs.after_kill(), &allowed, &point);
        points += 1;
    }
    points
}
each_scenario!(killed_anywhere_gives_old_or_new);

/// Whoever comes after the dead may die as well: what could be read before stays.
fn killed_while_recovering_changes_nothing(case: &Case) -> usize {
    let mut points = 0;
    for call in case.calls().step_by(case.stride()) {
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
}
each_scenario!(killed_while_recovering_changes_nothing);

/// A room that was left behind finds its commit, however long the other room goes on without it.
#[test]
fn a_room_left_behind_comes_after() {
    let kinds = ["config", "workflow"];
    let disk = SimFs::new();
    let store = || Store::new(&disk, 600);
    store().mark(&kinds, "old", Durability::Synced).unwrap();
    let calls = {
        let rehearsal = disk.after_kill();
        rehearsal.set_plan(Plan::None);
        Store::new(&rehearsal, 600).mark(&kinds, "new", Durability::Synced).unwrap();
        rehearsal.calls()
    };
    let mut both = 0;
    for call in 1..=calls {
        let fs = disk.after_kill();
        fs.set_plan(Plan::KillAt(call));
        let _ = Store::new(&fs, 600).mark(&kinds, "new", Durability::Synced);
        let fs = fs.after_kill();
        for number in 0..40 {
            // More segments than are kept.
            Store::new(&fs, 600).set("config", "number", number.into()).unwrap();
        }
        let marker = |kind: &str| {
            let found = Store::new(&fs, 600).engine.read(&doc(kind)).unwrap().unwrap();
            found.value["marker"].as_str().unwrap().to_owned()
        };
        assert_eq!(marker("config"), marker("workflow"), "killed at call {call} of {calls}");
        both += usize::from(marker("config") == "new");
    }
    assert!(both > 0 && both < calls, "both outcomes are seen");
}
