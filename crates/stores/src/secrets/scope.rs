//! Whose secrets a run may have.

use wardian_vocabulary::ids::TenantId;

/// The folder, and the table of a file, with the secrets of tenants. No secret has this name.
pub(super) const TENANTS: &str = "tenants";

/// Whose secrets a run may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretScope<'a> {
    /// Those of the server.
    Server,
    /// Those of a tenant, and behind them those of the server if it shares them.
    Tenant(&'a TenantId),
    /// Those of a tenant and no others: its own skills have these, because the operator does not share
    /// the secrets of the server with skills that only a tenant sees, and so have servers of tools at which each
    /// tenant acts as itself.
    TenantAlone(&'a TenantId),
}
