//! The current indexes that calls read, which are replaced as a whole.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::{Mutex, RwLock};

use crate::registry::config::TenantFolders;
use crate::registry::index::Index;
use wardian_vocabulary::ids::TenantId;

/// The current indexes, and the wishes to the thread that follows the folders.
#[derive(Debug)]
pub struct FollowerLink {
    pub current: RwLock<PublishedIndexes>,
    /// True if the thread that follows the folders must walk all of them soon.
    pub(crate) is_walk_wanted: AtomicBool,
    /// The folders of tenants that take the place of the present ones.
    pub wanted: Mutex<Option<TenantFolders>>,
}

/// The current indexes.
#[derive(Debug)]
pub struct PublishedIndexes {
    pub shared: Arc<Index>,
    /// The own skills of the tenants that have folders.
    pub tenants: HashMap<TenantId, Arc<Index>>,
}
