//! Runs pip for the platform of guests, and reads its words.

mod python;
mod words;

use std::ffi::OsStr;
use std::path::Path;

pub(crate) use crate::packages::pip::python::PythonError;
pub(crate) use crate::packages::pip::words::RegistryFault;

pub(super) use crate::packages::pip::words::{
    Offer, OfferKind, PipLog, conflict_in, download_fault, mismatch_in, missing_in,
    without_credentials,
};

use crate::packages::guest::GuestPlatform;

/// The script that runs pip.
const PIP: &str = include_str!("pip.py");

/// Runs pip for the platform of guests in `folder`, which gets pip's log.
pub(super) fn pip(
    guest: &GuestPlatform,
    python: &Path,
    command: &[&OsStr],
    folder: &Path,
) -> Result<(), PythonError> {
    let markers = serde_json::to_string(guest.marker_values()).unwrap_or_default();
    let platform = "--only-binary=:all: --implementation py --abi none --platform any --no-input \
         --disable-pip-version-check --progress-bar off --python-version";
    let mut arguments = vec![OsStr::new(&markers)];
    arguments.extend(command);
    arguments.extend(["--log", words::LOG].map(OsStr::new));
    arguments.extend(platform.split_ascii_whitespace().map(OsStr::new));
    arguments.push(OsStr::new(guest.python_version()));
    python::run(python, PIP, &arguments, folder)
}

/// The lines of pip that state errors, or the last ones.
pub(super) fn error_lines(said: &str) -> String {
    const MOST: usize = 8;
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("ERROR")).collect();
    let lines = if errors.is_empty() { said.lines().collect() } else { errors };
    let first = lines.len().saturating_sub(MOST);
    lines.get(first..).unwrap_or_default().join("\n")
}
