//! The wire form of each kind of error. No other code assigns error codes.
//!
//! Wardian's own codes are positive. JSON-RPC and MCP reserve negative codes, so one table serves
//! every edge.

use wardian_vocabulary::error::ErrorKind;

/// The wire form of one kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    /// JSON-RPC error code.
    pub code: i32,
    /// Stable label sent as `error.data.kind`; clients branch on this, not on the message.
    pub label: &'static str,
    /// HTTP status of a response that consists of this error alone. A batch always has status 200.
    pub http_status: u16,
}

impl WireError {
    /// The body is not JSON.
    pub const PARSE_ERROR: Self = Self::row(-32700, "parse_error", 200);
    /// The body is JSON, but not a request.
    pub const INVALID_REQUEST: Self = Self::row(-32600, "invalid_request", 200);
    /// No method has the name of the call.
    pub const METHOD_NOT_FOUND: Self = Self::row(-32601, "method_not_found", 200);

    /// All rows.
    pub const ALL: [Self; 25] = [
        Self::PARSE_ERROR,
        Self::INVALID_REQUEST,
        Self::METHOD_NOT_FOUND,
        Self::of(ErrorKind::InvalidParams),
        Self::of(ErrorKind::SkillNotFound),
        Self::of(ErrorKind::VersionNotFound),
        Self::of(ErrorKind::FileNotFound),
        Self::of(ErrorKind::BlobNotFound),
        Self::of(ErrorKind::RunNotFound),
        Self::of(ErrorKind::SessionNotFound),
        Self::of(ErrorKind::SessionExpired),
        Self::of(ErrorKind::CheckpointNotFound),
        Self::of(ErrorKind::NotExecutable),
        Self::of(ErrorKind::TooLarge),
        Self::of(ErrorKind::Unauthorized),
        Self::of(ErrorKind::Forbidden),
        Self::of(ErrorKind::RateLimited),
        Self::of(ErrorKind::Overloaded),
        Self::of(ErrorKind::QuotaExceeded),
        Self::of(ErrorKind::SecretUnavailable),
        Self::of(ErrorKind::PackagesMissing),
        Self::of(ErrorKind::SessionBusy),
        Self::of(ErrorKind::SessionConflict),
        Self::of(ErrorKind::SessionDamaged),
        Self::of(ErrorKind::Internal),
    ];

    /// The row for `kind`. A new kind does not compile until it has a row.
    ///
    /// All errors that the caller can solve with other parameters have the code `-32602`; the label
    /// tells them apart.
    #[must_use]
    pub const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidParams => Self::row(-32602, "invalid_params", 200),
            ErrorKind::SkillNotFound => Self::row(-32602, "skill_not_found", 200),
            ErrorKind::VersionNotFound => Self::row(-32602, "version_not_found", 200),
            ErrorKind::FileNotFound => Self::row(-32602, "file_not_found", 200),
            ErrorKind::BlobNotFound => Self::row(-32602, "blob_not_found", 200),
            ErrorKind::RunNotFound => Self::row(-32602, "run_not_found", 200),
            ErrorKind::SessionNotFound => Self::row(-32602, "session_not_found", 200),
            ErrorKind::SessionExpired => Self::row(-32602, "session_expired", 200),
            ErrorKind::CheckpointNotFound => Self::row(-32602, "checkpoint_not_found", 200),
            ErrorKind::NotExecutable => Self::row(-32602, "not_executable", 200),
            ErrorKind::TooLarge => Self::row(-32602, "too_large", 200),
            ErrorKind::Unauthorized => Self::row(1001, "unauthorized", 401),
            ErrorKind::Forbidden => Self::row(1002, "forbidden", 403),
            ErrorKind::RateLimited => Self::row(1003, "rate_limited", 429),
            ErrorKind::Overloaded => Self::row(1004, "overloaded", 503),
            ErrorKind::QuotaExceeded => Self::row(1005, "quota_exceeded", 429),
            ErrorKind::SecretUnavailable => Self::row(1006, "secret_unavailable", 424),
            ErrorKind::PackagesMissing => Self::row(1007, "packages_missing", 424),
            ErrorKind::SessionBusy => Self::row(1008, "session_busy", 409),
            ErrorKind::SessionConflict => Self::row(1009, "session_conflict", 409),
            ErrorKind::SessionDamaged => Self::row(1010, "session_damaged", 409),
            ErrorKind::Internal => Self::row(-32603, "internal", 200),
        }
    }

    const fn row(code: i32, label: &'static str, http_status: u16) -> Self {
        Self { code, label, http_status }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL: [ErrorKind; 22] = [
        ErrorKind::InvalidParams,
        ErrorKind::SkillNotFound,
        ErrorKind::VersionNotFound,
        ErrorKind::FileNotFound,
        ErrorKind::BlobNotFound,
        ErrorKind::RunNotFound,
        ErrorKind::SessionNotFound,
        ErrorKind::SessionExpired,
        ErrorKind::SessionBusy,
        ErrorKind::SessionConflict,
        ErrorKind::SessionDamaged,
        ErrorKind::CheckpointNotFound,
        ErrorKind::NotExecutable,
        ErrorKind::TooLarge,
        ErrorKind::Unauthorized,
        ErrorKind::Forbidden,
        ErrorKind::RateLimited,
        ErrorKind::Overloaded,
        ErrorKind::QuotaExceeded,
        ErrorKind::SecretUnavailable,
        ErrorKind::PackagesMissing,
        ErrorKind::Internal,
    ];

    #[test]
    fn every_kind_has_a_label_of_its_own() {
        let envelope =
            [WireError::PARSE_ERROR, WireError::INVALID_REQUEST, WireError::METHOD_NOT_FOUND];
        let rows = ALL.map(WireError::of);
        let labels: BTreeSet<_> = rows.iter().chain(&envelope).map(|row| row.label).collect();
        assert_eq!(labels.len(), ALL.len() + envelope.len());
        let listed: BTreeSet<_> = WireError::ALL.iter().map(|row| row.label).collect();
        assert_eq!(listed, labels);
    }

    #[test]
    fn own_codes_lie_outside_the_reserved_range_and_set_the_status() {
        for row in ALL.map(WireError::of) {
            let is_standard = matches!(row.code, -32602 | -32603);
            assert!(is_standard || row.code > 0, "{row:?}");
            assert_eq!(is_standard, row.http_status == 200, "{row:?}");
        }
    }
}
