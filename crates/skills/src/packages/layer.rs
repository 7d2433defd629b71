//! Makes a layer of unpacked wheels.
//!
//! INVARIANT(reproducible-layer): a layer's digest depends on its wheels alone, not on their order
//! or the machine.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::packages::guest::PackageVersion;
use crate::packages::wheel::{Unpacked, UnpackedFile, collision_key};
use wardian_formats::job::layer;
use wardian_vocabulary::ids::Digest;

/// Bytes of all files of a layer.
const MAX_LAYER: u64 = 512 << 20;

/// Files of a layer.
const MAX_FILES: usize = 50_000;

/// Identifies the wheels that a layer is made of, before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerKey(pub(crate) Digest);

impl LayerKey {
    /// The key of the layer of these wheels.
    #[must_use]
    pub fn of(wheels: impl IntoIterator<Item = Digest>) -> Self {
        let mut digests: Vec<String> = wheels.into_iter().map(|one| one.to_string()).collect();
        digests.sort_unstable();
        digests.dedup();
        Self(Digest::of(format!("wardian layer 1\n{}\n", digests.join("\n")).as_bytes()))
    }
}

impl std::fmt::Display for LayerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The reason why wheels make no layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// Two packages have different files of one path.
    #[error("`{one}` and `{other}` both contain `{path}`")]
    Conflict {
        /// A package.
        one: String,
        /// Another package.
        other: String,
        /// The path.
        path: String,
    },
    /// The packages are too large together.
    #[error("the packages have more than 512 MiB, or more than 50,000 files, together")]
    TooLarge,
}

/// A layer that is being made.
#[derive(Debug, Default)]
pub struct LayerDraft {
    packages: Vec<PackageVersion>,
    files: BTreeMap<String, (usize, Vec<u8>)>,
    /// The paths as they are spelt, by what other systems take them for.
    taken: BTreeMap<String, String>,
    bytes: u64,
}

impl LayerDraft {
    /// Adds the files of a package.
    ///
    /// # Errors
    ///
    /// Another package has other files at the same paths, or the layer becomes too large.
    pub fn add(&mut self, package: PackageVersion, unpacked: Unpacked) -> Result<(), LayerError> {
        let owner = self.packages.len();
        self.packages.push(package);
        for UnpackedFile { path, content } in unpacked.files {
            self.bytes =
                self.bytes.saturating_add(u64::try_from(content.len()).unwrap_or(u64::MAX));
            if self.bytes > MAX_LAYER || self.files.len() >= MAX_FILES {
                return Err(LayerError::TooLarge);
            }
            self.add_file(owner, path, content)?;
        }
        Ok(())
    }

    fn add_file(&mut self, owner: usize, path: String, content: Vec<u8>) -> Result<(), LayerError> {
        // A path is taken by a file, or by a folder of the same name, in any spelling.
        let mut folder = path.as_str();
        let mut clash = None;
        while let Some((above, _)) = folder.rsplit_once('/') {
            let spelt = self.taken.get(&collision_key(above));
            if spelt.is_some_and(|spelt| spelt != &format!("{above}/")) {
                clash = Some(above.to_owned());
            }
            folder = above;
        }
        let key = collision_key(&path);
        if let Some(spelt) = self.taken.get(&key) {
            let is_same =
                *spelt == path && self.files.get(&path).is_some_and(|(_, known)| *known == content);
            if is_same {
                return Ok(());
            }
            clash = Some(path.clone());
        }
        if let Some(at) = clash {
            return Err(self.conflict(owner, at));
        }
        let mut folder = path.as_str();
        while let Some((above, _)) = folder.rsplit_once('/') {
            if self.taken.insert(collision_key(above), format!("{above}/")).is_some() {
                break;
            }
            folder = above;
        }
        self.taken.insert(key, path.clone());
        self.files.insert(path, (owner, content));
        Ok(())
    }

    fn conflict(&self, owner: usize, path: String) -> LayerError {
        let key = collision_key(&path);
        let is_there = |file: &str| {
            let found = collision_key(file);
            found == key || found.strip_prefix(&key).is_some_and(|rest| rest.starts_with('/'))
        };
        let other = self.files.iter().find(|(file, _)| is_there(file));
        let other = other.map_or(owner, |(_, (other, _))| *other);
        let name = |at: usize| self.packages.get(at).map(|one| one.name.to_string());
        let (one, other) = (name(owner).unwrap_or_default(), name(other).unwrap_or_default());
        LayerError::Conflict { one, other, path }
    }

    /// Writes the layer. Returns its digest.
    ///
    /// # Errors
    ///
    /// The sink fails.
    pub fn write(&self, into: &mut impl Write) -> io::Result<Digest> {
        let mut packages: Vec<(String, String)> = self
            .packages
            .iter()
            .map(|package| (package.name.to_string(), package.version.to_string()))
            .collect();
        packages.sort();
        let files: Vec<(String, &[u8])> = self
            .files
            .iter()
            .map(|(path, (_, content))| (path.clone(), content.as_slice()))
            .collect();
        layer::write(into, packages, &files)
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;
    use pep440_rs::Version;
    use pep508_rs::PackageName;

    fn package(name: &str) -> PackageVersion {
        let version = Version::from_str("1").unwrap();
        PackageVersion { name: PackageName::from_str(name).unwrap(), version }
    }

    fn files(files: &[(&str, &str)]) -> Unpacked {
        let file = |(path, text): &(&str, &str)| UnpackedFile {
            path: (*path).to_owned(),
            content: text.as_bytes().to_vec(),
        };
        Unpacked { files: files.iter().map(file).collect() }
    }

    #[test]
    fn reproducible_layer_in_any_order() {
        let (a, b) =
            (files(&[("a.py", "1"), ("n/x.py", "2")]), files(&[("b.py", "3"), ("n/y.py", "4")]));
        let made = |order: [(&str, &Unpacked); 2]| {
            let mut draft = LayerDraft::default();
            for (name, unpacked) in order {
                draft.add(package(name), unpacked.clone()).unwrap();
            }
            let mut bytes = Vec::new();
            (draft.write(&mut bytes).unwrap(), bytes)
        };
        assert_eq!(made([("a", &a), ("b", &b)]), made([("b", &b), ("a", &a)]));
        let key = |texts: [&str; 2]| LayerKey::of(texts.map(|text| Digest::of(text.as_bytes())));
        assert_eq!(key(["x", "y"]), key(["y", "x"]));
        assert_ne!(key(["x", "y"]), key(["x", "z"]));
    }

    #[test]
    fn packages_that_overwrite_each_other_are_refused() {
        for (one, other, path) in [
            ("x.py", "x.py", "x.py"),
            ("x.py", "X.py", "X.py"),
            ("x/y", "x", "x"),
            ("x", "x/y", "x"),
            ("Lib/a.py", "lib/b.py", "lib"),
        ] {
            let mut draft = LayerDraft::default();
            draft.add(package("a"), files(&[(one, "1")])).unwrap();
            let refused = draft.add(package("b"), files(&[(other, "2")])).unwrap_err();
            let expected =
                LayerError::Conflict { one: "b".into(), other: "a".into(), path: path.into() };
            assert_eq!(refused, expected, "{one} {other}");
        }
        let mut draft = LayerDraft::default();
        draft.add(package("a"), files(&[("n/__init__.py", ""), ("n/a.py", "")])).unwrap();
        draft.add(package("b"), files(&[("n/__init__.py", ""), ("n/b.py", "")])).unwrap();
    }
}
