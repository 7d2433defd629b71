//! Digests of what a checkpoint belongs to, and of the state in it.

use std::time::Duration;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::session::files::contents::FilePages;
use crate::session::pages::list::PageList;
use crate::vfs::FileSystem;
use wardian_formats::job::{BlobMount, FuelRules, LayerMount, Reproducible, Setup, SkillMount};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The parts of an order that a resumed guest must have in common with the parked one.
///
/// Limits may be others: they are checked against the state. Variables of the environment are given
/// to each turn, and may be secrets, which no pack says anything of. Another seed lets the randomness of a
/// reproducible guest go on elsewhere, at the same place of another stream.
#[derive(Serialize)]
struct Lasting<'a> {
    tenant: &'a TenantId,
    skills: &'a [SkillMount],
    layers: &'a [LayerMount],
    blobs: &'a [BlobMount],
    hides_modules: bool,
    reproducible: Option<LastingClock>,
    counts_fuel: bool,
}

/// What a reproducible guest follows besides its seed.
#[derive(Serialize)]
struct LastingClock {
    epoch: Duration,
    fuel_rules: FuelRules,
}

/// The digest of what an order says of its guest, besides the image.
pub(crate) fn order_digest(setup: &Setup) -> serde_json::Result<Digest> {
    let Setup { tenant, skills, layers, blobs, hides_modules, reproducible, counts_fuel, .. } =
        setup;
    let (hides_modules, counts_fuel) = (*hides_modules, *counts_fuel);
    let clock = |run: Reproducible| LastingClock { epoch: run.epoch, fuel_rules: run.fuel_rules };
    let reproducible = reproducible.map(clock);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use wardian_formats::job::SetupLimits;

    fn setup(reproducible: Option<(u64, u64)>) -> Setup {
        let clock = |(seed, epoch)| Reproducible {
            seed,
            epoch: Duration::from_secs(epoch),
            fuel_rules: FuelRules::PRESENT,
        };
        Setup {
            tenant: TenantId::local(),
            image: Digest::of(b"image"),
            skills: Vec::new(),
            layers: Vec::new(),
            blobs: Vec::new(),
            hides_modules: false,
            environment: BTreeMap::new(),
            reproducible: reproducible.map(clock),
            counts_fuel: true,
            limits: SetupLimits::DEFAULT,
        }
    }

    #[test]
    fn a_reproducible_guest_can_go_on_with_another_seed_and_no_other_clock() {
        let digest = |reproducible| order_digest(&setup(reproducible)).unwrap();
        let own = digest(Some((1, 5)));
        assert_eq!(digest(Some((2, 5))), own);
        assert_ne!(digest(Some((1, 6))), own);
        assert_ne!(digest(None), own);
    }
}
