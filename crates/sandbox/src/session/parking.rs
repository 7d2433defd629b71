//! What is kept beside a guest of its last checkpoint, so that the next one has only what changed.

use crate::session::files::contents::FilePages;
use crate::session::pages::list::PageList;
use wardian_vocabulary::ids::Digest;

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
    /// The pages of memory that differ from the image.
    pub(crate) memory: PageList,
    /// The pages of files that are not zero.
    pub(crate) files: FilePages,
}
