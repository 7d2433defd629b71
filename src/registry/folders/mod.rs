//! The operator's folders on the disk: read, bounded and compared with what was read before.

pub(crate) mod folder_check;
pub(crate) mod handle;
pub(crate) mod notices;
pub(crate) mod roots;
pub(crate) mod scan;
pub mod snapshot;
pub(crate) mod walk;
