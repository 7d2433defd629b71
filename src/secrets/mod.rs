//! Secrets of operators: where their values are, placeholders for them, and masks over them.
//!
//! | part           | purpose                                                            |
//! | -------------- | ------------------------------------------------------------------ |
//! | `provider/`    | the places that values come from                                   |
//! | `placeholder`  | random texts of the same shape as a value                          |
//! | `mask/`        | finds values, in many forms, in texts and streams, and hides them  |
//!
//! A [`Secrets`] belongs to the tenants that share it. Values are looked up for each run, so a
//! changed file counts from the next run on. This module knows nothing of runs, manifests or HTTP.
//!
//! INVARIANT(no-value-told): no error, no `Debug` and no list shows a value or a part of one.

pub mod config;
mod error;
pub mod mask;
pub mod placeholder;
mod provider;
#[cfg(test)]
mod tests;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use crate::secret_text::SecretText;
pub use crate::secrets::config::SecretsConfig;
pub use crate::secrets::error::{ProviderFault, SecretsError, ValueFault};
use crate::secrets::provider::command::CommandSecrets;
pub use crate::secrets::provider::environment::{EnvironmentSecrets, PREFIX};
use crate::secrets::provider::file::FileSecrets;
use crate::secrets::provider::folder::FolderSecrets;
use crate::secrets::provider::{ProviderKind, SecretProvider};
pub use crate::secrets::value::{MAX_TOTAL, MAX_VALUE};
use crate::skill::manifest::secret_name::check_secret_name;

/// The providers of a server, in the order in which they are asked.
#[derive(Debug)]
pub struct Secrets {
    providers: Vec<Box<dyn SecretProvider>>,
}

/// A secret that a provider has, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSecret {
    /// Its name.
    pub name: String,
    /// The provider whose value is used.
    pub provider: &'static str,
    /// True if the value is too short to be masked.
    pub is_short: bool,
    /// Why the value cannot be used, if so.
    pub fault: Option<String>,
}

/// One provider and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProvider {
    /// Its name: `environment`, `folder`, `file` or `command`.
    pub provider: &'static str,
    /// Where it looks.
    pub place: String,
    /// Why it cannot be used, if so.
    pub fault: Option<String>,
}

impl Secrets {
    /// The providers that `config` names. Nothing is read yet.
    #[must_use]
    pub fn new(config: &SecretsConfig) -> Self {
        let mut providers: Vec<Box<dyn SecretProvider>> =
            vec![Box::new(config.environment.clone())];
        for folder in &config.folders {
            providers.push(Box::new(FolderSecrets(folder.clone())));
        }
        if let Some(file) = &config.file {
            providers.push(Box::new(FileSecrets(file.clone())));
        }
        if let Some(command) = &config.command {
            providers.push(Box::new(CommandSecrets::new(command.clone())));
        }
        Self { providers }
    }

    /// Looks all `names` up. Reads files and runs commands, so it must not run on the event loop.
    ///
    /// # Errors
    ///
    /// Names every missing secret, or the first that cannot be used.
    pub fn find_all<S: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<BTreeMap<String, SecretText>, SecretsError> {
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for name in names {
            let name = name.as_ref();
            match self.find(name)? {
                Some((value, _)) => drop(found.insert(name.to_owned(), value)),
                None => missing.push(name.to_owned()),
            }
        }
        if !missing.is_empty() {
            let looked_in = self.providers.iter().map(|provider| provider.kind().as_str());
            return Err(SecretsError::Missing { names: missing, looked_in: looked_in.collect() });
        }
        let total: usize = found.values().map(|value| value.expose().len()).sum();
        if total > MAX_TOTAL { Err(SecretsError::TooMuch) } else { Ok(found) }
    }

    /// True if some provider has a secret of this name.
    ///
    /// # Errors
    ///
    /// The secret cannot be used.
    pub fn has(&self, name: &str) -> Result<bool, SecretsError> {
        Ok(self.find(name)?.is_some())
    }

    /// The first value, with its provider. A provider that fails hides those behind it: whoever
    /// broke it must not choose which value is used.
    fn find(&self, name: &str) -> Result<Option<(SecretText, ProviderKind)>, SecretsError> {
        if check_secret_name(name).is_err() {
            return Ok(None);
        }
        for provider in &self.providers {
            let kind = provider.kind();
            let found = provider.find(name).map_err(|fault| {
                let (name, provider) = (name.to_owned(), kind.as_str());
                match fault {
                    ProviderFault::Value(fault) => SecretsError::Value { name, provider, fault },
                    fault => SecretsError::Provider { name, provider, fault },
                }
            })?;
            if let Some(value) = found {
                return Ok(Some((value, kind)));
            }
        }
        Ok(None)
    }

    /// Lists the names of all secrets that providers can list, and the providers. Commands are not
    /// asked.
    #[must_use]
    pub fn list(&self) -> (Vec<ListedSecret>, Vec<ListedProvider>) {
        let (mut names, mut providers) = (BTreeSet::new(), Vec::new());
        for provider in &self.providers {
            let fault = match provider.names() {
                Ok(known) => {
                    names.extend(known);
                    None
                }
                Err(fault) => Some(told(&fault)),
            };
            let (kind, place) = (provider.kind().as_str(), provider.place());
            providers.push(ListedProvider { provider: kind, place, fault });
        }
        (names.into_iter().filter_map(|name| self.listed(name)).collect(), providers)
    }

    /// Looks one name up in the providers that can list it.
    fn listed(&self, name: String) -> Option<ListedSecret> {
        for provider in self.providers.iter().filter(|one| one.kind() != ProviderKind::Command) {
            let (is_short, fault) = match provider.find(&name) {
                Ok(Some(value)) => (!mask::is_masked(value.expose()), None),
                Ok(None) => continue,
                Err(fault) => (false, Some(told(&fault))),
            };
            let provider = provider.kind().as_str();
            return Some(ListedSecret { name, provider, is_short, fault });
        }
        None
    }
}

fn told(fault: &ProviderFault) -> String {
    crate::error::CauseChain(fault).to_string()
}
