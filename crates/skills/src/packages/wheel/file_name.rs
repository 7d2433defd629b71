//! The names of wheels: `name-version[-build]-python-abi-platform.whl`.

use std::str::FromStr as _;

use pep440_rs::Version;
use pep508_rs::PackageName;

use crate::packages::wheel::error::{WheelError, shown};
use crate::packages::wheel::kind::WheelKind;

/// Longest file name.
const MAX_NAME: usize = 255;

/// The name of a wheel of pure Python, or of one whose native module is part of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    file: String,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: Version,
    native: Option<NativeTags>,
}

/// The interpreter and the system that a wheel with native code is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NativeTags {
    /// Version of Python, such as `3.14`.
    pub(crate) python: String,
    /// Such as `cp314`.
    pub(crate) abi: String,
    /// Such as `pyemscripten_2026_0_wasm32`.
    pub(crate) platform: String,
}

impl NativeTags {
    /// The tags of a wheel for one version of CPython on Emscripten, or on WASI.
    fn of(file: &str) -> Option<Self> {
        let mut parts = file.strip_suffix(".whl")?.rsplit('-');
        let (platform, abi, python) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = abi.strip_prefix("cp3").filter(|_| abi == python)?;
        let is_known = (platform.starts_with("pyemscripten_") || platform == "wasi_wasm32")
            && !digits.is_empty()
            && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_known.then(|| Self {
            python: format!("3.{digits}"),
            abi: abi.to_owned(),
            platform: platform.to_owned(),
        })
    }
}

impl WheelName {
    /// Parses the name of a file.
    ///
    /// # Errors
    ///
    /// It is not the name of a wheel of pure Python.
    pub fn parse(file: &str) -> Result<Self, WheelError> {
        Self::parse_kind(file, None)
    }

    /// Parses the name of a wheel with native code. Only for wheels of the built-in list: a layer gets their
    /// Python files, and the engine has their native code.
    pub(crate) fn parse_native(file: &str) -> Result<Self, WheelError> {
        Self::parse_kind(file, NativeTags::of(file))
    }

    fn parse_kind(file: &str, native: Option<NativeTags>) -> Result<Self, WheelError> {
        let kind = WheelKind::of(file);
        let refused = |kind| WheelError::Kind { file: shown(file), kind };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.+!".contains(letter);
        if file.len() > MAX_NAME || !file.chars().all(is_plain) || file.starts_with('.') {
            return Err(refused(WheelKind::Other));
        }
        if kind != WheelKind::Pure && native.is_none() {
            return Err(refused(kind));
        }
        let mut parts = file.split('-');
        let package = parts.next().filter(|name| !name.is_empty());
        let package = package.and_then(|name| PackageName::from_str(name).ok());
        let version = parts.next().map(|version| version.replace('_', "-"));
        let version = version.and_then(|version| Version::from_str(&version).ok());
        match package.zip(version) {
            Some((package, version)) => {
                Ok(Self { file: file.to_owned(), package, version, native })
            }
            None => Err(refused(WheelKind::Other)),
        }
    }

    /// The tags of a wheel with native code.
    #[must_use]
    pub(crate) const fn native(&self) -> Option<&NativeTags> {
        self.native.as_ref()
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
    fn native_wheels_are_named_only_where_they_are_expected() {
        let file = "a_b-1.2-cp314-cp314-pyemscripten_2026_0_wasm32.whl";
        assert!(WheelName::parse(file).is_err());
        let name = WheelName::parse_native(file).unwrap();
        assert_eq!(
            (name.package.to_string(), name.version.to_string()),
            ("a-b".into(), "1.2".into())
        );
        let tags = name.native().unwrap();
        assert_eq!((tags.python.as_str(), tags.abi.as_str()), ("3.14", "cp314"));
        assert_eq!(tags.platform, "pyemscripten_2026_0_wasm32");
        assert!(WheelName::parse_native("a_b-1.2-cp315-cp315-wasi_wasm32.whl").is_ok());
        for other in [
            "a-1-cp314-cp314-manylinux_2_17_x86_64.whl",
            "a-1-cp313-cp314-pyemscripten_2026_0_wasm32.whl",
            "a-1-cp3-cp3-pyemscripten_2026_0_wasm32.whl",
            "a-1-cp314-abi3-pyemscripten_2026_0_wasm32.whl",
            "../a-1-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
            "a-1.tar.gz",
        ] {
            assert!(WheelName::parse_native(other).is_err(), "{other}");
        }
        assert!(WheelName::parse("a-1-py3-none-any.whl").unwrap().native().is_none());
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
