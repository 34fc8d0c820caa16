//! What a transaction asks of one room: its documents and texts.

use serde_json::Value;

use super::{Loaded, RoomTransaction};
use crate::model::kind::Doc;
use crate::model::lease::{Sign, Signs};
use crate::model::listing::{Among, Marks};
use crate::model::text_file::{TextFile, TextFiles, Writing};
use crate::model::time::Moment;
use crate::store::edits::Edits;
use crate::store::engine::{self, Engine, Rank};
use crate::store::error::{Error, Result};
use crate::store::file::addresses::{DocFiles, PaperFiles};
use crate::store::file::edits::Edit;
use crate::store::file::list::List;
use crate::store::file::place::HeadDoc;
use crate::store::file::{addresses, signs, text_files};
use crate::store::texts::Texts;

impl RoomTransaction<'_> {
    pub fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        self.leave_list(doc)?;
        let loaded = self.load(doc)?;
        Ok(match &loaded.new {
            Some(new) => new.as_ref(),
            None => loaded.base.as_ref(),
        })
    }

    pub fn exists(&mut self, doc: &Doc) -> Result<bool> {
        Ok(self.list(doc)?.is_some() || self.get(doc)?.is_some())
    }

    pub fn documents(&mut self) -> Result<Vec<Doc>> {
        let mut documents = self.place.engine.documents(&self.place.room)?;
        for loaded in self.loaded.values() {
            match &loaded.new {
                Some(Some(_)) if !documents.contains(&loaded.doc) => documents.push(loaded.doc.clone()),
                Some(None) => documents.retain(|doc| *doc != loaded.doc),
                _ => {}
            }
        }
        documents.sort_by(|one, other| one.file().cmp(&other.file()));
        Ok(documents)
    }

    pub fn revision(&mut self, doc: &Doc) -> Result<u64> {
        match self.list(doc)? {
            Some(list) => Ok(list.revision),
            None => Ok(self.load(doc)?.revision),
        }
    }

    pub fn put(&mut self, doc: &Doc, value: Value) -> Result<()> {
        self.leave_list(doc)?;
        self.write(doc, Some(value))
    }

    pub fn delete(&mut self, doc: &Doc) -> Result<()> {
        self.leave_list(doc)?;
        match self.write(doc, None) {
            // Whoever deletes what is gone says that it may be.
            Err(Error::Gone { .. }) => self.accept_loss(doc),
            written => written,
        }
    }

    fn accept_loss(&mut self, doc: &Doc) -> Result<()> {
        let Some(HeadDoc { revision, sum: lost }) = self.head.docs.get(&*doc.file()).copied() else {
            return Ok(());
        };
        let doc = doc.clone();
        self.note_write(&doc);
        let loaded = Loaded {
            base: None,
            base_sum: None,
            revision,
            edit: None,
            new: Some(None),
            lost,
            doc: doc.clone(),
        };
        self.loaded.insert(doc.file().into_owned(), loaded);
        Ok(())
    }

    pub fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>> {
        match self.ask(doc, |list| list.item(id))? {
            Some(item) => Ok(item),
            None => Ok(self.get(doc)?.and_then(|value| engine::item_in(doc, value, id)).cloned()),
        }
    }

    pub fn item_at(&mut self, doc: &Doc, position: usize) -> Result<Option<Value>> {
        match self.ask(doc, |list| list.item_at(position))? {
            Some(item) => Ok(item),
            None => {
                let items = self.get(doc)?.map(|value| engine::items(doc.kind, value)).unwrap_or_default();
                Ok(items.get(position).map(|item| (*item).clone()))
            }
        }
    }

    pub fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>> {
        match self.ask(doc, |list| list.find(among))? {
            Some(found) => Ok(found),
            None => Ok(self.get(doc)?.map(|value| engine::find_in(doc, value, among)).unwrap_or_default()),
        }
    }

    pub fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>> {
        match self.ask(doc, |list| list.best(after, without))? {
            Some(best) => Ok(best),
            None => Ok(self.get(doc)?.and_then(|value| engine::best_in(doc, value, after, without))),
        }
    }

    pub fn may_be_due(&mut self, doc: &Doc, now: &Moment) -> Result<bool> {
        Ok(self.ask(doc, |list| list.may_be_due(now))?.unwrap_or(true))
    }

    pub fn due(&mut self, doc: &Doc, now: &Moment) -> Result<Vec<Value>> {
        match self.ask(doc, |list| list.due(now))? {
            Some(due) => Ok(due),
            None => self.find(doc, Among::Active),
        }
    }

    pub fn may_be_occupied(&mut self, doc: &Doc, keys: &[u64]) -> Result<bool> {
        Ok(self.ask(doc, |list| list.may_be_occupied(keys))?.unwrap_or(true))
    }

    pub fn sign(&mut self, doc: &Doc, sign: Sign, now: &Moment) -> Result<bool> {
        let given = self.signs.iter().map(|(slot, _)| slot);
        let Some(slot) = signs::slot_for(&self.place, doc, &sign, given, now) else { return Ok(false) };
        self.signs.push((slot, sign));
        Ok(true)
    }

    pub fn signs(&mut self, doc: &Doc) -> Result<Signs> {
        let own = self.signs.iter().map(|(_, sign)| sign.clone());
        Ok(signs::all(&self.place, doc)?.into_iter().chain(own).collect())
    }

    pub fn frame(&mut self, doc: &Doc) -> Result<Option<Value>> {
        match self.ask(doc, |list| list.read_frame())? {
            Some(frame) => Ok(Some(Value::Object(frame))),
            None => Ok(self.get(doc)?.map(|value| engine::frame_of(doc, value))),
        }
    }

    pub fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>> {
        match self.ask(doc, List::counts)? {
            Some(counts) => Ok(counts),
            None => Ok(engine::counts_in(doc, self.get(doc)?)),
        }
    }

    pub fn put_item(&mut self, doc: &Doc, id: &str, mut item: Value) -> Result<()> {
        self.make_room(doc, id)?;
        if self.ask(doc, |list| list.put(id, &mut item))?.is_some() {
            self.note_write(doc);
            return Ok(());
        }
        self.begin_copy(doc)?;
        match self.load(doc)?.new.as_mut() {
            Some(Some(value)) => engine::put_in(doc, value, id, item),
            _ => engine::put_in(doc, &mut Value::Null, id, item),
        }
        .map_err(|unfit| unfit.of(doc.file()))
    }

    pub fn remove_items(&mut self, doc: &Doc, ids: &[&str]) -> Result<()> {
        if self.ask(doc, |list| list.remove(ids))?.is_some() {
            self.note_write(doc);
            return Ok(());
        }
        self.begin_copy(doc)?;
        if let Some(Some(value)) = self.load(doc)?.new.as_mut() {
            engine::remove_in(doc, value, ids);
        }
        Ok(())
    }

    pub fn extend(&mut self, doc: &Doc, items: Texts) -> Result<()> {
        if items.size() >= self.place.long && self.takes_bulk(doc)? {
            self.bulks.insert(doc.file().into_owned(), items);
            self.note_write(doc);
            return Ok(());
        }
        self.extend_whole(doc, &items)
    }

    pub fn taken(&mut self, doc: &Doc, ids: &[&str]) -> Result<Option<Vec<bool>>> {
        if self.list(doc)?.is_some() {
            return self.ask(doc, |list| list.taken(ids));
        }
        let is_empty = self.get(doc)?.is_none_or(|value| engine::items(doc.kind, value).is_empty());
        Ok(is_empty.then(|| vec![false; ids.len()]))
    }

    pub fn edits(&mut self, doc: &Doc) -> Result<Edits> {
        if let Some(list) = self.list(doc)? {
            return Ok(list.edit().map(Edit::tell).unwrap_or_default());
        }
        match self.load(doc)? {
            Loaded { edit: Some(edit), base: Some(_), .. } => Ok(edit.tell()),
            _ => Ok(Edits::default()),
        }
    }

    pub fn text_file(&mut self, text_file: &TextFile) -> Result<Option<String>> {
        let bytes = self.place.read_doc(&text_file.file(), text_files::LIMIT)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub fn text_files(&mut self, sort: TextFiles) -> Result<Vec<TextFile>> {
        let dir = addresses::folder_of(&self.place.room, sort);
        let path = self.place.doc(dir);
        let stamp =
            self.place.fs.folder_stamp(&path).map_err(|error| self.place.failed("look at", &path, error))?;
        self.folders.insert(dir, stamp);
        let names = self.place.fs.entries(&path).map_err(|error| self.place.failed("list", &path, error))?;
        let named = |name: &String| addresses::text_file_named(&self.place.room, sort, name);
        Ok(names.iter().filter_map(named).collect())
    }

    pub fn write_text_file(&mut self, text_file: &TextFile, text: String) -> Result<()> {
        self.text_files.insert(text_file.file(), Writing::Whole(text));
        Ok(())
    }

    pub fn remove_text_file(&mut self, text_file: &TextFile) -> Result<()> {
        self.text_files.insert(text_file.file(), Writing::Gone);
        Ok(())
    }

    pub fn folder_changed(&self, dir: &'static str) -> Result<bool> {
        let path = self.place.doc(dir);
        let stamp =
            self.place.fs.folder_stamp(&path).map_err(|error| self.place.failed("look at", &path, error))?;
        Ok(stamp != self.head.folders.get(dir).copied())
    }

    pub fn append_text_file(&mut self, text_file: &TextFile, piece: &str) -> Result<()> {
        self.text_files.entry(text_file.file()).or_insert_with(|| Writing::Piece(String::new())).push(piece);
        Ok(())
    }
}
