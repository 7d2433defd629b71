//! A skill that a run mounts: its files in the form for workers, made once for each snapshot.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::dispatch::SkillContent;
use crate::ids::Digest;
use crate::images::PackageSet;
use crate::job::SkillMount;
use crate::packages::SkillNeeds;
use crate::registry::folders::snapshot::Snapshot;
use crate::service::run::packages::PackageAccess;

/// A skill that a run mounts.
#[derive(Debug, Clone)]
pub(crate) struct MountedSkill {
    pub(crate) mount: SkillMount,
    pub(crate) content: Arc<SkillContent>,
    /// The packages of images that its code imports.
    pub(crate) packages: PackageSet,
    /// The packages that it needs.
    pub(crate) needs: Arc<SkillNeeds>,
    /// The bytecode of its code, for this run.
    pub(crate) bytecode: Option<Arc<SkillContent>>,
    /// The bytecode that all runs share.
    pub(crate) compiled: Compiled,
}

/// The bytecode of a skill; `None` inside if it cannot be compiled.
pub(crate) type Compiled = Arc<OnceCell<Option<Arc<SkillContent>>>>;

/// Most contents that are kept. Beyond it all are dropped, and made again when they are needed.
const MAX_CONTENTS: usize = 1_024;

/// Skills in the form for workers, made once for each snapshot.
#[derive(Debug, Default)]
pub(crate) struct Contents(Mutex<HashMap<Digest, Prepared>>);

/// A skill in the form for workers.
#[derive(Debug, Clone)]
struct Prepared {
    content: Arc<SkillContent>,
    packages: PackageSet,
    needs: Arc<SkillNeeds>,
    compiled: Compiled,
}

impl Contents {
    /// Returns the skill of a snapshot, ready to be mounted.
    pub(crate) fn mounted(&self, snapshot: &Snapshot, access: &PackageAccess) -> MountedSkill {
        let Prepared { content, packages, needs, compiled } = self.of(snapshot, access);
        MountedSkill { mount: snapshot.mount(), content, packages, needs, bytecode: None, compiled }
    }

    fn of(&self, snapshot: &Snapshot, access: &PackageAccess) -> Prepared {
        let mut contents = self.0.lock();
        if contents.len() >= MAX_CONTENTS {
            contents.clear();
        }
        let prepared = contents.entry(snapshot.digest()).or_insert_with(|| {
            let (files, pack) = (snapshot.files().to_vec(), Arc::clone(snapshot.pack()));
            let content = Arc::new(SkillContent::new(snapshot.digest(), files, pack));
            let needs = Arc::new(access.needs_of(snapshot));
            let (packages, compiled) = (packages_of(snapshot), Compiled::default());
            Prepared { content, packages, needs, compiled }
        });
        prepared.clone()
    }
}

/// The packages that the code of a skill imports, and those that its manifest preloads.
fn packages_of(snapshot: &Snapshot) -> PackageSet {
    let asked = snapshot.manifest().runtime.iter().flat_map(|runtime| &runtime.preload);
    let asked = asked.fold(PackageSet::NONE, |packages, module| packages.with_module(module));
    let code = snapshot.files().iter().filter(|file| is_python(&file.path));
    let code = code.filter_map(|file| {
        let (start, size) = (usize::try_from(file.offset).ok()?, usize::try_from(file.size).ok()?);
        let bytes = snapshot.pack().get(start..start.checked_add(size)?)?;
        std::str::from_utf8(bytes).ok()
    });
    code.fold(asked, |packages, source| packages.union(PackageSet::of_source(source)))
}

/// True for the path of a Python file.
pub(crate) fn is_python(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "py")
}
