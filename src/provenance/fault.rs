//! The reasons why a record, a bundle, a signature or a key cannot be used.

use std::io;

use crate::units::ByteCount;

/// The reason why a record, a bundle, a signature or a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvenanceError {
    /// A text is not the JSON that it should be.
    #[error("{what}: {problem}")]
    Json {
        /// The text.
        what: &'static str,
        /// The problem.
        problem: String,
    },
    /// A text is JSON in another spelling.
    #[error(
        "{what}: is not in canonical form (RFC 8785): it was written by another program, or changed"
    )]
    NotCanonical {
        /// The text.
        what: &'static str,
    },
    /// An integer would be rounded.
    #[error("an integer beyond 9007199254740991 has no exact form in canonical JSON")]
    NumberTooLarge,
    /// A value has no JSON.
    #[error("a value cannot be written as JSON")]
    Unserialisable(#[source] serde_json::Error),
    /// The record has a format of the future.
    #[error(
        "the record has version {found} of the format, and this program reads version {known}: use \
         a newer Wardian"
    )]
    NewerVersion {
        /// The version of the record.
        found: u64,
        /// The version that is read.
        known: u64,
    },
    /// The file is something else.
    #[error("is no run record, no signed run record and no bundle")]
    Unknown,
    /// The file is too large.
    #[error("has more than {most}, the most that a record may have")]
    TooLarge {
        /// The most that is read.
        most: ByteCount,
    },
    /// A record contradicts itself, or has a value out of its bounds.
    #[error("the record is malformed: {0}")]
    Malformed(String),
    /// A bundle is malformed.
    #[error("the bundle is malformed: {0}")]
    Bundle(String),
    /// A signature does not hold.
    #[error("the signature does not hold: {0}")]
    Signature(&'static str),
    /// An envelope is malformed.
    #[error("the signed record is malformed: {0}")]
    Envelope(String),
    /// A key cannot be used.
    #[error("the key cannot be used: {0}")]
    Key(&'static str),
    /// A file cannot be read or written.
    #[error("could not {what}")]
    File {
        /// What was tried.
        what: &'static str,
        /// The reason.
        #[source]
        cause: io::Error,
    },
}
