//! A snapshot: one version of a skill as it was read, checked, complete and immutable.
//!
//! INVARIANT(immutable-snapshot): later changes on disk do not change a snapshot, and its digest
//! identifies its content: equal digests mean equal paths and bytes.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::registry::RegistryError;
use crate::registry::folders::handle::Dir;
use crate::registry::folders::trust::{FoundSignatures, SkillTrust};
use crate::registry::folders::walk::{Enter, Survey, Trouble, walk};
use wardian_formats::job::attachment::PackedFile;
use wardian_formats::job::{Entrypoint, SkillMount};
use wardian_formats::provenance::skill_signature::{SignatureFault, SkillClaim, SkillSigner};
use wardian_formats::skill::diagnostic::{Diagnostic, Severity};
use wardian_formats::skill::document::Document;
use wardian_formats::skill::manifest::Manifest;
use wardian_formats::skill::path::check_path;
use wardian_formats::skill::scripts::{Script, scripts};
use wardian_formats::skill::similar::closest;
use wardian_formats::skill::{self, DOCUMENT_FILE, Files, Skill, SkillOrigin};
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};
use wardian_vocabulary::units::ByteCount;

/// Memory for the place of one file, besides its path.
const OF_A_FILE: usize = 64;

/// Memory for the manifest and the tables of one skill, besides what its files hold.
const OF_A_SKILL: usize = 4 << 10;

/// A skill and all of its files.
#[derive(Debug)]
pub struct Snapshot {
    digest: Digest,
    skill: Skill,
    files: Vec<PackedFile>,
    pack: Arc<[u8]>,
    warnings: Vec<Diagnostic>,
    signer: Result<Arc<SkillSigner>, SignatureFault>,
}

impl Snapshot {
    /// Identifies the content: SHA-256 over the sorted paths and the bytes of all files.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The trusted key that vouches for these files; `None` if they are not signed by one.
    #[must_use]
    pub fn signer(&self) -> Option<&Arc<SkillSigner>> {
        self.signer.as_ref().ok()
    }

    /// The trusted key that vouches for these files.
    ///
    /// # Errors
    ///
    /// The reason why none does.
    pub const fn signature(&self) -> Result<&Arc<SkillSigner>, &SignatureFault> {
        self.signer.as_ref()
    }

    /// The claim that a signature of this skill makes.
    #[must_use]
    pub fn claim(&self) -> SkillClaim {
        let (name, version) = (self.name().clone(), self.version().clone());
        SkillClaim { digest: self.digest, name, version }
    }

    /// The skill's name.
    #[must_use]
    pub const fn name(&self) -> &SkillName {
        &self.skill.manifest.name
    }

    /// The skill's version.
    #[must_use]
    pub const fn version(&self) -> &SkillVersion {
        &self.skill.manifest.version
    }

    /// The skill's manifest.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.skill.manifest
    }

    /// The skill's document.
    #[must_use]
    pub const fn document(&self) -> &Document {
        &self.skill.document
    }

    /// The whole text of `SKILL.md`.
    #[must_use]
    pub fn document_text(&self) -> &str {
        let bytes = self.content(DOCUMENT_FILE).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The text of `SKILL.md` after its frontmatter.
    #[must_use]
    pub fn document_body(&self) -> &str {
        self.document().body(self.document_text())
    }

    /// The place of each file in the [`pack`](Self::pack), sorted by path.
    #[must_use]
    pub fn files(&self) -> &[PackedFile] {
        &self.files
    }

    /// The contents of all files, one after the other.
    #[must_use]
    pub const fn pack(&self) -> &Arc<[u8]> {
        &self.pack
    }

    /// Size of all files.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        ByteCount::from(self.pack.len())
    }

    /// Memory that the skill takes: its files, their paths and places, and its manifest. Many empty
    /// files with long paths take more than few large ones.
    #[must_use]
    pub fn memory(&self) -> ByteCount {
        let places = self.files.iter().map(|file| file.path.len().saturating_add(OF_A_FILE));
        let places = places.fold(OF_A_SKILL, usize::saturating_add);
        ByteCount::from(self.pack.len().saturating_add(places))
    }

    /// Warnings for its author. The skill is served nevertheless.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The paths of all files with their contents, sorted by path.
    pub fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let content = |file| content_of(&self.pack, file).unwrap_or_default();
        self.files.iter().map(move |file| (file.path.as_str(), content(file)))
    }

    /// The scripts of the skill, in the order of their paths. Looks at the text of each Python file.
    pub fn scripts(&self) -> impl Iterator<Item = Script<'_>> {
        scripts(self.contents(), self.manifest().runtime.is_some())
    }

    /// The mount of the skill for a run.
    #[must_use]
    pub fn mount(&self) -> SkillMount {
        let entrypoint = self.manifest().runtime.as_ref().map(|runtime| Entrypoint {
            path: runtime.entrypoint.clone(),
            export: runtime.export.clone(),
        });
        SkillMount {
            name: self.name().clone(),
            version: self.version().clone(),
            digest: self.digest,
            entrypoint,
            bytecode: None,
        }
    }

    /// The content of the file at `path`, which must be spelt exactly.
    ///
    /// # Errors
    ///
    /// An invalid path, or one that names no file of the skill.
    pub fn read_file(&self, path: &str) -> Result<&[u8], RegistryError> {
        check_path(path).map_err(|problem| RegistryError::InvalidParameter {
            parameter: "path",
            problem: problem.to_owned(),
        })?;
        self.content(path).ok_or_else(|| {
            let near = closest(path, self.files.iter().map(|file| file.path.as_str()));
            RegistryError::FileNotFound {
                skill: self.name().clone(),
                path: path.to_owned(),
                near: near.into_iter().map(str::to_owned).collect(),
            }
        })
    }

    fn content(&self, path: &str) -> Option<&[u8]> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        content_of(&self.pack, self.files.get(at)?)
    }
}

fn content_of<'p>(pack: &'p [u8], file: &PackedFile) -> Option<&'p [u8]> {
    let start = usize::try_from(file.offset).ok()?;
    let end = start.checked_add(usize::try_from(file.size).ok()?)?;
    pack.get(start..end)
}

/// The outcome of reading a folder.
#[derive(Debug)]
pub struct Reading {
    /// The skill, if it is valid.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The state of the folder while it was read.
    pub fingerprint: Digest,
    /// True if the reading failed because of the machine or a change meanwhile, not the skill.
    pub(crate) is_interrupted: bool,
    /// The time of the latest change, in seconds since the Unix epoch.
    pub newest: i64,
    /// The texts of the files that diagnostics refer to.
    pub texts: Vec<(String, String)>,
}

/// A change this many seconds before a reading may have happened during it, because clocks of file
/// systems are coarse.
pub(crate) const RECENT: i64 = 2;

/// Reads the skill in `folder`, whose name is `name`. Calls `enter` for each folder in it. `trust` decides whether its
/// signatures are enough.
///
/// INVARIANT(one-moment): a snapshot holds the content of the folder at one moment. A folder with a
/// recent change is walked once more after the reading. If it differs, the reading is discarded.
pub fn read_folder(name: &str, folder: &Dir, enter: &mut Enter<'_>, trust: &SkillTrust) -> Reading {
    let started = now();
    let mut pack = Contents::default();
    let mut survey = walk(folder, enter, &mut |found| {
        let offset = pack.end();
        let length = pack.bytes.len();
        match found.read_into(&mut pack.bytes) {
            Ok(size) => {
                pack.files.push(PackedFile { path: found.path.to_owned(), offset, size });
                Ok(())
            }
            Err(trouble) => {
                pack.bytes.truncate(length);
                Err(trouble)
            }
        }
    });
    let signatures = FoundSignatures::in_folder(folder);
    if survey.newest.saturating_add(RECENT) >= started {
        let after = walk(folder, &mut |_| (), &mut |_| Ok(()));
        if after.fingerprint != survey.fingerprint {
            survey.is_interrupted = true;
            let problem = Trouble::Changed.into_problem();
            survey.problems.push(Diagnostic::about(Severity::Error, ".", problem));
        }
    }
    pack.check(name, survey, Some((trust, &signatures)))
}

/// Seconds since the Unix epoch, by the clock that file systems use.
pub fn now() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec
}

/// Makes a snapshot of files that are part of the program.
pub(crate) fn of_built_in(name: &str, files: &[(&str, &[u8])]) -> Reading {
    let mut pack = Contents::default();
    for (path, content) in files {
        let (offset, size) = (pack.end(), ByteCount::from(content.len()).as_u64());
        pack.files.push(PackedFile { path: (*path).to_owned(), offset, size });
        pack.bytes.extend_from_slice(content);
    }
    let fingerprint = Digest::of(name.as_bytes());
    let (problems, newest) = (Vec::new(), i64::MIN);
    let survey = Survey { fingerprint, problems, is_interrupted: false, newest };
    pack.check(name, survey, None)
}

#[derive(Default)]
struct Contents {
    files: Vec<PackedFile>,
    bytes: Vec<u8>,
}

impl Contents {
    fn end(&self) -> u64 {
        ByteCount::from(self.bytes.len()).as_u64()
    }

    /// Checks the skill. Without signatures and their trust it is one that is part of the program.
    fn check(
        mut self,
        name: &str,
        survey: Survey,
        signed: Option<(&SkillTrust, &FoundSignatures)>,
    ) -> Reading {
        let origin = if signed.is_some() { SkillOrigin::Folder } else { SkillOrigin::BuiltIn };
        self.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let found = self
            .files
            .iter()
            .map(|file| (file.path.as_str(), content_of(&self.bytes, file).unwrap_or_default()));
        let files: Files<'_> = found.collect();
        let texts = [skill::MANIFEST_FILE, DOCUMENT_FILE].into_iter().filter_map(|file| {
            let text = std::str::from_utf8(files.get(file)?).ok()?;
            Some((file.to_owned(), text.to_owned()))
        });
        let texts = texts.collect();

        let is_complete = survey.problems.is_empty();
        let checked = skill::check(name, &files, origin);
        // A file that could not be read must not be reported as missing too.
        let found = checked.diagnostics.into_iter();
        let found = found.filter(|one| is_complete || !one.code.ends_with("-missing"));
        let mut diagnostics: Vec<_> = survey.problems.into_iter().chain(found).collect();
        let mut skill = checked.skill.filter(|_| is_complete);
        let digest = digest(&files);
        let mut signer = Err(SignatureFault::Unsigned);
        if let Some((trust, signatures)) = signed
            && let Some(Skill { manifest, .. }) = &skill
        {
            let (name, version) = (manifest.name.clone(), manifest.version.clone());
            let (found, finding) = trust.judge(&SkillClaim { digest, name, version }, signatures);
            signer = found;
            skill = skill.filter(|_| !finding.as_ref().is_some_and(Diagnostic::is_error));
            diagnostics.extend(finding);
        }
        let snapshot = skill.map(|skill| {
            let warnings = diagnostics.clone();
            let (files, pack) = (self.files, Arc::from(self.bytes));
            Arc::new(Snapshot { digest, skill, files, pack, warnings, signer })
        });
        let Survey { fingerprint, is_interrupted, newest, .. } = survey;
        Reading { snapshot, diagnostics, fingerprint, is_interrupted, newest, texts }
    }
}

/// Each part is preceded by its length, so that different lists of files never give the same bytes.
fn digest(files: &Files<'_>) -> Digest {
    let mut hash = Sha256::new_with_prefix(b"wardian skill snapshot 1\0");
    for (path, content) in files {
        for part in [path.as_bytes(), content] {
            hash.update(ByteCount::from(part.len()).as_u64().to_le_bytes());
            hash.update(part);
        }
    }
    Digest::from_bytes(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const MANIFEST: &[u8] = b"name = \"a.b\"\nversion = \"1.0.0\"\ndescription = \"d\"\nkind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\nexport = \"run\"\n";
    const DOCUMENT: &[u8] = b"---\nname: A\nshort_description: d\n---\n\n\n# A\n";

    fn snapshot(more: &[(&str, &[u8])]) -> Arc<Snapshot> {
        let always: [(&str, &[u8]); 3] = [
            ("skill.toml", MANIFEST),
            ("SKILL.md", DOCUMENT),
            ("code/main.py", b"def run(args): ..."),
        ];
        let reading = of_built_in("a.b", &[&always, more].concat());
        assert_eq!(reading.diagnostics, []);
        reading.snapshot.unwrap()
    }

    #[test]
    fn a_snapshot_is_what_workers_are_sent() {
        let snapshot = snapshot(&[("a.txt", b"first")]);
        let mount = snapshot.mount();
        assert_eq!((mount.name.as_str(), mount.version.as_str()), ("a.b", "1.0.0"));
        assert_eq!(
            mount.entrypoint,
            Some(Entrypoint { path: "code/main.py".into(), export: "run".into() })
        );
        let paths: Vec<_> = snapshot.files().iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "a.txt", "code/main.py", "skill.toml"]);
        for file in snapshot.files() {
            let (start, size) =
                (usize::try_from(file.offset).unwrap(), usize::try_from(file.size).unwrap());
            assert_eq!(
                &snapshot.pack()[start..start + size],
                snapshot.read_file(&file.path).unwrap()
            );
        }
        assert_eq!(
            (snapshot.document_body(), snapshot.size().as_usize()),
            ("# A\n", snapshot.pack().len())
        );
    }

    type Tree = BTreeMap<String, Vec<u8>>;

    fn trees() -> impl Strategy<Value = Tree> {
        proptest::collection::btree_map(
            "r/[a-c/]{0,2}[a-c]",
            proptest::collection::vec(any::<u8>(), 0..4),
            0..4,
        )
    }

    fn digest_of<'t>(tree: impl Iterator<Item = (&'t String, &'t Vec<u8>)>) -> Digest {
        let files: Vec<_> =
            tree.map(|(path, content)| (path.as_str(), content.as_slice())).collect();
        snapshot(&files).digest()
    }

    proptest! {
        #[test]
        fn immutable_snapshot_has_one_digest_for_one_content(one in trees(), other in trees()) {
            prop_assert_eq!(digest_of(one.iter()), digest_of(one.iter().rev()));
            prop_assert_eq!(digest_of(one.iter()) == digest_of(other.iter()), one == other);
        }
    }

    #[test]
    fn bytes_cannot_move_between_paths_and_contents() {
        let first = snapshot(&[("x", b"y"), ("z", b"")]).digest();
        for files in
            [[("x", &b""[..]), ("z", b"y")], [("xy", b""), ("z", b"")], [("x", b"yz"), ("y", b"")]]
        {
            assert_ne!(snapshot(&files).digest(), first);
        }
        // Other servers compare digests, so they may not change from one release to the next.
        let published = "478f4ff6424b66de6e93d43c91a27621f9732842e1b75d23db4eef780ef90466";
        assert_eq!(first.to_string(), published);
    }
}
