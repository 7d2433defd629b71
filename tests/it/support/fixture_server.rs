//! A server in Python that comes with the tests.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::support::repository;

/// A server on loopback, until it is dropped. It prints its port first, and writes to its folder.
pub(crate) struct FixtureServer {
    pub(crate) folder: TempDir,
    pub(crate) port: String,
    child: Child,
}

impl Drop for FixtureServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl FixtureServer {
    /// A server that runs already.
    pub(crate) const fn of(folder: TempDir, child: Child, port: String) -> Self {
        Self { folder, port, child }
    }

    /// Starts a script of the repository in a folder of its own.
    pub(crate) fn start(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new("python3");
        command.arg(repository(script)).arg(folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self::of(folder, child, port.trim().to_owned())
    }
}
