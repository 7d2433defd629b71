//! Owned address ranges: reserved, made accessible, released on drop.
#![expect(unsafe_code, reason = "mmap and its relatives are the point of this file")]

use std::ffi::c_void;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use crate::memory::MemoryError;

/// Releases free heap memory to the operating system.
///
/// The allocator keeps the memory of a large workspace, so without this a worker would stay as
/// large as its largest run. Takes some 10 ms after a large run.
pub(super) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointers; the allocator's own lock guards it.
    let _released = unsafe { libc::malloc_trim(0) };
}

/// Drops the private pages of `part`, a part of a guest's memory whose bytes are those of its image.
pub(super) fn drop_same(part: &mut [u8]) -> Result<(), MemoryError> {
    // SAFETY: the memory is borrowed for this call. It is a private mapping of the image, or zeros behind it, so
    // it reads as before; if the bytes were others after all, a guest would lose what it has written.
    unsafe { rustix::mm::madvise(part.as_mut_ptr().cast(), part.len(), Advice::LinuxDontNeed) }
        .map_err(MemoryError::system("drop private pages"))
}

/// An address range with one owner.
///
/// INVARIANT(small-pages): the kernel makes no huge pages here. A huge page would make unwritten
/// pages private, and a reset would have to restore all of them.
///
/// All offsets are checked against its length, so safe callers cannot access memory outside of it.
/// They must not keep pointers beyond its lifetime.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<c_void>,
    length: usize,
}

// SAFETY: the range belongs to this value alone; nothing about it is tied to a thread.
unsafe impl Send for Mapping {}
// SAFETY: shared references only read the two fields.
unsafe impl Sync for Mapping {}

/// Makes all pages of `part` private, as a write to each of them would, without its page faults. A kernel before
/// 5.14 does nothing, and neither does one without memory for them: the writes say so then.
pub(super) fn populate(part: &mut [u8]) {
    // SAFETY: the memory is borrowed for this call, and this kind of advice does not change its content.
    let done = unsafe {
        rustix::mm::madvise(part.as_mut_ptr().cast(), part.len(), Advice::LinuxPopulateWrite)
    };
    done.ok();
}

impl Mapping {
    /// Reserves `length` bytes of addresses without any memory behind them.
    pub(super) fn reserve(length: usize) -> Result<Self, MemoryError> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags)
        }
        .map_err(MemoryError::system("reserve addresses"))?;
        Self::own(base, length)
    }

    /// Maps the first `length` bytes of `file` for reading. All processes share its pages. The flag
    /// is `PRIVATE`, because the lock-down forbids every mapping with the flag `SHARED`.
    pub(super) fn read_only<F: AsFd>(file: F, length: usize) -> Result<Self, MemoryError> {
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe {
            rustix::mm::mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, 0)
        }
        .map_err(MemoryError::system("map a memory file"))?;
        Self::own(base, length)
    }

    fn own(base: *mut c_void, length: usize) -> Result<Self, MemoryError> {
        let problem = MemoryError::Image { problem: "was mapped at address zero" };
        let mapping = NonNull::new(base).map(|base| Self { base, length }).ok_or(problem)?;
        mapping.keep_small(0, length)?;
        Ok(mapping)
    }

    /// First address.
    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr().cast()
    }

    /// The address `offset` bytes in, if `length` bytes from there are still inside.
    fn range(&self, offset: usize, length: usize) -> Result<*mut c_void, MemoryError> {
        match offset.checked_add(length) {
            // SAFETY: `offset` is inside the allocation, as just checked.
            Some(end) if end <= self.length => Ok(unsafe { self.base.as_ptr().byte_add(offset) }),
            _ => Err(MemoryError::Image { problem: "does not fit its reservation" }),
        }
    }

    /// Maps a private, writable view of `file` over the range, replacing its content.
    pub(super) fn map_private<F: AsFd>(
        &self,
        offset: usize,
        length: usize,
        file: F,
    ) -> Result<(), MemoryError> {
        let at = self.range(offset, length)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: the range is ours (checked above), and no reference into it exists, since this
        // type never hands one out.
        unsafe { rustix::mm::mmap(at, length, protection, flags, file, 0) }
            .map_err(MemoryError::system("map an image privately"))?;
        self.keep_small(offset, length)
    }

    /// Forbids huge pages in the range, in any configuration of the system. A change of protection
    /// keeps this, a new mapping does not.
    fn keep_small(&self, offset: usize, length: usize) -> Result<(), MemoryError> {
        let at = self.range(offset, length)?;
        // SAFETY: the range is ours, and this kind of advice does not change its content.
        match unsafe { rustix::mm::madvise(at, length, Advice::LinuxNoHugepage) } {
            // A kernel that was built without huge pages does not know the advice.
            Err(Errno::INVAL) | Ok(()) => Ok(()),
            Err(errno) => Err(MemoryError::system("forbid huge pages")(errno)),
        }
    }

    /// Makes the range readable and writable.
    pub(super) fn open(&self, offset: usize, length: usize) -> Result<(), MemoryError> {
        self.protect(offset, length, MprotectFlags::READ | MprotectFlags::WRITE)
    }

    /// Makes the range readable.
    pub(super) fn show(&self, offset: usize, length: usize) -> Result<(), MemoryError> {
        self.protect(offset, length, MprotectFlags::READ)
    }

    /// Makes the range inaccessible; its pages stay as they are.
    pub(super) fn close(&self, offset: usize, length: usize) -> Result<(), MemoryError> {
        self.protect(offset, length, MprotectFlags::empty())
    }

    fn protect(
        &self,
        offset: usize,
        length: usize,
        flags: MprotectFlags,
    ) -> Result<(), MemoryError> {
        let at = self.range(offset, length)?;
        // SAFETY: the range is ours; wasm code that faults in it traps, as it expects.
        unsafe { rustix::mm::mprotect(at, length, flags) }
            .map_err(MemoryError::system("change the protection of memory"))
    }

    /// Drops private pages: the range reads as its file again, or as zero where it has none.
    pub(super) fn drop_private(&self, offset: usize, length: usize) -> Result<(), MemoryError> {
        let at = self.range(offset, length)?;
        // SAFETY: the range is ours and no reference into it exists.
        unsafe { rustix::mm::madvise(at, length, Advice::LinuxDontNeed) }
            .map_err(MemoryError::system("drop private pages"))
    }

    /// Copies `length` bytes at `offset` of `source` to the same offset after `origin`.
    ///
    /// Both ranges must be accessible: the caller has opened this one, and `source` is a
    /// read-only mapping.
    pub(super) fn copy_at(
        &self,
        origin: usize,
        source: &Self,
        offset: usize,
        length: usize,
    ) -> Result<(), MemoryError> {
        let target = self.range(origin.saturating_add(offset), length)?.cast::<u8>();
        let pristine = source.range(offset, length)?.cast::<u8>();
        // SAFETY: both ranges are inside their mappings, and two mappings never overlap.
        unsafe { ptr::copy_nonoverlapping(pristine, target, length) };
        Ok(())
    }

    /// Writes zeros to `length` bytes at `offset`, which must be accessible.
    pub(super) fn zero(&self, offset: usize, length: usize) -> Result<(), MemoryError> {
        let target = self.range(offset, length)?.cast::<u8>();
        // SAFETY: the range is inside the mapping.
        unsafe { ptr::write_bytes(target, 0, length) };
        Ok(())
    }

    /// The number at `offset`, which must be accessible and aligned. A guest may change it meanwhile.
    pub(super) fn load(&self, offset: usize) -> Result<i64, MemoryError> {
        Ok(self.number(offset)?.load(Ordering::Relaxed))
    }

    /// Writes a number at `offset`, which must be accessible and aligned.
    pub(super) fn store(&self, offset: usize, value: i64) -> Result<(), MemoryError> {
        self.number(offset)?.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn number(&self, offset: usize) -> Result<&AtomicI64, MemoryError> {
        let at = self.range(offset, size_of::<AtomicI64>())?.cast::<i64>();
        // SAFETY: inside the mapping, accessible and aligned by the contract of the callers, and
        // initialised because the kernel gives zeros. A guest that changes it does so in whole
        // numbers, by instructions of the processor.
        Ok(unsafe { AtomicI64::from_ptr(at) })
    }

    /// The word at `offset`, which must be accessible. A guest may change it meanwhile.
    pub(super) fn load_word(&self, offset: usize) -> Result<u32, MemoryError> {
        Ok(self.word(offset)?.load(Ordering::SeqCst))
    }

    /// Sets these bits of the word at `offset`, which must be accessible. A guest may change it
    /// meanwhile.
    pub(super) fn set_bits(&self, offset: usize, bits: u32) -> Result<(), MemoryError> {
        self.word(offset)?.fetch_or(bits, Ordering::SeqCst);
        Ok(())
    }

    /// Clears these bits of the word at `offset`, which must be accessible.
    pub(super) fn clear_bits(&self, offset: usize, bits: u32) -> Result<(), MemoryError> {
        self.word(offset)?.fetch_and(!bits, Ordering::SeqCst);
        Ok(())
    }

    fn word(&self, offset: usize) -> Result<&AtomicU32, MemoryError> {
        let at = self.range(offset, size_of::<AtomicU32>())?.cast::<u32>();
        if !at.is_aligned() {
            return Err(MemoryError::Image { problem: "has a word at an odd place" });
        }
        // SAFETY: inside the mapping, aligned, accessible by the contract of the callers, and
        // initialised because the kernel gives file bytes or zeros. A guest that changes it does so
        // by instructions of the processor.
        Ok(unsafe { AtomicU32::from_ptr(at) })
    }

    /// Calls `look` with the bytes of an accessible range.
    ///
    /// The slice must not outlive the call, and the range must not be written to meanwhile: the
    /// callers own the mapping exclusively and no guest runs in it.
    pub(super) fn with_bytes<T>(
        &self,
        offset: usize,
        length: usize,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, MemoryError> {
        let at = self.range(offset, length)?.cast::<u8>();
        // SAFETY: inside the mapping, readable by the contract above, initialised because the
        // kernel gives file bytes or zeros.
        Ok(look(unsafe { std::slice::from_raw_parts(at, length) }))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours and this is its end; users of its addresses (a store) end
        // before, because they own the value.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr(), self.length) };
        debug_assert!(unmapped.is_ok(), "a mapping could not be released");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::PAGE;

    #[test]
    fn a_range_outside_the_mapping_is_refused() {
        let mapping = Mapping::reserve(4 * PAGE).unwrap();
        assert!(mapping.open(3 * PAGE, 2 * PAGE).is_err());
        assert!(mapping.zero(usize::MAX, 2).is_err());
        assert!(mapping.with_bytes(5 * PAGE, 0, |_| ()).is_err());
    }

    #[test]
    fn words_are_inside_the_mapping_and_aligned() {
        let mapping = Mapping::reserve(2 * PAGE).unwrap();
        mapping.open(0, 2 * PAGE).unwrap();
        mapping.set_bits(8, 5).unwrap();
        mapping.set_bits(8, 2).unwrap();
        assert_eq!(mapping.load_word(8).unwrap(), 7);
        mapping.clear_bits(8, 3).unwrap();
        assert_eq!(mapping.load_word(8).unwrap(), 4);
        for offset in [9, 2 * PAGE - 2, 2 * PAGE, usize::MAX - 3] {
            assert!(mapping.set_bits(offset, 1).is_err(), "{offset}");
            assert!(mapping.load_word(offset).is_err(), "{offset}");
        }
    }

    #[test]
    fn dropped_pages_read_as_zero() {
        let mapping = Mapping::reserve(4 * PAGE).unwrap();
        mapping.open(0, 4 * PAGE).unwrap();
        // SAFETY: the first byte is inside the mapping, which is open for writing.
        unsafe { mapping.base().write(7) };
        assert_eq!(mapping.with_bytes(0, 1, |bytes| bytes[0]).unwrap(), 7);
        mapping.drop_private(0, 4 * PAGE).unwrap();
        assert_eq!(mapping.with_bytes(0, 1, |bytes| bytes[0]).unwrap(), 0);
    }
}
