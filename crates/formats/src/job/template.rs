//! The messages between the gateway and a template, the process that workers are forked from.

use serde::{Deserialize, Serialize};

/// A message of the gateway to a template.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToTemplate {
    /// The standard error of the next worker follows as a descriptor.
    StandardError,
    /// Fork a worker; its socket follows as a descriptor.
    Fork,
}

/// A message of a template to the gateway.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromTemplate {
    /// The engine is loaded, and workers can be forked.
    Ready,
    /// A worker was forked. It is a child of the gateway.
    Forked {
        /// Its process.
        process: i32,
    },
    /// The template cannot start, or could not fork a worker, and exits.
    Failed {
        /// The reason, for the log.
        reason: String,
    },
}
