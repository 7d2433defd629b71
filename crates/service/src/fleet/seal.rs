//! The encryption of orders: AES-256-GCM, with a key for each order that is derived from the key of the fleet
//! and a random salt, so no nonce is used twice however many servers seal.

use std::fmt;

use data_encoding::BASE64;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use wardian_vocabulary::crypto::{fill_random, hmac};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Bytes of a salt.
const SALT: usize = 16;

/// What the keys of orders are derived for.
const PURPOSE: &[u8] = b"wardian fleet order 1\0";

/// Least bytes of a key.
const LEAST_KEY: usize = 32;

/// The key that all servers of a fleet share.
#[derive(Clone)]
pub struct FleetKey(Zeroizing<Vec<u8>>);

/// The reason why a text is no key of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FleetKeyError {
    /// It is short.
    #[error(
        "the key of a fleet has at least 32 bytes: `head -c 32 /dev/urandom | base64` makes one"
    )]
    TooShort,
}

impl FleetKey {
    /// A key of these bytes, without white space at their end.
    ///
    /// # Errors
    ///
    /// They are fewer than 32.
    pub fn new(bytes: &[u8]) -> Result<Self, FleetKeyError> {
        let bytes = bytes.trim_ascii_end();
        match bytes.len() < LEAST_KEY {
            true => Err(FleetKeyError::TooShort),
            false => Ok(Self(Zeroizing::new(bytes.to_vec()))),
        }
    }

    /// Seals the order of a run, as text. `None` if the system has no randomness, which does not happen.
    pub(super) fn seal(
        &self,
        tenant: &TenantId,
        run: &RunId,
        mut order: Vec<u8>,
    ) -> Option<String> {
        let mut sealed = vec![0; SALT];
        fill_random(&mut sealed).ok()?;
        let key = self.derived(&sealed)?;
        let place = associated(tenant, run);
        key.seal_in_place_append_tag(nonce(), Aad::from(place), &mut order).ok()?;
        sealed.append(&mut order);
        Some(BASE64.encode(&sealed))
    }

    /// Opens the order of a run. `None` if it was sealed with another key, for another run, or was changed.
    pub(super) fn open(&self, tenant: &TenantId, run: &RunId, sealed: &str) -> Option<Vec<u8>> {
        let sealed = BASE64.decode(sealed.as_bytes()).ok()?;
        let (salt, order) = sealed.split_at_checked(SALT)?;
        let (key, mut order) = (self.derived(salt)?, order.to_vec());
        let opened = key.open_in_place(nonce(), Aad::from(associated(tenant, run)), &mut order);
        let length = opened.ok()?.len();
        order.truncate(length);
        Some(order)
    }

    fn derived(&self, salt: &[u8]) -> Option<LessSafeKey> {
        let derived = Zeroizing::new(hmac(&self.0, &[PURPOSE, salt].concat()));
        UnboundKey::new(&AES_256_GCM, derived.as_slice()).ok().map(LessSafeKey::new)
    }
}

impl fmt::Debug for FleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FleetKey(..)")
    }
}

/// What an order is bound to.
fn associated(tenant: &TenantId, run: &RunId) -> Vec<u8> {
    [tenant.as_str().as_bytes(), b"\0", run.as_str().as_bytes()].concat()
}

/// The only nonce of a key.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_opened_with_its_key_for_its_run_and_as_it_is() {
        let key = FleetKey::new(&[7; 32]).unwrap();
        let (tenant, run) = (TenantId::local(), RunId::generate());
        let sealed = key.seal(&tenant, &run, b"an order".to_vec()).unwrap();
        assert_eq!(key.open(&tenant, &run, &sealed).unwrap(), b"an order");
        assert_ne!(key.seal(&tenant, &run, b"an order".to_vec()).unwrap(), sealed);
        assert_eq!(key.open(&tenant, &RunId::generate(), &sealed), None);
        let other = FleetKey::new(&[8; 32]).unwrap();
        assert_eq!(other.open(&tenant, &run, &sealed), None);
        let mut changed = BASE64.decode(sealed.as_bytes()).unwrap();
        for at in 0..changed.len() {
            changed[at] ^= 1;
            assert_eq!(key.open(&tenant, &run, &BASE64.encode(&changed)), None, "{at}");
            changed[at] ^= 1;
        }
        let cut: String = sealed.chars().skip(4).collect();
        for wrong in ["", "AAAA", "?", &cut] {
            assert_eq!(key.open(&tenant, &run, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_key_has_32_bytes_and_is_not_shown() {
        assert_eq!(FleetKey::new(&[b'a'; 31]).unwrap_err(), FleetKeyError::TooShort);
        assert_eq!(
            FleetKey::new(b"short\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n")
                .unwrap_err(),
            FleetKeyError::TooShort
        );
        let key = FleetKey::new(&[[b'a'; 32].as_slice(), b"\n"].concat()).unwrap();
        assert_eq!(format!("{key:?}"), "FleetKey(..)");
        assert_eq!(key.0.len(), 32);
    }
}
