//! The tools of the operator's servers.

use std::sync::Arc;

use crate::assembly::error::AssemblyError;
use wardian_config::Config;
use wardian_egress::Egress;
use wardian_egress::world::resolver::SystemResolver;
use wardian_stores::secrets::Secrets;
use wardian_tools::Catalogue;

/// The servers of tools that the configuration names. Nothing is started or asked yet.
///
/// # Errors
///
/// The settings of the network are wrong.
pub fn open_tools(config: &Config) -> Result<Catalogue, AssemblyError> {
    let egress = Egress::new(config.network.egress.clone(), Arc::new(SystemResolver::default()))?;
    Ok(tools_of(config, &egress))
}

/// Those servers, as far as `egress` reaches them.
pub(super) fn tools_of(config: &Config, egress: &Egress) -> Catalogue {
    let secrets = Arc::new(Secrets::new(&config.secrets));
    Catalogue::new(config.tools.clone(), egress, &secrets)
}
