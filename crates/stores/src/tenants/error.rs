//! Errors of orders for keys.

/// The reason why a key cannot be made or named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// The name is malformed.
    #[error("a key's name must be 1 to 64 printable characters")]
    Name,
    /// A scope that does not exist.
    #[error(
        "`{}` is not a scope; the scopes are `discover`, `execute`, `code`, `blobs` and `admin`",
        .0.chars().take(40).collect::<String>().escape_debug()
    )]
    Scope(String),
    /// Not the public part of a key.
    #[error("a key is identified by its prefix: the 8 characters after `wardian_`")]
    Prefix,
}
