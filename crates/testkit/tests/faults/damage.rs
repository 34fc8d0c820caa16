//! Files that were spoiled by hand, by a merge, by a disk.

use anthill_core::error::Code;
use anthill_core::model::room::Room;
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::{Durability, Engine, Finding, Upkeep};
use anthill_testkit::effort::sample;
use anthill_testkit::sim_fs::SimFs;
use serde_json::{Value, json};

use crate::probe::{PART, contents, report};
use crate::scenarios::{Store, add, claim, describe, doc, with_buffers};

const HIDDEN: &str = "orchestration/.anthill";
const KINDS: [&str; 2] = ["config", "tools"];

fn store(fs: &SimFs) -> Store {
    Store::new(fs, 1 << 20)
}

/// Returns a room with a few commits on two documents.
fn disk() -> SimFs {
    let fs = SimFs::new();
    let store = store(&fs);
    store.set("config", "marker", json!("first")).unwrap();
    store.mark(&KINDS, "second", Durability::Synced).unwrap();
    store.set("tools", "marker", json!("third")).unwrap();
    store.set("config", "marker", json!("last")).unwrap();
    fs
}

fn read(fs: &SimFs, kind: &str) -> Result<Value, Code> {
    let read = store(fs).engine.read(&doc(kind)).map_err(|error| error.code())?;
    Ok(read.map_or(Value::Null, |document| document.value))
}

fn check(fs: &SimFs, repair: bool) -> Vec<Finding> {
    store(fs).engine.check(&Room::Shared, repair).unwrap()
}

/// Returns the same disk after a shutdown that lost nothing.
fn rebooted(fs: &SimFs) -> SimFs {
    fs.crash_images(2).pop().unwrap()
}

fn quarantined(fs: &SimFs, bytes: &[u8]) -> bool {
    contents(fs).iter().any(|(path, kept)| path.contains("/quarantine/") && kept == bytes)
}

type Spoil = (&'static str, fn(&[u8]) -> Vec<u8>);

/// Ways to spoil a document so that it can neither be read nor written.
const SPOILS: &[Spoil] = &[
    ("cut in half", |bytes| bytes[..bytes.len() / 2].to_vec()),
    ("without its last brace", |bytes| bytes[..bytes.len() - 2].to_vec()),
    ("empty", |_| vec![]),
    ("blank", |_| b" \n".to_vec()),
    ("zero-filled", |bytes| vec![0; bytes.len()]),
    ("half zeros", |bytes| [&vec![0; bytes.len() / 2], &bytes[bytes.len() / 2..]].concat()),
    ("a key twice", |_| br#"{"version": "2.0.0", "a": 1, "a": 2}"#.to_vec()),
    ("too deep", |_| format!("{{\"a\": {}1{}}}", "[".repeat(70), "]".repeat(70)).into_bytes()),
    ("bottomless", |_| "[".repeat(200_000).into_bytes()),
    ("not UTF-8", |_| b"{\"a\": \"\xff\xfe\"}".to_vec()),
    ("UTF-16", |_| "{}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ("a list", |_| b"[]".to_vec()),
    ("a number", |_| b"5".to_vec()),
    ("null", |_| b"null".to_vec()),
    ("a field of the wrong type", |bytes| {
        replace(bytes, "\"max_parallel_agents\": 5", "\"max_parallel_agents\": \"x\"")
    }),
    ("garbage after it", |bytes| [bytes, b"x"].concat()),
    ("twice", |bytes| bytes.repeat(2)),
    ("merge marks", |bytes| [b"<<<<<<< HEAD\n", bytes].concat()),
    ("a comment", |bytes| [b"// hi\n", bytes].concat()),
    ("NaN", |bytes| replace(bytes, "\"max_parallel_agents\": 5", "\"max_parallel_agents\": NaN")),
];

fn replace(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.contains(from), "{text}");
    text.replace(from, to).into_bytes()
}

#[test]
fn damaged_documents_are_refused_kept_and_repaired() {
    let path = doc("config").path();
    for (name, spoil) in SPOILS {
        let fs = disk();
        let (good, others) = (read(&fs, "config"), read(&fs, "tools"));
        let bad = spoil(&fs.get(&path).unwrap());
        fs.put(&path, &bad);
        let before = contents(&fs);
        assert_eq!(read(&fs, "config"), Err(Code::Damaged), "{name}");
        let written = store(&fs).set("config", "marker", json!("x"));
        assert_eq!(written.unwrap_err().code, Code::Damaged, "{name}");
        assert_eq!(contents(&fs), before, "{name}: a refusal changes nothing");
        store(&fs).set("tools", "other", json!(1)).unwrap();
        let findings = check(&fs, false);
        assert!(
            matches!(&findings[..], [one] if one.code == Code::Damaged && !one.repaired),
            "{name}: {findings:?}"
        );
        assert_eq!(fs.get(&path), Some(bad.clone()), "{name}: looking keeps the bytes");
        let findings = check(&fs, true);
        assert!(matches!(&findings[..], [one] if one.repaired), "{name}: {findings:?}");
        assert_eq!(read(&fs, "config"), good, "{name}");
        assert_ne!(read(&fs, "tools"), others, "{name}: the other document went on");
        assert!(quarantined(&fs, &bad), "{name}: {:?}", fs.files());
        assert_eq!(check(&fs, false), [], "{name}");
        store(&fs).set("config", "marker", json!("x")).unwrap();
    }
    report(SPOILS.len(), "spoiled documents");
}

/// After a reboot, what is no JSON may be our own torn bytes: then the journal heals it, and keeps them.
#[test]
fn damage_found_after_a_reboot_is_never_thrown_away() {
    let path = doc("config").path();
    for (name, spoil) in SPOILS {
        let fs = disk();
        let good = read(&fs, "config");
        let bad = spoil(&fs.get(&path).unwrap());
        fs.put(&path, &bad);
        let fs = rebooted(&fs);
        let before = contents(&fs);
        let seen = read(&fs, "config");
        assert!(seen == Err(Code::Damaged) || seen == good, "{name}: {seen:?}");
        assert_eq!(contents(&fs), before, "{name}: reading changes nothing");
        check(&fs, true);
        assert_eq!(read(&fs, "config"), good, "{name}");
        let blank = bad.iter().all(|byte| *byte == 0);
        assert!(blank || quarantined(&fs, &bad), "{name}: {:?}", fs.files());
        assert_eq!(check(&fs, false), [], "{name}");
    }
}

#[test]
fn odd_but_harmless_documents_are_taken() {
    let path = doc("config").path();
    let cases: [(&str, &str, &str); 3] = [
        ("a huge number", "\"marker\": \"last\"", "\"marker\": 1e400"),
        ("other spaces", "\n", "\n\t "),
        ("an unknown field", "\"marker\"", "\"unknown\": [1], \"marker\""),
    ];
    for (name, from, to) in cases {
        let fs = disk();
        fs.put(&path, &replace(&fs.get(&path).unwrap(), from, to));
        let edited = read(&fs, "config").unwrap();
        store(&fs).set("config", "other", json!(1)).unwrap();
        let after = read(&fs, "config").unwrap();
        assert_eq!(after["marker"].to_string(), edited["marker"].to_string(), "{name}");
        assert_eq!(after.get("unknown"), edited.get("unknown"), "{name}");
        assert_eq!(check(&fs, false), [], "{name}");
    }
}

#[test]
fn byte_order_mark_is_either_taken_or_refused_whole() {
    let (fs, path) = (disk(), doc("config").path());
    let bad = [b"\xef\xbb\xbf", &fs.get(&path).unwrap()[..]].concat();
    fs.put(&path, &bad);
    match store(&fs).set("config", "other", json!(1)) {
        Ok(()) => assert_eq!(read(&fs, "config").unwrap()["other"], 1),
        Err(failure) => {
            assert_eq!(failure.code, Code::Damaged);
            assert_eq!(fs.get(&path), Some(bad));
        }
    }
}

#[test]
fn newer_format_is_read_and_not_written() {
    let (fs, path) = (disk(), doc("config").path());
    let newer = replace(&fs.get(&path).unwrap(), "\"2.0.0\"", "\"9.1.0\"");
    let newer = replace(&newer, "\"max_parallel_agents\": 5", "\"max_parallel_agents\": \"many\"");
    fs.put(&path, &newer);
    assert_eq!(read(&fs, "config").unwrap()["version"], "9.1.0");
    assert_eq!(store(&fs).set("config", "other", json!(1)).unwrap_err().code, Code::Unsupported);
    assert_eq!(store(&fs).delete("config").unwrap_err().code, Code::Unsupported);
    let findings = check(&fs, true);
    assert!(matches!(&findings[..], [one] if one.code == Code::Unsupported && !one.repaired), "{findings:?}");
    assert_eq!(fs.get(&path), Some(newer));
}

#[test]
fn links_and_fifos_are_refused() {
    use anthill_core::store::file::fs::Fs;
    let (fs, path) = (disk(), doc("config").path());
    fs.remove(&path).unwrap();
    fs.plant_special(&path);
    for fs in [fs.clone(), rebooted(&fs)] {
        assert_eq!(read(&fs, "config"), Err(Code::Damaged));
        assert_eq!(store(&fs).set("config", "other", json!(1)).unwrap_err().code, Code::Damaged);
        let findings = check(&fs, true);
        assert!(matches!(&findings[..], [one] if one.code == Code::Damaged && !one.repaired), "{findings:?}");
        store(&fs).set("tools", "other", json!(1)).unwrap();
    }
    let (fs, journal) = (disk(), format!("{HIDDEN}/journal.jsonl"));
    fs.remove(&journal).unwrap();
    fs.plant_special(&journal);
    assert_eq!(read(&fs, "config"), Err(Code::Damaged));
    assert_eq!(store(&fs).set("config", "other", json!(1)).unwrap_err().code, Code::Damaged);
    let findings = check(&fs, true);
    assert!(matches!(&findings[..], [one] if one.code == Code::Damaged && one.repaired), "{findings:?}");
    assert_still_right(&fs, "the journal was a link");
    let (fs, head) = (disk(), format!("{HIDDEN}/head.json"));
    fs.remove(&head).unwrap();
    fs.plant_special(&head);
    assert_still_right(&fs, "head is a link");
}

/// Whatever became of the hidden files: documents are as they were, writes go on, doctor mends the rest.
fn assert_still_right(fs: &SimFs, what: &str) {
    let good = disk();
    let good = KINDS.map(|kind| read(&good, kind).unwrap());
    for (fs, boot) in [(fs.after_kill(), "same boot"), (rebooted(fs), "other boot")] {
        let before = contents(&fs);
        assert_eq!(KINDS.map(|kind| read(&fs, kind).unwrap()), good, "{what}, {boot}: read");
        assert_eq!(contents(&fs), before, "{what}, {boot}: reading changes nothing");
        let mended = fs.after_kill();
        assert!(check(&mended, true).iter().all(|finding| finding.repaired), "{what}, {boot}");
        assert_eq!(KINDS.map(|kind| read(&mended, kind).unwrap()), good, "{what}, {boot}: repaired");
        assert_eq!(check(&mended, false), [], "{what}, {boot}: doctor again");
        for fs in [fs, mended] {
            store(&fs).mark(&KINDS, "next", Durability::Synced).unwrap();
            for (kind, good) in KINDS.iter().zip(&good) {
                let after = read(&fs, kind).unwrap();
                let revision = |value: &Value| value["revision"].as_u64().unwrap();
                assert_eq!(after["marker"], "next", "{what}, {boot}");
                assert_eq!(revision(&after), revision(good) + 1, "{what}, {boot}");
            }
            check(&fs, false);
            let left = fs.files().into_iter().find(|path| path.contains("/next-"));
            assert_eq!(left, None, "{what}, {boot}");
        }
    }
}

#[test]
fn damaged_journal_costs_history_only() {
    let (path, mut points) = (format!("{HIDDEN}/journal.jsonl"), 0);
    let whole = disk().get(&path).unwrap();
    let mut spoil = |what: &str, bytes: &[u8]| {
        let fs = disk();
        fs.put(&path, bytes);
        assert_still_right(&fs, what);
        points += 1;
    };
    // Behind the last line stand empty ones, of which the first and the last are enough.
    let end = whole.trim_ascii_end().len() + 1;
    let last = whole[..end - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let places = |step| (last..=end).chain([whole.len() - 1]).chain((0..last).step_by(step));
    for index in sample("flipped", PART, places(97)) {
        let mut bytes = whole.clone();
        bytes[index] ^= 0x11;
        spoil(&format!("byte {index} of {} flipped", whole.len()), &bytes);
    }
    for length in sample("cut", PART, places(61)) {
        spoil(&format!("journal cut to {length} of {}", whole.len()), &whole[..length]);
    }
    spoil("journal of zeros", &vec![0; whole.len()]);
    spoil("journal of garbage", "not a line\n".repeat(50).as_bytes());
    spoil("journal twice", &whole.repeat(2));
    spoil("garbage after the journal", &[&whole[..], b"garbage\nmore\n"].concat());
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for gone in 0..=whole[..end].iter().filter(|byte| **byte == b'\n').count() {
        let mut rest = lines.clone();
        rest.remove(gone);
        spoil(&format!("line {gone} gone"), &rest.concat());
    }
    report(points, "damaged journals");
}

/// Damage that leaves the length alone is not noticed by the next command, but by doctor.
#[test]
fn doctor_sees_damage_inside_the_journal() {
    let (fs, path) = (disk(), format!("{HIDDEN}/journal.jsonl"));
    let mut bytes = fs.get(&path).unwrap();
    bytes[9] ^= 1;
    fs.put(&path, &bytes);
    let findings = check(&fs, false);
    assert!(matches!(&findings[..], [one] if one.code == Code::Damaged && !one.repaired), "{findings:?}");
    assert_eq!(fs.get(&path), Some(bytes.clone()), "looking keeps the bytes");
    assert!(check(&fs, true)[0].repaired);
    assert_eq!(check(&fs, false), []);
    assert!(quarantined(&fs, &bytes), "{:?}", fs.files());
}

#[test]
fn lost_or_spoiled_caches_and_leftovers_do_no_harm() {
    use anthill_core::store::file::fs::Fs;
    let head = format!("{HIDDEN}/head.json");
    let stale = {
        let fs = SimFs::new();
        store(&fs).set("config", "marker", json!("first")).unwrap();
        fs.get(&head).unwrap()
    };
    let put = |path: &str, bytes: &[u8], what: &str| {
        let fs = disk();
        fs.put(path, bytes);
        assert_still_right(&fs, what);
    };
    put(&head, &stale, "stale head");
    put(&head, b"", "empty head");
    put(&head, b"garbage", "head of garbage");
    put(&head, &vec![0; 400], "head of zeros");
    let journal = disk().get(&format!("{HIDDEN}/journal.jsonl")).unwrap();
    put(&format!("{HIDDEN}/journal.next"), &journal[..99], "a torn next journal");
    put(&format!("{HIDDEN}/journal.next"), &journal, "a next journal");
    put(&format!("{HIDDEN}/next-config.json"), b"{}", "a spare");
    put(&format!("{HIDDEN}/next-agents~active.json"), b"{", "a foreign spare");
    put(&format!("{HIDDEN}/next-config.json~"), b"{", "a copy");
    put(&format!("{HIDDEN}/other"), b"{", "a foreign file");
    for gone in ["head.json", "journal.jsonl"] {
        let fs = disk();
        fs.remove(&format!("{HIDDEN}/{gone}")).unwrap();
        fs.sync_dir(HIDDEN).unwrap();
        assert_still_right(&fs, gone);
    }
    let bare = SimFs::new();
    for (path, bytes) in contents(&disk()).iter().filter(|(path, _)| !path.contains("/.anthill/")) {
        bare.put(path, bytes);
    }
    assert_still_right(&bare, "without its hidden directory");
}

const INDEX: &str = ".coordination/.anthill/index-tasks.json";
const TWIN: &str = ".coordination/.anthill/twin-tasks.json";
/// How the index is divided.
const PAGE: usize = 1024;

/// Returns a queue whose file and other buffer are both in use.
fn queue_disk() -> SimFs {
    let fs = SimFs::new();
    with_buffers(&store(&fs));
    fs
}

/// Works on a queue: changes items in place, appends, makes room, and writes everything. Returns each state.
fn work(fs: &SimFs, what: &str) -> Vec<Value> {
    let steps: [fn(&Store); 6] = [
        |store| claim(store, "w2").unwrap(),
        |store| describe(store, "second", 40).unwrap(),
        |store| add(store, "fourth", &["second"]).unwrap(),
        |store| describe(store, "second", 900).unwrap(),
        |store| store.mark(&["queue"], "whole", Durability::Synced).unwrap(),
        |store| claim(store, "w3").unwrap(),
    ];
    let state = |step: fn(&Store)| {
        step(&store(fs));
        let seen = read(fs, "queue").unwrap();
        let file: Value = serde_json::from_slice(&fs.get(&doc("queue").path()).unwrap()).unwrap();
        assert_eq!(file, seen, "{what}: the file");
        assert_eq!(store(fs).engine.check(&Room::Queue, false).unwrap(), [], "{what}: doctor");
        seen
    };
    steps.into_iter().map(state).collect()
}

/// Index and other buffer are nobody's truth: whatever becomes of them, the queue goes on as if nothing had been.
#[test]
fn spoiled_caches_of_a_list_do_no_harm() {
    use anthill_core::store::file::fs::Fs;
    let disk = queue_disk();
    let (expected, mut points) = (work(&disk.after_kill(), "as it was"), 0);
    let mut try_with = |what: &str, spoil: &dyn Fn(&SimFs)| {
        let fs = disk.after_kill();
        spoil(&fs);
        let before = contents(&fs);
        assert_eq!(read(&fs, "queue"), read(&disk, "queue"), "{what}");
        assert_eq!(contents(&fs), before, "{what}: reading changes nothing");
        assert_eq!(work(&fs, what), expected, "{what}");
        points += 1;
    };
    let later = {
        let fs = disk.after_kill();
        claim(&store(&fs), "w2").unwrap();
        describe(&store(&fs), "second", 40).unwrap();
        contents(&fs)
    };
    let foreign = {
        let fs = SimFs::new();
        add(&store(&fs), "alone", &[]).unwrap();
        describe(&store(&fs), "alone", 3).unwrap();
        describe(&store(&fs), "alone", 4).unwrap();
        contents(&fs)
    };
    for (path, name) in [(INDEX, "index"), (TWIN, "twin")] {
        let whole = disk.get(path).unwrap();
        try_with(&format!("{name} gone"), &|fs| drop(fs.remove(path)));
        try_with(&format!("{name} is a link"), &|fs| {
            fs.remove(path).unwrap();
            fs.plant_special(path);
        });
        for length in [0, 1, PAGE - 1, PAGE, PAGE + 1, whole.len() / 2, whole.len() - 1] {
            let length = length.min(whole.len() - 1);
            try_with(&format!("{name} cut to {length}"), &|fs| fs.put(path, &whole[..length]));
        }
        try_with(&format!("{name} with more behind it"), &|fs| fs.put(path, &[&whole[..], b"}\0"].concat()));
        try_with(&format!("{name} of zeros"), &|fs| fs.put(path, &vec![0; whole.len()]));
        try_with(&format!("{name} of blanks"), &|fs| fs.put(path, &vec![b' '; whole.len()]));
        try_with(&format!("{name} of a later time"), &|fs| fs.put(path, &later[path]));
        try_with(&format!("{name} of another queue"), &|fs| fs.put(path, &foreign[path]));
        // A page of a later time among those of now: only the header tells.
        let later = &later[path];
        for page in 0..whole.len().min(later.len()) / PAGE {
            let range = page * PAGE..(page + 1) * PAGE;
            if whole[range.clone()] != later[range.clone()] {
                let mut bytes = whole.clone();
                bytes[range.clone()].copy_from_slice(&later[range]);
                try_with(&format!("{name} with page {page} of a later time"), &|fs| fs.put(path, &bytes));
            }
        }
    }
    let whole = disk.get(INDEX).unwrap();
    let used: Vec<_> = (0..whole.len() / PAGE)
        .filter(|page| *page < 3 || whole[page * PAGE..page * PAGE + 960].iter().any(|byte| *byte != 0))
        .collect();
    for page in used {
        for bit in [3, 77 * 8, 959 * 8 + 7, 1000 * 8, 1015 * 8] {
            let mut bytes = whole.clone();
            bytes[page * PAGE + bit / 8] ^= 1 << (bit % 8);
            try_with(&format!("bit {bit} of page {page} flipped"), &|fs| fs.put(INDEX, &bytes));
        }
        let mut bytes = whole.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        try_with(&format!("page {page} of zeros"), &|fs| fs.put(INDEX, &bytes));
    }
    report(points, "spoiled caches of a list");
}

/// Copies of the other buffer and of the index from another time, each in its place, fit together but not the file.
#[test]
fn older_caches_of_a_list_do_no_harm() {
    let fs = queue_disk();
    let old = [INDEX, TWIN].map(|path| fs.get(path).unwrap());
    let mut plain = queue_disk();
    for disk in [&fs, &plain] {
        claim(&store(disk), "w2").unwrap();
        describe(&store(disk), "second", 40).unwrap();
    }
    fs.put(INDEX, &old[0]);
    fs.put(TWIN, &old[1]);
    plain = plain.after_kill();
    let more = |fs: &SimFs| {
        add(&store(fs), "fourth", &[]).unwrap();
        claim(&store(fs), "w4").unwrap();
        assert_eq!(store(fs).engine.check(&Room::Queue, false).unwrap(), []);
        read(fs, "queue").unwrap()
    };
    assert_eq!(more(&fs), more(&plain));
}

/// What a file system lacks is told, and does no harm.
#[test]
fn what_makes_lists_slow_is_told() {
    let fs = SimFs::new();
    let store = Store::new(&fs, 1 << 20);
    with_buffers(&store);
    let told = || store.engine.notes(&doc("queue").room).unwrap();
    let before = fs.files();
    assert_eq!(told(), [""; 0]);
    fs.set_leases_supported(false);
    assert_eq!(told().len(), 1);
    fs.set_exchange_supported(false);
    assert_eq!(told().len(), 2);
    assert_eq!(fs.files(), before, "nothing is left");
    claim(&store, "w2").unwrap();
    assert_eq!(store.engine.check(&doc("queue").room, false).unwrap(), []);
}
