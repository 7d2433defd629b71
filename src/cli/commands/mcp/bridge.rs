//! Hands messages of the standard input to a server, and its answers to the standard output.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use ureq::http::Response;
use ureq::{Agent, Body};
use zeroize::Zeroizing;

use crate::cli::commands::blobs::read_key;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_edges::mcp::{
    BridgedMessage, LineFault, addressed, chosen_revision, read_line, refusal,
};
use wardian_vocabulary::client_tls::system_tls;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::units::ByteCount;

/// The time for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// Largest answer, or event of an answer, in bytes.
const MAX_ANSWER: u64 = 64 << 20;

/// Most requests that wait for their answers at one time. A further message waits.
const MOST: usize = 64;

/// The revision that is assumed until a message or an answer names one.
const OLDEST: &str = "2025-03-26";

/// A bridge to a server.
#[derive(Debug)]
pub(crate) struct Bridge {
    shared: Arc<BridgeParts>,
    largest: ByteCount,
}

/// What the threads of the bridge share.
#[derive(Debug)]
struct BridgeParts {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    /// Keeps the requests of this bridge apart from those of others with its key.
    session: String,
    /// The revision that the server has chosen.
    revision: Mutex<Option<String>>,
    /// The ids of requests that were given up, as JSON.
    given_up: Mutex<BTreeSet<String>>,
    in_flight: Mutex<usize>,
    is_less: Condvar,
}

impl Bridge {
    /// A bridge to the server at `url`.
    pub(crate) fn to(
        url: &str,
        key_file: Option<&Path>,
        api_key: Option<&str>,
        largest: ByteCount,
    ) -> Result<Self, Failed> {
        let url = url.trim_end_matches('/');
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Failed::usage("`--server` must be a URL such as `http://127.0.0.1:8080`"));
        }
        let url = if url.ends_with("/mcp") { url.to_owned() } else { format!("{url}/mcp") };
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("wardian/", env!("CARGO_PKG_VERSION")));
        if url.starts_with("https://") {
            config = config.tls_config(system_tls());
        }
        let key = match key_file {
            Some(file) => Some(read_key(file)?),
            None => api_key.map(|key| Zeroizing::new(key.to_owned())),
        };
        let authorization = key.map(|key| format!("Bearer {}", key.as_str()));
        let shared = BridgeParts {
            agent: config.build().into(),
            url,
            authorization,
            session: uuid::Uuid::now_v7().simple().to_string(),
            revision: Mutex::new(None),
            given_up: Mutex::new(BTreeSet::new()),
            in_flight: Mutex::new(0),
            is_less: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared), largest })
    }

    /// Hands messages on until the end of the input, and then waits for the answers.
    pub(crate) fn serve(self) -> Result<Exit, Failed> {
        let mut input = BufReader::new(io::stdin());
        loop {
            let line = match read_line(&mut input, self.largest) {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(fault @ LineFault::Broken(_)) => {
                    return Err(Failed::at("read messages", &fault));
                }
                Err(fault) => {
                    say(&refusal("null", ErrorKind::TooLarge, &fault.to_string()));
                    continue;
                }
            };
            match BridgedMessage::read(&line) {
                Ok(message) => self.hand_on(line, message)?,
                Err(answer) => say(&answer),
            }
        }
        self.shared.wait_until(|in_flight| in_flight == 0);
        Ok(Exit::Done)
    }

    /// Hands a message on. The first request is answered before anything else is read, because its
    /// answer names the revision of all that follow.
    fn hand_on(&self, line: Vec<u8>, message: BridgedMessage) -> Result<(), Failed> {
        if let Some(id) = &message.gives_up {
            self.shared.given_up.lock().insert(id.clone());
        }
        if message.id.is_none() || message.is_first {
            self.shared.exchange(&line, &message);
            return Ok(());
        }
        self.shared.wait_until(|in_flight| in_flight < MOST);
        let shared = Arc::clone(&self.shared);
        *shared.in_flight.lock() += 1;
        let exchange = move || {
            shared.exchange(&line, &message);
            *shared.in_flight.lock() -= 1;
            shared.is_less.notify_all();
        };
        let started = thread::Builder::new().name("mcp-request".to_owned()).spawn(exchange);
        started.map(drop).map_err(|fault| Failed::at("start a thread", &fault))
    }
}

impl BridgeParts {
    fn wait_until(&self, is_enough: impl Fn(usize) -> bool) {
        let mut in_flight = self.in_flight.lock();
        while !is_enough(*in_flight) {
            self.is_less.wait(&mut in_flight);
        }
    }

    /// Sends a message, and writes what comes back.
    fn exchange(&self, line: &[u8], message: &BridgedMessage) {
        let answered = self.send(line, message).and_then(|answer| self.pass_back(answer, message));
        let Err(why) = answered else { return };
        match &message.id {
            Some(id) => say(&refusal(id, ErrorKind::Internal, &why)),
            None => note(&format!("warning: {why}")),
        }
    }

    fn send(&self, line: &[u8], message: &BridgedMessage) -> Result<Response<Body>, String> {
        let chosen = self.revision.lock().clone();
        let revision = message.revision.clone().or(chosen);
        let mut request = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", &self.session)
            .header("mcp-protocol-version", revision.as_deref().unwrap_or(OLDEST));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in &message.headers {
            request = request.header(*name, value);
        }
        request.send(line).map_err(|fault| format!("the server cannot be reached: {fault}"))
    }

    fn pass_back(&self, answer: Response<Body>, message: &BridgedMessage) -> Result<(), String> {
        let status = answer.status().as_u16();
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let mut body = answer.into_body();
        if kind.starts_with("text/event-stream") {
            return self.pass_events(&mut BufReader::new(body.as_reader()), message);
        }
        let text = body.with_config().limit(MAX_ANSWER).read_to_string();
        let text = text.map_err(|fault| format!("the answer cannot be read: {fault}"))?;
        if status == 401 {
            note(
                "warning: the server refuses the key: set it with `--key-file` or \
                WARDIAN_API_KEY",
            );
        }
        if kind.starts_with("application/json") {
            self.pass(&text, message);
            return Ok(());
        }
        match (status, &message.id) {
            (200..300, None) => Ok(()),
            _ => Err(format!("the server responded with status {status}: {}", text.trim())),
        }
    }

    /// Passes the messages of a stream of events back as they come.
    fn pass_events(
        &self,
        events: &mut impl BufRead,
        message: &BridgedMessage,
    ) -> Result<(), String> {
        loop {
            match read_line(events, ByteCount::bytes(MAX_ANSWER)) {
                Ok(Some(line)) => {
                    let text = String::from_utf8_lossy(&line);
                    let data = text.trim_end().strip_prefix("data:").map(str::trim_start);
                    data.into_iter().filter(|data| !data.is_empty()).for_each(|data| {
                        self.pass(data, message);
                    });
                }
                Ok(None) => return Ok(()),
                Err(fault) => return Err(fault.to_string()),
            }
        }
    }

    fn pass(&self, text: &str, message: &BridgedMessage) {
        if message.is_first
            && let Some(revision) = chosen_revision(text)
        {
            *self.revision.lock() = Some(revision);
        }
        let is_given_up = message.id.as_ref().is_some_and(|id| self.given_up.lock().contains(id));
        // A notification without an id is refused with one of nobody.
        if !is_given_up && let Some(id) = &message.id {
            say(&addressed(text, id));
        }
    }
}

/// Writes one message as one line: breaks between the tokens of JSON become spaces. If the client has
/// gone away, the end of the input follows.
fn say(text: &str) {
    let line = text.trim_end().replace(['\n', '\r'], " ");
    let mut output = io::stdout().lock();
    let written = output.write_all(line.as_bytes());
    written.and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush()).ok();
}
