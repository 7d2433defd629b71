//! The pages through which the host controls a guest that computes.
#![expect(unsafe_code, reason = "wasmtime's traits for memories are unsafe to implement")]

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::LinearMemory;

use crate::memory::mapping::Mapping;
use crate::memory::{MemoryError, PAGE, WASM_PAGE};
use wardian_engine::code::metering::transform::COUNTERS;

/// Bytes of the memory that metered code counts in. It uses the first few.
pub(super) const COUNTER_LENGTH: usize = WASM_PAGE;

/// The poll page and the counter page of one slot. To protect them stops the guest.
///
/// [Polls](wardian_engine::code::polls) of its guest load from the poll page, which is readable and
/// zero until it becomes inaccessible. The counter page begins the memory in which
/// [metered code](wardian_engine::code::metering::transform) counts, until nobody can write to it.
///
/// INVARIANT(final-counter): the host can always read the counter. After a close it stays as it is:
/// only the host changes it, and opens the page for that. Protecting and writing happen under one
/// lock.
#[derive(Debug)]
pub(crate) struct ControlPages {
    /// Keeps the addresses reserved, so that a late close cannot reach other memory.
    mapping: Arc<Mapping>,
    poll_page: usize,
    counter_page: usize,
    /// The part of the guest's memory that is always accessible: its image.
    image: Range<usize>,
    is_closed: Mutex<bool>,
}

impl ControlPages {
    /// Opens the poll page and the memory of the counter at these offsets. `image` is the range of the
    /// guest's memory that is accessible from the start.
    pub(super) fn open(
        mapping: &Arc<Mapping>,
        poll_page: usize,
        counter_page: usize,
        image: Range<usize>,
    ) -> Result<Arc<Self>, MemoryError> {
        let (mapping, is_closed) = (Arc::clone(mapping), Mutex::default());
        mapping.show(poll_page, PAGE)?;
        mapping.open(counter_page, COUNTER_LENGTH)?;
        Ok(Arc::new(Self { mapping, poll_page, counter_page, image, is_closed }))
    }

    /// The host's address of the counter's memory.
    pub(super) fn counter_base(&self) -> *mut u8 {
        self.mapping.base().wrapping_add(self.counter_page)
    }

    /// Stops the guest that runs, at its next poll or charge.
    ///
    /// A guest that is in a host call is stopped after its return. The slot's next reset opens the
    /// pages again.
    ///
    /// # Errors
    ///
    /// The operating system refuses: the guest continues.
    pub(crate) fn close(&self) -> Result<(), MemoryError> {
        let mut is_closed = self.is_closed.lock();
        *is_closed = true;
        self.mapping.show(self.counter_page, PAGE)?;
        self.mapping.close(self.poll_page, PAGE)
    }

    /// Opens the pages for the next guest, which has no fuel yet. Makes no system call if they were
    /// not closed.
    pub(super) fn open_again(&self) -> Result<(), MemoryError> {
        let mut is_closed = self.is_closed.lock();
        if *is_closed {
            self.mapping.show(self.poll_page, PAGE)?;
            self.mapping.open(self.counter_page, PAGE)?;
            *is_closed = false;
        }
        self.store(0)
    }

    /// The counter of metered code.
    ///
    /// While the guest runs, it may have charged one part and not the next: the sum can then be wrong
    /// by what it charges meanwhile.
    pub(crate) fn counter(&self) -> i64 {
        let parts = self.parts().map(|part| self.mapping.load(part).unwrap_or(0));
        parts.fold(0, i64::wrapping_add)
    }

    /// Sets the counter. The guest must not run meanwhile.
    ///
    /// # Errors
    ///
    /// The operating system refuses to open a page that was closed.
    pub(crate) fn set_counter(&self, value: i64) -> Result<(), MemoryError> {
        let is_closed = self.is_closed.lock();
        if !*is_closed {
            return self.store(value);
        }
        self.mapping.open(self.counter_page, PAGE)?;
        let stored = self.store(value);
        self.mapping.show(self.counter_page, PAGE).and(stored)
    }

    /// The word at an address of the guest, which may run meanwhile.
    ///
    /// # Errors
    ///
    /// The address is not aligned, or not in the guest's image.
    pub(crate) fn load_word(&self, address: u32) -> Result<u32, MemoryError> {
        self.mapping.load_word(self.place_of(address)?)
    }

    /// Sets bits of the word at an address of the guest, which may run meanwhile.
    ///
    /// # Errors
    ///
    /// The address is not aligned, or not in the guest's image.
    pub(crate) fn set_bits(&self, address: u32, bits: u32) -> Result<(), MemoryError> {
        self.mapping.set_bits(self.place_of(address)?, bits)
    }

    /// Clears bits of the word at an address of the guest.
    ///
    /// # Errors
    ///
    /// The address is not aligned, or not in the guest's image.
    pub(crate) fn clear_bits(&self, address: u32, bits: u32) -> Result<(), MemoryError> {
        self.mapping.clear_bits(self.place_of(address)?, bits)
    }

    /// The offset in the mapping of a word of the guest's image.
    fn place_of(&self, address: u32) -> Result<usize, MemoryError> {
        let outside = MemoryError::Image { problem: "has no such word" };
        let Ok(address) = usize::try_from(address) else { return Err(outside) };
        let start = self.image.start.saturating_add(address);
        if start.saturating_add(size_of::<u32>()) > self.image.end {
            return Err(outside);
        }
        Ok(start)
    }

    /// The parts of the counter in the mapping.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let first = self.counter_page;
        (0..COUNTERS).map(move |part| first.saturating_add(part.saturating_mul(size_of::<i64>())))
    }

    /// Puts all into the first part. Writes nothing that is there, so that an unused page stays so.
    fn store(&self, value: i64) -> Result<(), MemoryError> {
        for (part, value) in self.parts().zip(iter::once(value).chain(iter::repeat(0))) {
            if self.mapping.load(part)? != value {
                self.mapping.store(part, value)?;
            }
        }
        Ok(())
    }
}

/// The memory that metered code counts in.
#[derive(Debug)]
pub(super) struct CounterMemory(pub(super) Arc<ControlPages>);

// SAFETY: the bytes are the guest's alone, stay where they are, and began as zeros. What follows
// them is not reserved, but only charges use this memory, which reach its first few bytes. Their
// stores trap while the page is closed.
unsafe impl LinearMemory for CounterMemory {
    fn byte_size(&self) -> usize {
        COUNTER_LENGTH
    }

    fn byte_capacity(&self) -> usize {
        COUNTER_LENGTH
    }

    fn grow_to(&mut self, _size: usize) -> wasmtime::Result<()> {
        Err(wasmtime::Error::msg("the counter's memory never grows"))
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.counter_base()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Arc<ControlPages> {
        let mapping = Arc::new(Mapping::reserve(2 * PAGE + COUNTER_LENGTH).unwrap());
        mapping.open(0, PAGE).unwrap();
        ControlPages::open(&mapping, PAGE, 2 * PAGE, 8..PAGE).unwrap()
    }

    #[test]
    fn words_of_the_guest_are_in_its_image() {
        let pages = pages();
        pages.set_bits(4, 6).unwrap();
        assert_eq!(pages.load_word(4).unwrap(), 6);
        assert_eq!(pages.mapping.load_word(12).unwrap(), 6);
        pages.clear_bits(4, 2).unwrap();
        assert_eq!(pages.load_word(4).unwrap(), 4);
        for address in [2, u32::try_from(PAGE).unwrap() - 8, u32::try_from(PAGE).unwrap(), u32::MAX]
        {
            assert!(pages.set_bits(address, 1).is_err(), "{address}");
            assert!(pages.clear_bits(address, 1).is_err(), "{address}");
            assert!(pages.load_word(address).is_err(), "{address}");
        }
    }

    #[test]
    fn final_counter_is_read_and_set_whether_its_page_is_closed_or_not() {
        let pages = pages();
        assert_eq!(pages.counter(), 0);
        pages.set_counter(-7).unwrap();
        assert_eq!(pages.counter(), -7);
        pages.close().unwrap();
        assert_eq!(pages.counter(), -7);
        pages.set_counter(5).unwrap();
        pages.close().unwrap();
        assert_eq!(pages.counter(), 5);
        pages.open_again().unwrap();
        assert_eq!(pages.counter(), 0, "the next guest has no fuel yet");
        pages.set_counter(3).unwrap();
        pages.open_again().unwrap();
        assert_eq!(pages.counter(), 0);
    }

    #[test]
    fn final_counter_can_be_used_while_another_thread_closes_its_page() {
        let pages = pages();
        std::thread::scope(|scope| {
            let closes = scope.spawn(|| {
                for _ in 0..2_000 {
                    pages.close().unwrap();
                    pages.open_again().unwrap();
                }
            });
            while !closes.is_finished() {
                pages.set_counter(pages.counter().max(1)).unwrap();
            }
        });
    }

    #[test]
    fn parts_of_a_counter_may_pass_the_ends_of_their_range() {
        let pages = pages();
        for (part, value) in pages.parts().zip([i64::MAX, 1, 5, -1]) {
            pages.mapping.store(part, value).unwrap();
        }
        assert_eq!(pages.counter(), i64::MIN + 4);
    }
}
