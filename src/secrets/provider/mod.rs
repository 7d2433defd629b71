//! The places that values come from.

pub(crate) mod command;
pub(crate) mod environment;
pub(crate) mod file;
pub(crate) mod folder;
mod open;

use std::fmt::Debug;

use crate::secret_text::SecretText;
use crate::secrets::config::SecretsConfig;
use crate::secrets::error::ProviderFault;
use crate::secrets::provider::command::CommandSecrets;
use crate::secrets::provider::file::FileSecrets;
use crate::secrets::provider::folder::FolderSecrets;

/// The sorts of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderKind {
    Environment,
    Folder,
    File,
    Command,
}

impl ProviderKind {
    /// The name that callers and operators see.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Folder => "folder",
            Self::File => "file",
            Self::Command => "command",
        }
    }
}

/// One place that values come from.
pub(crate) trait SecretProvider: Debug + Send + Sync {
    fn kind(&self) -> ProviderKind;

    /// The place, for operators.
    fn place(&self) -> String;

    /// The value of `name`, which is an identifier; nothing if the place has none.
    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault>;

    /// The names that it has, as far as it can tell.
    fn names(&self) -> Result<Vec<String>, ProviderFault>;
}

/// All providers of a configuration, in the order in which they are asked.
pub(crate) fn all(config: &SecretsConfig) -> Vec<Box<dyn SecretProvider>> {
    let mut all: Vec<Box<dyn SecretProvider>> = vec![Box::new(config.environment.clone())];
    for folder in &config.folders {
        all.push(Box::new(FolderSecrets(folder.clone())));
    }
    if let Some(file) = &config.file {
        all.push(Box::new(FileSecrets(file.clone())));
    }
    if let Some(command) = &config.command {
        all.push(Box::new(CommandSecrets::new(command.clone())));
    }
    all
}
