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
use crate::packages::wheel::NativeTags;

/// The script that runs pip.
const PIP: &str = include_str!("pip.py");

/// Runs pip for the platform of guests in `folder`, which gets pip's log.
pub(super) fn pip(
    guest: &GuestPlatform,
    python: &Path,
    command: &[&OsStr],
    folder: &Path,
) -> Result<(), PythonError> {
    let tags = format!(
        "--implementation py --abi none --platform any --python-version {}",
        guest.python_version()
    );
    run(guest, python, (command, &tags), folder)
}

/// The same for wheels with native code of these tags.
pub(super) fn pip_for_native(
    guest: &GuestPlatform,
    tags: &NativeTags,
    python: &Path,
    command: &[&OsStr],
    folder: &Path,
) -> Result<(), PythonError> {
    let NativeTags { python: version, abi, platform } = tags;
    let tags =
        format!("--implementation cp --abi {abi} --platform {platform} --python-version {version}");
    run(guest, python, (command, &tags), folder)
}

fn run(
    guest: &GuestPlatform,
    python: &Path,
    (command, tags): (&[&OsStr], &str),
    folder: &Path,
) -> Result<(), PythonError> {
    let markers = serde_json::to_string(guest.marker_values()).unwrap_or_default();
    let fixed = "--only-binary=:all: --no-input --disable-pip-version-check --progress-bar off";
    let mut arguments = vec![OsStr::new(&markers)];
    arguments.extend(command);
    arguments.extend(["--log", words::LOG].map(OsStr::new));
    let options = fixed.split_ascii_whitespace().chain(tags.split_ascii_whitespace());
    arguments.extend(options.map(OsStr::new));
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
