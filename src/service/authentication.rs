//! How an edge finds out who calls.

use std::sync::Arc;

use crate::service::error::ServiceError;
use crate::tenants::{CallerIdentity, KeyPrefix, KeyRing, UnknownCaller};

/// How an edge finds out who calls.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// Every caller is the local user, with all rights.
    Open,
    /// A caller is known by a key.
    Keys(Arc<KeyRing>),
}

impl Authentication {
    /// True if a caller needs a credential.
    #[must_use]
    pub const fn is_required(&self) -> bool {
        match self {
            Self::Open => false,
            Self::Keys(_) => true,
        }
    }

    /// Finds the caller that presents this credential; `None` if the request has none, or several.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Unauthorized`] for every credential that is not valid, or
    /// [`ServiceError::KeysUnavailable`].
    pub fn identify(&self, credential: Option<&[u8]>) -> Result<CallerIdentity, ServiceError> {
        match self {
            Self::Open => Ok(CallerIdentity::local()),
            Self::Keys(keys) => keys.identify(credential.unwrap_or_default()).map_err(refusal),
        }
    }

    /// Checks that a caller that was found before may still call: a key may have been revoked or
    /// have expired while its request was in progress.
    ///
    /// # Errors
    ///
    /// As [`identify`](Self::identify).
    pub fn confirm(&self, caller: Option<&KeyPrefix>) -> Result<(), ServiceError> {
        match (self, caller) {
            (Self::Open, _) => Ok(()),
            (Self::Keys(keys), Some(key)) => keys.confirm(key).map_err(refusal),
            (Self::Keys(_), None) => Err(refusal(UnknownCaller::Unauthorized)),
        }
    }
}

fn refusal(unknown: UnknownCaller) -> ServiceError {
    match unknown {
        UnknownCaller::Unauthorized => ServiceError::Unauthorized(unknown),
        UnknownCaller::Unavailable => ServiceError::KeysUnavailable(unknown),
    }
}
