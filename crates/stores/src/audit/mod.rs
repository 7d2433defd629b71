//! The audit log: an append-only file of JSON lines about keys, refusals, quotas and hosts.
//!
//! An event that repeats within a minute is counted and not written again; its count follows as one
//! line. So neither a busy client nor an attacker fills the disk.
//!
//! INVARIANT(audit-is-bounded): the lines of a minute, the length of each, and the memory of lines
//! that wait are bounded, whatever callers do. `audit.every_event` lifts the bound on lines alone.
//!
//! INVARIANT(audit-without-secrets): a line names a key by its prefix. It has no credential, no
//! argument, no output, no path of a URL and no query.
//!
//! INVARIANT(audit-loss-is-told): a line that cannot be written is counted, and the log says so.

mod event;
mod file;
mod log;
mod repeats;

pub use crate::audit::event::{AuditEvent, AuditKind};
pub use crate::audit::file::append;
pub use crate::audit::log::{AuditConfig, AuditLog};
