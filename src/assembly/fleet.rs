//! The fleet of servers that a server takes part in.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::assembly::error::AssemblyError;
use wardian_config::{Config, EffectiveSetting};
use wardian_service::{Authentication, FleetKey, FleetParts};
use wardian_stores::records::{ServerFacts, ServerRecords};
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::files::private_file::exposure;
use wardian_vocabulary::files::regular_file::open_regular;
use wardian_vocabulary::ids::Digest;

/// Longest key, in bytes.
const MAX_KEY: u64 = 4 << 10;

/// The key of the fleet of the settings, if there is one.
///
/// # Errors
///
/// Its file cannot be read, others can read it, or it has no key.
pub fn fleet_key(config: &Config) -> Result<Option<FleetKey>, AssemblyError> {
    let Some(path) = &config.fleet.key_file else { return Ok(None) };
    let read = read_key(path).map(Some);
    read.map_err(|why| AssemblyError::FleetKey { path: path.clone(), why })
}

fn read_key(path: &Path) -> Result<FleetKey, String> {
    let unreadable = |fault: io::Error| format!("it cannot be read: {fault}");
    let file = open_regular(path).map_err(unreadable)?;
    if let Some(fault) = exposure(&file).map_err(unreadable)? {
        return Err(fault);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_KEY.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_KEY {
        return Err("it is larger than 4 KiB".to_owned());
    }
    FleetKey::new(&bytes).map_err(|fault| fault.to_string())
}

/// The settings that servers of one fleet have in common, by the beginning of their names.
const COMMON: [&str; 5] = ["auth.", "limits.", "network.", "tenants.", "skills.from_code"];

/// What a server says of itself to others on its database.
#[must_use]
pub fn server_facts(config: &Config) -> ServerFacts {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_common =
        |setting: &&EffectiveSetting| COMMON.iter().any(|name| setting.key.starts_with(name));
    let lines = config.effective.iter().filter(is_common).map(|setting| {
        format!("{}={}\n", setting.key, setting.value.as_deref().unwrap_or_default())
    });
    let digest = Digest::of(lines.collect::<String>().as_bytes()).to_string();
    ServerFacts {
        host: host.trim().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: digest,
    }
}

/// What a server needs to be in the fleet of the settings, if there is one.
///
/// # Errors
///
/// As [`fleet_key`].
pub fn fleet_parts(
    config: &Config,
    table: Option<ServerRecords>,
    authentication: &Authentication,
    budget: &Arc<MemoryBudget>,
) -> Result<Option<FleetParts>, AssemblyError> {
    let (Some(key), Some(table)) = (fleet_key(config)?, table) else { return Ok(None) };
    let (authentication, budget) = (authentication.clone(), Arc::clone(budget));
    Ok(Some(FleetParts { table, key, authentication, budget }))
}
