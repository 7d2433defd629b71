//! Logs the differences between two indexes for the operator.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::io;

use tracing::{error, info, warn};

use crate::registry::folders::snapshot::Snapshot;
use crate::registry::index::Index;
use wardian_formats::skill::text::printable;
use wardian_vocabulary::ids::TenantId;

/// Most skills of one change that are logged one by one. With thousands of skills the log would
/// take longer than the skills.
const MAX_LINES: usize = 20;

/// Maximum number of folders of one change whose problems are logged.
const MAX_REJECTED: usize = 100;

/// A root as the log names it.
#[derive(Debug, Clone, Copy)]
pub struct RootLabel<'t> {
    /// Its number in the settings, counted from 1.
    pub number: usize,
    /// The tenant whose settings these are; `None` for shared skills.
    pub tenant: Option<&'t TenantId>,
}

impl fmt::Display for RootLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "root {}{}", self.number, of(self.tenant))
    }
}

/// The words for the tenant of a line; empty for shared skills.
fn of(tenant: Option<&TenantId>) -> String {
    tenant.map(|tenant| format!(" of the tenant `{tenant}`")).unwrap_or_default()
}

/// Logs the skills and problems that `before` and `after` do not share. They are those of `tenant`, or
/// shared.
pub(crate) fn log_changes(before: Option<&Index>, after: &Index, tenant: Option<&TenantId>) {
    let whose = of(tenant);
    let changes = compare(before, after);
    for one in changes.served.iter().take(MAX_LINES) {
        let (name, version) = (one.name(), one.version());
        info!(skill.name = %name, skill.version = %version, skill.digest = %one.digest(), "serving `{name}` {version}{whose}");
    }
    if let Some(more) = beyond(changes.served.len(), MAX_LINES) {
        info!(skills = after.len(), "serving {more} more skills{whose}");
    }
    for one in changes.gone.iter().take(MAX_LINES) {
        let (name, version) = (one.name(), one.version());
        info!(skill.name = %name, skill.version = %version, "no longer serving `{name}` {version}{whose}");
    }
    if let Some(more) = beyond(changes.gone.len(), MAX_LINES) {
        info!(skills = after.len(), "no longer serving {more} more skills{whose}");
    }
    let warned: Vec<_> = changes.served.iter().filter(|one| !one.warnings().is_empty()).collect();
    for one in warned.iter().take(MAX_REJECTED) {
        let (name, version) = (one.name(), one.version());
        for warning in one.warnings() {
            warn!(skill.name = %name, "`{name}` {version}{whose}: {warning}");
        }
    }
    if let Some(more) = beyond(warned.len(), MAX_REJECTED) {
        warn!("{more} more skills have warnings: `wardian skills list` shows them");
    }
    let known = before.map(Index::replaced).unwrap_or_default();
    for name in after.replaced().iter().filter(|name| !known.contains(name)) {
        warn!(skill.name = %name, "a folder of skills has `{name}`, which replaces the bundled one");
    }
    let told = before.map(Index::left_out).unwrap_or_default();
    for one in after.left_out().iter().filter(|one| !told.contains(one)) {
        warn!("{one}{whose}");
    }
    log_rejected(before, after, tenant);
}

fn log_rejected(before: Option<&Index>, after: &Index, tenant: Option<&TenantId>) {
    let known: HashMap<_, _> = before
        .iter()
        .flat_map(|index| index.rejected())
        .map(|one| ((one.root, one.folder.as_str()), &one.diagnostics))
        .collect();
    let is_new = |diagnostics, key| known.get(&key).is_none_or(|known| *known != diagnostics);
    let fresh = after.rejected().iter();
    let fresh: Vec<_> =
        fresh.filter(|one| is_new(&one.diagnostics, (one.root, one.folder.as_str()))).collect();
    for one in fresh.iter().take(MAX_REJECTED) {
        let root = RootLabel { number: one.root, tenant };
        // A name of a file can have line breaks.
        let folder = printable(&one.folder);
        for diagnostic in &one.diagnostics {
            warn!(skill.folder = %folder, "folder `{folder}` of {root}: {diagnostic}");
        }
    }
    if let Some(more) = beyond(fresh.len(), MAX_REJECTED) {
        warn!("{more} more folders have problems: `wardian skills list` shows them");
    }
}

fn beyond(found: usize, most: usize) -> Option<usize> {
    found.checked_sub(most).filter(|more| *more > 0)
}

/// The differences between two indexes.
#[derive(Debug, Default)]
struct Changes<'i> {
    served: Vec<&'i Snapshot>,
    gone: Vec<&'i Snapshot>,
}

/// Compares the two in one pass, since both are sorted.
fn compare<'i>(before: Option<&'i Index>, after: &'i Index) -> Changes<'i> {
    let mut changes = Changes::default();
    let mut old = before.into_iter().flat_map(Index::snapshots).peekable();
    let mut new = after.snapshots().peekable();
    let order = |one: &Snapshot, other: &Snapshot| {
        // The order of an index: by name, the highest version first.
        one.name().cmp(other.name()).then_with(|| other.version().cmp(one.version()))
    };
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) if std::sync::Arc::ptr_eq(old, new) => Ordering::Equal,
            (Some(old), Some(new)) => order(old, new),
        };
        let one = (order != Ordering::Greater).then(|| old.next()).flatten();
        let other = (order != Ordering::Less).then(|| new.next()).flatten();
        match (one, other) {
            (Some(one), None) => changes.gone.push(one),
            (None, Some(other)) => changes.served.push(other),
            (Some(one), Some(other)) if one.digest() != other.digest() => {
                changes.served.push(other);
            }
            _ => {}
        }
    }
}

/// Logs that a root cannot be read.
pub(crate) fn log_unreadable(root: RootLabel<'_>, cause: &io::Error) {
    error!("{root} of skills cannot be read, so its skills stay as they are: {cause}");
}
