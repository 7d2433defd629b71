//! The gate of a server: discovery is open from the start, execution once the engine is ready.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::ids::TenantId;
use crate::protocol::schema::LimitBounds;
use crate::protocol::{MethodCall, MethodResult};
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::methods::Methods;
use crate::service::parts::Service;
use crate::service::run::log_stream::LogListener;
use crate::service::runs::Runs;
use crate::service::runs::history::RunHistory;
use crate::service::start::discovery::{Discovery, NotDiscovery};
use crate::service::status::Status;
use crate::service::transfers::{BlobTransfers, Transfers};

/// The longest time after which a client is asked to call again while the engine is prepared. The
/// time that is left is an estimate, and another process may be faster.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The time after which a client is asked to call again if nothing is known about the time left.
const USUAL_RETRY: Duration = Duration::from_secs(5);

/// A step of the preparation, with as much as is known about it. Clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparationStep {
    /// What is being done and how far it is, in words.
    pub text: String,
    /// The share that is done.
    pub percent: Option<u8>,
    /// The time that is left at the speed so far.
    pub remaining: Option<Duration>,
}

/// The reason why nothing can be executed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preparation {
    /// Something is being prepared.
    Going {
        /// The part of the server that is missing, such as `the engine`.
        part: &'static str,
        /// The step, if it takes long enough to be told.
        step: Option<PreparationStep>,
    },
    /// It could not be prepared, and is tried again.
    Failed {
        /// The reason, and what to do.
        reason: String,
        /// The time until the next attempt.
        retry: Duration,
    },
}

impl Preparation {
    /// The preparation of `part`, about which nothing more is known.
    #[must_use]
    pub const fn of(part: &'static str) -> Self {
        Self::Going { part, step: None }
    }

    /// The delay after which a call can succeed.
    fn retry(&self) -> Duration {
        match self {
            Self::Going { step, .. } => {
                let left = step.as_ref().and_then(|step| step.remaining);
                let least = Duration::from_secs(1);
                left.map_or(USUAL_RETRY, |left| left.clamp(least, LONGEST_RETRY))
            }
            Self::Failed { retry, .. } => *retry,
        }
    }
}

/// `waiting for the engine: compiling the engine: 40 %, about 2 minutes left`.
impl fmt::Display for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Going { part, step: None } => write!(f, "waiting for {part}"),
            Self::Going { part, step: Some(step) } => {
                write!(f, "waiting for {part}: {}", step.text)
            }
            Self::Failed { reason, retry } => write!(
                f,
                "the engine could not be prepared, and is tried again in {} s: {reason}",
                retry.as_secs().max(1)
            ),
        }
    }
}

/// The methods of a server from its start on.
///
/// INVARIANT(discovery-first): what executes nothing is answered while the engine is prepared.
///
/// INVARIANT(nothing-runs-early): before [`Gate::open`] no call of a client reaches a worker.
#[derive(Debug)]
pub struct Gate {
    discovery: Arc<Discovery>,
    service: OnceLock<Arc<Service>>,
    /// Empty once the service is there.
    preparation: watch::Sender<Option<Preparation>>,
    asked: Notify,
}

impl Gate {
    /// A gate through which only discovery passes.
    #[must_use]
    pub fn closed(discovery: Arc<Discovery>, preparation: Preparation) -> Arc<Self> {
        let (service, asked) = (OnceLock::new(), Notify::new());
        let preparation = watch::Sender::new(Some(preparation));
        Arc::new(Self { discovery, service, preparation, asked })
    }

    /// A gate that is open.
    #[must_use]
    pub fn opened(service: Arc<Service>) -> Arc<Self> {
        let discovery = Arc::clone(service.discovery());
        let gate = Self::closed(discovery, Preparation::of("the service"));
        gate.open(service);
        gate
    }

    /// Says what is being prepared. Has no effect once the gate is open.
    pub fn report(&self, preparation: Preparation) {
        if self.service.get().is_none() {
            self.preparation.send_replace(Some(preparation));
        }
    }

    /// Lets calls that execute something pass, from now on.
    pub fn open(&self, service: Arc<Service>) {
        // Only the first call has an effect.
        self.service.set(service).ok();
        self.preparation.send_replace(None);
    }

    /// The methods that execute nothing.
    #[must_use]
    pub const fn discovery(&self) -> &Arc<Discovery> {
        &self.discovery
    }

    /// What keeps calls from being executed.
    #[must_use]
    pub fn preparation(&self) -> Option<Preparation> {
        self.preparation.borrow().clone()
    }

    /// Follows what keeps calls from being executed.
    #[must_use]
    pub fn follow(&self) -> PreparationWatch {
        let mut changes = self.preparation.subscribe();
        changes.mark_changed();
        PreparationWatch(changes)
    }

    /// Resolves when a call is refused because the preparation has failed.
    pub async fn asked_again(&self) {
        self.asked.notified().await;
    }

    /// The service, or the reason why nothing can be executed.
    fn service(&self) -> Result<&Arc<Service>, ServiceError> {
        self.service.get().ok_or_else(|| {
            let preparation = self.preparation().unwrap_or(Preparation::of("the service"));
            if matches!(preparation, Preparation::Failed { .. }) {
                self.asked.notify_one();
            }
            ServiceError::NotPrepared { retry: preparation.retry(), why: preparation.to_string() }
        })
    }
}

/// Follows a [`Preparation`].
#[derive(Debug)]
pub struct PreparationWatch(watch::Receiver<Option<Preparation>>);

impl PreparationWatch {
    /// The present state the first time, and the next one from then on; `None` once calls can be
    /// executed. States that follow each other quickly are left out.
    pub async fn next(&mut self) -> Option<Preparation> {
        self.0.changed().await.ok()?;
        self.0.borrow_and_update().clone()
    }
}

impl Methods for Gate {
    fn count_call(&self, tenant: &TenantId) -> Result<(), ServiceError> {
        Ok(self.discovery.rates.count(tenant)?)
    }

    async fn call_listening(
        &self,
        caller: &Caller,
        call: MethodCall,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        match self.discovery.call(caller, call, self.limit_bounds()).await {
            Ok(result) => Ok(result),
            Err(NotDiscovery::Refused(error)) => Err(error),
            Err(NotDiscovery::Executes(call)) => {
                self.service()?.execute(caller, call, listener).await
            }
        }
    }
}

impl Status for Gate {
    fn obstacles(&self) -> Vec<String> {
        match (self.service.get(), self.preparation()) {
            (Some(service), _) => service.obstacles(),
            (None, preparation) => preparation.iter().map(ToString::to_string).collect(),
        }
    }

    fn warnings(&self) -> Vec<String> {
        self.service.get().map(|service| service.warnings()).unwrap_or_default()
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        self.service.get().map(|service| service.sandbox()).unwrap_or_default()
    }

    fn limit_bounds(&self) -> LimitBounds {
        self.service.get().map_or(LimitBounds::ANY, |service| service.limit_bounds())
    }

    fn preparing(&self) -> Option<PreparationStep> {
        match self.preparation()? {
            Preparation::Going { step, .. } => step,
            Preparation::Failed { .. } => None,
        }
    }
}

impl Transfers for Gate {
    fn transfers(&self) -> &BlobTransfers {
        &self.discovery.transfers
    }
}

impl Runs for Gate {
    fn runs(&self) -> &RunHistory {
        &self.discovery.runs
    }
}
