//! Keys that an operator makes and revokes over HTTP, by the rules of `wardian keys`.

use std::time::Duration;

use serde::Deserialize;

use crate::authentication::Authentication;
use crate::authorisation::ensure_may_operate;
use crate::caller::Caller;
use crate::error::ServiceError;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::tenants::{
    ApiKey, ApiToken, KeyName, KeyOrder, KeyPrefix, KeyRing, Revocation, Rights,
};
use wardian_vocabulary::ids::TenantId;

/// A key that is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The tenant that it is for.
    tenant: String,
    /// Its name in lists.
    name: String,
    /// Its scopes; all but `admin` without them.
    scopes: Option<Vec<String>>,
    /// The time after which it is refused, from now on; none if it has no end.
    expires_ms: Option<u64>,
}

impl NewKey {
    /// Checks the order. `now` is the time of day.
    fn checked(&self, now: Duration) -> Result<KeyOrder, ServiceError> {
        let rights = match &self.scopes {
            None => Rights::USUAL,
            Some(scopes) if scopes.is_empty() => {
                return Err(ParamsError::wrong("scopes", "at least one scope", "none").into());
            }
            Some(scopes) => Rights::parse(&scopes.join(","))?,
        };
        let name = KeyName::parse(&self.name)?;
        Ok(KeyOrder {
            tenant: TenantId::parse(&self.tenant)?,
            name,
            rights,
            expires: self.expires_ms.map(|time| end_after(time, now)).transpose()?,
        })
    }
}

/// The end of a key that is made now.
fn end_after(time_ms: u64, now: Duration) -> Result<Duration, ParamsError> {
    let end = now.saturating_add(Duration::from_millis(time_ms));
    // The database keeps milliseconds in 64 bits.
    match time_ms > 0 && i64::try_from(end.as_millis()).is_ok() {
        true => Ok(end),
        false => {
            let expected = "a time from now in milliseconds, of at least 1";
            Err(ParamsError::wrong("expires_ms", expected, time_ms.to_string()))
        }
    }
}

impl Authentication {
    /// Makes a key. The caller is an operator whose credential is still valid.
    ///
    /// # Errors
    ///
    /// The caller is not an operator, the server takes no keys, the order is wrong, or the database
    /// failed.
    pub async fn create_key(
        &self,
        caller: &Caller,
        order: &NewKey,
    ) -> Result<(ApiToken, ApiKey), ServiceError> {
        let ring = self.operated(caller)?;
        let now = ring.now();
        ring.create(&order.checked(now)?, now).await.map_err(ServiceError::Keys)
    }

    /// Revokes a key. Returns false if it was already revoked.
    ///
    /// # Errors
    ///
    /// As [`Self::create_key`], or there is no such key.
    pub async fn revoke_key(
        &self,
        caller: &Caller,
        prefix: &str,
    ) -> Result<(KeyPrefix, bool), ServiceError> {
        let ring = self.operated(caller)?;
        let unknown = || ParamsError::wrong("prefix", "the prefix of a key", "that of no key");
        let prefix = KeyPrefix::parse(prefix).map_err(|_malformed| unknown())?;
        match ring.revoke(&prefix).await.map_err(ServiceError::Keys)? {
            Revocation::Revoked => Ok((prefix, true)),
            Revocation::Already => Ok((prefix, false)),
            Revocation::Unknown => Err(unknown().into()),
        }
    }

    /// The keys, for an operator.
    fn operated(&self, caller: &Caller) -> Result<&KeyRing, ServiceError> {
        ensure_may_operate(caller)?;
        self.confirm(caller.credential.as_ref())?;
        self.keys().map(AsRef::as_ref).ok_or(ServiceError::TakesNoKeys)
    }
}
