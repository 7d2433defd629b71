//! The gate of a server: discovery is open from the start, execution once the engine is ready.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, watch};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::methods::Methods;
use crate::run::execute::log_stream::LogListener;
use crate::runs::Runs;
use crate::runs::history::RunHistory;
use crate::service::Service;
use crate::sessions::calls::SessionCalls;
use crate::sessions::files::SessionFiles;
use crate::sessions::notebook::imported::{ImportedNotebook, NotebookOrder};
use crate::sessions::order::NewSessionOrder;
use crate::sessions::room::SessionRoom;
use crate::sessions::views::{InterruptView, SessionView};
use crate::start::discovery::{Discovery, NotDiscovery};
use crate::start::preparation::{Preparation, PreparationStep};
use crate::status::Status;
use crate::transfers::{BlobTransfers, Transfers};
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_vocabulary::ids::TenantId;

/// The methods of a server from its start on.
///
/// INVARIANT(discovery-first): what executes nothing is answered while the engine is prepared.
///
/// INVARIANT(nothing-runs-early): before [`Gate::open`] no call of a client reaches a worker.
#[derive(Debug)]
pub struct Gate {
    discovery: Arc<Discovery>,
    service: OnceLock<Arc<Service>>,
    /// Empty once the service exists.
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
        self.preparation.send_if_modified(|known| {
            let is_closed = known.is_some();
            if is_closed {
                *known = Some(preparation);
            }
            is_closed
        });
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

    /// The servers of tools that list none now, although code of a call may use some: each with the reason, for the
    /// operator.
    pub async fn unlisted_servers(&self, caller: &Caller) -> Vec<(String, String)> {
        match self.service.get() {
            Some(service) => service.unlisted_servers(caller).await,
            None => Vec::new(),
        }
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

impl SessionCalls for Gate {
    fn sessions(&self) -> &SessionRoom {
        self.discovery.sessions()
    }

    async fn create_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> Result<SessionView, ServiceError> {
        self.service()?.create_session(caller, order).await
    }

    async fn interrupt_session(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InterruptView, ServiceError> {
        match self.service.get() {
            Some(service) => service.interrupt_session(caller, id).await,
            // Nothing is running yet.
            None => self.discovery.sessions().interrupt(caller, id).await,
        }
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        self.service()?.session_files()
    }

    async fn import_notebook(
        &self,
        caller: &Caller,
        text: &[u8],
        order: NotebookOrder,
    ) -> Result<ImportedNotebook, ServiceError> {
        self.service()?.import_notebook(caller, text, order).await
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
        self.service.get().map(Status::warnings).unwrap_or_default()
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        self.service.get().map(Status::sandbox).unwrap_or_default()
    }

    fn limit_bounds(&self) -> LimitBounds {
        self.service.get().map_or(LimitBounds::ANY, Status::limit_bounds)
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
