//! The packages of a run: the layers of the skills that it mounts, and the batteries.
//!
//! INVARIANT(no-silent-lack): a skill whose packages are not there does not begin to run. The error
//! names the command that gets them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use crate::error::ErrorKind;
use crate::ids::{Digest, SkillName};
use crate::job::layer::LayerContent;
use crate::job::{LayerMount, LayerPlace};
use crate::packages::guest::PackageVersion;
use crate::packages::layer::LayerKey;
use crate::packages::lock::Lock;
use crate::packages::{GuestPlatform, LayerStore, NeedsError, OpenLayer, SkillNeeds, StoreError};
use crate::registry::folders::snapshot::Snapshot;
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;
use crate::service::run::mounted_skill::MountedSkill;

/// Most layers that stay open for later runs. Each can cost two descriptors.
const MAX_OPEN: usize = 128;

/// The reason why the packages of a run are not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackagesError {
    /// The packages of a skill are not known.
    #[error("the packages of skill `{skill}` are not known: {problem}")]
    Unknown {
        /// The skill.
        skill: SkillName,
        /// The reason, with the command to type.
        problem: NeedsError,
    },
    /// The packages of a skill are not on this machine.
    #[error(
        "the packages of skill `{skill}` are not on this server: `wardian skills deps sync` \
         fetches them ({packages})"
    )]
    NotSynced {
        /// The skill.
        skill: SkillName,
        /// The first packages.
        packages: String,
    },
    /// The batteries are not on this machine, and a skill needs one.
    #[error(
        "skill `{skill}` needs packages of the batteries, which are not on this server: \
         `wardian engine install` fetches them"
    )]
    NoBatteries {
        /// The skill.
        skill: SkillName,
    },
    /// Two skills of one run cannot have their packages side by side.
    #[error(
        "skills `{one}` and `{other}` need different versions of package `{package}`, so no run \
         can mount both"
    )]
    Conflict {
        /// A skill.
        one: SkillName,
        /// Another skill.
        other: SkillName,
        /// The package.
        package: String,
    },
    /// The layers cannot be read.
    #[error("packages cannot be read")]
    Store(#[from] StoreError),
}

impl PackagesError {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } | Self::NotSynced { .. } | Self::NoBatteries { .. } => {
                ErrorKind::PackagesMissing
            }
            Self::Conflict { .. } => ErrorKind::InvalidParams,
            Self::Store(_) => ErrorKind::Internal,
        }
    }
}

/// The layers of this machine, and those that are open.
pub struct PackageAccess {
    pub(crate) store: LayerStore,
    pub(crate) guest: GuestPlatform,
    /// Names the interpreter that reads bytecode.
    pub(crate) engine: Digest,
    batteries: Lock,
    open: Mutex<HashMap<LayerKey, Arc<UsedLayer>>>,
    /// Held while a layer is compiled: one at a time.
    pub(crate) compiling: tokio::sync::Mutex<()>,
}

impl fmt::Debug for PackageAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageAccess").field("store", &self.store).finish_non_exhaustive()
    }
}

/// A layer that runs of this process use.
#[derive(Debug)]
pub(crate) struct UsedLayer {
    pub(crate) layer: OpenLayer,
    pub(crate) place: LayerPlace,
    pub(crate) bytecode: Mutex<Option<LayerContent>>,
    /// True once a task has begun to compile it.
    pub(crate) is_compiled: AtomicBool,
}

impl UsedLayer {
    /// The mount of the layer, and what a worker needs for it.
    fn mount(&self) -> (LayerMount, Vec<LayerContent>) {
        let bytecode = self.bytecode.lock().clone();
        let digest = self.layer.content.digest;
        let compiled = bytecode.as_ref().map(|content| content.digest);
        let mount = LayerMount { digest, bytecode: compiled, place: self.place };
        (mount, [Some(self.layer.content.clone()), bytecode].into_iter().flatten().collect())
    }
}

impl PackageAccess {
    /// The layers of `store`, for an engine that `guest` describes and `engine` names.
    #[must_use]
    pub fn new(store: LayerStore, guest: GuestPlatform, engine: Digest, batteries: Lock) -> Self {
        let (open, compiling) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { store, guest, engine, batteries, open, compiling }
    }

    /// Opens the batteries if they are there, which reads all of them once. Returns false if they
    /// are missing.
    ///
    /// # Errors
    ///
    /// The disk fails.
    pub fn open_batteries(&self) -> Result<bool, StoreError> {
        let Some(key) = self.batteries.layer() else { return Ok(true) };
        Ok(self.find(key, LayerPlace::Batteries)?.is_some())
    }

    /// The packages that a skill needs.
    pub(crate) fn needs_of(&self, snapshot: &Snapshot) -> SkillNeeds {
        let file = |path: &str| snapshot.read_file(path).ok();
        let requirements = file(crate::packages::REQUIREMENTS_FILE);
        let lock = file(crate::packages::LOCK_FILE);
        SkillNeeds::of(requirements, lock, &self.guest, &self.batteries)
    }

    /// The batteries, if they are open.
    pub(crate) fn batteries(&self) -> Option<Arc<UsedLayer>> {
        let key = self.batteries.layer()?;
        self.open.lock().get(&key).cloned()
    }

    /// Finds a layer among those that are open.
    pub(crate) fn find_open(&self, key: LayerKey) -> Option<Arc<UsedLayer>> {
        self.open.lock().get(&key).cloned()
    }

    /// Opens a layer. Blocks while it is read for the first time.
    pub(crate) fn find(
        &self,
        key: LayerKey,
        place: LayerPlace,
    ) -> Result<Option<Arc<UsedLayer>>, StoreError> {
        if let Some(found) = self.find_open(key) {
            return Ok(Some(found));
        }
        let Some(layer) = self.store.open(key)? else { return Ok(None) };
        let bytecode = self.store.open_bytecode(layer.content.digest, self.engine)?;
        let is_compiled = AtomicBool::new(bytecode.is_some());
        let used = UsedLayer { layer, place, bytecode: Mutex::new(bytecode), is_compiled };
        let mut open = self.open.lock();
        if open.len() >= MAX_OPEN {
            // Runs in progress keep theirs.
            open.retain(|_, layer| layer.place == LayerPlace::Batteries);
        }
        // A concurrent caller may have opened it too; all runs share one.
        Ok(Some(Arc::clone(open.entry(key).or_insert_with(|| Arc::new(used)))))
    }
}

/// The layers of a run, as they are mounted, with the content for workers.
#[derive(Debug, Default)]
pub(crate) struct RunLayers {
    pub(crate) mounts: Vec<LayerMount>,
    pub(crate) contents: Vec<LayerContent>,
    /// The layers themselves.
    pub(crate) used: Vec<Arc<UsedLayer>>,
}

impl RunLayers {
    pub(crate) fn add(&mut self, layer: Arc<UsedLayer>) {
        let (mount, contents) = layer.mount();
        if self.mounts.iter().any(|other| other.digest == mount.digest) {
            return;
        }
        self.mounts.push(mount);
        self.contents.extend(contents);
        self.used.push(layer);
    }
}

impl Service {
    /// Finds the layers of a run that mounts `skills`.
    pub(crate) async fn layers_of(
        &self,
        caller: &Caller,
        skills: &[MountedSkill],
    ) -> Result<RunLayers, ServiceError> {
        ensure_no_conflict(skills)?;
        let mut layers = RunLayers::default();
        for skill in skills {
            let name = || skill.mount.name.clone();
            match &*skill.needs {
                SkillNeeds::Nothing => {}
                SkillNeeds::Batteries if self.packages.batteries().is_some() => {}
                SkillNeeds::Batteries => {
                    return Err(PackagesError::NoBatteries { skill: name() }.into());
                }
                SkillNeeds::Unknown(problem) => {
                    let problem = problem.clone();
                    return Err(PackagesError::Unknown { skill: name(), problem }.into());
                }
                SkillNeeds::Layer { key, packages } => {
                    let found = self.open_layer(caller, *key).await?;
                    layers.add(found.ok_or_else(|| PackagesError::NotSynced {
                        skill: name(),
                        packages: first_names(packages),
                    })?);
                }
            }
        }
        if let Some(batteries) = self.packages.batteries() {
            layers.add(batteries);
        }
        Ok(layers)
    }

    /// Opens the layer of a skill, on another thread if it is not open.
    pub(crate) async fn open_layer(
        &self,
        caller: &Caller,
        key: LayerKey,
    ) -> Result<Option<Arc<UsedLayer>>, ServiceError> {
        if let Some(found) = self.packages.find_open(key) {
            return Ok(Some(found));
        }
        let packages = Arc::clone(&self.packages);
        let found = caller.memory.on_thread(move || packages.find(key, LayerPlace::Skill)).await;
        Ok(found.map_err(ServiceError::Interrupted)?.map_err(PackagesError::Store)?)
    }
}

fn first_names(packages: &[PackageVersion]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = packages.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if packages.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Refuses skills that need different versions of a package: all of a run's modules share one
/// interpreter, which has one module of a name.
fn ensure_no_conflict(skills: &[MountedSkill]) -> Result<(), PackagesError> {
    let mut needed: HashMap<&str, (&PackageVersion, &SkillName)> = HashMap::new();
    for skill in skills {
        let SkillNeeds::Layer { packages, .. } = &*skill.needs else { continue };
        for package in packages {
            let name = package.name.as_ref();
            let (known, by) = needed.entry(name).or_insert((package, &skill.mount.name));
            if known.version != package.version {
                let (one, other) = ((*by).clone(), skill.mount.name.clone());
                return Err(PackagesError::Conflict { one, other, package: name.to_owned() });
            }
        }
    }
    Ok(())
}
