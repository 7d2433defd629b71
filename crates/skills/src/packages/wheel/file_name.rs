//! The names of wheels: `name-version[-build]-python-abi-platform.whl`.

use std::str::FromStr as _;

use pep440_rs::Version;
use pep508_rs::PackageName;

use crate::packages::wheel::error::{WheelError, shown};
use crate::packages::wheel::kind::WheelKind;

/// Longest file name.
const MAX_NAME: usize = 255;

/// The name of a wheel of pure Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    file: String,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: Version,
}

impl WheelName {
    /// Parses the name of a file.
    ///
    /// # Errors
    ///
    /// It is not the name of a wheel of pure Python.
    pub fn parse(file: &str) -> Result<Self, WheelError> {
        let kind = WheelKind::of(file);
        let refused = |kind| WheelError::Kind { file: shown(file), kind };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.+!".contains(letter);
        if file.len() > MAX_NAME || !file.chars().all(is_plain) || file.starts_with('.') {
            return Err(refused(WheelKind::Other));
        }
        if kind != WheelKind::Pure {
            return Err(refused(kind));
        }
        let mut parts = file.split('-');
        let package = parts.next().filter(|name| !name.is_empty());
        let package = package.and_then(|name| PackageName::from_str(name).ok());
        let version = parts.next().map(|version| version.replace('_', "-"));
        let version = version.and_then(|version| Version::from_str(&version).ok());
        match package.zip(version) {
            Some((package, version)) => Ok(Self { file: file.to_owned(), package, version }),
            None => Err(refused(WheelKind::Other)),
        }
    }

    /// The whole name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_of_pure_python_are_told_from_all_else() {
        for (name, kind) in [
            ("idna-3.10-py3-none-any.whl", WheelKind::Pure),
            ("six-1.17.0-py2.py3-none-any.whl", WheelKind::Pure),
            ("a-1-2-py310-none-any.whl", WheelKind::Pure),
            ("numpy-2.5.2-cp313-cp313-manylinux_2_17_x86_64.whl", WheelKind::Native),
            ("a-1-cp315-none-any.whl", WheelKind::Native),
            ("a-1-py3-none-win_amd64.whl", WheelKind::Native),
            ("a-1-py2-none-any.whl", WheelKind::Native),
            ("a-1-cp313-cp313-pyemscripten_2025_0_wasm32.whl", WheelKind::Native),
            ("a-1.tar.gz", WheelKind::Source),
            ("a-1.zip", WheelKind::Source),
            ("a-1.whl", WheelKind::Other),
            ("a.exe", WheelKind::Other),
        ] {
            assert_eq!(WheelKind::of(name), kind, "{name}");
            assert_eq!(WheelName::parse(name).is_ok(), kind == WheelKind::Pure, "{name}");
        }
        let name = WheelName::parse("Foo_Bar-1.0+x.1-py3-none-any.whl").unwrap();
        assert_eq!(
            (name.package.to_string(), name.version.to_string()),
            ("foo-bar".into(), "1.0+x.1".into())
        );
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        for name in [
            "../a-1-py3-none-any.whl",
            "a/b-1-py3-none-any.whl",
            "a\\b-1-py3-none-any.whl",
            "-1-py3-none-any.whl",
            "a-x-py3-none-any.whl",
            "a-1-py3-none-any.whl\0",
            "é-1-py3-none-any.whl",
        ] {
            assert!(WheelName::parse(name).is_err(), "{name:?}");
        }
    }
}
