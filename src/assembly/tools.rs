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
    let secrets = Arc::new(Secrets::new(&config.secrets));
    Ok(Catalogue::new(config.tools.clone(), &egress, &secrets))
}
