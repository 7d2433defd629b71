//! Identifiers of runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{Digest, InvalidId};

/// Identifier of one run: `run_` and the 32 hexadecimal digits of a version 7 UUID, so that ids
/// sort by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    const PREFIX: &str = "run_";

    /// A new id that no other run has.
    #[must_use]
    pub fn generate() -> Self {
        Self(format!("{}{}", Self::PREFIX, uuid::Uuid::now_v7().simple()))
    }

    /// The id that a reproducible run with this seed sees. It names no record.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let digest = Digest::of(format!("wardian run {seed}").as_bytes()).to_string();
        Self(format!("{}{}", Self::PREFIX, digest.chars().take(32).collect::<String>()))
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// Anything but `run_` and 32 lowercase hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.strip_prefix(Self::PREFIX) {
            Some(rest) if rest.len() == 32 && rest.bytes().all(digit) => Ok(Self(text.to_owned())),
            _ => Err(InvalidId::new("run id", "must be `run_` and 32 hexadecimal digits")),
        }
    }

    /// The time at which the run was asked for, in milliseconds since the Unix epoch: an id begins
    /// with it. Lists are ordered by ids, so no other time of a run agrees with its place in a list.
    #[must_use]
    pub fn began_ms(&self) -> u64 {
        let digits = self.0.chars().skip(Self::PREFIX.len()).take(12);
        digits.fold(0, |time, digit| (time << 4) | u64::from(digit.to_digit(16).unwrap_or(0)))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

checked_text!(RunId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_are_unique_and_checked() {
        let (first, second) = (RunId::generate(), RunId::generate());
        assert_ne!(first, second);
        assert_eq!(RunId::parse(first.as_str()), Ok(first));
        assert!(RunId::parse("run_9f2a").is_err());
    }

    #[test]
    fn run_ids_begin_with_their_time() {
        let id = RunId::parse("run_01a20ab7bad175a398be742de262b929").unwrap();
        assert_eq!(id.began_ms(), 0x01a2_0ab7_bad1);
        let latest = RunId::parse(&format!("run_{}", "f".repeat(32))).unwrap();
        assert_eq!(latest.began_ms(), (1 << 48) - 1);
        let (first, second) = (RunId::generate(), RunId::generate());
        assert!(first < second && 0 < first.began_ms() && first.began_ms() <= second.began_ms());
    }
}
