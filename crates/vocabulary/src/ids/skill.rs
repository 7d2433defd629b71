//! Names and versions of skills.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{InvalidId, is_name_segment};

/// Longest skill name, in bytes: long enough for any hierarchy, short enough for a folder name on
/// every file system.
pub const MAX_SKILL_NAME: usize = 128;

/// Longest version text, in bytes.
pub const MAX_VERSION: usize = 64;

/// Name of a skill, such as `salesforce.leads.sync`.
///
/// INVARIANT(safe-name): dot-separated, non-empty segments of `a-z0-9`, where a segment may
/// have dashes between its letters. So it never contains a path separator or `..`, and is safe
/// as a folder name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillName(String);

impl SkillName {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let problem = if text.is_empty() {
            Some("must not be empty".to_owned())
        } else if text.len() > MAX_SKILL_NAME {
            Some(format!("must not be longer than {MAX_SKILL_NAME} bytes"))
        } else if !text.split('.').all(is_name_segment) {
            Some(
                "must be segments of a-z and 0-9 joined by dots, such as `acme.sales.report`"
                    .into(),
            )
        } else {
            None
        };
        problem.map_or_else(|| Ok(Self(text.to_owned())), |p| Err(InvalidId::new("skill name", p)))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if a segment has a dash: accepted, but the protocol's documents advise against it.
    #[must_use]
    pub fn has_dash(&self) -> bool {
        self.0.contains('-')
    }

    /// True for a name without a dot, which cannot be told apart by its namespace: accepted, but the
    /// protocol's documents name skills `namespace.domain.action`.
    #[must_use]
    pub fn has_one_segment(&self) -> bool {
        !self.0.contains('.')
    }

    /// The name as a Python module path below `skills`: dashes become underscores.
    #[must_use]
    pub fn module_path(&self) -> String {
        self.0.replace('-', "_")
    }
}

checked_text!(SkillName);

/// Names are ordered as their texts are.
impl std::borrow::Borrow<str> for SkillName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Version of a skill: `major.minor.patch`, ordered as Semantic Versioning 2.0.0 says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillVersion {
    parsed: semver::Version,
    text: String,
}

impl SkillVersion {
    /// Checks `text`. Build metadata (`+x`) is refused: two versions that differ only in it
    /// would have no order.
    ///
    /// # Errors
    ///
    /// The problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let problem = "must be `major.minor.patch`, such as `0.1.0`";
        if text.len() > MAX_VERSION {
            return Err(InvalidId::new("version", problem));
        }
        match semver::Version::parse(text) {
            Ok(parsed) if parsed.build.is_empty() => Ok(Self { parsed, text: text.to_owned() }),
            Ok(_) => Err(InvalidId::new("version", "must not contain build metadata (`+...`)")),
            Err(_) => Err(InvalidId::new("version", problem)),
        }
    }

    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True for versions such as `1.0.0-beta.1`.
    #[must_use]
    pub fn is_prerelease(&self) -> bool {
        !self.parsed.pre.is_empty()
    }
}

checked_text!(SkillVersion);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_names_accept_dotted_lowercase() {
        for name in ["guide", "salesforce.leads.sync", "a1.b2", "best-practices.salesforce"] {
            assert_eq!(SkillName::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(SkillName::parse("best-practices.x").unwrap().module_path(), "best_practices.x");
    }

    #[test]
    fn safe_name_refuses_anything_that_could_be_a_path() {
        let long = "a".repeat(300);
        for name in [
            "",
            ".",
            "..",
            "a..b",
            "a/b",
            "a\\b",
            "A.b",
            "a.b\0",
            "c:",
            "été",
            " a",
            "-a",
            "a-",
            "a.-b",
            "gdrive_sheets",
            "ＡＢＣ",
            "раypal",
            "a\u{202e}b",
            "a.",
            ".a",
            "../x",
            &long,
        ] {
            assert!(SkillName::parse(name).is_err(), "accepted {name:?}");
        }
    }

    #[test]
    fn versions_are_exact_semver() {
        let long = format!("99999999999999999999.0.0-{}", "a".repeat(100));
        for text in [
            "latest",
            "",
            "1",
            "1.0",
            "v1.0.0",
            "1.0.0+x",
            ">=1",
            "*",
            "../1.0.0",
            "1.0.0/../../other",
            "99999999999999999999.0.0",
            "１.０.０",
            "1.0.0\n",
            "01.0.0",
            " 1.0.0",
            "1.0.0-../../",
            &long,
        ] {
            assert!(SkillVersion::parse(text).is_err(), "accepted {text:?}");
        }
        let beta = SkillVersion::parse("1.0.0-beta.1").unwrap();
        assert!(beta.is_prerelease() && beta < SkillVersion::parse("1.0.0").unwrap());
        assert!(SkillVersion::parse("0.9.0").unwrap() < SkillVersion::parse("0.10.0").unwrap());
    }
}
