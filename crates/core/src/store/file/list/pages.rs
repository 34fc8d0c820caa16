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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::store::file::fs::Stat;

    /// A file in memory that notes what is written, and may refuse it.
    #[derive(Debug, Clone, Default)]
    struct Disk {
        bytes: Arc<Mutex<Vec<u8>>>,
        writes: Arc<Mutex<Vec<(u64, usize)>>>,
        /// So many writes are done, then no more.
        left: Option<Arc<Mutex<usize>>>,
    }

    impl Disk {
        fn writes(&self) -> Vec<(u64, u64)> {
            let writes = std::mem::take(&mut *self.writes.lock().expect("one thread"));
            writes.into_iter().map(|(at, length)| (at / PAGE as u64, (length / PAGE) as u64)).collect()
        }

        fn open(&self) -> Option<Pages> {
            Pages::open(Box::new(Disk { left: None, ..self.clone() }))
        }
    }

    impl Handle for Disk {
        fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
            let bytes = self.bytes.lock().expect("one thread");
            let rest = bytes.get(offset as usize..).unwrap_or_default();
            Ok(rest[..rest.len().min(length)].to_vec())
        }

        fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            if let Some(left) = &self.left {
                let mut left = left.lock().expect("one thread");
                *left = left.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
            }
            let (mut file, start) = (self.bytes.lock().expect("one thread"), offset as usize);
            let length = file.len().max(start + bytes.len());
            file.resize(length, 0);
            file[start..start + bytes.len()].copy_from_slice(bytes);
            self.writes.lock().expect("one thread").push((offset, bytes.len()));
            Ok(())
        }

        fn truncate(&self, _: u64) -> io::Result<()> {
            unreachable!("pages are never cut")
        }

        fn sync(&self) -> io::Result<()> {
            unreachable!("a cache is never synced")
        }

        fn append(&self, _: &[u8]) -> io::Result<()> {
            unreachable!("pages have their places")
        }

        fn opened(&self) -> &Stat {
            unreachable!("nobody asks")
        }

        fn mark(&self) -> io::Result<Stat> {
            unreachable!("nobody asks")
        }

        fn is_alone(&self) -> io::Result<bool> {
            unreachable!("nobody asks")
        }
    }

    const P: u64 = PAYLOAD as u64;

    fn stored(count: u32) -> Disk {
        let (disk, mut pages) = (Disk::default(), Pages::default());
        pages.make(count);
        pages.attach(Box::new(disk.clone()));
        pages.flush().expect("a disk");
        disk
    }

    #[test]
    fn neighbours_are_written_together_and_the_header_last() {
        let disk = stored(9);
        assert_eq!(disk.writes(), [(1, 8), (0, 1)]);
        let mut pages = disk.open().expect("a header");
        pages.flush().expect("a disk");
        assert_eq!(disk.writes(), [], "nothing has changed");
        for page in [3, 0, 8, 4, 1, 6] {
            pages.set_u64(page * P + 8, page + 100).expect("a page");
        }
        pages.flush().expect("a disk");
        assert_eq!(disk.writes(), [(8, 1), (6, 1), (3, 2), (1, 1), (0, 1)]);
        pages.set_u64(P * 9 - 8, 7).expect("a page");
        assert_eq!(pages.u64(P * 3 + 8), Some(103), "known after a flush too");
        pages.set_u64(0, 1).expect("a page");
        pages.flush().expect("a disk");
        let mut pages = disk.open().expect("a header");
        assert_eq!(pages.u64(P * 9 - 8), Some(7));
        for page in [3, 0, 8, 4, 1, 6] {
            assert_eq!(pages.u64(page * P + 8), Some(page + 100));
        }
        assert_eq!((pages.u64(P * 2), pages.u64(P * 9)), (Some(0), None), "there are no more");
    }

    /// Cut off after any write, the old header stands, and what is newer than that is not believed.
    #[test]
    fn half_a_flush_is_not_believed() {
        for left in 0..4 {
            let disk = stored(6);
            let failing = Disk { left: Some(Arc::new(Mutex::new(left))), ..disk.clone() };
            let mut pages = Pages::open(Box::new(failing)).expect("a header");
            for page in [0, 2, 4] {
                pages.set_u64(page * P, 5).expect("a page");
            }
            assert_eq!(pages.flush().is_ok(), left == 3);
            let mut pages = disk.open().expect("a header");
            let found = [0, 2, 4].map(|page| pages.u64(page * P));
            let expected = match left {
                0 => [Some(0), Some(0), Some(0)],
                1 => [Some(0), Some(0), None],
                2 => [Some(0), None, None],
                _ => [Some(5), Some(5), Some(5)],
            };
            assert_eq!(found, expected, "after {left} writes");
        }
    }

    #[test]
    fn spoiled_and_exchanged_pages_are_not_believed() {
        let disk = stored(4);
        let good = disk.bytes.lock().expect("one thread").clone();
        for at in (0..PAGE - 8).step_by(37) {
            let mut bad = good.clone();
            bad[2 * PAGE + at] ^= 4;
            *disk.bytes.lock().expect("one thread") = bad;
            let mut pages = disk.open().expect("a header");
            assert_eq!((pages.u64(P), pages.u64(2 * P)), (Some(0), None), "byte {at}");
        }
        let mut moved = good.clone();
        moved.copy_within(PAGE..2 * PAGE, 3 * PAGE);
        *disk.bytes.lock().expect("one thread") = moved;
        assert_eq!(disk.open().expect("a header").u64(3 * P), None, "it is another page");
        *disk.bytes.lock().expect("one thread") = good[..3 * PAGE + 9].to_vec();
        assert_eq!(disk.open().expect("a header").u64(3 * P), None, "it is cut");
        *disk.bytes.lock().expect("one thread") = good[..PAGE - 1].to_vec();
        assert!(disk.open().is_none());
    }
}
