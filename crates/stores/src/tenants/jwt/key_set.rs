//! The public keys of an identity provider (JWKS, RFC 7517), and the check of a signature.

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tenants::jwt::algorithm::TokenAlgorithm;
use crate::tenants::jwt::members::{members, read};
use wardian_vocabulary::crypto::has_small_order;
use wardian_vocabulary::ids::Digest;

/// Largest set, in bytes.
pub(crate) const MAX_SET: usize = 256 << 10;

/// Most keys of a set.
const MAX_KEYS: usize = 100;

/// The sizes of RSA keys, in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;

/// Why a set of keys cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeySetFault {
    /// Too many bytes.
    #[error("it has more than 256 KiB")]
    TooLarge,
    /// Not JSON of the right form.
    #[error("it is not a JSON Web Key Set: an object with a list `keys`")]
    Form,
    /// Too many keys.
    #[error("it has more than 100 keys")]
    TooMany,
    /// None of the keys can check a signature.
    #[error("it has no usable key{}", reasons(.0))]
    Unusable(Vec<String>),
}

fn reasons(unused: &[String]) -> String {
    let shown: Vec<&str> = unused.iter().take(5).map(String::as_str).collect();
    if shown.is_empty() { String::new() } else { format!(": {}", shown.join("; ")) }
}

/// The keys of a provider.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: Vec<ProviderKey>,
    /// The keys that are not used, with the reason.
    pub unused: Vec<String>,
}

/// One key.
#[derive(Debug)]
pub struct ProviderKey {
    key_id: Option<String>,
    /// The only algorithm that it is for, if the provider says so.
    algorithm: Option<TokenAlgorithm>,
    material: Material,
    /// Identifies the key with its id and its algorithm.
    pub digest: Digest,
}

#[derive(Debug)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as it is written.
#[derive(Deserialize)]
struct WrittenKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    /// The private part.
    d: Option<serde::de::IgnoredAny>,
}

impl KeySet {
    /// Reads a set. Keys that cannot be used are left out.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, KeySetFault> {
        if bytes.len() > MAX_SET {
            return Err(KeySetFault::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_wrong| KeySetFault::Form)?;
        let found = members(text, &["keys"]).map_err(|_no_object| KeySetFault::Form)?;
        let keys = found.into_iter().next().flatten().ok_or(KeySetFault::Form)?;
        let written: Vec<&RawValue> =
            serde_json::from_str(keys.get()).map_err(|_no_list| KeySetFault::Form)?;
        if written.len() > MAX_KEYS {
            return Err(KeySetFault::TooMany);
        }
        let mut set = Self::default();
        for (at, key) in written.into_iter().enumerate() {
            match ProviderKey::read(key) {
                Ok(key) if set.has_same_name(&key) => {
                    set.unused.push(format!(
                        "{}: its `kid` is a duplicate",
                        shown(at, key.key_id.as_deref())
                    ));
                }
                Ok(key) => set.keys.push(key),
                Err((id, reason)) => {
                    set.unused.push(format!("{}: {reason}", shown(at, id.as_deref())));
                }
            }
        }
        if set.keys.is_empty() { Err(KeySetFault::Unusable(set.unused)) } else { Ok(set) }
    }

    /// True if a token could not say which of two keys it means.
    fn has_same_name(&self, key: &ProviderKey) -> bool {
        let is_same = |other: &ProviderKey| {
            other.key_id == key.key_id
                && TokenAlgorithm::ALL.iter().any(|one| other.is_for(*one) && key.is_for(*one))
        };
        key.key_id.is_some() && self.keys.iter().any(is_same)
    }

    /// The key with this id, for this algorithm. Without an id, the only key for the algorithm.
    pub fn find(&self, key_id: Option<&str>, algorithm: TokenAlgorithm) -> Option<&ProviderKey> {
        let mut fit = self.keys.iter().filter(|key| key.is_for(algorithm));
        match key_id {
            Some(id) => fit.find(|key| key.key_id.as_deref() == Some(id)),
            None => fit.next().filter(|_| fit.next().is_none()),
        }
    }

    /// Any key for this algorithm: what checks a signature of an unknown key takes as long.
    pub fn any(&self, algorithm: TokenAlgorithm) -> Option<&ProviderKey> {
        self.keys.iter().find(|key| key.is_for(algorithm))
    }

    /// True if the set has this key.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.keys.iter().any(|key| key.digest == *digest)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// The name of a key in the log.
fn shown(at: usize, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("key `{}`", id.chars().take(40).collect::<String>().escape_debug()),
        None => format!("key {}", at.saturating_add(1)),
    }
}

impl ProviderKey {
    /// The error is the id of the key, and the reason why it cannot be used.
    fn read(raw: &RawValue) -> Result<Self, (Option<String>, &'static str)> {
        let written: WrittenKey = read(raw).map_err(|_wrong| (None, "it is not a JSON Web Key"))?;
        let wrong = |reason| Err((written.kid.clone(), reason));
        if written.d.is_some() {
            return wrong("it contains a private key, which must not be published");
        }
        if written.purpose.as_ref().is_some_and(|purpose| purpose != "sig") {
            return wrong("it is not for signatures");
        }
        if written.key_ops.as_ref().is_some_and(|all| !all.iter().any(|one| one == "verify")) {
            return wrong("it is not for verifying signatures");
        }
        let algorithm = match written.alg.as_deref().map(TokenAlgorithm::parse) {
            Some(None) => return wrong("its algorithm is not supported"),
            Some(algorithm) => algorithm,
            None => None,
        };
        let material = match Material::read(&written) {
            Ok(material) => material,
            Err(reason) => return wrong(reason),
        };
        if algorithm.is_some_and(|algorithm| !material.fits(algorithm)) {
            return wrong("its algorithm is not for keys of its type");
        }
        let digest = material.digest(written.kid.as_deref(), algorithm);
        Ok(Self { key_id: written.kid, algorithm, material, digest })
    }

    fn is_for(&self, algorithm: TokenAlgorithm) -> bool {
        self.algorithm.is_none_or(|only| only == algorithm) && self.material.fits(algorithm)
    }

    /// True if the key has signed `message`.
    pub(crate) fn has_signed(
        &self,
        algorithm: TokenAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let checked = match (&self.material, rsa_parameters(algorithm)) {
            (Material::Rsa { modulus, exponent }, Some(parameters)) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, message, signature)
            }
            (Material::P256(point), None) if algorithm == TokenAlgorithm::Es256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Material::P384(point), None) if algorithm == TokenAlgorithm::Es384 => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            (Material::Ed25519(key), None) if algorithm == TokenAlgorithm::EdDsa => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            _ => return false,
        };
        checked.is_ok()
    }
}

const fn rsa_parameters(algorithm: TokenAlgorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        TokenAlgorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        TokenAlgorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        TokenAlgorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        TokenAlgorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        TokenAlgorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        TokenAlgorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        TokenAlgorithm::Es256 | TokenAlgorithm::Es384 | TokenAlgorithm::EdDsa => return None,
    })
}

impl Material {
    fn read(written: &WrittenKey) -> Result<Self, &'static str> {
        let curve = written.crv.as_deref().unwrap_or_default();
        match (written.kty.as_str(), curve) {
            ("RSA", _) => rsa(written),
            ("EC", "P-256") => point(written, 32).map(Self::P256),
            ("EC", "P-384") => point(written, 48).map(Self::P384),
            ("OKP", "Ed25519") => {
                let key = number(written.x.as_deref()).filter(|key| key.len() == 32);
                let key = key.ok_or("its `x` is not 32 bytes in base64url")?;
                match key.first_chunk().is_some_and(has_small_order) {
                    true => Err("every signature is valid for it: its point has a small order"),
                    false => Ok(Self::Ed25519(key)),
                }
            }
            ("EC" | "OKP", _) => Err("its curve is not supported"),
            ("oct", _) => Err("it is symmetric: anyone who can verify its signatures can forge \
                them"),
            _ => Err("its type is not supported"),
        }
    }

    const fn fits(&self, algorithm: TokenAlgorithm) -> bool {
        use TokenAlgorithm as One;
        matches!(
            (self, algorithm),
            (
                Self::Rsa { .. },
                One::Rs256 | One::Rs384 | One::Rs512 | One::Ps256 | One::Ps384 | One::Ps512
            ) | (Self::P256(_), One::Es256)
                | (Self::P384(_), One::Es384)
                | (Self::Ed25519(_), One::EdDsa)
        )
    }

    fn digest(&self, key_id: Option<&str>, algorithm: Option<TokenAlgorithm>) -> Digest {
        let (sort, parts): (&[u8], [&[u8]; 2]) = match self {
            Self::Rsa { modulus, exponent } => (b"rsa", [modulus, exponent]),
            Self::P256(point) => (b"p256", [point, b""]),
            Self::P384(point) => (b"p384", [point, b""]),
            Self::Ed25519(key) => (b"ed25519", [key, b""]),
        };
        let algorithm = algorithm.map_or("", TokenAlgorithm::name);
        let has_id = [u8::from(key_id.is_some())];
        let id = key_id.unwrap_or_default();
        let all = [sort, parts[0], parts[1], &has_id, id.as_bytes(), algorithm.as_bytes()];
        let mut text = Vec::new();
        for part in all {
            text.extend_from_slice(&part.len().to_be_bytes());
            text.extend_from_slice(part);
        }
        Digest::of(&text)
    }
}

fn rsa(written: &WrittenKey) -> Result<Material, &'static str> {
    let (modulus, exponent) = (plain(written.n.as_deref()), plain(written.e.as_deref()));
    let (Some(modulus), Some(exponent)) = (modulus, exponent) else {
        return Err("its `n` and `e` are not numbers in base64url");
    };
    let zeros = modulus.first().map_or(0, |first| first.leading_zeros());
    let zeros = usize::try_from(zeros).unwrap_or_default();
    let bits = modulus.len().saturating_mul(8).saturating_sub(zeros);
    if bits < *RSA_BITS.start() {
        return Err("it is too weak: an RSA key needs at least 2048 bits");
    }
    if bits > *RSA_BITS.end() {
        return Err("it is too large: an RSA key may have at most 8192 bits");
    }
    let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
    if exponent.len() > 4 || exponent == [1] || !is_odd(&exponent) || !is_odd(&modulus) {
        return Err("its `n` and `e` are not an RSA key");
    }
    if is_roca(&modulus) {
        return Err("its private key can be computed: a faulty chip generated it (CVE-2017-15361)");
    }
    Ok(Material::Rsa { modulus, exponent })
}

/// True if a modulus has the form of those that a widely used library for chips made: a power of
/// 65537 to each of the first primes. Other moduli have it once in 2^154.
fn is_roca(modulus: &[u8]) -> bool {
    const PRIMES: [u32; 38] = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89,
        97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ];
    PRIMES.iter().all(|prime| {
        let rest = modulus.iter().fold(0, |rest, byte| (rest * 256 + u32::from(*byte)) % prime);
        let powers = std::iter::successors(Some(1), |power| Some(power * 65_537 % prime));
        powers.take(167).any(|power| power == rest)
    })
}

/// A point of a curve, uncompressed.
fn point(written: &WrittenKey, length: usize) -> Result<Vec<u8>, &'static str> {
    let coordinates = [written.x.as_deref(), written.y.as_deref()].map(number);
    let mut point = vec![4];
    for coordinate in coordinates {
        let coordinate = coordinate.filter(|bytes| bytes.len() == length);
        point.extend(coordinate.ok_or("its `x` and `y` are not a point on its curve")?);
    }
    Ok(point)
}

/// A number without the zeros that some writers put before it.
fn plain(text: Option<&str>) -> Option<Vec<u8>> {
    let number = number(text)?;
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).filter(|rest| !rest.is_empty()).map(<[u8]>::to_vec)
}

/// The bytes of a text in base64url.
fn number(text: Option<&str>) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text?.as_bytes()).ok().filter(|bytes| !bytes.is_empty())
}
