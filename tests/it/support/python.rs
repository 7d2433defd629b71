//! Packages for the Python outside: what the sandbox is compared with.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;

/// The Python of this machine with packages in a folder of the tests.
#[derive(Debug)]
pub(crate) struct Python {
    packages: PathBuf,
}

impl Python {
    /// Installs a package with pip, unless an earlier run of the tests did.
    pub(crate) fn with(package: &str) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock();
        let packages = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pip-{package}"));
        let python = Self { packages };
        let import = format!("import {package}");
        if !python.run([OsStr::new("-c"), import.as_ref()]).status.success() {
            python.install(package);
        }
        python
    }

    fn install(&self, package: &str) {
        // `--target` also works where the distribution forbids pip to touch its own packages.
        let installed = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"])
            .arg(&self.packages)
            .arg(package)
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&installed.stderr);
        assert!(installed.status.success(), "pip cannot install {package}: {complaint}");
    }

    /// Runs the interpreter.
    pub(crate) fn run(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        Command::new("python3")
            .args(arguments)
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap()
    }
}
