//! Native modules that are merged into the engine: the table of addresses, and the pinned set.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process;

use wardian_engine::native::{NativeSet, PinnedModule};
use wardian_engine::source::pin::EnginePin;
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};
use zip::ZipArchive;

use crate::support::Command;
use crate::support::cache::own_cache;

/// The folder of what is built in.
fn native_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("wasm/native")
}

/// The engine's module as its wheel has it.
fn engine_module() -> Vec<u8> {
    let entries = fs::read_dir(own_cache().join("engine")).unwrap();
    let modules =
        entries.filter_map(|entry| fs::read(entry.unwrap().path().join("python.wasm")).ok());
    modules.last().unwrap()
}

/// The file of a module, fetched by pip, or why it cannot be fetched.
fn fetched(set: &NativeSet, module: &PinnedModule, folder: &Path) -> Result<Vec<u8>, String> {
    let requirements = folder.join("requirements.txt");
    let (package, version, digest) = (&module.package, &module.version, module.wheel.sha256);
    fs::write(&requirements, format!("{package}=={version} --hash=sha256:{digest}\n")).unwrap();
    let ended = process::Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"])
        .args(["--only-binary", ":all:", "--implementation", "cp", "--platform", &set.platform])
        .args(["--python-version", &set.python, "--abi"])
        .arg(format!("cp{}", set.python.replace('.', "")))
        .arg("-r")
        .arg(&requirements)
        .arg("-d")
        .arg(folder)
        .output()
        .map_err(|error| error.to_string())?;
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).into_owned());
    }
    let wheel = fs::File::open(folder.join(module.wheel.name())).unwrap();
    let mut content = Vec::new();
    let mut archive = ZipArchive::new(wheel).unwrap();
    archive.by_name(&module.file.path).unwrap().read_to_end(&mut content).unwrap();
    Ok(content)
}

/// Checks everything of a module but the code of its first functions.
fn ensure_valid_after(module: &[u8], known: usize) {
    let features = WasmFeatures::WASM2 | WasmFeatures::EXCEPTIONS;
    let mut validator = Validator::new_with_features(features);
    let mut functions = 0;
    for payload in Parser::new(0).parse_all(module) {
        if let ValidPayload::Func(function, body) = validator.payload(&payload.unwrap()).unwrap() {
            functions += 1;
            if functions > known {
                function.into_validator(Default::default()).validate(&body).unwrap();
            }
        }
    }
    assert!(functions > known, "{functions}");
}

/// How many functions a module defines.
fn functions_of(module: &[u8]) -> usize {
    let payloads = Parser::new(0).parse_all(module).map(Result::unwrap);
    payloads.filter(|payload| matches!(payload, Payload::CodeSectionEntry(_))).count()
}

#[test]
fn the_table_of_addresses_is_that_of_the_engine() {
    let script = fs::read_to_string(native_folder().join("addresses.py")).unwrap();
    let place = Command::new();
    place.file("addresses.py", script);
    let printed = place.run(&["run", "addresses.py"]).with(0).stdout;
    let table = fs::read_to_string(native_folder().join("addresses.tsv")).unwrap();
    assert_eq!(printed, table, "`wasm/native/addresses.tsv` is for another engine");
}

#[test]
fn the_pinned_set_merges_into_the_engine() {
    let set = NativeSet::embedded().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for module in &set.modules {
        match fetched(&set, module, folder.path()) {
            Ok(file) => files.push(file),
            Err(said) => {
                eprintln!("skipped: `{}` cannot be fetched: {said}", module.package);
                return;
            }
        }
    }
    let patched = EnginePin::embedded().unwrap().patched(&engine_module()).unwrap();
    let merged = set.merge(&patched, &files).unwrap();
    ensure_valid_after(&merged, functions_of(&patched));
}
