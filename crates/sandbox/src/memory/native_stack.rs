//! Releases the native stack pages that a run touched to the operating system.
//!
//! Recursion in C takes up to [`MAX_WASM_STACK`] of native stack. A thread keeps every page that it
//! ever touched, so without this each worker would stay as large as its deepest run.
#![expect(unsafe_code, reason = "no safe wrapper exists for a thread's own stack")]

use std::cell::Cell;
use std::ffi::c_void;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;

use rustix::mm::Advice;

use crate::memory::PAGE;
use wardian_engine::code::compile::MAX_WASM_STACK;

/// Stack of a thread that runs guests, in bytes.
///
/// It holds the guest's native stack, which the sandbox limits, and 24 MiB for host functions. It
/// is address space that counts against `RLIMIT_AS` and `RLIMIT_DATA`. Only touched pages take
/// memory, and the sandbox releases them after a run.
pub const GUEST_STACK: usize = MAX_WASM_STACK + (24 << 20);

/// Bytes below the caller's frame that stay, so that ordinary runs find their pages again. They
/// touch 30 to 500 KiB.
const KEPT: usize = 1 << 20;

thread_local! {
    /// Lowest address of this thread's stack: `None` before the first query, zero if it is unknown.
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Releases the touched pages of this thread's unused stack, except for [`KEPT`] bytes.
///
/// One system call, which takes less than a microsecond if there is nothing to give back.
pub(super) fn release() {
    let lowest = LOWEST.get().unwrap_or_else(|| {
        let found = lowest_address().unwrap_or(0);
        LOWEST.set(Some(found));
        found
    });
    let marker = 0_u8;
    let here = ptr::from_ref(black_box(&marker)).addr();
    let end = here.saturating_sub(KEPT) / PAGE * PAGE;
    let start = lowest.next_multiple_of(PAGE);
    if lowest == 0 || end <= start {
        return;
    }
    let at: *mut c_void = ptr::with_exposed_provenance_mut(start);
    // SAFETY: the range lies in the stack of this very thread, from its lowest address up to 1 MiB
    // below this frame. Stacks grow down, so no frame is there, and the frames of the call below
    // need far less than 1 MiB. The pages read as zero afterwards, and no code reads a stack below
    // its pointer.
    let released = unsafe { rustix::mm::madvise(at, end - start, Advice::LinuxDontNeed) };
    debug_assert!(released.is_ok(), "unused stack could not be released: {released:?}");
}

/// Queries the C library. The stack of a main thread grows on demand and has no fixed lowest
/// address.
fn lowest_address() -> Option<usize> {
    let is_main = rustix::thread::gettid() == rustix::process::getpid();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    if is_main {
        return None;
    }
    // SAFETY: a thread's handle for itself is always valid.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: the thread lives, and the function writes to the place for its result only.
    if unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut lowest, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes were filled in by the call before, which succeeded.
    let found =
        unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size) };
    // SAFETY: as above; the attributes are not used afterwards.
    let destroyed = unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (found == 0 && destroyed == 0 && size > 0).then(|| lowest.addr())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    const STACK: usize = 64 << 20;

    /// Memory behind the mapping in which this function's frame lies, in bytes.
    fn resident() -> usize {
        let marker = 0_u8;
        let here = ptr::from_ref(black_box(&marker)).addr();
        let text = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        for line in text.lines() {
            let first = line.split(' ').next().unwrap();
            if let Some((from, to)) = first.split_once('-') {
                let address = |hex| usize::from_str_radix(hex, 16).unwrap();
                inside = (address(from)..address(to)).contains(&here);
            } else if inside && let Some(size) = line.strip_prefix("Rss:") {
                return size.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10;
            }
        }
        panic!("this thread has no stack");
    }

    /// Touches `left` pages below its caller.
    fn dive(left: usize) -> u8 {
        let page = black_box([1_u8; PAGE]);
        let deeper = if left == 0 { 0 } else { dive(left - 1) };
        black_box(&page)[left % PAGE].wrapping_add(deeper)
    }

    fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
    }

    #[test]
    fn touched_stack_is_released_and_the_thread_lives_on() {
        let (before, deep, after, sum) = on_a_thread(|| {
            let before = resident();
            let kept = black_box([7_u8; PAGE]);
            dive(4096);
            let deep = resident();
            release();
            let after = resident();
            dive(4096);
            release();
            (before, deep, after, kept.iter().map(|byte| u32::from(*byte)).sum::<u32>())
        });
        assert!(deep > 16 << 20, "{deep}");
        assert!(after < before + (3 << 20), "{before} {after}");
        assert_eq!(sum, 7 * 4096);
    }

    #[test]
    fn a_call_with_nothing_to_release_is_cheap() {
        let each = on_a_thread(|| {
            release();
            let started = Instant::now();
            (0..1000).for_each(|_| release());
            started.elapsed() / 1000
        });
        println!("releasing an untouched stack takes {each:?}");
        assert!(each < Duration::from_micros(50), "{each:?}");
    }

    #[test]
    fn a_main_thread_and_a_small_stack_are_left_alone() {
        let small = std::thread::Builder::new().stack_size(256 << 10);
        small.spawn(|| (0..3).for_each(|_| release())).unwrap().join().unwrap();
    }
}
