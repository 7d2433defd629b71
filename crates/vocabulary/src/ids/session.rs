//! Identifiers of sessions and of their checkpoints.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};

use crate::ids::{Digest, InvalidId};

/// Identifier of a session: `ses_` and the lowercase base32 of 128 random bits (26 letters), so that
/// nobody guesses one.
///
/// INVARIANT(safe-session-id): only `a-z2-7` after the prefix, so it is safe in a path. Each session
/// has one text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    const PREFIX: &str = "ses_";

    /// The id with these bits, which must be random.
    #[must_use]
    pub fn of_random(bits: &[u8; 16]) -> Self {
        let letters = BASE32_NOPAD.encode(bits).to_ascii_lowercase();
        Self(format!("{}{letters}", Self::PREFIX))
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// Anything but `ses_` and 26 lowercase letters that decode to 16 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid =
            || InvalidId::new("session id", "must be `ses_` and 26 letters, as the server made it");
        let letters = text.strip_prefix(Self::PREFIX).ok_or_else(invalid)?;
        if letters.len() != 26 || letters.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(invalid());
        }
        let upper = letters.to_ascii_uppercase();
        BASE32_NOPAD.decode(upper.as_bytes()).ok().ok_or_else(invalid)?;
        Ok(Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

checked_text!(SessionId);

/// Identifier of a checkpoint in its session, such as `c3-9f2a61b0c4d5e6f7`: the number of the cell
/// that it follows, and the first 16 digits of a digest.
///
/// A session numbers its cells once, so no two of its checkpoints have one id.
///
/// INVARIANT(safe-checkpoint-id): only `c`, `-`, and lowercase hexadecimal digits, so it is safe in a
/// path. Each checkpoint has one text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckpointId {
    cell: u32,
    text: String,
}

impl CheckpointId {
    /// Digits of the digest.
    const DIGITS: usize = 16;

    /// The checkpoint after cell number `cell`, counted from 1, whose pack has this digest.
    #[must_use]
    pub fn new(cell: u32, digest: &Digest) -> Self {
        let digits: String = digest.to_string().chars().take(Self::DIGITS).collect();
        Self { cell, text: format!("c{cell}-{digits}") }
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// Anything but `c`, a number from 1 to 4,294,967,295 without leading zeros, `-`, and 16 lowercase
    /// hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid = || {
            let problem =
                "must be like `c3-9f2a61b0c4d5e6f7`, as a cell of the session returned it";
            InvalidId::new("checkpoint id", problem)
        };
        let (number, digits) =
            text.strip_prefix('c').and_then(|rest| rest.split_once('-')).ok_or_else(invalid)?;
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let cell: u32 = number.parse().ok().ok_or_else(invalid)?;
        // The parser takes a sign and leading zeros.
        let is_plain = number.bytes().next().is_some_and(|first| matches!(first, b'1'..=b'9'));
        if !is_plain || digits.len() != Self::DIGITS || !digits.bytes().all(digit) {
            return Err(invalid());
        }
        Ok(Self { cell, text: text.to_owned() })
    }

    /// The number of the cell that it follows, from 1 on.
    #[must_use]
    pub const fn cell(&self) -> u32 {
        self.cell
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

checked_text!(CheckpointId);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn safe_session_id_is_exactly_what_was_issued() {
        let id = SessionId::of_random(&[0xa5; 16]);
        assert_eq!(id.as_str().len(), 30);
        assert_eq!(SessionId::parse(id.as_str()), Ok(id.clone()));
        let letters = id.as_str().strip_prefix("ses_").unwrap();
        // The last letter has two bits that no id uses.
        let other_bits = id.as_str().replace(|c| c == letters.chars().last().unwrap(), "7");
        for text in [
            "",
            "ses_",
            "ses_../../../../../../../../..",
            letters,
            &id.as_str().to_uppercase(),
            &format!("ses_{}", letters.to_uppercase()),
            &format!("{id}a"),
            &format!("{id}\n"),
            &format!(" {id}"),
            &format!("ses_{id}"),
            &format!("ses_{}", "1".repeat(26)),
            &format!("ses_{}", "é".repeat(13)),
            &other_bits,
        ] {
            assert!(SessionId::parse(text).is_err(), "accepted {text:?}");
        }
    }

    #[test]
    fn safe_checkpoint_id_is_exactly_what_was_issued() {
        let id = CheckpointId::new(3, &Digest::of(b"x"));
        assert_eq!(id.as_str(), "c3-2d711642b726b044");
        assert_eq!((CheckpointId::parse(id.as_str()), id.cell()), (Ok(id.clone()), 3));
        assert!(CheckpointId::parse("c4294967295-2d711642b726b044").is_ok());
        for text in [
            "",
            "c",
            "c3",
            "c3-",
            "3-2d711642b726b044",
            "c-2d711642b726b044",
            "c0-2d711642b726b044",
            "c03-2d711642b726b044",
            "c+3-2d711642b726b044",
            "c-3-2d711642b726b044",
            "c3 -2d711642b726b044",
            "c4294967296-2d711642b726b044",
            "c3-2D711642B726B044",
            "c3-2d711642b726b04",
            "c3-2d711642b726b0444",
            "c3-2d711642b726b04g",
            "c3-../../../../etc/",
            "C3-2d711642b726b044",
            "c3-2d711642b726b044\n",
            "c٣-2d711642b726b044",
        ] {
            assert!(CheckpointId::parse(text).is_err(), "accepted {text:?}");
        }
    }

    proptest! {
        #[test]
        fn ids_are_read_back(bits in any::<[u8; 16]>(), cell in 1_u32.., content in any::<[u8; 4]>()) {
            let session = SessionId::of_random(&bits);
            prop_assert_eq!(SessionId::parse(session.as_str()), Ok(session));
            let checkpoint = CheckpointId::new(cell, &Digest::of(&content));
            prop_assert_eq!(CheckpointId::parse(checkpoint.as_str()), Ok(checkpoint));
        }

        #[test]
        fn an_accepted_session_id_is_its_own_text(text in "ses_[a-z2-7]{26}") {
            let bits = BASE32_NOPAD.decode(text.strip_prefix("ses_").unwrap().to_ascii_uppercase().as_bytes());
            let issued = bits.ok().map(|bits| SessionId::of_random(&bits.try_into().unwrap()));
            prop_assert_eq!(SessionId::parse(&text).ok(), issued);
        }

        #[test]
        fn an_accepted_checkpoint_id_is_its_own_text(text in "c[0-9]{1,11}-[0-9a-f]{15,17}") {
            if let Ok(id) = CheckpointId::parse(&text) {
                let (number, digits) = text.trim_start_matches('c').split_once('-').unwrap();
                prop_assert_eq!(format!("c{}-{digits}", id.cell()), text.clone());
                prop_assert_eq!((id.as_str(), number), (text.as_str(), &*id.cell().to_string()));
            }
        }
    }
}
