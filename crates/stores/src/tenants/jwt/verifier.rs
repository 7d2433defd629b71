//! One token from its bytes to its caller.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::tenants::caller::{CallerCredential, CallerIdentity, UnknownCaller};
use crate::tenants::jwt::claims::CheckedClaims;
use crate::tenants::jwt::config::JwtConfig;
use crate::tenants::jwt::fault::TokenFault;
use crate::tenants::jwt::jws::UncheckedToken;
use crate::tenants::jwt::key_set::KeySet;
use crate::tenants::jwt::keys::ProviderKeys;
use crate::tenants::jwt::source::KeySourceError;
use crate::tenants::jwt::stamp::TokenStamp;
use crate::tenants::jwt::verified::{VerifiedToken, VerifiedTokens};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;

/// Verifies tokens of one provider.
#[derive(Debug)]
pub struct TokenVerifier {
    config: JwtConfig,
    clock: Clock,
    keys: Arc<ProviderKeys>,
    verified: Mutex<VerifiedTokens>,
}

/// Why a caller with a token is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedToken {
    /// The token is wrong. The caller is not told why.
    Wrong(TokenFault),
    /// The keys are not available.
    Unavailable,
}

impl From<TokenFault> for RefusedToken {
    fn from(fault: TokenFault) -> Self {
        Self::Wrong(fault)
    }
}

impl TokenVerifier {
    /// Opens the keys that `config` names.
    ///
    /// # Errors
    ///
    /// As of [`ProviderKeys`]: a file has no key that can be used.
    pub fn open(config: JwtConfig, clock: Clock) -> Result<Self, KeySourceError> {
        let keys = Arc::new(ProviderKeys::open(&config)?);
        Ok(Self { config, clock, keys, verified: Mutex::default() })
    }

    /// The keys of the provider.
    #[must_use]
    pub const fn keys(&self) -> &Arc<ProviderKeys> {
        &self.keys
    }

    /// Finds the caller that presents this token.
    ///
    /// # Errors
    ///
    /// [`RefusedToken`], with the reason for the log.
    pub fn identify(&self, token: &[u8]) -> Result<CallerIdentity, RefusedToken> {
        let keys = self.keys.current().map_err(|_stale| RefusedToken::Unavailable)?;
        if token.is_empty() {
            return Err(TokenFault::Missing.into());
        }
        if token.len() > self.config.max_token {
            return Err(TokenFault::TooLong.into());
        }
        let digest = Digest::of(token);
        let known = self.verified.lock().find(&digest);
        if let Some(VerifiedToken { identity, stamp }) = known {
            if let Err(fault) = self.check_stamp(&stamp, &keys) {
                self.verified.lock().remove(&digest);
                return Err(fault.into());
            }
            return Ok(identity);
        }
        let verified = self.verify(token, &keys)?;
        let identity = verified.identity.clone();
        self.verified.lock().insert(digest, verified);
        Ok(identity)
    }

    /// Checks that the token of a caller that was found before is still valid.
    ///
    /// # Errors
    ///
    /// It has expired, its key is gone, or the keys could not be read for too long.
    pub fn confirm(&self, stamp: &TokenStamp) -> Result<(), UnknownCaller> {
        let keys = self.keys.current()?;
        self.check_stamp(stamp, &keys).map_err(|_fault| UnknownCaller::InvalidToken)
    }

    fn check_stamp(&self, stamp: &TokenStamp, keys: &KeySet) -> Result<(), TokenFault> {
        if !keys.contains(&stamp.signer) {
            self.keys.ask();
            return Err(TokenFault::UnknownKey);
        }
        if self.clock.now() < stamp.ends { Ok(()) } else { Err(TokenFault::Expired) }
    }

    fn verify(&self, token: &[u8], keys: &KeySet) -> Result<VerifiedToken, TokenFault> {
        let token = UncheckedToken::parse(token, &self.config.algorithms)?;
        let known = keys.find(token.key_id.as_deref(), token.algorithm);
        // A signature is checked for an unknown key as well, so that it takes as long.
        let checked = known
            .or_else(|| keys.any(token.algorithm))
            .is_some_and(|key| key.has_signed(token.algorithm, token.signed, &token.signature));
        let Some(key) = known else {
            self.keys.ask();
            return Err(TokenFault::UnknownKey);
        };
        if !checked {
            return Err(TokenFault::Signature);
        }
        let payload = token.payload()?;
        let claims = CheckedClaims::check(&payload, &self.config, self.clock.now())?;
        let CheckedClaims { tenant, rights, name, ends } = claims;
        let stamp = TokenStamp { name, signer: key.digest, ends };
        let credential = Some(CallerCredential::Token(stamp.clone()));
        let identity = CallerIdentity { tenant, rights, credential };
        Ok(VerifiedToken { identity, stamp })
    }
}
