//! The signatures that can be allowed: asymmetric ones, whose checks need no secret.

/// An algorithm of signatures. There is no `none` and no HMAC: a server that knew the secret of an
/// HMAC could make tokens, and a public key could be taken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAlgorithm {
    /// RSA with PKCS #1 padding and SHA-256.
    Rs256,
    /// RSA with PKCS #1 padding and SHA-384.
    Rs384,
    /// RSA with PKCS #1 padding and SHA-512.
    Rs512,
    /// RSA with PSS padding and SHA-256.
    Ps256,
    /// RSA with PSS padding and SHA-384.
    Ps384,
    /// RSA with PSS padding and SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl TokenAlgorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// Those that are allowed unless the operator says otherwise: all but ES384. Its check takes
    /// milliseconds, which anybody could ask for by wrong tokens.
    pub const USUAL: [Self; 8] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::EdDsa,
    ];

    /// The name in headers of tokens (RFC 7518, RFC 8037).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Reads a name exactly. `Ed25519` (RFC 9864) is another name of `EdDSA`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Ed25519" => Some(Self::EdDsa),
            name => Self::ALL.into_iter().find(|algorithm| algorithm.name() == name),
        }
    }
}
