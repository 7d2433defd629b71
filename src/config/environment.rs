//! The only reader of the process's environment and of the user's folders.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::reader::PREFIX;

/// The variable with the key that commands send to a server. It is no setting, and never shown.
pub(crate) const API_KEY_VARIABLE: &str = "WARDIAN_API_KEY";

/// The process's environment and arguments, read once.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The variables that begin with `WARDIAN_`, sorted by name.
    pub variables: Vec<(String, String)>,
    /// Folder for configuration of this user.
    pub config_dir: Option<PathBuf>,
    /// Folder for data of this user.
    pub data_dir: Option<PathBuf>,
    /// Folder for caches of this user.
    pub cache_dir: Option<PathBuf>,
    /// The working folder, against which relative paths are read.
    pub working_dir: Option<PathBuf>,
}

impl Surroundings {
    /// Reads the environment of this process. Variables that are not Unicode are ignored.
    #[must_use]
    pub fn of_this_process() -> Self {
        let all = std::env::vars_os()
            .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
        let mut variables: Vec<_> = all.filter(|(name, _)| name.starts_with(PREFIX)).collect();
        variables.sort();
        Self {
            variables,
            config_dir: dirs::config_dir(),
            data_dir: dirs::data_dir(),
            cache_dir: dirs::cache_dir(),
            working_dir: std::env::current_dir().ok(),
        }
    }

    /// The key that commands send to a server.
    #[must_use]
    pub fn api_key(&self) -> Option<&str> {
        self.variable(API_KEY_VARIABLE)
    }

    /// Makes `path` absolute. An empty path stays empty: it means that none is set.
    pub(crate) fn absolute(&self, path: PathBuf) -> PathBuf {
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

/// The arguments of the process, the program's name first.
pub fn command_line() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}
