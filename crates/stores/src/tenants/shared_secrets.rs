//! Secrets that all servers of a service must have in common, such as the key that seals the cursors of
//! lists: a client may send the next request to another server.
//!
//! Hash secrets of images are not among them. They stay in the cache of one server, because no client
//! ever sees what follows from them.

use std::fmt;
use std::io;

use wardian_vocabulary::crypto::fill_random;

/// What a secret is for. Each purpose has a secret of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPurpose {
    /// Seals the cursors of lists of skills.
    Cursors,
}

/// Gives the secrets that all servers of a service have in common.
pub trait SharedSecrets: fmt::Debug + Send + Sync {
    /// The secret for this purpose, the same at each call.
    ///
    /// # Errors
    ///
    /// It cannot be read or made.
    fn secret(&self, purpose: SecretPurpose) -> io::Result<[u8; 32]>;
}

/// The secrets of a server that shares its tenants with no other: random bytes, made anew at each start.
pub struct OwnSecrets {
    cursors: [u8; 32],
}

impl OwnSecrets {
    /// Makes the secrets.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> io::Result<Self> {
        let mut cursors = [0; 32];
        fill_random(&mut cursors)?;
        Ok(Self { cursors })
    }
}

impl SharedSecrets for OwnSecrets {
    fn secret(&self, purpose: SecretPurpose) -> io::Result<[u8; 32]> {
        match purpose {
            SecretPurpose::Cursors => Ok(self.cursors),
        }
    }
}

impl fmt::Debug for OwnSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnSecrets(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_the_same_until_the_next_start_and_are_not_shown() {
        let (one, other) = (OwnSecrets::generate().unwrap(), OwnSecrets::generate().unwrap());
        let of = |secrets: &OwnSecrets| secrets.secret(SecretPurpose::Cursors).unwrap();
        assert_eq!(of(&one), of(&one));
        assert_ne!(of(&one), of(&other));
        assert_eq!(format!("{one:?}"), "OwnSecrets(..)");
    }
}
