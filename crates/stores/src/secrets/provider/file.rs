//! Secrets in a TOML file: `ACME_API_KEY = "..."`, one line each. Those of the tenant `acme` are in
//! the table `[tenants.acme]`.
//!
//! The file must belong to the user of the server, or to root, and nobody else may read it. It is
//! read for each run, so a change counts from the next run on.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use toml::Value as Toml;
use zeroize::Zeroize as _;

use crate::secrets::error::ProviderFault;
use crate::secrets::provider::bounded::read_bounded;
use crate::secrets::provider::{ProviderKind, SecretProvider};
use crate::secrets::scope::TENANTS;
use crate::secrets::value::checked;
use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_vocabulary::files::private_file::exposure;
use wardian_vocabulary::files::regular_file::open_regular;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;

/// Largest file, in bytes.
const MAX_FILE: usize = 1 << 20;

/// The secrets of one file, or those of one tenant in it.
#[derive(Debug)]
pub(crate) struct FileSecrets {
    path: PathBuf,
    tenant: Option<TenantId>,
}

impl FileSecrets {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, tenant: None }
    }

    fn wrong(&self, fault: impl Into<String>) -> ProviderFault {
        ProviderFault::WrongFile { path: self.path.clone(), fault: fault.into() }
    }

    fn unreadable(&self, cause: io::Error) -> ProviderFault {
        ProviderFault::Unreadable { path: self.path.clone(), cause }
    }

    fn ensure_private(&self, file: &File) -> Result<(), ProviderFault> {
        match exposure(file).map_err(|cause| self.unreadable(cause))? {
            Some(fault) => Err(self.wrong(fault)),
            None => Ok(()),
        }
    }

    /// The whole table. No error shows any of the text: a line of it may be a value.
    fn read(&self) -> Result<toml::Table, ProviderFault> {
        let file = open_regular(&self.path).map_err(|cause| self.unreadable(cause))?;
        self.ensure_private(&file)?;
        let bytes = read_bounded(file, MAX_FILE).map_err(|cause| self.unreadable(cause))?;
        if bytes.len() > MAX_FILE {
            return Err(self.wrong("it is larger than 1 MiB"));
        }
        let text = std::str::from_utf8(&bytes).ok().ok_or_else(|| self.wrong("it is not UTF-8"))?;
        let table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count().saturating_add(1);
            self.wrong(format!("line {line} is not of the form `NAME = \"value\"` in TOML"))
        })?;
        self.own_part(table)
    }

    /// The secrets that belong to nobody, or those of the tenant. The others are forgotten.
    fn own_part(&self, mut table: toml::Table) -> Result<toml::Table, ProviderFault> {
        let mut tenants = match table.remove(TENANTS) {
            None => toml::Table::new(),
            Some(Toml::Table(tenants)) => tenants,
            Some(_) => {
                forget(table);
                return Err(self.wrong(format!("`{TENANTS}` must be tables: `[{TENANTS}.NAME]`")));
            }
        };
        let Some(tenant) = &self.tenant else {
            forget(tenants);
            return Ok(table);
        };
        forget(table);
        let own = tenants.remove(tenant.as_str());
        forget(tenants);
        match own {
            None => Ok(toml::Table::new()),
            Some(Toml::Table(own)) => Ok(own),
            Some(_) => Err(self.wrong(format!("`{TENANTS}.{tenant}` must be a table"))),
        }
    }
}

impl SecretProvider for FileSecrets {
    fn kind(&self) -> ProviderKind {
        match self.tenant {
            None => ProviderKind::File,
            Some(_) => ProviderKind::TenantFile,
        }
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault> {
        let mut table = self.read()?;
        let found = table.remove(name);
        forget(table);
        match found {
            None => Ok(None),
            Some(Toml::String(text)) => {
                checked(text.into_bytes()).map(Some).map_err(ProviderFault::Value)
            }
            Some(_) => Err(self.wrong(format!("`{name}` must be a quoted string"))),
        }
    }

    fn names(&self) -> Result<Vec<String>, ProviderFault> {
        let table = self.read()?;
        let names: Vec<String> = table.keys().cloned().collect();
        forget(table);
        match names.iter().find(|name| check_secret_name(name).is_err()) {
            // The key is not shown: a text without its name can look like one.
            Some(_) => Err(self.wrong("one of its keys is not the name of a secret")),
            None => Ok(names),
        }
    }

    fn of_tenant(&self, tenant: &TenantId) -> Option<Box<dyn SecretProvider>> {
        Some(Box::new(Self { path: self.path.clone(), tenant: Some(tenant.clone()) }))
    }
}

/// Overwrites values, so that they do not stay in freed memory.
fn forget(table: toml::Table) {
    for (_, value) in table {
        match value {
            Toml::String(mut text) => text.zeroize(),
            Toml::Table(inner) => forget(inner),
            _ => {}
        }
    }
}
