//! Keys of Ed25519 in PEM files, as `openssl` makes them, and their signatures.

use std::fmt;

use data_encoding::BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use zeroize::Zeroizing;

use crate::provenance::fault::ProvenanceError;
use wardian_vocabulary::crypto::has_small_order;
use wardian_vocabulary::ids::Digest;

/// The beginning of every public key of Ed25519 in DER; the 32 bytes of the key follow.
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// A key that signs.
pub struct PrivateKey(Ed25519KeyPair);

/// Shows no key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey")
    }
}

/// A key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl PrivateKey {
    /// Reads a PEM file with a private key in the form of PKCS #8.
    ///
    /// # Errors
    ///
    /// It is not such a file, encrypted, or a key of another kind.
    pub fn read(pem: &str) -> Result<Self, ProvenanceError> {
        let wanted = "it must be a PEM file with one unencrypted `PRIVATE KEY` in PKCS #8 form";
        let der = Zeroizing::new(der_in(pem, "PRIVATE KEY", wanted)?);
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok();
        pair.map(Self).ok_or(ProvenanceError::Key("it is not an Ed25519 private key"))
    }

    /// The key that verifies its signatures.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().to_vec())
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}

impl PublicKey {
    /// Reads a PEM file with a public key.
    ///
    /// # Errors
    ///
    /// It is not such a file, or a key of another kind.
    pub fn read(pem: &str) -> Result<Self, ProvenanceError> {
        let wanted = "it must be a PEM file with one `PUBLIC KEY`";
        let der = der_in(pem, "PUBLIC KEY", wanted)?;
        let key = der.strip_prefix(&PUBLIC_PREFIX).filter(|key| key.len() == 32);
        Self::of_bytes(key.unwrap_or_default())
    }

    /// The key of these 32 bytes.
    ///
    /// # Errors
    ///
    /// They are more or fewer, or every signature would be valid for the key.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, ProvenanceError> {
        let key = bytes.first_chunk::<32>().filter(|_| bytes.len() == 32);
        let key = key.ok_or(ProvenanceError::Key("it is not an Ed25519 public key"))?;
        if has_small_order(key) {
            let text = "every signature is valid for it: it was crafted to deceive, so ask for \
                another one";
            return Err(ProvenanceError::Key(text));
        }
        Ok(Self(key.to_vec()))
    }

    /// The 32 bytes of the key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Names the key: SHA-256 of its DER.
    #[must_use]
    pub fn id(&self) -> String {
        Digest::of(&[&PUBLIC_PREFIX[..], &self.0].concat()).to_string()
    }

    pub(crate) fn is_signature(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(bytes, signature).is_ok()
    }
}

/// The bytes in the only block of a PEM file.
pub(in crate::provenance) fn der_in(
    pem: &str,
    label: &str,
    wanted: &'static str,
) -> Result<Vec<u8>, ProvenanceError> {
    let (first, last) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let block = pem.trim().strip_prefix(&first).and_then(|rest| rest.strip_suffix(&last));
    let letters: Option<Zeroizing<String>> = block.map(|block| {
        Zeroizing::new(block.chars().filter(|letter| !letter.is_ascii_whitespace()).collect())
    });
    let der = letters.and_then(|letters| BASE64.decode(letters.as_bytes()).ok());
    der.ok_or(ProvenanceError::Key(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and the signature of section 7.1 of RFC 8032, test 1, as `openssl` writes the key.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/Vpgus7wuMEvPFiTwOcyfpmsY9/qHgHG3jt8\n\
        -----END PRIVATE KEY-----\n";

    fn key() -> PrivateKey {
        // The seed of the RFC, in the form of PKCS #8.
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let head = "302e020100300506032b657004220420";
        let der = data_encoding::HEXLOWER.decode(format!("{head}{seed}").as_bytes()).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            BASE64.encode(&der)
        );
        PrivateKey::read(&pem).unwrap()
    }

    #[test]
    fn signatures_are_those_of_the_rfc() {
        let key = key();
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(data_encoding::HEXLOWER.encode(&key.public().0), public);
        let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
            5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        assert_eq!(data_encoding::HEXLOWER.encode(&key.sign(b"")), signature);
        assert!(key.public().is_signature(b"", &key.sign(b"")));
        assert!(!key.public().is_signature(b"x", &key.sign(b"")));
    }

    #[test]
    fn keys_that_every_signature_fits_are_refused() {
        let mut keys: Vec<[u8; 32]> = Vec::new();
        for text in [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ] {
            let key = data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap();
            keys.push(key.try_into().unwrap());
        }
        for mut key in keys {
            for sign in [0, 0x80] {
                key[31] = key[31] & 0x7f | sign;
                let der = BASE64.encode(&[&PUBLIC_PREFIX[..], &key].concat());
                let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
                let refused = PublicKey::read(&pem).unwrap_err().to_string();
                assert!(refused.contains("every signature is valid for it"), "{key:?}: {refused}");
            }
        }
        // The neutral element, and the signature that fits every message: the reason for this check.
        let neutral = PublicKey([&[1][..], &[0; 31]].concat());
        let forged = [&[1][..], &[0; 63]].concat();
        assert!(neutral.is_signature(b"any", &forged) && neutral.is_signature(b"other", &forged));
    }

    #[test]
    fn files_that_are_no_keys_are_refused() {
        assert!(PrivateKey::read(PRIVATE).is_ok());
        for pem in [
            "",
            "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----",
            &PRIVATE.replace("PRIVATE", "ENCRYPTED PRIVATE"),
            &PRIVATE.replace("PRIVATE", "PUBLIC"),
            &format!("{PRIVATE}{PRIVATE}"),
        ] {
            assert!(PrivateKey::read(pem).is_err(), "{pem}");
        }
        assert!(PublicKey::read(PRIVATE).is_err());
        let other = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n\
            -----END PUBLIC KEY-----";
        let refused = PublicKey::read(other).unwrap_err().to_string();
        assert!(refused.contains("not an Ed25519 public key"), "{refused}");
    }
}
