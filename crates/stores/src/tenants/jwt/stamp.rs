//! What is kept of a token after it was verified.

use std::sync::Arc;
use std::time::Duration;

use wardian_vocabulary::ids::Digest;

/// What is kept of a verified token: enough to see later that it is still valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenStamp {
    /// `token:` and the subject, or `token` without one.
    pub name: Arc<str>,
    /// The key that has signed it.
    pub signer: Digest,
    /// The first moment at which it is valid no more, since the Unix epoch.
    pub ends: Duration,
}

impl TokenStamp {
    /// The name in records and in the audit log.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}
