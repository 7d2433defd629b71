//! Which server has a run in progress.

use std::fmt;

use uuid::Uuid;

/// The name of a server, the same in each of its lives. It is kept in the server's data folder, whose
/// lock tells that no former life goes on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(String);

impl ServerId {
    /// What every id begins with.
    const PREFIX: &'static str = "srv_";

    /// Hexadecimal digits of an id.
    const DIGITS: usize = 32;

    /// An id that no other server has.
    #[must_use]
    pub fn generate() -> Self {
        Self(format!("{}{}", Self::PREFIX, Uuid::now_v7().simple()))
    }

    /// Checks `text`: `srv_` and 32 hexadecimal digits in lower case. `None` if it is no such id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?;
        let is_digit = |letter: u8| matches!(letter, b'0'..=b'9' | b'a'..=b'f');
        let is_id = digits.len() == Self::DIGITS && digits.bytes().all(is_digit);
        is_id.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A server in one of its epochs. A run that was noted for an earlier epoch is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHolder {
    /// The server.
    pub server: ServerId,
    /// Counts its starts, and the times at which others took its runs over; from 1 on.
    pub epoch: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_and_nothing_else_is() {
        let id = ServerId::generate();
        assert_eq!(ServerId::parse(id.as_str()), Some(id.clone()));
        assert_ne!(id, ServerId::generate());
        let text = id.as_str();
        let without = text.trim_start_matches('s');
        for wrong in ["", "srv_", without, &format!("{text}0"), &text.to_uppercase()] {
            assert_eq!(ServerId::parse(wrong), None, "{wrong}");
        }
    }
}
