//! The providers that are asked for a scope, and the first value among them.

use std::ops::Deref;

use crate::secrets::error::{ProviderFault, SecretsError};
use crate::secrets::provider::{ProviderKind, SecretProvider};
use crate::secrets::scope::TENANTS;
use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_vocabulary::secret_text::SecretText;

/// A provider that is asked for a scope.
#[derive(Debug)]
pub(crate) enum ScopedProvider<'a> {
    Server(&'a dyn SecretProvider),
    Tenant(Box<dyn SecretProvider>),
}

impl<'a> Deref for ScopedProvider<'a> {
    type Target = dyn SecretProvider + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Server(provider) => *provider,
            Self::Tenant(provider) => provider.as_ref(),
        }
    }
}

/// The first value, with its provider. A provider that fails hides those behind it: whoever broke
/// it must not choose which value is used.
pub(super) fn find(
    providers: &[ScopedProvider<'_>],
    name: &str,
) -> Result<Option<(SecretText, ProviderKind)>, SecretsError> {
    if check_secret_name(name).is_err() || name == TENANTS {
        return Ok(None);
    }
    for provider in providers {
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
