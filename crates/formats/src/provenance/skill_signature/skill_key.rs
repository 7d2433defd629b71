//! Keys that verify signatures of skills: Ed25519, and ECDSA on the curve P-256, which cosign makes.

use data_encoding::BASE64;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use crate::provenance::ed25519_keys::{PublicKey, der_in};
use crate::provenance::fault::ProvenanceError;
use wardian_vocabulary::ids::Digest;

/// How the text of an Ed25519 key begins; its 32 bytes follow in Base64.
const INLINE: &str = "ed25519:";

/// The beginning of every public key of P-256 in DER; the point follows, uncompressed.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 3, 1, 7, 3, 0x42, 0,
];

/// A public key that verifies signatures of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillKey {
    /// Of Ed25519.
    Ed25519(PublicKey),
    /// Of ECDSA with P-256 and SHA-256: the 65 bytes of its point.
    P256(Vec<u8>),
}

impl SkillKey {
    /// True for a text that [`Self::parse`] reads; others are paths of PEM files.
    #[must_use]
    pub fn is_inline(text: &str) -> bool {
        text.starts_with(INLINE)
    }

    /// Reads `ed25519:` and the 32 bytes of a key in Base64.
    ///
    /// # Errors
    ///
    /// The text is not a key in one of these forms, or the key is a weak one that any signature fits.
    pub fn parse(text: &str) -> Result<Self, ProvenanceError> {
        let bytes = text.strip_prefix(INLINE).map(str::as_bytes).map(|text| BASE64.decode(text));
        let Some(Ok(bytes)) = bytes else {
            let wanted = "it must be `ed25519:` and the 32 bytes of the key in Base64";
            return Err(ProvenanceError::Key(wanted));
        };
        PublicKey::of_bytes(&bytes).map(Self::Ed25519)
    }

    /// Reads a PEM file with a public key, as `openssl` and `cosign` write it.
    ///
    /// # Errors
    ///
    /// It is not such a file, or a key of another kind.
    pub fn read(pem: &str) -> Result<Self, ProvenanceError> {
        let der = der_in(pem, "PUBLIC KEY", "it must be a PEM file with one `PUBLIC KEY`")?;
        let point = der.strip_prefix(&P256_PREFIX);
        match point.filter(|point| point.len() == 65 && point.first() == Some(&4)) {
            Some(point) => Ok(Self::P256(point.to_vec())),
            None => match PublicKey::read(pem) {
                Ok(key) => Ok(Self::Ed25519(key)),
                Err(ProvenanceError::Key("it is not an Ed25519 public key")) => {
                    let wanted = "it is neither a public key of Ed25519 nor one of ECDSA P-256";
                    Err(ProvenanceError::Key(wanted))
                }
                Err(other) => Err(other),
            },
        }
    }

    /// Names the key: SHA-256 of its DER.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Ed25519(key) => key.id(),
            Self::P256(point) => {
                Digest::of(&[&P256_PREFIX[..], point.as_slice()].concat()).to_string()
            }
        }
    }

    /// The key as logs and records name it: an Ed25519 key as [`Self::parse`] reads it, and another one by its
    /// kind and its id.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Ed25519(key) => format!("{INLINE}{}", BASE64.encode(key.as_bytes())),
            Self::P256(_) => format!("ecdsa-p256:{}", self.id()),
        }
    }

    pub(super) fn is_signature(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => key.is_signature(bytes, signature),
            Self::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point)
                .verify(bytes, signature)
                .is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that `openssl ecparam -name prime256v1` made, and its signature of `hello`.
    const P256: &str = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEmGojh9FhTLo5ldUsymeWyXMESfME\n\
        mhxSney7jxuLprrarQOETVE3/L85rmAwzaGily7vHlWh9tzmVgHpZS1VKA==\n\
        -----END PUBLIC KEY-----\n";
    const SIGNATURE: &str = "MEUCIQCP1u2q3p/x86dEzyYkY2Q1nEKSxKlvKOYYVm5TQR1VaQIgVmaKx4k3CNd1nVTOe+MPI0YJ+H5GHqzgqvq39F3rtz0=";

    #[test]
    fn keys_of_both_kinds_are_read_and_verify() {
        let key = SkillKey::read(P256).unwrap();
        let signature = BASE64.decode(SIGNATURE.as_bytes()).unwrap();
        assert!(key.is_signature(b"hello", &signature));
        assert!(!key.is_signature(b"hallo", &signature) && !key.is_signature(b"hello", b"x"));
        assert!(key.label().starts_with("ecdsa-p256:"), "{}", key.label());
        let inline = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        let key = SkillKey::parse(inline).unwrap();
        assert_eq!(key.label(), inline);
        let pem = "-----BEGIN PUBLIC KEY-----\n\
            MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
            -----END PUBLIC KEY-----\n";
        assert_eq!(SkillKey::read(pem).unwrap(), key);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "ed25519:", "ed25519:AAAA", "ed25519:é", "11qYAYKx", "/a/key.pem"] {
            assert!(SkillKey::parse(text).is_err(), "{text}");
        }
        // The neutral element: every signature fits it.
        let neutral = "ed25519:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        assert!(SkillKey::parse(neutral).is_err());
        let cut = P256.replace("MFkw", "MFow");
        for pem in ["", "x", &cut, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"] {
            assert!(SkillKey::read(pem).is_err(), "{pem}");
        }
    }
}
