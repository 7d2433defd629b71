//! Runs the operator's Python with pip.

use std::path::Path;
use std::process::Command;

use crate::packages::pip::words::without_credentials;
use wardian_vocabulary::subprocess::{ExitReport, run_to_end};

/// Bytes of a program's output that are kept: its end.
const MAX_TRANSCRIPT: usize = 16 << 10;

/// Python or pip failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PythonError {
    /// There is no such program.
    #[error(
        "`{program}` cannot be run: locking and fetching packages needs a Python with pip on this \
         machine; install one, or name another with `--set engine.python=PATH`"
    )]
    Missing {
        /// The program.
        program: String,
    },
    /// It has no pip, or one that is too old.
    #[error(
        "`{program}` has no pip of version 22.2 or later: `{program} -m pip install --upgrade \
        pip` may install it, or name another Python with `--set engine.python=PATH`"
    )]
    NoPip {
        /// The program.
        program: String,
    },
    /// It ended with an error.
    #[error("pip failed: {said}")]
    Failed {
        /// The end of what it said.
        said: String,
    },
}

/// Runs a script of this program with `python`, in `folder`, to its end.
pub(super) fn run(
    python: &Path,
    script: &str,
    arguments: &[&std::ffi::OsStr],
    folder: &Path,
) -> Result<(), PythonError> {
    let program = python.to_string_lossy().into_owned();
    let mut command = Command::new(python);
    // Python looks for modules in the working folder first, so it must be a folder of this program.
    command.arg("-c").arg(script).args(arguments).current_dir(folder);
    // The user's settings of where to install would break a resolution, and those of output would
    // change the words that are read. Settings of registries stay.
    let ours = ["PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REPORT", "PIP_REQUIRE_VIRTUALENV"];
    for name in ours.iter().chain(&["PIP_QUIET", "PIP_VERBOSE", "PIP_LOG"]) {
        command.env_remove(name);
    }
    let ExitReport { status, said } = run_to_end(command, MAX_TRANSCRIPT)
        .map_err(|_not_started| PythonError::Missing { program: program.clone() })?;
    if status.success() {
        return Ok(());
    }
    if said.contains("wardian: no pip") || said.contains("no such option: --report") {
        return Err(PythonError::NoPip { program });
    }
    let said = if said.is_empty() { format!("it ended with {status}") } else { said };
    Err(PythonError::Failed { said: without_credentials(&said) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_that_is_missing_or_has_no_pip_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = run(Path::new("/no/python"), "", &[], folder.path()).unwrap_err();
        assert!(error.to_string().contains("`/no/python` cannot be run"), "{error}");
        let shell = |script: &str| {
            let path = folder.path().join("python");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
            run(&path, "", &[], folder.path())
        };
        assert_eq!(shell("exit 0"), Ok(()));
        let error = shell("echo 'wardian: no pip' >&2; exit 1").unwrap_err();
        assert!(matches!(error, PythonError::NoPip { .. }), "{error}");
        let error = shell("echo why >&2; exit 1").unwrap_err();
        assert_eq!(error, PythonError::Failed { said: "why".into() });
    }
}
