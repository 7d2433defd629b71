//! The Python that runs a kernel, and what it says of itself.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_vocabulary::subprocess::hide_own_variables;

/// The oldest Python that the package runs on.
const OLDEST: (u32, u32) = (3, 11);

/// Maximum number of bytes of an answer.
const MAX_ANSWER: u64 = 64 << 10;

/// Says whether Python has the package and what it needs, and where Jupyter keeps the kernels of a user.
/// Older versions can read it too.
const QUESTIONS: &str = "import importlib.util, json, sys
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
folder = None
if has('jupyter_core'):
    from jupyter_core.paths import jupyter_data_dir
    folder = jupyter_data_dir()
print(json.dumps({'executable': sys.executable, 'version': list(sys.version_info[:2]),
                  'has_package': has('wardian.jupyter'), 'has_ipykernel': has('ipykernel'),
                  'jupyter_data': folder}))
";

/// A Python that can run a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KernelPython {
    /// Its program.
    pub(super) executable: PathBuf,
    /// The folder of Jupyter's data of this user.
    pub(super) jupyter_data: PathBuf,
}

/// The answers of a Python.
#[derive(Debug, Deserialize)]
struct Answers {
    executable: PathBuf,
    version: (u32, u32),
    has_package: bool,
    has_ipykernel: bool,
    jupyter_data: Option<PathBuf>,
}

/// Asks a Python whether it can run the kernel.
pub(super) fn ask(python: &Path) -> Result<KernelPython, Failed> {
    let is_path = python.components().nth(1).is_some();
    let program = if is_path { std::path::absolute(python) } else { Ok(python.to_owned()) };
    let program = program.map_err(|fault| Failed::named(python.display(), &fault))?;
    let mut command = Command::new(&program);
    hide_own_variables(&mut command);
    // Packages in the present folder are not those that the kernel will find.
    command.args(["-c", QUESTIONS]).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let absent = |fault: &std::io::Error| {
        let python = shown(&python.display().to_string());
        Failed::usage(format!(
            "the kernel needs Python 3.11 or newer, and `{python}` cannot be run: {fault}; name another \
             one with `--python FILE`"
        ))
    };
    let mut child = command.spawn().map_err(|fault| absent(&fault))?;
    let mut answer = String::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_ANSWER).read_to_string(&mut answer).map_err(|fault| absent(&fault))?;
    }
    let status = child.wait().map_err(|fault| absent(&fault))?;
    let answers = serde_json::from_str(&answer).ok().filter(|_| status.success());
    let answers: Answers = answers.ok_or_else(|| {
        let python = shown(&python.display().to_string());
        Failed::usage(format!(
            "`{python}` is not a Python that can be used: it ended with {status}"
        ))
    })?;
    usable(answers)
}

/// The Python with these answers, if it can run the kernel.
fn usable(answers: Answers) -> Result<KernelPython, Failed> {
    let Answers { executable, version, has_package, has_ipykernel, jupyter_data } = answers;
    let python = shown(&executable.display().to_string());
    if version < OLDEST {
        let (major, minor) = version;
        return Err(Failed::usage(format!(
            "the kernel needs Python 3.11 or newer, and `{python}` is {major}.{minor}; name another one \
             with `--python FILE`"
        )));
    }
    let jupyter_data = jupyter_data.filter(|_| has_package && has_ipykernel);
    let missing = if has_package { "what the kernel needs" } else { "the package `wardian`" };
    let jupyter_data = jupyter_data.ok_or_else(|| {
        Failed::usage(format!(
            "`{python}` does not have {missing}: install it with `{python} -m pip install \
             'wardian[jupyter]'`, or name another Python with `--python FILE`"
        ))
    })?;
    Ok(KernelPython { executable, jupyter_data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(change: impl FnOnce(&mut Answers)) -> Result<KernelPython, String> {
        let mut answers = Answers {
            executable: "/usr/bin/python3".into(),
            version: (3, 11),
            has_package: true,
            has_ipykernel: true,
            jupyter_data: Some("/home/ann/.local/share/jupyter".into()),
        };
        change(&mut answers);
        usable(answers).map_err(|failed| failed.to_string())
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        assert!(answered(|_| ()).is_ok());
        let refusals = [
            (answered(|python| python.version = (3, 9)), "is 3.9; name another"),
            (answered(|python| python.has_package = false), "not have the package `wardian`"),
            (answered(|python| python.has_ipykernel = false), "what the kernel needs: install it"),
            (answered(|python| python.jupyter_data = None), "pip install 'wardian[jupyter]'"),
        ];
        for (refused, expected) in refusals {
            let message = refused.unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
