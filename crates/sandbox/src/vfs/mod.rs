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

pub mod errno;
pub(crate) mod operations;
pub(crate) mod parked;
pub mod tree;

mod descriptor;
mod file_system;
mod limits;
mod path;

#[cfg(test)]
pub(crate) mod tests;

pub use crate::vfs::descriptor::{Access, Fd};
pub use crate::vfs::errno::Errno;
pub(crate) use crate::vfs::file_system::NameInWorkspace;
pub use crate::vfs::file_system::{At, FileSystem, timestamp};
pub(crate) use crate::vfs::limits::MAX_PATH;
pub use crate::vfs::limits::{MAX_DEPTH, MAX_LINKS, MAX_NAME};
pub use crate::vfs::operations::duplicate::Usage;
pub(crate) use crate::vfs::operations::harvest::{Harvest, OpenedFile, WorkspaceFile};
pub(crate) use crate::vfs::operations::host_files::{HostFile, ListBounds};
pub use crate::vfs::operations::image::ImageDescriptors;
#[cfg(test)]
pub(crate) use crate::vfs::operations::image::OpenDescriptor;
pub use crate::vfs::operations::listing::ListedEntry;
pub use crate::vfs::operations::open::OpenHow;
pub(crate) use crate::vfs::operations::stat::{DescriptorStat, FileStat, SetTimes};
pub use crate::vfs::operations::transfer::Whence;
pub use crate::vfs::path::LastLink;
pub use crate::vfs::tree::mount::Mount;
pub(crate) use crate::vfs::tree::mount::MountError;
pub use crate::vfs::tree::node::FileKind;
pub use crate::vfs::tree::node::Timestamp;
#[cfg(test)]
pub(crate) use crate::vfs::tree::node::{MOUNT_TIME, Times};
