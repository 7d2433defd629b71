//! The limits that a call asks for.

use serde::{Deserialize, Serialize};

use crate::protocol::params_error::ParamsError;

/// The limits that a call sets. Each is at least 1. The service refuses limits above the
/// operator's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedLimits {
    /// Wall-clock time in milliseconds.
    pub timeout_ms: Option<u64>,
    /// WebAssembly instructions.
    pub fuel: Option<u64>,
    /// Linear memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Size of all files in the workspace in bytes.
    pub workspace_bytes: Option<u64>,
    /// Number of host calls.
    pub host_calls: Option<u64>,
    /// The parameter that set the timeout.
    #[serde(skip)]
    pub timeout_place: TimeoutPlace,
}

/// The two parameters that can set the timeout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimeoutPlace {
    /// `limits.timeout_ms`.
    #[default]
    InLimits,
    /// `timeout_ms`, besides `limits`.
    Beside,
}

impl TimeoutPlace {
    /// The name of the parameter.
    #[must_use]
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::InLimits => "limits.timeout_ms",
            Self::Beside => "timeout_ms",
        }
    }
}

impl RequestedLimits {
    /// These limits with a timeout that stands `beside` them in a call.
    pub(crate) fn with_timeout(self, beside: Option<u64>) -> Result<Self, ParamsError> {
        match (self.timeout_ms, beside) {
            (Some(inside), Some(beside)) if inside != beside => {
                let [one, other] =
                    [TimeoutPlace::Beside, TimeoutPlace::InLimits].map(TimeoutPlace::parameter);
                Err(ParamsError::Contradiction { one, other })
            }
            (None, Some(_)) => {
                Ok(Self { timeout_ms: beside, timeout_place: TimeoutPlace::Beside, ..self })
            }
            _ => Ok(self),
        }
    }
}
