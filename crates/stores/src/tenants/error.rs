//! Errors of orders for keys.

/// The reason why a key cannot be made or named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// The name is malformed.
    #[error("a key's name must be 1 to 64 characters that can be printed")]
    Name,
    /// A scope that does not exist.
    #[error(
        "`{}` is no scope; there are `discover`, `execute`, `code`, `blobs` and `admin`",
        .0.chars().take(40).collect::<String>().escape_debug()
    )]
    Scope(String),
    /// Not the public part of a key.
    #[error("a key is named by its prefix: the 8 letters behind `wardian_`")]
    Prefix,
}
