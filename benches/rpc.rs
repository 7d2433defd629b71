//! What a JSON-RPC request costs without the run: its way through the router, checks and answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use criterion::{Criterion, Throughput};
use http_body_util::BodyExt as _;
use serde_json::json;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;
use wardian_edges::http::{HttpConfig, Readiness, router};
use wardian_formats::protocol::methods::execution::{RunResult, RunStatus};
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_service::{
    BlobTransfers, Caller, InterruptView, LogListener, Methods, NewSessionOrder, Publishing,
    RunHistory, Runs, ServiceError, SessionCalls, SessionFiles, SessionRoom, SessionView, Status,
    Transfers,
};
use wardian_stores::blobs::{BlobStoreConfig, LocalBlobStore};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Methods that have every run done already, and an empty store of blobs.
struct Done(BlobTransfers, RunHistory, SessionRoom);

impl Transfers for Done {
    fn transfers(&self) -> &BlobTransfers {
        &self.0
    }
}

impl Runs for Done {
    fn runs(&self) -> &RunHistory {
        &self.1
    }
}

impl Methods for Done {
    async fn call_listening(
        &self,
        _: &Caller,
        _: MethodCall,
        _: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        Ok(MethodResult::Run(Box::new(RunResult {
            status: RunStatus::Completed,
            run_id: RunId::generate(),
            summary: "Completed in 1 ms.".to_owned(),
            output: None,
            converted: Vec::new(),
            converted_total: None,
            output_blobs: Vec::new(),
            files: Vec::new(),
            files_total: None,
            exit_code: None,
            stdout: None,
            stderr: None,
            logs_preview: String::new(),
            error: None,
            logs_truncated: false,
            output_truncated: false,
            duration_ms: 1,
            memory_peak_bytes: 1 << 20,
            fuel: None,
            cached: false,
            display: Vec::new(),
            requests: Vec::new(),
            session: None,
        })))
    }

    fn count_call(&self, _: &TenantId) -> Result<(), ServiceError> {
        Ok(())
    }
}

impl Publishing for Done {}

/// It keeps no sessions.
impl SessionCalls for Done {
    fn sessions(&self) -> &SessionRoom {
        &self.2
    }

    async fn create_session(
        &self,
        _: &Caller,
        _: NewSessionOrder,
    ) -> Result<SessionView, ServiceError> {
        Err(ServiceError::NoSessions)
    }

    async fn interrupt_session(&self, _: &Caller, _: &str) -> Result<InterruptView, ServiceError> {
        Err(ServiceError::NoSessions)
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        Err(ServiceError::NoSessions)
    }
}

impl Status for Done {
    fn obstacles(&self) -> Vec<String> {
        Vec::new()
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::new()
    }

    fn limit_bounds(&self) -> LimitBounds {
        LimitBounds::ANY
    }
}

fn main() -> Result<()> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let readiness = Arc::new(Readiness::waiting_for("nothing"));
    let folder = tempfile::tempdir()?;
    let store =
        LocalBlobStore::open(BlobStoreConfig::at(folder.path().join("blobs")), Clock::System)?;
    readiness.open(Done(
        BlobTransfers::new(store.into(), 1),
        RunHistory::default(),
        SessionRoom::default(),
    ));
    let config = HttpConfig::listening_on(([127, 0, 0, 1], 8080).into());
    let router = router(&config, readiness);
    let call = |bytes: usize| {
        let code = format!("def main(args):\n    return None\n#{}\n", "x".repeat(bytes));
        let params = json!({"language": "python", "code": code, "args": {"rows": [1, 2, 3]}});
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params})
    };
    let batch = vec![call(0); 32];
    let requests = [
        ("run_code", call(0).to_string()),
        ("run_code with 512 KiB", call(512 << 10).to_string()),
        ("batch of 32", json!(batch).to_string()),
        ("refused", call(0).to_string().replace("language", "langauge")),
    ];
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("rpc");
    for (name, body) in &requests {
        let answer = threads.block_on(send(&router, body))?;
        let is_done = String::from_utf8_lossy(&answer).contains(r#""status":"completed""#);
        ensure!(is_done == (*name != "refused"), "{name} was answered otherwise");
        group.throughput(Throughput::Bytes(u64::try_from(body.len())?));
        group.bench_function(*name, |bencher| bencher.iter(|| exchange(&threads, &router, body)));
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}

fn exchange(threads: &Runtime, router: &Router, body: &str) -> Result<Vec<u8>> {
    threads.block_on(send(router, body))
}

async fn send(router: &Router, body: &str) -> Result<Vec<u8>> {
    let request = Request::post("/rpc")
        .header(header::HOST, "127.0.0.1:8080")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_owned()))?;
    let answer = router.clone().oneshot(request).await?;
    Ok(answer.into_body().collect().await?.to_bytes().into())
}
