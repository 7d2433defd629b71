//! Records of runs: who ran what, with which inputs, and how it ended.
//!
//! | part          | does                                                                       |
//! | ------------- | -------------------------------------------------------------------------- |
//! | `record.rs`   | the record of one run, as it is stored and shown                           |
//! | `content.rs`  | its program, arguments and output, which operators can leave out           |
//! | `queue.rs`    | records that wait to be written, within a bound                            |
//! | `writer.rs`   | writes them in batches on one thread, and removes old ones                 |
//! | `table/`      | the database: all statements on its tables                                 |
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
mod queue;
mod record;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use crate::records::config::RecordsConfig;
pub use crate::records::content::{
    KeptText, MAX_FILES, MAX_FILES_TEXT, RecordedConversion, RecordedFile, RunContent,
};
pub use crate::records::queue::{QUEUE_MEMORY, RecordCounts, RecordTail, Recorder, RoomForLog};
pub use crate::records::record::{
    INTERRUPTED, INTERRUPTION, MAX_DOCUMENT_KEPT, MAX_LISTED, MAX_RESULT, NetworkUse,
    RecordedArguments, RecordedContent, RecordedError, RecordedHost, RecordedImage, RecordedLog,
    RecordedPhases, RecordedSkill, RunKind, RunOutcomeKind, RunRecord, RunSummary, with_result,
};
pub use crate::records::table::detached::{KnownKey, RequestKey};
#[cfg(test)]
pub(crate) use crate::records::table::read::SCANNED;
pub use crate::records::table::read::{ListedRuns, RunFilter, RunSearch, WhoseRuns};
pub use crate::records::table::{RecordTable, StoredLog};
pub use crate::records::writer::RecordWriter;
