//! How an edge finds out who calls.

use std::sync::Arc;

use crate::error::ServiceError;
use wardian_stores::tenants::{
    CallerCredential, CallerIdentity, KeyRing, RefusedToken, TokenVerifier, UnknownCaller,
};

/// The first letters of every key. No token begins with them.
const KEY: &[u8] = b"wardian_";

/// How an edge finds out who calls.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// Every caller is the local user, with all rights.
    Open,
    /// A caller is known by a key.
    Keys(Arc<KeyRing>),
    /// A caller is known by a token of an identity provider.
    Tokens {
        /// Verifies tokens.
        tokens: Arc<TokenVerifier>,
        /// Finds keys, if they are accepted as well.
        keys: Option<Arc<KeyRing>>,
    },
}

/// A caller that is not let in.
#[derive(Debug)]
pub struct RefusedCaller {
    /// The answer to the caller.
    pub error: Box<ServiceError>,
    /// The reason, for the operator.
    pub reason: Option<String>,
}

impl Authentication {
    /// True if a caller needs a credential.
    #[must_use]
    pub const fn is_required(&self) -> bool {
        match self {
            Self::Open => false,
            Self::Keys(_) | Self::Tokens { .. } => true,
        }
    }

    /// The keys that callers may have.
    #[must_use]
    pub const fn keys(&self) -> Option<&Arc<KeyRing>> {
        match self {
            Self::Open => None,
            Self::Keys(keys) => Some(keys),
            Self::Tokens { keys, .. } => keys.as_ref(),
        }
    }

    /// Finds the caller that presents this credential; `None` if the request has none, or several.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Unauthorized`] for every credential that is not valid, or
    /// [`ServiceError::KeysUnavailable`].
    pub fn identify(&self, credential: Option<&[u8]>) -> Result<CallerIdentity, RefusedCaller> {
        let credential = credential.unwrap_or_default();
        match self {
            Self::Open => Ok(CallerIdentity::local()),
            Self::Keys(keys) => keys.identify(credential).map_err(|unknown| RefusedCaller {
                error: Box::new(refusal(unknown)),
                reason: None,
            }),
            Self::Tokens { keys: Some(keys), .. } if credential.starts_with(KEY) => {
                keys.identify(credential).map_err(|unknown| RefusedCaller {
                    error: Box::new(of_tokens(unknown)),
                    reason: None,
                })
            }
            Self::Tokens { tokens, .. } => tokens.identify(credential).map_err(|refused| {
                let (unknown, reason) = match refused {
                    RefusedToken::Wrong(fault) => {
                        (UnknownCaller::InvalidToken, Some(fault.to_string()))
                    }
                    RefusedToken::Unavailable => (UnknownCaller::Unavailable, None),
                };
                RefusedCaller { error: Box::new(refusal(unknown)), reason }
            }),
        }
    }

    /// Checks that a caller that was found before may still call: a key may have been revoked, or a
    /// credential have expired, while its request was in progress.
    ///
    /// # Errors
    ///
    /// As [`identify`](Self::identify).
    pub fn confirm(&self, caller: Option<&CallerCredential>) -> Result<(), ServiceError> {
        match (self, caller) {
            (Self::Open, _) => Ok(()),
            (Self::Keys(keys), Some(CallerCredential::Key(key))) => {
                keys.confirm(key).map_err(refusal)
            }
            (Self::Tokens { keys: Some(keys), .. }, Some(CallerCredential::Key(key))) => {
                keys.confirm(key).map_err(of_tokens)
            }
            (Self::Tokens { tokens, .. }, Some(CallerCredential::Token(stamp))) => {
                tokens.confirm(stamp).map_err(refusal)
            }
            (Self::Keys(_), _) => Err(refusal(UnknownCaller::Unauthorized)),
            (Self::Tokens { .. }, _) => Err(refusal(UnknownCaller::InvalidToken)),
        }
    }
}

fn refusal(unknown: UnknownCaller) -> ServiceError {
    match unknown {
        UnknownCaller::Unauthorized | UnknownCaller::InvalidToken => {
            ServiceError::Unauthorized(unknown)
        }
        UnknownCaller::Unavailable => ServiceError::KeysUnavailable(unknown),
    }
}

/// The refusal of a key by a server that takes tokens: it is that of a wrong token.
fn of_tokens(unknown: UnknownCaller) -> ServiceError {
    refusal(match unknown {
        UnknownCaller::Unavailable => UnknownCaller::Unavailable,
        UnknownCaller::Unauthorized | UnknownCaller::InvalidToken => UnknownCaller::InvalidToken,
    })
}
