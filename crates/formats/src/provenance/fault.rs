//! The reasons why a document, a bundle, a signature or a key cannot be used.

use std::io;

use wardian_vocabulary::units::ByteCount;

/// The reason why a document, a bundle, a signature or a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProvenanceError {
    /// A text is not the JSON that it should be.
    #[error("{what}: {}", harmless(problem))]
    Json {
        /// The text.
        what: &'static str,
        /// The problem.
        problem: String,
    },
    /// A text is JSON in another spelling.
    #[error(
        "{what}: is not in canonical form (RFC 8785): it was written by another program, or \
        modified"
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
    /// A newer version of Wardian wrote the document.
    #[error(
        "the document has version {found} of the format, and this program reads version {known}: \
         use a newer Wardian"
    )]
    NewerVersion {
        /// The version of the document.
        found: u64,
        /// The version that is read.
        known: u64,
    },
    /// The file is something else.
    #[error("is not a run document, a signed run document or a bundle")]
    Unknown,
    /// The file is too large.
    #[error("is larger than {most}, the maximum for a document")]
    TooLarge {
        /// The most that is read.
        most: ByteCount,
    },
    /// A document contradicts itself, or has a value that is out of bounds.
    #[error("the document is malformed: {}", harmless(.0))]
    Malformed(String),
    /// A bundle is malformed.
    #[error("the bundle is malformed: {}", harmless(.0))]
    Bundle(String),
    /// A signature does not hold.
    #[error("the signature is invalid: {0}")]
    Signature(&'static str),
    /// An envelope is malformed.
    #[error("the signed document is malformed: {}", harmless(.0))]
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

/// A text of a document that somebody else may have written, as an error repeats it: control
/// characters and those that change the direction of text are escaped.
pub(super) fn harmless(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '"' | '\'' | '\\' => letter.to_string(),
        _ => letter.escape_debug().to_string(),
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_cannot_write_to_the_terminal() {
        let problem = || "unknown field `\u{1b}]0;x\u{7}\u{202e}\u{2066}\n`".to_owned();
        for fault in [
            ProvenanceError::Json { what: "the document", problem: problem() },
            ProvenanceError::Malformed(problem()),
            ProvenanceError::Bundle(problem()),
            ProvenanceError::Envelope(problem()),
        ] {
            let text = fault.to_string();
            assert!(text.is_ascii() && !text.chars().any(char::is_control), "{text:?}");
            assert!(text.contains("unknown field `\\u{1b}]0;x"), "{text:?}");
        }
    }
}
