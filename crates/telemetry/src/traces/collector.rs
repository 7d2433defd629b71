//! Requests to the collector.
//!
//! The collector is the operator's choice and is not trusted: an answer is bounded in size and in
//! time, and redirects are not followed.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue};

use crate::traces::config::TracesConfig;
use crate::traces::otlp::rejected_spans;
use wardian_vocabulary::client_tls::{UnreadableAuthorities, client_tls};

/// The time for a whole request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of bytes of an answer that are read.
const MAX_ANSWER: u64 = 64 << 10;

/// Longest file with headers.
const MAX_HEADERS: usize = 16 << 10;

/// Why tracing cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file with headers cannot be read.
    #[error("cannot read `{}` (`telemetry.headers_file`)", .path.display())]
    Headers {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// A line of it is not a header. The line may hold a secret, so it is only counted.
    #[error(
        "line {line} of `{}` (`telemetry.headers_file`) must be a header such as \
         `authorization: Bearer ...`",
        .path.display()
    )]
    Header {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
    },
    /// The headers would travel without encryption.
    #[error(
        "`telemetry.headers_file` is set, so `telemetry.otlp_endpoint` must begin with https:// or \
         name this machine: its headers would be sent unencrypted"
    )]
    Unencrypted,
    /// The file with certificates cannot be read.
    #[error("`{}` (`telemetry.ca_file`) has no readable certificates (PEM)", .path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What went wrong, if anything but emptiness.
        #[source]
        cause: Option<rustls::pki_types::pem::Error>,
    },
    /// The system refuses a thread.
    #[error("the operating system refused to start a thread")]
    Thread(#[source] io::Error),
}

impl From<UnreadableAuthorities> for TraceError {
    fn from(UnreadableAuthorities { path, cause }: UnreadableAuthorities) -> Self {
        Self::Authorities { path, cause }
    }
}

/// Why spans could not be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendFailure {
    /// There is no answer, or none in time.
    #[error("`{url}` cannot be reached: {cause}")]
    Unreachable { url: String, cause: Box<ureq::Error> },
    /// The collector does not take them.
    #[error("`{url}` responded with status {status}")]
    Status { url: String, status: u16 },
}

impl SendFailure {
    /// True if the same request may succeed later.
    pub(super) const fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => matches!(status, 429 | 502 | 503 | 504),
        }
    }
}

/// A collector.
#[derive(Debug)]
pub(super) struct Collector {
    agent: Agent,
    url: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Collector {
    /// Prepares requests. Nothing is sent yet.
    pub(super) fn open(config: &TracesConfig) -> Result<Self, TraceError> {
        let headers = match &config.headers {
            None => Vec::new(),
            Some(_) if !config.collector.is_private() => {
                return Err(TraceError::Unencrypted);
            }
            Some(path) => read_headers(path)?,
        };
        let agent = Agent::config_builder()
            .https_only(config.collector.is_encrypted())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("wardian/", env!("CARGO_PKG_VERSION")))
            .tls_config(client_tls(config.authorities.as_deref())?);
        let url = config.collector.url().to_owned();
        Ok(Self { agent: agent.build().into(), url, headers })
    }

    /// Sends the body of an export. Returns the number of spans that the collector rejected.
    pub(super) fn send(&self, body: &[u8]) -> Result<u64, SendFailure> {
        let unreachable =
            |cause| SendFailure::Unreachable { url: self.url.clone(), cause: Box::new(cause) };
        let mut request = self.agent.post(&self.url).content_type("application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = request.send(body).map_err(unreachable)?;
        let status = answer.status().as_u16();
        // The rest of an answer is read so that its connection can be used again.
        let mut read = Vec::new();
        let whole = answer.into_body().into_reader().take(MAX_ANSWER).read_to_end(&mut read);
        match status {
            200..=299 => Ok(whole.map_or(0, |_| rejected_spans(&read))),
            status => Err(SendFailure::Status { url: self.url.clone(), status }),
        }
    }
}

/// Reads lines such as `authorization: Bearer ...`.
fn read_headers(path: &Path) -> Result<Vec<(HeaderName, HeaderValue)>, TraceError> {
    let failed = |cause| TraceError::Headers { path: path.to_owned(), cause };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    let most = u64::try_from(MAX_HEADERS).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text).map_err(failed)?;
    if text.len() > MAX_HEADERS {
        return Err(failed(io::Error::other("it is longer than 16 KiB")));
    }
    let mut headers = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let header = header_of(line);
        let wrong = || TraceError::Header { path: path.to_owned(), line: at.saturating_add(1) };
        headers.push(header.ok_or_else(wrong)?);
    }
    Ok(headers)
}

fn header_of(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    let mut value = HeaderValue::try_from(value.trim()).ok().filter(|value| !value.is_empty())?;
    // It is then left out of what is printed.
    value.set_sensitive(true);
    let is_ours = ["content-type", "content-length", "host", "transfer-encoding"];
    (!is_ours.contains(&name.as_str())).then_some((name, value))
}
