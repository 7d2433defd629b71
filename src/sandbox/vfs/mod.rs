//! The guest's only file system: read-only mounts, a workspace in memory, three streams.
//!
//! Knows nothing of wasm or of WASI's memory layouts: it takes paths and slices and returns values
//! or an [`Errno`]. It behaves like Linux for a guest without users, permissions and other
//! processes.
//!
//! ```text
//! /                   read-only, made of folders that lead to mounts
//! ├── blobs/<id>      one file each; more can appear during a run
//! ├── dev/            null, zero, full, random, urandom and the three streams
//! ├── skills/<name>/  one tree each
//! ├── usr/local/lib/  the interpreter's library
//! ├── workspace/      writable, in memory, gone with the run
//! └── tmp/            the same folder as /workspace
//! ```
//!
//! # Why
//!
//! No path of the host is ever opened on behalf of a guest, so links, slashes and `..` cannot reach
//! one. Quotas are exact, a descriptor is a number and not a resource of the host, and two runs
//! share no files.
//!
//! INVARIANT(read-only-mounts): a guest cannot change anything outside of the workspace.
//!
//! INVARIANT(flat-drop): dropping a file system does not recurse, however deep its folders are.

pub mod content;
pub mod errno;
pub mod immutable;
pub mod mount;

mod change;
mod descriptor;
mod device;
mod devices;
mod duplicate;
mod file_system;
mod harvest;
mod image;
mod limits;
mod listing;
mod node;
mod open;
mod path;
mod quota;
mod rename;
mod stat;
mod storage;
mod transfer;

#[cfg(test)]
mod tests;

pub use crate::sandbox::vfs::descriptor::{Access, Fd};
pub use crate::sandbox::vfs::duplicate::Usage;
pub use crate::sandbox::vfs::errno::Errno;
pub use crate::sandbox::vfs::file_system::{At, FileSystem, timestamp};
pub use crate::sandbox::vfs::harvest::{OpenedFile, WorkspaceFile};
pub use crate::sandbox::vfs::image::{ImageDescriptors, NotCarried, OpenDescriptor};
pub use crate::sandbox::vfs::limits::{MAX_DEPTH, MAX_LINKS, MAX_NAME, MAX_PATH};
pub use crate::sandbox::vfs::listing::ListedEntry;
pub use crate::sandbox::vfs::mount::{Mount, MountError};
pub use crate::sandbox::vfs::node::{FileKind, MOUNT_TIME, Times, Timestamp};
pub use crate::sandbox::vfs::open::OpenHow;
pub use crate::sandbox::vfs::path::LastLink;
pub use crate::sandbox::vfs::stat::{DescriptorStat, FileStat, SetTimes};
pub use crate::sandbox::vfs::transfer::Whence;
