//! One connection of a recorded or replayed run.
//!
//! The guest's side is the same in both: a stream that ends in a parser, and responses that are
//! made from the record. Only the other side differs.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::rt::Executor as _;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use crate::error::{NetworkError, errno};
use crate::guest::activity::TaskActivity;
use crate::guest::body::{CutOff, too_large};
use crate::guest::checked_request::Exchange;
use crate::guest::hello::{HELLO, Hello, framed, json_of};
use crate::guest::pipe::GatewayEnd;
use crate::guest::session::{Secured, Session, guest_parser};
use crate::policy::target::Transport;
use crate::scripted::failure::{error_of, failure_of};
use crate::scripted::message::{key_of, recorded, returned};
use crate::scripted::recorder::{NetworkRecorder, full};
use crate::scripted::script::NetworkScript;
use crate::world::metered::Metered;
use crate::world::tasks::TaskScope;
use wardian_formats::provenance::network::{
    NetworkEvent, NetworkExchange, NetworkRequestKey, NetworkResponse,
};
use wardian_vocabulary::framing::ClearStream;
use wardian_vocabulary::ids::Digest;

/// A connection that a guest of such a run started.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub session: Session,
    pub script: Arc<NetworkScript>,
    pub(crate) activity: Arc<TaskActivity>,
    /// Its number in the record.
    pub number: u32,
    /// Why the recorded connection was not made, in a repetition.
    pub refused: Option<NetworkError>,
}

/// A server that was reached, in clear or encrypted.
enum Reached {
    Clear(Metered<TcpStream>),
    Encrypted(Box<Secured>),
}

/// The way to the server of a connection, in a run that is recorded. A server may close it between
/// two requests; then it is made again, because the guest cannot see that.
#[derive(Default)]
struct Line {
    reached: Option<Reached>,
    exchange: Option<(Exchange, TaskScope)>,
    hello: Option<Hello>,
}

impl Conversation {
    /// Runs the connection and ends the guest's stream.
    pub(crate) async fn run(self) {
        let ended = self.converse().await;
        let ended = self.session.counting.failure.take().map_or(ended, Err);
        self.session.pipe.finish(ended);
    }

    async fn converse(&self) -> Result<(), NetworkError> {
        let (_permit, reached) = match &*self.script {
            NetworkScript::Records(recorder) => {
                let (permit, stream) = self.connect(recorder).await?;
                (Some(permit), Some(Reached::Clear(stream)))
            }
            NetworkScript::Replays(_) => (None, None),
        };
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        self.session.pipe.set_connected();
        let mut guest = GatewayEnd(Arc::clone(&self.session.pipe));
        let Some(first) = guest.peek().await else { return Ok(()) };
        let mut line = Line { reached, ..Line::default() };
        let transport = if first == HELLO { Transport::Https } else { Transport::Http };
        if transport == Transport::Https && !self.encrypt(&mut guest, &mut line).await? {
            return Ok(());
        }
        self.serve(guest, transport, line).await;
        Ok(())
    }

    async fn connect(
        &self,
        recorder: &NetworkRecorder,
    ) -> Result<(impl Sized + use<>, Metered<TcpStream>), NetworkError> {
        let _outside = self.activity.outside();
        let session = &self.session;
        let made = match session.permit().await {
            Ok(permit) => session.dial().await.map(|stream| (permit, stream)),
            Err(error) => Err(error),
        };
        recorder.add_outcome(made, |made| NetworkEvent::Connect {
            host: session.destination.host.to_string(),
            port: session.destination.port,
            failure: made.err().map(failure_of),
        })
    }

    /// Answers a request for TLS. False if the connection ends with that.
    async fn encrypt(&self, guest: &mut GatewayEnd, line: &mut Line) -> Result<bool, NetworkError> {
        let json = Hello::read_json(guest).await?;
        let (asked, hello) = (Digest::of(&json), Hello::parse(&json)?);
        let (answer, agreed) = match &*self.script {
            NetworkScript::Replays(player) => {
                player.encrypt(self.number, self.session.destination.host.as_str(), &asked)?
            }
            NetworkScript::Records(recorder) => {
                let _outside = self.activity.outside();
                let shaken = self.shake_hands(&hello, line).await;
                recorder.add_outcome(shaken, |shaken| NetworkEvent::Encrypt {
                    connection: self.number,
                    request_sha256: asked,
                    answer: shaken.ok().map(|(answer, _)| answer.clone()),
                    agreed: shaken.is_ok_and(|(_, agreed)| *agreed),
                    failure: shaken.err().map(failure_of),
                })?
            }
        };
        line.hello = Some(hello);
        self.session.send(guest, &framed(answer.as_bytes())).await?;
        Ok(agreed)
    }

    /// Speaks TLS with the server. Returns the answer for the guest, and whether it was agreed.
    async fn shake_hands(
        &self,
        hello: &Hello,
        line: &mut Line,
    ) -> Result<(String, bool), NetworkError> {
        let text = |frame: &[u8]| String::from_utf8_lossy(json_of(frame)).into_owned();
        self.session.check_encryption()?;
        self.session.check_hello(hello)?;
        let Some(Reached::Clear(stream)) = line.reached.take() else { return Err(broken()) };
        Ok(match self.session.shake_hands(hello, stream).await? {
            Ok(secured) => {
                let answer = text(&secured.agreed);
                line.reached = Some(Reached::Encrypted(Box::new(secured)));
                (answer, true)
            }
            Err(refusal) => (text(&refusal), false),
        })
    }

    /// Answers requests until the guest or a failure ends the connection.
    async fn serve(&self, guest: GatewayEnd, transport: Transport, line: Line) {
        let line = Mutex::new(line);
        let head = self.session.counting.meter.limits().head.as_usize();
        let answer = service_fn(|request| Box::pin(self.answer(request, transport, &line)));
        let guest = TokioIo::new(ClearStream::new(guest));
        // The guest was answered: by status 400, or with the connection's failure.
        drop(guest_parser(head).serve_connection(guest, answer).await);
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        transport: Transport,
        line: &Mutex<Line>,
    ) -> Result<Response<Full<Bytes>>, CutOff> {
        let is_head = request.method() == Method::HEAD;
        let answered = async {
            let (head, body) = request.into_parts();
            let most = self.session.counting.meter.limits().request_body.as_usize();
            let body = Limited::new(body, most).collect().await;
            let body = body.ok().ok_or_else(|| too_large("request"))?.to_bytes();
            let key = key_of(&head, &self.session.destination, transport, &body);
            let exchange = match &*self.script {
                NetworkScript::Replays(player) => player.exchange(self.number, &key)?,
                NetworkScript::Records(recorder) => {
                    let _outside = self.activity.outside();
                    let request = Request::from_parts(head, Either::Right(Full::new(body)));
                    let line = &mut *line.lock().await;
                    self.record(recorder, key, request, (line, transport)).await
                }
            };
            if let Some(failure) = &exchange.failure {
                return Err(error_of(failure));
            }
            exchange.response.map(|response| returned(&response, is_head)).transpose()
        };
        match answered.await {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(CutOff),
            Err(error) => {
                self.session.counting.failure.set(error);
                Err(CutOff)
            }
        }
    }

    /// Sends a request and records how it ended.
    async fn record(
        &self,
        recorder: &NetworkRecorder,
        request: NetworkRequestKey,
        sent: Request<Either<Incoming, Full<Bytes>>>,
        (line, transport): (&mut Line, Transport),
    ) -> NetworkExchange {
        let limit = self.session.counting.meter.limits().request_timeout;
        let sending = Box::pin(self.send(recorder, sent, line, transport));
        let late = |_| Err(NetworkError::timeout("the request took too long"));
        let sent = timeout(limit, sending).await.unwrap_or_else(late);
        if sent.is_err() {
            line.exchange = None;
        }
        let mut exchange =
            NetworkExchange { connection: self.number, request, response: None, failure: None };
        match sent {
            Ok(response) => exchange.response = response,
            Err(error) => exchange.failure = Some(failure_of(&error)),
        }
        let event = |exchange: &NetworkExchange| NetworkEvent::Exchange(Box::new(exchange.clone()));
        if exchange.failure.is_none() && recorder.add(event(&exchange)).is_ok() {
            return exchange;
        }
        if exchange.failure.is_none() {
            exchange.response = None;
            exchange.failure = Some(failure_of(&full()));
        }
        recorder.add_failure(event(&exchange));
        exchange
    }

    /// Sends a request and takes the whole response; none if the server said nothing.
    async fn send(
        &self,
        recorder: &NetworkRecorder,
        mut request: Request<Either<Incoming, Full<Bytes>>>,
        line: &mut Line,
        transport: Transport,
    ) -> Result<Option<NetworkResponse>, NetworkError> {
        let is_head = request.method() == Method::HEAD;
        for value in request.headers_mut().values_mut() {
            if let Some(other) = recorder.cookies.value(value.as_bytes()) {
                let unusable = || {
                    NetworkError::new(errno::EINVAL, "a cookie cannot be represented in a header")
                };
                *value = header::HeaderValue::from_bytes(&other).ok().ok_or_else(unusable)?;
            }
        }
        let exchange = self.line_to_server(line, transport).await?;
        let failure = &self.session.counting.failure;
        let Ok(response) = exchange.answer(request).await else {
            return failure.take().map_or(Ok(None), Err);
        };
        let (head, mut body) = response.into_parts();
        let kind = head.headers.get(header::CONTENT_TYPE);
        if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            return Err(NetworkError::new(errno::EPROTO, NO_EVENTS));
        }
        let mut whole = Vec::new();
        while !body.is_end_stream() {
            match body.frame().await {
                None => break,
                Some(Err(CutOff)) => return Err(failure.take().unwrap_or_else(broken)),
                Some(Ok(frame)) => {
                    whole
                        .extend_from_slice(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
                    if whole.len() > recorder.room() {
                        return Err(full());
                    }
                }
            }
        }
        Ok(Some(recorded(head.status, &head.headers, &whole, is_head, &recorder.cookies)))
    }

    /// The way to the server: as it was left, or a new one.
    async fn line_to_server<'l>(
        &self,
        line: &'l mut Line,
        transport: Transport,
    ) -> Result<&'l Exchange, NetworkError> {
        let is_closed = match &line.exchange {
            Some((exchange, _)) => exchange.upstream.lock().await.is_closed(),
            None => true,
        };
        if is_closed {
            let reached = match line.reached.take() {
                Some(reached) => reached,
                None => self.reach_again(line.hello.as_ref()).await?,
            };
            let tasks = TaskScope::new();
            let server = match reached {
                Reached::Clear(stream) => self.session.in_clear(stream).await?,
                Reached::Encrypted(secured) => self.session.in_tls(*secured, &tasks).await?,
            };
            let driver = server.driver;
            tasks.spawner().execute(async move { drop(driver.await) });
            let exchange = Exchange {
                rules: Arc::clone(&self.session.rules),
                counting: self.session.counting.clone(),
                transport,
                destination: self.session.destination.clone(),
                may_get_secrets: false,
                upstream: Mutex::new(server.upstream),
                deadline: watch::channel(None).0,
            };
            line.exchange = Some((exchange, tasks));
        }
        line.exchange.as_ref().map(|(exchange, _)| exchange).ok_or_else(broken)
    }

    async fn reach_again(&self, hello: Option<&Hello>) -> Result<Reached, NetworkError> {
        let stream = self.session.dial().await?;
        let Some(hello) = hello else { return Ok(Reached::Clear(stream)) };
        let shaken = self.session.shake_hands(hello, stream).await?;
        shaken.ok().map(|secured| Reached::Encrypted(Box::new(secured))).ok_or_else(broken)
    }
}

/// The failure of a response that has no end.
const NO_EVENTS: &str = "a recorded run needs complete responses, and this one \
    (`text/event-stream`) never ends: run it without `--record-network`";

fn broken() -> NetworkError {
    NetworkError::new(errno::ECONNRESET, "Connection reset by peer")
}
