//! The current index that calls read. It is replaced as a whole.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::registry::index::Index;

/// The current index.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) current: RwLock<Arc<Index>>,
}
