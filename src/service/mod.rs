//! The eight methods, one file each, and the only place where the engines meet.
//!
//! Every method has the same steps, in this order: check what the protocol's types could not,
//! find what is named, act, answer. No method knows HTTP or the command line.

mod bytecode;
mod caller;
mod create_blob;
mod describe_skill;
mod execute_skill;
mod failure;
mod guest_door;
mod guide;
mod left_files;
mod limits;
mod list_skills;
mod local_run;
mod logs;
mod metering;
mod output;
mod read_blob;
mod read_skill_file;
mod run;
mod run_code;
mod run_log;
mod self_test;
mod skills;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinError;

use crate::blobs::kind::InvalidKind;
use crate::blobs::{BlobError, BlobStore};
use crate::budget::BudgetExhausted;
use crate::dispatch::{DispatchError, Pool, PoolReport};
use crate::error::ErrorKind;
use crate::ids::InvalidId;
use crate::images::ImageStock;
use crate::protocol::check::ParamsError;
use crate::protocol::schema::LimitBounds;
use crate::protocol::{MethodCall, MethodResult};
use crate::registry::{Registry, RegistryError};

pub use crate::service::caller::Caller;
pub use crate::service::guest_door::Listener;
pub use crate::service::limits::{LEAST_FUEL, LimitPolicy};
pub use crate::service::local_run::{LocalProgram, LocalResult, LocalRun};
pub use crate::service::metering::{Metering, NotMetering};
pub use crate::service::self_test::SelfTestError;

/// The methods as an edge sees them.
pub trait Methods: Send + Sync + 'static {
    /// Executes one call. Dropping the future before it is done cancels what the call does.
    fn call(
        &self,
        caller: &Caller,
        call: MethodCall,
    ) -> impl Future<Output = Result<MethodResult, ServiceError>> + Send;

    /// Why calls cannot be executed at the moment: nothing if they can.
    fn obstacles(&self) -> Vec<String>;

    /// What does not keep calls from being executed, and should not stay so.
    fn warnings(&self) -> Vec<String>;

    /// How runs are kept apart here, as name and value: for people who operate the server.
    fn sandbox(&self) -> BTreeMap<&'static str, String>;

    /// The limits that calls may ask for.
    fn limit_bounds(&self) -> LimitBounds;
}

/// The Skills Protocol, ready to be called from any edge.
pub struct Service {
    registry: Arc<Registry>,
    blobs: Arc<BlobStore>,
    pool: Arc<Pool>,
    images: Arc<ImageStock>,
    limits: LimitPolicy,
    metering: Arc<Metering>,
    contents: skills::Contents,
}

/// What a [`Service`] works with.
#[derive(Debug)]
pub struct Parts {
    /// The skills.
    pub registry: Arc<Registry>,
    /// The blobs.
    pub blobs: Arc<BlobStore>,
    /// The workers.
    pub pool: Arc<Pool>,
    /// What runs begin as.
    pub images: Arc<ImageStock>,
    /// What runs may use.
    pub limits: LimitPolicy,
    /// Whether fuel can be counted.
    pub metering: Arc<Metering>,
}

impl Service {
    /// The methods over these stores and workers.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { registry, blobs, pool, images, limits, metering } = parts;
        let contents = skills::Contents::default();
        Self { registry, blobs, pool, images, limits, metering, contents }
    }

    /// The images that runs begin as.
    #[must_use]
    pub fn images(&self) -> &ImageStock {
        &self.images
    }

    /// How the workers are.
    #[must_use]
    pub fn workers(&self) -> PoolReport {
        self.pool.report()
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Methods for Service {
    async fn call(&self, caller: &Caller, call: MethodCall) -> Result<MethodResult, ServiceError> {
        Ok(match call {
            MethodCall::ListSkills(params) => {
                MethodResult::ListSkills(self.list_skills(caller, params).await?)
            }
            MethodCall::DescribeSkill(params) => {
                MethodResult::DescribeSkill(self.describe_skill(caller, params).await?)
            }
            MethodCall::ReadSkillFile(params) => {
                MethodResult::ReadSkillFile(self.read_skill_file(caller, params).await?)
            }
            MethodCall::ExecuteSkill(params) => {
                MethodResult::Run(self.execute_skill(caller, params).await?)
            }
            MethodCall::RunCode(params) => MethodResult::Run(self.run_code(caller, params).await?),
            MethodCall::CreateBlob(params) => {
                MethodResult::CreateBlob(self.create_blob(caller, params).await?)
            }
            MethodCall::ReadBlob(params) => {
                MethodResult::ReadBlob(self.read_blob(caller, params).await?)
            }
            MethodCall::LoadSkillsProtocolGuide(_) => {
                MethodResult::LoadSkillsProtocolGuide(self.guide().await?)
            }
        })
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        let report = self.pool.report();
        let Some(worker) = report.workers.first() else { return BTreeMap::new() };
        let images = self.images.report().into_iter().map(|image| image.name);
        BTreeMap::from([
            ("code", worker.report.code.join(" ")),
            ("images", images.collect::<Vec<_>>().join(" ")),
            ("huge_pages", worker.report.huge_pages.clone()),
            ("lockdown", worker.report.lockdown.join(" ")),
            ("lockdown_gaps", worker.report.partial.join("; ")),
            ("reset", worker.report.reset.clone()),
        ])
    }

    fn limit_bounds(&self) -> LimitBounds {
        self.limits.bounds()
    }

    fn warnings(&self) -> Vec<String> {
        let report = self.pool.report();
        let missing: BTreeSet<&String> =
            report.workers.iter().flat_map(|worker| &worker.report.missing).collect();
        let warning = |wall| format!("guests run without a wall of the lock-down: {wall}");
        missing.into_iter().map(warning).collect()
    }

    fn obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
        if self.pool.report().workers.is_empty() {
            obstacles.push("no worker is ready".to_owned());
        }
        if self.blobs.is_sealed() {
            obstacles.push("the blob store cannot be written to".to_owned());
        }
        obstacles
    }
}

impl<M: Methods> Methods for Arc<M> {
    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        M::sandbox(self)
    }

    fn limit_bounds(&self) -> LimitBounds {
        M::limit_bounds(self)
    }

    fn call(
        &self,
        caller: &Caller,
        call: MethodCall,
    ) -> impl Future<Output = Result<MethodResult, ServiceError>> + Send {
        M::call(self, caller, call)
    }

    fn warnings(&self) -> Vec<String> {
        M::warnings(self)
    }

    fn obstacles(&self) -> Vec<String> {
        M::obstacles(self)
    }
}

/// Why a method call failed.
///
/// `Display` is written for the caller and never shows a cause; `source()` is for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A parameter has a wrong value.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A name or version is malformed.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// A MIME type is malformed.
    #[error(transparent)]
    Kind(#[from] InvalidKind),
    /// A text that can be no blob's id: there is no such blob.
    #[error("there is no blob `{}`", .id.chars().take(80).collect::<String>().escape_debug())]
    NoSuchBlob {
        /// As sent.
        id: String,
    },
    /// The skill has no code.
    #[error(
        "skill `{name}` is an instruction skill: read its SKILL.md, there is nothing to execute"
    )]
    NotExecutable {
        /// Which skill.
        name: String,
    },
    /// Arguments do not fit the skill's inputs.
    #[error("the arguments do not fit the inputs of skill `{name}`: {problems}")]
    Arguments {
        /// Which skill.
        name: String,
        /// What is wrong, one after another.
        problems: String,
    },
    /// A skill or a file of it cannot be had.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A blob cannot be had or kept.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Fuel cannot be counted, or not yet.
    #[error(transparent)]
    Metering(#[from] NotMetering),
    /// There is no worker for the run.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// A result cannot be written.
    #[error("a result cannot be written")]
    Unserialisable(#[source] serde_json::Error),
    /// What a run returned cannot be read.
    #[error("the output of a run cannot be read")]
    Unreadable(#[source] io::Error),
    /// The server holds as much for its clients as it may.
    #[error(transparent)]
    Memory(#[from] BudgetExhausted),
    /// A thread of ours did not come back.
    #[error("the call was interrupted")]
    Interrupted(#[source] JoinError),
}

impl ServiceError {
    /// How a caller should understand this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Params(_) | Self::Id(_) | Self::Kind(_) | Self::Arguments { .. } => {
                ErrorKind::InvalidParams
            }
            Self::NoSuchBlob { .. } => ErrorKind::BlobNotFound,
            Self::NotExecutable { .. } => ErrorKind::NotExecutable,
            Self::Registry(error) => error.kind(),
            Self::Blob(error) => error.kind(),
            Self::Dispatch(error) => error.kind(),
            Self::Metering(NotMetering::Compiling) | Self::Memory(_) => ErrorKind::Overloaded,
            Self::Metering(NotMetering::Failed) => ErrorKind::Internal,
            Self::Unserialisable(_) | Self::Unreadable(_) | Self::Interrupted(_) => {
                ErrorKind::Internal
            }
        }
    }

    /// The parameter that is to blame, if it is one.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Params(error) => Some(error.parameter()),
            Self::Arguments { .. } => Some("args"),
            Self::Kind(_) => Some("kind"),
            Self::Registry(RegistryError::InvalidParameter { parameter, .. }) => Some(parameter),
            _ => None,
        }
    }

    /// When repeating the call can help, if it can.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Metering(NotMetering::Compiling) = self {
            return Some(Duration::from_secs(30));
        }
        match self.kind() {
            ErrorKind::Overloaded | ErrorKind::RateLimited => Some(Duration::from_secs(1)),
            _ => None,
        }
    }
}
