//! The folder of published skills: checks packages, makes them visible, and removes versions.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::registry::folders::folder_check::check_signed_folder;
use crate::registry::folders::trust::{SkillTrust, signatures_in};
use crate::registry::publishing::error::PublishError;
use crate::registry::publishing::package::unpack;
use wardian_formats::provenance::skill_signature::{SIGNATURES_FILE, SkillClaim, SkillSignatures};
use wardian_formats::skill::diagnostic::Diagnostic;
use wardian_vocabulary::ids::{SkillName, SkillVersion, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Where a skill is made before it is visible; hidden folders are not skills.
const NEW: &str = ".new-";

/// The digests of all versions that were published.
const DIGESTS: &str = ".digests";

/// Most versions that one tenant publishes in all.
const MAX_DIGESTS: usize = 20_000;

/// Most findings that a refusal names.
const MAX_FINDINGS: usize = 10;

/// A version of a skill that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedVersion {
    /// The digest of its files.
    pub digest: String,
    /// False if the same content already existed.
    pub is_new: bool,
    /// Findings that are not errors, one line each.
    pub warnings: Vec<String>,
}

/// The bounds of what one tenant publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishBounds {
    /// Most versions of skills.
    pub folders: usize,
    /// Maximum number of bytes of all of their files.
    pub bytes: ByteCount,
}

/// The skills that callers have published.
#[derive(Debug)]
pub struct PublishedStore {
    folder: PathBuf,
    bounds: PublishBounds,
    trust: Arc<SkillTrust>,
    /// One at a time: the quota and the versions are looked at before something is made.
    writing: Mutex<()>,
}

impl PublishedStore {
    /// The skills in `folder`, which is made when the first one is published. What a crash has left
    /// unfinished is removed. What `trust` refuses is not published.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn open(
        folder: PathBuf,
        bounds: PublishBounds,
        trust: Arc<SkillTrust>,
    ) -> io::Result<Self> {
        for tenant in roots_in(&folder)?.into_values() {
            for entry in fs::read_dir(&tenant)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(NEW) {
                    fs::remove_dir_all(entry.path())?;
                }
            }
        }
        Ok(Self { folder, bounds, trust, writing: Mutex::new(()) })
    }

    /// Publishes a version: unpacks and checks the package, and makes it visible. If the same content is there, the
    /// signatures of the package are added to those that are there.
    ///
    /// # Errors
    ///
    /// See [`PublishError`]. Nothing of the skill is left then.
    pub fn publish(
        &self,
        tenant: &TenantId,
        (name, version): (&SkillName, &SkillVersion),
        package: &mut dyn Read,
        size: u64,
    ) -> Result<PublishedVersion, PublishError> {
        let _one = self.writing.lock();
        let root = self.folder.join(tenant.as_str());
        let folder_name = format!("{name}@{version}");
        private_folder(&self.folder)?;
        private_folder(&root)?;
        private_folder(&root.join(DIGESTS))?;
        let (folders, bytes) = used(&root)?;
        let room = self.bounds.bytes.as_u64().saturating_sub(bytes);
        let staging = tempfile::Builder::new().prefix(NEW).tempdir_in(&root)?;
        let made = staging.path().join(&folder_name);
        fs::create_dir(&made)?;
        unpack(package, size, room, &made)?;
        let (claim, warnings) = checked(&made, (name, version), &self.trust)?;
        let digest = claim.digest.to_string();
        let noted = root.join(DIGESTS).join(&folder_name);
        let before = read_if_there(&noted)?;
        if before.as_ref().is_some_and(|before| *before != digest) {
            let (name, version) = (name.to_string(), version.to_string());
            return Err(PublishError::Taken { name, version });
        }
        let place = root.join(&folder_name);
        if place.try_exists()? {
            merge_signatures(&claim, (&made, &place), &self.trust)?;
            return Ok(PublishedVersion { digest, is_new: false, warnings });
        }
        if folders >= self.bounds.folders {
            return Err(PublishError::Full(format!("{folders} versions of skills")));
        }
        if before.is_none() {
            if fs::read_dir(root.join(DIGESTS))?.count() >= MAX_DIGESTS {
                return Err(PublishError::Full(format!("{MAX_DIGESTS} versions ever published")));
            }
            write_whole(&noted, &digest)?;
        }
        sync_below(&made)?;
        fs::rename(&made, &place)?;
        sync(&root)?;
        Ok(PublishedVersion { digest, is_new: true, warnings })
    }

    /// Removes a version. Runs that have begun with it end with it.
    ///
    /// # Errors
    ///
    /// The tenant has not published it, or the disk failed.
    pub fn unpublish(
        &self,
        tenant: &TenantId,
        (name, version): (&SkillName, &SkillVersion),
    ) -> Result<(), PublishError> {
        let _one = self.writing.lock();
        let root = self.folder.join(tenant.as_str());
        let place = root.join(format!("{name}@{version}"));
        if !place.try_exists()? {
            let (name, version) = (name.to_string(), version.to_string());
            return Err(PublishError::Missing { name, version });
        }
        // It is gone as a whole, whenever the machine stops.
        let gone = tempfile::Builder::new().prefix(NEW).tempdir_in(&root)?;
        fs::rename(&place, gone.path().join("skill"))?;
        sync(&root)?;
        gone.close()?;
        Ok(())
    }
}

/// The folders of tenants in `folder`; none if it does not exist.
pub(crate) fn roots_in(folder: &Path) -> io::Result<BTreeMap<TenantId, PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(fault) => return Err(fault),
    };
    let mut roots = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let tenant = entry.file_name().to_str().and_then(|name| TenantId::parse(name).ok());
        if let Some(tenant) = tenant.filter(|_| entry.path().is_dir()) {
            roots.insert(tenant, entry.path());
        }
    }
    Ok(roots)
}

/// What a skill is that was unpacked, and its warnings.
fn checked(
    folder: &Path,
    (name, version): (&SkillName, &SkillVersion),
    trust: &SkillTrust,
) -> Result<(SkillClaim, Vec<String>), PublishError> {
    let check = check_signed_folder(folder, trust);
    let check = check.map_err(|_fault| io::Error::other("the skill was not read"))?;
    let lines = |errors: bool| {
        let findings = check.diagnostics.iter().filter(move |one| one.is_error() == errors);
        findings.take(MAX_FINDINGS).map(Diagnostic::to_string).collect::<Vec<_>>()
    };
    let Some(skill) = check.snapshot.as_ref().filter(|_| lines(true).is_empty()) else {
        return Err(PublishError::Skill(lines(true).join("; ")));
    };
    if (skill.name(), skill.version()) != (name, version) {
        let (found, other) = (skill.name(), skill.version());
        return Err(PublishError::Skill(format!(
            "its manifest says `{found}@{other}`, but the request says `{name}@{version}`"
        )));
    }
    Ok((skill.claim(), lines(false)))
}

/// Adds the signatures of a skill in the folder `made` to those of the same content in `place`. The file is replaced as a
/// whole. Those of other skills and versions are left out.
fn merge_signatures(
    claim: &SkillClaim,
    (made, place): (&Path, &Path),
    trust: &SkillTrust,
) -> io::Result<()> {
    let Some(mut new) = signatures_in(made).ok().flatten() else { return Ok(()) };
    // A file that cannot be read vouches for nothing.
    let old = signatures_in(place).ok().flatten().unwrap_or_default();
    new.keep_for(claim);
    let mut merged = old.clone();
    // Where there is no room for all, those that are trusted displace the others, and none displaces them.
    let is_trusted = |all: &SkillSignatures| trust.signer(claim, all).is_ok();
    if !merged.merge(&new) && is_trusted(&new) && !is_trusted(&old) {
        merged = new;
    }
    if merged == old {
        return Ok(());
    }
    let text = merged.text().map_err(io::Error::other)?;
    let whole = made.join(SIGNATURES_FILE);
    let mut file = File::create(&whole)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&whole, place.join(SIGNATURES_FILE))?;
    sync(place)
}

/// The number of skills in a tenant's folder, and the bytes of their files.
fn used(root: &Path) -> io::Result<(usize, u64)> {
    let (mut folders, mut bytes) = (0_usize, 0_u64);
    let mut pending = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            folders = folders.saturating_add(1);
            pending.push(entry.path());
        }
    }
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => pending.push(entry.path()),
                false => bytes = bytes.saturating_add(entry.metadata()?.len()),
            }
        }
    }
    Ok((folders, bytes))
}

fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync(folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes the names in a folder and below it durable; the contents were when they were written.
fn sync_below(folder: &Path) -> io::Result<()> {
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        sync(&next)?;
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::folders::folder_check::check_folder;
    use crate::registry::folders::trust::{NamePattern, TrustRule};
    use crate::registry::publishing::package::pack;
    use wardian_formats::provenance::PrivateKey;
    use wardian_formats::provenance::skill_signature::{SkillEnvelope, SkillKey};
    use wardian_vocabulary::ids::Digest;

    const OURS: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB\n-----END PRIVATE KEY-----\n";
    const THEIRS: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC\n-----END PRIVATE KEY-----\n";

    const BOUNDS: PublishBounds = PublishBounds { folders: 3, bytes: ByteCount::mebibytes(1) };

    fn package(version: &str, text: &str) -> Vec<u8> {
        let manifest = format!(
            "name = \"a.b\"\nversion = \"{version}\"\ndescription = \"Says nothing.\"\n\
             kind = \"instruction\"\nnamespace = \"a\"\n"
        );
        let document = format!("---\nname: A\nshort_description: Nothing.\n---\n# A\n{text}\n");
        let files = [("SKILL.md", document.as_bytes()), ("skill.toml", manifest.as_bytes())];
        let mut package = Vec::new();
        pack(&files, &mut package).unwrap();
        package
    }

    fn publish(
        skills: &PublishedStore,
        version: &str,
        package: &[u8],
    ) -> Result<PublishedVersion, PublishError> {
        let name = SkillName::parse("a.b").unwrap();
        let version = SkillVersion::parse(version).unwrap();
        let tenant = TenantId::parse("acme").unwrap();
        let size = package.len() as u64;
        skills.publish(&tenant, (&name, &version), &mut &*package, size)
    }

    fn there(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder.join("acme")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn immutable_versions_stay_what_they_were_also_when_they_are_gone() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("published");
        let skills = PublishedStore::open(folder.clone(), BOUNDS, Arc::default()).unwrap();
        let (one, two) = (package("1.0.0", "one"), package("1.0.0", "two"));
        let first = publish(&skills, "1.0.0", &one).unwrap();
        assert!(first.is_new);
        let again = publish(&skills, "1.0.0", &one).unwrap();
        assert_eq!((again.digest, again.is_new), (first.digest, false));
        assert!(publish(&skills, "1.0.0", &two).unwrap_err().is_conflict());
        let tenant = TenantId::parse("acme").unwrap();
        let name = SkillName::parse("a.b").unwrap();
        let version = SkillVersion::parse("1.0.0").unwrap();
        skills.unpublish(&tenant, (&name, &version)).unwrap();
        assert_eq!(there(&folder), [".digests"]);
        assert!(skills.unpublish(&tenant, (&name, &version)).unwrap_err().is_missing());
        let skills = PublishedStore::open(folder.clone(), BOUNDS, Arc::default()).unwrap();
        assert!(publish(&skills, "1.0.0", &two).unwrap_err().is_conflict());
        assert!(publish(&skills, "1.0.0", &one).unwrap().is_new);
        assert_eq!(there(&folder), [".digests", "a.b@1.0.0"]);
    }

    /// The signatures of these keys for what is published in `folder`.
    fn signatures_by(folder: &Path, keys: &[&PrivateKey]) -> SkillSignatures {
        let check = check_folder(&folder.join("acme/a.b@1.0.0")).unwrap();
        let claim = check.snapshot.unwrap().claim();
        let package = Digest::of(b"package");
        let envelopes = keys.iter().map(|key| SkillEnvelope::sign(&claim, package, key).unwrap());
        let envelopes: Vec<String> = envelopes.map(|one| one.text().unwrap()).collect();
        let text = format!("{{\"envelopes\":[{}]}}", envelopes.join(","));
        SkillSignatures::read(text.as_bytes()).unwrap()
    }

    fn signed_package(text: &str, signatures: &SkillSignatures) -> Vec<u8> {
        let signatures = signatures.text().unwrap();
        let unsigned = package("1.0.0", text);
        let end = unsigned.iter().position(|byte| *byte == b'\n').unwrap();
        let head = String::from_utf8(unsigned[..end].to_vec()).unwrap();
        let first = format!(":[[\"{SIGNATURES_FILE}\",{}],[", signatures.len());
        let head = head.replace(":[[", &first);
        [head.as_bytes(), b"\n", signatures.as_bytes(), &unsigned[end + 1..]].concat()
    }

    #[test]
    fn signatures_of_what_is_published_are_added_and_stay() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("published");
        let [ours, theirs] = [OURS, THEIRS].map(|pem| PrivateKey::read(pem).unwrap());
        let rule = TrustRule { pattern: NamePattern::All, keys: vec![key_of(OURS)] };
        let trust = Arc::new(SkillTrust { is_required: false, rules: vec![rule] });
        let skills = PublishedStore::open(folder.clone(), BOUNDS, Arc::clone(&trust)).unwrap();
        publish(&skills, "1.0.0", &package("1.0.0", "one")).unwrap();
        let there = folder.join("acme/a.b@1.0.0");
        let signer = || check_signed_folder(&there, &trust).unwrap().snapshot.unwrap();
        assert!(signer().signer().is_none());
        let by = |keys: &[&PrivateKey]| signatures_by(&folder, keys);
        for key in [&theirs, &ours] {
            let again = publish(&skills, "1.0.0", &signed_package("one", &by(&[key]))).unwrap();
            assert!(!again.is_new);
        }
        assert!(signer().signer().is_some());
        assert_eq!(signatures_in(&there).unwrap(), Some(by(&[&theirs, &ours])));
        // What is there stays, and a package without signatures takes none away.
        for again in [package("1.0.0", "one"), signed_package("one", &by(&[&theirs]))] {
            publish(&skills, "1.0.0", &again).unwrap();
            assert_eq!(signatures_in(&there).unwrap(), Some(by(&[&theirs, &ours])));
        }
        // Signatures that come with other content are refused with it.
        let other = signed_package("two", &by(&[&ours]));
        assert!(publish(&skills, "1.0.0", &other).unwrap_err().is_conflict());
        assert_eq!(signatures_in(&there).unwrap(), Some(by(&[&theirs, &ours])));
    }

    /// Nobody can fill the file with what is worth nothing.
    #[test]
    fn trusted_signatures_displace_others_and_are_not_displaced() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("published");
        let [ours, theirs] = [OURS, THEIRS].map(|pem| PrivateKey::read(pem).unwrap());
        let rule = TrustRule { pattern: NamePattern::All, keys: vec![key_of(OURS)] };
        let trust = Arc::new(SkillTrust { is_required: false, rules: vec![rule] });
        let skills = PublishedStore::open(folder.clone(), BOUNDS, trust).unwrap();
        publish(&skills, "1.0.0", &package("1.0.0", "one")).unwrap();
        let there = folder.join("acme/a.b@1.0.0");
        // Each of another package, so that all differ.
        let claim = check_folder(&there).unwrap().snapshot.unwrap().claim();
        let junk = (0..16).map(|number: u8| {
            let envelope = SkillEnvelope::sign(&claim, Digest::of(&[number]), &theirs);
            envelope.unwrap().text().unwrap()
        });
        let junk = format!("{{\"envelopes\":[{}]}}", junk.collect::<Vec<_>>().join(","));
        let junk = SkillSignatures::read(junk.as_bytes()).unwrap();
        publish(&skills, "1.0.0", &signed_package("one", &junk)).unwrap();
        assert_eq!(signatures_in(&there).unwrap().as_ref(), Some(&junk));
        let ours = signatures_by(&folder, &[&ours]);
        publish(&skills, "1.0.0", &signed_package("one", &ours)).unwrap();
        let is_ours = |found: &SkillSignatures| found.signer(&claim, &[key_of(OURS)]).is_ok();
        assert!(is_ours(&signatures_in(&there).unwrap().unwrap()));
        publish(&skills, "1.0.0", &signed_package("one", &junk)).unwrap();
        assert!(is_ours(&signatures_in(&there).unwrap().unwrap()));
    }

    fn key_of(pem: &str) -> SkillKey {
        SkillKey::Ed25519(PrivateKey::read(pem).unwrap().public())
    }

    #[test]
    fn whole_or_not_at_all_is_a_skill_there() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("published");
        let skills = PublishedStore::open(folder.clone(), BOUNDS, Arc::default()).unwrap();
        let whole = package("1.0.0", "one");
        for end in (0..whole.len()).step_by(7) {
            assert!(publish(&skills, "1.0.0", &whole[..end]).is_err(), "{end}");
            assert_eq!(there(&folder), [".digests"], "{end}");
        }
        assert!(publish(&skills, "1.0.1", &whole).is_err(), "the manifest has another version");
        for version in ["1.0.0", "2.0.0", "3.0.0"] {
            publish(&skills, version, &package(version, "x")).unwrap();
        }
        let full = publish(&skills, "4.0.0", &package("4.0.0", "x")).unwrap_err();
        assert!(matches!(full, PublishError::Full(_)), "{full}");
        fs::create_dir(folder.join("acme/.new-crashed")).unwrap();
        PublishedStore::open(folder.clone(), BOUNDS, Arc::default()).unwrap();
        assert_eq!(there(&folder), [".digests", "a.b@1.0.0", "a.b@2.0.0", "a.b@3.0.0"]);
    }
}
