//! The current index that calls read, which is replaced as a whole.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::RwLock;

use crate::registry::index::Index;

/// The current index.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) current: RwLock<Arc<Index>>,
    /// True if the thread that follows the folders must walk all of them soon.
    pub(crate) is_walk_wanted: AtomicBool,
}
