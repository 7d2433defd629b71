//! Tenants, and the keys and tokens by which their clients are known.
//!
//! This module knows no HTTP. It makes keys, keeps them in the database, and finds the tenant and
//! the rights of a presented key. Tokens of an identity provider are verified in `jwt`.
//!
//! INVARIANT(keys-are-not-stored): a key is shown once and never stored. The database has its
//! SHA-256, from which it cannot be computed.
//!
//! INVARIANT(one-refusal): an unknown, a revoked, an expired and a malformed key are refused with
//! one and the same error, and unknown, revoked and expired keys after the same work.
//!
//! INVARIANT(stale-keys-fail-closed): if the database cannot be read, keys are not trusted for
//! longer than [`MOST_STALE`](key_ring::MOST_STALE): a revocation might have been missed.
//!
//! # Why
//!
//! Keys are random texts of 256 bits, so a plain SHA-256 without salt and without repetition is
//! enough: nobody can try all of them. A slow hash, as for passwords, would let strangers use up
//! the processor with wrong keys.

pub mod api_key;
pub mod caller;
mod error;
pub mod jwt;
pub(crate) mod key_ring;
pub(crate) mod key_table;
mod rights;
mod shared_secrets;
mod token;

pub use crate::tenants::api_key::{ApiKey, KeyName, KeyOrder};
pub use crate::tenants::caller::{CallerCredential, CallerIdentity, UnknownCaller};
pub use crate::tenants::error::InvalidKey;
pub use crate::tenants::jwt::algorithm::TokenAlgorithm;
pub use crate::tenants::jwt::config::{ClaimPath, JwtConfig, KeyPlace};
pub use crate::tenants::jwt::keys::ProviderKeys;
pub use crate::tenants::jwt::source::KeySourceError;
pub use crate::tenants::jwt::stamp::TokenStamp;
pub use crate::tenants::jwt::verifier::{RefusedToken, TokenVerifier};
pub use crate::tenants::key_ring::KeyRing;
pub use crate::tenants::key_table::{KeyTable, Revocation};
pub use crate::tenants::rights::{Right, Rights};
pub use crate::tenants::shared_secrets::{OwnSecrets, SecretPurpose, SharedSecrets};
pub use crate::tenants::token::{ApiToken, KeyPrefix};
