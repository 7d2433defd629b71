//! Fake methods, and a client for the router.

use std::collections::BTreeMap;
use std::future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, header};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::http::{HttpConfig, Readiness, router};
use wardian_dispatch::DispatchError;
use wardian_formats::protocol::methods::blobs::{Encoding, ReadBlobResult};
use wardian_formats::protocol::methods::bootstrap::GuideResult;
use wardian_formats::protocol::methods::limit_bounds::{Bounds, LimitBounds};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_service::{
    BlobTransfers, Caller, InterruptView, LogListener, Methods, NewSessionOrder, RunHistory, Runs,
    ServiceError, SessionCalls, SessionFiles, SessionRoom, SessionView, Status, Transfers,
};
use wardian_stores::blobs::{BlobError, BlobStoreConfig, LocalBlobStore};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::TooManyCalls;

/// `load_skills_protocol_guide` answers, `list_skills` is overloaded, `create_blob` fails with a
/// secret cause, `read_blob` answers at length, `run_code` never ends, and the rest is refused.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    pub calls: Arc<AtomicUsize>,
    /// Calls that have started and neither finished nor were dropped.
    pub running: Arc<AtomicUsize>,
    pub obstacles: Vec<String>,
    /// The charge of `run_code`, held as if by a thread that cannot be stopped.
    pub held: Arc<Mutex<Vec<CallMemory>>>,
    /// The calls that the tenant may still make.
    pub(crate) calls_left: Arc<AtomicUsize>,
    /// Blobs in a separate folder.
    pub transfers: Arc<OnceLock<BlobTransfers>>,
    pub folder: Arc<Mutex<Option<TempDir>>>,
    /// No records are kept.
    pub runs: Arc<RunHistory>,
    pub(crate) sessions: Arc<SessionRoom>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            calls: Arc::default(),
            running: Arc::default(),
            obstacles: Vec::new(),
            held: Arc::default(),
            calls_left: Arc::new(AtomicUsize::new(usize::MAX)),
            transfers: Arc::default(),
            folder: Arc::default(),
            runs: Arc::default(),
            sessions: Arc::default(),
        }
    }
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Methods for Fake {
    fn count_call(&self, _: &TenantId) -> Result<(), ServiceError> {
        let take = |left: usize| left.checked_sub(1);
        let taken = self.calls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        let refused = TooManyCalls { retry_after: Duration::from_millis(2_500) };
        taken.map(drop).map_err(|_none| refused.into())
    }

    async fn call_listening(
        &self,
        caller: &Caller,
        call: MethodCall,
        _: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(Arc::clone(&self.running));
        match call {
            MethodCall::LoadSkillsProtocolGuide(_) => {
                let content = "# Guide".to_owned();
                Ok(MethodResult::LoadSkillsProtocolGuide(GuideResult { content }))
            }
            MethodCall::ReadBlob(_) => Ok(MethodResult::ReadBlob(ReadBlobResult {
                name: None,
                content: "x".repeat(1 << 20),
                truncated: false,
                kind: "text/plain".to_owned(),
                size_bytes: 1 << 20,
                encoding: Encoding::Utf8,
            })),
            MethodCall::ListSkills(_) => {
                let retry_after = Duration::from_millis(1_000);
                Err(DispatchError::Overloaded { retry_after }.into())
            }
            MethodCall::CreateBlob(_) => {
                let cause = io::Error::other("/var/lib/wardian/blobs: disk\nfull");
                Err(BlobError::Storage { what: "write to", cause }.into())
            }
            MethodCall::RunCode(_) => {
                self.held.lock().push(caller.memory.clone());
                future::pending().await
            }
            other => Err(ParamsError::wrong("name", "something else", other.method()).into()),
        }
    }
}

impl Transfers for Fake {
    fn transfers(&self) -> &BlobTransfers {
        self.transfers.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let config = BlobStoreConfig::at(folder.path().join("blobs"));
            let store = LocalBlobStore::open(config, Clock::System).unwrap();
            *self.folder.lock() = Some(folder);
            BlobTransfers::new(store.into(), 4)
        })
    }
}

impl wardian_service::Publishing for Fake {}

/// It keeps no sessions.
impl SessionCalls for Fake {
    fn sessions(&self) -> &SessionRoom {
        &self.sessions
    }

    async fn create_session(
        &self,
        _: &Caller,
        _: NewSessionOrder,
    ) -> Result<SessionView, ServiceError> {
        Err(ServiceError::NoSessions)
    }

    async fn interrupt_session(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InterruptView, ServiceError> {
        self.sessions.interrupt(caller, id).await
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        Err(ServiceError::NoSessions)
    }
}

impl Runs for Fake {
    fn runs(&self) -> &RunHistory {
        &self.runs
    }
}

impl Status for Fake {
    fn obstacles(&self) -> Vec<String> {
        self.obstacles.clone()
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([("reset", "none".to_owned())])
    }

    fn limit_bounds(&self) -> LimitBounds {
        LimitBounds { timeout: Bounds::between(1, 7_000), ..LimitBounds::ANY }
    }
}

pub(super) fn config() -> HttpConfig {
    HttpConfig::listening_on(([127, 0, 0, 1], 0).into())
}

/// A router whose calls go to `fake`.
pub(crate) fn router_to(fake: Fake, config: &HttpConfig) -> Router {
    let readiness = Readiness::waiting_for("nothing");
    readiness.open(fake);
    router(config, Arc::new(readiness))
}

pub(super) fn post(body: impl Into<Body>) -> Request<Body> {
    Request::post("/rpc")
        .header(header::HOST, "localhost:8080")
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.into())
        .unwrap()
}

pub(super) fn get(path: &str) -> Request<Body> {
    Request::get(path).header(header::HOST, "localhost:8080").body(Body::empty()).unwrap()
}

/// The status and the body of the answer, null if it has no body.
pub(super) async fn send(router: &Router, request: Request<Body>) -> (Response<Body>, Value) {
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let value =
        if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
    (Response::from_parts(parts, Body::empty()), value)
}
