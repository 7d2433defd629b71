//! The cgroups of a server's processes, taken before it starts any.

use std::sync::Arc;

use tracing::{info, warn};

use crate::cli::failed::Failed;
use wardian_config::{CgroupUse, Config};
use wardian_dispatch::Isolation;
use wardian_vocabulary::cgroup::{
    CgroupPlace, CgroupTree, CgroupUnavailable, Controller, names_of,
};
use wardian_vocabulary::error::CauseChain;

/// The place for cgroups, if this server has one. It is left when this value is dropped.
#[derive(Debug)]
pub(crate) struct TakenCgroups(Option<Arc<CgroupTree>>);

impl TakenCgroups {
    pub(crate) fn tree(&self) -> Option<Arc<CgroupTree>> {
        self.0.clone()
    }
}

impl Drop for TakenCgroups {
    fn drop(&mut self) {
        if let Some(tree) = &self.0 {
            tree.leave();
        }
    }
}

/// Checks whether cgroups that are required are available, before anything is changed.
///
/// # Errors
///
/// They cannot.
pub(crate) fn check_cgroups(config: &Config) -> Result<(), Failed> {
    if config.workers.cgroups != CgroupUse::Require {
        return Ok(());
    }
    let place = CgroupPlace::find().map_err(|error| required(&error))?;
    let missing = missing_of(place.controllers());
    if missing.is_empty() { Ok(()) } else { Err(incomplete(&missing)) }
}

/// Takes the place for cgroups, if there is one and the configuration wants it.
///
/// # Errors
///
/// The configuration requires them, and they are not available.
pub(crate) fn take_cgroups(config: &Config) -> Result<TakenCgroups, Failed> {
    let is_required = config.workers.cgroups == CgroupUse::Require;
    if config.workers.cgroups == CgroupUse::Off {
        return Ok(TakenCgroups(None));
    }
    match CgroupPlace::find().and_then(CgroupTree::take) {
        Ok(tree) => {
            let missing = tree.missing();
            if is_required && !missing.is_empty() {
                tree.leave();
                return Err(incomplete(&missing));
            }
            let (names, folder) = (names_of(tree.controllers()), tree.folder().display());
            if missing.is_empty() {
                info!("each worker has its own cgroup in `{folder}`: {names}");
            } else {
                let missing = names_of(&missing);
                info!("each worker has its own cgroup in `{folder}`: {names}; not {missing}");
            }
            Ok(TakenCgroups(Some(Arc::new(tree))))
        }
        Err(error) if is_required => Err(required(&error)),
        Err(error) => {
            let (cause, advice) = (CauseChain(&error), error.advice());
            // Who shares nothing between tenants expects them to be apart in this way too.
            if config.isolation == Isolation::Process {
                warn!("workers have no cgroups: {cause}; {advice}");
            } else {
                info!("workers have no cgroups: {cause}; {advice}");
            }
            Ok(TakenCgroups(None))
        }
    }
}

fn missing_of(there: &[Controller]) -> Vec<Controller> {
    Controller::ALL.into_iter().filter(|one| !there.contains(one)).collect()
}

fn required(error: &CgroupUnavailable) -> Failed {
    Failed::usage(format!(
        "`workers.cgroups` is \"require\", but workers cannot have cgroups: {}; {}",
        CauseChain(error),
        error.advice()
    ))
}

fn incomplete(missing: &[Controller]) -> Failed {
    Failed::usage(format!(
        "`workers.cgroups` is \"require\", but the cgroup of this process lacks controllers: {}; \
         start the server by a systemd unit with `Delegate=memory pids cpu`, such as \
         deploy/wardian.service",
        names_of(missing)
    ))
}
