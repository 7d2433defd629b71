//! A folder of packages.
//!
//! ```text
//! <folder>/acme.sales.report/1.0.0.tar                           the package, never replaced
//! <folder>/acme.sales.report/1.0.0.0123456789abcdef.dsse.json    a signature of it, by the first digits of the key's id
//! ```

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::archive;
use crate::error::SourceError;
use crate::folder::read_file;
use crate::package::layout::{
    MAX_PACKAGE, add_package, chosen, find_version, is_signature, package_name, signature_name,
    version_of,
};
use crate::package::skill_package::{
    MAX_READ_BYTES, MAX_READ_SIGNATURES, PackagedSkill, Publication, SkillPackage, keep_envelope,
    taken,
};
use crate::tree::{MAX_FILES, Tree};
use wardian_formats::provenance::skill_signature::{MAX_SIGNATURES_SIZE, SkillSignatures};
use wardian_formats::skill::{DOCUMENT_FILE, MANIFEST_FILE};
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

/// Publishes a package in a folder.
pub(crate) fn publish(folder: &Path, package: &SkillPackage) -> Result<Publication, SourceError> {
    let claim = &package.claim;
    let shelf = folder.join(claim.name.as_str());
    fs::create_dir_all(&shelf).map_err(|cause| named(&shelf, cause))?;
    let place = shelf.join(package_name(&claim.version));
    let is_new = put(&place, &package.bytes)?;
    if !is_new && read_file(&place, MAX_PACKAGE)? != package.bytes {
        return Err(taken(claim));
    }
    let mut is_signature_new = false;
    if let Some(envelope) = &package.envelope {
        let text = envelope.text().map_err(|fault| SourceError::NotASource(fault.to_string()))?;
        let beside = shelf.join(signature_name(&claim.version, envelope.key_id()));
        is_signature_new = put(&beside, text.as_bytes())?;
        if !is_signature_new && read_file(&beside, MAX_SIGNATURES_SIZE.as_u64())? != text.as_bytes()
        {
            return Err(SourceError::File {
                path: beside.display().to_string(),
                cause: io::Error::other("is there, and is not the signature of this package"),
            });
        }
    }
    let place = place.display().to_string();
    Ok(Publication { place, is_new, is_signature_new, moved_from: None })
}

/// Writes a file as a whole, unless there is one. True if there was none.
fn put(place: &Path, content: &[u8]) -> Result<bool, SourceError> {
    let named = |cause| named(place, cause);
    let folder = place.parent().unwrap_or(place);
    if place.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let file = tempfile::Builder::new().prefix(".publishing-").tempfile_in(folder);
    let mut file = file.map_err(named)?;
    file.write_all(content).map_err(named)?;
    // What is published is for others to read.
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(named)?;
    file.as_file().sync_all().map_err(named)?;
    match file.persist_noclobber(place) {
        Ok(_file) => {}
        // Another command was faster.
        Err(fault) if fault.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(fault) => return Err(named(fault.error)),
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(named)?;
    Ok(true)
}

/// Adds the packages of a folder to a tree: the one of a pinned revision, or the latest of each skill. `None` if the folder
/// has no packages.
pub(crate) fn fetch(
    folder: &Path,
    pinned: Option<&str>,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<PackagedSkill>>, SourceError> {
    if is_skill(folder) {
        return Ok(None);
    }
    if name_of(folder).is_some() {
        let versions = versions_in(folder)?;
        if !versions.is_empty() {
            let version = find_version(&versions, pinned)?;
            return Ok(Some(vec![unpack(folder, version, "", tree, notes)?]));
        }
    }
    let mut found = Vec::new();
    for (count, entry) in fs::read_dir(folder).map_err(|cause| named(folder, cause))?.enumerate() {
        let entry = entry.map_err(|cause| named(folder, cause))?;
        let is_folder = entry.file_type().map_err(|cause| named(folder, cause))?.is_dir();
        if count >= MAX_FILES {
            return Err(SourceError::TooLarge(format!("more than {MAX_FILES} entries")));
        }
        if is_folder && is_skill(&entry.path()) {
            return Ok(None);
        }
        let Some(name) = name_of(&entry.path()).filter(|_| is_folder) else { continue };
        if let Some(version) = chosen(&versions_in(&entry.path())?, None) {
            found.push((name, version.clone()));
        }
    }
    found.sort();
    let packages = found.into_iter().map(|(name, version)| {
        unpack(&folder.join(name.as_str()), &version, name.as_str(), tree, notes)
    });
    let packages = packages.collect::<Result<Vec<_>, _>>()?;
    Ok((!packages.is_empty()).then_some(packages))
}

/// Adds the files of an archive to a tree: of a package, or of any other.
pub(crate) fn fetch_file(
    path: &Path,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<PackagedSkill, SourceError> {
    let bytes = read_file(path, MAX_PACKAGE)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_PACKAGE {
        let most = MAX_PACKAGE >> 20;
        return Err(SourceError::TooLarge(format!("an archive of more than {most} MiB")));
    }
    archive::unpack(&bytes, tree)?;
    let digest = Digest::of(&bytes);
    let signatures = signatures_beside(path, digest, notes)?;
    let (folder, revision) = (String::new(), format!("sha256:{digest}"));
    // The user has typed the name of the file, and may have given it.
    Ok(PackagedSkill { folder, revision, signatures, promised: None })
}

/// The signatures of a package in a file, if it lies in a folder of packages.
fn signatures_beside(
    place: &Path,
    package: Digest,
    notes: &mut Vec<String>,
) -> Result<SkillSignatures, SourceError> {
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match (version_of(name), place.parent()) {
        (Some(version), Some(folder)) => signatures_of(folder, &version, package, notes),
        _ => Ok(SkillSignatures::default()),
    }
}

fn unpack(
    folder: &Path,
    version: &SkillVersion,
    below: &str,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<PackagedSkill, SourceError> {
    let bytes = read_file(&folder.join(package_name(version)), MAX_PACKAGE)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_PACKAGE {
        return Err(SourceError::TooLarge(format!(
            "a package of more than {} MiB",
            MAX_PACKAGE >> 20
        )));
    }
    let digest = Digest::of(&bytes);
    add_package(&bytes, below, tree, notes)?;
    let signatures = signatures_of(folder, version, digest, notes)?;
    let revision = format!("{version} sha256:{digest}");
    let promised = name_of(folder).map(|name| (name, version.clone()));
    Ok(PackagedSkill { folder: below.to_owned(), revision, signatures, promised })
}

fn signatures_of(
    folder: &Path,
    version: &SkillVersion,
    package: Digest,
    notes: &mut Vec<String>,
) -> Result<SkillSignatures, SourceError> {
    let mut names = names_in(folder)?;
    names.sort();
    let (mut signatures, mut room) = (SkillSignatures::default(), MAX_READ_BYTES);
    let found: Vec<&String> = names.iter().filter(|name| is_signature(version, name)).collect();
    for (count, name) in found.iter().enumerate() {
        if count >= MAX_READ_SIGNATURES || room == 0 {
            let left = found.len().saturating_sub(count);
            notes.push(format!("{left} further signatures of {version} were not read"));
            break;
        }
        // What is no signature makes the package an unsigned one, and nothing more.
        match read_file(&folder.join(name), MAX_SIGNATURES_SIZE.as_u64()) {
            Ok(text) => {
                room = room.saturating_sub(u64::try_from(text.len()).unwrap_or(u64::MAX));
                keep_envelope(&text, package, &mut signatures, notes);
            }
            Err(fault) => notes.push(format!("a signature was left out: {fault}")),
        }
    }
    Ok(signatures)
}

/// True for the folder of a skill: it is not one of packages.
fn is_skill(folder: &Path) -> bool {
    [DOCUMENT_FILE, MANIFEST_FILE].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// The name of the skill whose packages a folder may have.
fn name_of(folder: &Path) -> Option<SkillName> {
    SkillName::parse(folder.file_name()?.to_str()?).ok()
}

/// The versions of which a folder has packages.
fn versions_in(folder: &Path) -> Result<Vec<SkillVersion>, SourceError> {
    let names = names_in(folder)?;
    Ok(names.iter().filter_map(|name| version_of(name)).collect())
}

fn names_in(folder: &Path) -> Result<Vec<String>, SourceError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|cause| named(folder, cause))? {
        let entry = entry.map_err(|cause| named(folder, cause))?;
        if names.len() >= MAX_FILES {
            return Err(SourceError::TooLarge(format!("more than {MAX_FILES} entries")));
        }
        names.extend(entry.file_name().into_string().ok());
    }
    Ok(names)
}

fn named(path: &Path, cause: io::Error) -> SourceError {
    SourceError::File { path: path.display().to_string(), cause }
}
