//! The platform of guests, as packages see it: the values of markers, and the packages that the
//! engine contains.

use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::sync::Arc;

use pep440_rs::Version;
use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder, PackageName};
use serde::Serialize;

/// Parts of the engine that are no Python packages: C libraries, and tools of its build.
const NOT_PYTHON: [&str; 14] = [
    "bzip2",
    "cppy",
    "freetype",
    "harfbuzz",
    "libraqm",
    "libxml2",
    "libxslt",
    "openblas",
    "pybind11",
    "qhull",
    "sheenbidi",
    "sqlite-autoconf",
    "xz",
    "zlib",
];

/// The values of markers that do not depend on the engine's version. A test compares them with
/// those of a guest.
const FIXED: [(&str, &str); 8] = [
    ("implementation_name", "cpython"),
    ("os_name", "posix"),
    ("platform_machine", "wasm32"),
    ("platform_python_implementation", "CPython"),
    ("platform_release", "0.0.0"),
    ("platform_system", "Linux"),
    ("platform_version", "#1"),
    ("sys_platform", "wasi"),
];

/// The versions of a guest's Python cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine's list of contents names no version of Python")]
pub struct UnknownPython;

/// The platform of guests.
#[derive(Debug, Clone)]
pub struct GuestPlatform {
    markers: Arc<MarkerEnvironment>,
    values: BTreeMap<&'static str, String>,
    packages: Arc<BTreeMap<PackageName, Version>>,
}

/// A package of a certain version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PackageVersion {
    /// Its name, normalised.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
}

impl std::fmt::Display for PackageVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

impl GuestPlatform {
    /// The platform of an engine with this version of CPython and these packages.
    ///
    /// # Errors
    ///
    /// The version is none.
    pub fn new<'a>(
        python: &str,
        packages: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, UnknownPython> {
        let version = Version::from_str(python).map_err(|_invalid| UnknownPython)?;
        let [major, minor, ..] = version.release() else { return Err(UnknownPython) };
        let mut values: BTreeMap<&'static str, String> =
            FIXED.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        for name in ["python_full_version", "implementation_version"] {
            values.insert(name, python.to_owned());
        }
        values.insert("python_version", format!("{major}.{minor}"));
        let value = |name: &str| values.get(name).map_or("", String::as_str);
        let markers = MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
            implementation_name: value("implementation_name"),
            implementation_version: value("implementation_version"),
            os_name: value("os_name"),
            platform_machine: value("platform_machine"),
            platform_python_implementation: value("platform_python_implementation"),
            platform_release: value("platform_release"),
            platform_system: value("platform_system"),
            platform_version: value("platform_version"),
            python_full_version: value("python_full_version"),
            python_version: value("python_version"),
            sys_platform: value("sys_platform"),
        });
        let markers = Arc::new(markers.map_err(|_invalid| UnknownPython)?);
        let packages = packages.into_iter().filter(|(name, _)| !NOT_PYTHON.contains(name));
        let packages = packages.filter_map(|(name, version)| {
            Some((PackageName::from_str(name).ok()?, Version::from_str(version).ok()?))
        });
        let packages = Arc::new(packages.collect());
        Ok(Self { markers, values, packages })
    }

    /// This platform with more packages, as if the engine contained them.
    #[must_use]
    pub fn with_packages(&self, more: &[PackageVersion]) -> Self {
        let mut packages = (*self.packages).clone();
        packages.extend(more.iter().map(|one| (one.name.clone(), one.version.clone())));
        Self { packages: Arc::new(packages), ..self.clone() }
    }

    /// The values of markers.
    #[must_use]
    pub fn markers(&self) -> &MarkerEnvironment {
        &self.markers
    }

    /// The values of markers by their names.
    #[must_use]
    pub const fn marker_values(&self) -> &BTreeMap<&'static str, String> {
        &self.values
    }

    /// Major and minor version of Python, such as `3.15`.
    #[must_use]
    pub fn python_version(&self) -> &str {
        self.values.get("python_version").map_or("", String::as_str)
    }

    /// The packages of the engine.
    #[must_use]
    pub fn packages(&self) -> &BTreeMap<PackageName, Version> {
        &self.packages
    }

    /// The version of a package that the engine contains.
    #[must_use]
    pub(crate) fn version_of(&self, name: &PackageName) -> Option<&Version> {
        self.packages.get(name)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::packages::guest::GuestPlatform;

    /// A small engine.
    pub(crate) fn guest() -> GuestPlatform {
        GuestPlatform::new("3.15.0", [("numpy", "2.5.2"), ("pyyaml", "6.0.3"), ("zlib", "1.3.1")])
            .unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pep508_rs::Requirement;

    #[test]
    fn markers_are_those_of_a_guest_and_c_libraries_are_no_packages() {
        let guest = testing::guest();
        assert_eq!((guest.python_version(), guest.packages().len()), ("3.15", 2));
        let applies = |text: &str| {
            Requirement::<pep508_rs::VerbatimUrl>::from_str(text)
                .unwrap()
                .evaluate_markers(guest.markers(), &[])
        };
        assert!(applies("a; sys_platform == 'wasi' and python_version >= '3.15'"));
        assert!(applies("a; platform_system == 'Linux' and os_name != 'nt'"));
        assert!(!applies("a; sys_platform == 'linux'"));
        assert!(!applies("a; platform_machine == 'x86_64' or extra == 'x'"));
        assert_eq!(GuestPlatform::new("", []).unwrap_err(), UnknownPython);
        assert_eq!(GuestPlatform::new("3", []).unwrap_err(), UnknownPython);
    }
}
