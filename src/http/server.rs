//! The server's socket: accepts connections, limits them, and closes them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::{future, io};

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tower::Service as _;
use tracing::{debug, info, warn};

use crate::budget::MemoryBudget;
use crate::framing::ClearStream;
use crate::http::config::HttpConfig;
use crate::http::connection::limit::{ConnectionLimit, ConnectionPermit};
use crate::http::connection::phased_body::PhasedBody;
use crate::http::connection::repoll::Repoll;
use crate::http::connection::timeouts::{ConnectionPhase, TimedStream};
use crate::http::readiness::Readiness;
use crate::http::router::router_within;
use crate::http::shutdown::Stage;
use crate::service::{Authentication, Methods, Status, Transfers};

/// Most bytes of a request line and its headers.
const MAX_HEADER: usize = 16 << 10;

/// Size of the read buffer of one connection, in bytes.
const READ_AHEAD: usize = 64 << 10;

/// The pause before the next attempt when the machine has run out of a resource.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The time for writing the answers of calls that were aborted.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Errors of starting the server. Shown to the operator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        #[source]
        cause: io::Error,
    },
}

/// A server that listens and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    config: HttpConfig,
    budget: Arc<MemoryBudget>,
    authentication: Authentication,
}

impl Server {
    /// Starts to listen, for callers that are known in this way. Connections wait until the server
    /// serves.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub async fn bind(
        config: HttpConfig,
        authentication: Authentication,
    ) -> Result<Self, HttpError> {
        let address = config.listen;
        let failed = |cause| HttpError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let budget = MemoryBudget::new(config.memory);
        Ok(Self { listener, address, config, budget, authentication })
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

    /// Serves until `stop` changes, then gives requests in progress the configured time to finish.
    /// Dropping the future leaves open connections to their tasks.
    pub async fn serve<M: Methods + Status + Transfers>(
        self,
        readiness: Arc<Readiness<M>>,
        mut stop: watch::Receiver<Stage>,
    ) {
        let config = Arc::new(self.config);
        let connections = GracefulShutdown::new();
        let router =
            router_within(&config, Arc::clone(&readiness), self.budget, self.authentication);
        let accepting = accept_all(&self.listener, &config, &router, &connections);
        tokio::select! {
            biased;
            () = reaches(&mut stop, Stage::Drain) => {}
            () = accepting => {}
        }
        drop(self.listener);
        readiness.drain();
        info!(connections = connections.count(), "finishing requests in progress");
        let mut finished = pin!(connections.shutdown());
        tokio::select! {
            biased;
            () = &mut finished => return,
            () = reaches(&mut stop, Stage::Abort) => {}
            () = sleep(config.drain_timeout) => warn!("ending requests that are still in progress"),
        }
        readiness.close();
        if timeout(FINAL_WRITE_TIMEOUT, finished).await.is_err() {
            warn!("some clients did not take their answers");
        }
    }
}

async fn reaches(stop: &mut watch::Receiver<Stage>, stage: Stage) {
    if stop.wait_for(|now| *now >= stage).await.is_err() {
        // The sender was dropped, so no further stage will come.
        future::pending::<()>().await;
    }
}

/// Accepts connections forever, within the connection limit.
async fn accept_all(
    listener: &TcpListener,
    config: &Arc<HttpConfig>,
    router: &Router,
    connections: &GracefulShutdown,
) {
    let limit = ConnectionLimit::new(config.max_connections);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let phase = limit.new_phase();
                let Some(permit) = limit.admit(phase.clone()).await else { return };
                serve_connection(stream, (phase, permit), config, router, connections);
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

fn serve_connection(
    stream: TcpStream,
    (phase, permit): (ConnectionPhase, ConnectionPermit),
    config: &HttpConfig,
    router: &Router,
    connections: &GracefulShutdown,
) {
    if let Err(fault) = stream.set_nodelay(true) {
        debug!("a connection is gone: {fault}");
        return;
    }
    let stream = TokioIo::new(TimedStream::new(ClearStream::new(stream), phase.clone(), config));
    let router = router.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        phase.begin_request();
        let phase = phase.clone();
        let answered = router.clone().call(request.map(Body::new));
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
    let connection = connections.watch(connection);
    tokio::spawn(Repoll::new(async move {
        tokio::select! {
            biased;
            ended = connection => {
                if let Err(fault) = ended {
                    debug!("a connection ended: {fault}");
                }
            }
            () = permit.revoked() => debug!("a connection had to make room for another"),
        }
    }));
}
