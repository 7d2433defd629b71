//! The current indexes that calls read, which are replaced as a whole.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::{Mutex, RwLock};

use crate::ids::TenantId;
use crate::registry::config::TenantFolders;
use crate::registry::index::Index;

/// The current indexes, and the wishes to the thread that follows the folders.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) current: RwLock<PublishedIndexes>,
    /// True if the thread that follows the folders must walk all of them soon.
    pub(crate) is_walk_wanted: AtomicBool,
    /// The folders of tenants that take the place of the present ones.
    pub(crate) wanted: Mutex<Option<TenantFolders>>,
}

/// The current indexes.
#[derive(Debug)]
pub(crate) struct PublishedIndexes {
    pub(crate) shared: Arc<Index>,
    /// The own skills of the tenants that have folders.
    pub(crate) tenants: HashMap<TenantId, Arc<Index>>,
}
