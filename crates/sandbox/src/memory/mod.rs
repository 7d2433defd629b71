//! Linear memories that begin as a copy-on-write view of an image, and return to it.
//!
//! A fresh mapping for every run would be simplest, but page faults decide the cost of a short
//! run: 2.5 to 4 microseconds each in a virtual machine, and copy-on-write faults interrupt
//! every core that shares the address space. So a [`Slot`](slot::Slot) keeps the pages that a
//! run made private and copies the image's bytes back over them.
//!
//! INVARIANT(reset-complete): after a reset every byte that the next guest can read equals the
//! image, or zero past its end. This holds after random writes, growth, a trap in the middle, and
//! huge pages that the kernel made. The pages to reset are taken from the kernel's page table, read
//! after every run, and not from the guest or from counters of the kernel.
//!
//! This folder holds the sandbox's own `unsafe` code; every block says why it is sound.

mod changed;
mod control_pages;
mod creator;
mod dirty;
mod image;
mod mapping;
mod native_stack;
mod payload_bytes;
mod plain;
mod slot;
mod unused;

use std::io;

pub(crate) use crate::memory::control_pages::ControlPages;
pub use crate::memory::creator::Verify;
pub(crate) use crate::memory::creator::{MemoryHandle, SlotMemories, SlotPool, SlotRules};
pub(crate) use crate::memory::dirty::DirtyPages;
pub use crate::memory::image::MemoryImage;
pub(crate) use crate::memory::image::WASM_PAGE;
pub use crate::memory::native_stack::GUEST_STACK;
pub use crate::memory::payload_bytes::PayloadBytes;

/// Size of a page of the host: the unit of protection, of private copies and of images.
///
/// Linux on x86-64 and on most aarch64 machines; [`MemoryImage::open`] refuses others.
pub const PAGE: usize = 4096;

/// The bytes of one page.
pub(crate) type PageBytes = [u8; PAGE];

/// The reason why memory could not be allocated or restored.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The operating system refused a request.
    #[error("the operating system refused to {what}")]
    System {
        /// The request, as the end of a sentence.
        what: &'static str,
        /// Its answer.
        #[source]
        cause: io::Error,
    },
    /// A file is not a valid image.
    #[error("a memory image {problem}")]
    Image {
        /// The problem, as the end of a sentence.
        problem: &'static str,
    },
    /// A payload is not what the gateway has stated.
    #[error("a payload {problem}")]
    Payload {
        /// The problem, as the end of a sentence.
        problem: &'static str,
    },
    /// A reset was incomplete. The process must not run another guest.
    #[error("memory differs from its image at byte {offset} after a reset")]
    Residue {
        /// First byte that differs.
        offset: usize,
    },
}

/// Releases free heap memory to the operating system after a large run.
pub(super) fn trim_heap() {
    mapping::trim_heap();
}

/// Releases the pages of this thread's stack that a deep run touched.
pub(super) fn release_native_stack() {
    native_stack::release();
}

impl MemoryError {
    fn system(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System { what, cause: errno.into() }
    }
}

/// Makes all pages of a part of a guest's memory private, which changes no byte. It is only a shorter way than
/// the page faults of the writes that follow, so it may do nothing.
pub(crate) fn populate(part: &mut [PageBytes]) {
    mapping::populate(part.as_flattened_mut());
}
