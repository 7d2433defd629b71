//! Digests of what a checkpoint belongs to, and of the state in it.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::session::files::contents::FilePages;
use crate::session::pages::list::PageList;
use crate::vfs::FileSystem;
use wardian_formats::job::{BlobMount, LayerMount, Reproducible, Setup, SkillMount};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The parts of an order that a resumed guest must have in common with the parked one.
///
/// Limits may be others: they are checked against the state. Variables of the environment are given
/// to each turn, and may be secrets, which no pack says anything of.
#[derive(Serialize)]
struct Lasting<'a> {
    tenant: &'a TenantId,
    skills: &'a [SkillMount],
    layers: &'a [LayerMount],
    blobs: &'a [BlobMount],
    hides_modules: bool,
    reproducible: Option<Reproducible>,
    counts_fuel: bool,
}

/// The digest of what an order says of its guest, besides the image.
pub(crate) fn order_digest(setup: &Setup) -> serde_json::Result<Digest> {
    let Setup { tenant, skills, layers, blobs, hides_modules, reproducible, counts_fuel, .. } =
        setup;
    let (hides_modules, counts_fuel) = (*hides_modules, *counts_fuel);
    let reproducible = *reproducible;
    let lasting =
        Lasting { tenant, skills, layers, blobs, hides_modules, reproducible, counts_fuel };
    serde_json::to_vec(&lasting).map(|text| Digest::of(&text))
}

/// The digest of the paths of all mounted trees. Guests know trees by their place among them.
pub(crate) fn mounts_digest(files: &FileSystem) -> Digest {
    let mut digest = Sha256::new();
    for path in files.tree_paths() {
        digest.update(path);
        digest.update([0]);
    }
    Digest::from_bytes(digest.finalize().into())
}

/// The digest of a state: of memory of this length, of the pages of files, and of the descriptors.
pub(crate) fn root(
    (length, memory): (u64, &PageList),
    files: &FilePages,
    descriptors: &[u8],
) -> Digest {
    let mut digest =
        Sha256::new().chain_update(b"wardian state 1\n").chain_update(length.to_le_bytes());
    memory.digest_into(&mut digest, u32::MAX);
    files.digest_into(&mut digest);
    digest.update(descriptors);
    Digest::from_bytes(digest.finalize().into())
}
