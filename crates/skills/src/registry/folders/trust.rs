//! The keys that an operator trusts to sign skills, by the names of skills.
//!
//! INVARIANT(signed-only): with `is_required`, a folder whose files no trusted key vouches for is a folder with an error,
//! so its skill is not served: not to tenants, not from their own folders, and not to commands that have the skills of a
//! server. Commands that execute copies of a folder which the user names, such as `wardian test`, do not ask: what is
//! tested is not signed yet.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;

use crate::registry::folders::handle::Dir;
use wardian_formats::provenance::skill_signature::{
    MAX_SIGNATURES_SIZE, SIGNATURES_FILE, SignatureFault, SkillClaim, SkillKey, SkillSignatures,
    SkillSigner,
};
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_vocabulary::ids::SkillName;

/// The keys that are trusted, and whether skills must be signed by them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillTrust {
    /// True if a skill without a trusted signature is not served. Those that are part of the program are.
    pub is_required: bool,
    /// The keys for the names of skills.
    pub rules: Vec<TrustRule>,
}

/// The keys for the names that a pattern fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRule {
    /// The names.
    pub pattern: NamePattern,
    /// The keys. Each is enough.
    pub keys: Vec<SkillKey>,
}

/// Which names of skills are meant: one, those below a namespace, or all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamePattern {
    /// All names: `*`.
    All,
    /// The names below this one: `acme.*`.
    Below(SkillName),
    /// This name.
    One(SkillName),
}

impl NamePattern {
    /// Reads `*`, `acme.*` or `acme.report`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        match text.strip_suffix(".*") {
            Some(above) => SkillName::parse(above).ok().map(Self::Below),
            None => SkillName::parse(text).ok().map(Self::One),
        }
    }

    /// How closely the pattern fits a name; `None` if it does not.
    fn fit(&self, name: &SkillName) -> Option<usize> {
        match self {
            Self::All => Some(0),
            Self::Below(above) => {
                let rest = name.as_str().strip_prefix(above.as_str())?;
                rest.starts_with('.').then_some(above.as_str().len())
            }
            Self::One(one) => (one == name).then_some(usize::MAX),
        }
    }
}

impl SkillTrust {
    /// The keys for a name: those of the pattern that fits it most closely, and of no other.
    #[must_use]
    pub fn keys_for(&self, name: &SkillName) -> &[SkillKey] {
        let fitting = self.rules.iter().filter_map(|rule| Some((rule.pattern.fit(name)?, rule)));
        let closest = fitting.max_by_key(|(fit, _)| *fit);
        closest.map(|(_, rule)| rule.keys.as_slice()).unwrap_or_default()
    }

    /// The trusted key that vouches for a skill, and the finding if there should be one and is none.
    pub(crate) fn judge(
        &self,
        claim: &SkillClaim,
        signatures: &FoundSignatures,
    ) -> (Result<Arc<SkillSigner>, SignatureFault>, Option<Diagnostic>) {
        let outcome = match signatures {
            FoundSignatures::None => self.signer(claim, &SkillSignatures::default()),
            FoundSignatures::Read(signatures) => self.signer(claim, signatures),
            FoundSignatures::Unreadable(why) => Err(SignatureFault::Malformed(why.clone())),
        };
        match outcome {
            Ok(signer) => (Ok(Arc::new(signer)), None),
            Err(fault) => {
                let finding = self.finding(claim, &fault);
                (Err(fault), finding)
            }
        }
    }

    /// The trusted key that vouches for a skill.
    ///
    /// # Errors
    ///
    /// None does.
    pub fn signer(
        &self,
        claim: &SkillClaim,
        signatures: &SkillSignatures,
    ) -> Result<SkillSigner, SignatureFault> {
        signatures.signer(claim, self.keys_for(&claim.name))
    }

    fn finding(&self, claim: &SkillClaim, fault: &SignatureFault) -> Option<Diagnostic> {
        let (severity, more) = match (self.is_required, fault) {
            (true, _) => (Severity::Error, ", and `skills.require_signatures` is true"),
            // Where nobody asks for signatures, there may be none, or those of strangers.
            (false, SignatureFault::Unsigned | SignatureFault::NoKeys) => return None,
            (false, SignatureFault::Foreign { .. }) if self.keys_for(&claim.name).is_empty() => {
                return None;
            }
            (false, _) => (Severity::Warning, ""),
        };
        let problem = Problem::new("signature", format!("`{claim}` {fault}{more}"));
        let help = match fault {
            SignatureFault::Unsigned => "`wardian skills publish --sign KEY` signs a skill",
            SignatureFault::NoKeys | SignatureFault::Foreign { .. } => {
                "`skills.trusted_keys` has the keys that may sign skills, by their names"
            }
            _ => "install the version that was signed, or sign this one as a new version",
        };
        Some(Diagnostic::about(severity, ".", problem.help(help)))
    }
}

/// The signatures that lie in a skill's folder.
#[derive(Debug)]
pub(crate) enum FoundSignatures {
    /// None.
    None,
    /// These.
    Read(SkillSignatures),
    /// A file that is none of signatures.
    Unreadable(String),
}

impl FoundSignatures {
    /// Reads the signatures in a skill's folder.
    pub(crate) fn in_folder(folder: &Dir) -> Self {
        let name = OsStr::new(SIGNATURES_FILE);
        let Ok(seen) = folder.see_entry(name) else { return Self::None };
        if seen.kind() != FileType::RegularFile || seen.len() > MAX_SIGNATURES_SIZE.as_u64() {
            let most = MAX_SIGNATURES_SIZE;
            return Self::Unreadable(format!("`{SIGNATURES_FILE}` is no file of at most {most}"));
        }
        let mut text = Vec::new();
        let most = MAX_SIGNATURES_SIZE.as_u64().saturating_add(1);
        let read = folder.open_file(name).and_then(|file| file.take(most).read_to_end(&mut text));
        match read.map(|_length| SkillSignatures::read(&text)) {
            Ok(Ok(signatures)) => Self::Read(signatures),
            Ok(Err(fault)) => Self::Unreadable(fault.to_string()),
            Err(fault) => Self::Unreadable(fault.kind().to_string()),
        }
    }
}

/// Reads the signatures that lie in the skill's folder at `path`. Nothing is verified. `None` if there are none.
///
/// # Errors
///
/// The folder cannot be opened, or `.signatures.json` is not a regular file with signatures.
pub fn signatures_in(path: &Path) -> io::Result<Option<SkillSignatures>> {
    match FoundSignatures::in_folder(&Dir::open_path(path)?) {
        FoundSignatures::None => Ok(None),
        FoundSignatures::Read(signatures) => Ok(Some(signatures)),
        FoundSignatures::Unreadable(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is no file would make a command wait, or never end.
    #[test]
    fn signatures_are_read_from_a_small_regular_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(SIGNATURES_FILE);
        assert!(signatures_in(folder.path()).unwrap().is_none());
        std::fs::write(&place, "{}").unwrap();
        assert!(signatures_in(folder.path()).unwrap().unwrap().is_empty());
        std::fs::write(&place, vec![b' '; MAX_SIGNATURES_SIZE.as_usize() + 1]).unwrap();
        assert!(signatures_in(folder.path()).is_err());
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
        assert!(signatures_in(folder.path()).is_err());
        std::fs::remove_file(&place).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &place, mode).unwrap();
        let fault = signatures_in(folder.path()).unwrap_err().to_string();
        assert!(fault.contains("is no file of at most"), "{fault}");
        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        assert!(signatures_in(folder.path()).is_err());
    }

    fn key(letter: char) -> SkillKey {
        let text: String = std::iter::repeat_n(letter, 42).collect();
        SkillKey::parse(&format!("ed25519:{text}A=")).unwrap()
    }

    fn trust(rules: &[(&str, &[char])]) -> SkillTrust {
        let rule = |(pattern, keys): &(&str, &[char])| TrustRule {
            pattern: NamePattern::parse(pattern).unwrap(),
            keys: keys.iter().copied().map(key).collect(),
        };
        SkillTrust { is_required: true, rules: rules.iter().map(rule).collect() }
    }

    #[test]
    fn the_closest_pattern_alone_decides() {
        let trust = trust(&[
            ("*", &['b']),
            ("acme.*", &['c', 'd']),
            ("acme.sales.*", &['e']),
            ("acme.sales.report", &['f']),
        ]);
        for (name, expected) in [
            ("other", &['b'][..]),
            ("acme", &['b']),
            ("acmes.x", &['b']),
            ("acme.x", &['c', 'd']),
            ("acme.sales", &['c', 'd']),
            ("acme.sales.x", &['e']),
            ("acme.sales.report", &['f']),
            ("acme.sales.report.x", &['e']),
        ] {
            let expected: Vec<SkillKey> = expected.iter().copied().map(key).collect();
            assert_eq!(trust.keys_for(&SkillName::parse(name).unwrap()), expected, "{name}");
        }
        assert!(SkillTrust::default().keys_for(&SkillName::parse("a").unwrap()).is_empty());
    }

    #[test]
    fn patterns_are_names_or_all_below_one() {
        for text in ["", ".*", "*.*", "acme.", "acme*", "a.*.b", "ACME.*", "acme.**", "../x"] {
            assert_eq!(NamePattern::parse(text), None, "{text}");
        }
    }
}
