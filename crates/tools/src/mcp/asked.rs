//! One request of the protocol, and the mark that a server has told of a change.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;
use tokio::time::Instant;

use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// A request of the protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) method: &'static str,
    pub(crate) params: &'a RawValue,
    /// The most bytes of all that the server sends for it.
    pub(crate) bound: ByteCount,
    pub(crate) deadline: Instant,
    pub(crate) memory: &'a CallMemory,
}

/// A mark that the tools of a server have changed since they were listed.
#[derive(Debug, Default)]
pub(crate) struct ChangeMark(AtomicBool);

impl ChangeMark {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True once after each change.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}
