//! Checks the settings that depend on this machine: the files and folders that they name.

use std::fs;
use std::sync::Arc;

use crate::assembly::error::AssemblyError;
use crate::assembly::skills::own_skills;
use crate::clock::Clock;
use crate::config::Config;
use crate::egress::Egress;
use crate::egress::world::resolver::SystemResolver;
use crate::registry::{AtPath, RegistryError, check_tenant_folders};
use crate::tenants::TokenVerifier;

/// Checks the settings that the parts of a server refuse when they are built. So a server that
/// listens is not stopped by its configuration.
///
/// # Errors
///
/// The first setting that is wrong.
pub fn check_settings(config: &Config) -> Result<(), AssemblyError> {
    Egress::new(config.network.egress.clone(), Arc::new(SystemResolver::default()))?;
    if let Some(jwt) = &config.auth.jwt {
        TokenVerifier::open(jwt.clone(), Clock::System)?;
    }
    let own = own_skills(config);
    for root in config.skills.roots.iter().filter(|root| **root != own) {
        let path = root.clone();
        fs::read_dir(root).map_err(|cause| RegistryError::Root(AtPath { path, cause }))?;
    }
    Ok(check_tenant_folders(&config.skills.roots, &config.tenant_skills)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Flags, Surroundings};

    #[test]
    fn settings_that_a_server_would_refuse_are_found_before_it_listens() {
        let folder = tempfile::tempdir().unwrap();
        let check = |key: &str, value: &str| {
            let surroundings = Surroundings {
                data_dir: Some(folder.path().join("data")),
                cache_dir: Some(folder.path().join("cache")),
                working_dir: Some(folder.path().to_owned()),
                ..Surroundings::default()
            };
            let mut flags = Flags::default();
            flags.settings.push((key.to_owned(), value.to_owned()));
            let config = Config::load(&surroundings, flags).unwrap();
            check_settings(&config).map_err(|error| crate::error::CauseChain(&error).to_string())
        };
        assert_eq!(check("log.level", "info"), Ok(()));
        let wrong = check("network.ca_file", "none.pem").unwrap_err();
        assert!(wrong.contains("none.pem` (`network.ca_file`)"), "{wrong}");
        let wrong = check("network.private_ranges", "8.8.8.0/24").unwrap_err();
        assert!(wrong.contains("`8.8.8.0/24` in `network.private_ranges` is no"), "{wrong}");
        let wrong = check("skills.roots", "none").unwrap_err();
        assert!(wrong.contains("a folder of skills cannot be read"), "{wrong}");
        let wrong = check("tenants.skills", "acme=none").unwrap_err();
        assert!(wrong.contains("skills of the tenant `acme` cannot be read: "), "{wrong}");
    }
}
