//! Checks the settings that depend on this machine: the files and folders that they name.

use std::fs;
use std::sync::Arc;

use crate::assembly::error::AssemblyError;
use crate::assembly::skills::{open_trust, own_skills};
use wardian_config::Config;
use wardian_egress::Egress;
use wardian_egress::world::resolver::SystemResolver;
use wardian_skills::registry::{AtPath, RegistryError, check_tenant_folders};
use wardian_stores::tenants::TokenVerifier;
use wardian_telemetry::traces::Tracer;
use wardian_vocabulary::clock::Clock;

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
    if let Some(traces) = &config.traces {
        Tracer::check(traces)?;
    }
    open_trust(config)?;
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
    use wardian_config::{Flags, Surroundings};

    #[test]
    fn settings_that_a_server_would_refuse_are_found_before_it_listens() {
        let folder = tempfile::tempdir().unwrap();
        let check_all = |settings: &[(&str, &str)]| {
            let surroundings = Surroundings {
                data_dir: Some(folder.path().join("data")),
                cache_dir: Some(folder.path().join("cache")),
                working_dir: Some(folder.path().to_owned()),
                ..Surroundings::default()
            };
            let mut flags = Flags::default();
            let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            flags.settings.extend(settings.iter().map(owned));
            let config = Config::load(&surroundings, flags).unwrap();
            check_settings(&config)
                .map_err(|error| wardian_vocabulary::error::CauseChain(&error).to_string())
        };
        let check = |key: &str, value: &str| check_all(&[(key, value)]);
        assert_eq!(check("log.level", "info"), Ok(()));
        let wrong = check("network.ca_file", "none.pem").unwrap_err();
        assert!(wrong.contains("none.pem` (`network.ca_file`)"), "{wrong}");
        let wrong = check("network.private_ranges", "8.8.8.0/24").unwrap_err();
        assert!(wrong.contains("`8.8.8.0/24` in `network.private_ranges` is no"), "{wrong}");
        let collector = ("telemetry.otlp_endpoint", "https://127.0.0.1");
        let wrong = check_all(&[collector, ("telemetry.ca_file", "none.pem")]).unwrap_err();
        assert!(wrong.contains("none.pem` (`telemetry.ca_file`) has no readable"), "{wrong}");
        let headers = ("telemetry.headers_file", "headers");
        let wrong = check_all(&[collector, headers]).unwrap_err();
        assert!(wrong.contains("headers` (`telemetry.headers_file`): "), "{wrong}");
        fs::write(folder.path().join("headers"), "\nx-key: 1\nhunter2\n").unwrap();
        let wrong = check_all(&[collector, headers]).unwrap_err();
        assert!(wrong.contains("line 3 of ") && !wrong.contains("hunter2"), "{wrong}");
        fs::write(folder.path().join("headers"), "x-key: 1").unwrap();
        assert_eq!(check_all(&[collector, headers]), Ok(()));
        let elsewhere = ("telemetry.otlp_endpoint", "http://collector.example");
        let wrong = check_all(&[elsewhere, headers]).unwrap_err();
        assert!(wrong.contains("would be sent unencrypted"), "{wrong}");
        let wrong = check("skills.roots", "none").unwrap_err();
        assert!(wrong.contains("a folder of skills cannot be read"), "{wrong}");
        let wrong = check("tenants.skills", "acme=none").unwrap_err();
        assert!(wrong.contains("skills of the tenant `acme` cannot be read: "), "{wrong}");
    }
}
