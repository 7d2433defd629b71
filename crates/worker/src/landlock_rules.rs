//! The Landlock part of the lock-down: closes the file system, the network and other processes.

use std::fs;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, RestrictSelfAttr as _,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

/// The newest version of Landlock that the rules below were tested with. Older kernels enforce
/// fewer rules.
pub(super) const NEWEST: ABI = ABI::V7;

/// Forbids every kind of access that this ABI knows.
pub(super) fn restrict(newest: ABI) -> Result<RestrictionStatus, RulesetError> {
    let (net, scopes) = (AccessNet::from_all(newest), Scope::from_all(newest));
    Ruleset::default()
        .handle_access(AccessFs::from_all(newest))
        // The crate refuses a set without any right.
        .and_then(|rules| if net.is_empty() { Ok(rules) } else { rules.handle_access(net) })
        .and_then(|rules| if scopes.is_empty() { Ok(rules) } else { rules.scope(scopes) })
        .and_then(Ruleset::create)
        .and_then(|rules| rules.all_threads(true))
        .and_then(landlock::RulesetCreated::restrict_self)
}

/// Forbids access to files outside of `/proc`, to the network and to other processes.
pub(super) fn leave_own_processes() -> Result<(), String> {
    let (net, scopes) = (AccessNet::from_all(NEWEST), Scope::from_all(NEWEST));
    let files = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::Truncate;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(net))
        .and_then(|rules| rules.scope(scopes))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(["/proc"], files)))
        .and_then(landlock::RulesetCreated::restrict_self);
    match restricted {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("the kernel does not support it".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Forbids access to files, network and other processes. Returns the accesses that this kernel
/// cannot forbid.
pub(super) fn close_file_system() -> Result<Option<String>, String> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    match restrict(NEWEST) {
        Err(error) => Err(error.to_string()),
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("the kernel does not support it".to_owned())
        }
        Ok(status) if threads > 1 && !status.all_threads => {
            Err("threads that were started earlier are not restricted".to_owned())
        }
        Ok(status) => Ok(landlock_gap(status.landlock, NEWEST)),
    }
}

/// The accesses that a kernel with this version of Landlock cannot forbid, with rules of `newest`.
pub(super) fn landlock_gap(status: LandlockStatus, newest: ABI) -> Option<String> {
    let LandlockStatus::Available { effective_abi, .. } = status else { return None };
    let abi = effective_abi.min(newest);
    let rules = [
        (ABI::V2, "moving files between folders"),
        (ABI::V3, "truncating files"),
        (ABI::V4, "TCP"),
        (ABI::V5, "commands to devices"),
        (ABI::V6, "abstract sockets and signals"),
    ];
    let gaps: Vec<_> =
        rules.iter().filter(|(since, _)| abi < *since).map(|(_, what)| *what).collect();
    let named = gaps.join(", ");
    (!gaps.is_empty()).then(|| format!("ABI {} has no rules for {named}; seccomp has", abi as i32))
}
