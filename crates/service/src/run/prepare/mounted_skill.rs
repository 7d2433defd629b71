//! A skill that a run mounts: its files in the form for workers, made once for each snapshot.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::packages::locked::PackageAccess;
use crate::run::prepare::compiled::CompiledSkill;
use wardian_dispatch::SkillContent;
use wardian_formats::job::SkillMount;
use wardian_formats::job::attachment::Owner;
use wardian_formats::provenance::skill_signature::SkillSigner;
use wardian_images::PackageSet;
use wardian_skills::packages::SkillNeeds;
use wardian_skills::registry::SeenSkill;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// A skill that a run mounts.
#[derive(Debug, Clone)]
pub(crate) struct MountedSkill {
    pub mount: SkillMount,
    pub content: Arc<SkillContent>,
    /// The packages of images that its code imports.
    pub packages: PackageSet,
    /// The packages that it needs.
    pub needs: Arc<SkillNeeds>,
    /// The bytecode of its code, for this run.
    pub bytecode: Option<Arc<SkillContent>>,
    /// The bytecode that all runs of its owner share.
    pub compiled: Arc<CompiledSkill>,
    /// The trusted key that has signed it.
    pub signer: Option<Arc<SkillSigner>>,
}

/// The mounts of skills, and what workers need for them.
pub(crate) fn mounts_and_contents(
    skills: Vec<MountedSkill>,
) -> (Vec<SkillMount>, Vec<Arc<SkillContent>>) {
    let mut contents = Vec::with_capacity(skills.len());
    let mut mounts = Vec::with_capacity(skills.len());
    for skill in skills {
        mounts.push(skill.mount);
        contents.push(skill.content);
        contents.extend(skill.bytecode);
    }
    (mounts, contents)
}

/// Maximum number of contents of shared skills that are kept. Beyond it all are dropped, and made
/// again when they are needed.
const MAX_SHARED: usize = 1_024;

/// Maximum number of contents of the own skills of one tenant, and of bytes of them.
const MAX_OF_TENANT: (usize, u64) = (256, 128 << 20);

/// Maximum number of contents of the own skills of all tenants, and of bytes of them. Beyond it
/// those of the tenant with the most bytes are dropped.
const MAX_OF_TENANTS: (usize, u64) = (1_024, 512 << 20);

/// Skills in the form for workers, made once for each snapshot and owner. So the time of a tenant's run
/// does not tell whether another tenant has the same skill.
#[derive(Debug, Default)]
pub(crate) struct Contents(Mutex<HashMap<Owner, OfOwner<Arc<OnceCell<Prepared>>>>>);

/// The contents of one owner.
#[derive(Debug)]
struct OfOwner<T> {
    kept: HashMap<Digest, T>,
    bytes: u64,
}

/// A skill in the form for workers.
#[derive(Debug, Clone)]
struct Prepared {
    content: Arc<SkillContent>,
    packages: PackageSet,
    needs: Arc<SkillNeeds>,
    compiled: Arc<CompiledSkill>,
}

impl Contents {
    /// Returns a skill that the caller's tenant sees, ready to be mounted. The first call for a
    /// snapshot reads and copies all its files, so a blocking thread does it.
    ///
    /// # Errors
    ///
    /// The runtime ends.
    pub(crate) async fn mounted(
        &self,
        caller: &Caller,
        seen: &SeenSkill,
        access: &Arc<PackageAccess>,
    ) -> Result<MountedSkill, ServiceError> {
        let SeenSkill { snapshot, is_own } = seen;
        let owner = if *is_own { Owner::Tenant(caller.tenant.clone()) } else { Owner::Shared };
        let prepared = self.place_of(&owner, snapshot);
        let prepare = || {
            let (snapshot, access) = (Arc::clone(snapshot), Arc::clone(access));
            caller.memory.on_thread(move || prepared_of(owner, &snapshot, &access))
        };
        let prepared = prepared.get_or_try_init(prepare).await;
        let Prepared { content, packages, needs, compiled } =
            prepared.map_err(ServiceError::Interrupted)?.clone();
        let mount = snapshot.mount();
        let signer = snapshot.signer().cloned();
        Ok(MountedSkill { mount, content, packages, needs, bytecode: None, compiled, signer })
    }

    /// The place of a skill among the contents of its owner, made if there is none.
    fn place_of(&self, owner: &Owner, snapshot: &Snapshot) -> Arc<OnceCell<Prepared>> {
        let digest = snapshot.digest();
        let mut contents = self.0.lock();
        if let Some(known) = contents.get(owner).and_then(|own| own.kept.get(&digest)) {
            return Arc::clone(known);
        }
        // The files as they are sent to workers, and twice the bytecode: as it is, and as it is sent.
        let bytecode = most_bytecode(snapshot.pack().len());
        let size = ByteCount::from(bytecode.saturating_mul(2)).as_u64();
        let size = size.saturating_add(snapshot.memory().as_u64().saturating_mul(2));
        make_room(&mut contents, owner, size);
        let place = Arc::default();
        keep(&mut contents, owner.clone(), (digest, size), Arc::clone(&place));
        place
    }
}

/// The most bytecode that is kept of a skill whose files have this size. Usual code has about as much
/// bytecode as text; a text can be written whose bytecode is hundreds of times as large.
pub(crate) const fn most_bytecode(files: usize) -> usize {
    files.saturating_mul(2).saturating_add(64 << 10)
}

/// Makes a skill ready. Takes as long as copying all its files.
fn prepared_of(owner: Owner, snapshot: &Snapshot, access: &PackageAccess) -> Prepared {
    let (files, pack) = (snapshot.files().to_vec(), Arc::clone(snapshot.pack()));
    let content = Arc::new(SkillContent::new(owner, snapshot.digest(), files, pack));
    content.share_ahead();
    let needs = Arc::new(access.needs_of(snapshot));
    Prepared { content, packages: packages_of(snapshot), needs, compiled: Arc::default() }
}

/// Drops contents if there is no room for one more of `owner` with `size` bytes.
fn make_room<T>(contents: &mut HashMap<Owner, OfOwner<T>>, owner: &Owner, size: u64) {
    let is_over = |(count, bytes): (usize, u64), (most, most_bytes)| {
        count >= most || bytes.saturating_add(size) > most_bytes
    };
    let own = contents.get(owner).map_or((0, 0), |own| (own.kept.len(), own.bytes));
    let is_shared = *owner == Owner::Shared;
    if is_over(own, if is_shared { (MAX_SHARED, u64::MAX) } else { MAX_OF_TENANT }) {
        contents.remove(owner);
    }
    if is_shared {
        return;
    }
    loop {
        let of_tenants = || contents.iter().filter(|(owner, _)| **owner != Owner::Shared);
        let count: usize = of_tenants().map(|(_, own)| own.kept.len()).sum();
        let bytes = of_tenants().map(|(_, own)| own.bytes).fold(0, u64::saturating_add);
        // Whoever has most of what is too much makes room.
        let has_too_many = count >= MAX_OF_TENANTS.0;
        let largest = of_tenants().max_by_key(|(_, own)| {
            if has_too_many {
                (u64::try_from(own.kept.len()).unwrap_or(u64::MAX), own.bytes)
            } else {
                (own.bytes, 0)
            }
        });
        match largest.map(|(owner, _)| owner.clone()) {
            Some(largest) if is_over((count, bytes), MAX_OF_TENANTS) => contents.remove(&largest),
            _ => return,
        };
    }
}

fn keep<T>(
    contents: &mut HashMap<Owner, OfOwner<T>>,
    owner: Owner,
    (digest, size): (Digest, u64),
    content: T,
) {
    let nothing = || OfOwner { kept: HashMap::new(), bytes: 0 };
    let own = contents.entry(owner).or_insert_with(nothing);
    own.kept.insert(digest, content);
    own.bytes = own.bytes.saturating_add(size);
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

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::ids::TenantId;

    fn tenant(number: usize) -> Owner {
        Owner::Tenant(TenantId::parse(&format!("t{number}")).unwrap())
    }

    #[test]
    fn a_tenant_with_many_skills_drops_its_own_contents_before_those_of_others() {
        let mut contents: HashMap<Owner, OfOwner<()>> = HashMap::new();
        let mut add = |owner: Owner, number: usize, size: u64| {
            make_room(&mut contents, &owner, size);
            let digest = Digest::of(&number.to_le_bytes());
            keep(&mut contents, owner, (digest, size), ());
            let of_tenants = contents.iter().filter(|(owner, _)| **owner != Owner::Shared);
            let sums = of_tenants.fold((0, 0), |(count, bytes), (_, own)| {
                assert!(
                    (own.kept.len(), own.bytes) <= MAX_OF_TENANT && own.bytes <= MAX_OF_TENANT.1
                );
                (count + own.kept.len(), bytes + own.bytes)
            });
            assert!(sums.0 <= MAX_OF_TENANTS.0 && sums.1 <= MAX_OF_TENANTS.1, "{sums:?}");
            let count = |owner: &Owner| contents.get(owner).map_or(0, |own| own.kept.len());
            assert!(count(&Owner::Shared) <= MAX_SHARED);
            (count(&Owner::Shared), count(&tenant(1)))
        };
        for number in 0..100 {
            add(Owner::Shared, number, 1 << 20);
        }
        for number in 0..10 {
            add(tenant(1), number, 1_000);
        }
        for number in 0..3_000 {
            assert_eq!(add(tenant(0), number, 1_000), (100, 10));
        }
        for number in 0..100 {
            assert_eq!(add(tenant(0), number, 64 << 20), (100, 10));
        }
        for other in 2..40 {
            for number in 0..30 {
                add(tenant(other), number, 40 << 20);
            }
        }
        assert_eq!(add(tenant(2), 0, 1), (100, 10), "tenants with little keep it");
        for number in 0..6_000 {
            add(tenant(2 + number % 300), number, 9);
            add(Owner::Shared, number, 1);
        }
    }
}
