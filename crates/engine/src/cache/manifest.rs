//! The engine's list of contents: the version of Python, and the packages.

use std::fs::File;
use std::io::{self, Read as _};

use serde::Serialize;

/// Longest manifest that is read.
const MAX_MANIFEST: u64 = 1 << 20;

/// The parts of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EngineManifest {
    /// Version of CPython.
    pub python: String,
    /// Packages that guests can import and libraries inside of them, by name.
    pub packages: Vec<Package>,
}

/// A package inside of the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl EngineManifest {
    /// Reads the lines `python VERSION` and `package NAME VERSION`. The other lines describe the
    /// build of the engine and are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        for line in text.lines() {
            match line.split_ascii_whitespace().collect::<Vec<_>>().as_slice() {
                ["python", version] => (*version).clone_into(&mut manifest.python),
                ["package", name, version] => manifest
                    .packages
                    .push(Package { name: (*name).to_owned(), version: (*version).to_owned() }),
                _ => {}
            }
        }
        manifest.packages.sort();
        manifest
    }

    /// Reads the manifest in `file`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not text.
    pub fn read(file: &File) -> io::Result<Self> {
        let mut text = String::new();
        file.take(MAX_MANIFEST).read_to_string(&mut text)?;
        Ok(Self::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_and_packages_are_read_and_build_notes_are_not() {
        let manifest = EngineManifest::parse(
            "python 3.15.0\npackage pandas 3.0.6\npackage numpy 2.5.2\n\
             pin d482 numpy-2.5.2.tar.gz\nx-preimport encodings, io, os\npackage broken\n\n",
        );
        let names = manifest.packages.iter().map(|package| package.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["numpy", "pandas"]);
        assert_eq!(manifest.packages[0].version, "2.5.2");
        assert_eq!(manifest.python, "3.15.0");
    }
}
