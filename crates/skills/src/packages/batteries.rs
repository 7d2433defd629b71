//! The batteries: popular packages of pure Python that every run has besides those of the engine.
//!
//! They are locked in `wasm/batteries`, which is built into the program, and fetched with the
//! engine.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::packages::lock::{Lock, LockError, LockedPackage};
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
        let wheel = WheelName::parse(&name)?;
        lock.packages.push(LockedPackage { wheel, url: Some(url), size, sha256, folders });
    }
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::requirements::Requirements;

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
        ];
        assert_eq!(found, partial);
    }
}
