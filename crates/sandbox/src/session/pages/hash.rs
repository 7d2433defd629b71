//! A hash of 128 bits for a page, fast enough to hash all changed pages after every turn.
//!
//! It finds pages that have changed, and tells whether two states are the same. Two sums of products
//! (the hash NH of UMAC), each under keys of its own, are reduced modulo a prime. For random keys, two
//! different pages have the same hash with a probability below 2^-120. The keys are fixed, so that a
//! hash means the same in every process, and follow from SHA-256 of a text. A program that computes
//! with them can give two of its pages one hash, and so makes its own state wrong and no other's.
//!
//! SHA-256 of a page takes 2 to 10 µs, depending on the processor, and this hash some 0.2 µs.

use std::fmt;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use crate::memory::{PAGE, PageBytes};

/// The hash of one page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageHash([u8; 16]);

impl fmt::Debug for PageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Two words of a page, or of the keys for them.
type Pair = [u64; 2];

/// Pairs of words in a page.
const PAIRS: usize = PAGE / size_of::<Pair>();

/// Keys of one reduction: one for each 32 bits of a sum.
const PIECES: usize = 4;

/// The keys of both sums, which overlap, and those of both reductions.
struct Keys {
    pairs: [Pair; PAIRS + 1],
    pieces: [[u64; PIECES]; 2],
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let mut stream = (0_u64..).flat_map(|block| {
        let hash = Sha256::new().chain_update(b"wardian pages\0").chain_update(block.to_le_bytes());
        let words: [u8; 32] = hash.finalize().into();
        words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
    });
    let mut next = || stream.next().unwrap_or_default();
    Keys {
        pairs: [(); PAIRS + 1].map(|()| [next(), next()]),
        pieces: [(); 2].map(|()| [(); PIECES].map(|()| next() & PRIME)),
    }
});

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

impl PageHash {
    /// The hash of a page.
    pub(crate) fn of(page: &PageBytes) -> Self {
        let Keys { pairs, pieces } = &*KEYS;
        let mut sums = [0_u128; 2];
        let words = page.as_chunks::<8>().0.as_chunks::<2>().0;
        for (words, keys) in words.iter().zip(pairs.array_windows::<2>()) {
            let words = words.map(u64::from_le_bytes);
            for (sum, keys) in sums.iter_mut().zip(keys) {
                *sum = sum.wrapping_add(product(words, *keys));
            }
        }
        let [one, other] = [reduced(sums[0], &pieces[0]), reduced(sums[1], &pieces[1])];
        Self(((u128::from(one) << 64) | u128::from(other)).to_le_bytes())
    }

    /// Its bytes.
    pub(crate) const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The product of two words, after a key was added to each.
fn product([one, other]: Pair, keys: Pair) -> u128 {
    let one = one.wrapping_add(keys[0]);
    u128::from(one).wrapping_mul(u128::from(other.wrapping_add(keys[1])))
}

/// A sum modulo [`PRIME`], under keys.
fn reduced(sum: u128, keys: &[u64; PIECES]) -> u64 {
    let pieces = (0..128).step_by(32).map(|shift| sum >> shift & u128::from(u32::MAX));
    // Four products of 93 bits at most.
    let whole = pieces.zip(keys).map(|(piece, key)| piece.wrapping_mul(u128::from(*key))).sum();
    let folded = u64::try_from(fold(fold(whole)));
    folded.ok().filter(|folded| *folded < PRIME).unwrap_or(0)
}

/// A smaller number that is the same modulo [`PRIME`]. Twice makes one of at most 61 bits of any of 95.
const fn fold(number: u128) -> u128 {
    (number & PRIME as u128).wrapping_add(number >> 61)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_of_a_page_stays_the_same() {
        // Packs and records hold these, so they must not depend on the build.
        let counted = std::array::from_fn(|at| u8::try_from(at % 251).unwrap());
        for (page, hash) in [([0; PAGE], ZEROS), (counted, COUNTED)] {
            assert_eq!(format!("{:?}", PageHash::of(&page)), hash);
        }
    }

    const ZEROS: &str = "5ef24bfa565b070208b84dc966739700";
    const COUNTED: &str = "a9636a634a73a51626079b23f09ba213";

    /// Pages as programs have them: nearly the same, with words moved or exchanged.
    #[test]
    fn pages_that_are_nearly_the_same_have_other_hashes() {
        let mut seen = HashMap::new();
        let mut check = |page: PageBytes, what: String| {
            let hash = *PageHash::of(&page).as_bytes();
            if let Some(before) = seen.insert(hash, what.clone()) {
                panic!("{what} and {before} have one hash");
            }
        };
        for at in 0..PAGE {
            for byte in [1_u8, 2, 0x80, 0xff] {
                let mut page = [0; PAGE];
                page[at] = byte;
                check(page, format!("{byte} at {at}"));
            }
        }
        for at in (8..PAGE).step_by(8) {
            let mut page = [0; PAGE];
            page[at - 8] = 1;
            page[at] = 1;
            check(page, format!("two words up to {at}"));
            let mut page: PageBytes = std::array::from_fn(|at| u8::try_from(at % 251).unwrap());
            page.swap(at, at - 8);
            check(page, format!("bytes before {at} exchanged"));
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_changes_both_halves(
            seed in any::<u8>(), at in 0..PAGE, by in 1..=255_u8
        ) {
            let page: PageBytes = std::array::from_fn(|at| {
                u8::try_from(at * 7 % 256).unwrap().wrapping_mul(seed)
            });
            let mut other = page;
            other[at] ^= by;
            let [one, other] = [page, other].map(|page| *PageHash::of(&page).as_bytes());
            prop_assert_ne!(&one[..8], &other[..8]);
            prop_assert_ne!(&one[8..], &other[8..]);
        }

        #[test]
        fn sums_are_reduced_modulo_the_prime(sum in any::<u128>(), keys in any::<[u64; PIECES]>()) {
            let keys = keys.map(|key| key & PRIME);
            let expected = (0..4).fold(0_u128, |total, at| {
                let piece = sum >> (32 * at) & u128::from(u32::MAX);
                (total + piece * u128::from(keys[at]) % u128::from(PRIME)) % u128::from(PRIME)
            });
            prop_assert_eq!(u128::from(reduced(sum, &keys)), expected);
        }
    }
}
