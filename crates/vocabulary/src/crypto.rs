//! Random bytes, keyed hashes (HMAC-SHA-256), and comparison in constant time.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;

/// Fills `bytes` with randomness of the operating system.
///
/// # Errors
///
/// The operating system has none.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    // The kernel fills up to 256 bytes at once.
    for part in bytes.chunks_mut(256) {
        if getrandom(&mut *part, GetRandomFlags::empty())? != part.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Compares in constant time. Slices of different lengths differ.
pub fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// True if a public key of Ed25519 is a point of small order, in any encoding. One signature fits
/// every message under such a key, so it proves nothing.
///
/// The group has eight such points. Without the bit of the sign they have five encodings, and two of
/// them a second one that is not reduced.
pub fn has_small_order(key: &[u8; 32]) -> bool {
    const ORDER_8: [[u8; 32]; 2] = [
        [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef,
            0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88,
            0x6d, 0x53, 0xfc, 0x05,
        ],
        [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10,
            0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77,
            0x92, 0xac, 0x03, 0x7a,
        ],
    ];
    let [low @ .., high] = *key;
    let [first, middle @ ..] = low;
    let high = high & 0x7f;
    // 0 and 1; and p - 1, p and p + 1, where p = 2^255 - 19.
    let is_least = matches!(first, 0 | 1) && middle.iter().all(|byte| *byte == 0) && high == 0;
    let is_most =
        (0xec..=0xee).contains(&first) && middle.iter().all(|byte| *byte == 0xff) && high == 0x7f;
    let is_order_8 = ORDER_8.iter().any(|[known @ .., last]| *known == low && *last == high);
    is_least || is_most || is_order_8
}

/// Computes an HMAC-SHA-256 (RFC 2104) incrementally.
#[derive(Debug, Clone)]
pub struct Hmac {
    inner: Sha256,
    outer: Sha256,
}

impl Hmac {
    /// Begins with a key of at most one block, 64 bytes. The rest of a longer one is ignored.
    pub fn new(key: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; BLOCK]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            Sha256::new_with_prefix(block.as_slice())
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// Adds a part of the message.
    pub fn update(&mut self, message: &[u8]) {
        self.inner.update(message);
    }

    /// The code of the whole message.
    pub fn finish(self) -> [u8; 32] {
        self.outer.chain_update(self.inner.finalize()).finalize().into()
    }
}

/// The HMAC-SHA-256 of a whole message, with a key of at most 64 bytes.
pub fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut hmac = Hmac::new(key);
    hmac.update(message);
    hmac.finish()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    /// RFC 4231, test cases 1, 2 and 4.
    #[test]
    fn hmac_agrees_with_rfc_4231() {
        for (key, message, expected) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &(1..=25).collect::<Vec<u8>>(),
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
        ] {
            assert_eq!(HEXLOWER.encode(&hmac(key, message)), expected);
            let mut pieces = Hmac::new(key);
            message.chunks(7).for_each(|piece| pieces.update(piece));
            assert_eq!(HEXLOWER.encode(&pieces.finish()), expected);
        }
    }

    #[test]
    fn randomness_fills_any_length_and_does_not_repeat() {
        for length in [0, 1, 32, 256, 257, 1_000] {
            let (mut one, mut other) = (vec![0; length], vec![0; length]);
            fill_random(&mut one).unwrap();
            fill_random(&mut other).unwrap();
            assert_eq!(one == other, length < 2 && one == other, "{length}");
            assert!(length < 32 || one[length - 32..].iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn equal_are_equal_slices_alone() {
        assert!(is_equal(b"", b"") && is_equal(b"abc", b"abc"));
        for (one, other) in [(&b"abc"[..], &b"abd"[..]), (b"abc", b"ab"), (b"", b"a")] {
            assert!(!is_equal(one, other) && !is_equal(other, one));
        }
    }
}
