//! What operators decide about secrets.

use std::path::PathBuf;
use std::time::Duration;

use crate::secrets::provider::environment::EnvironmentSecrets;
use wardian_formats::skill::manifest::secret_hosts::SecretHosts;

/// Settings of secrets. `Debug` shows no values.
#[derive(Debug, Clone, Default)]
pub struct SecretsConfig {
    /// The variables `WARDIAN_SECRET_*`.
    pub environment: EnvironmentSecrets,
    /// Folders with one file for each secret.
    pub folders: Vec<PathBuf>,
    /// A TOML file with one line for each secret.
    pub file: Option<PathBuf>,
    /// A command that prints a secret.
    pub command: Option<SecretCommand>,
    /// A command that prints a secret of a tenant.
    pub tenant_command: Option<SecretCommand>,
    /// Runs of tenants get the secrets of the server that their tenant does not have.
    pub shares_with_tenants: bool,
    /// Secrets that no skill gets as values, with the only hosts that they are sent to.
    pub hosts: SecretHosts,
}

/// A command that prints a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretCommand {
    /// The program and its arguments. `{name}` stands for the name of the secret; without it, the
    /// name is the last argument. `{tenant}` stands for the tenant.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// How long a value is used before the command is asked again.
    pub max_age: Duration,
    /// Variables of the server's environment that it does not get: the values of other secrets.
    pub hidden_variables: Vec<String>,
}
