//! The layers of a run: those of the skills that it mounts, and the batteries.
//!
//! INVARIANT(no-silent-lack): a skill whose packages are missing does not begin to run. The error
//! names the command that gets them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::packages::locked::{PackageAccess, UsedLayer};
use crate::run::packages::packages_error::PackagesError;
use crate::run::prepare::mounted_skill::MountedSkill;
use wardian_formats::job::layer::LayerContent;
use wardian_formats::job::{LayerMount, LayerPlace};
use wardian_skills::packages::SkillNeeds;
use wardian_skills::packages::guest::PackageVersion;
use wardian_skills::packages::layer::LayerKey;
use wardian_vocabulary::ids::{Digest, SkillName};

/// The layers of a run, as they are mounted, with the content for workers.
#[derive(Debug, Default)]
pub(crate) struct RunLayers {
    pub mounts: Vec<LayerMount>,
    pub contents: Vec<LayerContent>,
    /// The layers themselves.
    pub used: Vec<Arc<UsedLayer>>,
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

impl RunLayers {
    /// Keeps the layers that a session began with.
    ///
    /// # Errors
    ///
    /// One of them is not on this server any more.
    pub(crate) fn keep_those_of_session(&mut self, begun: &[Digest]) -> Result<(), ServiceError> {
        self.mounts.retain(|layer| begun.contains(&layer.digest));
        if self.mounts.len() == begun.len() { Ok(()) } else { Err(PackagesError::OfSession.into()) }
    }
}

impl PackageAccess {
    /// Finds the layers of a run that mounts `skills`.
    pub(crate) async fn layers_of(
        self: &Arc<Self>,
        caller: &Caller,
        skills: &[MountedSkill],
    ) -> Result<RunLayers, ServiceError> {
        ensure_no_conflict(skills)?;
        let mut layers = RunLayers::default();
        for skill in skills {
            let name = || skill.mount.name.clone();
            match &*skill.needs {
                SkillNeeds::Batteries | SkillNeeds::Layer { with_batteries: true, .. }
                    if self.batteries().is_none() =>
                {
                    return Err(PackagesError::NoBatteries { skill: name() }.into());
                }
                SkillNeeds::Nothing | SkillNeeds::Batteries => {}
                SkillNeeds::Unknown(problem) => {
                    let problem = problem.clone();
                    return Err(PackagesError::Unknown { skill: name(), problem }.into());
                }
                SkillNeeds::Layer { key, packages, .. } => {
                    let found = self.open_layer(caller, *key).await?;
                    layers.add(found.ok_or_else(|| PackagesError::NotSynced {
                        skill: name(),
                        packages: first_names(packages),
                    })?);
                }
            }
        }
        if let Some(batteries) = self.batteries() {
            layers.add(batteries);
        }
        Ok(layers)
    }

    /// Opens the layer of a skill, on another thread if it is not open.
    pub(crate) async fn open_layer(
        self: &Arc<Self>,
        caller: &Caller,
        key: LayerKey,
    ) -> Result<Option<Arc<UsedLayer>>, ServiceError> {
        if let Some(found) = self.find_open(key) {
            return Ok(Some(found));
        }
        let packages = Arc::clone(self);
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
