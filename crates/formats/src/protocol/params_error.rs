//! The errors of a call's parameters.

use wardian_vocabulary::error::ErrorKind;

/// The reason why parameters were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// A parameter that the tool does not have.
    #[error("unknown parameter `{parameter}`: `{owner}` takes {known}")]
    Unknown {
        /// The name as sent, shortened.
        parameter: String,
        /// The tool, or the parameter that is an object.
        owner: String,
        /// The known parameters, for the sentence.
        known: String,
    },
    /// A required parameter is missing.
    #[error("parameter `{parameter}` is missing: it must be {expected}")]
    Missing {
        /// The parameter.
        parameter: String,
        /// The expected value.
        expected: String,
    },
    /// A value that the schema does not allow.
    #[error("parameter `{parameter}` must be {expected}, got {found}")]
    Wrong {
        /// The parameter.
        parameter: String,
        /// The expected value.
        expected: String,
        /// The value, shortened.
        found: String,
    },
    /// The same string twice where each may appear once.
    #[error("parameter `{parameter}` repeats \"{item}\"")]
    Repeated {
        /// The second appearance.
        parameter: String,
        /// The string, shortened.
        item: String,
    },
    /// Two parameters for the same setting have different values.
    #[error("parameters `{one}` and `{other}` differ: give one of them")]
    Contradiction {
        /// The first parameter.
        one: &'static str,
        /// The second parameter.
        other: &'static str,
    },
}

impl ParamsError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidParams
    }

    /// The parameter that caused the error, such as `limits.timeout_ms` or `input_blobs[2]`.
    #[must_use]
    pub fn parameter(&self) -> &str {
        match self {
            Self::Unknown { parameter, .. }
            | Self::Missing { parameter, .. }
            | Self::Wrong { parameter, .. }
            | Self::Repeated { parameter, .. } => parameter,
            Self::Contradiction { one, .. } => one,
        }
    }

    /// A value that the schema allows and a further check refuses.
    #[must_use]
    pub fn wrong(parameter: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        let parameter = parameter.to_owned();
        Self::Wrong { parameter, expected: expected.into(), found: found.into() }
    }
}
