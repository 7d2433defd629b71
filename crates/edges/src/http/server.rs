//! The server's socket: accepts connections, limits them, and closes them.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{future, io};

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tower::Service as _;
use tracing::{debug, info, warn};

use crate::http::admin::{admin_config, admin_router};
use crate::http::config::HttpConfig;
use crate::http::connection::limit::{AddressBlock, ConnectionLimit, ConnectionPermit};
use crate::http::connection::phased_body::PhasedBody;
use crate::http::connection::repoll::Repoll;
use crate::http::connection::timeouts::{ConnectionPhase, TimedStream};
use crate::http::connection::write_timeouts::TimedWrites;
use crate::http::edge::Observers;
use crate::http::metrics::RequestMemory;
use crate::http::router::{router_within, shared_state};
use crate::http::shutdown::Stage;
use crate::http::tls::{TlsEndpoint, TlsError};
use crate::net::audited::PeerAddress;
use crate::net::readiness::Readiness;
use crate::net::state::EdgeState;
use wardian_service::{
    ActiveRuns, Authentication, Methods, Publishing, Runs, SessionCalls, Status, Transfers,
};
use wardian_stores::audit::AuditLog;
use wardian_telemetry::traces::Tracer;
use wardian_telemetry::{Metrics, OpenConnection};
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::framing::ClearStream;

/// Maximum number of bytes of a request line and its headers.
const MAX_HEADER: usize = 16 << 10;

/// Size of the read buffer of one connection, in bytes.
const READ_AHEAD: usize = 64 << 10;

/// The pause before the next attempt when the machine has run out of a resource.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The interval of naming connections that were closed because of others of their address.
const REFUSALS_INTERVAL: Duration = Duration::from_secs(10);

/// The time for writing the answers of calls that were aborted.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Errors of starting the server. Shown to the operator.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The setting that names it.
        setting: &'static str,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A server that listens and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    config: LiveHttpConfig,
    tls: Option<Arc<TlsEndpoint>>,
    budget: Arc<MemoryBudget>,
    authentication: Authentication,
    audit: AuditLog,
    metrics: Arc<Metrics>,
    tracer: Tracer,
    pages: Router,
}

/// The settings of a server, of which some can change while it serves: the time-outs of
/// connections, and the limit for each address. Connections keep those that they began with.
#[derive(Debug, Clone)]
pub struct LiveHttpConfig(watch::Sender<Arc<HttpConfig>>);

impl LiveHttpConfig {
    /// Replaces the settings for new connections.
    pub fn replace(&self, config: HttpConfig) {
        self.0.send_replace(Arc::new(config));
    }

    /// The current settings.
    #[must_use]
    pub fn current(&self) -> Arc<HttpConfig> {
        Arc::clone(&self.0.borrow())
    }
}

/// The parts that all connections share.
struct ConnectionParts {
    config: LiveHttpConfig,
    tls: Option<Arc<TlsEndpoint>>,
    router: Router,
    connections: GracefulShutdown,
    stop: watch::Receiver<Stage>,
    /// The metrics in which connections are counted; `None` for those of operators.
    metrics: Option<Arc<Metrics>>,
}

impl Server {
    /// Reads the certificate, if there is one, and starts to listen. Connections wait until the
    /// server serves.
    ///
    /// # Errors
    ///
    /// The certificate cannot be used, or the address cannot be listened on.
    pub async fn bind(config: HttpConfig) -> Result<Self, HttpError> {
        Self::bind_for("listen", config).await
    }

    async fn bind_for(setting: &'static str, config: HttpConfig) -> Result<Self, HttpError> {
        let address = config.listen;
        let tls = config.tls.as_ref().map(TlsEndpoint::load).transpose()?.map(Arc::new);
        let failed = |cause| HttpError::Listen { address, setting, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let budget = MemoryBudget::new(config.memory);
        let config = LiveHttpConfig(watch::Sender::new(Arc::new(config)));
        let authentication = Authentication::Open;
        let metrics = Metrics::new();
        metrics.add(RequestMemory(Arc::clone(&budget)));
        let (audit, tracer) = (AuditLog::default(), Tracer::default());
        let pages = Router::new();
        Ok(Self {
            listener,
            address,
            config,
            tls,
            budget,
            authentication,
            audit,
            metrics,
            tracer,
            pages,
        })
    }

    /// Starts to listen on the address for operators. Nothing is encrypted there.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub async fn bind_admin(&self, listen: SocketAddr) -> Result<Self, HttpError> {
        let admin =
            Self::bind_for("admin_listen", admin_config(listen, &self.config.current())).await?;
        Ok(Self { metrics: Arc::clone(&self.metrics), ..admin })
    }

    /// Serves metrics and health until the future is dropped.
    pub async fn serve_admin<M: Methods + Status>(
        self,
        readiness: Arc<Readiness<M>>,
        stop: watch::Receiver<Stage>,
    ) {
        let shared = ConnectionParts {
            router: admin_router(&self.config.current(), readiness, self.metrics),
            config: self.config,
            tls: None,
            connections: GracefulShutdown::new(),
            stop,
            metrics: None,
        };
        accept_all(&self.listener, &shared).await;
    }

    /// The budget for requests, their results and their answers.
    #[must_use]
    pub const fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// The address that the server listens on, with the port that the system chose for port 0.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets in callers that are known in this way. Without it every caller is the local user.
    #[must_use]
    pub fn with_authentication(self, authentication: Authentication) -> Self {
        Self { authentication, ..self }
    }

    /// Notes the use of keys, and refusals, in this log.
    #[must_use]
    pub fn with_audit(self, audit: AuditLog) -> Self {
        Self { audit, ..self }
    }

    /// Records spans of requests with this tracer.
    #[must_use]
    pub fn with_traces(self, tracer: Tracer) -> Self {
        Self { tracer, ..self }
    }

    /// Serves these pages to everybody, below `/console`.
    #[must_use]
    pub fn with_pages(self, pages: Router) -> Self {
        Self { pages, ..self }
    }

    /// The settings, some of which can change while the server serves.
    #[must_use]
    pub const fn live_config(&self) -> &LiveHttpConfig {
        &self.config
    }

    /// What is counted and measured.
    #[must_use]
    pub const fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The certificate; `None` if connections are not encrypted.
    #[must_use]
    pub const fn tls(&self) -> Option<&Arc<TlsEndpoint>> {
        self.tls.as_ref()
    }

    /// Serves until `stop` changes, then gives requests in progress the configured time to finish.
    /// Dropping the future leaves open connections to their tasks.
    pub async fn serve<M: Methods + Status + Transfers + Runs + Publishing + SessionCalls>(
        self,
        readiness: Arc<Readiness<M>>,
        stop: watch::Receiver<Stage>,
    ) {
        self.serve_with(readiness, stop, |_state| Router::new()).await;
    }

    /// As [`Self::serve`], with the routes of further edges, which share the state of requests. Their
    /// callers are known, and their hosts are checked, as those of all routes.
    pub async fn serve_with<M: Methods + Status + Transfers + Runs + Publishing + SessionCalls>(
        self,
        readiness: Arc<Readiness<M>>,
        mut stop: watch::Receiver<Stage>,
        further: impl FnOnce(&Arc<EdgeState<M>>) -> Router,
    ) {
        let config = self.config.current();
        let (audit, metrics) = (self.audit, Arc::clone(&self.metrics));
        let observers = Observers { audit, metrics };
        let (budget, authentication) = (self.budget, self.authentication);
        let state =
            shared_state(&config, Arc::clone(&readiness), budget, authentication, &observers);
        let others = self.pages.merge(further(&state));
        let shared = ConnectionParts {
            router: router_within(&config, state, self.tracer, others),
            config: self.config,
            tls: self.tls,
            connections: GracefulShutdown::new(),
            stop: stop.clone(),
            metrics: Some(self.metrics),
        };
        tokio::select! {
            biased;
            () = reaches(&mut stop, Stage::Drain) => {}
            () = accept_all(&self.listener, &shared) => {}
        }
        drop(self.listener);
        readiness.drain();
        let ConnectionParts { config, connections, .. } = shared;
        info!(connections = connections.count(), "finishing requests in progress");
        let detached = readiness.methods().map(|methods| methods.runs().active());
        if let Some(runs) = detached {
            runs.close_to_detached();
        }
        if let Some(count) = detached.map(ActiveRuns::detached).filter(|count| *count > 0) {
            info!(count, "{count} background runs continue for a while");
        }
        let mut finished = pin!(async {
            let ended = async {
                if let Some(runs) = detached {
                    runs.detached_ended().await;
                }
            };
            tokio::join!(connections.shutdown(), ended)
        });
        let patience = config.current().drain_timeout;
        tokio::select! {
            biased;
            _ended = &mut finished => return,
            () = reaches(&mut stop, Stage::Abort) => {}
            () = sleep(patience) => warn!("stopping requests that are still in progress"),
        }
        readiness.close();
        detached.into_iter().for_each(ActiveRuns::interrupt_detached);
        if timeout(FINAL_WRITE_TIMEOUT, finished).await.is_err() {
            warn!("some clients did not read their answers");
        }
    }
}

async fn reaches(stop: &mut watch::Receiver<Stage>, stage: Stage) {
    if stop.wait_for(|now| *now >= stage).await.is_err() {
        // The sender was dropped, so no further stage will come.
        future::pending::<()>().await;
    }
}

/// Accepts connections forever, within the limits on connections.
async fn accept_all(listener: &TcpListener, shared: &ConnectionParts) {
    let limit = ConnectionLimit::new(shared.config.current().max_connections);
    let mut refused = RefusedConnections::default();
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                let config = shared.config.current();
                let address = AddressBlock::of(client.ip());
                let most = config.connections_of(client.ip().to_canonical());
                if most.is_some_and(|most| !limit.make_room_within(address, most)) {
                    refused.note(client.ip());
                    continue;
                }
                let phase = limit.new_phase();
                let Some(permit) = limit.admit(address, phase.clone()).await else { return };
                let counted = shared.metrics.as_ref().map(Metrics::open_connection);
                let address = PeerAddress(client.ip().to_canonical());
                let admitted = Admitted { phase, permit, address, counted };
                serve_connection(stream, admitted, config, shared);
            }
            Err(fault) => {
                // After a client's disconnect the next accept can succeed at once. After other
                // errors, such as a full descriptor table, it would fail again.
                let is_clients = matches!(
                    fault.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
                );
                if !is_clients {
                    warn!("cannot accept a connection: {fault}");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Connections that were closed because all others of their address were busy. The log names them
/// now and then: a client can open thousands in a second.
#[derive(Debug, Default)]
struct RefusedConnections {
    count: u64,
    told: Option<Instant>,
}

impl RefusedConnections {
    fn note(&mut self, address: IpAddr) {
        self.count = self.count.saturating_add(1);
        if self.told.is_some_and(|told| told.elapsed() < REFUSALS_INTERVAL) {
            return;
        }
        let Self { count, .. } =
            std::mem::replace(self, Self { count: 0, told: Some(Instant::now()) });
        warn!(
            count,
            "{count} connections were closed, the last one of {address}: their addresses have \
            reached `http.max_connections_per_address` with busy connections"
        );
    }
}

/// A connection within the limits.
struct Admitted {
    phase: ConnectionPhase,
    permit: ConnectionPermit,
    address: PeerAddress,
    /// Counts the connection among those that are open.
    counted: Option<OpenConnection>,
}

fn serve_connection(
    stream: TcpStream,
    admitted: Admitted,
    config: Arc<HttpConfig>,
    shared: &ConnectionParts,
) {
    if let Err(fault) = stream.set_nodelay(true) {
        debug!("a connection was lost: {fault}");
        return;
    }
    let stream = TimedWrites::new(stream, &config);
    let (router, watcher) = (shared.router.clone(), shared.connections.watcher());
    let Some(tls) = &shared.tls else {
        tokio::spawn(Repoll::new(serve_stream(stream, admitted, config, router, watcher)));
        return;
    };
    let (tls, mut stop) = (Arc::clone(tls), shared.stop.clone());
    tokio::spawn(async move {
        let shaken = tokio::select! {
            biased;
            () = reaches(&mut stop, Stage::Drain) => return,
            () = admitted.permit.revoked() => {
                debug!("a connection had to make room for another");
                return;
            }
            shaken = timeout(config.handshake_timeout, tls.accept(stream)) => shaken,
        };
        match shaken {
            Ok(Ok(stream)) => {
                // The client has used up no time for headers yet.
                Repoll::new(serve_stream(stream, admitted, config, router, watcher)).await;
            }
            Ok(Err(fault)) => debug!("a TLS handshake failed: {fault}"),
            Err(_elapsed) => debug!("a TLS handshake timed out"),
        }
    });
}

/// Serves the requests of one connection, one after the other.
async fn serve_stream<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    Admitted { phase, permit, address, counted: _counted }: Admitted,
    config: Arc<HttpConfig>,
    router: Router,
    watcher: Watcher,
) {
    let stream = TokioIo::new(TimedStream::new(ClearStream::new(stream), phase.clone(), &config));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        phase.begin_request();
        let phase = phase.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(address);
        let answered = router.clone().call(request);
        async move {
            let answer = answered.await.map_err(|never: Infallible| never)?;
            Ok::<_, Infallible>(answer.map(|body| PhasedBody::new(body, phase)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(config.idle_timeout.saturating_add(config.header_timeout))
        .max_header_size(MAX_HEADER)
        .max_buf_size(READ_AHEAD)
        .half_close(false)
        .serve_connection(stream, service);
    tokio::select! {
        biased;
        ended = watcher.watch(connection) => {
            if let Err(fault) = ended {
                debug!("a connection ended: {fault}");
            }
        }
        () = permit.revoked() => debug!("a connection had to make room for another"),
    }
}
