//! Tells the operator what came, what went and what is no good.

use std::io;

use tracing::{error, info, warn};

use crate::registry::index::Index;
use crate::registry::snapshot::Snapshot;

/// Logs what `after` serves or rejects and `before` did not, and the other way round.
pub(crate) fn log_changes(before: Option<&Index>, after: &Index) {
    let is_in = |index: Option<&Index>, one: &Snapshot| {
        let same = index.and_then(|index| index.find(one.name(), Some(one.version())).ok());
        same.is_some_and(|same| same.digest() == one.digest())
    };
    for one in after.snapshots().filter(|one| !is_in(before, one)) {
        let (name, version) = (one.name(), one.version());
        info!(skill.name = %name, skill.version = %version, skill.digest = %one.digest(), "serving `{name}` {version}");
        for warning in one.warnings() {
            warn!(skill.name = %name, "`{name}` {version}: {warning}");
        }
    }
    for one in before.iter().flat_map(|index| index.snapshots()) {
        let (name, version) = (one.name(), one.version());
        if after.find(name, Some(version)).is_err() {
            info!(skill.name = %name, skill.version = %version, "no longer serving `{name}` {version}");
        }
    }
    let known = before.map(Index::replaced).unwrap_or_default();
    for name in after.replaced().iter().filter(|name| !known.contains(name)) {
        warn!(skill.name = %name, "a folder of skills has `{name}`, which takes the place of the bundled one");
    }
    let told = before.map(Index::left_out).unwrap_or_default();
    for one in after.left_out().iter().filter(|one| !told.contains(one)) {
        warn!("{one}");
    }
    let known = before.map(Index::rejected).unwrap_or_default();
    for one in after.rejected().iter().filter(|one| !known.contains(one)) {
        for diagnostic in &one.diagnostics {
            warn!(skill.folder = %one.folder, "folder `{}` of root {}: {diagnostic}", one.folder, one.root);
        }
    }
}

/// Logs that a root cannot be read, with the reason.
pub(crate) fn log_unreadable(number: usize, cause: &io::Error) {
    error!("root {number} of skills cannot be read, its skills stay as they are: {cause}");
}
