//! Failures in a record.

use crate::error::NetworkError;
use wardian_formats::provenance::network::NetworkFailure;

/// A failure as the record has it.
pub(super) fn failure_of(error: &NetworkError) -> NetworkFailure {
    NetworkFailure {
        errno: u16::try_from(error.errno()).unwrap_or_default(),
        text: error.text().to_owned(),
    }
}

/// A failure as the guest gets it.
pub(super) fn error_of(failure: &NetworkFailure) -> NetworkError {
    NetworkError::new(i32::from(failure.errno), failure.text.clone())
}
