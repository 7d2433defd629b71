//! A server behind a URL: each message is a request of HTTP (streamable HTTP), through `egress`.
//!
//! A session of the protocol begins with the first call. Its server may forget it; then another one begins, and the
//! call is sent again, because it was not executed. One task for each server listens for changes of its tools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::credentials::{CredentialSource, Credentials};
use crate::fault::Fault;
use crate::mcp::asked::{Asked, ChangeMark};
use crate::mcp::events::EventStreamReader;
use crate::mcp::message::{self, Message, agreed_revision, initialize};
use crate::web_client::{AnswerBound, WebAnswer, WebClient};
use wardian_egress::own_request::OwnRequest;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Sessions that are kept: one, or one for each tenant. Beyond that, all begin anew.
const MAX_SESSIONS: usize = 1_024;

/// Longest id of a session, in bytes.
const MAX_SESSION_ID: usize = 256;

/// Largest answer to a message without a result, and to the first request.
const SMALL_ANSWER: ByteCount = ByteCount::kibibytes(64);

/// Bytes of one stream of changes, and of one event in it. The next stream begins behind it.
const MAX_WATCHED: ByteCount = ByteCount::mebibytes(16);
const MAX_WATCHED_EVENT: usize = 64 << 10;

/// How long one stream of changes lasts.
const WATCH_TIME: Duration = Duration::from_hours(1);

/// The pauses between streams of changes.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The server.
#[derive(Debug)]
pub(crate) struct WebServer {
    place: Arc<WebPlace>,
    sessions: Mutex<BTreeMap<Option<TenantId>, Arc<WebSession>>>,
    next: AtomicU64,
}

/// Where the server is, and how it is reached.
#[derive(Debug)]
struct WebPlace {
    client: WebClient,
    url: String,
    headers: CredentialSource,
    change: ChangeMark,
}

/// A session of the protocol.
#[derive(Debug)]
struct WebSession {
    id: Option<String>,
    revision: &'static str,
    /// The task that listens for changes.
    watch: Option<AbortHandle>,
}

impl Drop for WebSession {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

/// What a request carries besides its message.
#[derive(Debug, Clone, Copy)]
struct Sent<'a> {
    tenant: &'a TenantId,
    credentials: &'a Credentials,
    session: Option<(Option<&'a str>, &'static str)>,
    bound: AnswerBound,
}

impl WebServer {
    pub(crate) fn new(client: WebClient, url: String, headers: CredentialSource) -> Self {
        let place = WebPlace { client, url, headers, change: ChangeMark::default() };
        Self { place: Arc::new(place), sessions: Mutex::default(), next: AtomicU64::new(1) }
    }

    pub(crate) fn take_change(&self) -> bool {
        self.place.change.take()
    }

    /// Sends a request, and returns the result.
    pub(crate) async fn ask(&self, asked: Asked<'_>) -> Result<Box<RawValue>, Fault> {
        let credentials = self.place.headers.find(asked.tenant, asked.memory).await?;
        let answered = match Box::pin(self.ask_in_session(&asked, &credentials)).await {
            Err(Fault::SessionLost) => Box::pin(self.ask_in_session(&asked, &credentials)).await,
            answered => answered,
        };
        let answered = answered.map_err(|fault| credentials.cover_fault(fault))?;
        let mut text = String::from(Box::<str>::from(answered));
        credentials.cover(&mut text);
        RawValue::from_string(text)
            .map_err(|_error| Fault::broken("its server shows its credentials"))
    }

    async fn ask_in_session(
        &self,
        asked: &Asked<'_>,
        credentials: &Credentials,
    ) -> Result<Box<RawValue>, Fault> {
        let owner = self.place.headers.owner(asked.tenant);
        let known = self.sessions.lock().get(&owner).map(Arc::clone);
        let session = match known {
            Some(session) => session,
            None => Box::pin(self.begin(asked, credentials, owner.clone())).await?,
        };
        let bound = AnswerBound { size: asked.bound, deadline: asked.deadline };
        let session_of_call = Some((session.id.as_deref(), session.revision));
        let sent = Sent { tenant: asked.tenant, credentials, session: session_of_call, bound };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = message::request(id, asked.method, asked.params)?;
        let answered = Box::pin(self.place.post(&sent, body, id)).await;
        if matches!(answered, Err(Fault::SessionLost)) {
            let mut sessions = self.sessions.lock();
            if sessions.get(&owner).is_some_and(|now| Arc::ptr_eq(now, &session)) {
                drop(sessions.remove(&owner));
            }
        }
        answered.map(|(result, _)| result)
    }

    /// Begins a session.
    async fn begin(
        &self,
        asked: &Asked<'_>,
        credentials: &Credentials,
        owner: Option<TenantId>,
    ) -> Result<Arc<WebSession>, Fault> {
        let bound = AnswerBound { size: SMALL_ANSWER, deadline: asked.deadline };
        let sent = Sent { tenant: asked.tenant, credentials, session: None, bound };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = message::request(id, "initialize", &initialize()?)?;
        let (result, session_id) = Box::pin(self.place.post(&sent, body, id)).await?;
        let revision = agreed_revision(&result)?;
        let none = RawValue::from_string("{}".to_owned()).map_err(|_error| malformed())?;
        let body = message::notification("notifications/initialized", &none)?;
        let begun = Some((session_id.as_deref(), revision));
        let sent = Sent { session: begun, ..sent };
        let mut answer = Box::pin(self.place.send("POST", &sent, body)).await?;
        check_status(&answer, false)?;
        drop(answer.whole().await?);

        // Tenants with credentials of their own see what has changed when their listing is too old.
        let watch = owner.is_none().then(|| {
            let watching = watch(Arc::clone(&self.place), session_id.clone(), revision);
            tokio::spawn(watching).abort_handle()
        });
        let session = Arc::new(WebSession { id: session_id, revision, watch });
        let mut sessions = self.sessions.lock();
        if sessions.len() >= MAX_SESSIONS {
            sessions.clear();
        }
        drop(sessions.insert(owner, Arc::clone(&session)));
        Ok(session)
    }
}

impl WebPlace {
    async fn send(
        &self,
        method: &'static str,
        sent: &Sent<'_>,
        body: String,
    ) -> Result<WebAnswer, Fault> {
        let mut headers = sent.credentials.values.clone();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        if method == "POST" {
            add("content-type", "application/json");
            add("accept", "application/json, text/event-stream");
        } else {
            add("accept", "text/event-stream");
        }
        // What is compressed could be larger than its bound.
        add("accept-encoding", "identity");
        if let Some((id, revision)) = sent.session {
            add("mcp-protocol-version", revision);
            if let Some(id) = id {
                add("mcp-session-id", id);
            }
        }
        let url = self.url.clone();
        let request = OwnRequest { method, url, headers, body: body.into_bytes() };
        self.client.send(sent.tenant, request, sent.bound).await
    }

    /// Sends a request of the protocol, and returns its result with the id of a session that begins with it.
    async fn post(
        &self,
        sent: &Sent<'_>,
        body: String,
        id: u64,
    ) -> Result<(Box<RawValue>, Option<String>), Fault> {
        let mut answer = Box::pin(self.send("POST", sent, body)).await?;
        check_status(&answer, sent.session.is_some_and(|(id, _)| id.is_some()))?;
        let session = session_id(&answer)?;
        let result = match answer.content_type().as_str() {
            "application/json" => {
                let body = answer.whole().await?;
                self.result_in(&body, id)?.ok_or_else(malformed)?
            }
            "text/event-stream" => self.result_in_stream(&mut answer, sent.bound, id).await?,
            _ => return Err(Fault::broken("its server sent neither JSON nor events")),
        };
        Ok((result, session))
    }

    /// Reads events until one has the result.
    async fn result_in_stream(
        &self,
        answer: &mut WebAnswer,
        bound: AnswerBound,
        id: u64,
    ) -> Result<Box<RawValue>, Fault> {
        let mut events = EventStreamReader::new(bound.size.as_usize());
        while let Some(piece) = answer.piece().await? {
            for event in events.feed(&piece)? {
                if event.trim_ascii().is_empty() {
                    continue;
                }
                if let Some(result) = self.result_in(&event, id)? {
                    return Ok(result);
                }
            }
        }
        Err(Fault::broken("its server sent no answer"))
    }

    /// The result in a message; `None` if it is something besides.
    fn result_in(&self, message: &[u8], id: u64) -> Result<Option<Box<RawValue>>, Fault> {
        match message::read(message)? {
            Message::Answer { id: Some(of), outcome } if of == id => {
                Ok(Some(outcome.map_err(Fault::from)?.to_owned()))
            }
            // A request that cannot be read is answered without an id.
            Message::Answer { id: None, outcome: Err(refusal) } => Err(refusal.into()),
            Message::Answer { .. } => Err(Fault::broken("its server answered another request")),
            Message::ListChanged => {
                self.change.set();
                Ok(None)
            }
            Message::Request { .. } | Message::Other => Ok(None),
        }
    }
}

/// Listens for changes as long as the server lets it.
async fn watch(place: Arc<WebPlace>, session: Option<String>, revision: &'static str) {
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = Instant::now();
        match Box::pin(watch_once(&place, session.as_deref(), revision)).await {
            // It has no such stream, or the session is over: listings are used until they are too old.
            Ok(false) | Err(Fault::SessionLost) => return,
            Ok(true) | Err(_) => {}
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Reads one stream to its end. False if the server has none.
async fn watch_once(
    place: &WebPlace,
    session: Option<&str>,
    revision: &'static str,
) -> Result<bool, Fault> {
    let tenant = TenantId::local();
    let credentials = place.headers.find(&tenant, &CallMemory::unlimited()).await?;
    let bound = AnswerBound { size: MAX_WATCHED, deadline: Instant::now() + WATCH_TIME };
    let session = Some((session, revision));
    let sent = Sent { tenant: &tenant, credentials: &credentials, session, bound };
    let mut answer = Box::pin(place.send("GET", &sent, String::new())).await?;
    if answer.status() != 200 || answer.content_type() != "text/event-stream" {
        return Ok(false);
    }
    let mut events = EventStreamReader::new(MAX_WATCHED_EVENT);
    while let Some(piece) = answer.piece().await? {
        for event in events.feed(&piece)? {
            if matches!(message::read(&event), Ok(Message::ListChanged)) {
                place.change.set();
            }
        }
    }
    Ok(true)
}

/// Checks that a server accepted a message.
fn check_status(answer: &WebAnswer, has_session: bool) -> Result<(), Fault> {
    Err(match answer.status() {
        200..=299 => return Ok(()),
        404 if has_session => Fault::SessionLost,
        status @ 300..=399 => {
            Fault::broken(format!("its server answers with a redirect (status {status})"))
        }
        status @ (401 | 403) => {
            Fault::broken(format!("its server refuses the credentials (status {status})"))
        }
        status => Fault::broken(format!("its server answered with status {status}")),
    })
}

/// The id of a session that begins with this answer.
fn session_id(answer: &WebAnswer) -> Result<Option<String>, Fault> {
    let Some(id) = answer.header("mcp-session-id") else { return Ok(None) };
    if id.is_empty() || id.len() > MAX_SESSION_ID || !id.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err(Fault::broken("its server has a session id that no request can carry"));
    }
    Ok(Some(id.to_owned()))
}

fn malformed() -> Fault {
    Fault::broken("its server sent something that is no answer")
}
