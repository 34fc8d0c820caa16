//! The power fails at every call, and the disk keeps any part of what was not synced.

use anthill_core::store::Durability;
use anthill_core::store::file::addresses::DocFiles;
use anthill_testkit::effort::rounds;
use anthill_testkit::sim_fs::{Plan, SimFs, errno};
use serde_json::json;

use crate::kill::recover;
use crate::probe::{Case, PART, Seen, report};
use crate::scenarios::{Failure, Store, doc, each_scenario};

/// Images per point, of which none, all, prefixes, each one lost, each one kept and torn writes come first.
const IMAGES: usize = 24;
/// Images per point where the points are many.
const FEW: usize = 4;

fn check_images(case: &Case, fs: &SimFs, allowed: &[&Seen], budget: usize, point: &str) -> usize {
    let images = fs.crash_images(budget);
    for (number, image) in images.iter().enumerate() {
        if case.is_news(image, allowed) {
            case.check(image, allowed, &format!("{point}: image {number}"));
        }
    }
    images.len()
}

fn power_lost_at_any_call_gives_old_or_new(case: &Case) -> usize {
    let mut images = 0;
    for call in case.telling_calls() {
        let (fs, result) = case.scenario.run(&case.disk, Plan::KillAt(call));
        let allowed = if result.is_ok() { vec![&case.new] } else { vec![&case.old, &case.new] };
        let budget = IMAGES / case.stride();
        images += check_images(case, &fs, &allowed, budget, &case.at(call, &format!("{result:?}")));
    }
    images
}
each_scenario!(power_lost_at_any_call_gives_old_or_new);

fn what_was_acknowledged_survives(case: &Case) -> usize {
    let (fs, _) = case.scenario.run(&case.disk, Plan::None);
    check_images(case, &fs, &[&case.new], rounds(200, PART), &case.at(0, "acknowledged"))
}
each_scenario!(what_was_acknowledged_survives);

/// Leftovers of one that was killed or refused must not weaken the promise to the next.
fn what_was_acknowledged_after_a_kill_or_an_error_survives(case: &Case) -> usize {
    let mut images = 0;
    for call in case.telling_calls().step_by(case.stride()) {
        for plan in [
            Plan::KillAt(call),
            Plan::FailAt { call, errno: errno::EIO, persistent: false },
            Plan::FailMid { call, errno: errno::ENOSPC, persistent: true },
        ] {
            let (fs, first) = case.scenario.run(&case.disk, plan);
            let point = case.at(call, &format!("{plan:?} -> {first:?}"));
            if first.is_ok() {
                images += check_images(case, &fs, &[&case.new], FEW, &point);
            }
            let fs = fs.after_kill();
            // Doctor's own repair is no commit: killed in it, the bad file may come back with the power.
            if case.old.iter().any(Result::is_err) {
                continue;
            }
            let store = case.scenario.store(&fs);
            store.mark(case.scenario.kinds, "second", Durability::Synced).unwrap();
            let after = case.see(&fs);
            images += check_images(case, &fs, &[&after], FEW, &format!("{point}: written again"));
        }
    }
    images
}
each_scenario!(what_was_acknowledged_after_a_kill_or_an_error_survives);

/// The power fails again while the first command after it recovers.
fn power_lost_while_recovering_changes_nothing(case: &Case) -> usize {
    let mut images = 0;
    for call in case.telling_calls().step_by(3 * case.stride()) {
        let (fs, _) = case.scenario.run(&case.disk, Plan::KillAt(call));
        for (number, image) in fs.crash_images(FEW).iter().enumerate() {
            let before = case.see(image);
            let calls = recover(case, image, Plan::None).calls();
            for second in (1..=calls + 1).step_by(3 * case.stride()) {
                let again = recover(case, image, Plan::KillAt(second));
                let point = case.at(call, &format!("image {number}, again at call {second}"));
                images += check_images(case, &again, &[&before], 3, &point);
            }
        }
    }
    images
}
each_scenario!(power_lost_while_recovering_changes_nothing);

const SEGMENT: u64 = 2_500;

fn seen(fs: &SimFs, kinds: &[&str]) -> Vec<Option<(u64, String)>> {
    use anthill_core::store::Engine;
    let store = Store::new(fs, SEGMENT);
    let read = |kind: &&str| store.engine.read(&doc(kind)).unwrap_or_else(|error| panic!("{error:?}"));
    let told = |document: anthill_core::store::Document| (document.revision, document.value.to_string());
    kinds.iter().map(|kind| read(kind).map(told)).collect()
}

/// Many acknowledged commits on two documents, with new segments in between, then the power fails.
#[test]
fn sequences_of_acknowledged_commits_survive() {
    let kinds = ["active_agents", "work_queue"];
    let (fs, mut images) = (SimFs::new(), 0);
    for number in 0..40 {
        let store = Store::new(&fs, SEGMENT);
        let commit = |store: &Store| -> Result<(), Failure> {
            match number % 5 {
                0..=2 => store.set(kinds[number % 2], "marker", json!(format!("{number:040}"))),
                3 => store.mark(&kinds, &number.to_string(), Durability::Synced),
                _ => store.delete(kinds[0]),
            }
        };
        commit(&store).unwrap();
        let acknowledged = seen(&fs, &kinds);
        for (image_number, image) in fs.crash_images(rounds(60, PART)).iter().enumerate() {
            assert_eq!(seen(image, &kinds), acknowledged, "commit {number}, image {image_number}");
            Store::new(image, SEGMENT).mark(&kinds, "next", Durability::Synced).unwrap();
            let after = seen(image, &kinds);
            assert!(after.iter().flatten().all(|(_, value)| value.contains("\"next\"")));
            images += 1;
        }
    }
    let rotated = fs.files().iter().filter(|path| path.contains("/journal-")).count();
    assert!(rotated > 1, "{:?}", fs.files());
    report(images, "images of power lost after sequences");
}

/// A lazy commit may be lost with the power, but it is never torn and takes nothing with it.
fn lazy_commits_are_old_or_new(case: &Case) -> usize {
    let case = &Case { lazy: true, ..Case::of(case.scenario) };
    let (mut images, budget) = (0, rounds(IMAGES, PART));
    if case.old.iter().any(Result::is_err) {
        return 0;
    }
    let fs = case.disk.after_kill();
    let store = case.scenario.store(&fs);
    let mut states = vec![case.old.clone()];
    for mark in ["lazy 1", "lazy 2", "lazy 3"] {
        store.mark(case.scenario.kinds, mark, Durability::Lazy).unwrap();
        states.push(case.see(&fs));
        let allowed: Vec<_> = states.iter().collect();
        images += check_images(case, &fs, &allowed, budget, &case.at(0, mark));
    }
    store.mark(case.scenario.kinds, "synced", Durability::Synced).unwrap();
    let synced = case.see(&fs);
    images + check_images(case, &fs, &[&synced], budget, &case.at(0, "synced after lazy"))
}
each_scenario!(lazy_commits_are_old_or_new);

/// In another life a file that is gone looks the same whether a person deleted it or the file system lost its name. It comes
/// back, unless a commit saw that it was gone.
#[test]
fn file_deleted_by_hand_comes_back_unless_a_commit_saw_it() {
    use anthill_core::store::file::fs::Fs;
    let fs = SimFs::new();
    Store::new(&fs, SEGMENT).set("errors", "marker", json!("made")).unwrap();
    let made = seen(&fs, &["errors"]);
    fs.remove(&doc("errors").path()).unwrap();
    fs.sync_dir(".claude/state/errors").unwrap();
    assert_eq!(seen(&fs, &["errors"]), [None], "no doubt without a reboot");
    for image in fs.crash_images(50) {
        assert_eq!(seen(&image, &["errors"]), made);
        Store::new(&image, SEGMENT).set("metrics", "marker", json!("more")).unwrap();
        assert!(image.get(&doc("errors").path()).is_some(), "it is published");
    }
    fs.flush();
    assert_eq!(seen(&fs.crash_images(1)[0], &["errors"]), made);
    Store::new(&fs, SEGMENT).set("errors", "marker", json!("anew")).unwrap();
    Store::new(&fs, SEGMENT).delete("errors").unwrap();
    for image in fs.crash_images(50) {
        assert_eq!(seen(&image, &["errors"]), [None], "a commit deleted it");
    }
}

/// A container sees the same disk through another mount. Nothing was lost, so a person's edit that is an earlier state of
/// ours stays an edit; and once the disk is mounted anew, it is a lost write.
#[test]
fn another_mount_is_no_other_life_but_mounting_anew_is() {
    let fs = SimFs::new();
    let marker = |fs: &SimFs| {
        let found = anthill_core::store::Engine::read(&Store::new(fs, 1 << 20).engine, &doc("config"));
        found.unwrap().unwrap().value["marker"].clone()
    };
    let set = |fs: &SimFs, mark: &str| Store::new(fs, 1 << 20).set("config", "marker", json!(mark)).unwrap();
    set(&fs, "first");
    let earlier = fs.get("orchestration/config.json").unwrap();
    set(&fs, "second");
    fs.put("orchestration/config.json", &earlier);
    let other = fs.through_another_mount();
    assert_eq!(marker(&other), "first", "through another mount");
    let again = other.after_kill();
    fs.flush();
    for image in fs.crash_images(2) {
        assert_eq!(marker(&image), "second", "mounted anew");
    }
    // Two namespaces in turn: none takes the other's commit for a crash.
    let mut machine = again;
    for number in 0..6 {
        set(&machine, &number.to_string());
        machine = machine.through_another_mount();
        machine.set_plan(Plan::None);
        assert_eq!(marker(&machine), number.to_string());
        let reads = machine.trace().iter().filter(|call| call.starts_with("read_from")).count();
        assert_eq!(reads, 0, "the journal is not replayed: {:?}", machine.trace());
    }
}
