//! The places that values come from.

mod bounded;
pub(super) mod command;
pub(super) mod environment;
pub(super) mod file;
pub(super) mod folder;

use std::fmt::Debug;

use crate::secrets::error::ProviderFault;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;

/// The sorts of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderKind {
    Environment,
    Folder,
    File,
    Command,
    TenantFolder,
    TenantFile,
    TenantCommand,
}

impl ProviderKind {
    /// The name that callers and operators see.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Folder => "folder",
            Self::File => "file",
            Self::Command => "command",
            Self::TenantFolder => "tenant folder",
            Self::TenantFile => "tenant file",
            Self::TenantCommand => "tenant command",
        }
    }

    /// True for those that are asked by name only.
    pub(crate) const fn is_command(self) -> bool {
        matches!(self, Self::Command | Self::TenantCommand)
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

    /// The place within this one that has the secrets of a tenant, if there can be one.
    fn of_tenant(&self, _tenant: &TenantId) -> Option<Box<dyn SecretProvider>> {
        None
    }
}
