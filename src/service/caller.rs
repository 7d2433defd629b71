//! Who calls.

use crate::ids::TenantId;

/// Who calls, decided by an edge before a method sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose blobs and budgets are meant.
    pub tenant: TenantId,
}

impl Caller {
    /// The caller on a server without tenants.
    #[must_use]
    pub fn local() -> Self {
        Self { tenant: TenantId::local() }
    }
}
