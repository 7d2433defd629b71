//! Secrets in a folder of files: mounts of Kubernetes and Docker, credentials of systemd.
//!
//! The file `ACME_API_KEY` holds the secret of that name. It is read for each run, so a rotated
//! secret counts from the next run on.

use std::io;
use std::path::PathBuf;

use crate::secret_text::SecretText;
use crate::secrets::error::ProviderFault;
use crate::secrets::provider::open::{open_regular, read_bounded};
use crate::secrets::provider::{ProviderKind, SecretProvider};
use crate::secrets::value::{MAX_VALUE, checked};
use crate::skill::manifest::secret_name::check_secret_name;

/// Most entries of a folder that are listed.
const MAX_LISTED: usize = 10_000;

/// The secrets of one folder.
#[derive(Debug)]
pub(crate) struct FolderSecrets(pub(crate) PathBuf);

impl SecretProvider for FolderSecrets {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Folder
    }

    fn place(&self) -> String {
        self.0.display().to_string()
    }

    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault> {
        let path = self.0.join(name);
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
        let unreadable = |cause| ProviderFault::Unreadable { path: self.0.clone(), cause };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(unreadable)?.take(MAX_LISTED) {
            let name = entry.map_err(unreadable)?.file_name().into_string();
            let name = name.ok().filter(|name| check_secret_name(name).is_ok());
            names.extend(name.filter(|name| self.0.join(name).is_file()));
        }
        Ok(names)
    }
}
