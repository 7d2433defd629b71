//! On whose behalf a method is called.

use crate::ids::TenantId;

/// Who calls, and under which name the call is found in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// For whom: decides which blobs are visible and whose limits apply.
    pub tenant: TenantId,
    /// Names the request in the server's log.
    pub request_id: String,
}
