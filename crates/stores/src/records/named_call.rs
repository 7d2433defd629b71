//! Calls that have a name (`idempotency_key`).

use wardian_vocabulary::ids::Digest;

/// The name that a client gave to a call, and what it called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// The name.
    pub name: String,
    /// Digest of the call, by which another call with the same name is distinguished.
    pub call: Digest,
}

/// A call with a name, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedCall {
    /// The run that it began; none if it has stored a blob.
    pub(crate) run_id: Option<String>,
    /// Digest of the call.
    pub(crate) digest: String,
}
