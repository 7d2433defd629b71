//! The servers of tools of a gateway.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::ToolsConfig;
use crate::grants::ToolGrants;
use crate::run_tools::RunTools;
use crate::server::ToolServer;
use wardian_egress::Egress;
use wardian_stores::secrets::Secrets;
use wardian_vocabulary::ids::TenantId;

/// All servers that the operator has configured. Nothing is started or asked before a run needs it.
#[derive(Debug)]
pub struct Catalogue {
    servers: Arc<BTreeMap<String, Arc<ToolServer>>>,
}

impl Catalogue {
    /// The servers of `config`, which are reached through `egress` with credentials from `secrets`.
    #[must_use]
    pub fn new(config: ToolsConfig, egress: &Egress, secrets: &Arc<Secrets>) -> Self {
        let servers = config.servers.into_iter().map(|(name, config)| {
            let server = ToolServer::new(&name, config, egress, secrets);
            (name, Arc::new(server))
        });
        Self { servers: Arc::new(servers.collect()) }
    }

    /// True if there are no servers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The tools of a run of `tenant`.
    #[must_use]
    pub fn open(&self, tenant: TenantId, grants: ToolGrants) -> RunTools {
        RunTools::new(Arc::clone(&self.servers), tenant, grants)
    }
}
