//! Memories of zeros for the collector's heap, which holds exceptions of C code.
//!
//! INVARIANT(unused-heap): a range is used for a second run only if no byte of it was ever
//! accessible. Such a range needs no reset. Only C code that throws takes memory here, so most runs
//! need no system call for this heap.
#![expect(unsafe_code, reason = "wasmtime's traits for memories are unsafe to implement")]

use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::LinearMemory;

use crate::memory::mapping::Mapping;
use crate::memory::{MemoryError, PAGE};

/// Maximum number of bytes that the collector's heap of one run may have.
///
/// Only in-flight exceptions of C code live there, a few bytes each; a guest that throws in a
/// loop must not grow the worker.
const LARGEST: usize = 16 << 20;

/// The pool of such memories. Unused ones return to it.
#[derive(Debug, Default)]
pub(super) struct PlainMemories {
    unused: Mutex<Option<Reserved>>,
}

impl PlainMemories {
    /// A memory of `minimum` zeros that can grow within `reserved` bytes.
    pub(super) fn lend(
        self: &Arc<Self>,
        minimum: usize,
        reserved: usize,
        guard: usize,
    ) -> Result<PlainMemory, MemoryError> {
        let reserved = reserved.max(minimum).next_multiple_of(PAGE);
        let unused = self.unused.lock().take();
        let mut range = match unused.filter(|it| it.length == reserved && it.guard == guard) {
            Some(range) => range,
            None => Reserved::new(reserved, guard)?,
        };
        range.open_to(minimum)?;
        Ok(PlainMemory { range: Some(range), home: Arc::clone(self) })
    }
}

/// Addresses with a guard on both sides.
#[derive(Debug)]
struct Reserved {
    mapping: Mapping,
    guard: usize,
    length: usize,
    /// Bytes that are accessible. They never become less.
    open: usize,
}

impl Reserved {
    fn new(length: usize, guard: usize) -> Result<Self, MemoryError> {
        let mapping = Mapping::reserve(length.saturating_add(guard.saturating_mul(2)))?;
        Ok(Self { mapping, guard, length, open: 0 })
    }

    fn open_to(&mut self, size: usize) -> Result<(), MemoryError> {
        if size > self.length.min(LARGEST) {
            return Err(MemoryError::Image { problem: "cannot grow past its reservation" });
        }
        if let Some(more) = size.checked_sub(self.open).filter(|more| *more > 0) {
            self.mapping.open(self.guard.saturating_add(self.open), more)?;
            self.open = size;
        }
        Ok(())
    }
}

/// The collector's heap of one run.
#[derive(Debug)]
pub(super) struct PlainMemory {
    range: Option<Reserved>,
    home: Arc<PlainMemories>,
}

// SAFETY: the range is the value's alone until it is dropped, and does not move. `byte_size`
// bytes from its base are accessible and began as zeros; growth makes more of it accessible.
unsafe impl LinearMemory for PlainMemory {
    fn byte_size(&self) -> usize {
        self.range.as_ref().map_or(0, |range| range.open)
    }

    fn byte_capacity(&self) -> usize {
        self.range.as_ref().map_or(0, |range| range.length)
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        match &mut self.range {
            Some(range) => range.open_to(size).map_err(wasmtime::Error::new),
            None => Err(wasmtime::Error::msg("the memory is gone")),
        }
    }

    fn as_ptr(&self) -> *mut u8 {
        let range = self.range.as_ref();
        range.map_or(std::ptr::null_mut(), |range| range.mapping.base().wrapping_add(range.guard))
    }
}

impl Drop for PlainMemory {
    fn drop(&mut self) {
        if let Some(range) = self.range.take().filter(|range| range.open == 0) {
            *self.home.unused.lock() = Some(range);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 64 << 20;

    #[test]
    fn the_memory_is_bounded_and_does_not_move() {
        let mut memory = Arc::new(PlainMemories::default()).lend(0, LENGTH, PAGE).unwrap();
        let base = memory.as_ptr();
        assert_eq!((memory.byte_size(), memory.byte_capacity()), (0, LENGTH));
        assert!(memory.grow_to(LARGEST + PAGE).is_err());
        memory.grow_to(2 * PAGE).unwrap();
        assert_eq!((memory.byte_size(), memory.as_ptr()), (2 * PAGE, base));
    }

    #[test]
    fn unused_heap_is_the_only_kind_that_serves_again() {
        let home = Arc::new(PlainMemories::default());
        let unused = home.lend(0, LENGTH, PAGE).unwrap();
        let base = unused.as_ptr();
        drop(unused);
        let mut used = home.lend(0, LENGTH, PAGE).unwrap();
        assert_eq!(used.as_ptr(), base, "no byte was accessible");
        used.grow_to(PAGE).unwrap();
        // SAFETY: the first page is accessible, as of the line above.
        unsafe { used.as_ptr().write(7) };
        drop(used);
        assert!(home.unused.lock().is_none());

        let next = home.lend(PAGE, LENGTH, PAGE).unwrap();
        // SAFETY: the first page is accessible, as the line above asks for.
        assert_eq!(unsafe { next.as_ptr().read() }, 0);
    }

    #[test]
    fn another_size_is_another_range() {
        let home = Arc::new(PlainMemories::default());
        for (length, guard) in [(LENGTH, PAGE), (2 * LENGTH, PAGE), (LENGTH, 2 * PAGE)] {
            let memory = home.lend(0, length, guard).unwrap();
            assert_eq!(memory.range.as_ref().unwrap().guard, guard);
            assert_eq!(memory.byte_capacity(), length);
        }
    }

    #[test]
    fn two_memories_at_once_are_two_ranges() {
        let home = Arc::new(PlainMemories::default());
        let (one, two) = (home.lend(0, LENGTH, PAGE).unwrap(), home.lend(0, LENGTH, PAGE).unwrap());
        assert_ne!(one.as_ptr(), two.as_ptr());
    }
}
