//! The only reader of the process's environment and of the user's folders.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::reader::PREFIX;
use wardian_stores::secrets::{self, EnvironmentSecrets};
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// The variable by which systemd names the folder of credentials.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The variables of the user that programs need which a command starts for the user, as clients of the Model Context
/// Protocol pass them on.
const OF_PROGRAMS: [&str; 8] =
    ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/// The variable with the key that commands send to a server. It is not a setting, and never shown.
pub(crate) const API_KEY_VARIABLE: &str = "WARDIAN_API_KEY";

/// The variable with the token for private sources of skills.
pub(crate) const SOURCE_TOKEN_VARIABLE: &str = "WARDIAN_SOURCE_TOKEN";

/// The process's environment and arguments, read once.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The variables that begin with `WARDIAN_` and are not secrets, sorted by name.
    pub variables: Vec<(String, String)>,
    /// The secrets: the variables that begin with `WARDIAN_SECRET_`.
    pub secrets: EnvironmentSecrets,
    /// The variables of the user for programs that a command starts for the user.
    pub program_variables: Vec<(String, String)>,
    /// The folder of credentials that systemd gives a service.
    pub credentials_dir: Option<PathBuf>,
    /// Folder for configuration of this user.
    pub config_dir: Option<PathBuf>,
    /// Folder for data of this user.
    pub data_dir: Option<PathBuf>,
    /// Folder for caches of this user.
    pub cache_dir: Option<PathBuf>,
    /// The working folder, against which relative paths are read.
    pub working_dir: Option<PathBuf>,
    /// The interpreter of the virtual environment that this program is installed in.
    pub venv_python: Option<PathBuf>,
    /// The memory that the processes of this machine, or of this container, may take.
    pub memory: Option<ByteCount>,
}

impl Surroundings {
    /// Reads the environment of this process. Variables that are not Unicode are ignored.
    #[must_use]
    pub fn of_this_process() -> Self {
        let mut secrets = EnvironmentSecrets::default();
        let (mut variables, mut credentials_dir) = (Vec::new(), None);
        let mut program_variables = Vec::new();
        for (name, text) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            if OF_PROGRAMS.contains(&name.as_str()) {
                program_variables.extend(text.into_string().ok().map(|text| (name, text)));
            } else if name == CREDENTIALS {
                credentials_dir = Some(PathBuf::from(text));
            } else if name.starts_with(secrets::PREFIX) {
                if !secrets.add(&name, text.into_vec()) {
                    // It is named as one without effect. Its text is not kept: it may be a secret.
                    variables.push((name, String::new()));
                }
            } else if name.starts_with(PREFIX) {
                variables.extend(text.into_string().ok().map(|text| (name, text)));
            }
        }
        variables.sort();
        Self {
            variables,
            secrets,
            program_variables,
            credentials_dir,
            config_dir: dirs::config_dir(),
            data_dir: dirs::data_dir(),
            cache_dir: dirs::cache_dir(),
            working_dir: std::env::current_dir().ok(),
            venv_python: std::env::current_exe().ok().and_then(|program| venv_python(&program)),
            memory: machine_memory(),
        }
    }

    /// The key that commands send to a server.
    #[must_use]
    pub fn api_key(&self) -> Option<&str> {
        self.variable(API_KEY_VARIABLE)
    }

    /// The token that commands send to private sources of skills.
    #[must_use]
    pub fn source_token(&self) -> Option<&str> {
        self.variable(SOURCE_TOKEN_VARIABLE)
    }

    /// Makes `path` absolute. An empty path stays empty: it means that none is set.
    pub fn absolute(&self, path: PathBuf) -> PathBuf {
        match &self.working_dir {
            Some(folder) if path.is_relative() && !path.as_os_str().is_empty() => {
                let whole = folder.join(&path);
                std::path::absolute(&whole).unwrap_or(whole)
            }
            _ => path,
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str()).filter(|text| !text.is_empty())
    }
}

/// The variable by which tools for reproducible builds share a time; see
/// <https://reproducible-builds.org/specs/source-date-epoch/>.
pub const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The text of `SOURCE_DATE_EPOCH`; `None` if it is empty or not there.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn source_date_epoch() -> Option<OsString> {
    std::env::var_os(SOURCE_DATE_EPOCH).filter(|text| !text.is_empty())
}

/// The text of a variable that the user has named in an option, such as that with the key of a model's endpoint.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn named_variable(name: &str) -> Option<String> {
    // Such a name is not that of a variable, and asking for it is an error of the caller.
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    is_name.then(|| std::env::var(name).ok()).flatten()
}

/// Those of some variables that are set, such as those of other clients of a service. Their texts may be secrets.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn secret_variables(names: &[&'static str]) -> Vec<(&'static str, SecretText)> {
    let read = |name: &&'static str| Some((*name, std::env::var(name).ok()?.into()));
    names.iter().filter_map(read).collect()
}

/// The interpreter next to a program that a package client has put into a virtual environment. Its
/// packages and its client are the ones that the program came with.
fn venv_python(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let is_venv = folder.parent()?.join("pyvenv.cfg").try_exists().unwrap_or(false);
    let python = folder.join("python3");
    (is_venv && python.try_exists().unwrap_or(false)).then_some(python)
}

/// The memory of the machine, or of the container if it has less.
fn machine_memory() -> Option<ByteCount> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(total_in);
    // The limits of the service or the container, and of all that it is in.
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let folder = Path::new("/sys/fs/cgroup").join(own);
    let folders = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
    let limits = folders.map(|folder| folder.join("memory.max"));
    let limits = limits.chain(["/sys/fs/cgroup/memory/memory.limit_in_bytes".into()]);
    let limits = limits.filter_map(|path| fs::read_to_string(path).ok());
    let limits = limits.filter_map(|text| text.trim().parse().ok().map(ByteCount::bytes));
    limits.chain(machine).min()
}

/// The size of all memory in the text of `/proc/meminfo`.
fn total_in(text: &str) -> Option<ByteCount> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(ByteCount::bytes(kibibytes.saturating_mul(1 << 10)))
}

/// The arguments of the process, the program's name first.
pub fn command_line() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_virtual_environment_has_the_python_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let (program, python) = (bin.join("wardian"), bin.join("python3"));
        fs::write(&python, "").unwrap();
        assert_eq!(venv_python(&program), None, "as in /usr/bin");
        fs::write(folder.path().join("pyvenv.cfg"), "").unwrap();
        assert_eq!(venv_python(&program), Some(python.clone()));
        fs::remove_file(&python).unwrap();
        assert_eq!(venv_python(&program), None);
    }
}
