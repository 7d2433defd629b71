//! Tokens that were verified before: a caller sends the same token with each call, and the check of
//! a signature takes 20 µs (RS256) to 7 ms (ES384).

use std::collections::HashMap;

use crate::tenants::caller::CallerIdentity;
use crate::tenants::jwt::stamp::TokenStamp;
use wardian_vocabulary::ids::Digest;

/// Tokens of one generation.
const GENERATION: usize = 2_048;

/// A token that was verified.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedToken {
    pub identity: CallerIdentity,
    pub stamp: TokenStamp,
}

/// The tokens that were verified last, by their SHA-256, in two generations: when the younger is
/// full, it becomes the older, and those that were not used for so long are forgotten.
#[derive(Debug, Default)]
pub(crate) struct VerifiedTokens {
    younger: HashMap<Digest, VerifiedToken>,
    older: HashMap<Digest, VerifiedToken>,
}

impl VerifiedTokens {
    pub(super) fn find(&mut self, token: &Digest) -> Option<VerifiedToken> {
        if let Some(found) = self.younger.get(token) {
            return Some(found.clone());
        }
        let found = self.older.remove(token)?;
        self.insert(*token, found.clone());
        Some(found)
    }

    pub(super) fn insert(&mut self, token: Digest, verified: VerifiedToken) {
        if self.younger.len() >= GENERATION {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(token, verified);
    }

    pub(super) fn remove(&mut self, token: &Digest) {
        self.younger.remove(token);
        self.older.remove(token);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn verified_tokens_are_bounded_and_those_in_use_stay() {
        let token = |number: usize| Digest::of(&number.to_be_bytes());
        let stamp =
            TokenStamp { name: "token".into(), signer: token(0), ends: Duration::from_secs(1) };
        let verified = VerifiedToken { identity: CallerIdentity::local(), stamp };
        let mut tokens = VerifiedTokens::default();
        tokens.insert(token(0), verified.clone());
        for number in 1..20_000 {
            tokens.insert(token(number), verified.clone());
            assert!(tokens.find(&token(0)).is_some(), "{number}");
            assert!(tokens.younger.len() + tokens.older.len() <= 2 * GENERATION);
        }
        assert!(tokens.find(&token(1)).is_none());
        tokens.remove(&token(0));
        assert!(tokens.find(&token(0)).is_none());
    }
}
