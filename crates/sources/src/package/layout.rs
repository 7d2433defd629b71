//! The names and contents of packages, in a folder and in an object store.

use crate::archive;
use crate::error::{SourceError, shown};
use crate::tree::Tree;
use wardian_formats::skill::{DOCUMENT_FILE, MANIFEST_FILE};
use wardian_vocabulary::ids::SkillVersion;

/// Largest package.
pub(crate) const MAX_PACKAGE: u64 = 256 << 20;

/// The end of the name of a package.
const PACKAGE: &str = ".tar";

/// The end of the name of a signature.
const SIGNATURE: &str = ".dsse.json";

/// Digits of the id of a key in the name of its signature.
const KEY_DIGITS: usize = 16;

/// The name of the package of a version.
pub(crate) fn package_name(version: &SkillVersion) -> String {
    format!("{version}{PACKAGE}")
}

/// The name of the signature of a version by the key with this id.
pub(crate) fn signature_name(version: &SkillVersion, key_id: &str) -> String {
    let key: String = key_id.chars().take(KEY_DIGITS).collect();
    format!("{version}.{key}{SIGNATURE}")
}

/// The version whose package has this name.
pub(crate) fn version_of(name: &str) -> Option<SkillVersion> {
    SkillVersion::parse(name.strip_suffix(PACKAGE)?).ok()
}

/// True for the name of a signature of a version.
pub(crate) fn is_signature(version: &SkillVersion, name: &str) -> bool {
    let rest = name.strip_prefix(&format!("{version}.")).unwrap_or_default();
    let key = rest.strip_suffix(SIGNATURE).unwrap_or_default();
    key.len() == KEY_DIGITS && key.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The version that is wanted, or the latest: the highest that is no pre-release, else the highest.
pub(crate) fn chosen<'v>(
    versions: &'v [SkillVersion],
    wanted: Option<&str>,
) -> Option<&'v SkillVersion> {
    match wanted {
        Some(wanted) => versions.iter().find(|version| version.as_str() == wanted),
        None => versions.iter().max_by_key(|version| (!version.is_prerelease(), *version)),
    }
}

/// The version of a pinned revision (`1.0.0 sha256:…`), or the latest.
pub(crate) fn find_version<'v>(
    versions: &'v [SkillVersion],
    pinned: Option<&str>,
) -> Result<&'v SkillVersion, SourceError> {
    let wanted = pinned.and_then(|revision| revision.split(' ').next());
    chosen(versions, wanted).ok_or_else(|| {
        let version = shown(wanted.unwrap_or_default());
        SourceError::NotASource(format!("the folder has no package of the version {version}"))
    })
}

/// Adds the files of a package to a tree, below a folder of it.
pub(crate) fn add_package(
    bytes: &[u8],
    below: &str,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<(), SourceError> {
    let mut own = Tree::default();
    archive::unpack(bytes, &mut own)?;
    // A skill below it would be one without signatures, and of any name.
    if !own.files().any(|(path, _)| [DOCUMENT_FILE, MANIFEST_FILE].contains(&path)) {
        return Err(SourceError::damaged("the package", "it has no skill at its root"));
    }
    for (path, content) in own.files() {
        let path = if below.is_empty() { path.to_owned() } else { format!("{below}/{path}") };
        tree.add(&path, content.to_vec())?;
    }
    notes.extend(own.notes());
    Ok(())
}
