//! What is kept beside a guest of its last checkpoint, so that the next one has only what changed.

use crate::session::files::contents::FilePages;
use crate::session::pages::list::PageList;
use wardian_formats::job::session::checkpoint::{MOST_IN_CHAIN, PackFacts};
use wardian_vocabulary::ids::Digest;

/// Bytes that a chain may have beyond twice its first pack. Whoever resumes the guest reads them all, so they are
/// few for a small guest: as many as some cells that change little.
const SLACK: u64 = 256 << 10;

/// Bytes of a chain that is not begun anew because memory was freed.
const SMALL: u64 = 4 << 20;

/// What is known of a guest's last checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Parking {
    /// Its number; zero before the first one.
    pub(crate) sequence: u32,
    /// The chain that the next pack continues; `None` if it is a whole one.
    pub(crate) chain: Option<Chain>,
}

/// A chain of packs, and the state at its end.
#[derive(Debug)]
pub(crate) struct Chain {
    /// The digest of the last pack.
    pub(crate) last: Digest,
    /// The number of packs.
    pub(crate) length: usize,
    /// Bytes of the first pack, which is whole.
    pub(crate) whole: u64,
    /// Bytes of all packs.
    pub(crate) total: u64,
    /// Pages of the largest state of the chain, as far as that is known.
    pub(crate) most: u64,
    /// The pages of memory that differ from the image.
    pub(crate) memory: PageList,
    /// The pages of files that are not zero.
    pub(crate) files: FilePages,
}

impl Chain {
    /// The chain of these packs, oldest first, with the state at its end. `None` without a pack.
    pub(crate) fn of(
        mut packs: impl Iterator<Item = PackFacts>,
        memory: PageList,
        files: FilePages,
    ) -> Option<Self> {
        let first = packs.next()?;
        let (whole, most) = (first.size.as_u64(), first.pages);
        let begun =
            Self { last: first.digest, length: 1, whole, total: whole, most, memory, files };
        Some(packs.fold(begun, |chain, pack| Self {
            last: pack.digest,
            length: chain.length.saturating_add(1),
            total: chain.total.saturating_add(pack.size.as_u64()),
            most: chain.most.max(pack.pages),
            ..chain
        }))
    }

    /// The number of pages of the state at its end.
    pub(crate) fn pages(&self) -> u64 {
        u64::try_from(self.memory.len().saturating_add(self.files.len())).unwrap_or(u64::MAX)
    }

    /// True if it can have another pack, and would probably not be mostly dead with it. Then that pack need not
    /// be made in vain.
    pub(crate) fn has_place(&self) -> bool {
        let deltas = u64::try_from(self.length.saturating_sub(1)).unwrap_or(u64::MAX);
        let usual = self.total.saturating_sub(self.whole) / deltas.max(1);
        self.length < MOST_IN_CHAIN && self.total.saturating_add(usual) <= self.most_bytes()
    }

    /// Bytes that it may have.
    const fn most_bytes(&self) -> u64 {
        self.whole.saturating_mul(2).saturating_add(SLACK)
    }

    /// True if most of it is dead: a whole pack takes less than these, or not much more. Whoever resumes
    /// the guest has to hold the whole chain. That is so after many changes, and once much was freed.
    pub(crate) fn is_mostly_dead(&self) -> bool {
        let has_changed = self.total > self.most_bytes();
        let has_shrunk = self.total > SMALL && self.most > self.pages().saturating_mul(2);
        self.length > 1 && (has_changed || has_shrunk)
    }
}
