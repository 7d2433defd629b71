//! Errors of patching the engine's module.

use wardian_vocabulary::ids::Digest;

/// Errors of patching the engine's module.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// A table is malformed.
    #[error("`{table}`, line {line}: {problem}")]
    Table {
        /// Name of the table.
        table: String,
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        problem: &'static str,
    },
    /// A table was made for another module.
    #[error("`{table}` is for the module with the SHA-256 {expected}, not {found}")]
    OtherModule {
        /// Name of the table.
        table: String,
        /// The module that it was made for.
        expected: Digest,
        /// The module that is there.
        found: Digest,
    },
    /// A row does not fit the module.
    #[error("`{table}`, line {line}: `{function}` {problem}")]
    Row {
        /// Name of the table.
        table: String,
        /// Number of the line, from 1.
        line: usize,
        /// The function that the row names.
        function: String,
        /// The mismatch.
        problem: &'static str,
    },
    /// The module cannot be read.
    #[error("the module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// The module is not laid out as the tables need it.
    #[error("the module {0}")]
    Layout(&'static str),
    /// The changes do not add up to the pinned result.
    #[error("the patched module has the SHA-256 {found}, not {pinned}")]
    Result {
        /// The digest that it should have.
        pinned: Digest,
        /// The digest that it has.
        found: Digest,
    },
}
