//! Secrets of operators: where their values are, placeholders for them, and masks over them.
//!
//! | part           | purpose                                                            |
//! | -------------- | ------------------------------------------------------------------ |
//! | `provider/`    | the places that values come from                                   |
//! | `placeholder`  | random texts of the same shape as a value                          |
//! | `mask/`        | finds values, in many forms, in texts and streams, and hides them  |
//!
//! A [`Secrets`] has the secrets of a server and of its tenants. Values are looked up for each run,
//! so a changed file counts from the next run on. This module knows nothing of runs or HTTP.
//!
//! INVARIANT(secrets-of-one-tenant): a run gets secrets of its own tenant and, if the operator shares
//! them, of the server. It gets none of another tenant.
//!
//! INVARIANT(no-value-told): no error, no `Debug` and no list shows a value or a part of one.

pub mod config;
mod error;
mod listed;
pub mod mask;
pub mod placeholder;
mod provider;
mod provider_chain;
mod scope;
#[cfg(test)]
mod tests;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use crate::secrets::config::SecretsConfig;
pub use crate::secrets::error::SecretsError;
pub use crate::secrets::listed::{ListedProvider, ListedSecret};
use crate::secrets::listed::{listed, told};
use crate::secrets::provider::SecretProvider;
use crate::secrets::provider::command::{CommandSecrets, TenantCommand};
pub use crate::secrets::provider::environment::{EnvironmentSecrets, PREFIX};
use crate::secrets::provider::file::FileSecrets;
use crate::secrets::provider::folder::FolderSecrets;
use crate::secrets::provider_chain::{ScopedProvider, find};
pub use crate::secrets::scope::SecretScope;
pub use crate::secrets::value::{MAX_TOTAL, MAX_VALUE};
use wardian_vocabulary::secret_text::SecretText;

/// The providers of a server, in the order in which they are asked.
#[derive(Debug)]
pub struct Secrets {
    providers: Vec<Box<dyn SecretProvider>>,
    tenant_command: Option<Arc<CommandSecrets>>,
    shares_with_tenants: bool,
}

impl Secrets {
    /// The providers that `config` names. Nothing is read yet.
    #[must_use]
    pub fn new(config: &SecretsConfig) -> Self {
        let mut providers: Vec<Box<dyn SecretProvider>> =
            vec![Box::new(config.environment.clone())];
        for folder in &config.folders {
            providers.push(Box::new(FolderSecrets::new(folder.clone())));
        }
        if let Some(file) = &config.file {
            providers.push(Box::new(FileSecrets::new(file.clone())));
        }
        if let Some(command) = &config.command {
            providers.push(Box::new(CommandSecrets::new(command.clone())));
        }
        let tenant_command = config.tenant_command.clone();
        let tenant_command = tenant_command.map(|command| Arc::new(CommandSecrets::new(command)));
        Self { providers, tenant_command, shares_with_tenants: config.shares_with_tenants }
    }

    /// The providers that are asked for `scope`: those of the tenant first, so that its secret of a
    /// name hides the server's.
    fn providers(&self, scope: SecretScope<'_>) -> Vec<ScopedProvider<'_>> {
        let servers = || self.providers.iter().map(|one| ScopedProvider::Server(one.as_ref()));
        let (tenant, is_shared) = match scope {
            SecretScope::Server => return servers().collect(),
            SecretScope::Tenant(tenant) => (tenant, self.shares_with_tenants),
            SecretScope::TenantAlone(tenant) => (tenant, false),
        };
        let own = self.providers.iter().filter_map(|one| one.of_tenant(tenant));
        let mut providers: Vec<ScopedProvider<'_>> = own.map(ScopedProvider::Tenant).collect();
        providers.extend(self.tenant_command.as_ref().map(|command| {
            let (command, tenant) = (Arc::clone(command), tenant.clone());
            ScopedProvider::Tenant(Box::new(TenantCommand { command, tenant }))
        }));
        if is_shared {
            providers.extend(servers());
        }
        providers
    }

    /// Looks all `names` up. Reads files and runs commands, so it must not run on the event loop.
    ///
    /// # Errors
    ///
    /// Names every missing secret, or the first that cannot be used.
    pub fn find_all<S: AsRef<str>>(
        &self,
        scope: SecretScope<'_>,
        names: impl IntoIterator<Item = S>,
    ) -> Result<BTreeMap<String, SecretText>, SecretsError> {
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        let providers = self.providers(scope);
        for name in names {
            let name = name.as_ref();
            match find(&providers, name)? {
                Some((value, _)) => drop(found.insert(name.to_owned(), value)),
                None => missing.push(name.to_owned()),
            }
        }
        if !missing.is_empty() {
            let looked_in = providers.iter().map(|provider| provider.kind().as_str());
            return Err(SecretsError::Missing { names: missing, looked_in: looked_in.collect() });
        }
        let total: usize = found.values().map(|value| value.expose().len()).sum();
        if total > MAX_TOTAL { Err(SecretsError::TooMuch) } else { Ok(found) }
    }

    /// True if some provider of the server has a secret of this name.
    ///
    /// # Errors
    ///
    /// The secret cannot be used.
    pub fn has(&self, name: &str) -> Result<bool, SecretsError> {
        Ok(find(&self.providers(SecretScope::Server), name)?.is_some())
    }

    /// Lists the names of all secrets that providers can list, and the providers. Commands are not
    /// asked.
    #[must_use]
    pub fn list(&self, scope: SecretScope<'_>) -> (Vec<ListedSecret>, Vec<ListedProvider>) {
        let (mut names, mut providers) = (BTreeSet::new(), Vec::new());
        let asked = self.providers(scope);
        for provider in &asked {
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
        (names.into_iter().filter_map(|name| listed(&asked, name)).collect(), providers)
    }
}
