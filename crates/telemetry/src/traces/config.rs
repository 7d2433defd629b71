//! The settings of traces.

use std::path::PathBuf;

use crate::traces::address::CollectorAddress;

/// The settings of traces.
#[derive(Debug, Clone, PartialEq)]
pub struct TracesConfig {
    /// The collector.
    pub collector: CollectorAddress,
    /// A file with headers of the requests to it, such as a key.
    pub headers: Option<PathBuf>,
    /// A file with certificates of authorities that are trusted besides those of the system.
    pub authorities: Option<PathBuf>,
    /// The share of the requests that are recorded, from 0 to 1. Default 1.
    pub ratio: f64,
    /// What the headers of requests decide. Default [`ParentTrust::Join`].
    pub parents: ParentTrust,
    /// The name of this server in traces. Default `wardian`.
    pub service_name: String,
}

/// What the header `traceparent` of a request decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParentTrust {
    /// Nothing: the request begins its own trace, which names the client's as a link.
    Link,
    /// The trace that the request belongs to. The server decides whether it is recorded.
    #[default]
    Join,
    /// The trace, and whether it is recorded. For clients that the operator runs.
    Follow,
}
