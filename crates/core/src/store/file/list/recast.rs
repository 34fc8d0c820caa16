//! Laying a list out anew from the texts of its items, because some leave or one needs more room than there is. The texts of the
//! others go from the old file to the new one a piece at a time.

use std::collections::BTreeSet;

use super::draft::{Draft, Plan, Reader, Text};
use super::index::Build;
use super::{Answer, List, Lost, Put, layout, sure};
use crate::model::raw::Raw;

impl List {
    /// Lays the list out anew: each item gets its room again, and those at some positions leave. [`Lost`] leaves everything as it was.
    pub(super) fn recast(&mut self, leaving: &BTreeSet<usize>) -> Answer<()> {
        let fields = self.read_frame()?;
        let staying: Vec<_> =
            (0..sure(self.index.count())?).filter(|position| !leaving.contains(position)).collect();
        let texts = staying.iter().map(|position| self.text_at(*position)).collect::<Answer<Vec<_>>>()?;
        let plan = Plan::of(&self.doc, self.field, &fields, &texts)?;
        let index = sure(self.look_through(&staying, &texts, &plan)?.finish(&plan.frame))?;
        let mut gone = Vec::new();
        for position in leaving {
            let before = match self.puts.get(position) {
                Some(put) => put.before.clone(),
                None => Some(self.at(*position)?),
            };
            gone.extend(before.map(|before| (self.place_in_file(*position), before)));
        }
        let old = std::mem::take(&mut self.puts).into_iter();
        let stays = old.filter(|(position, _)| !leaving.contains(position));
        self.puts = stays
            .map(|(position, put)| {
                let position = position - leaving.range(..position).count();
                (position, Put { slot: plan.slots[position], moved: false, ..put })
            })
            .collect();
        self.gone.extend(gone);
        self.moves.clear();
        self.last = None;
        self.index = index;
        let saved = self.draft.take().and_then(|draft| draft.saved);
        self.draft = Some(Draft { fields, texts, size: plan.frame.size, saved });
        Ok(())
    }

    /// Returns the text of an item as it is to be, or where it stands.
    fn text_at(&mut self, position: usize) -> Answer<Text> {
        if let Some(put) = self.puts.get(&position) {
            return Ok(Text::New(put.text.clone()));
        }
        if let Some(moved) = self.moves.get(&position) {
            return Ok(Text::New(moved.text.clone()));
        }
        match &self.draft {
            Some(draft) => sure(draft.texts.get(position).cloned()),
            None => Ok(Text::in_slot(sure(self.index.record(position))?.slot)),
        }
    }

    /// Reads all items in their new slots. Each must be the one that the index knows, or is to be put.
    fn look_through(&mut self, staying: &[usize], texts: &[Text], plan: &Plan) -> Answer<Build> {
        let List { index, file, draft, puts, .. } = self;
        let mut reader = Reader::of(&**file, draft.as_ref().and_then(|draft| draft.saved.as_ref()));
        let (mut raw, mut build) = (Raw::default(), Build::of(self.listing));
        for ((position, text), slot) in staying.iter().zip(texts).zip(&plan.slots) {
            let text = sure(reader.text(text).ok())?;
            let whole = raw.read(text, 0) == Some(text.len());
            let is_known = puts.contains_key(position)
                || sure(index.record(*position))?.sum == layout::item_sum(raw.text(), *position);
            if !whole || !is_known {
                return Err(Lost);
            }
            build.add(*slot, &raw);
        }
        Ok(build)
    }

    /// Returns where an item stood before this transaction took others out.
    pub(super) fn place_in_file(&self, position: usize) -> usize {
        self.gone.keys().fold(position, |position, gone| position + usize::from(*gone <= position))
    }
}
