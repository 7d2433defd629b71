//! Cgroups (version 2) of the processes of a server: one for each worker, where the system gives this
//! process a place for them.
//!
//! A limit on the memory of a process (`RLIMIT_DATA`) counts what it has mapped. A cgroup counts what
//! it really takes, in any way, and the kernel ends the worker alone when it takes too much.
//!
//! The place is the cgroup that the server was started in, if nothing else is in it. A cgroup with
//! members cannot have others below it, so the server moves itself to `gateway` first:
//!
//! ```text
//! …/wardian.service      the place
//!     gateway            the server
//!     background         what it starts with low priority: the making of images, compilation
//!     template-1         the process that workers are forked from
//!     worker-2           one worker
//! ```
//!
//! INVARIANT(own-cgroup-only): a cgroup that has processes besides those of this server is left as
//! it is, and so is a cgroup whose children have others.
//! INVARIANT(no-cgroup-left): the cgroup of a process is removed when the process has ended. What a
//! killed server leaves behind is removed at the next start in the same place.
//!
//! | file         | purpose                                                                     |
//! | ------------ | --------------------------------------------------------------------------- |
//! | `mounts.rs`  | where the system shows the cgroup of this process                           |
//! | `place.rs`   | whether there is a place for cgroups, and if not, why                       |
//! | `tree.rs`    | the place in use: the cgroups below it                                      |
//! | `process.rs` | the cgroup of one process: its limits, its end                              |

mod mounts;
mod place;
mod process;
mod tree;

pub use crate::cgroup::place::{CgroupPlace, CgroupUnavailable, Controller, names_of};
pub use crate::cgroup::process::{CgroupLimits, MemoryShortage, ProcessCgroup};
pub use crate::cgroup::tree::CgroupTree;
