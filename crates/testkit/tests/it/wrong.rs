//! The suite tells engines that are wrong from one that is right, and asks everything that the contract has.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use anthill_core::store::Engine;
use anthill_core::store::engine::Entry;
use anthill_core::store::observed::{Changed, Observed, Observer};
use anthill_testkit::conformance::GUARANTEES;
use anthill_testkit::wrong::{Asked, ENGINE, Flaw, PICKING, READING, TRANSACTION, UPKEEP, Wrong};

/// Makes a test that a guarantee fails for an engine with a flaw.
macro_rules! caught {
    ($($name:ident: $flaw:ident by $guarantee:literal;)*) => {
        $(#[test]
        fn $name() {
            assert!(fails(Flaw::$flaw, $guarantee), "{} passes {}", stringify!($flaw), $guarantee);
        })*
    };
}

caught! {
    commits_that_are_lost: LosesCommits by "lazy_commits_are_visible";
    half_a_commit: CommitsTheFirstDocumentOnly by "multi_document_commit_is_all_or_nothing";
    sorted_fields: SortsFields by "documents_come_back_as_they_were_put";
    respelled_numbers: RespellsNumbers by "documents_come_back_as_they_were_put";
    texts_that_end_at_nul: CutsAtNul by "text_files_come_back_as_they_were_written";
    the_same_best_again: ForgetsWhereItWas by "picking_walks_the_whole_order_without_repeating";
    marks_that_do_not_count: PassesOverNoMark by "picking_passes_over_what_is_marked";
    loose_items_that_stay: LeavesWhatIsLoose by "items_by_standing";
    counts_of_nothing: CountsNothing by "items_by_standing";
    leases_without_end: KnowsNothingDue by "picking_tells_what_is_due_and_occupied";
    nothing_in_hand: KnowsNothingOccupied by "picking_tells_what_is_due_and_occupied";
    ids_that_are_free: KnowsNoIds by "items_are_appended_and_removed";
    expectations_that_answer: AnswersWhatWasExpectedOnly by "expectations_change_no_answer";
    listings_of_before: ListsNotItsOwnWrites by "documents_are_listed_as_a_transaction_sees_them";
    time_that_stands_still: StandsStill by "time_is_told_under_the_lock";
    text_files_that_are_lost: LosesTextFiles by "text_files_come_with_the_commit";
    pieces_that_come_twice: AppendsTwice by "text_files_come_with_the_commit";
    seats_for_all: SeatsEverybody by "a_seat_has_one_holder";
    sleeping_through: SleepsThroughChanges by "waking_a_listener_once_per_change";
    events_told_twice: TellsTwice by "watch_ordered_unique_reliable_resumable";
    events_passed_over: SkipsEvents by "watch_ordered_unique_reliable_resumable";
    cursors_that_are_forgotten: ForgetsTheCursor by "course_tells_every_commit_once_in_its_order";
    commits_passed_over: SkipsACommit by "course_tells_every_commit_once_in_its_order";
    tokens_that_are_forgotten: ForgetsTokens by "tokens_tell_whether_a_commit_has_happened";
    tokens_that_are_always_known: KnowsEveryToken by "tokens_tell_whether_a_commit_has_happened";
    a_log_from_its_end: TellsTheLogBackwards by "order_of_the_log_is_the_order_of_commits";
    looking_back_from_the_start: LooksBackForwards by "looking_back_tells_the_log_from_its_end";
    maybe_taken_for_no: TakesMaybeForNo by "quick_looks_agree_with_reading";
    times_that_nobody_knows: KnowsNoTimes by "quick_looks_agree_with_reading";
    families_with_one_name: CallsFamiliesTheSame by "what_is_kept_is_called_by_names_of_its_own";
    revisions_of_anybody: ForgetsKeys by "history_tells_the_members_of_a_family_apart";
    text_files_of_other_sorts: MixesTextFiles by "text_files_are_listed_by_sort";
    text_files_that_are_hidden: HidesTextFiles by "text_files_are_listed_by_sort";
    signs_that_are_lost: LosesSigns by "signs_of_life_come_with_the_commit";
    signs_of_an_earlier_lease: KeepsTheFirstSign by "the_last_sign_of_an_item_counts";
    signs_that_are_revisions: WritesSignsDown by "signs_of_life_make_no_revision";
    signs_of_somebody_else: MixesSigns by "a_sign_is_of_one_item";
    signs_of_before: SeesNotItsOwnSigns by "signs_of_life_come_with_the_commit";
    sessions_that_nobody_knows: KnowsNobody by "sessions_that_may_be_at_work_are_listed";
}

fn fails(flaw: Flaw, guarantee: &str) -> bool {
    let (_, check) = GUARANTEES.iter().find(|(name, _)| *name == guarantee).expect("a guarantee");
    let make = |patience| Box::new(Wrong::new(patience, Some(flaw), &Asked::default())) as Box<dyn Engine>;
    catch_unwind(AssertUnwindSafe(|| check(&make))).is_err()
}

struct Nobody;

impl Observer for Nobody {
    fn committed(&self, _: &dyn Engine, _: &[Changed<'_>], _: &Entry) -> Vec<String> {
        Vec::new()
    }
}

/// Also through the wrapper that every command uses: it hands everything on.
#[test]
fn every_method_of_the_contract_is_asked() {
    let asked = Asked::default();
    let make = |patience: Duration| {
        let engine = Box::new(Wrong::new(patience, None, &asked));
        Box::new(Observed::new(engine, Box::new(Nobody))) as Box<dyn Engine>
    };
    GUARANTEES.iter().for_each(|(_, check)| check(&make));
    let asked = asked.lock().unwrap();
    let all = [ENGINE, READING, UPKEEP, TRANSACTION, PICKING].concat();
    let missing: Vec<_> = all.iter().filter(|method| !asked.contains(**method)).collect();
    assert!(missing.is_empty(), "never asked: {missing:?}");
}
