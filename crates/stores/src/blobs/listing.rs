//! Lists of a tenant's blobs, and their orders.

use std::time::Duration;

use crate::blobs::content::trailer::StoredBlob;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// Some of a tenant's blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobPage {
    /// The blobs, in the order of their ids.
    pub blobs: Vec<ListedBlob>,
    /// True if others follow.
    pub has_more: bool,
}

/// A blob in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBlob {
    /// The id.
    pub id: BlobId,
    /// Length of the content.
    pub size: ByteCount,
    /// The time of the last use, since the Unix epoch.
    pub used: Duration,
    /// Its description; `None` if its trailer is damaged.
    pub described: Option<StoredBlob>,
}

/// Maximum number of blobs of a tenant that are listed in another order than that of their ids.
pub const MAX_ORDERED: usize = 20_000;

/// An order of blobs other than that of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobOrder {
    /// The newest first. Damaged ones, whose time is unknown, come last.
    Newest,
    /// By name, whatever the case of its letters. Those without a name come last.
    Name,
    /// The largest first.
    Largest,
}

/// The place of a blob in an order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobPlace {
    /// What counts first: smaller comes first.
    pub rank: u64,
    /// What counts next.
    pub text: String,
    /// The blob.
    pub id: BlobId,
}

impl ListedBlob {
    /// Its place in an order. It changes only with its name.
    #[must_use]
    pub fn place(&self, order: BlobOrder) -> BlobPlace {
        let described = self.described.as_ref();
        let (rank, text) = match order {
            BlobOrder::Newest => {
                let created = described.map_or(0, |blob| blob.created.as_millis());
                (u64::MAX.saturating_sub(u64::try_from(created).unwrap_or(u64::MAX)), String::new())
            }
            BlobOrder::Name => match described.and_then(|blob| blob.name.as_ref()) {
                // Names have no control characters, so that this one ends the first of the two.
                Some(name) => (0, format!("{}\n{name}", name.as_str().to_lowercase())),
                None => (1, String::new()),
            },
            BlobOrder::Largest => (u64::MAX.saturating_sub(self.size.as_u64()), String::new()),
        };
        BlobPlace { rank, text, id: self.id.clone() }
    }
}
