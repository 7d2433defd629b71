//! On whose behalf a method is called.

use crate::budget::CallMemory;
use crate::ids::TenantId;

/// Who calls, under which name the call is found in the log, and what its memory is charged to.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For whom: decides which blobs are visible and whose limits apply.
    pub tenant: TenantId,
    /// Names the request in the server's log.
    pub request_id: String,
    /// What the call is charged; given back when the call is answered.
    pub memory: CallMemory,
}

impl Caller {
    /// This machine's own user, whose calls share the memory with nobody.
    #[must_use]
    pub fn local(request_id: &str) -> Self {
        let memory = CallMemory::unlimited();
        Self { tenant: TenantId::local(), request_id: request_id.to_owned(), memory }
    }
}
