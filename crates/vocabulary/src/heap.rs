//! The allocator of this process: it releases large buffers to the system when they are dropped,
//! and counts the bytes that each thread has allocated.
//!
//! # Why
//!
//! glibc keeps freed memory. After a burst of large requests, a server would hold the memory of the
//! burst forever. Another allocator would be a further dependency of the gateway; two calls of
//! glibc are enough.
//!
//! Freed memory of a worker is overwritten, so that nothing of a run stays in its process: neither
//! code nor arguments, job texts, outputs or files. One place for all of it cannot be forgotten by
//! any of the types that hold such texts.
//!
//! INVARIANT(wiped-when-freed): after [`wipe_freed_memory`], no block is returned to the system's
//! allocator with bytes that the program wrote to it.
//!
//! The crates that decode pictures for guests allocate sizes that a file states. A counter for each
//! thread measures their memory reliably.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

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
        if is_wiped(layout.size()) {
            // SAFETY: the caller gives the block up, which has this size.
            unsafe { wipe(block, layout.size()) };
        }
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_wiped(layout.size()) {
            // SAFETY: the caller keeps the contract, which is the same.
            return unsafe { self.move_block(block, layout, size) };
        }
        discount(layout.size());
        count(size);
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.realloc(block, layout, size) }
    }
}

impl Counted {
    /// As `realloc`, by copying to another block and wiping this one.
    ///
    /// # Safety
    ///
    /// As `realloc`.
    #[expect(unsafe_code, reason = "a part of `realloc`")]
    unsafe fn move_block(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller promises that the size is not zero.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks are at least that long, and the new one is another one.
            unsafe { moved.copy_from_nonoverlapping(block, layout.size().min(size)) };
            // SAFETY: the block came from this allocator with this layout, and is not used again.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

/// True if freed memory is overwritten.
static WIPES: AtomicBool = AtomicBool::new(false);

/// Blocks of this size and more are mapped by themselves, whatever the allocator has learned, and
/// unmapped when they are freed or moved. The kernel gives nobody their bytes.
const ALWAYS_MAPPED: usize = (32 << 20) + (64 << 10);

/// Overwrites all memory that is freed from now on. It costs a run microseconds.
pub fn wipe_freed_memory() {
    WIPES.store(true, Ordering::Relaxed);
}

fn is_wiped(size: usize) -> bool {
    WIPES.load(Ordering::Relaxed) && size < ALWAYS_MAPPED
}

/// Overwrites a block, although it is freed next.
///
/// # Safety
///
/// `block` is valid for writing `size` bytes.
#[expect(unsafe_code, reason = "the C library's own call")]
unsafe fn wipe(block: *mut u8, size: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the caller promises that the bytes can be written.
    unsafe {
        libc::explicit_bzero(block.cast(), size);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    for at in 0..size {
        // SAFETY: the caller promises that the bytes can be written.
        unsafe { block.wrapping_add(at).write_volatile(0) };
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

    /// Runs in a separate process, because the setting is that of the process.
    #[test]
    #[expect(unsafe_code, reason = "the bytes of a freed block are looked at")]
    fn wiped_when_freed_or_moved() {
        if !std::env::args().any(|argument| argument == "role-wiper") {
            let test = ["--exact", "heap::tests::wiped_when_freed_or_moved", "role-wiper"];
            let child = std::process::Command::new(std::env::current_exe().unwrap());
            let child = { child }.args(test).args(["--nocapture"]).output().unwrap();
            assert!(child.status.success(), "{child:?}");
            return;
        }
        // A block within a larger one that stays, so that looking at it is sound.
        let mut arena = vec![7_u8; 256];
        // SAFETY: the bytes are those of the vector.
        unsafe { wipe(arena.as_mut_ptr().wrapping_add(16), 100) };
        assert!(arena[16..116].iter().all(|byte| *byte == 0));
        assert!(arena[..16].iter().chain(&arena[116..]).all(|byte| *byte == 7));

        wipe_freed_memory();
        let marker = (0..64_u8).map(|at| at.wrapping_mul(37) ^ 0xa5).collect::<Vec<u8>>();
        for size in [64, 1_000, 40_000, 300_000, 5_000_000] {
            let mut grown = Vec::with_capacity(size);
            while grown.len() + marker.len() <= size {
                grown.extend_from_slice(&marker);
            }
            let before = grown.clone();
            grown.reserve_exact(size);
            grown.shrink_to_fit();
            assert_eq!(grown, before, "{size}");
        }
        let memory = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut found = 0;
        let file = std::fs::File::open("/proc/self/mem").unwrap();
        for line in memory.lines().filter(|line| line.contains(" rw-p ")) {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            let (from, to) = (number(from), number(to));
            let mut at = from;
            while at < to {
                let mut page = [0; 4096];
                if std::os::unix::fs::FileExt::read_exact_at(&file, &mut page, at).is_ok() {
                    found += page.windows(64).filter(|window| *window == marker).count();
                }
                at += 4096;
            }
        }
        // The marker itself, unless it lies across a border of pages.
        assert!(found <= 1, "{found} copies are left");
    }
}
