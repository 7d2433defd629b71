//! Checks that the folders of tenants' own skills are apart from those of others.
//!
//! INVARIANT(folders-apart): a tenant's folder never equals, contains or lies inside a shared folder,
//! and never contains or lies inside another tenant's. A skill has all files of its folder, so it
//! would otherwise have the files of another tenant's skills.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::registry::config::TenantFolders;
use crate::registry::error::{AtPath, RegistryError, RootOwner};
use crate::registry::folders::handle::Dir;
use crate::registry::folders::scan::FolderId;
use wardian_vocabulary::ids::TenantId;

/// Maximum number of folders that one may lie in.
const MAX_ABOVE: usize = 2_048;

/// Checks that each folder of a tenant can be read and is apart from those of others. Folders are
/// compared, not paths, so links do not matter.
///
/// # Errors
///
/// The first folder that is wrong.
pub fn check_tenant_folders(
    shared: &[PathBuf],
    tenants: &TenantFolders,
) -> Result<(), RegistryError> {
    if tenants.roots.is_empty() {
        return Ok(());
    }
    let mut own = Vec::new();
    for (tenant, path) in folders_of(tenants) {
        let chain = chain(path).map_err(|cause| {
            let cause = AtPath { path: path.clone(), cause };
            RegistryError::TenantRoot { tenant: tenant.clone(), cause }
        })?;
        own.push((tenant, path, chain));
    }
    // A shared folder that cannot be read stops the start by itself.
    let shared: Vec<_> = shared.iter().filter_map(|path| Some((path, chain(path).ok()?))).collect();
    let of_all: HashMap<FolderId, &PathBuf> =
        shared.iter().filter_map(|(path, chain)| Some((*chain.first()?, *path))).collect();
    let mut of_tenants: HashMap<FolderId, (&TenantId, &PathBuf)> = HashMap::new();
    for (tenant, path, chain) in &own {
        if let Some(other) = chain.iter().find_map(|id| of_all.get(id)) {
            return Err(in_common(tenant, path, other, RootOwner::Everyone));
        }
        chain.first().map(|id| of_tenants.entry(*id).or_insert((tenant, path)));
    }
    let around = |chain: &[FolderId]| chain.iter().skip(1).find_map(|id| of_tenants.get(id));
    for (path, chain) in &shared {
        if let Some((tenant, own)) = around(chain) {
            return Err(in_common(tenant, own, path, RootOwner::Everyone));
        }
    }
    for (tenant, path, chain) in &own {
        if let Some((owner, other)) = around(chain) {
            return Err(in_common(tenant, path, other, RootOwner::Tenant((*owner).clone())));
        }
    }
    Ok(())
}

/// Checks a root whose path leads to another folder now: it must be apart from these. Their owners
/// may be able to move folders and links, so what was checked at the start need not hold any more.
///
/// # Errors
///
/// It is one of them, lies in one, or has one inside; or it cannot be read.
pub(crate) fn ensure_apart(moved: &Dir, others: &[&PathBuf]) -> io::Result<()> {
    let moved = chain_of(moved)?;
    // One that cannot be read now is checked when it can be.
    for other in others.iter().filter_map(|path| chain(path).ok()) {
        let is_in =
            |one: &[FolderId], all: &[FolderId]| one.first().is_some_and(|id| all.contains(id));
        if is_in(&moved, &other) || is_in(&other, &moved) {
            let fault = "it leads to a folder of another owner, into one, or around one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
        }
    }
    Ok(())
}

/// The identities of a folder that can be listed, and of those that it lies in, up to the root.
fn chain(path: &Path) -> io::Result<Vec<FolderId>> {
    chain_of(&Dir::open_path(path)?)
}

fn chain_of(folder: &Dir) -> io::Result<Vec<FolderId>> {
    let id_of = |folder: &Dir| folder.see().map(|seen| (seen.dev(), seen.ino()));
    let mut chain = vec![id_of(folder)?];
    let mut above = folder.open_parent()?;
    for _ in 0..MAX_ABOVE {
        let id = id_of(&above)?;
        if chain.last() == Some(&id) {
            return Ok(chain);
        }
        chain.push(id);
        above = above.open_parent()?;
    }
    Err(io::ErrorKind::InvalidFilename.into())
}

fn folders_of(tenants: &TenantFolders) -> impl Iterator<Item = (&TenantId, &PathBuf)> {
    tenants.roots.iter().flat_map(|(tenant, roots)| roots.iter().map(move |root| (tenant, root)))
}

fn in_common(tenant: &TenantId, path: &Path, other: &Path, of: RootOwner) -> RegistryError {
    let (path, other) = (path.to_owned(), other.to_owned());
    RegistryError::TenantRootInCommon { tenant: tenant.clone(), path, other, of }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn check(base: &Path, shared: &[&str], tenants: &[(&str, &str)]) -> Result<(), String> {
        let at = |path: &&str| base.join(path);
        let mut folders = TenantFolders::default();
        for (tenant, path) in tenants {
            let tenant = TenantId::parse(tenant).unwrap();
            folders.roots.entry(tenant).or_default().push(at(path));
        }
        let shared: Vec<PathBuf> = shared.iter().map(at).collect();
        check_tenant_folders(&shared, &folders).map_err(|error| {
            wardian_vocabulary::error::CauseChain(&error)
                .to_string()
                .replace(base.to_str().unwrap(), "")
        })
    }

    #[test]
    fn folders_apart_from_shared_ones_and_from_those_of_other_tenants() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        for path in ["s", "s-1", "s/t", "a", "a-b", "a/b", "a/b/c", "z"] {
            fs::create_dir_all(base.join(path)).unwrap();
        }
        symlink("s/t", base.join("link")).unwrap();
        let check = |shared: &[&str], tenants: &[(&str, &str)]| check(base, shared, tenants);
        assert_eq!(check(&["s"], &[("acme", "s-1"), ("beta", "a"), ("beta", "a-b")]), Ok(()));
        assert_eq!(check(&["s"], &[("acme", "a"), ("beta", "a"), ("beta", "a/")]), Ok(()));
        // Paths that nobody can read are not folders of skills, and stop the start by themselves.
        assert_eq!(check(&["nowhere"], &[("acme", "a")]), Ok(()));
        for (shared, tenants, expected) in [
            (
                &["s"][..],
                &[("acme", "s")][..],
                "/s with skills of the tenant `acme` equals, contains or lies inside /s, which is \
                 a folder of `skills.roots`",
            ),
            (&["s"], &[("acme", "s/t")], "/s/t with skills of the tenant `acme` equals"),
            (&["s"], &[("acme", "link")], "/link with skills of the tenant `acme` equals"),
            (&["s/t"], &[("acme", "s")], "lies inside /s/t, which is a folder of `skills.roots`"),
            (
                &["s", "z"],
                &[("acme", "a"), ("beta", "a/b/c")],
                "/a/b/c with skills of the tenant `beta` equals, contains or lies inside /a, which \
                 is a folder of the tenant `acme`",
            ),
            (
                &[],
                &[("acme", "a/b/c"), ("beta", "a"), ("gamma", "a-b")],
                "lies inside /a, which is a folder of the tenant `beta`",
            ),
            (&[], &[("acme", "a"), ("acme", "a/b")], "which is a folder of the tenant `acme`"),
            (
                &[],
                &[("acme", "z"), ("beta", "nowhere")],
                "a folder of skills of the tenant `beta` cannot be read: /nowhere",
            ),
        ] {
            let told = check(shared, tenants).unwrap_err();
            assert!(told.contains(expected), "{told}");
            assert_eq!(told.lines().count(), 1);
        }
    }
}
