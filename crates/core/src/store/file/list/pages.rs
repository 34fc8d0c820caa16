//! A file of pages, each with a checksum. Changes stay in memory until they are flushed.
//!
//! The first page is the header and is written last, with a generation of its own. A page that is spoiled, or
//! newer than the header, is not believed: [`Pages::page`] returns `None`, and whoever asks makes the file anew.

use std::collections::BTreeMap;
use std::io;

use xxhash_rust::xxh3::xxh3_64;

use crate::store::file::fs::Handle;

const PAGE: usize = 4096;
/// What a page can hold; records of 4, 8 and 64 bytes fill it without rest.
pub const PAYLOAD: usize = 4032;
/// Where a page tells its generation, number and checksum.
const FOOTER: usize = PAGE - 24;

#[derive(Debug, Default)]
pub struct Pages {
    file: Option<Box<dyn Handle>>,
    pages: BTreeMap<u32, Page>,
    generation: u64,
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
        let pages = BTreeMap::from([(0, Page { bytes: header, dirty: false })]);
        Some(Pages { file: Some(file), pages, generation })
    }

    /// Makes a page that is not in the file yet.
    fn fresh() -> Page {
        Page { bytes: vec![0; PAGE], dirty: true }
    }

    fn page(&mut self, number: u32) -> Option<&mut Page> {
        if !self.pages.contains_key(&number) {
            let page = match &self.file {
                None => Pages::fresh(),
                Some(file) => {
                    let bytes = read(&**file, number)?;
                    if self::number(&bytes, FOOTER) > self.generation {
                        return None;
                    }
                    Page { bytes, dirty: false }
                }
            };
            self.pages.insert(number, page);
        }
        self.pages.get_mut(&number)
    }

    pub fn get<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        let (number, offset) = place(at);
        self.page(number)?.bytes.get(offset..offset + N)?.try_into().ok()
    }

    /// Returns the rest of the page from a place on.
    pub fn rest(&mut self, at: u64) -> Option<&[u8]> {
        let (number, offset) = place(at);
        Some(&self.page(number)?.bytes[offset..PAYLOAD])
    }

    pub fn set(&mut self, at: u64, bytes: &[u8]) -> Option<()> {
        let (number, offset) = place(at);
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

    /// Makes sure that every page up to `count` will be there.
    pub fn reserve(&mut self, count: u32) {
        for number in 0..count {
            self.pages.entry(number).or_insert_with(Pages::fresh);
        }
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
        let Some(file) = &self.file else { return Ok(()) };
        self.generation += 1;
        for (number, page) in self.pages.iter_mut().rev().filter(|(_, page)| page.dirty) {
            page.bytes[FOOTER..FOOTER + 8].copy_from_slice(&self.generation.to_le_bytes());
            let sum = checksum(&page.bytes, *number);
            page.bytes[FOOTER + 8..FOOTER + 16].copy_from_slice(&sum.to_le_bytes());
            file.write_at(u64::from(*number) * PAGE as u64, &page.bytes)?;
            page.dirty = false;
        }
        Ok(())
    }
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
