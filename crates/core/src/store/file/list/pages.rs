//! A file of pages, each with a checksum. Changes stay in memory until they are flushed.
//!
//! The first page is the header and is written last, with a generation of its own. A page that is spoiled, or
//! newer than the header, is not believed: [`Pages::page`] returns `None`, and whoever asks makes the file anew.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use xxhash_rust::xxh3::xxh3_64;

use crate::store::file::fs::Handle;

/// Small, because every page that is touched is read, copied and summed up.
const PAGE: usize = 1024;
/// What a page can hold; records of 4, 8, 16 and 64 bytes fill it without rest.
pub const PAYLOAD: usize = 960;
/// Where a page tells its generation, number and checksum.
const FOOTER: usize = PAGE - 24;

#[derive(Debug, Default)]
pub struct Pages {
    file: Option<Box<dyn Handle>>,
    pages: BTreeMap<u32, Page>,
    generation: u64,
    /// All pages of a file that is being made, one behind the other.
    whole: Vec<u8>,
    /// The page that was asked for last; it is not among the others.
    last: Option<(u32, Page)>,
}

#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    dirty: bool,
}

impl Pages {
    /// Opens a file, if its header can be believed.
    pub fn open(file: Box<dyn Handle>) -> Option<Pages> {
        let header = read(&*file, 0)?;
        let generation = number(&header, FOOTER);
        let last = Some((0, Page { bytes: header, dirty: false }));
        Some(Pages { file: Some(file), pages: BTreeMap::new(), generation, whole: Vec::new(), last })
    }

    /// Makes a page that is not in the file yet.
    fn fresh() -> Page {
        Page { bytes: vec![0; PAGE], dirty: true }
    }

    fn page(&mut self, number: u32) -> Option<&mut Page> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let page = match self.pages.remove(&number) {
                Some(page) => page,
                None => self.load(number)?,
            };
            if let Some((last, page)) = self.last.replace((number, page)) {
                self.pages.insert(last, page);
            }
        }
        self.last.as_mut().map(|(_, page)| page)
    }

    fn load(&self, number: u32) -> Option<Page> {
        let Some(file) = &self.file else { return Some(Pages::fresh()) };
        let bytes = read(&**file, number)?;
        (self::number(&bytes, FOOTER) <= self.generation).then_some(Page { bytes, dirty: false })
    }

    pub fn get<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        let (number, offset) = place(at);
        if !self.whole.is_empty() {
            return self.of_whole(number)?.get(offset..offset + N)?.try_into().ok();
        }
        self.page(number)?.bytes.get(offset..offset + N)?.try_into().ok()
    }

    /// Returns the rest of the page from a place on.
    pub fn rest(&mut self, at: u64) -> Option<&[u8]> {
        let (number, offset) = place(at);
        if !self.whole.is_empty() {
            return self.of_whole(number)?.get(offset..PAYLOAD);
        }
        Some(&self.page(number)?.bytes[offset..PAYLOAD])
    }

    pub fn set(&mut self, at: u64, bytes: &[u8]) -> Option<()> {
        let (number, offset) = place(at);
        if !self.whole.is_empty() {
            self.of_whole(number)?.get_mut(offset..offset + bytes.len())?.copy_from_slice(bytes);
            return Some(());
        }
        let page = self.page(number)?;
        page.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        page.dirty = true;
        Some(())
    }

    pub fn u32(&mut self, at: u64) -> Option<u32> {
        self.get(at).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, at: u64) -> Option<u64> {
        self.get(at).map(u64::from_le_bytes)
    }

    pub fn set_u32(&mut self, at: u64, value: u32) -> Option<()> {
        self.set(at, &value.to_le_bytes())
    }

    pub fn set_u64(&mut self, at: u64, value: u64) -> Option<()> {
        self.set(at, &value.to_le_bytes())
    }

    /// Begins a new file with so many pages.
    pub fn make(&mut self, count: u32) {
        self.whole = vec![0; count as usize * PAGE];
    }

    fn of_whole(&mut self, number: u32) -> Option<&mut [u8]> {
        let start = number as usize * PAGE;
        self.whole.get_mut(start..start + PAGE)
    }

    /// Says where pages are written to. Those that were made before are all dirty.
    pub fn attach(&mut self, file: Box<dyn Handle>) {
        self.file = Some(file);
    }

    pub fn is_stored(&self) -> bool {
        self.file.is_some()
    }

    /// Writes what has changed, the header last.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pages.extend(self.last.take());
        let Some(file) = &self.file else { return Ok(()) };
        self.generation += 1;
        if !self.whole.is_empty() {
            for (number, page) in (0..).zip(self.whole.chunks_exact_mut(PAGE)) {
                seal(page, number, self.generation);
            }
            file.write_at(PAGE as u64, &self.whole[PAGE..])?;
            return file.write_at(0, &self.whole[..PAGE]);
        }
        // Pages that stand side by side are written together, but for the header.
        let (mut run, mut first) = (Vec::new(), 0);
        for (number, page) in self.pages.iter_mut().rev().filter(|(_, page)| page.dirty) {
            seal(&mut page.bytes, *number, self.generation);
            page.dirty = false;
            if *number == 0 || *number + 1 != first {
                write(&**file, first, &mut run)?;
            }
            run.push(&page.bytes[..]);
            first = *number;
        }
        write(&**file, first, &mut run)
    }
}

/// Says in a page which one it is.
fn seal(page: &mut [u8], number: u32, generation: u64) {
    page[FOOTER..FOOTER + 8].copy_from_slice(&generation.to_le_bytes());
    let sum = checksum(page, number);
    page[FOOTER + 8..FOOTER + 16].copy_from_slice(&sum.to_le_bytes());
}

/// Writes pages, which come from the last to the first.
fn write(file: &dyn Handle, first: u32, run: &mut Vec<&[u8]>) -> io::Result<()> {
    let bytes = match &run[..] {
        [] => return Ok(()),
        [page] => Cow::Borrowed(*page),
        pages => Cow::Owned(pages.iter().rev().copied().collect::<Vec<_>>().concat()),
    };
    run.clear();
    file.write_at(u64::from(first) * PAGE as u64, &bytes)
}

fn place(at: u64) -> (u32, usize) {
    ((at / PAYLOAD as u64) as u32, (at % PAYLOAD as u64) as usize)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn checksum(page: &[u8], number: u32) -> u64 {
    xxh3_64(&page[..FOOTER + 8]).wrapping_add(u64::from(number))
}

fn read(file: &dyn Handle, number: u32) -> Option<Vec<u8>> {
    let bytes =
        file.read_at(u64::from(number) * PAGE as u64, PAGE).ok().filter(|bytes| bytes.len() == PAGE)?;
    (self::number(&bytes, FOOTER + 8) == checksum(&bytes, number)).then_some(bytes)
}
