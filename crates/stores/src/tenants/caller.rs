//! The identity of a caller whose credential was checked, and the refusal of one that is not known.

use crate::tenants::jwt::stamp::TokenStamp;
use crate::tenants::rights::Rights;
use crate::tenants::token::KeyPrefix;
use wardian_vocabulary::ids::TenantId;

/// The tenant and the rights of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    /// The tenant that the caller acts for.
    pub tenant: TenantId,
    /// The calls that it may make.
    pub rights: Rights,
    /// The credential of the caller; none if the server asks for none.
    pub credential: Option<CallerCredential>,
}

impl CallerIdentity {
    /// The identity of every caller of a server that does not authenticate them.
    #[must_use]
    pub fn local() -> Self {
        Self { tenant: TenantId::local(), rights: Rights::ALL, credential: None }
    }
}

/// What is known of a credential after it was checked. None of it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerCredential {
    /// The prefix of a key.
    Key(KeyPrefix),
    /// A token of an identity provider.
    Token(TokenStamp),
}

impl CallerCredential {
    /// The name in records and in the audit log: the prefix of a key, or `token:` and the subject
    /// of a token.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Key(prefix) => prefix.as_str(),
            Self::Token(stamp) => stamp.name(),
        }
    }
}

/// The reason why a caller is not known. It does not tell what is wrong with a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownCaller {
    /// No credential that is valid now.
    #[error("a valid key is required: `Authorization: Bearer wardian_...`")]
    Unauthorized,
    /// No credential that is valid now, on a server that takes tokens.
    #[error("a valid token is required: `Authorization: Bearer ...`")]
    InvalidToken,
    /// The keys could not be read for too long.
    #[error("keys cannot be checked at this time; repeat the call a little later")]
    Unavailable,
}
