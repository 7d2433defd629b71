//! A connection from its start to its end: names, an address, TLS if the guest asks, requests.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Either;
use hyper::rt::Executor as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep_until, timeout};
use tokio_rustls::client::TlsStream;

use crate::error::{NetworkError, errno};
use crate::guest::checked_request::Exchange;
use crate::guest::hello::{Agreed, HELLO, HandshakeFailure, Hello, failure_frame, frame};
use crate::guest::pipe::{BUFFER, GatewayEnd, Pipe};
use crate::names::KnownNames;
use crate::policy::rules::NetworkRules;
use crate::policy::target::{Destination, Transport};
use crate::recorded::{self, RecordedServer, Recording};
use crate::world::dial::Dialer;
use crate::world::metered::{Counting, Metered};
use crate::world::tasks::TaskScope;
use crate::world::tls::Tls;
use crate::world::upstream::{Driver, MAX_HEADERS, Upstream};
use wardian_vocabulary::framing::ClearStream;
use wardian_vocabulary::quotas::{FairShare, SharePermit};

/// What connections of all runs share.
#[derive(Debug)]
pub struct World {
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) tls: Arc<Tls>,
    pub(crate) permits: FairShare,
    /// Answers all requests, if there is one.
    pub recording: Option<Arc<Recording>>,
}

/// A connection that a guest started.
#[derive(Debug)]
pub struct Session {
    pub(crate) world: Arc<World>,
    pub(crate) rules: Arc<NetworkRules>,
    pub(crate) names: Arc<KnownNames>,
    pub(crate) counting: Counting,
    pub(crate) destination: Destination,
    pub(crate) pipe: Arc<Pipe>,
}

/// A server that requests can be sent to.
pub(crate) struct ReachedServer {
    pub(crate) upstream: Upstream,
    pub(crate) driver: Driver,
    /// False if the program turned the check of the certificate off, and the operator lets it.
    is_known: bool,
}

/// An encrypted connection to a server.
pub(crate) struct Secured {
    stream: TlsStream<Metered<TcpStream>>,
    /// The frame that tells the guest what was agreed upon.
    pub agreed: Vec<u8>,
    is_known: bool,
}

impl Session {
    /// Runs the connection and ends the guest's stream.
    pub async fn run(self) {
        let ended = self.serve().await;
        let ended = self.counting.failure.take().map_or(ended, Err);
        self.pipe.finish(ended);
    }

    async fn serve(&self) -> Result<(), NetworkError> {
        let _permit = self.permit().await?;
        if let Some(recording) = &self.world.recording {
            return self.replay(recording).await;
        }
        let stream = self.dial().await?;
        self.pipe.set_connected();

        let mut guest = GatewayEnd(Arc::clone(&self.pipe));
        let tasks = TaskScope::new();
        let Some(first) = guest.peek().await else { return Ok(()) };
        let (server, transport) = if first == HELLO {
            self.check_encryption()?;
            let Some(server) = self.encrypt(&mut guest, stream, &tasks).await? else {
                return Ok(());
            };
            (server, Transport::Https)
        } else {
            (self.in_clear(stream).await?, Transport::Http)
        };
        self.exchange(guest, server, transport, &tasks).await
    }

    /// Waits until the tenant may have another connection.
    pub(crate) async fn permit(&self) -> Result<SharePermit, NetworkError> {
        let within = self.counting.meter.limits().connect_timeout;
        let tenant = self.counting.meter.tenant();
        let permit = timeout(within, self.world.permits.acquire(tenant)).await;
        let busy = || NetworkError::new(errno::EAGAIN, "the server has no connection left now");
        permit.ok().ok_or_else(busy)
    }

    /// Connects to the server.
    pub(crate) async fn dial(&self) -> Result<Metered<TcpStream>, NetworkError> {
        let within = self.counting.meter.limits().connect_timeout;
        let addresses = self.addresses().await?;
        let (dialer, tenant) = (&self.world.dialer, self.counting.meter.tenant());
        let stream = dialer.connect(tenant, &self.destination, &addresses, within).await?;
        Ok(Metered { stream, counting: self.counting.clone() })
    }

    /// Runs a connection whose requests are answered from a recording.
    async fn replay(&self, recording: &Arc<Recording>) -> Result<(), NetworkError> {
        let limits = *self.counting.meter.limits();
        if !recording.has_host(&self.destination.host) {
            return Err(NetworkError::new(errno::EHOSTUNREACH, "Name or service not known"));
        }
        self.pipe.set_connected();
        let mut guest = GatewayEnd(Arc::clone(&self.pipe));
        let tasks = TaskScope::new();
        let Some(first) = guest.peek().await else { return Ok(()) };
        let transport = if first == HELLO { Transport::Https } else { Transport::Http };
        if transport == Transport::Https {
            self.check_encryption()?;
            let hello = self.hello(&mut guest).await?;
            self.send(&mut guest, &frame(&Agreed::new(&hello, None, None, &[]))).await?;
        }
        let (stream, other_end) = tokio::io::duplex(BUFFER);
        let recorded = RecordedServer {
            recording: Arc::clone(recording),
            destination: self.destination.clone(),
            transport,
            max_head: limits.head.as_usize(),
            max_body: limits.request_body.as_usize(),
            failure: self.counting.failure.clone(),
        };
        tasks.spawner().execute(recorded::serve(other_end, recorded));
        let stream = Metered { stream, counting: self.counting.clone() };
        let server = self.in_clear(stream).await?;
        self.exchange(guest, server, transport, &tasks).await
    }

    pub(crate) fn check_encryption(&self) -> Result<(), NetworkError> {
        self.rules.check_transport(Transport::Https, &self.destination).inspect_err(|_| {
            self.counting.meter.add_refusal(Some(&self.destination.host));
        })
    }

    /// Reads what the guest asks of TLS. The guest must mean the host that it connected to.
    async fn hello(&self, guest: &mut GatewayEnd) -> Result<Hello, NetworkError> {
        let hello = Hello::read(guest).await?;
        self.check_hello(&hello)?;
        Ok(hello)
    }

    pub(crate) fn check_hello(&self, hello: &Hello) -> Result<(), NetworkError> {
        let host = &self.destination.host;
        hello.check_name(host).inspect_err(|_| self.counting.meter.add_refusal(Some(host)))
    }

    async fn addresses(&self) -> Result<Vec<IpAddr>, NetworkError> {
        let meter = &self.counting.meter;
        let found = self.names.resolve(&self.world.dialer, meter, &self.destination.host).await;
        found.inspect_err(|error| {
            if error.errno() == errno::EACCES {
                meter.add_refusal(Some(&self.destination.host));
            }
        })
    }

    pub(crate) async fn in_clear<S>(
        &self,
        stream: Metered<S>,
    ) -> Result<ReachedServer, NetworkError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let head = self.counting.meter.limits().head.as_usize();
        let opened = Upstream::open_http1(stream, head).await;
        let (upstream, driver) = opened.ok().ok_or_else(broken)?;
        Ok(ReachedServer { upstream, driver, is_known: true })
    }

    /// Speaks TLS with the server, and tells the guest how that went. Nothing if it failed.
    async fn encrypt(
        &self,
        guest: &mut GatewayEnd,
        stream: Metered<TcpStream>,
        tasks: &TaskScope,
    ) -> Result<Option<ReachedServer>, NetworkError> {
        let hello = self.hello(guest).await?;
        let mut secured = match self.shake_hands(&hello, stream).await? {
            Ok(secured) => secured,
            Err(refusal) => {
                self.send(guest, &refusal).await?;
                return Ok(None);
            }
        };
        let agreed = std::mem::take(&mut secured.agreed);
        let server = self.in_tls(secured, tasks).await?;
        self.send(guest, &agreed).await?;
        Ok(Some(server))
    }

    /// Speaks TLS with the server. The inner error is the frame that tells the guest of a refusal.
    pub(crate) async fn shake_hands(
        &self,
        hello: &Hello,
        stream: Metered<TcpStream>,
    ) -> Result<Result<Secured, Vec<u8>>, NetworkError> {
        let limits = self.counting.meter.limits();
        let host = &self.destination.host;
        let demand = hello.demand()?;
        let connecting = self.world.tls.connect(stream, host, &demand);
        let late = || NetworkError::timeout("the TLS handshake took too long");
        let connected = timeout(limits.connect_timeout, connecting).await.ok().ok_or_else(late)?;
        let stream = match connected {
            Ok(stream) => stream,
            Err(error) => {
                let failure = HandshakeFailure::new(&error, host, demand.is_verified);
                return Ok(Err(failure_frame(failure)));
            }
        };
        let (_, session) = stream.get_ref();
        let certificates = session.peer_certificates().unwrap_or_default();
        let certificate = certificates.first().map(AsRef::as_ref).unwrap_or_default();
        let cipher = session.negotiated_cipher_suite();
        let agreed = frame(&Agreed::new(hello, session.protocol_version(), cipher, certificate));
        let is_known = self.world.tls.checks_certificates(&demand);
        Ok(Ok(Secured { stream, agreed, is_known }))
    }

    /// Speaks HTTP on an encrypted connection.
    pub(crate) async fn in_tls(
        &self,
        secured: Secured,
        tasks: &TaskScope,
    ) -> Result<ReachedServer, NetworkError> {
        let Secured { stream, is_known, .. } = secured;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let head = self.counting.meter.limits().head.as_usize();
        let opened = match is_http2 {
            true => Upstream::open_http2(stream, head, tasks.spawner()).await,
            false => Upstream::open_http1(stream, head).await,
        };
        let (upstream, driver) = opened.ok().ok_or_else(broken)?;
        Ok(ReachedServer { upstream, driver, is_known })
    }

    pub(crate) async fn send(
        &self,
        guest: &mut GatewayEnd,
        bytes: &[u8],
    ) -> Result<(), NetworkError> {
        guest.write_all(bytes).await.ok().ok_or_else(broken)
    }

    /// Answers requests until the guest, the server or a failure ends the connection.
    async fn exchange(
        &self,
        guest: GatewayEnd,
        server: ReachedServer,
        transport: Transport,
        tasks: &TaskScope,
    ) -> Result<(), NetworkError> {
        let (deadline, mut expires) = watch::channel(None);
        let (gone, mut is_gone) = oneshot::channel::<()>();
        let driver = server.driver;
        tasks.spawner().execute(async move {
            // The requests of the connection report what goes wrong.
            drop(driver.await);
            drop(gone);
        });
        let exchange = Arc::new(Exchange {
            rules: Arc::clone(&self.rules),
            counting: self.counting.clone(),
            transport,
            destination: self.destination.clone(),
            may_get_secrets: server.is_known,
            upstream: tokio::sync::Mutex::new(server.upstream),
            deadline,
        });
        let head = self.counting.meter.limits().head.as_usize();
        let answer = service_fn(move |request| {
            let exchange = Arc::clone(&exchange);
            async move { exchange.answer(request.map(Either::Left)).await }
        });
        let guest = TokioIo::new(ClearStream::new(guest));
        let mut connection = pin!(guest_parser(head).serve_connection(guest, answer));
        let mut server_is_gone = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => return match ended {
                    // What came of the response is not all of it.
                    Err(error) if error.is_body_write_aborted() => Err(broken()),
                    // The guest was answered: by status 400, or with the connection's failure.
                    Ok(()) | Err(_) => Ok(()),
                },
                _ = &mut is_gone, if !server_is_gone => {
                    server_is_gone = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = expired(&mut expires) => {
                    return Err(NetworkError::timeout("the request took too long"));
                }
            }
        }
    }
}

fn broken() -> NetworkError {
    NetworkError::new(errno::ECONNRESET, "Connection reset by peer")
}

/// The parser of what a guest writes.
pub(crate) fn guest_parser(head: usize) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
        .max_buf_size(head);
    builder
}

/// Waits until the present request has used up its time.
async fn expired(deadline: &mut watch::Receiver<Option<Instant>>) {
    loop {
        let until = *deadline.borrow_and_update();
        let changed = deadline.changed();
        match until {
            Some(until) => {
                tokio::select! {
                    () = sleep_until(until.into()) => return,
                    changed = changed => if changed.is_err() { return std::future::pending().await },
                }
            }
            None if changed.await.is_err() => return std::future::pending().await,
            None => {}
        }
    }
}
