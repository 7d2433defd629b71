//! The path of a file in the working folder of a program.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{BlobName, InvalidId};

/// Longest path of a file that a caller puts into a workspace, in bytes.
pub const MAX_WORKSPACE_PATH: usize = 512;

/// Maximum number of names of such a path: those of its folders, and that of the file.
const MAX_NAMES: usize = 16;

/// Path of a file relative to the working folder of a program, such as `data/in.csv`.
///
/// INVARIANT(safe-workspace-path): at most 16 names that are each a [`BlobName`],
/// separated by single slashes. So no path leads out of the workspace, and each file has one path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let problem = if text.is_empty() || text.len() > MAX_WORKSPACE_PATH {
            format!("must have 1 to {MAX_WORKSPACE_PATH} bytes")
        } else if text.starts_with('/') {
            "must be relative to the working folder, such as `data/in.csv`".to_owned()
        } else if text.split('/').count() > MAX_NAMES {
            format!("must have at most {MAX_NAMES} names")
        } else if text.split('/').any(|name| matches!(name, "" | "." | "..")) {
            "must be names separated by single slashes, without `.` and `..`".to_owned()
        } else if text.split('/').any(|name| BlobName::parse(name).is_err()) {
            "must have names of at most 255 bytes without control characters and `\\`".to_owned()
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(InvalidId::new("path", problem))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The paths of the folders that lead to the file, the outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').filter_map(|(end, _)| self.0.get(..end))
    }
}

checked_text!(WorkspacePath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_workspace_path_refuses_whatever_could_lead_elsewhere() {
        let deepest = vec!["n"; MAX_NAMES].join("/");
        let longest = format!("{}/{}", "a".repeat(255), "b".repeat(255));
        for path in
            ["in.csv", "data/in.csv", "a b/täglich.csv", ".env", ".../x", &deepest, &longest]
        {
            assert_eq!(WorkspacePath::parse(path).unwrap().as_str(), path);
        }
        let (deep, long) = (format!("{deepest}/n"), "c".repeat(256));
        for path in [
            "",
            "/",
            "/in.csv",
            "data/",
            "data//in.csv",
            ".",
            "..",
            "./in.csv",
            "../in.csv",
            "data/../in.csv",
            "data/.",
            "a\\b",
            "a\0",
            "a\n/b",
            "a/\u{202e}b",
            &deep,
            &long,
        ] {
            assert!(WorkspacePath::parse(path).is_err(), "accepted {path:?}");
        }
        let far = WorkspacePath::parse(&["d"; 257].join("/")).unwrap_err().to_string();
        assert_eq!(far, "path must have 1 to 512 bytes");
    }

    #[test]
    fn a_path_has_its_folders_and_a_name() {
        let path = WorkspacePath::parse("a/b/c.csv").unwrap();
        assert_eq!(path.folders().collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(path.name(), "c.csv");
        let path = WorkspacePath::parse("c.csv").unwrap();
        assert_eq!((path.folders().count(), path.name()), (0, "c.csv"));
    }
}
