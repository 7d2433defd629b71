//! The allocator of this process: it releases large buffers to the system when they are dropped,
//! and counts the bytes that each thread has allocated.
//!
//! # Why
//!
//! glibc keeps freed memory. After a burst of large requests, a server would hold the memory of the
//! burst forever. Another allocator would be a further dependency of the gateway; two calls of
//! glibc are enough.
//!
//! The crates that decode pictures for guests allocate sizes that a file states. A counter for each
//! thread measures their memory reliably.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with counters.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

thread_local! {
    // Neither needs to be initialised or dropped, so an allocation can always reach them.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Adds to the counter of this thread. A block has less than `isize::MAX` bytes.
fn count(bytes: usize) {
    let held = HELD.get().wrapping_add_unsigned(bytes);
    HELD.set(held);
    if held > PEAK.get() {
        PEAK.set(held);
    }
}

fn discount(bytes: usize) {
    HELD.set(HELD.get().wrapping_sub_unsigned(bytes));
}

/// Bytes that this thread has allocated and not freed. The number is negative on a thread that
/// frees memory of others, so only the difference between two calls is meaningful.
#[must_use]
pub fn held() -> isize {
    HELD.get()
}

/// Resets the peak to the current count, and returns the count.
#[must_use]
pub fn start_peak() -> isize {
    PEAK.set(HELD.get());
    HELD.get()
}

/// Highest count of this thread since [`start_peak`].
#[must_use]
pub fn peak() -> isize {
    PEAK.get()
}

// SAFETY: every method hands its arguments to the system's allocator and returns what that
// returns; counting touches two integers of the thread and never allocates or unwinds.
#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        discount(layout.size());
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        discount(layout.size());
        count(size);
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Buffers of this size and more are mapped by themselves and unmapped when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: libc::c_int = 256 << 10;

/// Makes the allocator map large buffers separately. By default glibc raises the threshold, up to
/// 32 MiB, when a large buffer is freed.
pub fn map_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `mallopt` takes two integers and touches nothing but the allocator's settings.
        #[expect(unsafe_code, reason = "the C library's own call")]
        let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED) };
        if is_set != 1 {
            tracing::debug!("the allocator keeps its own threshold for large buffers");
        }
    }
}

/// Releases free memory of the heap to the system. Takes milliseconds, during a part of which other
/// threads wait.
pub fn give_back_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `malloc_trim` takes an integer and releases only pages that hold nothing.
        #[expect(unsafe_code, reason = "the C library's own call")]
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_what_it_allocates_and_frees() {
        let before = start_peak();
        let mut block = Vec::<u8>::with_capacity(10_000);
        assert_eq!(held() - before, 10_000);
        block.reserve_exact(30_000);
        assert_eq!(held() - before, 30_000);
        drop(block);
        let zeros = vec![0_u8; 20_000];
        assert_eq!((held() - before, peak() - before), (20_000, 30_000));
        std::thread::scope(|scope| scope.spawn(|| drop(zeros)).join().unwrap());
        assert!(held() - before >= 20_000, "another thread has freed it");
    }
}
