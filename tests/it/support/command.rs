//! The command line, typed as a user would, in folders of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use super::server::program;

/// A place to type commands in: an empty folder, an empty data folder, no settings.
#[derive(Debug)]
pub(crate) struct Command {
    folder: TempDir,
    environment: Vec<(&'static str, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The bytes of standard output.
    pub(crate) bytes: Vec<u8>,
}

impl Ended {
    /// Checks the exit code.
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n--\n{}", self.stdout, self.stderr);
        self
    }

    /// Standard output, which must be JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|fault| {
            panic!("no JSON ({fault}): {}\n--\n{}", self.stdout, self.stderr)
        })
    }
}

impl Command {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    /// Sets an environment variable for all commands that follow.
    pub(crate) fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// The folder in which commands are typed.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into that folder.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.folder().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, content).unwrap();
        file
    }

    /// Types a command.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with_input(arguments, "")
    }

    /// Types a command that reads standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ended {
        let mut child = self
            .process(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
        // A command need not read what it is given.
        let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ended {
            code: status.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            bytes: stdout,
        }
    }

    /// The command as a process that is not started yet.
    pub(crate) fn process(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = program(&self.folder);
        command.env("WARDIAN_DATA_DIR", self.folder().join("data"));
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command.args(arguments).current_dir(self.folder());
        command
    }
}
