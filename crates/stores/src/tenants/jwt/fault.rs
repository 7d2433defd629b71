//! Why a token is refused: for the operator, never for the caller.

/// The reason why a token is refused. `Display` is for the log and has nothing of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// No token, or two.
    #[error("no token")]
    Missing,
    /// More bytes than `auth.jwt.max_token`.
    #[error("token too long")]
    TooLong,
    /// Not three parts of base64url without padding.
    #[error("not a signed token")]
    Form,
    /// The header is no JSON object with members of the right types, each once.
    #[error("malformed header")]
    Header,
    /// The algorithm is not allowed: `none`, HMAC, or one that the operator left out.
    #[error("algorithm not allowed")]
    Algorithm,
    /// The header demands extensions, compression or encryption.
    #[error("header with extensions")]
    Extension,
    /// A token for another purpose, or a token within a token.
    #[error("not an access token")]
    Purpose,
    /// No key of the provider has this id and is for this algorithm.
    #[error("unknown signing key")]
    UnknownKey,
    /// The signature does not fit.
    #[error("wrong signature")]
    Signature,
    /// The claims are no JSON object with each member once.
    #[error("malformed claims")]
    Claims,
    /// A claim that must be there is missing.
    #[error("missing claim")]
    MissingClaim,
    /// A claim has a wrong type or value.
    #[error("malformed claim")]
    MalformedClaim,
    /// Another issuer.
    #[error("foreign issuer")]
    Issuer,
    /// For another audience.
    #[error("foreign audience")]
    Audience,
    /// The time of `exp` is over.
    #[error("expired")]
    Expired,
    /// The time of `nbf` has not come.
    #[error("not valid yet")]
    NotYetValid,
    /// The time of `iat` has not come: the clock of the provider or of this machine is wrong.
    #[error("issued in the future")]
    IssuedInFuture,
    /// Older than `auth.jwt.max_age`.
    #[error("too old")]
    TooOld,
    /// The claim of the tenant is not a name of a tenant, or that of the server itself.
    #[error("no valid tenant")]
    Tenant,
}
