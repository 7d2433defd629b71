//! `wardian conformance`: checks a server with the conformance suite of the Skills Protocol.
//!
//! The suite (`conformance/`) is a Python package without code of this program, because it judges any
//! server. Its files are part of this program. The machine's Python runs them, and not the sandbox:
//! the sandbox would have to be let into the network, and would judge itself.

pub(crate) mod args;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::sleep;

use crate::cli::commands::conformance::args::ConformanceArgs;
use crate::cli::commands::own_server::OwnServer;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on_until_interrupted;
use wardian_config::Config;
use wardian_vocabulary::subprocess::hide_own_variables;

/// The files of the suite: paths and contents.
const SUITE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/conformance_suite.rs"));

/// The first file that Python runs; older versions can read it too.
const MAIN: &str = "import sys
if sys.version_info < (3, 9):
    sys.stderr.write('error: the conformance suite needs Python 3.9 or newer\\n')
    sys.exit(2)
from skills_protocol_conformance.cli import main
sys.exit(main())
";

/// The variable from which the suite takes the key of the server.
const KEY_VARIABLE: &str = "SKILLS_PROTOCOL_KEY";

/// How often the end of the suite is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Executes the command.
pub(crate) fn conformance(
    config: &Config,
    args: &ConformanceArgs,
    key: Option<&str>,
) -> Result<Exit, Failed> {
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let suite = unpack(folder.path()).map_err(|fault| Failed::at("write the suite", &fault))?;
    let mut command = suite_command(&config.engine.python, &suite, args);
    if let Some(key) = key.filter(|_| args.url.is_some()) {
        command.env(KEY_VARIABLE, key);
    }
    block_on_until_interrupted(Box::pin(async {
        let server = if args.wants_own_server() {
            ensure_python(&config.engine.python)?;
            let skills = suite.join("skills_protocol_conformance/skills");
            Some(OwnServer::start(config, folder.path(), &skills, &[]).await?)
        } else {
            None
        };
        let own = server.as_ref().map(|server| format!("{}/rpc", server.url()));
        if let Some(url) = own.as_deref().or(args.url.as_deref()) {
            command.arg(format!("--url={url}"));
        }
        let child = command.spawn().map_err(|fault| no_python(&config.engine.python, &fault))?;
        let ended = Running(child).ended().await;
        let status = ended.map_err(|fault| Failed::at("wait for the suite", &fault))?;
        exit_of(status)
    }))
}

/// Writes the files of the suite as they are when it is installed, and returns their folder.
fn unpack(folder: &Path) -> io::Result<PathBuf> {
    let suite = folder.join("suite");
    for (path, content) in SUITE {
        let file = suite.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, content)?;
    }
    fs::write(suite.join("__main__.py"), MAIN)?;
    Ok(suite)
}

/// Makes the command that runs the suite. Python takes nothing from the user's folders or variables.
fn suite_command(python: &Path, suite: &Path, args: &ConformanceArgs) -> Command {
    let mut command = Command::new(python);
    hide_own_variables(&mut command);
    command.args(["-I", "-B"]).arg(suite).args(args.suite_arguments()).stdin(Stdio::null());
    command
}

/// Says that there is no Python before a server is started for it.
fn ensure_python(python: &Path) -> Result<(), Failed> {
    let mut command = Command::new(python);
    hide_own_variables(&mut command);
    command.args(["-I", "-c", ""]).stdin(Stdio::null());
    command.status().map(|_| ()).map_err(|fault| no_python(python, &fault))
}

fn no_python(python: &Path, fault: &io::Error) -> Failed {
    Failed::usage(format!(
        "the conformance suite needs Python 3.9 or newer on this machine, and `{}` cannot be run: \
         {fault}; install it, name another one with `--set engine.python=FILE`, or run the suite \
         on a machine that has it: `python3 -m skills_protocol_conformance --url URL` in the \
         folder `conformance` of Wardian's source",
        python.display()
    ))
}

/// Converts the exit code of the suite.
fn exit_of(status: ExitStatus) -> Result<Exit, Failed> {
    match status.code() {
        Some(0) => Ok(Exit::Done),
        Some(1) => Ok(Exit::GuestFailed),
        Some(2) => Ok(Exit::WrongUsage),
        Some(130) => Ok(Exit::Interrupted),
        _ => Err(Failed::because(format!("the conformance suite ended with {status}"))),
    }
}

/// A process that runs. Dropping it kills the process.
struct Running(Child);

impl Running {
    async fn ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.0.kill().and_then(|()| self.0.wait()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn the_suite_is_written_as_it_is_when_it_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let suite = unpack(folder.path()).unwrap();
        for path in [
            "__main__.py",
            "skills_protocol_conformance/cases/rpc.py",
            "skills_protocol_conformance/skills/conformance.echo.args/skill.toml",
            "skills_protocol_conformance/skills/conformance.versions.many@1.9.0/skill.toml",
        ] {
            assert!(suite.join(path).is_file(), "{path}");
        }
        assert!(!suite.join("tests").try_exists().unwrap());
    }

    #[test]
    fn the_exit_codes_of_the_suite_are_those_of_the_program() {
        for (code, exit) in [
            (0, Exit::Done),
            (1, Exit::GuestFailed),
            (2, Exit::WrongUsage),
            (130, Exit::Interrupted),
        ] {
            assert_eq!(exit_of(ExitStatus::from_raw(code << 8)), Ok(exit));
        }
        assert_eq!(exit_of(ExitStatus::from_raw(9)).unwrap_err().exit, Exit::OurFault);
    }
}
