//! The use cases: the eight methods and the code that they share. The only module that uses the
//! registry, the blobs, the images and the pool together.

mod authentication;
mod authorisation;
mod caller;
mod error;
mod find;
mod key_orders;
mod local_run;
mod methods;
mod parts;
mod published_skill;
mod publishing;
mod run;
mod runs;
mod self_test;
mod start;
mod status;
mod transfers;

pub use crate::job::outcome::{LogChunk, ProgressReport, Stream};
pub use crate::service::authentication::{Authentication, RefusedCaller};
pub use crate::service::authorisation::ensure_may_operate;
pub use crate::service::caller::{Caller, sole_tenant};
pub use crate::service::error::ServiceError;
pub use crate::service::key_orders::NewKey;
pub use crate::service::local_run::{
    LocalProgram, LocalRecord, LocalResult, LocalRun, RepeatedRun,
};
pub use crate::service::methods::Methods;
pub use crate::service::parts::{Parts, Service};
pub use crate::service::published_skill::{PublishedSkill, PublishedSkills};
pub use crate::service::publishing::{PublishResult, Publishing};
pub use crate::service::run::detach_policy::DetachPolicy;
pub use crate::service::run::limits::{LEAST_FUEL, LimitPolicy};
pub use crate::service::run::log_stream::{LogListener, LogStream, log_stream};
pub use crate::service::run::metering::{Metering, NotMetering};
pub use crate::service::run::network::NetworkAccess;
pub use crate::service::run::network_record::NetworkRecord;
pub use crate::service::run::packages::PackageAccess;
pub use crate::service::run::packages_error::PackagesError;
pub use crate::service::run::secrets::SecretAccess;
pub use crate::service::runs::{
    ActiveRunList, ActiveRunView, ActiveRuns, CancelledRun, FoundRun, Journal, RunHistory, RunList,
    RunListOrder, RunLogText, Runs,
};
pub use crate::service::self_test::SelfTestError;
pub use crate::service::start::{
    Discovery, DiscoveryParts, Gate, Preparation, PreparationStep, PreparationWatch,
};
pub use crate::service::status::Status;
pub use crate::service::transfers::catalogue::{BlobList, BlobListing, VerifiedBlob};
pub use crate::service::transfers::download::{BlobBytes, BlobDescription, BlobDownload, PIECE};
pub use crate::service::transfers::upload::{BlobUpload, UploadOrder, UploadedBlob};
pub use crate::service::transfers::{BlobTransfers, Transfers};
pub use crate::tenants::{ApiKey, ApiToken, CallerCredential, CallerIdentity, Right, Rights};
