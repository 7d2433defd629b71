//! The allocator of this process: large buffers go back to the system when they are dropped.
//!
//! # Why
//!
//! glibc keeps what is freed for later. After a burst of large requests a server would hold the
//! memory of that burst for as long as it lives. Another allocator would be a further dependency
//! in the process that has all authority; two calls of this one are enough.

/// Buffers of this size and more are mapped by themselves and unmapped when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: libc::c_int = 256 << 10;

/// Sees to it that large buffers never become part of the heap. glibc would raise the limit by
/// itself, to 32 MiB, with the first large buffer that is freed.
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

/// Gives memory that is free inside of the heap back to the system. Takes milliseconds, and other
/// threads wait for a part of them.
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
