//! The pinned set of native modules: `wasm/native`, built into the program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

use crate::native::addresses::DataAddresses;
use crate::native::error::MergeError;
use crate::native::merge::{NativeModule, NativeRole, merge};
use crate::source::pinned_file::PinnedFile;

/// `wasm/native/native.toml` as it was when this program was built.
const SET: &str = include_str!("../../../../wasm/native/native.toml");

/// The addresses of the engine's data.
const ADDRESSES: &str = include_str!("../../../../wasm/native/addresses.tsv");

/// The shims, in the text format.
#[cfg(test)]
const SHIMS_SOURCE: &str = include_str!("../../../../wasm/native/shims.wat");

/// The shims as a module, in hexadecimal. A test compares it with its source.
const SHIMS: &str = include_str!("../../../../wasm/native/shims.hex");

/// The wheels that are part of the program, by their file names: those of modules that are built from source
/// distributions by `scripts/build-native`, since no registry has them.
const SHIPPED: [(&str, &[u8]); 2] = [
    (
        "rpds_py-2026.9.1-cp315-cp315-wasi_wasm32.whl",
        include_bytes!(
            "../../../../wasm/native/wheels/rpds_py-2026.9.1-cp315-cp315-wasi_wasm32.whl"
        ),
    ),
    (
        "orjson-3.13.0-cp315-cp315-wasi_wasm32.whl",
        include_bytes!("../../../../wasm/native/wheels/orjson-3.13.0-cp315-cp315-wasi_wasm32.whl"),
    ),
];

/// The native modules that are merged into the engine's module.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeSet {
    /// The module that comes out.
    pub merged_module: MergedModule,
    /// In the order in which they are merged.
    pub modules: Vec<PinnedModule>,
    /// The module that is merged before them. It is not part of the text of the set; empty for none.
    #[serde(skip)]
    pub(crate) shims: Vec<u8>,
    /// The file that the set was read from: the lock of an operator. `None` for the set that was built in.
    #[serde(skip)]
    pub lock: Option<PathBuf>,
}

/// The merged module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedModule {
    /// Its digest.
    pub sha256: Digest,
    /// Its numbers, if they are not those of the pin's interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<MergedNumbers>,
}

/// The numbers of a merged module that depend on what was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedNumbers {
    /// Pages of 64 KiB that its memory has at the start.
    pub memory_min_pages: u64,
    /// Elements of its table.
    pub table_elements: u64,
    /// Active data segments.
    pub data_segments: u64,
}

/// What SPDX has for a licence that nobody has stated.
pub const UNKNOWN_LICENCE: &str = "NOASSERTION";

/// A native module and the wheel that has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedModule {
    /// The package in a Python package registry.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The name under which Python imports the module.
    pub name: String,
    /// Its licence, as an expression of SPDX; [`UNKNOWN_LICENCE`] for a wheel of an operator.
    pub licence: String,
    /// The source distribution that it was built from; `None` if its authors publish the wheel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdist: Option<SourceDistribution>,
    /// The wheel: of a registry, or a part of the program.
    pub wheel: PinnedFile,
    /// The module in the wheel.
    pub file: PinnedFile,
}

/// A source distribution of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceDistribution {
    /// Where the source code is offered.
    pub url: String,
    /// Its digest.
    pub sha256: Digest,
    /// Its length.
    pub size_bytes: ByteCount,
}

impl PinnedModule {
    /// The wheel, if it is a part of the program.
    #[must_use]
    pub(crate) fn shipped(&self) -> Option<&'static [u8]> {
        self.sdist.as_ref()?;
        let wheel = SHIPPED.iter().find(|(name, _)| *name == self.wheel.name());
        wheel.map(|(_, content)| *content)
    }

    /// The line that makes a Python package client fetch exactly this wheel.
    #[must_use]
    pub(crate) fn requirement(&self) -> String {
        format!("{}=={} --hash=sha256:{}", self.package, self.version, self.wheel.sha256)
    }
}

impl NativeSet {
    /// The set that was built in.
    ///
    /// # Errors
    ///
    /// `wasm/native/native.toml` or the shims are malformed. A test ensures that no such program is released.
    pub fn embedded() -> Result<Self, MergeError> {
        let set: Self = toml::from_str(SET).map_err(MergeError::Set)?;
        Ok(Self { shims: shims()?, ..set })
    }

    /// Merges the set into the patched module. `files` are the contents of the modules' files, in the order of
    /// [`NativeSet::modules`].
    ///
    /// # Errors
    ///
    /// A file is not the pinned one, the modules do not fit the engine, or the result is not the pinned one.
    pub fn merge(&self, patched: &[u8], files: &[Vec<u8>]) -> Result<Vec<u8>, MergeError> {
        let merged = self.merge_any(patched, files)?;
        let (pinned, found) = (self.merged_module.sha256, Digest::of(&merged));
        match self.lock {
            _ if found == pinned => Ok(merged),
            None => Err(MergeError::Result { pinned, found }),
            Some(_) => Err(MergeError::Locked { pinned, found }),
        }
    }

    /// Merges the set into the patched module, whatever comes out.
    pub(crate) fn merge_any(
        &self,
        patched: &[u8],
        files: &[Vec<u8>],
    ) -> Result<Vec<u8>, MergeError> {
        if files.len() != self.modules.len() {
            return Err(MergeError::Files);
        }
        let mut modules = Vec::new();
        if !self.shims.is_empty() {
            let bytes = &self.shims;
            modules.push(NativeModule { name: "shims", bytes, role: NativeRole::Shims });
        }
        for (module, bytes) in self.modules.iter().zip(files) {
            let (pinned, found) = (module.file.sha256, Digest::of(bytes));
            if found != pinned {
                return Err(MergeError::File { module: module.name.clone(), pinned, found });
            }
            modules.push(NativeModule { name: &module.name, bytes, role: NativeRole::Extension });
        }
        merge(patched, &modules, &DataAddresses::parse(ADDRESSES)?)
    }
}

/// The module of the shims.
fn shims() -> Result<Vec<u8>, MergeError> {
    let digits = SHIMS.split_ascii_whitespace().collect::<String>();
    data_encoding::HEXLOWER.decode(digits.as_bytes()).map_err(|_invalid| MergeError::Shims)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_embedded_set_is_complete() {
        let set = NativeSet::embedded().unwrap();
        let names = set.modules.iter().map(|module| module.name.as_str()).collect::<Vec<_>>();
        let expected = [
            "msgpack._cmsgpack",
            "jiter.jiter",
            "pydantic_core._pydantic_core",
            "rpds.rpds",
            "orjson.orjson",
        ];
        assert_eq!(names, expected);
        for module in &set.modules {
            let wheel = module.wheel.name();
            let start = format!("{}-{}-", module.package.replace('-', "_"), module.version);
            assert!(wheel.starts_with(&start), "{wheel}");
            let is_built_here = wheel.ends_with("-cp315-cp315-wasi_wasm32.whl");
            assert_eq!(is_built_here, module.sdist.is_some(), "{wheel}");
            let (package, _) = module.name.split_once('.').unwrap();
            assert!(module.file.path.starts_with(&format!("{package}/")), "{wheel}");
        }
        let files: BTreeSet<&str> = set.modules.iter().map(|module| module.file.name()).collect();
        assert_eq!(files.len(), set.modules.len(), "the cache keeps them in one folder");
        DataAddresses::parse(ADDRESSES).unwrap();
    }

    #[test]
    fn the_wheels_of_the_program_are_the_pinned_ones() {
        let set = NativeSet::embedded().unwrap();
        let built: Vec<_> = set.modules.iter().filter(|module| module.sdist.is_some()).collect();
        assert_eq!(built.len(), SHIPPED.len());
        for module in built {
            let sdist = module.sdist.as_ref().unwrap();
            assert!(sdist.url.starts_with("https://files.pythonhosted.org/"), "{}", sdist.url);
            let wheel = module.shipped().unwrap();
            assert_eq!(Digest::of(wheel), module.wheel.sha256, "{}", module.name);
            assert_eq!(ByteCount::from(wheel.len()), module.wheel.size_bytes, "{}", module.name);
        }
    }

    #[test]
    fn the_shims_are_those_of_their_source() {
        let wanted = wat::parse_str(SHIMS_SOURCE).unwrap();
        let digits = data_encoding::HEXLOWER.encode(&wanted);
        let lines = digits.as_bytes().chunks(100).map(|line| str::from_utf8(line).unwrap());
        let lines = lines.map(|line| format!("{line}\n")).collect::<String>();
        assert!(SHIMS == lines, "the content of `wasm/native/shims.hex` should be:\n{lines}");
        assert_eq!(shims().unwrap(), wanted);
    }

    #[test]
    fn errno_is_where_the_patches_and_the_shims_have_it() {
        let patches = include_str!("../../../../wasm/patches/errors.wat");
        let rows = ADDRESSES.lines().filter_map(|row| row.strip_prefix("errno\t"));
        let address = rows.collect::<Vec<_>>();
        let [address] = address.as_slice() else { panic!("{address:?}") };
        for source in [patches, SHIMS_SOURCE] {
            assert!(source.contains(address), "{address}");
        }
    }

    #[test]
    fn other_files_than_the_pinned_ones_are_refused() {
        let set = NativeSet::embedded().unwrap();
        let error = set.merge(b"", &[]).unwrap_err();
        assert!(matches!(error, MergeError::Files), "{error}");
        let error = set.merge(b"", &vec![vec![1]; set.modules.len()]).unwrap_err().to_string();
        assert!(
            error.starts_with("the file of `msgpack._cmsgpack` is not the pinned one"),
            "{error}"
        );
    }
}
