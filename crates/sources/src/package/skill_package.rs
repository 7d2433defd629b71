//! A package: its bytes, its claim and its signatures.

use crate::archive;
use crate::error::SourceError;
use crate::tree::Tree;
use wardian_formats::provenance::skill_signature::{SkillClaim, SkillEnvelope, SkillSignatures};
use wardian_formats::provenance::tar::TarWriter;
use wardian_formats::provenance::{PrivateKey, ProvenanceError};
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

/// Digits of the id of a key.
const KEY_ID: usize = 64;

/// A version of a skill that is to be published.
#[derive(Debug)]
pub struct SkillPackage {
    /// Which skill it is.
    pub claim: SkillClaim,
    /// The archive.
    pub bytes: Vec<u8>,
    /// The signature of the publisher.
    pub envelope: Option<SkillEnvelope>,
}

impl SkillPackage {
    /// Packs these files: paths and contents, in any order.
    ///
    /// # Errors
    ///
    /// Two have one path, or a path is not relative.
    pub fn pack(claim: SkillClaim, files: &[(&str, &[u8])]) -> Result<Self, ProvenanceError> {
        let mut sorted = files.to_vec();
        sorted.sort_unstable();
        let mut tar = TarWriter::new(Vec::new());
        for (path, content) in sorted {
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            tar.add(path, size, &mut &*content)?;
        }
        Ok(Self { claim, bytes: tar.finish()?, envelope: None })
    }

    /// SHA-256 of the archive.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Signs the package.
    ///
    /// # Errors
    ///
    /// The claim has no canonical form.
    pub fn sign(&mut self, key: &PrivateKey) -> Result<(), ProvenanceError> {
        self.envelope = Some(SkillEnvelope::sign(&self.claim, self.digest(), key)?);
        Ok(())
    }

    /// Its files, unpacked and checked as those of any source.
    ///
    /// # Errors
    ///
    /// It has files that no source may have, such as two whose paths differ only in case.
    pub fn unpacked(&self) -> Result<Tree, SourceError> {
        let mut tree = Tree::default();
        archive::unpack(&self.bytes, &mut tree)?;
        Ok(tree)
    }

    /// Those of some envelopes that are about this package and say what it claims. Nothing is verified. Ids of keys name
    /// files, so an envelope with another kind of id is none of them.
    #[must_use]
    pub fn envelopes_among(&self, all: &[SkillEnvelope]) -> Vec<SkillEnvelope> {
        let digest = self.digest();
        let is_id =
            |id: &str| id.len() == KEY_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_of_it = |one: &&SkillEnvelope| {
            is_id(one.key_id())
                && one.package().is_ok_and(|found| found == digest)
                && one.claim().is_ok_and(|found| found == self.claim)
        };
        all.iter().filter(is_of_it).cloned().collect()
    }
}

/// What publishing has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The place of the package: a file, or `oci://HOST/NAME:TAG@DIGEST`.
    pub place: String,
    /// False if the same package was there.
    pub is_new: bool,
    /// True if a signature was added that was not there.
    pub is_signature_new: bool,
    /// The version to which the tag led before, if it was moved to this one.
    pub moved_from: Option<SkillVersion>,
}

/// A package as it came from a folder or a registry.
#[derive(Debug)]
pub struct PackagedSkill {
    /// Its folder among the files that were fetched; empty for the root.
    pub folder: String,
    /// Its version and digest, or the digest of its manifest.
    pub revision: String,
    /// Its signatures. Nothing is verified yet.
    pub signatures: SkillSignatures,
    /// The name and the version under which it was published, if its place says so.
    pub promised: Option<(SkillName, SkillVersion)>,
}

/// Most signatures of one package that are read, and all their bytes. The best of them are kept when the skill is known.
pub(crate) const MAX_READ_SIGNATURES: usize = 64;
pub(crate) const MAX_READ_BYTES: u64 = 4 << 20;

/// Keeps an envelope that is about this package, and names one that is not.
pub(crate) fn keep_envelope(
    text: &[u8],
    package: Digest,
    signatures: &mut SkillSignatures,
    notes: &mut Vec<String>,
) {
    let read = SkillEnvelope::read(text);
    match read.and_then(|envelope| Ok((envelope.package()?, envelope))) {
        Ok((found, envelope)) if found == package => {
            if !signatures.gather(envelope) {
                notes.push("a signature was left out: there are too many".to_owned());
            }
        }
        Ok(_) => notes.push("a signature of another package was left out".to_owned()),
        Err(fault) => notes.push(format!("a signature was left out: {fault}")),
    }
}

/// The error for a version that has other bytes.
pub(crate) fn taken(claim: &SkillClaim) -> SourceError {
    SourceError::Taken { skill: claim.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::shelf;
    use crate::tree::Tree;
    use wardian_formats::provenance::skill_signature::SkillKey;

    fn claim(version: &str) -> SkillClaim {
        SkillClaim {
            digest: Digest::of(b"files"),
            name: SkillName::parse("acme.report").unwrap(),
            version: SkillVersion::parse(version).unwrap(),
        }
    }

    /// INVARIANT(same-bytes)
    #[test]
    fn same_bytes_come_of_the_same_files_in_any_order_on_any_machine() {
        let (one, other) = (("SKILL.md", &b"# A\n"[..]), ("code/main.py", &b"x"[..]));
        let package = SkillPackage::pack(claim("1.0.0"), &[one, other]).unwrap();
        let again = SkillPackage::pack(claim("1.0.0"), &[other, one]).unwrap();
        assert_eq!(package.bytes, again.bytes);
        // Computed by another program, from the definition of the format.
        let known = "2693dd3d0c4f8d2bf7f6ec8d55e6f2c6d0cd26bd8a480b03726e8e76665a7d9f";
        assert_eq!(package.digest().to_string(), known);
        for wrong in [&[("a", &b""[..]), ("a", b"")][..], &[("../a", b"")], &[("/a", b"")]] {
            assert!(SkillPackage::pack(claim("1.0.0"), wrong).is_err());
        }
    }

    #[test]
    fn what_a_source_may_not_have_is_known_before_it_is_published() {
        let unpacked = |paths: &[&str]| {
            let files: Vec<(&str, &[u8])> = paths.iter().map(|path| (*path, &b"x"[..])).collect();
            SkillPackage::pack(claim("1.0.0"), &files).unwrap().unpacked()
        };
        assert_eq!(unpacked(&["SKILL.md", "data/a.txt"]).unwrap().files().count(), 2);
        for paths in [&["README", "readme"][..], &["\u{e9}", "e\u{301}"], &["a:b"]] {
            assert!(unpacked(paths).is_err(), "{paths:?}");
        }
    }

    #[test]
    fn envelopes_are_taken_along_for_their_package_alone() {
        let head = "MC4CAQAwBQYDK2VwBCIEI";
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{head}{}\n-----END PRIVATE KEY-----\n",
            "A".repeat(43)
        );
        let key = PrivateKey::read(&pem).unwrap();
        let package = SkillPackage::pack(claim("1.0.0"), &[("SKILL.md", b"x")]).unwrap();
        let sign = |version: &str, package: Digest| {
            SkillEnvelope::sign(&claim(version), package, &key).unwrap()
        };
        let good = sign("1.0.0", package.digest());
        let id = good.text().unwrap().replace(good.key_id(), "../../../../../../../../etc/x");
        let all = [
            sign("2.0.0", package.digest()),
            good.clone(),
            sign("1.0.0", Digest::of(b"other")),
            SkillEnvelope::read(id.as_bytes()).unwrap(),
        ];
        assert_eq!(package.envelopes_among(&all), [good]);
    }

    /// INVARIANT(immutable-packages)
    #[test]
    fn immutable_packages_stay_as_they_were_published() {
        let folder = tempfile::tempdir().unwrap();
        let files = |text: &'static str| [("acme", text.as_bytes())];
        let one = SkillPackage::pack(claim("1.0.0"), &files("one")).unwrap();
        let two = SkillPackage::pack(claim("1.0.0"), &files("two")).unwrap();
        assert!(shelf::publish(folder.path(), &one).unwrap().is_new);
        assert!(!shelf::publish(folder.path(), &one).unwrap().is_new);
        let taken = shelf::publish(folder.path(), &two).unwrap_err();
        assert!(matches!(taken, SourceError::Taken { .. }), "{taken}");
        let place = folder.path().join("acme.report/1.0.0.tar");
        assert_eq!(std::fs::read(place).unwrap(), one.bytes);
    }

    /// A key of Ed25519 whose 32 bytes are zeros.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n\
        -----END PRIVATE KEY-----\n";

    #[test]
    fn what_lies_beside_a_signature_hides_it_not() {
        let folder = tempfile::tempdir().unwrap();
        let key = PrivateKey::read(KEY).unwrap();
        let mut package = SkillPackage::pack(claim("1.0.0"), &[("SKILL.md", b"x")]).unwrap();
        package.sign(&key).unwrap();
        shelf::publish(folder.path(), &package).unwrap();
        let shelf = folder.path().join("acme.report");
        for one in 0..20 {
            std::fs::write(shelf.join(format!("1.0.0.{one:016x}.dsse.json")), "{}").unwrap();
        }
        std::fs::create_dir(shelf.join("1.0.0.00000000000000ff.dsse.json")).unwrap();
        let (mut tree, mut notes) = (Tree::default(), Vec::new());
        let found = shelf::fetch(&shelf, None, &mut tree, &mut notes).unwrap().unwrap().remove(0);
        let keys = [SkillKey::Ed25519(key.public())];
        assert!(found.signatures.signer(&claim("1.0.0"), &keys).is_ok());
        assert_eq!(notes.len(), 21, "{notes:?}");
        assert_eq!(found.promised.unwrap().1.as_str(), "1.0.0");
        // However many there are, no more are read than fit.
        for one in 100..200 {
            std::fs::write(shelf.join(format!("1.0.0.{one:016x}.dsse.json")), "{}").unwrap();
        }
        let (mut tree, mut notes) = (Tree::default(), Vec::new());
        shelf::fetch(&shelf, None, &mut tree, &mut notes).unwrap();
        assert_eq!(notes.len(), MAX_READ_SIGNATURES + 1, "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("further signatures")), "{notes:?}");
    }

    #[test]
    fn a_package_has_its_skill_at_its_root() {
        let folder = tempfile::tempdir().unwrap();
        let package = SkillPackage::pack(claim("1.0.0"), &[("x/SKILL.md", b"x")]).unwrap();
        shelf::publish(folder.path(), &package).unwrap();
        let (mut tree, mut notes) = (Tree::default(), Vec::new());
        let refused = shelf::fetch(folder.path(), None, &mut tree, &mut notes).unwrap_err();
        assert!(refused.to_string().contains("no skill at its root"), "{refused}");
    }

    #[test]
    fn hostile_packages_are_refused_and_versions_are_chosen() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1"] {
            let package = SkillPackage::pack(claim(version), &[("SKILL.md", b"x")]).unwrap();
            shelf::publish(folder.path(), &package).unwrap();
        }
        let fetched = |pinned: Option<&str>| {
            let (mut tree, mut notes) = (Tree::default(), Vec::new());
            let shelf = folder.path().join("acme.report");
            shelf::fetch(&shelf, pinned, &mut tree, &mut notes)
                .map(|found| found.unwrap().remove(0).revision)
        };
        assert!(fetched(None).unwrap().starts_with("1.10.0 sha256:"));
        assert!(fetched(Some("1.0.0 sha256:00")).unwrap().starts_with("1.0.0 sha256:"));
        assert!(fetched(Some("3.0.0 sha256:00")).is_err());
        let mut hostile = tar::Builder::new(Vec::new());
        let mut head = tar::Header::new_ustar();
        head.set_entry_type(tar::EntryType::Symlink);
        head.set_size(0);
        hostile.append_link(&mut head, "SKILL.md", "/etc/passwd").unwrap();
        let place = folder.path().join("acme.report/1.10.0.tar");
        std::fs::write(place, hostile.into_inner().unwrap()).unwrap();
        let refused = fetched(None).unwrap_err().to_string();
        assert!(refused.contains("leads out of the source"), "{refused}");
    }
}
