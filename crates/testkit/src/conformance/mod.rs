//! One suite for every engine: each function is one promise of `store::engine`, by its name.
//!
//! `conformance!(make)` makes a `#[test]` of every guarantee. `make` returns
//! an engine on an empty store, with the patience that it is told. What only files can go through (edits
//! by hand, another process, a crash) is tested elsewhere.

mod atomicity;
mod concurrency;
mod course;
mod fidelity;
mod history;
mod listing;
mod looks;
mod picking;
mod revisions;
mod signs;
mod text_files;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use anthill_core::model::hint::Plain;
use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::room::Room;
use anthill_core::model::time;
use anthill_core::ops::Actor;
use anthill_core::store::{Document, Durability, Engine, Entry, Revision, Watch};
use jiff::Timestamp;
use serde_json::{Value, json};

pub use atomicity::*;
pub use concurrency::*;
pub use course::*;
pub use fidelity::*;
pub use history::*;
pub use listing::*;
pub use looks::*;
pub use picking::*;
pub use revisions::*;
pub use signs::*;
pub use text_files::*;
pub use watching::*;

/// Makes an engine on an empty store, with this patience.
pub type Make<'m> = &'m dyn Fn(Duration) -> Box<dyn Engine>;

/// Hands the names of all guarantees to a macro, behind what it is given besides.
#[macro_export]
macro_rules! with_guarantees {
    ($then:ident! ($($before:tt)*)) => {
        $then! { $($before)*
            atomicity_nothing_shows_before_the_commit
            dropped_transaction_changes_nothing
            invalid_documents_are_never_committed
            a_newer_format_than_our_own_is_never_written
            multi_document_commit_is_all_or_nothing
            a_commit_in_several_rooms_is_all_or_nothing
            lazy_commits_are_visible
            empty_commit_changes_nothing

            isolation_a_transaction_sees_its_own_writes
            isolation_no_append_of_many_threads_is_lost_or_doubled
            isolation_rooms_do_not_wait_for_each_other
            isolation_who_takes_several_rooms_never_waits_for_ever
            isolation_readers_see_whole_committed_revisions
            isolation_undo_takes_back_no_change_of_others
            second_transaction_waits_then_busy
            second_transaction_gets_in_when_the_first_ends
            reader_never_waits

            revisions_rise_by_one
            revisions_never_go_back_even_after_delete
            revisions_survive_many_deletes
            revisions_are_per_document
            group_status_entries_have_their_own_revision
            stamps_are_the_engines_to_set

            order_of_the_log_is_the_order_of_commits
            replay_gives_every_revision_with_its_content
            changes_lead_from_one_revision_to_the_next
            undo_and_restore
            undo_of_a_delete_brings_it_back
            restore_to_nothing_deletes
            looking_back_tells_the_log_from_its_end
            undo_of_any_commit_gives_the_document_before
            changes_know_the_items_that_they_are_about
            others_changes_are_taken_back_by_force_only

            picking_best_first_by_priority_age_position
            picking_walks_the_whole_order_without_repeating
            picking_sees_own_writes
            picking_passes_over_what_is_marked
            picking_by_many_threads_gives_each_task_once
            items_by_id
            items_by_key_where_the_list_is_a_map
            items_by_standing
            items_seen_from_above
            items_are_appended_and_removed
            picking_tells_what_is_due_and_occupied

            signs_of_life_come_with_the_commit
            signs_of_life_make_no_revision
            the_last_sign_of_an_item_counts
            a_sign_is_of_one_item
            signs_of_many_at_once
            signs_come_with_a_change_of_the_same_commit

            text_files_come_with_the_commit
            text_files_of_a_dropped_transaction_are_not_written
            text_files_are_listed_by_sort
            text_files_that_nobody_else_left_change_nothing
            a_paper_may_stand_beside_its_room

            watch_begins_with_a_snapshot
            watch_of_a_missing_document_reports_its_creation
            watch_of_a_deleted_document_does_not_tell_the_past
            watch_ordered_unique_reliable_resumable
            watch_resumes_at_the_present_without_a_repeat
            watch_reports_deletes
            waking_a_sleeping_watch
            waking_what_was_reported_can_be_read
            waking_a_listener_once_per_change
            watch_hears_only_its_own_document

            documents_and_rooms_are_listed
            a_dropped_transaction_leaves_no_room_behind
            check_finds_nothing_wrong

            documents_come_back_as_they_were_put
            text_files_come_back_as_they_were_written

            course_tells_every_commit_once_in_its_order
            course_names_the_items_of_a_commit
            course_tells_a_commit_in_several_rooms_as_one
            course_under_load_is_gapless
            course_knows_its_own_cursors_only
            tokens_tell_whether_a_commit_has_happened
            tokens_cover_commits_of_texts

            quick_looks_agree_with_reading
            reading_some_items_leaves_the_others_out
            browsing_sees_what_is_there
            sessions_that_may_be_at_work_are_listed
            upkeep_of_a_sound_store_has_nothing_to_do
            asides_that_are_gone_are_no_failure
            a_seat_has_one_holder
            time_is_told_under_the_lock
            documents_are_listed_as_a_transaction_sees_them
            expectations_change_no_answer
            what_is_kept_is_called_by_names_of_its_own
            history_tells_the_members_of_a_family_apart
        }
    };
}

/// Makes one test per guarantee for the engine that the expression's closure returns.
#[macro_export]
macro_rules! conformance {
    (@tests $make:expr; $($guarantee:ident)*) => {
        $(#[test]
        fn $guarantee() {
            $crate::conformance::$guarantee(&$make);
        })*
    };
    ($make:expr) => {
        use $crate::conformance as make_tests;
        $crate::with_guarantees! { make_tests! (@tests $make;) }
    };
}

macro_rules! list_guarantees {
    ($($guarantee:ident)*) => {
        /// Every guarantee with its name.
        pub const GUARANTEES: &[(&str, fn(Make<'_>))] = &[$((stringify!($guarantee), $guarantee)),*];
    };
}

with_guarantees! { list_guarantees! () }

/// How long a test, and an engine in it, waits for what must come.
const SOON: Duration = Duration::from_secs(20);
/// How long a test waits for what must not come.
const QUIET: Duration = Duration::from_millis(30);

fn kind(name: &str) -> &'static Kind {
    Kind::find(name).unwrap()
}

/// Returns the only document of a kind that needs no id.
pub fn doc(name: &str) -> Doc {
    let kind = kind(name);
    Doc::shared(kind, kind.room().unwrap())
}

fn session_doc(name: &str, session: &str) -> Doc {
    Doc::of_session(kind(name), session.parse().unwrap())
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// Returns a log entry by `tester` at a fixed time.
pub fn entry(op: &str) -> Entry {
    let (at, by, op) = (now(), "tester".into(), op.into());
    Entry { at, by, author: None, op, undoes: None, token: None, durability: Durability::Synced }
}

fn lazy(op: &str) -> Entry {
    Entry { durability: Durability::Lazy, ..entry(op) }
}

/// Returns somebody who acts at a fixed time.
pub fn actor() -> Actor {
    Actor { clock: Arc::new(now()), session: None, acting: None, user: "tester".into(), door: &Plain }
}

/// Changes a document in one transaction; a missing one starts from its default.
fn change_with(engine: &dyn Engine, doc: &Doc, entry: &Entry, edit: impl FnOnce(&mut Value)) -> Document {
    let mut transaction = engine.begin(&[&doc.room]).unwrap();
    let mut value = transaction.get(doc).unwrap().cloned().unwrap_or_else(|| doc.default(now()));
    edit(&mut value);
    transaction.put(doc, value).unwrap();
    let committed = transaction.commit(entry).unwrap();
    assert_eq!(committed.warnings, []);
    let [(changed, document)] = &committed.documents[..] else { panic!("one document was changed") };
    assert_eq!(changed, doc);
    document.clone()
}

fn change(engine: &dyn Engine, doc: &Doc, edit: impl FnOnce(&mut Value)) -> Document {
    change_with(engine, doc, &entry("test"), edit)
}

/// Marks a document with a number of ours.
fn mark(engine: &dyn Engine, doc: &Doc, number: u64) -> Document {
    change(engine, doc, |value| value["mark"] = number.into())
}

fn delete(engine: &dyn Engine, doc: &Doc) {
    let mut transaction = engine.begin(&[&doc.room]).unwrap();
    transaction.delete(doc).unwrap();
    transaction.commit(&entry("delete")).unwrap();
}

fn read(engine: &dyn Engine, doc: &Doc) -> Option<Document> {
    engine.read(doc).unwrap()
}

/// Returns every kept revision of a document with its content.
pub fn replayed(engine: &dyn Engine, doc: &Doc) -> Vec<(Revision, Option<Value>)> {
    let mut revisions = Vec::new();
    engine.replay(doc, &mut |record, value| revisions.push((record.clone(), value.cloned()))).unwrap();
    revisions
}

/// Returns a task of the queue that is ready, created `age` minutes ago.
fn task(id: &str, priority: u64, age: i64) -> Value {
    let created = now() - jiff::SignedDuration::from_mins(age);
    json!({
        "id": id, "description": id, "status": "available", "priority": priority,
        "created_at": time::stamp(created)
    })
}

fn add_tasks(engine: &dyn Engine, tasks: Vec<Value>) -> Document {
    change(engine, &doc("queue"), |queue| queue["tasks"].as_array_mut().unwrap().extend(tasks))
}

/// Takes what a watch reports until `revision`, and makes sure that nothing follows.
fn events_until(watch: &mut dyn Watch, revision: u64) -> Vec<(u64, Value)> {
    let mut events = Vec::new();
    while events.last().is_none_or(|(last, _)| *last < revision) {
        let event = watch.next(Some(SOON)).unwrap();
        let event = event.unwrap_or_else(|| panic!("reliable: revision {revision} after {events:?}"));
        events.push((event.revision, event.value()));
    }
    assert_quiet(watch);
    events
}

#[track_caller]
fn assert_quiet(watch: &mut dyn Watch) {
    assert_eq!(watch.next(Some(QUIET)).unwrap(), None, "unique: nothing happened since");
}

fn room_of(name: &str) -> Room {
    doc(name).room
}
