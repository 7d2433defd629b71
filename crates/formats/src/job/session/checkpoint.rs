//! What the gateway knows of a checkpoint: the facts about its pack, and the order of packs in a
//! chain.
//!
//! A *pack* is the bytes of a checkpoint as the worker made them. The gateway keeps and returns them
//! and reads nothing in them. A *chain* is one whole pack, which begins at the image, and the packs
//! after it, each of which has what changed since the one before. A guest is resumed from a chain.

use serde::{Deserialize, Serialize};

use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The version of the format of packs that are made now. No other version is read.
pub const PACK_FORMAT: u32 = 1;

/// The most packs of one chain. The checkpoint after them is a whole one again, so that resuming
/// does not become slower with each cell.
pub const MOST_IN_CHAIN: usize = 32;

/// The facts about one pack. They come from a worker, which may lie: they bound nothing and grant
/// nothing. A worker that resumes reads the facts from the pack itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackFacts {
    /// The version of its format: see [`PACK_FORMAT`].
    pub format: u32,
    /// The image that its guest began as.
    pub image: Digest,
    /// The number of the checkpoint in the life of its guest. The first one is 1; a fork goes on
    /// with the numbers of its origin.
    pub sequence: u32,
    /// The digest of the pack that this one continues; `None` for a whole pack.
    pub base: Option<Digest>,
    /// The digest of the pack's bytes.
    pub digest: Digest,
    /// The digest of the guest's memory and files in this state. Two guests with the same root have
    /// the same state; their clocks may differ.
    pub root: Digest,
    /// The number of pages of 4 KiB that the pack describes, of memory and of files together.
    pub pages: u64,
    /// The length of the pack.
    pub size: ByteCount,
}

/// The reason why packs do not make a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// There is no pack.
    #[error("there is no pack to resume from")]
    Empty,
    /// There are more than a chain can have.
    #[error("a chain has at most {MOST_IN_CHAIN} packs, and here are {count}")]
    TooLong {
        /// Their number.
        count: usize,
    },
    /// A pack has another format.
    #[error("a pack has the format {found}, and only format {PACK_FORMAT} is read")]
    Format {
        /// Its format.
        found: u32,
    },
    /// A pack begins at another image.
    #[error("a pack belongs to the image {found}")]
    Image {
        /// Its image.
        found: Digest,
    },
    /// The first pack continues one that is not there.
    #[error("the pack that pack {sequence} continues is missing")]
    Missing {
        /// The number of the first pack.
        sequence: u32,
    },
    /// A pack does not continue the one before it.
    #[error("pack {sequence} does not continue the pack before it")]
    Order {
        /// Its number.
        sequence: u32,
    },
}

impl PackFacts {
    /// True if the pack begins at the image and needs no other.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.base.is_none()
    }

    /// Checks that packs make a chain of guests of `image`, oldest first.
    ///
    /// # Errors
    ///
    /// The first fault, by its name.
    pub fn check_chain(image: Digest, packs: &[Self]) -> Result<(), ChainError> {
        let first = packs.first().ok_or(ChainError::Empty)?;
        if packs.len() > MOST_IN_CHAIN {
            return Err(ChainError::TooLong { count: packs.len() });
        }
        if let Some(other) = packs.iter().find(|pack| pack.format != PACK_FORMAT) {
            return Err(ChainError::Format { found: other.format });
        }
        if let Some(other) = packs.iter().find(|pack| pack.image != image) {
            return Err(ChainError::Image { found: other.image });
        }
        if !first.is_whole() {
            return Err(ChainError::Missing { sequence: first.sequence });
        }
        for (before, pack) in packs.iter().zip(packs.iter().skip(1)) {
            let is_next = before.sequence.checked_add(1) == Some(pack.sequence);
            if !is_next || pack.base != Some(before.digest) {
                return Err(ChainError::Order { sequence: pack.sequence });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Digest {
        Digest::of(b"image")
    }

    /// A chain of so many packs.
    fn chain(count: u32) -> Vec<PackFacts> {
        let digest = |sequence: u32| Digest::of(&sequence.to_le_bytes());
        let pack = |sequence| PackFacts {
            format: PACK_FORMAT,
            image: image(),
            sequence,
            base: (sequence > 1).then(|| digest(sequence - 1)),
            digest: digest(sequence),
            root: Digest::of(b"root"),
            pages: 3,
            size: ByteCount::bytes(70),
        };
        (1..=count).map(pack).collect()
    }

    fn fault_of(packs: &[PackFacts]) -> Option<ChainError> {
        PackFacts::check_chain(image(), packs).err()
    }

    #[test]
    fn chains_of_every_length_are_in_order() {
        for count in 1..=u32::try_from(MOST_IN_CHAIN).unwrap() {
            assert_eq!(fault_of(&chain(count)), None, "{count}");
        }
    }

    #[test]
    fn every_fault_of_a_chain_has_its_name() {
        assert_eq!(fault_of(&[]), Some(ChainError::Empty));
        assert_eq!(fault_of(&chain(33)), Some(ChainError::TooLong { count: 33 }));
        let mut other_format = chain(3);
        other_format[1].format = 2;
        assert_eq!(fault_of(&other_format), Some(ChainError::Format { found: 2 }));
        let mut other_image = chain(3);
        other_image[2].image = Digest::of(b"other");
        let found = Digest::of(b"other");
        assert_eq!(fault_of(&other_image), Some(ChainError::Image { found }));
        assert_eq!(fault_of(&chain(3)[1..]), Some(ChainError::Missing { sequence: 2 }));
    }

    #[test]
    fn a_pack_that_is_left_out_or_moved_or_exchanged_is_noticed() {
        for at in 1..5 {
            let mut left_out = chain(6);
            left_out.remove(at);
            let sequence = left_out[at].sequence;
            assert_eq!(fault_of(&left_out), Some(ChainError::Order { sequence }), "{at}");
            let mut swapped = chain(6);
            swapped.swap(at, at + 1);
            assert!(matches!(fault_of(&swapped), Some(ChainError::Order { .. })), "{at}");
            let mut exchanged = chain(6);
            exchanged[at].digest = Digest::of(b"another pack of this number");
            let sequence = exchanged[at + 1].sequence;
            assert_eq!(fault_of(&exchanged), Some(ChainError::Order { sequence }), "{at}");
        }
        let mut twice = chain(2);
        twice.push(twice[1]);
        assert_eq!(fault_of(&twice), Some(ChainError::Order { sequence: 2 }));
        let mut whole_again = chain(3);
        whole_again[2].base = None;
        assert_eq!(fault_of(&whole_again), Some(ChainError::Order { sequence: 3 }));
    }

    #[test]
    fn facts_travel_as_json() {
        for facts in chain(2) {
            let text = serde_json::to_string(&facts).unwrap();
            assert_eq!(serde_json::from_str::<PackFacts>(&text).unwrap(), facts);
        }
    }
}
