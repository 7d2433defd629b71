//! Tenants.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{InvalidId, is_name_segment};

/// A tenant of the server. Tenants share no blobs.
///
/// INVARIANT(safe-tenant): `a-z0-9` and inner dashes, at most 64, so it is safe in a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TenantId(String);

impl TenantId {
    /// The only tenant of a server without tenants.
    #[must_use]
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// The server itself, where it has a share alongside those of tenants. No tenant can have this
    /// name.
    #[must_use]
    pub fn server() -> Self {
        Self("(server)".to_owned())
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if !text.is_empty() && text.len() <= 64 && is_name_segment(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::new("tenant", "must be 1 to 64 characters of a-z, 0-9 and inner dashes"))
        }
    }

    /// The tenant as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

checked_text!(TenantId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_tenant_is_one_segment() {
        assert!(TenantId::parse("acme-1").is_ok());
        assert!(TenantId::parse(TenantId::server().as_str()).is_err());
        for text in ["", "a.b", "../x", "A", &"a".repeat(65)] {
            assert!(TenantId::parse(text).is_err(), "accepted {text:?}");
        }
    }
}
