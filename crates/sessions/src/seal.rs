//! The encryption of packs: AES-256-GCM in frames of bounded size.
//!
//! A file is a head of 32 bytes, which has the format and a random salt, and frames of up to 256 KiB, each
//! with its tag. A key is derived for each file from the session's key and the salt, so the number of a
//! frame is its nonce, and none is used twice, however often a pack is written. What a frame is
//! authenticated with names the session, the checkpoint, all facts of the pack, the number of the frame and
//! their count. So no frame fits another place, and no fact can be changed in the database alone.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use wardian_stores::sessions::{PackDescription, PackId, SESSION_KEY_LENGTH};
use wardian_vocabulary::crypto::hmac;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Bytes of a pack in one frame: few beside a pack, many beside a tag.
pub(crate) const FRAME: usize = 256 << 10;

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// Bytes of a salt.
pub(crate) const SALT: usize = 16;

/// The beginning of each file.
pub(crate) const MAGIC: &[u8; 16] = b"wardian pack 1\0\n";

/// Bytes before the first frame.
pub(crate) const HEAD: usize = MAGIC.len() + SALT;

/// Frames of a pack of this size. An empty one has one too.
fn frames(size: ByteCount) -> u64 {
    size.as_u64().div_ceil(ByteCount::from(FRAME).as_u64()).max(1)
}

/// Bytes of the file of a pack of this size.
pub(crate) fn sealed_size(size: ByteCount) -> u64 {
    let tags = frames(size).saturating_mul(ByteCount::from(TAG).as_u64());
    ByteCount::from(HEAD).as_u64().saturating_add(size.as_u64()).saturating_add(tags)
}

/// Encrypts with a key that is derived from `key` for this purpose and salt. Each number is used once.
pub(crate) struct Sealer {
    key: LessSafeKey,
}

impl Sealer {
    /// `None` if the library has no such algorithm, which does not happen.
    pub(crate) fn derive(
        key: &[u8; SESSION_KEY_LENGTH],
        purpose: &[u8],
        salt: &[u8; SALT],
    ) -> Option<Self> {
        let message = [purpose, b"\0", salt.as_slice()].concat();
        let derived = Zeroizing::new(hmac(key, &message));
        let key = UnboundKey::new(&AES_256_GCM, derived.as_slice()).ok()?;
        Some(Self { key: LessSafeKey::new(key) })
    }

    /// Encrypts the buffer and appends the tag.
    pub(crate) fn seal(&self, number: u64, associated: &[u8], buffer: &mut Vec<u8>) -> Option<()> {
        self.key.seal_in_place_append_tag(nonce(number), Aad::from(associated), buffer).ok()
    }

    /// Decrypts the buffer, which ends with the tag. Returns the content if nothing was changed.
    pub(crate) fn open<'a>(
        &self,
        number: u64,
        associated: &[u8],
        buffer: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        self.key.open_in_place(nonce(number), Aad::from(associated), buffer).ok()
    }
}

fn nonce(number: u64) -> Nonce {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    Nonce::assume_unique_for_key([0, 0, 0, 0, a, b, c, d, e, f, g, h])
}

/// Seals or opens the frames of one file.
pub(crate) struct PackSealer {
    sealer: Sealer,
    associated: Vec<u8>,
    frames: u64,
}

impl PackSealer {
    pub(crate) fn new(
        key: &[u8; SESSION_KEY_LENGTH],
        salt: &[u8; SALT],
        pack: &PackId,
        description: &PackDescription,
    ) -> Option<Self> {
        let sealer = Sealer::derive(key, b"wardian pack 1", salt)?;
        let frames = frames(description.size);
        let mut associated = b"wardian pack 1\0".to_vec();
        for text in [pack.origin.as_str(), pack.checkpoint.as_str()] {
            associated.extend(text.as_bytes());
            associated.push(0);
        }
        associated.extend(description.sequence.to_be_bytes());
        associated.push(u8::from(description.base.is_some()));
        associated.extend(description.base.iter().flat_map(Digest::as_bytes));
        associated.extend(description.digest.as_bytes());
        associated.extend(description.size.as_u64().to_be_bytes());
        associated.extend(frames.to_be_bytes());
        Some(Self { sealer, associated, frames })
    }

    /// The number of frames.
    pub(crate) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Encrypts a frame and appends its tag.
    pub(crate) fn seal(&self, frame: u64, buffer: &mut Vec<u8>) -> Option<()> {
        self.sealer.seal(frame, &self.associated_with(frame), buffer)
    }

    /// Decrypts a frame, which ends with its tag. Returns true if nothing was changed.
    pub(crate) fn open(&self, frame: u64, buffer: &mut [u8]) -> bool {
        self.sealer.open(frame, &self.associated_with(frame), buffer).is_some()
    }

    fn associated_with(&self, frame: u64) -> Vec<u8> {
        [self.associated.as_slice(), &frame.to_be_bytes()].concat()
    }
}
