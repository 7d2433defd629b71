//! The keys of sessions, and how they are kept: wrapped under the key of their tenant.
//!
//! Each session has a key of its own. A fork needs packs of the sessions that it descends from, so their
//! keys are wrapped for it once more. When a session is closed, its keys go, and what a fork does not need
//! can be read by nobody any more.

use std::fmt;

use data_encoding::BASE64;
use zeroize::Zeroizing;

use crate::error::SessionsError;
use crate::seal::{SALT, Sealer, TAG};
use wardian_stores::sessions::{SESSION_KEY_LENGTH, TenantSessionKeys, WrappedKey};
use wardian_vocabulary::crypto::fill_random;
use wardian_vocabulary::ids::{SessionId, TenantId};

/// The key of a session.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PackKey(Zeroizing<[u8; SESSION_KEY_LENGTH]>);

/// Shows no key.
impl fmt::Debug for PackKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackKey").finish_non_exhaustive()
    }
}

impl PackKey {
    /// A new key.
    pub(crate) fn generate() -> Result<Self, SessionsError> {
        Ok(Self(Zeroizing::new(random()?)))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; SESSION_KEY_LENGTH] {
        &self.0
    }
}

/// Random bytes.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], SessionsError> {
    let mut bytes = [0; LENGTH];
    fill_random(&mut bytes).map_err(SessionsError::from_disk("use"))?;
    Ok(bytes)
}

/// The key of a tenant.
#[derive(Debug)]
pub(crate) struct TenantKey<'tenant> {
    tenant: &'tenant TenantId,
    key: PackKey,
}

impl<'tenant> TenantKey<'tenant> {
    /// The key of a tenant, which is made if it has none.
    pub(crate) async fn ensure(
        keys: &TenantSessionKeys,
        tenant: &'tenant TenantId,
    ) -> Result<Self, SessionsError> {
        Ok(Self { tenant, key: PackKey(keys.ensure(tenant).await?) })
    }

    /// The key of a tenant; `None` if it has none.
    pub(crate) async fn find(
        keys: &TenantSessionKeys,
        tenant: &'tenant TenantId,
    ) -> Result<Option<Self>, SessionsError> {
        let found = keys.find(tenant).await?;
        Ok(found.map(|key| Self { tenant, key: PackKey(key) }))
    }

    /// Wraps the key of the session `origin` for `session`.
    pub(crate) fn wrap(
        &self,
        session: &SessionId,
        origin: &SessionId,
        key: &PackKey,
    ) -> Result<WrappedKey, SessionsError> {
        let salt = random::<SALT>()?;
        let mut sealed = Vec::with_capacity(SESSION_KEY_LENGTH.saturating_add(TAG));
        sealed.extend(key.as_bytes());
        Sealer::derive(self.key.as_bytes(), PURPOSE, &salt)
            .and_then(|sealer| sealer.seal(0, &self.associated(session, origin), &mut sealed))
            .ok_or_else(unusable)?;
        let wrapped = BASE64.encode(&[salt.as_slice(), &sealed].concat());
        Ok(WrappedKey { origin: origin.clone(), wrapped })
    }

    /// Unwraps a key of `session`. `None` if it was not wrapped for it under this key.
    pub(crate) fn unwrap(&self, session: &SessionId, key: &WrappedKey) -> Option<PackKey> {
        let bytes = Zeroizing::new(BASE64.decode(key.wrapped.as_bytes()).ok()?);
        let (salt, sealed) = bytes.split_first_chunk::<SALT>()?;
        let mut opened = Zeroizing::new(sealed.to_vec());
        let sealer = Sealer::derive(self.key.as_bytes(), PURPOSE, salt)?;
        let opened = sealer.open(0, &self.associated(session, &key.origin), &mut opened)?;
        let opened: &[u8; SESSION_KEY_LENGTH] = (&*opened).try_into().ok()?;
        Some(PackKey(Zeroizing::new(*opened)))
    }

    fn associated(&self, session: &SessionId, origin: &SessionId) -> Vec<u8> {
        [self.tenant.as_str(), session.as_str(), origin.as_str()].join("\0").into_bytes()
    }
}

/// Names the use of a tenant's key.
const PURPOSE: &[u8] = b"wardian session key 1";

/// The library refuses to encrypt, which does not happen.
pub(crate) fn unusable() -> SessionsError {
    SessionsError::Store { what: "use", cause: "a key cannot be used".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_unwrapped_for_its_session_and_tenant_alone() {
        let (acme, beta) = (TenantId::parse("acme").unwrap(), TenantId::parse("beta").unwrap());
        let [one, other] = [1, 2].map(|number| SessionId::of_random(&[number; 16]));
        let secret = PackKey::generate().unwrap();
        let tenant = TenantKey { tenant: &acme, key: secret.clone() };
        let key = PackKey::generate().unwrap();
        let wrapped = tenant.wrap(&one, &other, &key).unwrap();
        assert_eq!(tenant.unwrap(&one, &wrapped), Some(key.clone()));
        assert_ne!(tenant.wrap(&one, &other, &key).unwrap(), wrapped, "each has a salt");
        assert_eq!(tenant.unwrap(&other, &wrapped), None);
        let elsewhere = WrappedKey { origin: one.clone(), ..wrapped.clone() };
        assert_eq!(tenant.unwrap(&one, &elsewhere), None);
        let wrong = TenantKey { tenant: &beta, key: secret };
        assert_eq!(wrong.unwrap(&one, &wrapped), None);
        let wrong = TenantKey { tenant: &acme, key: PackKey::generate().unwrap() };
        assert_eq!(wrong.unwrap(&one, &wrapped), None);
        let bytes = BASE64.decode(wrapped.wrapped.as_bytes()).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            for changed in [&changed[..], &bytes[..at]] {
                let wrapped = BASE64.encode(changed);
                let changed = WrappedKey { origin: other.clone(), wrapped };
                assert_eq!(tenant.unwrap(&one, &changed), None, "{at}");
            }
        }
    }
}
