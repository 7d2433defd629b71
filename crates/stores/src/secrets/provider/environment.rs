//! Secrets of the server's environment: `WARDIAN_SECRET_ACME_API_KEY` is `ACME_API_KEY`.
//!
//! The environment is read once, by `config`. It cannot change while the server runs.

use std::collections::BTreeMap;

use crate::secrets::error::{ProviderFault, ValueFault};
use crate::secrets::provider::{ProviderKind, SecretProvider};
use crate::secrets::value::checked;
use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_vocabulary::secret_text::SecretText;

/// The prefix of variables that hold secrets.
pub const PREFIX: &str = "WARDIAN_SECRET_";

/// The secrets of an environment. `Debug` shows names only.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentSecrets(BTreeMap<String, Result<SecretText, ValueFault>>);

impl EnvironmentSecrets {
    /// Takes the value of a variable. Returns false if its name names no secret.
    pub fn add(&mut self, variable: &str, value: Vec<u8>) -> bool {
        let name = variable.strip_prefix(PREFIX).filter(|name| check_secret_name(name).is_ok());
        if let Some(name) = name {
            self.0.insert(name.to_owned(), checked(value));
        }
        name.is_some()
    }

    /// The variables that hold secrets.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        self.0.keys().map(|name| format!("{PREFIX}{name}")).collect()
    }
}

impl SecretProvider for EnvironmentSecrets {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Environment
    }

    fn place(&self) -> String {
        format!("{PREFIX}*")
    }

    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault> {
        match self.0.get(name) {
            Some(Ok(value)) => Ok(Some(value.clone())),
            // An empty variable is one that is not set, as with settings.
            Some(Err(ValueFault::Empty)) | None => Ok(None),
            Some(Err(fault)) => Err(ProviderFault::Value(*fault)),
        }
    }

    fn names(&self) -> Result<Vec<String>, ProviderFault> {
        let is_set = |value: &Result<SecretText, ValueFault>| *value != Err(ValueFault::Empty);
        Ok(self.0.iter().filter(|(_, value)| is_set(value)).map(|(name, _)| name.clone()).collect())
    }
}
