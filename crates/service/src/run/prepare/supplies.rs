//! What runs are prepared from: skills, packages, secrets, images, and the code that counts fuel.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedRwLockReadGuard;
use tracing::warn;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::find::duplicate;
use crate::run::access::secrets::SecretAccess;
use crate::run::packages::compiler::Compiler;
use crate::run::packages::layers::RunLayers;
use crate::run::packages::locked::PackageAccess;
use crate::run::prepare::metering::Metering;
use crate::run::prepare::mounted_skill::{Contents, MountedSkill};
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::Bytecode;
use crate::run::prepare::run_images::RunImages;
use crate::start::Discovery;
use wardian_formats::job::image::ImageContent;
use wardian_images::PackageSet;
use wardian_skills::packages::SkillNeeds;
use wardian_skills::registry::SeenSkill;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::Digest;

/// The longest time that a reproducible run waits for its image, which is made in seconds, and for
/// the batteries, which are fetched in seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// What runs are prepared from.
#[derive(Debug, Clone)]
pub(crate) struct Supplies {
    /// Skills in the form for workers.
    pub(crate) contents: Arc<Contents>,
    pub(crate) packages: Arc<PackageAccess>,
    pub(crate) secrets: Arc<SecretAccess>,
    pub(crate) images: RunImages,
    pub(crate) metering: Arc<Metering>,
    pub(crate) compiler: Compiler,
}

impl Supplies {
    /// A skill that the caller's tenant sees, ready to be mounted.
    pub(crate) async fn mounted(
        &self,
        caller: &Caller,
        seen: &SeenSkill,
    ) -> Result<MountedSkill, ServiceError> {
        self.contents.mounted(caller, seen, &self.packages).await
    }

    /// Finds the skills that a run mounts: `name` for the latest version, `name@version`, or
    /// `name@version#digest`.
    pub(crate) async fn mounted_skills(
        &self,
        discovery: &Discovery,
        caller: &Caller,
        names: &[String],
    ) -> Result<Vec<MountedSkill>, ServiceError> {
        let mut skills: Vec<MountedSkill> = Vec::with_capacity(names.len());
        for name in names {
            let seen = discovery.find_skill(caller, name, None)?;
            let mounted = self.mounted(caller, &seen).await?;
            if skills.iter().any(|other| other.mount.name == mounted.mount.name) {
                return Err(duplicate("mount_skills", seen.snapshot.name().as_str()));
            }
            skills.push(mounted);
        }
        Ok(skills)
    }

    /// The plan with bytecode, if it is to have some, and with code that counts fuel if it needs it.
    pub(crate) async fn with_code(
        &self,
        caller: &Caller,
        planned: Planned,
    ) -> Result<Planned, ServiceError> {
        let planned = match planned.bytecode() {
            Bytecode::Compiled => self.compiler.with_bytecode(caller, planned).await,
            Bytecode::AsItIs | Bytecode::Never => planned,
        };
        if planned.limits.fuel.is_some() {
            self.metering.ensure()?;
        }
        Ok(planned)
    }

    /// The layers of a run, with the bytecode that it may use. A reproducible run waits for the
    /// batteries, which all of them have.
    pub(crate) async fn layers_for(
        &self,
        caller: &Caller,
        planned: &Planned,
    ) -> Result<RunLayers, ServiceError> {
        if planned.reproducible.is_some() {
            self.packages.await_batteries(PATIENCE).await?;
        }
        let mut layers = self.packages.layers_of(caller, &planned.skills).await?;
        if let Some(cell) = &planned.cell {
            layers.keep_those_of_session(&cell.layers)?;
        }
        match planned.bytecode() {
            Bytecode::Never => layers.mounts.iter_mut().for_each(|layer| layer.bytecode = None),
            Bytecode::Compiled => self.compiler.compile_beside(&layers.used),
            Bytecode::AsItIs => {}
        }
        Ok(layers)
    }

    /// The layers of a session that began with these, as its cells have them.
    pub(crate) async fn layers_of_session(
        &self,
        caller: &Caller,
        planned: &Planned,
        begun: &[Digest],
    ) -> Result<RunLayers, ServiceError> {
        if planned.reproducible.is_some() {
            self.packages.await_batteries(PATIENCE).await?;
        }
        let mut layers = self.packages.layers_of(caller, &planned.skills).await?;
        layers.keep_those_of_session(begun)?;
        layers.mounts.iter_mut().for_each(|layer| layer.bytecode = None);
        Ok(layers)
    }

    /// The image that the run begins as. A reproducible run waits for its own, which has to be the
    /// same each time.
    pub(crate) async fn image_for(
        &self,
        caller: &Caller,
        planned: &Planned,
    ) -> Result<Arc<ImageContent>, ServiceError> {
        if let Some(cell) = &planned.cell {
            let unusable = |reason: &str| cell.unusable(reason);
            return self.image_of_session(caller, planned, (cell.image, unusable)).await;
        }
        if planned.reproducible.is_some() {
            return self.await_image(planned, PATIENCE).await;
        }
        let images = self.images.of(&caller.tenant);
        let unsuitable = self.unsuitable_for(planned);
        Ok(images.pick(planned.packages(), unsuitable, planned.limits.memory))
    }

    /// The image that a reproducible run begins as. If it is being made, waits up to `patience`.
    pub(crate) async fn await_image(
        &self,
        planned: &Planned,
        patience: Duration,
    ) -> Result<Arc<ImageContent>, ServiceError> {
        let packages = planned.packages().without(self.unsuitable_for(planned));
        Ok(self.images.shared.reproducible_within(packages, patience).await?)
    }

    /// The groups of images that a run must not begin as, because its modules are others: those of
    /// batteries, if there are none or a skill has locked another version of one that they have imported.
    fn unsuitable_for(&self, planned: &Planned) -> PackageSet {
        let has_own = planned.skills.iter().any(|skill| match &*skill.needs {
            SkillNeeds::Layer { packages, .. } => {
                packages.iter().any(|package| self.packages.differs_in_images(package))
            }
            _ => false,
        });
        if has_own || self.packages.batteries().is_none() {
            return PackageSet::OF_BATTERIES;
        }
        PackageSet::NONE
    }

    /// Keeps the image of a session that is about to be made, or the base image in its place if there is
    /// too little room. The session is made before the guard is dropped. All reproducible sessions begin
    /// as one image, whatever their first cell imports. It needs no copy: it is made again byte for byte.
    ///
    /// # Errors
    ///
    /// There is no room for an image, or the disk fails.
    pub(crate) async fn pin_image(
        &self,
        caller: &Caller,
        planned: &Planned,
    ) -> Result<(Digest, Option<OwnedRwLockReadGuard<()>>), ServiceError> {
        if planned.reproducible.is_some() {
            let image = self.image_of_reproducible_sessions().await?;
            return Ok((image.digest(), None));
        }
        let image = self.image_for(caller, planned).await?;
        let (pinned, version) = (self.images.pinned()?, self.images.version);
        let held = pinned.hold().await;
        let base = self.images.of(&caller.tenant).base();
        let pinning = caller.memory.on_thread(move || pinned.pin(&image, &base, version));
        Ok((pinning.await.map_err(ServiceError::Interrupted)??, Some(held)))
    }

    /// The image that a session began as. If it is not in memory, it is loaded from the disk; that of
    /// reproducible sessions is waited for. Without it, the session is `unusable` for a reason.
    pub(crate) async fn image_of_session(
        &self,
        caller: &Caller,
        planned: &Planned,
        (digest, unusable): (Digest, impl Fn(&str) -> ServiceError),
    ) -> Result<Arc<ImageContent>, ServiceError> {
        let replaced = || unusable("the memory image that it began as was replaced");
        if planned.reproducible.is_some() {
            let image = self.image_of_reproducible_sessions().await?;
            return if image.digest() == digest { Ok(image) } else { Err(replaced()) };
        }
        if let Some(present) = self.images.of(&caller.tenant).find_present(digest) {
            return Ok(present);
        }
        let pinned = self.images.pinned()?;
        let (images, tenant) = (self.images.clone(), caller.tenant.clone());
        let loading = caller
            .memory
            .on_thread(move || images.of(&tenant).find_pinned(digest, &pinned, images.version));
        match loading.await.map_err(ServiceError::Interrupted)? {
            Ok(Some(image)) => Ok(image),
            Ok(None) => Err(unusable("the memory image that it began as is missing on the disk")),
            Err(fault) => {
                warn!("the image of a session cannot be loaded: {}", CauseChain(&fault));
                Err(unusable(&fault.to_string()))
            }
        }
    }

    async fn image_of_reproducible_sessions(&self) -> Result<Arc<ImageContent>, ServiceError> {
        Ok(self.images.shared.reproducible_within(PackageSet::NONE, PATIENCE).await?)
    }
}
