//! The memory that the C library of a guest has free, which a checkpoint can leave out.
//!
//! Freed memory stays in a guest, with the bytes that it had. The C library notes where it is: dlmalloc has
//! the last piece of its heap (`top`), the piece that it cuts small ones from (`dv`), and trees of all large
//! ones, by their sizes. Each begins with words that it reads, and nothing reads what follows.
//!
//! ```text
//! malloc_state      8 dvsize   12 topsize   20 dv   24 top   304 32 roots of trees, by size
//! a piece           0 size of the one before   4 its own size, and bits   8 the next of its size
//!                  12 the one before of its size   16 two children   24 parent   28 tree   32 unread bytes
//! ```
//!
//! # Why
//!
//! The host looks and the guest does nothing: no object is made, no fuel is used, no time passes, and the
//! heap does not change, so the next allocation is the one that it would have been. The guest could allocate
//! and zero its free memory instead, while its memory may not grow. That would do all of this, its pieces
//! would be in another order afterwards, and a guest that has damaged its heap would have to be watched.
//!
//! Few pieces are large, and the trees name no other ones. So looking costs next to nothing, each page that
//! is left out need not be hashed and compressed, and it is done for every checkpoint: what is left depends
//! on the state alone, and not on when somebody looked.
//!
//! A guest can write what it likes where its heap is noted. All addresses are checked, and so is their
//! number. The worst that it can do is to lose bytes of its own memory.

use std::ops::Range;

use crate::memory::PAGE;
use wardian_engine::HeapPlace;

/// Offsets in dlmalloc's `malloc_state`.
const DV_SIZE: usize = 8;
const TOP_SIZE: usize = 12;
const DV: usize = 20;
const TOP: usize = 24;
const TREES: usize = 304;

/// The trees of pieces from [`LEAST`] bytes on.
const LARGE: Range<usize> = 12..32;

/// Bytes of the smallest piece that is looked at. Smaller ones have few whole pages.
const LEAST: usize = 16 << 10;

/// Offsets in a piece.
const SIZE: usize = 4;
const NEXT: usize = 8;
const CHILDREN: [usize; 2] = [16, 20];
const UNREAD: usize = 32;

/// Bits of a size: the piece before is in use, this one is, and one that is always 0.
const BEFORE_IN_USE: usize = 1;
const IN_USE: usize = 2;
const BITS: usize = 7;

/// The word behind the size of what follows the last piece.
const AFTER_TOP: usize = 56;

/// Pieces begin 8 bytes before an address that is a multiple of this.
const ALIGNMENT: usize = 16;

/// The numbers of the pages of `memory` that hold nothing but free memory, as ranges that ascend and do not
/// overlap. None if the heap is not as the C library leaves it.
pub(crate) fn free_pages(memory: &[u8], place: HeapPlace) -> Vec<Range<usize>> {
    let pieces = Heap { memory }.pieces(place).unwrap_or_default();
    let pages = pieces.into_iter().map(|piece| piece.start.div_ceil(PAGE)..piece.end / PAGE);
    let mut pages: Vec<Range<usize>> = pages.filter(|pages| !pages.is_empty()).collect();
    pages.sort_unstable_by_key(|pages| pages.start);
    // Those of a heap that is as it should be do not overlap.
    pages.dedup_by(|next, last| {
        let is_joined = next.start <= last.end;
        if is_joined {
            last.end = last.end.max(next.end);
        }
        is_joined
    });
    pages
}

/// A guest's memory, as far as it is its heap.
struct Heap<'a> {
    memory: &'a [u8],
}

impl Heap<'_> {
    /// The unread bytes of all large free pieces, and of the last one.
    fn pieces(&self, HeapPlace { state }: HeapPlace) -> Option<Vec<Range<usize>>> {
        let state = usize::try_from(state).ok()?;
        let word = |offset: usize| self.word(state.checked_add(offset)?);
        let mut pieces = vec![self.last(word(TOP)?, word(TOP_SIZE)?)?];
        let dv_size = word(DV_SIZE)?;
        if dv_size > 0 {
            pieces.push(self.free(word(DV)?).filter(|(size, _)| *size == dv_size)?.1);
        }
        let mut pending = Vec::new();
        for tree in LARGE {
            pending.push(word(tree.checked_mul(4)?.checked_add(TREES)?)?);
        }
        // As many as have place, so that a circle ends.
        let mut left = self.memory.len() / LEAST;
        while let Some(first) = pending.pop() {
            if first == 0 {
                continue;
            }
            let mut at = first;
            loop {
                left = left.checked_sub(1)?;
                pieces.push(self.free(at).filter(|(size, _)| *size >= LEAST)?.1);
                at = self.word(at.checked_add(NEXT)?)?;
                if at == first {
                    break;
                }
            }
            for child in CHILDREN {
                pending.push(self.word(first.checked_add(child)?)?);
            }
        }
        Some(pieces)
    }

    /// The last piece of the heap.
    fn last(&self, at: usize, size: usize) -> Option<Range<usize>> {
        let end = at.checked_add(size)?;
        let is_last = at % ALIGNMENT == ALIGNMENT / 2
            && self.word(at.checked_add(SIZE)?)? == size | BEFORE_IN_USE
            && self.word(end.checked_add(SIZE)?)? == AFTER_TOP;
        is_last.then_some(at.checked_add(UNREAD)?..end)
    }

    /// The size of a free piece, and its unread bytes.
    fn free(&self, at: usize) -> Option<(usize, Range<usize>)> {
        let word = self.word(at.checked_add(SIZE)?)?;
        let size = word & !BITS;
        let end = at.checked_add(size)?;
        let is_free = at % ALIGNMENT == ALIGNMENT / 2
            && word & BITS == BEFORE_IN_USE
            && self.word(end)? == size
            && self.word(end.checked_add(SIZE)?)? & (BEFORE_IN_USE | IN_USE) == IN_USE;
        is_free.then_some((size, at.checked_add(UNREAD)?..end))
    }

    fn word(&self, at: usize) -> Option<usize> {
        let word = self.memory.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(word.try_into().ok()?)).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const STATE: usize = 1_000;
    const PLACE: HeapPlace = HeapPlace { state: 1_000 };
    /// The first piece.
    const BASE: usize = 2 * PAGE + 8;

    /// A heap as dlmalloc has it: pieces one after another, and the last one.
    struct Made {
        memory: Vec<u8>,
        /// Unread bytes of pieces that are noted as free.
        free: Vec<Range<usize>>,
    }

    impl Made {
        fn set(&mut self, at: usize, word: usize) {
            self.memory[at..at + 4].copy_from_slice(&u32::try_from(word).unwrap().to_le_bytes());
        }

        /// Pieces of these sizes, in multiples of 16 bytes. Two free ones never lie side by side.
        fn of(pieces: &[(usize, bool)], last: usize, has_dv: bool) -> Self {
            let length: usize = pieces.iter().map(|(size, _)| 2 * size * ALIGNMENT).sum();
            let bytes = BASE + length + last * ALIGNMENT + 2 * PAGE;
            let mut made = Self { memory: vec![0xa5; bytes], free: Vec::new() };
            made.memory[STATE..STATE + 500].fill(0);
            let (mut at, mut trees) = (BASE, BTreeMap::<_, BTreeMap<usize, Vec<usize>>>::new());
            let mut dv = has_dv;
            for (size, is_free) in pieces {
                let size = size * ALIGNMENT;
                if !is_free {
                    made.set(at + SIZE, size | BEFORE_IN_USE | IN_USE);
                    at += size;
                    continue;
                }
                made.set(at + SIZE, size | BEFORE_IN_USE);
                if std::mem::take(&mut dv) {
                    made.set(STATE + DV, at);
                    made.set(STATE + DV_SIZE, size);
                    made.free.push(at + UNREAD..at + size);
                } else if size >= LEAST {
                    let order = size.ilog2();
                    let half = usize::from(size >> (order - 1) & 1 == 1);
                    let tree = (usize::try_from(order).unwrap() - 8) * 2 + half;
                    trees.entry(tree).or_default().entry(size).or_default().push(at);
                    made.free.push(at + UNREAD..at + size);
                }
                at += size;
                // What follows is in use.
                made.set(at, size);
                made.set(at + SIZE, size | IN_USE);
                at += size;
            }
            for (tree, sizes) in trees {
                made.plant(tree, sizes.into_values().collect());
            }
            made.set(at + SIZE, (last * ALIGNMENT) | BEFORE_IN_USE);
            made.set(STATE + TOP, at);
            made.set(STATE + TOP_SIZE, last * ALIGNMENT);
            made.set(at + last * ALIGNMENT + SIZE, AFTER_TOP);
            made.free.push(at + UNREAD..at + last * ALIGNMENT);
            made
        }

        /// Makes a tree of rings: pieces of one size.
        fn plant(&mut self, tree: usize, rings: Vec<Vec<usize>>) {
            let mut above = STATE + TREES + 4 * tree;
            for (number, ring) in rings.into_iter().enumerate() {
                self.set(above, ring[0]);
                for (place, at) in ring.iter().enumerate() {
                    self.set(at + NEXT, ring[(place + 1) % ring.len()]);
                    CHILDREN.iter().for_each(|child| self.set(at + child, 0));
                }
                above = ring[0] + CHILDREN[number % 2];
            }
        }

        fn free_pages(&self) -> Vec<usize> {
            free_pages(&self.memory, PLACE).into_iter().flatten().collect()
        }
    }

    fn pieces() -> impl Strategy<Value = Vec<(usize, bool)>> {
        let size = prop_oneof![2..100_usize, 1_024..1_030_usize, 1_024..20_000_usize];
        prop::collection::vec((size, any::<bool>()), 0..12)
    }

    proptest! {
        #[test]
        fn all_whole_pages_of_large_free_pieces_are_found_and_no_others(
            pieces in pieces(), last in 2..2_000_usize, has_dv in any::<bool>()
        ) {
            let made = Made::of(&pieces, last, has_dv);
            let is_free = |page: &usize| {
                let bytes = page * PAGE..(page + 1) * PAGE;
                made.free.iter().any(|free| free.start <= bytes.start && bytes.end <= free.end)
            };
            let expected: Vec<usize> = (0..made.memory.len() / PAGE).filter(is_free).collect();
            prop_assert_eq!(made.free_pages(), expected);
        }

        /// As a guest that writes where it should not.
        #[test]
        fn a_heap_that_is_not_one_has_pages_of_the_memory_at_most(
            pieces in pieces(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..9),
        ) {
            let mut made = Made::of(&pieces, 500, true);
            for (at, word) in changes {
                let words: Vec<usize> = (STATE..STATE + 440).chain(BASE..made.memory.len() - 4)
                    .step_by(4).collect();
                made.set(words[at.index(words.len())], usize::try_from(word).unwrap());
            }
            let mut end = 0;
            for pages in free_pages(&made.memory, PLACE) {
                prop_assert!(pages.start >= end && !pages.is_empty());
                end = pages.end;
            }
            prop_assert!(end <= made.memory.len() / PAGE);
        }
    }

    #[test]
    fn circles_and_pieces_in_use_end_the_search() {
        let made = || Made::of(&[(2_000, true), (3_000, true)], 900, false);
        assert!(!made().free_pages().is_empty());
        let second = BASE + 2 * 2_000 * ALIGNMENT;
        for (at, word) in [
            // A ring that does not come back to its beginning, and a child that is its parent.
            (BASE + NEXT, second),
            (second + NEXT, BASE),
            (BASE + CHILDREN[0], BASE),
            (BASE + CHILDREN[1], 4),
            (BASE + SIZE, (2_000 * ALIGNMENT) | BEFORE_IN_USE | IN_USE),
            (BASE + 2_000 * ALIGNMENT, 1_999 * ALIGNMENT),
            (STATE + TOP, BASE),
            (STATE + TOP_SIZE, 16),
            (STATE + DV_SIZE, 16),
            (STATE + TREES + 4 * 20, usize::MAX & 0xffff_fff0),
        ] {
            let mut made = made();
            made.set(at, word);
            assert_eq!(made.free_pages(), Vec::<usize>::new(), "{word} at {at}");
        }
        assert!(free_pages(&[], PLACE).is_empty());
        assert!(free_pages(&[0; 2 * PAGE], PLACE).is_empty());
    }
}
