//! Secrets in a folder of files: mounts of Kubernetes and Docker, credentials of systemd.
//!
//! The file `ACME_API_KEY` holds the secret of that name, and `tenants/acme/ACME_API_KEY` that of
//! the tenant `acme`. It is read for each run, so a rotated secret counts from the next run on.

use std::io;
use std::path::PathBuf;

use crate::secrets::error::ProviderFault;
use crate::secrets::provider::bounded::read_bounded;
use crate::secrets::provider::{ProviderKind, SecretProvider};
use crate::secrets::scope::TENANTS;
use crate::secrets::value::{MAX_VALUE, checked};
use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_vocabulary::files::regular_file::open_regular;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;

/// Maximum number of entries of a folder that are listed.
const MAX_LISTED: usize = 10_000;

/// The secrets of one folder.
#[derive(Debug)]
pub(crate) struct FolderSecrets {
    folder: PathBuf,
    kind: ProviderKind,
}

impl FolderSecrets {
    pub(crate) const fn new(folder: PathBuf) -> Self {
        Self { folder, kind: ProviderKind::Folder }
    }

    fn is_of_tenant(&self) -> bool {
        self.kind == ProviderKind::TenantFolder
    }
}

impl SecretProvider for FolderSecrets {
    fn kind(&self) -> ProviderKind {
        self.kind
    }

    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault> {
        let path = self.folder.join(name);
        let opened = match open_regular(&path) {
            Ok(file) => read_bounded(file, MAX_VALUE.saturating_add(2)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => Err(cause),
        };
        let mut bytes =
            opened.map_err(|cause| ProviderFault::Unreadable { path: path.clone(), cause })?;
        checked(std::mem::take(&mut *bytes)).map(Some).map_err(ProviderFault::Value)
    }

    fn names(&self) -> Result<Vec<String>, ProviderFault> {
        let unreadable = |cause| ProviderFault::Unreadable { path: self.folder.clone(), cause };
        let mut names = Vec::new();
        let entries = match std::fs::read_dir(&self.folder) {
            // Most tenants have no folder.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound && self.is_of_tenant() => {
                return Ok(names);
            }
            entries => entries.map_err(unreadable)?,
        };
        for entry in entries.take(MAX_LISTED) {
            let name = entry.map_err(unreadable)?.file_name().into_string();
            let name = name.ok().filter(|name| check_secret_name(name).is_ok());
            names.extend(name.filter(|name| self.folder.join(name).is_file()));
        }
        Ok(names)
    }

    fn of_tenant(&self, tenant: &TenantId) -> Option<Box<dyn SecretProvider>> {
        let folder = self.folder.join(TENANTS).join(tenant.as_str());
        Some(Box::new(Self { folder, kind: ProviderKind::TenantFolder }))
    }
}
