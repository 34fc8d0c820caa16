//! Long histories of random actions: the file engine agrees with the reference, and with a simple model
//! where people edit the files in between.

use std::sync::Arc;

use anthill_core::model::hint::{Door, Plain};
use anthill_core::model::json;
use anthill_core::model::kind::Doc;
use anthill_core::model::path::Path;
use anthill_core::ops;
use anthill_core::ops::edit::{self, Changed, Target};
use anthill_core::ops::history::{TakenBack, Terms, restore, undo};
use anthill_core::store::file::FileEngine;
use anthill_core::store::file::addresses::{DocFiles, RoomFiles};
use anthill_core::store::file::fs::Fs;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::memory::MemoryEngine;
use anthill_core::store::{Engine, Upkeep};
use anthill_testkit::conformance::{actor, doc, replayed};
use proptest::prelude::*;
use serde_json::json;

use crate::model::{Model, bare};
use crate::stores::{NORMAL, TINY, hasty, sim_fs, temp_dir};

/// Something that happens to one of two documents of one room.
#[derive(Debug, Clone)]
pub enum Action {
    Set,
    Append,
    DeleteField,
    DeleteDocument,
    Undo,
    /// Back to one of the revisions so far.
    Restore(prop::sample::Index),
    Edit(Style),
    EditAway,
    Reopen,
    LoseHead,
}

/// How a person's editor saves.
#[derive(Debug, Clone, Copy)]
pub enum Style {
    InPlace,
    RenameOver,
    DeleteAndCreate,
}

fn action(by_hand: u32) -> impl Strategy<Value = (bool, Action)> {
    let style = prop_oneof![Just(Style::InPlace), Just(Style::RenameOver), Just(Style::DeleteAndCreate)];
    let action = prop_oneof![
        4 => Just(Action::Set),
        4 => Just(Action::Append),
        2 => Just(Action::DeleteField),
        1 => Just(Action::DeleteDocument),
        3 => Just(Action::Undo),
        2 => any::<prop::sample::Index>().prop_map(Action::Restore),
        1 => Just(Action::Reopen),
        1 => Just(Action::LoseHead),
        3 * by_hand => style.prop_map(Action::Edit),
        by_hand => Just(Action::EditAway),
    ];
    (any::<bool>(), action)
}

/// A file engine that can be closed and opened, and the disk below it.
struct Store {
    fs: Arc<dyn Fs>,
    engine: FileEngine,
    segment_bytes: u64,
}

impl Store {
    fn new(fs: Arc<dyn Fs>, segment_bytes: u64) -> Store {
        let engine = FileEngine::new(fs.clone(), fs.clone(), hasty(segment_bytes));
        Store { fs, engine, segment_bytes }
    }

    fn reopen(&mut self) {
        self.engine = FileEngine::new(self.fs.clone(), self.fs.clone(), hasty(self.segment_bytes));
    }

    fn head(doc: &Doc) -> String {
        format!("{}/head.json", doc.room.hidden())
    }

    fn has_head(&self, doc: &Doc) -> bool {
        self.fs.size(&Store::head(doc)).unwrap().is_some()
    }

    fn lose_head(&self, doc: &Doc) {
        self.fs.remove(&Store::head(doc)).unwrap();
    }

    fn save(&self, doc: &Doc, style: Style, bytes: &[u8]) {
        let (path, temp) = (doc.path(), format!("{}.swp", doc.path()));
        let dirs = path.match_indices('/').map(|(end, _)| &path[..end]);
        dirs.for_each(|dir| assert!(self.fs.create_dir(dir).is_ok()));
        match style {
            Style::InPlace => {
                self.fs.write_at(&path, 0, b"").unwrap();
                self.fs.truncate(&path, 0).unwrap();
                self.fs.write_at(&path, 0, bytes).unwrap();
            }
            Style::RenameOver => {
                self.fs.write_new(&temp, bytes).unwrap();
                self.fs.rename(&temp, &path).unwrap();
            }
            Style::DeleteAndCreate => {
                self.fs.remove(&path).unwrap();
                self.fs.write_new(&path, bytes).unwrap();
            }
        }
    }

    /// What holds at the end of every history.
    fn check(&self, docs: &[Doc]) {
        for doc in docs {
            let path = doc.path();
            if let Some(bytes) = self.fs.read(&path, u64::MAX - 1).unwrap() {
                let value = json::parse(&bytes).unwrap();
                assert_eq!(doc.kind.shape.check(&value), Ok(()), "{path}");
            }
            let history = replayed(&self.engine, doc);
            assert!(
                history.is_sorted_by(|(one, _), (other, _)| one.revision < other.revision),
                "revisions only grow"
            );
        }
        assert_eq!(self.engine.check(&docs[0].room, false).unwrap(), []);
        let hidden = self.fs.entries(&docs[0].room.hidden()).unwrap();
        assert!(!hidden.iter().any(|name| name.starts_with("next-")), "left over: {hidden:?}");
    }
}

/// Documents whose removal is a reset: those of others are damaged by it.
fn docs() -> [Doc; 2] {
    [doc("errors"), doc("active_agents")]
}

/// Does what a command would do. `number` makes every content different.
fn act(engine: &dyn Engine, doc: &Doc, action: &Action, number: u64) -> Option<ops::Result<Changed>> {
    let at = |path: &str| path.parse::<Path>().unwrap();
    let (mark, list, root) = (at("mark"), at("list"), Path::root());
    let target = |path| Target { doc, path, expect: None };
    Some(match action {
        Action::Set => edit::set(engine, &target(&mark), number.into(), &actor()),
        Action::Append => {
            let item = json!({"item": number});
            let is_there =
                engine.read(doc).is_ok_and(|found| found.is_some_and(|found| !found.value["list"].is_null()));
            match is_there {
                true => edit::append(engine, &target(&list), item, &actor()),
                false => edit::set(engine, &target(&list), json!([item]), &actor()),
            }
        }
        Action::DeleteField => edit::delete(engine, &target(&list), &actor()),
        Action::DeleteDocument => edit::delete(engine, &target(&root), &actor()),
        Action::Undo => undo(engine, &Target::whole(doc, None), FORCED, &actor()).map(changed),
        Action::Restore(pick) => {
            let history = replayed(engine, doc);
            let (record, _) = (!history.is_empty()).then(|| pick.get(&history))?;
            restore(engine, &Target::whole(doc, None), record.revision, FORCED, &actor()).map(changed)
        }
        _ => return None,
    })
}

/// The editors of these histories are others than who undoes.
const FORCED: Terms = Terms { force: true, dry_run: false };

fn changed(back: TakenBack) -> Changed {
    Changed { revision: back.revision, value: back.value.unwrap_or_default(), warnings: back.warnings }
}

fn summary(result: Option<ops::Result<Changed>>) -> String {
    match result {
        Some(Ok(changed)) => format!("{} {} {:?}", changed.revision, changed.value, changed.warnings),
        Some(Err(error)) => format!("{:?}", error.code()),
        None => String::new(),
    }
}

fn agrees_with_the_reference(mut store: Store, actions: &[(bool, Action)]) {
    let (memory, docs) = (MemoryEngine::default(), docs());
    for (number, (which, action)) in (1..).zip(actions) {
        let doc = &docs[usize::from(*which)];
        match action {
            Action::Reopen => store.reopen(),
            Action::LoseHead => store.lose_head(doc),
            _ => {
                let (file, memory) =
                    (act(&store.engine, doc, action, number), act(&memory, doc, action, number));
                assert_eq!(summary(file), summary(memory), "{number}: {action:?}");
            }
        }
        assert_eq!(store.engine.read(doc).unwrap(), memory.read(doc).unwrap(), "{number}: {action:?}");
    }
    for doc in &docs {
        assert_eq!(replayed(&store.engine, doc), replayed(&memory, doc));
    }
    let room = &docs[0].room;
    assert_eq!(store.engine.log(room).unwrap(), memory.log(room).unwrap());
    let mut told = Vec::new();
    store.engine.look_back(room, None, &mut |record| (told.push(record), true).1).unwrap();
    told.reverse();
    assert_eq!(told, memory.log(room).unwrap());
    assert_eq!(store.engine.documents(room).unwrap(), memory.documents(room).unwrap());
    store.check(&docs);
}

fn agrees_with_the_model(mut store: Store, actions: &[(bool, Action)]) {
    let (docs, mut models) = (docs(), [Model::default(), Model::default()]);
    for (number, (which, action)) in (1..).zip(actions) {
        let (doc, model) = (&docs[usize::from(*which)], &mut models[usize::from(*which)]);
        let told = format!("{number}: {action:?} of {}", doc.file());
        if matches!(action, Action::Restore(_)) && model.history.is_empty() {
            continue;
        }
        let accepted = model.act(doc, action, number);
        match action {
            Action::Reopen => store.reopen(),
            Action::LoseHead => store.lose_head(doc),
            Action::Edit(style) => {
                store.save(doc, *style, &json::render(model.content.as_ref().unwrap()));
            }
            Action::EditAway => drop(store.fs.remove(&doc.path()).unwrap()),
            _ => {
                let changed = act(&store.engine, doc, action, number).unwrap();
                assert_eq!(changed.is_ok(), accepted, "{told}: {changed:?}");
                if let Ok(changed) = changed {
                    let revision = models[usize::from(*which)].revision();
                    // Who begins a removed document anew is told so.
                    let warned =
                        changed.warnings.iter().any(|warning| !Plain.tell(warning).contains("begins anew"));
                    assert_eq!((changed.revision, warned), (revision, false), "{told}: {changed:?}");
                }
            }
        }
        if !store.has_head(doc) {
            adopt_what_came_back(&store, &docs, &mut models);
        }
        let (found, model) = (store.engine.read(doc).unwrap(), &models[usize::from(*which)]);
        let revision = found.as_ref().map(|found| found.revision);
        assert_eq!(revision, model.content.as_ref().map(|_| model.revision()), "{told}");
        assert_eq!(found.map(|found| bare(found.value)), model.content, "{told}");
    }
    for (doc, model) in docs.iter().zip(&models) {
        let history: Vec<_> = replayed(&store.engine, doc)
            .into_iter()
            .map(|(record, value)| (record.revision, value.map(bare), record.undoes))
            .collect();
        let expected: Vec<_> =
            model.history.iter().cloned().map(|kept| (kept.revision, kept.content, kept.undoes)).collect();
        assert_eq!(history, expected, "{}", doc.file());
    }
    store.check(&docs);
}

/// Without the cache, a file that the last commit made and that is missing looks like one that a crash did
/// not let be made; only then may it come back.
fn adopt_what_came_back(store: &Store, docs: &[Doc], models: &mut [Model]) {
    for (doc, model) in docs.iter().zip(models) {
        let found = store.engine.read(doc).unwrap().map(|found| bare(found.value));
        if model.content.is_none() && model.edited() && found == model.history.last().unwrap().content {
            model.content = found;
        }
    }
}

fn segment_bytes() -> impl Strategy<Value = u64> {
    prop_oneof![Just(TINY), Just(NORMAL)]
}

fn on_real_disk(actions: &[(bool, Action)], segment_bytes: u64, test: fn(Store, &[(bool, Action)])) {
    let dir = temp_dir();
    test(Store::new(Arc::new(RealFs::new(dir.path())), segment_bytes), actions);
}

fn actions(by_hand: u32) -> impl Strategy<Value = Vec<(bool, Action)>> {
    prop::collection::vec(action(by_hand), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn files_agree_with_the_reference(
        actions in actions(0), segment_bytes in segment_bytes(), exchange in any::<bool>()
    ) {
        agrees_with_the_reference(Store::new(Arc::new(sim_fs(exchange)), segment_bytes), &actions);
    }

    #[test]
    fn files_edited_by_hand_agree_with_the_model(
        actions in actions(1), segment_bytes in segment_bytes(), exchange in any::<bool>()
    ) {
        agrees_with_the_model(Store::new(Arc::new(sim_fs(exchange)), segment_bytes), &actions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn files_on_disk_agree_with_the_reference(actions in actions(0), segment_bytes in segment_bytes()) {
        on_real_disk(&actions, segment_bytes, agrees_with_the_reference);
    }

    #[test]
    fn files_on_disk_edited_by_hand_agree_with_the_model(
        actions in actions(1), segment_bytes in segment_bytes()
    ) {
        on_real_disk(&actions, segment_bytes, agrees_with_the_model);
    }
}
