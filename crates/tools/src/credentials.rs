//! The credentials of a server: texts with the values of secrets in them, and masks over those values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::config::{CredentialScope, CredentialTemplate};
use crate::fault::{Fault, told};
use wardian_stores::secrets::mask::Masks;
use wardian_stores::secrets::{SecretScope, Secrets};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;

/// Where the credentials of a server come from.
#[derive(Debug, Clone)]
pub(crate) struct CredentialSource {
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) scope: CredentialScope,
    /// Names of headers or variables, each with its value.
    pub(crate) templates: Arc<[(String, CredentialTemplate)]>,
}

/// Credentials with their values, for one call. `Debug` shows none.
pub(crate) struct Credentials {
    /// Names of headers or variables, each with its value.
    pub(crate) values: Vec<(String, String)>,
    masks: Option<Masks>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("values", &self.values.len()).finish_non_exhaustive()
    }
}

impl CredentialSource {
    /// The tenant whose credentials `tenant` gets; `None` for those that all have.
    pub(crate) fn owner(&self, tenant: &TenantId) -> Option<TenantId> {
        match self.scope {
            CredentialScope::Server => None,
            CredentialScope::Tenant => Some(tenant.clone()),
        }
    }

    /// Looks the secrets up.
    pub(crate) async fn find(
        &self,
        tenant: &TenantId,
        memory: &CallMemory,
    ) -> Result<Credentials, Fault> {
        let names = self.templates.iter().flat_map(|(_, template)| template.names());
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        if names.is_empty() {
            return Ok(Credentials { values: self.filled(&BTreeMap::new()), masks: None });
        }
        let (source, tenant) = (self.clone(), tenant.clone());
        let found = memory.on_thread(move || {
            let scope = match source.scope {
                CredentialScope::Server => SecretScope::Server,
                // Who is the operator acts as the operator.
                CredentialScope::Tenant if tenant == TenantId::local() => {
                    SecretScope::Tenant(&tenant)
                }
                CredentialScope::Tenant => SecretScope::TenantAlone(&tenant),
            };
            let values = source.secrets.find_all(scope, &names).map_err(Fault::Credentials)?;
            let masks = Masks::hiding(values.values().map(SecretText::expose));
            let unusable = |_| Fault::broken("the secrets of its credentials are too large");
            let masks = Some(masks.map_err(unusable)?);
            Ok(Credentials { values: source.filled(&values), masks })
        });
        found.await.unwrap_or_else(|_ended| Err(Fault::broken("this server stops")))
    }

    fn filled(&self, values: &BTreeMap<String, SecretText>) -> Vec<(String, String)> {
        let filled = |(name, template): &(String, CredentialTemplate)| {
            (name.clone(), template.filled(values))
        };
        self.templates.iter().map(filled).collect()
    }
}

impl Credentials {
    /// Covers the values of secrets in a text.
    pub(crate) fn cover(&self, text: &mut String) {
        if let Some(masks) = &self.masks {
            masks.cover_text(text);
        }
    }

    /// Covers them in what a fault repeats of the words of a server, and shortens these then: the beginning of a
    /// secret is not recognised.
    pub(crate) fn cover_fault(&self, mut fault: Fault) -> Fault {
        match &mut fault {
            Fault::Refused { message, .. } => {
                self.cover(message);
                *message = told(message);
            }
            Fault::Broken(text) => self.cover(text),
            _ => {}
        }
        fault
    }
}
