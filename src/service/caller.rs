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
        Self::known_by(request_id.to_owned(), CallMemory::unlimited())
    }

    /// A client whose call is charged to `memory`.
    #[must_use]
    pub fn known_by(request_id: String, memory: CallMemory) -> Self {
        Self { tenant: sole_tenant(), request_id, memory }
    }
}

/// The tenant of every caller, for as long as nothing tells callers apart. The only place that says
/// so.
#[must_use]
pub fn sole_tenant() -> TenantId {
    TenantId::local()
}
