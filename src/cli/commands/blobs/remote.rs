//! A running server, called over HTTP.

use std::fmt;
use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use data_encoding::BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ureq::http::Response;
use ureq::{Agent, Body, RequestBuilder, SendBody};

use crate::cli::failed::Failed;
use wardian_formats::protocol::methods::blobs::CreateBlobResult;
use wardian_vocabulary::client_tls::system_tls;
use wardian_vocabulary::ids::{BlobId, BlobName};

/// The time for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest pause of a server within an answer, and the time until an answer begins: a server
/// verifies gigabytes before it sends them, and syncs them before it acknowledges them.
const PATIENCE: Duration = Duration::from_secs(600);

/// Maximum number of bytes of an answer of JSON.
const MAX_JSON: u64 = 4 << 20;

/// Maximum number of bytes of other answers: the log of a run as JSON, each byte escaped.
const MAX_TEXT: u64 = 128 << 20;

/// Attempts at a call that a busy server refuses.
const ATTEMPTS: u32 = 4;

/// A server.
pub(crate) struct Remote {
    agent: Agent,
    url: String,
    authorization: Option<String>,
}

/// Shows no key.
impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The answer to a call.
pub(crate) struct CallAnswer {
    /// True for server-sent events, of which the last one is the response. Otherwise the content is
    /// the response.
    pub(crate) has_events: bool,
    pub(crate) content: Box<dyn Read + Send>,
}

/// What is known of content before it is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announced<'a> {
    pub(super) size: Option<u64>,
    /// SHA-256, which the server compares.
    pub(super) digest: Option<[u8; 32]>,
    /// The name that the blob gets.
    pub(super) name: Option<&'a BlobName>,
}

/// A page of the list of blobs.
#[derive(Debug, Deserialize)]
pub(super) struct RemotePage {
    pub(super) blobs: Vec<RemoteBlob>,
    pub(super) next_cursor: Option<String>,
}

/// A blob in a list.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RemoteBlob {
    pub(super) blob_id: BlobId,
    pub(super) kind: Option<String>,
    pub(super) size_bytes: u64,
    pub(super) created_ms: Option<u64>,
    pub(super) last_used_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<BlobName>,
}

#[derive(Deserialize)]
struct Verified {
    intact: bool,
}

#[derive(Deserialize)]
struct Refusal {
    error: RefusalError,
}

#[derive(Deserialize)]
struct RefusalError {
    message: String,
}

impl Remote {
    /// The server at `url`, such as `http://127.0.0.1:8080`.
    pub(super) fn at(url: &str, api_key: Option<&str>) -> Result<Self, Failed> {
        let url = url.trim_end_matches('/');
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Failed::usage("`--server` must be a URL such as `http://127.0.0.1:8080`"));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(PATIENCE))
            .timeout_per_write(Some(PATIENCE))
            .user_agent(concat!("wardian/", env!("CARGO_PKG_VERSION")));
        if url.starts_with("https://") {
            config = config.tls_config(system_tls());
        }
        let authorization = api_key.map(|key| format!("Bearer {key}"));
        Ok(Self { agent: config.build().into(), url: url.to_owned(), authorization })
    }

    /// True if calls have a key. The ids of the blobs may be keyed then.
    pub(super) const fn has_key(&self) -> bool {
        self.authorization.is_some()
    }

    fn address(&self, path: &str) -> String {
        format!("{}/v1/blobs{path}", self.url)
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    /// Stores content. As long as it `is_unread`, a busy server is asked again.
    pub(super) fn put(
        &self,
        kind: &str,
        announced: Announced<'_>,
        content: &mut dyn Read,
        is_unread: &dyn Fn() -> bool,
    ) -> Result<CreateBlobResult, Failed> {
        let mut attempt = 1;
        loop {
            let request = self.agent.put(self.address("")).header("content-type", kind);
            let request = match announced.name {
                Some(name) => request.query("filename", name.as_str()),
                None => request,
            };
            // A server that refuses does so before the content is sent.
            let request = self.authorized(request).header("expect", "100-continue");
            let request = match announced.size {
                Some(size) => request.header("content-length", size.to_string()),
                None => request,
            };
            let request = match announced.digest {
                Some(digest) => {
                    let digest = format!("sha-256=:{}:", BASE64.encode(&digest));
                    request.header("repr-digest", digest)
                }
                None => request,
            };
            let answer = request.send(SendBody::from_reader(content));
            let answer = answer.map_err(|error| self.unreachable(&error))?;
            if let Some(pause) = pause(&answer, attempt)
                && is_unread()
            {
                thread::park_timeout(pause);
                attempt = attempt.saturating_add(1);
                continue;
            }
            return self.json(accepted(answer)?);
        }
    }

    /// Opens a blob from `offset` on. The answer has its kind and length.
    pub(super) fn open(&self, id: &BlobId, offset: u64) -> Result<Response<Body>, Failed> {
        let answer = self.repeated(|| {
            let request = self.authorized(self.agent.get(self.address(&format!("/{id}"))));
            match offset {
                0 => request.call(),
                offset => request.header("range", format!("bytes={offset}-")).call(),
            }
        })?;
        let is_part = answer.status() == 206;
        if is_part == (offset > 0) {
            return Ok(answer);
        }
        Err(Failed::because("the server did not send the requested part of the blob"))
    }

    /// A page of the list of blobs.
    pub(super) fn page(&self, cursor: Option<&str>) -> Result<RemotePage, Failed> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let address = self.address(&format!("?limit=1000{cursor}"));
        let answer = self.repeated(|| self.authorized(self.agent.get(&address)).call())?;
        self.json(answer)
    }

    /// Calls `each` with every blob.
    pub(super) fn for_each(
        &self,
        each: &mut dyn FnMut(RemoteBlob) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let mut cursor = None;
        loop {
            let page = self.page(cursor.as_deref())?;
            page.blobs.into_iter().try_for_each(&mut *each)?;
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// The answer of JSON at a path of the server, query included.
    pub(crate) fn find_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        let text = self.find_text(path)?;
        serde_json::from_str(&text).map_err(|_malformed| self.misread())
    }

    /// The answer of text at a path of the server.
    pub(crate) fn find_text(&self, path: &str) -> Result<String, Failed> {
        let address = format!("{}{path}", self.url);
        let answer = self.repeated(|| self.authorized(self.agent.get(&address)).call())?;
        let mut text = String::new();
        let reader = answer.into_body().into_reader();
        let read = reader.take(MAX_TEXT.saturating_add(1)).read_to_string(&mut text);
        let length = read.map_err(|error| Failed::at("read the answer", &error))?;
        match u64::try_from(length) {
            Ok(length) if length <= MAX_TEXT => Ok(text),
            _ => Err(Failed::because(format!("{} sent a response that is too long", self.url))),
        }
    }

    /// The answer of JSON to a request without content.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        let address = format!("{}{path}", self.url);
        let answer = self.repeated(|| self.authorized(self.agent.post(&address)).send_empty())?;
        self.json(answer)
    }

    /// The answer of JSON to content of JSON.
    pub(crate) fn post_json<T: DeserializeOwned>(
        &self,
        path: &str,
        content: &impl Serialize,
    ) -> Result<T, Failed> {
        let address = format!("{}{path}", self.url);
        let content = content_of(content)?;
        let answer = self.repeated(|| {
            let request = self.authorized(self.agent.post(&address));
            request.header("content-type", "application/json").send(content.as_slice())
        })?;
        self.json(answer)
    }

    /// Calls a method of the protocol whose answer may be events. A refusal is an answer, too.
    pub(crate) fn call(&self, call: &impl Serialize) -> Result<CallAnswer, Failed> {
        let address = format!("{}/rpc", self.url);
        let content = content_of(call)?;
        let answer = self.called(|| {
            let request = self.authorized(self.agent.post(&address));
            let request = request.header("content-type", "application/json");
            request.header("accept", "text/event-stream").send(content.as_slice())
        })?;
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let has_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let content = Box::new(answer.into_body().into_reader());
        Ok(CallAnswer { has_events, content })
    }

    /// The failure of a server whose answer is not that of a Wardian server.
    pub(crate) fn misread(&self) -> Failed {
        Failed::because(format!("{} does not answer as a Wardian server does", self.url))
    }

    /// The answer of JSON to a `PUT` without content.
    pub(crate) fn put_at<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        let address = format!("{}{path}", self.url);
        let answer = self.repeated(|| self.authorized(self.agent.put(&address)).send_empty())?;
        self.json(answer)
    }

    /// The answer of JSON to a `PUT` of content of this size. As long as it `is_unread`, a busy server is asked
    /// again.
    pub(crate) fn put_content<T: DeserializeOwned>(
        &self,
        path: &str,
        size: u64,
        content: &mut dyn Read,
        is_unread: &dyn Fn() -> bool,
    ) -> Result<T, Failed> {
        if size == 0 {
            return self.put_at(path);
        }
        let mut attempt = 1;
        loop {
            // A server that refuses does so before the content is sent.
            let request = self.authorized(self.agent.put(format!("{}{path}", self.url)));
            let request = request.header("expect", "100-continue");
            let request = request.header("content-length", size.to_string());
            let answer = request.send(SendBody::from_reader(content));
            let answer = answer.map_err(|error| self.unreachable(&error))?;
            if let Some(pause) = pause(&answer, attempt)
                && is_unread()
            {
                thread::park_timeout(pause);
                attempt = attempt.saturating_add(1);
                continue;
            }
            return self.json(accepted(answer)?);
        }
    }

    /// Opens the content at a path of the server. The answer has its length.
    pub(crate) fn open_content(&self, path: &str) -> Result<Response<Body>, Failed> {
        let address = format!("{}{path}", self.url);
        self.repeated(|| self.authorized(self.agent.get(&address)).call())
    }

    /// Deletes what is at a path of the server.
    pub(crate) fn delete_at(&self, path: &str) -> Result<(), Failed> {
        let address = format!("{}{path}", self.url);
        self.repeated(|| self.authorized(self.agent.delete(&address)).call()).map(drop)
    }

    /// Removes a blob.
    pub(super) fn remove(&self, id: &BlobId) -> Result<(), Failed> {
        let address = self.address(&format!("/{id}"));
        self.repeated(|| self.authorized(self.agent.delete(&address)).call()).map(drop)
    }

    /// Verifies a blob; true if it is intact. `Ok(None)` if it is gone.
    pub(super) fn verify(&self, id: &BlobId, damaged: &str) -> Result<Option<bool>, Failed> {
        let address = self.address(&format!("/{id}/verify?damaged={damaged}"));
        let call = || self.authorized(self.agent.post(&address)).send_empty();
        let answer = self.called(call)?;
        if answer.status() == 404 {
            return Ok(None);
        }
        let verified: Verified = self.json(accepted(answer)?)?;
        Ok(Some(verified.intact))
    }

    fn repeated(
        &self,
        call: impl Fn() -> Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, Failed> {
        accepted(self.called(call)?)
    }

    /// Calls, and calls again if the server is busy.
    fn called(
        &self,
        call: impl Fn() -> Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, Failed> {
        let mut attempt = 1;
        loop {
            let answer = call().map_err(|error| self.unreachable(&error))?;
            let Some(pause) = pause(&answer, attempt) else { return Ok(answer) };
            thread::park_timeout(pause);
            attempt = attempt.saturating_add(1);
        }
    }

    fn json<T: DeserializeOwned>(&self, answer: Response<Body>) -> Result<T, Failed> {
        let text = text_of(answer).map_err(|error| Failed::at("read the answer", &error))?;
        serde_json::from_str(&text).map_err(|_malformed| self.misread())
    }

    fn unreachable(&self, error: &ureq::Error) -> Failed {
        Failed::because(format!("could not call {}: {error}", self.url))
    }
}

fn content_of(value: &impl Serialize) -> Result<Vec<u8>, Failed> {
    serde_json::to_vec(value).map_err(|fault| Failed::at("write the request", &fault))
}

/// The pause before another attempt, if the server is busy and there may be one.
fn pause(answer: &Response<Body>, attempt: u32) -> Option<Duration> {
    if answer.status() != 503 || attempt >= ATTEMPTS {
        return None;
    }
    let asked = answer.headers().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(asked).min(CONNECT))
}

/// The answer, if it is a success. A refusal becomes a failure with the server's own words.
fn accepted(answer: Response<Body>) -> Result<Response<Body>, Failed> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let text = text_of(answer).unwrap_or_default();
    let message = match serde_json::from_str::<Refusal>(&text) {
        Ok(refusal) => refusal.error.message,
        Err(_) => format!("the server answered with status {status}"),
    };
    Err(if status.is_client_error() || status == 507 {
        Failed::usage(message)
    } else {
        Failed::because(message)
    })
}

fn text_of(answer: Response<Body>) -> io::Result<String> {
    let mut text = String::new();
    answer.into_body().into_reader().take(MAX_JSON).read_to_string(&mut text)?;
    Ok(text)
}
