//! Engines that are wrong in one way each: the conformance suite has to tell every one of them from the reference.
//!
//! Each is the reference engine behind a wrapper with one [`Flaw`], taken from what engines on a database, a cache or a cloud
//! store get wrong. Without a flaw the wrapper is right, and notes which methods of the contract it is asked.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::model::ids::{Key, SessionId};
use anthill_core::model::kind::Doc;
use anthill_core::model::lease::{Sign, Signs};
use anthill_core::model::listing::{Among, Marks, Most, Overview};
use anthill_core::model::raw::Raw;
use anthill_core::model::room::Room;
use anthill_core::model::text_file::{TextFile, TextFiles};
use anthill_core::model::time::{Clock, Moment};
use anthill_core::store::engine::{Glimpse, Live, Visit};
use anthill_core::store::memory::MemoryEngine;
use anthill_core::store::texts::Texts;
use anthill_core::store::{
    Aside, Called, Commits, Committed, Cursor, Document, Edits, Engine, Entry, Event, Expected, Finding,
    Kept, Listener, Picking, Rank, Reading, Result, Revision, Seat, Transaction, Upkeep, Watch,
};
use jiff::Timestamp;
use serde_json::{Map, Value};

/// One way to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Says that a commit happened, and forgets it.
    LosesCommits,
    /// Commits the first document of several.
    CommitsTheFirstDocumentOnly,
    /// Keeps fields in an order of its own, as `jsonb` does.
    SortsFields,
    /// Keeps numbers as what they are worth, as `jsonb` does.
    RespellsNumbers,
    /// Ends texts where C does.
    CutsAtNul,
    /// Gives out the best item again and again.
    ForgetsWhereItWas,
    /// Gives out what is kept back.
    PassesOverNoMark,
    /// Does not see what waits for nothing any more.
    LeavesWhatIsLoose,
    /// Counts only what was there before.
    CountsNothing,
    /// Thinks that no lease ever ends.
    KnowsNothingDue,
    /// Thinks that nobody has anything in hand.
    KnowsNothingOccupied,
    /// Thinks that every id is free.
    KnowsNoIds,
    /// Answers from what it fetched beforehand, and knows nothing else.
    AnswersWhatWasExpectedOnly,
    /// Lists the documents as they were before.
    ListsNotItsOwnWrites,
    /// Tells the time of its first look at a clock.
    StandsStill,
    /// Forgets texts.
    LosesTextFiles,
    /// Adds a piece twice, as somebody who tries again.
    AppendsTwice,
    /// Lets everybody sit down.
    SeatsEverybody,
    /// Hears nothing.
    SleepsThroughChanges,
    /// Tells every event twice.
    TellsTwice,
    /// Passes over every other event, as one with a cursor of numbers that come out of order.
    SkipsEvents,
    /// Begins at the beginning whatever the cursor says.
    ForgetsTheCursor,
    /// Passes over the first commit behind a cursor.
    SkipsACommit,
    /// Does not remember tokens.
    ForgetsTokens,
    /// Takes every token for known.
    KnowsEveryToken,
    /// Tells the log from its end.
    TellsTheLogBackwards,
    /// Tells the newest changes from the oldest on.
    LooksBackForwards,
    /// Takes "I do not know" for "it is not there".
    TakesMaybeForNo,
    /// Does not say when something was written.
    KnowsNoTimes,
    /// Knows no session that is at work.
    KnowsNobody,
    /// Has one name for all documents of a family.
    CallsFamiliesTheSame,
    /// Forgets which member of a family a revision is of.
    ForgetsKeys,
    /// Lists texts of other sorts with those that are asked for.
    MixesTextFiles,
    /// Lists no texts.
    HidesTextFiles,
    /// Takes signs of life, and forgets them.
    LosesSigns,
    /// Keeps the sign of an earlier lease.
    KeepsTheFirstSign,
    /// Makes a revision of each sign.
    WritesSignsDown,
    /// Takes a sign of one for a sign of all.
    MixesSigns,
    /// Tells the signs of before.
    SeesNotItsOwnSigns,
}

/// Which methods were asked, by name.
pub type Asked = Arc<Mutex<BTreeSet<&'static str>>>;

/// The reference engine, with or without a flaw.
#[derive(Debug)]
pub struct Wrong {
    inner: MemoryEngine,
    flaw: Option<Flaw>,
    asked: Asked,
    first_look: Mutex<Option<Moment>>,
}

impl Wrong {
    pub fn new(patience: Duration, flaw: Option<Flaw>, asked: &Asked) -> Wrong {
        let (inner, asked) = (MemoryEngine::with_patience(patience), Arc::clone(asked));
        Wrong { inner, flaw, asked, first_look: Mutex::default() }
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn note(&self, method: &'static str) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(method);
    }
}

/// Makes methods that note that they were asked and hand the question on; and a list of all their names, and of those that are
/// written by hand.
macro_rules! hand_on {
    ($list:ident: $($by_hand:ident),*; impl $trait:ident for $type:ty, $access:ident {
        $(fn $name:ident($($arg:ident: $arg_type:ty),*) -> $out:ty;)*
    } with { $($methods:tt)* }) => {
        impl $trait for $type {
            $(hand_on! { @method $access $name ($($arg: $arg_type),*) -> $out })*
            $($methods)*
        }

        /// The methods of this part of the contract.
        pub const $list: &[&str] = &[$(stringify!($name),)* $(stringify!($by_hand)),*];
    };
    (@method shared $name:ident ($($arg:ident: $arg_type:ty),*) -> $out:ty) => {
        fn $name(&self $(, $arg: $arg_type)*) -> $out {
            self.note(stringify!($name));
            self.inner.$name($($arg),*)
        }
    };
    (@method exclusive $name:ident ($($arg:ident: $arg_type:ty),*) -> $out:ty) => {
        fn $name(&mut self $(, $arg: $arg_type)*) -> $out {
            self.engine.note(stringify!($name));
            self.inner.$name($($arg),*)
        }
    };
}

hand_on! { ENGINE: begin_expecting, log, look_back, cursor, commits_since, has_committed, watch, listen, seat;
impl Engine for Wrong, shared {
    fn read(doc: &Doc) -> Result<Option<Document>>;
    fn replay(doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()>;
    fn rooms() -> Result<Vec<Room>>;
    fn documents(room: &Room) -> Result<Vec<Doc>>;
} with {
    fn begin_expecting(&self, rooms: &[&Room], expected: &[Expected<'_>]) -> Result<Box<dyn Transaction + '_>> {
        self.note("begin_expecting");
        let inner = self.inner.begin_expecting(rooms, expected)?;
        let items = expected.iter().filter_map(|expected| match expected {
            Expected::Item(_, id) => Some((*id).to_owned()),
            _ => None,
        });
        Ok(Box::new(WrongTransaction { engine: self, inner, first: None, expected: items.collect() }))
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        self.note("log");
        let mut log = self.inner.log(room)?;
        if self.is(Flaw::TellsTheLogBackwards) {
            log.reverse();
        }
        if self.is(Flaw::ForgetsKeys) {
            log.iter_mut().for_each(|revision| revision.key = None);
        }
        Ok(log)
    }

    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
        self.note("look_back");
        if !self.is(Flaw::LooksBackForwards) {
            return self.inner.look_back(room, only, visit);
        }
        let log = self.inner.log(room)?.into_iter();
        let _ = log.filter(|revision| only.is_none_or(|doc| revision.is_of(doc))).all(visit);
        Ok(())
    }

    fn cursor(&self) -> Result<Cursor> {
        self.note("cursor");
        self.inner.cursor()
    }

    fn commits_since(&self, cursor: &Cursor, most: usize) -> Result<Commits> {
        self.note("commits_since");
        let mut commits = self.inner.commits_since(cursor, most)?;
        if self.is(Flaw::ForgetsTheCursor) {
            commits = self.inner.commits_since(&Cursor::default(), most)?;
        }
        if self.is(Flaw::SkipsACommit) && commits.commits.len() > 1 {
            commits.commits.remove(0);
        }
        Ok(commits)
    }

    fn has_committed(&self, room: &Room, token: &Key) -> Result<bool> {
        self.note("has_committed");
        let known = self.inner.has_committed(room, token)?;
        Ok((known || self.is(Flaw::KnowsEveryToken)) && !self.is(Flaw::ForgetsTokens))
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        self.note("watch");
        let inner = self.inner.watch(doc, from)?;
        Ok(Box::new(WrongWatch { inner, flaw: self.flaw, again: None, told: 0 }))
    }

    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>> {
        self.note("listen");
        match self.is(Flaw::SleepsThroughChanges) {
            true => Ok(Box::new(Deaf)),
            false => self.inner.listen(docs),
        }
    }

    fn seat(&self, room: &Room, name: &str, patience: Duration) -> Result<Option<Box<dyn Seat>>> {
        self.note("seat");
        match self.is(Flaw::SeatsEverybody) {
            true => Ok(Some(Box::new(AnySeat))),
            false => self.inner.seat(room, name, patience),
        }
    }
} }

hand_on! { READING: is_absent, lacks, written_at, live;
impl Reading for Wrong, shared {
    fn signs(doc: &Doc) -> Result<Signs>;
    fn browse(room: &Room) -> Result<Option<Box<dyn Transaction + '_>>>;
    fn overview(doc: &Doc, most: Most) -> Result<Option<Overview>>;
    fn each_item(doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> Result<bool>;
    fn read_some(doc: &Doc, wanted: &mut dyn FnMut(&Raw) -> bool) -> Result<Option<Document>>;
    fn glimpse(doc: &Doc) -> Result<Option<Glimpse>>;
} with {
    fn is_absent(&self, doc: &Doc) -> bool {
        self.note("is_absent");
        self.is(Flaw::TakesMaybeForNo) || self.inner.is_absent(doc)
    }

    fn lacks(&self, doc: &Doc, text: &str) -> bool {
        self.note("lacks");
        self.is(Flaw::TakesMaybeForNo) || self.inner.lacks(doc, text)
    }

    fn written_at(&self, doc: &Doc) -> Option<Timestamp> {
        self.note("written_at");
        self.inner.written_at(doc).filter(|_| !self.is(Flaw::KnowsNoTimes))
    }

    fn live(&self) -> Result<Live> {
        self.note("live");
        if self.is(Flaw::KnowsNobody) { Ok(Live::default()) } else { self.inner.live() }
    }
} }

hand_on! { UPKEEP: place, called;
impl Upkeep for Wrong, shared {
    fn check(room: &Room, repair: bool) -> Result<Vec<Finding>>;
    fn notes(room: &Room) -> Result<Vec<String>>;
    fn lost(room: &Room) -> Result<Vec<Doc>>;
    fn asides(room: &Room) -> Result<Vec<Aside>>;
    fn read_aside(aside: &Aside) -> Result<Option<Vec<u8>>>;
    fn drop_aside(aside: &Aside) -> Result<()>;
    fn note_aside(aside: &Aside) -> Result<()>;
    fn take_aged(before: Timestamp, most: usize) -> Result<Vec<SessionId>>;
    fn remove_room(room: &Room) -> Result<bool>;
    fn remove_remains() -> Result<()>;
    fn text(doc: &Doc) -> Result<Option<Vec<u8>>>;
} with {
    fn place(&self, doc: &Doc) -> String {
        self.note("place");
        self.inner.place(doc)
    }

    fn called(&self, kept: Kept<'_>) -> Called {
        self.note("called");
        match kept {
            Kept::Document(doc) if self.is(Flaw::CallsFamiliesTheSame) => {
                self.inner.called(Kept::Document(&Doc::shared(doc.kind, doc.room.clone())))
            }
            _ => self.inner.called(kept),
        }
    }
} }

struct WrongTransaction<'e> {
    engine: &'e Wrong,
    inner: Box<dyn Transaction + 'e>,
    /// The first document that was written.
    first: Option<Doc>,
    /// The items that somebody said they would ask for.
    expected: Vec<String>,
}

impl WrongTransaction<'_> {
    /// Whether a document is one that this engine forgets to write.
    fn forgets(&mut self, doc: &Doc) -> bool {
        let first = self.first.get_or_insert_with(|| doc.clone());
        self.engine.is(Flaw::CommitsTheFirstDocumentOnly) && first != doc
    }

    fn spoil(&self, value: Value) -> Value {
        match self.engine.flaw {
            Some(Flaw::SortsFields) => sorted(value),
            Some(Flaw::RespellsNumbers) => respelled(value),
            Some(Flaw::CutsAtNul) => cut(value),
            _ => value,
        }
    }
}

hand_on! { TRANSACTION: put, delete, documents, now, text_file, text_files, write_text_file, append_text_file, sign, signs, commit, get;
impl Transaction for WrongTransaction<'_>, exclusive {
    fn exists(doc: &Doc) -> Result<bool>;
    fn revision(doc: &Doc) -> Result<u64>;
    fn edits(doc: &Doc) -> Result<Edits>;
    fn text_files_changed(room: &Room, sort: TextFiles) -> Result<bool>;
    fn remove_text_file(text_file: &TextFile) -> Result<()>;
} with {
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        self.engine.note("get");
        self.inner.get(doc)
    }

    fn put(&mut self, doc: &Doc, value: Value) -> Result<()> {
        self.engine.note("put");
        if self.forgets(doc) {
            return Ok(());
        }
        let value = self.spoil(value);
        self.inner.put(doc, value)
    }

    fn delete(&mut self, doc: &Doc) -> Result<()> {
        self.engine.note("delete");
        if self.forgets(doc) { Ok(()) } else { self.inner.delete(doc) }
    }

    fn documents(&mut self, room: &Room) -> Result<Vec<Doc>> {
        self.engine.note("documents");
        match self.engine.is(Flaw::ListsNotItsOwnWrites) {
            true => self.engine.inner.documents(room),
            false => self.inner.documents(room),
        }
    }

    fn now(&mut self, here: &dyn Clock) -> Result<Moment> {
        self.engine.note("now");
        let now = self.inner.now(here)?;
        let mut first = self.engine.first_look.lock().unwrap_or_else(PoisonError::into_inner);
        let first = first.get_or_insert_with(|| now.clone()).clone();
        Ok(if self.engine.is(Flaw::StandsStill) { first } else { now })
    }

    fn text_file(&mut self, text_file: &TextFile) -> Result<Option<String>> {
        self.engine.note("text_file");
        self.inner.text_file(text_file)
    }

    fn text_files(&mut self, room: &Room, sort: TextFiles) -> Result<Vec<TextFile>> {
        self.engine.note("text_files");
        match self.engine.flaw {
            Some(Flaw::HidesTextFiles) => Ok(Vec::new()),
            Some(Flaw::MixesTextFiles) => {
                let sorts = [TextFiles::Results, TextFiles::Logs].map(|sort| self.inner.text_files(room, sort));
                Ok(sorts.into_iter().collect::<Result<Vec<_>>>()?.concat())
            }
            _ => self.inner.text_files(room, sort),
        }
    }

    fn write_text_file(&mut self, text_file: &TextFile, text: String) -> Result<()> {
        self.engine.note("write_text_file");
        match self.engine.flaw {
            Some(Flaw::LosesTextFiles) => Ok(()),
            Some(Flaw::CutsAtNul) => {
                self.inner.write_text_file(text_file, text.split('\0').next().unwrap_or_default().into())
            }
            _ => self.inner.write_text_file(text_file, text),
        }
    }

    fn append_text_file(&mut self, text_file: &TextFile, piece: &str) -> Result<()> {
        self.engine.note("append_text_file");
        if self.engine.is(Flaw::AppendsTwice) {
            self.inner.append_text_file(text_file, piece)?;
        }
        self.inner.append_text_file(text_file, piece)
    }

    fn sign(&mut self, doc: &Doc, sign: Sign, now: &Moment) -> Result<bool> {
        self.engine.note("sign");
        match self.engine.flaw {
            Some(Flaw::LosesSigns) => return Ok(true),
            Some(Flaw::KeepsTheFirstSign) if self.inner.signs(doc)?.of(&sign.id).is_some() => return Ok(true),
            Some(Flaw::WritesSignsDown) => {
                if let Some(mut item) = self.inner.item(doc, &sign.id)? {
                    item["lease"] = sign.lease.clone();
                    self.inner.put_item(doc, &sign.id, item)?;
                }
            }
            Some(Flaw::MixesSigns) => {
                for item in self.inner.find(doc, Among::Active)? {
                    let id = item["id"].as_str().unwrap_or_default().to_owned();
                    self.inner.sign(doc, Sign { id, ..sign.clone() }, now)?;
                }
            }
            _ => {}
        }
        self.inner.sign(doc, sign, now)
    }

    fn signs(&mut self, doc: &Doc) -> Result<Signs> {
        self.engine.note("signs");
        match self.engine.is(Flaw::SeesNotItsOwnSigns) {
            true => self.engine.inner.signs(doc),
            false => self.inner.signs(doc),
        }
    }

    fn commit(self: Box<Self>, entry: &Entry) -> Result<Committed> {
        self.engine.note("commit");
        if self.engine.is(Flaw::LosesCommits) { Ok(Committed::default()) } else { self.inner.commit(entry) }
    }
} }

hand_on! { PICKING: item, put_item, taken, find, best, may_be_due, due, may_be_occupied, counts;
impl Picking for WrongTransaction<'_>, exclusive {
    fn item_at(doc: &Doc, position: usize) -> Result<Option<Value>>;
    fn remove_items(doc: &Doc, ids: &[&str]) -> Result<()>;
    fn extend(doc: &Doc, items: Texts) -> Result<()>;
    fn frame(doc: &Doc) -> Result<Option<Value>>;
} with {
    fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>> {
        self.engine.note("item");
        let is_unknown = !self.expected.is_empty() && !self.expected.iter().any(|known| known == id);
        if self.engine.is(Flaw::AnswersWhatWasExpectedOnly) && is_unknown {
            return Ok(None);
        }
        self.inner.item(doc, id)
    }

    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()> {
        self.engine.note("put_item");
        let item = self.spoil(item);
        self.inner.put_item(doc, id, item)
    }

    fn taken(&mut self, doc: &Doc, ids: &[&str]) -> Result<Option<Vec<bool>>> {
        self.engine.note("taken");
        match self.engine.is(Flaw::KnowsNoIds) {
            true => Ok(Some(vec![false; ids.len()])),
            false => self.inner.taken(doc, ids),
        }
    }

    fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>> {
        self.engine.note("find");
        match among {
            Among::Loose if self.engine.is(Flaw::LeavesWhatIsLoose) => Ok(Vec::new()),
            _ => self.inner.find(doc, among),
        }
    }

    fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>> {
        self.engine.note("best");
        match self.engine.flaw {
            Some(Flaw::ForgetsWhereItWas) => self.inner.best(doc, None, without),
            Some(Flaw::PassesOverNoMark) => self.inner.best(doc, after, &Marks::default()),
            _ => self.inner.best(doc, after, without),
        }
    }

    fn may_be_due(&mut self, doc: &Doc, now: &Moment) -> Result<bool> {
        self.engine.note("may_be_due");
        Ok(!self.engine.is(Flaw::KnowsNothingDue) && self.inner.may_be_due(doc, now)?)
    }

    fn due(&mut self, doc: &Doc, now: &Moment) -> Result<Vec<Value>> {
        self.engine.note("due");
        if self.engine.is(Flaw::KnowsNothingDue) { Ok(Vec::new()) } else { self.inner.due(doc, now) }
    }

    fn may_be_occupied(&mut self, doc: &Doc, keys: &[u64]) -> Result<bool> {
        self.engine.note("may_be_occupied");
        Ok(!self.engine.is(Flaw::KnowsNothingOccupied) && self.inner.may_be_occupied(doc, keys)?)
    }

    fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>> {
        self.engine.note("counts");
        let mut counts = self.inner.counts(doc)?;
        if self.engine.is(Flaw::CountsNothing) {
            counts.fill(0);
        }
        Ok(counts)
    }
} }

fn each(value: Value, change: fn(Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(change).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, change(field))).collect(),
        other => other,
    }
}

fn sorted(value: Value) -> Value {
    match each(value, sorted) {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(fields.into_iter().collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn respelled(value: Value) -> Value {
    match &value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.as_i64().is_none() && number.as_u64().is_none() => float.into(),
            _ => value,
        },
        _ => each(value, respelled),
    }
}

fn cut(value: Value) -> Value {
    match value {
        Value::String(text) => text.split('\0').next().unwrap_or_default().into(),
        other => each(other, cut),
    }
}

struct WrongWatch {
    inner: Box<dyn Watch>,
    flaw: Option<Flaw>,
    again: Option<Event>,
    told: usize,
}

impl Watch for WrongWatch {
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Event>> {
        if let Some(event) = self.again.take() {
            return Ok(Some(event));
        }
        let mut event = self.inner.next(timeout)?;
        self.told += usize::from(event.is_some());
        if self.flaw == Some(Flaw::SkipsEvents) && event.is_some() && self.told.is_multiple_of(2) {
            event = self.inner.next(timeout)?;
        }
        if self.flaw == Some(Flaw::TellsTwice) {
            self.again.clone_from(&event);
        }
        Ok(event)
    }
}

/// Hears nothing.
struct Deaf;

impl Listener for Deaf {
    fn wait(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let end = Instant::now() + timeout.unwrap_or_default();
        thread::sleep(end.saturating_duration_since(Instant::now()));
        Ok(false)
    }
}

struct AnySeat;

impl Seat for AnySeat {
    fn for_child(&self) -> Stdio {
        Stdio::null()
    }
}
