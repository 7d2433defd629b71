//! What answers are made with.

use std::sync::Arc;

use wardian_formats::protocol::methods::execution::RunResult;
use wardian_formats::provenance::Toolchain;
use wardian_stores::blobs::BlobStore;
use wardian_stores::results::KeptValues;

/// Makes the answers of runs, and keeps those that every repetition gives.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Takes outputs that are too large for a result.
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) results: Arc<KeptValues<RunResult>>,
    /// Names the programs that executed the run.
    pub(crate) toolchain: Toolchain,
}
