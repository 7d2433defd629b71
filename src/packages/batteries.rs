//! The batteries: popular packages of pure Python that every run has beside those of the engine.
//!
//! They are locked in `wasm/batteries`, which is built into the program, and fetched with the
//! engine.

use crate::packages::lock::{Lock, LockError};

/// `wasm/batteries/pylock.toml` as it was when this program was built.
const LOCK: &str = include_str!("../../wasm/batteries/pylock.toml");

/// The lock of the batteries.
///
/// # Errors
///
/// The built-in text is malformed. A test ensures that no such program is released.
pub fn lock() -> Result<Lock, LockError> {
    Lock::parse(LOCK.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::requirements::Requirements;

    #[test]
    fn the_batteries_are_locked_as_they_are_required() {
        let lock = lock().unwrap();
        let requirements = include_bytes!("../../wasm/batteries/requirements.txt");
        let requirements = Requirements::parse(requirements).unwrap();
        assert_eq!(lock.requirements, requirements.digest(), "lock the batteries again");
        assert!(lock.packages.iter().all(|package| package.url.is_some()));
    }
}
