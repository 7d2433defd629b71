//! The reasons why a run has no document although it was reproducible.

/// The reason why the end of a run is not part of a record: a repetition may end in another way, or
/// its document would be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unrepeatable {
    /// The time or a caller ended it.
    #[error("the run timed out, which does not repeat; limit its fuel with `--fuel` instead")]
    Time,
    /// Its sandbox was lost or broke.
    #[error("the sandbox of the run broke or was lost, which may not repeat")]
    Machine,
    /// The store refused one of its blobs: for lack of room, by its limits, or because it failed.
    #[error("a blob of the run could not be stored here, because the store was full or failed")]
    Storage,
    /// Its log changes between its streams too often, or it stored too many blobs.
    #[error("the run changed too often between its streams, or stored too many blobs")]
    TooManyParts,
    /// What it exchanged with the world has no room in a document.
    #[error("the run exchanged more data with the network than a document can hold")]
    Network,
}

impl Unrepeatable {
    /// The reason that an error type of the host tells. No guest can have an error of these types.
    #[must_use]
    pub fn of_error_type(error_type: &str) -> Option<Self> {
        match error_type {
            "Timeout" | "Cancelled" | "Interrupted" => Some(Self::Time),
            "SandboxCrash" => Some(Self::Machine),
            _ => None,
        }
    }
}
