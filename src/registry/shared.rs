//! What calls see: the current index, replaced as a whole.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::registry::index::Index;

/// What calls see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) current: RwLock<Arc<Index>>,
}
