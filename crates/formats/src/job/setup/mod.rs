//! The lasting half of an order: what a guest is made with.

pub(crate) mod mounts;
pub(crate) mod placed;
pub(crate) mod reproducible;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::limits::SetupLimits;
use crate::job::setup::mounts::{BlobMount, LayerMount, SkillMount};
use crate::job::setup::reproducible::Reproducible;
use wardian_vocabulary::ids::{Digest, TenantId};
use wardian_vocabulary::secret_text::SecretText;

/// The lasting half of an order: what a guest is made with, before it runs anything.
///
/// It decides everything that one turn leaves to the next: the memory and the files, where the
/// guest's clocks and its randomness begin, and how its code is compiled. A session keeps one guest
/// for many [turns](crate::job::Turn); a run is a guest with a single turn. Nothing is looked up later.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    /// The tenant that the guest belongs to, for its whole life.
    pub tenant: TenantId,
    /// The image that the guest begins as, attached to the worker before. It affects the speed of
    /// its turns and never their results.
    pub image: Digest,
    /// Skills to mount under `/skills`, each attached to the worker before.
    pub skills: Vec<SkillMount>,
    /// Layers of packages to mount, attached before. Earlier ones are searched first.
    pub layers: Vec<LayerMount>,
    /// Blobs to mount under `/blobs`, each attached to the worker before.
    pub blobs: Vec<BlobMount>,
    /// True if blobs that Python would import are left out of the working folder. Whoever calls a
    /// skill chooses names and contents of blobs, and must not choose code that the skill imports.
    pub hides_modules: bool,
    /// Environment variables beyond the fixed ones: declared secrets and nothing else.
    pub environment: BTreeMap<String, SecretText>,
    /// The inputs of time and randomness; `None` for those of the machine. They belong to the guest
    /// and not to a turn, because clocks and generators go on from one turn to the next.
    pub reproducible: Option<Reproducible>,
    /// True if the guest's code counts fuel. Code is chosen when the guest is made, so each turn of
    /// such a guest has a limit on fuel, and no turn of another. Reproducible guests need it.
    pub counts_fuel: bool,
    /// Ceilings on what lasts: memory and files.
    pub limits: SetupLimits,
}

/// Prints identifiers only: the environment never reaches a log.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("tenant", &self.tenant)
            .field("image", &self.image)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
