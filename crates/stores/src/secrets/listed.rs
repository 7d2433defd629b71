//! Secrets and providers in lists, without values.

use crate::secrets::error::ProviderFault;
use crate::secrets::mask;
use crate::secrets::provider_chain::ScopedProvider;

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

/// Looks one name up in the providers that can list it.
pub(super) fn listed(providers: &[ScopedProvider<'_>], name: String) -> Option<ListedSecret> {
    for provider in providers.iter().filter(|one| !one.kind().is_command()) {
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

pub(super) fn told(fault: &ProviderFault) -> String {
    wardian_vocabulary::error::CauseChain(fault).to_string()
}
