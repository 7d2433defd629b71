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
pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    // The kernel fills up to 256 bytes at once.
    for part in bytes.chunks_mut(256) {
        if getrandom(&mut *part, GetRandomFlags::empty())? != part.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Compares in constant time. Slices of different lengths differ.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Computes an HMAC-SHA-256 (RFC 2104) incrementally.
#[derive(Debug, Clone)]
pub(crate) struct Hmac {
    inner: Sha256,
    outer: Sha256,
}

impl Hmac {
    /// Begins with a key of at most one block, 64 bytes. The rest of a longer one is ignored.
    pub(crate) fn new(key: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; BLOCK]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            Sha256::new_with_prefix(block.as_slice())
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    pub(crate) fn update(&mut self, message: &[u8]) {
        self.inner.update(message);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.outer.chain_update(self.inner.finalize()).finalize().into()
    }
}

/// The HMAC-SHA-256 of a whole message, with a key of at most 64 bytes.
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
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
