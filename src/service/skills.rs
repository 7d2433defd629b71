//! Finding skills, and handing them to workers.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::dispatch::SkillContent;
use crate::ids::{BlobId, Digest, SkillName, SkillVersion};
use crate::images::Needs;
use crate::protocol::check::ParamsError;
use crate::registry::index::Index;
use crate::registry::snapshot::Snapshot;
use crate::service::bytecode::{Compiled, is_python};
use crate::service::run::MountedSkill;
use crate::service::{Service, ServiceError};

/// Most contents that are kept for workers; more are made again when they are needed.
const MAX_CONTENTS: usize = 1_024;

/// Skills in the form that workers get, made once for each snapshot.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<HashMap<Digest, Prepared>>);

/// A skill in the form that workers get.
#[derive(Debug, Clone)]
struct Prepared {
    content: Arc<SkillContent>,
    needs: Needs,
    compiled: Compiled,
}

impl Contents {
    fn of(&self, snapshot: &Snapshot) -> Prepared {
        let mut contents = self.0.lock();
        if contents.len() >= MAX_CONTENTS {
            contents.clear();
        }
        let prepared = contents.entry(snapshot.digest()).or_insert_with(|| {
            let (files, pack) = (snapshot.files().to_vec(), Arc::clone(snapshot.pack()));
            let content = Arc::new(SkillContent::new(snapshot.digest(), files, pack));
            Prepared { content, needs: needs_of(snapshot), compiled: Compiled::default() }
        });
        prepared.clone()
    }
}

/// What the code of a skill imports, and what its manifest asks for beyond that.
fn needs_of(snapshot: &Snapshot) -> Needs {
    let asked = snapshot.manifest().runtime.iter().flat_map(|runtime| &runtime.preload);
    let asked = asked.fold(Needs::NONE, |needs, module| needs.with_module(module));
    let code = snapshot.files().iter().filter(|file| is_python(&file.path));
    let code = code.filter_map(|file| {
        let (start, size) = (usize::try_from(file.offset).ok()?, usize::try_from(file.size).ok()?);
        let bytes = snapshot.pack().get(start..start.checked_add(size)?)?;
        std::str::from_utf8(bytes).ok()
    });
    code.fold(asked, |needs, source| needs.union(Needs::of_source(source)))
}

impl Service {
    /// All skills. Never waits for a disk.
    #[expect(clippy::unused_async, reason = "the methods that call it are asynchronous")]
    pub(super) async fn skills(&self) -> Result<Arc<Index>, ServiceError> {
        Ok(self.registry.current())
    }

    /// A skill by the name and version of a call.
    pub(super) async fn find_skill(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<Arc<Snapshot>, ServiceError> {
        let name = SkillName::parse(name)?;
        let version = version.map(SkillVersion::parse).transpose()?;
        let index = self.skills().await?;
        Ok(Arc::clone(index.find(&name, version.as_ref())?))
    }

    /// Skills that code mounts, in their latest versions.
    pub(super) async fn mounted_skills(
        &self,
        names: &[String],
    ) -> Result<Vec<MountedSkill>, ServiceError> {
        let mut skills: Vec<MountedSkill> = Vec::with_capacity(names.len());
        for name in names {
            let (name, version) = match name.split_once('@') {
                Some((name, version)) => (name, Some(version)),
                None => (name.as_str(), None),
            };
            let snapshot = self.find_skill(name, version).await?;
            let mounted = self.mounted(&snapshot);
            if skills.iter().any(|other| other.mount.name == mounted.mount.name) {
                return Err(duplicate("mount_skills", name));
            }
            skills.push(mounted);
        }
        Ok(skills)
    }

    /// A skill as a run sees it.
    pub(super) fn mounted(&self, snapshot: &Snapshot) -> MountedSkill {
        let Prepared { content, needs, compiled } = self.contents.of(snapshot);
        MountedSkill { mount: snapshot.mount(), content, needs, bytecode: None, compiled }
    }
}

/// The blobs that a call mounts, each once.
pub(super) fn blob_ids(texts: &[String]) -> Result<Vec<BlobId>, ServiceError> {
    let mut ids: Vec<BlobId> = Vec::with_capacity(texts.len());
    for text in texts {
        let Ok(id) = BlobId::parse(text) else {
            return Err(ServiceError::NoSuchBlob { id: text.clone() });
        };
        if ids.contains(&id) {
            return Err(duplicate("input_blobs", text));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn duplicate(parameter: &str, name: &str) -> ServiceError {
    ParamsError::wrong(parameter, "a list without repetitions", format!("`{name}` twice")).into()
}
