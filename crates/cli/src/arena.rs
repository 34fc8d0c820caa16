//! Memory for a short command: a strip inside the program, handed out from front to back.
//!
//! A command that lives half a millisecond gains nothing from an allocator that finds every hole again: each page
//! that it asks the system for costs more than the command's own work. Here an allocation moves a mark; freeing or
//! growing the newest block moves it back or on; any other freed block is lost. When the strip is used up, `beyond`
//! serves, and what runs for long has lost no more than the strip.
//!
//! The one place of the workspace, with [`start`](crate::start), that uses `unsafe`: an allocator hands out raw memory.
//! It rests on this: blocks never overlap, and whoever holds a block that ends at the mark holds the newest one, so
//! that nobody else moves the mark down past its end meanwhile.

#![allow(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for the hot commands; only what is touched costs anything.
const SIZE: usize = 256 << 10;

/// In this order: the mark shares its page with the first blocks.
#[repr(C)]
pub struct Arena<A> {
    beyond: A,
    /// Everything before this is taken.
    mark: AtomicUsize,
    strip: Strip,
}

#[repr(align(16))]
struct Strip(UnsafeCell<[MaybeUninit<u8>; SIZE]>);

// SAFETY: the strip is only ever accessed through blocks, which do not overlap.
unsafe impl Sync for Strip {}

impl<A> Arena<A> {
    pub const fn before(beyond: A) -> Arena<A> {
        let strip = Strip(UnsafeCell::new([MaybeUninit::zeroed(); SIZE]));
        Arena { beyond, mark: AtomicUsize::new(0), strip }
    }

    fn start(&self) -> *mut u8 {
        self.strip.0.get().cast()
    }

    /// Takes a block from the strip if there is room.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let mut mark = self.mark.load(Ordering::Relaxed);
        loop {
            let address = self.start().addr() + mark;
            let begin = mark + (address.next_multiple_of(layout.align()) - address);
            let end = begin.checked_add(layout.size()).filter(|end| *end <= SIZE)?;
            match self.mark.compare_exchange_weak(mark, end, Ordering::AcqRel, Ordering::Relaxed) {
                // SAFETY: `begin` is within the strip.
                Ok(_) => return Some(unsafe { self.start().add(begin) }),
                Err(moved) => mark = moved,
            }
        }
    }

    /// Returns where in the strip a block begins, if it is one of the strip's.
    fn begin(&self, block: *mut u8) -> Option<usize> {
        let begin = block.addr().checked_sub(self.start().addr())?;
        (begin < SIZE).then_some(begin)
    }

    /// Moves the end of the newest block; fails if it is not the newest, or if there is no room.
    fn move_end(&self, begin: usize, old_size: usize, new_size: usize) -> bool {
        let (end, moved) = (begin + old_size, begin.saturating_add(new_size));
        moved <= SIZE && self.mark.compare_exchange(end, moved, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

// SAFETY: blocks are aligned, large enough and disjoint: `take` moves the mark past what it returns, and the mark
// moves back only over a block that its holder gives back. What is not in the strip is `beyond`'s.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Arena<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        self.take(layout).unwrap_or_else(|| unsafe { self.beyond.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(block) => {
                // SAFETY: the block is ours and has this size. It may have been somebody's before.
                unsafe { block.write_bytes(0, layout.size()) };
                block
            }
            // SAFETY: the caller's promises are passed on.
            None => unsafe { self.beyond.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match self.begin(block) {
            Some(begin) => {
                self.move_end(begin, layout.size(), 0);
            }
            // SAFETY: the caller's promises are passed on, and the block is not the strip's.
            None => unsafe { self.beyond.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Some(begin) = self.begin(block) else {
            // SAFETY: the caller's promises are passed on, and the block is not the strip's.
            return unsafe { self.beyond.realloc(block, layout, new_size) };
        };
        if self.move_end(begin, layout.size(), new_size) || new_size <= layout.size() {
            return block;
        }
        // SAFETY: the alignment is a layout's and the caller vouches for the size; both blocks are the caller's, and
        // the new one is the larger.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size());
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::System;

    use super::*;

    fn arena() -> Box<Arena<System>> {
        Box::new(Arena::before(System))
    }

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_are_aligned_and_follow_each_other() {
        let arena = arena();
        let start = arena.start().addr();
        let places = [(3, 1), (8, 8), (1, 1), (64, 64)].map(|(size, align)| {
            let block = arena.take(layout(size, align)).unwrap().addr();
            assert_eq!(block % align, 0);
            block - start
        });
        assert_eq!(places[..3], [0, 8, 16]);
        assert!(places[3] > 16);
    }

    #[test]
    fn the_newest_block_is_given_back_and_grows_in_place_others_move() {
        let (arena, small) = (arena(), layout(16, 8));
        // SAFETY: every block is used within its layout, and not after it was given back.
        unsafe {
            let (first, second) = (arena.alloc(small), arena.alloc(small));
            assert_eq!(arena.realloc(second, small, 32), second);
            assert_eq!(arena.realloc(second, layout(32, 8), 16), second);
            first.write_bytes(7, 16);
            let moved = arena.realloc(first, small, 64);
            assert_ne!(moved, first);
            assert_eq!(std::slice::from_raw_parts(moved, 16), [7; 16]);
            arena.dealloc(moved, layout(64, 8));
            let again = arena.alloc_zeroed(small);
            assert_eq!(again, moved);
            assert_eq!(std::slice::from_raw_parts(again, 16), [0; 16]);
        }
    }

    #[test]
    fn what_does_not_fit_comes_from_beyond() {
        let (arena, whole, one) = (arena(), layout(SIZE, 1), layout(1, 1));
        // SAFETY: as above.
        unsafe {
            let all = arena.alloc(whole);
            assert_eq!(all, arena.start());
            let outside = arena.alloc(one);
            assert_eq!(arena.begin(outside), None);
            let grown = arena.realloc(outside, one, 2 * SIZE);
            arena.dealloc(grown, layout(2 * SIZE, 1));
            let moved = arena.realloc(all, whole, SIZE + 1);
            assert_eq!(arena.begin(moved), None);
            arena.dealloc(moved, layout(SIZE + 1, 1));
        }
    }

    #[test]
    fn threads_never_share_a_byte() {
        let arena = arena();
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let arena = &arena;
                scope.spawn(move || {
                    for round in 0..2000 {
                        let wanted = layout(1 + (round * thread) % 24, 1 << (round % 4));
                        // SAFETY: as above.
                        unsafe {
                            let block = arena.alloc(wanted);
                            block.write_bytes(thread as u8, wanted.size());
                            std::thread::yield_now();
                            let bytes = std::slice::from_raw_parts(block, wanted.size());
                            assert!(bytes.iter().all(|byte| *byte == thread as u8));
                            arena.dealloc(block, wanted);
                        }
                    }
                });
            }
        });
    }
}
