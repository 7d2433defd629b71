//! Keys as texts: `wardian_<prefix>_<secret>`.

use std::fmt;
use std::io;

use data_encoding::BASE32_NOPAD;
use zeroize::Zeroizing;

use crate::tenants::error::InvalidKey;
use wardian_vocabulary::crypto::fill_random;
use wardian_vocabulary::ids::Digest;

/// The first word of every key, by which tools that search for leaked secrets know it.
const BRAND: &str = "wardian_";

/// Letters of a prefix: 40 random bits.
const PREFIX: usize = 8;

/// Letters of a secret: 256 random bits.
const SECRET: usize = 52;

/// Bytes of a key.
const LENGTH: usize = BRAND.len() + PREFIX + 1 + SECRET;

/// The public part of a key: names it in lists and logs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPrefix(String);

impl KeyPrefix {
    /// Reads a prefix. The whole key is accepted too, and its secret ignored.
    ///
    /// # Errors
    ///
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let letters = match text.strip_prefix(BRAND) {
            Some(rest) => rest.split('_').next().unwrap_or_default(),
            None => text,
        };
        if letters.len() == PREFIX && letters.bytes().all(is_letter) {
            Ok(Self(letters.to_owned()))
        } else {
            Err(InvalidKey::Prefix)
        }
    }

    /// The prefix as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A whole key. It is overwritten when dropped, and never printed by `Debug`.
pub struct ApiToken(Zeroizing<String>);

impl ApiToken {
    /// Makes a key that nobody can guess.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> io::Result<Self> {
        let prefix = letters(&*random::<5>()?);
        let secret = letters(&*random::<32>()?);
        Ok(Self(Zeroizing::new(format!("{BRAND}{}_{}", *prefix, *secret))))
    }

    /// The key as text, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The public part.
    pub fn prefix(&self) -> KeyPrefix {
        prefix_of(self.0.as_bytes()).unwrap_or_else(|| KeyPrefix(String::new()))
    }

    /// What is stored of the key.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiToken({})", self.prefix())
    }
}

/// The prefix of a text that has the form of a key. No other text is one.
pub(crate) fn prefix_of(presented: &[u8]) -> Option<KeyPrefix> {
    if presented.len() != LENGTH {
        return None;
    }
    let rest = presented.strip_prefix(BRAND.as_bytes())?;
    let (prefix, rest) = rest.split_at_checked(PREFIX)?;
    let secret = rest.strip_prefix(b"_")?;
    if !prefix.iter().chain(secret).copied().all(is_letter) {
        return None;
    }
    std::str::from_utf8(prefix).ok().map(|prefix| KeyPrefix(prefix.to_owned()))
}

/// The alphabet of base32, in lower case.
const fn is_letter(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'2'..=b'7')
}

fn letters(bytes: &[u8]) -> Zeroizing<String> {
    let mut letters = BASE32_NOPAD.encode(bytes);
    letters.make_ascii_lowercase();
    Zeroizing::new(letters)
}

fn random<const N: usize>() -> io::Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    fill_random(bytes.as_mut_slice())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::string_slice, reason = "keys are ASCII")]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn keys_differ_and_have_one_form() {
        let made: Vec<_> = (0..100).map(|_| ApiToken::generate().unwrap()).collect();
        let texts: BTreeSet<_> = made.iter().map(|key| key.reveal().to_owned()).collect();
        let prefixes: BTreeSet<_> = made.iter().map(ApiToken::prefix).collect();
        assert_eq!((texts.len(), prefixes.len()), (100, 100));
        for key in &made {
            let text = key.reveal();
            assert_eq!((text.len(), &text[..8], &text[16..17]), (69, "wardian_", "_"));
            assert_eq!(prefix_of(text.as_bytes()), Some(key.prefix()));
            assert!(!format!("{key:?}").contains(&text[17..]), "it was printed");
        }
    }

    #[test]
    fn only_the_form_of_a_key_is_a_key() {
        let key = ApiToken::generate().unwrap();
        let text = key.reveal();
        let secret = &text[17..];
        for wrong in [
            String::new(),
            text[..68].to_owned(),
            format!("{text}a"),
            format!("{text} "),
            text.to_uppercase(),
            text.replace("wardian_", "guardian_"),
            text.replace('_', "-"),
            format!("wardian_abcdefg0_{secret}"),
            format!("wardian_abcdefgh_{}\0", &secret[1..]),
            format!("wardian_abcdefgh_{}é", &secret[2..]),
        ] {
            assert_eq!(prefix_of(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_prefix_may_be_given_alone_or_within_its_key() {
        let key = ApiToken::generate().unwrap();
        for text in [key.reveal(), key.prefix().as_str(), &key.reveal()[..16]] {
            assert_eq!(KeyPrefix::parse(text), Ok(key.prefix()), "{text}");
        }
        for wrong in ["", "abc", "ABCDEFGH", "abcdefg1", "abcdefgh2", "wardian_", "x'; DROP TABLE"]
        {
            assert!(KeyPrefix::parse(wrong).is_err(), "{wrong}");
        }
    }
}
