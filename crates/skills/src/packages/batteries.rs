//! The batteries: popular packages of pure Python that every run has besides those of the engine, and the
//! Python files of packages whose native code is part of the engine.
//!
//! They are locked in `wasm/batteries`, which is built into the program, and fetched with the
//! engine.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::packages::guest::{GuestPlatform, PackageVersion};
use crate::packages::lock::{Lock, LockError, LockedPackage};
use crate::packages::requirements::{Requirements, admits};
use crate::packages::wheel::WheelName;
use wardian_vocabulary::ids::Digest;

/// `wasm/batteries/pylock.toml` as it was when this program was built.
const LOCK: &str = include_str!("../../../../wasm/batteries/pylock.toml");

/// `wasm/batteries/data.toml`: wheels of which only some folders are used.
const DATA: &str = include_str!("../../../../wasm/batteries/data.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataFile {
    wheels: Vec<DataWheel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataWheel {
    name: String,
    url: String,
    size: u64,
    sha256: String,
    folders: BTreeMap<String, String>,
}

/// The lock of the batteries, with the wheels that they have a part of.
///
/// # Errors
///
/// The built-in text is malformed. A test ensures that no such program is released.
pub fn lock() -> Result<Lock, LockError> {
    let mut lock = Lock::parse(LOCK.as_bytes())?;
    let data: DataFile =
        toml::from_str(DATA).map_err(|error| LockError::Malformed(error.message().to_owned()))?;
    for DataWheel { name, url, size, sha256, folders } in data.wheels {
        let sha256 = Digest::parse(&sha256)
            .map_err(|_invalid| LockError::Malformed("`sha256` is not a digest".to_owned()))?;
        let wheel = WheelName::parse(&name).or_else(|_| WheelName::parse_native(&name))?;
        lock.packages.push(LockedPackage { wheel, url: Some(url), size, sha256, folders });
    }
    Ok(lock)
}

/// The packages whose native code is part of the engine: guests can have these versions and no others.
///
/// # Errors
///
/// As [`lock`].
pub fn native() -> Result<Vec<PackageVersion>, LockError> {
    let wheels = lock()?.packages.into_iter().map(|one| one.wheel);
    let mut native: Vec<PackageVersion> = wheels
        .filter(|wheel| wheel.native().is_some())
        .map(|wheel| PackageVersion { name: wheel.package, version: wheel.version })
        .collect();
    native.sort();
    Ok(native)
}

/// The batteries that a list gets as they are, and that pip must not choose.
///
/// What their wheels require is not there for guests, so they cannot be locked; or it is the engine's
/// version of a package and no other, so a lock would have the same files once more. Those that the list
/// wants in another version are left out, and so are those with native code, which belong to the engine.
#[must_use]
pub fn unlockable(
    requirements: &Requirements,
    guest: &GuestPlatform,
    batteries: &Lock,
) -> Vec<PackageVersion> {
    let is_wanted = |wheel: &WheelName| {
        let mut named = requirements.that_apply(guest.markers());
        named.all(|one| one.name != wheel.package || admits(one, &wheel.version))
    };
    let parts = batteries.packages.iter().filter(|one| one.is_partial() && one.is_package());
    let parts = parts.map(|one| &one.wheel);
    let parts = parts.filter(|wheel| wheel.native().is_none() && is_wanted(wheel));
    let parts = parts.map(|wheel| PackageVersion {
        name: wheel.package.clone(),
        version: wheel.version.clone(),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::guest::testing::guest;

    #[test]
    fn the_batteries_are_locked_as_they_are_required() {
        let lock = lock().unwrap();
        let requirements = include_bytes!("../../../../wasm/batteries/requirements.txt");
        let requirements = Requirements::parse(requirements).unwrap();
        assert_eq!(lock.requirements, requirements.digest(), "lock the batteries again");
        assert!(lock.packages.iter().all(|package| package.url.is_some()));
        let found: Vec<&str> = lock
            .packages
            .iter()
            .filter(|one| one.is_partial())
            .map(|one| one.wheel.as_str())
            .collect();
        let partial = [
            "llama_index_core-0.14.25-py3-none-any.whl",
            "sendgrid-6.12.4-py3-none-any.whl",
            "pdfminer_six-20260107-py3-none-any.whl",
            "pdfplumber-0.11.10-py3-none-any.whl",
            "markitdown-0.1.9-py3-none-any.whl",
            "python_barcode-0.16.1-py3-none-any.whl",
            "lifelines-0.30.3-py3-none-any.whl",
            "pydantic-2.14.4-py3-none-any.whl",
            "langchain_core-1.8.3-py3-none-any.whl",
            "langsmith-0.15.1-py3-none-any.whl",
            "mcp-2.3.0-py3-none-any.whl",
            "msgpack-1.2.4-cp315-cp315-pyemscripten_2026_5_wasm32.whl",
            "jiter-0.19.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
            "pydantic_core-2.50.5-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
            "rpds_py-2026.9.1-cp315-cp315-wasi_wasm32.whl",
            "orjson-3.13.0-cp315-cp315-wasi_wasm32.whl",
        ];
        assert_eq!(found, partial);
    }

    #[test]
    fn the_files_of_native_packages_are_of_the_wheels_of_the_engine() {
        let text = include_str!("../../../../wasm/native/native.toml");
        let set: toml::Table = toml::from_str(text).unwrap();
        let modules = set["modules"].as_array().unwrap().iter().map(|module| {
            let wheel = &module["wheel"];
            let text = |key: &str| wheel[key].as_str().unwrap().to_owned();
            (text("path"), text("sha256"), wheel["size_bytes"].as_integer().unwrap())
        });
        let lock = lock().unwrap();
        let wheels = lock.packages.iter().filter(|one| one.wheel.native().is_some());
        let wheels = wheels.map(|one| {
            let size = i64::try_from(one.size).unwrap();
            (one.wheel.as_str().to_owned(), one.sha256.to_string(), size)
        });
        assert_eq!(wheels.collect::<Vec<_>>(), modules.collect::<Vec<_>>());
        let native = native().unwrap();
        let native: Vec<String> = native.iter().map(ToString::to_string).collect();
        let expected = [
            "jiter 0.19.0",
            "msgpack 1.2.4",
            "orjson 3.13.0",
            "pydantic-core 2.50.5",
            "rpds-py 2026.9.1",
        ];
        assert_eq!(native, expected);
    }

    #[test]
    fn batteries_that_cannot_be_locked_are_packages_unless_another_version_is_wanted() {
        let lock = lock().unwrap();
        let data: Vec<&str> = lock
            .packages
            .iter()
            .filter(|one| !one.is_package())
            .map(|one| one.wheel.as_str())
            .collect();
        let parts =
            ["llama_index_core-0.14.25-py3-none-any.whl", "langsmith-0.15.1-py3-none-any.whl"];
        assert_eq!(data, parts);
        let names = |list: &str| {
            let requirements = Requirements::parse(list.as_bytes()).unwrap();
            let found = unlockable(&requirements, &guest(), &lock);
            found.iter().map(|one| one.name.to_string()).collect::<Vec<_>>()
        };
        let all = names("pdfminer.six\nsendgrid>=6");
        assert_eq!(all.len(), 9, "{all:?}");
        assert!(
            ["pdfminer-six", "markitdown", "lifelines", "pydantic", "langchain-core", "mcp"]
                .iter()
                .all(|one| all.iter().any(|a| a == one))
        );
        let fewer = names("sendgrid<6\npydantic<2");
        assert!(fewer.len() == 7 && !fewer.contains(&"sendgrid".to_owned()), "{fewer:?}");
    }
}
