//! Records of runs: who ran what, with which inputs, and how it ended.
//!
//! | part           | does                                                                       |
//! | -------------- | -------------------------------------------------------------------------- |
//! | `record.rs`    | the record of one run, as it is stored and shown                           |
//! | `content.rs`   | its program, arguments and output, which operators can leave out           |
//! | `filter.rs`    | the records that a list has                                                |
//! | `named_call.rs` | calls that have a name                                                    |
//! | `queue.rs`     | records that wait to be written, within a bound                            |
//! | `writer.rs`    | writes them in batches on one thread, and removes old ones                 |
//! | `row.rs`       | a record as a database holds it                                            |
//! | `store.rs`     | what a database must do: each statement is a method                        |
//! | `table/`       | what is the same for all databases: pages, notes of runs, names, ages      |
//! | `server_id.rs` | which server has a run in progress                                         |
//! | `servers.rs`   | the records as one server uses them, with its lease                        |
//! | `waiting/`     | runs of a fleet that wait for a server                                     |
//!
//! INVARIANT(records-never-lost-silently): a record that was handed over is written, or it is
//! counted as lost and the log says so.
//!
//! INVARIANT(records-are-bounded): the records that wait take no more memory than
//! [`QUEUE_MEMORY`], and those that are kept no more than the limits of their tenant allow.
//!
//! INVARIANT(own-records-expire): the number and the logs of a tenant's records decide which of its
//! own are removed, and never those of another tenant.
//!
//! # Why
//!
//! Records have their own file next to that of the keys. They are written all the time and
//! take gigabytes, while keys change rarely and must survive a loss of power. With two files a
//! record waits for no disk to be synchronised, a revocation waits for no batch of records, and a
//! disk that is full of records damages no key.

mod config;
mod content;
pub(crate) mod filter;
pub(crate) mod named_call;
mod queue;
pub(crate) mod record;
pub(crate) mod row;
pub(crate) mod server_id;
pub(crate) mod servers;
pub(crate) mod store;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod waiting;
mod writer;

pub use crate::records::config::RecordsConfig;
pub use crate::records::content::{
    KeptText, MAX_FILES, MAX_FILES_TEXT, RecordedConversion, RecordedFile, RunContent,
};
pub use crate::records::filter::{RunFilter, RunSearch, WhoseRuns};
pub use crate::records::named_call::RequestKey;
pub use crate::records::queue::{QUEUE_MEMORY, RecordCounts, RecordTail, Recorder, RoomForLog};
pub use crate::records::record::{
    INTERRUPTED, INTERRUPTION, MAX_DOCUMENT_KEPT, MAX_LISTED, MAX_RESULT, NetworkUse,
    RecordedArguments, RecordedContent, RecordedError, RecordedHost, RecordedImage, RecordedLog,
    RecordedPhases, RecordedSkill, RecordedToolCall, RunKind, RunOutcomeKind, RunRecord,
    RunSummary, ToolCallEnd, with_result,
};
pub use crate::records::server_id::{RunHolder, ServerId};
pub use crate::records::servers::{Renewal, RunElsewhere, ServerRecords};
pub use crate::records::store::StoredLog;
pub use crate::records::table::RecordTable;
pub use crate::records::table::detached::{NotedRun, UnrecordedRun};
pub use crate::records::table::idempotency_keys::KnownKey;
pub use crate::records::table::read::ListedRuns;
pub use crate::records::waiting::{
    ClaimedRun, FleetServer, QueueCounts, QueuedOrder, ServerFacts, Submitted, TenantQueue,
    UnrecordedState, UnrecordedView,
};
pub use crate::records::writer::RecordWriter;
