//! The format of packs: the bytes of one checkpoint.
//!
//! ```text
//!  16 bytes  "wardian pack\r\n\x1a\n"
//!   4 bytes  version of the format
//!  32 bytes  digest of the image that the guest began as
//!  32 bytes  digest of what the order says of the guest: its mounts, tenant and kind of clocks
//!   4 bytes  number of the checkpoint
//!   1 byte   1 if the pack continues another, then
//!  32 bytes  the digest of that one's bytes
//!  32 bytes  root: the digest of memory and files in this state
//!   8 bytes  pages that are described, of memory and of files
//!   8 bytes  length of the guest's memory
//!            four parts, each with its length in 8 bytes before it:
//!            pages of memory, pages of files, the tree of files, clocks
//!  32 bytes  SHA-256 of all bytes before
//! ```
//!
//! Numbers are little-endian. In the parts, most are written in one to ten bytes.
//!
//! # Pages
//!
//! Pages of 4 KiB are packed in [frames](crate::session::pages::frame) of at most 16. A page is
//! described as one of four: as the image has it (that of a file: zero), zero, as it is, or the
//! exclusive or with the image's page, which is mostly zeros. A whole pack describes all pages that
//! differ from the image, and another one those that differ from the state before. So the newest
//! description of a page in a chain is the right one, and no page needs more than that one and the
//! image. Pages of files are named by the number of the file and their place in it; numbers of files
//! are never used twice.
//!
//! # Trust
//!
//! Whoever reads a pack believes nothing in it. The digest at the end finds accidents. Pages of memory
//! can do no harm, because a guest could write the same. Files and descriptors are rebuilt by the
//! operations of the file system, within the quota of the order. What was rebuilt is compared with the
//! root, which finds pages that are left out or were taken from another state.

pub(crate) mod head;
pub(crate) mod reader;
pub(crate) mod writer;
