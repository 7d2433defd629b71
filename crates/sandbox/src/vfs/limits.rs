//! Lengths and depths of paths, as on Linux.

/// Folders within one another: keeps walks up the tree short and paths within [`MAX_PATH`].
/// Beyond it `ENAMETOOLONG`.
pub const MAX_DEPTH: usize = 256;

/// Symbolic links followed in one path, as on Linux: beyond it `ELOOP`.
pub const MAX_LINKS: usize = 40;

/// Longest name, in bytes, as on Linux: beyond it `ENAMETOOLONG`.
pub const MAX_NAME: usize = 255;

/// Length at which a path or the target of a link is too long, in bytes, as on Linux, where the
/// 4,096 include the terminating zero.
pub(crate) const MAX_PATH: usize = 4096;
