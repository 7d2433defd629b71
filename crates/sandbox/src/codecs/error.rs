//! Refusals of codecs, and the Python exceptions that they become.

use crate::run::deadline::Stopped;
use wardian_formats::job::message::Refusal;

/// The reason why a codec did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The request does not follow the protocol. Only a guest that makes host calls by itself sends
    /// such a request.
    #[error("the request to the codec is malformed")]
    Malformed,
    /// The data cannot be read.
    #[error("{0}")]
    Damaged(String),
    /// The data is sound but uses a feature that the codec lacks.
    #[error("{0}")]
    Unsupported(String),
    /// The picture has no pixels or too many.
    #[error(
        "a picture of {width} x {height} pixels is refused: this codec accepts 1 to {most} pixels"
    )]
    Pixels {
        /// Width.
        width: usize,
        /// Height.
        height: usize,
        /// Most pixels that the codec takes.
        most: usize,
    },
    /// The memory limit of the run does not leave enough.
    #[error("the run's memory limit does not leave enough for this picture or table")]
    Memory,
    /// The run has to end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The run's fuel does not suffice for the work.
    #[error("the run has used up its fuel")]
    Fuel,
}

/// Longest message of a codec that is sent to a guest, in characters.
const MAX_MESSAGE: usize = 200;

impl CodecError {
    /// The refusal that the guest sees.
    pub fn refusal(&self) -> Refusal {
        let error_type = match self {
            Self::Malformed => "ValueError",
            Self::Damaged(_) | Self::Pixels { .. } => "OSError",
            Self::Unsupported(_) => "NotImplementedError",
            Self::Memory => "MemoryError",
            // The run ends with these, so no guest sees them.
            Self::Stopped(_) | Self::Fuel => "RuntimeError",
        };
        let message = self.to_string().chars().take(MAX_MESSAGE).collect();
        Refusal { error_type: error_type.to_owned(), message }
    }
}
