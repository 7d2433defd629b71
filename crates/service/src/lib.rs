//! The use cases: the eight methods and the code that they share. The only module that uses the
//! registry, the blobs, the images and the pool together.

mod api_key_orders;
mod authentication;
mod authorisation;
mod caller;
mod error;
mod find;
mod fleet;
mod local_run;
mod methods;
mod published_skill;
mod publishing;
mod run;
mod runs;
mod self_test;
mod service;
mod sessions;
mod start;
mod status;
mod transfers;

pub use crate::api_key_orders::NewKey;
pub use crate::authentication::{Authentication, RefusedCaller};
pub use crate::authorisation::ensure_may_operate;
pub use crate::caller::{Caller, sole_tenant};
pub use crate::error::ServiceError;
pub use crate::fleet::{FleetError, FleetKey, FleetKeyError, FleetParts, FleetTasks};
pub use crate::local_run::{LocalProgram, LocalRecord, LocalResult, LocalRun, RepeatedRun};
pub use crate::methods::Methods;
pub use crate::published_skill::PublishedSkill;
pub use crate::publishing::{PublishResult, Publishing};
pub use crate::run::access::network::NetworkAccess;
pub use crate::run::access::network_record::NetworkRecord;
pub use crate::run::access::secrets::SecretAccess;
pub use crate::run::background::detach_policy::DetachPolicy;
pub use crate::run::execute::log_stream::{Heard, LogListener, LogStream, log_stream};
pub use crate::run::packages::locked::PackageAccess;
pub use crate::run::prepare::limits::LimitPolicy;
pub use crate::run::prepare::metering::Metering;
pub use crate::runs::{
    ActiveRunList, ActiveRunView, ActiveRuns, CancelledRun, FoundRun, Journal, RunHistory, RunList,
    RunListOrder, Runs,
};
pub use crate::service::{Parts, Service};
pub use crate::sessions::asking::open_run::RunAnswersView;
pub use crate::sessions::calls::SessionCalls;
pub use crate::sessions::files::SessionFiles;
pub use crate::sessions::files::read::{FileDownload, FileListOrder, SessionFileList};
pub use crate::sessions::files::write::{ChangeOrder, FileChange, FileUpload};
pub use crate::sessions::notebook::download::{NotebookDownload, NotebookPiece};
pub use crate::sessions::notebook::imported::{ImportedCell, ImportedNotebook, NotebookOrder};
pub use crate::sessions::notebook::language::NotebookMetadata;
pub use crate::sessions::observed::SessionObserver;
pub use crate::sessions::order::NewSessionOrder;
pub use crate::sessions::reproducible::local_cells::{LocalCell, LocalCellLimits, LocalCellResult};
pub use crate::sessions::reproducible::session_seed::{SessionSeedInputs, SessionSeedParam};
pub use crate::sessions::room::SessionRoom;
pub use crate::sessions::views::{
    CellPage, CellView, CheckpointView, ForkOrder, ForkView, ForkedFromView, Forks, InterruptView,
    SessionDetail, SessionList, SessionReport, SessionUsageView, SessionView,
};
pub use crate::start::{Discovery, DiscoveryParts, Gate, Preparation, PreparationStep};
pub use crate::status::Status;
pub use crate::transfers::catalogue::BlobListing;
pub use crate::transfers::download::{BlobBytes, BlobDescription, BlobDownload, PIECE};
pub use crate::transfers::upload::{BlobUpload, UploadOrder, UploadedBlob};
pub use crate::transfers::{BlobTransfers, Transfers};
pub use wardian_formats::job::outcome::{LogChunk, ProgressReport, Stream};
pub use wardian_stores::tenants::{ApiKey, CallerCredential, CallerIdentity, Right, Rights};
