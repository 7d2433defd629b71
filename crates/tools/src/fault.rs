//! Why a server of tools gave no usable answer, whatever tool was called.

use wardian_egress::error::{NetworkError, errno};
use wardian_stores::secrets::SecretsError;
use wardian_vocabulary::budget::BudgetExhausted;

/// Longest text of a server that a message repeats, in characters.
const MAX_TOLD: usize = 300;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It took too long.
    Late,
    /// The answer is larger than its bound.
    TooLarge,
    /// The gateway has no memory for the answer now.
    Memory,
    /// A secret of its credentials cannot be used.
    Credentials(SecretsError),
    /// The arguments cannot be sent. The text is the end of a sentence about them.
    Arguments(String),
    /// There is no connection. The text is for the operator.
    Unreachable(String),
    /// It does not keep to its protocol. The text is for the caller.
    Broken(String),
    /// It has forgotten the session of its protocol: nothing was executed.
    SessionLost,
    /// It refuses the request, with a code of JSON-RPC.
    Refused {
        /// The code.
        code: i64,
        /// Its words.
        message: String,
    },
}

impl Fault {
    /// A break of the protocol.
    pub(crate) fn broken(text: impl Into<String>) -> Self {
        Self::Broken(text.into())
    }
}

impl From<NetworkError> for Fault {
    fn from(error: NetworkError) -> Self {
        match error.errno() {
            errno::EDQUOT => Self::TooLarge,
            errno::ETIMEDOUT => Self::Late,
            _ => Self::Unreachable(error.text().to_owned()),
        }
    }
}

impl From<BudgetExhausted> for Fault {
    fn from(_: BudgetExhausted) -> Self {
        Self::Memory
    }
}

/// What a server says, for a message: short, and without signs that a terminal obeys.
pub(crate) fn told(text: &str) -> String {
    let mut told: String = text.chars().take(MAX_TOLD).flat_map(plain).collect();
    if text.chars().nth(MAX_TOLD).is_some() {
        told.push_str("...");
    }
    told
}

fn plain(letter: char) -> Option<char> {
    match letter {
        '\n' | '\r' | '\t' => Some(' '),
        letter if letter.is_control() => None,
        letter => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_are_short_and_plain() {
        assert_eq!(told("no\nsuch \u{1b}[31mtool"), "no such [31mtool");
        assert_eq!(told(&"é".repeat(MAX_TOLD + 1)), format!("{}...", "é".repeat(MAX_TOLD)));
    }
}
