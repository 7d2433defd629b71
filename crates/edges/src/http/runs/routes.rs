//! Runs and their records: `GET /v1/runs`, `/v1/runs/active`, `/v1/runs/{id}`,
//! `/v1/runs/{id}/log`, `/v1/runs/{id}/content` and `/v1/runs/{id}/record`, and
//! `POST /v1/runs/{id}/cancel`.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::http::blobs::query::Parameters;
use crate::http::blobs::status_of;
use crate::http::edge::Edge;
use crate::net::answer::Answer;
use crate::net::audited::{PeerAddress, note_refusal};
use crate::net::respond::{Failure, json_bytes, refuse, refuse_body};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    Caller, CallerIdentity, FoundRun, Methods, RunHistory, RunList, RunListOrder, Runs,
    ServiceError, Status,
};
use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, Charge};

/// Runs of one page, unless the request says how many.
const DEFAULT_PAGE: u64 = 100;

/// The longest time for which a request waits for the end of a run.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Shows nothing but the text, whatever opens it.
const SANDBOX: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// One request, and the runs that it is about.
struct RunRequest<'a, M> {
    edge: &'a Edge<M>,
    runs: &'a RunHistory,
    caller: Caller,
    request_id: String,
}

impl<'a, M: Methods + Status + Runs> RunRequest<'a, M> {
    /// Begins to answer a request of this caller, which counts as a call of its tenant.
    fn begin(
        edge: &'a Edge<M>,
        identity: CallerIdentity,
        address: Option<Extension<PeerAddress>>,
    ) -> Result<Self, Box<Response>> {
        let request_id = edge.next_request_id();
        let Some(methods) = edge.readiness.methods() else {
            return Err(Box::new(edge.not_ready(&request_id)));
        };
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        let caller = caller.at(address.map(|Extension(PeerAddress(address))| address));
        let request = Self { edge, runs: methods.runs(), caller, request_id };
        match methods.count_call(&request.caller.tenant) {
            Ok(()) => Ok(request),
            Err(error) => Err(Box::new(request.failed(&error))),
        }
    }

    /// The answer to a request that failed.
    fn failed(&self, error: &ServiceError) -> Response {
        note_refusal(&self.edge.audit, &self.caller, error);
        let mut failure = Failure::of(error, &self.request_id);
        failure.status = status_of(error.kind());
        failure.into_response(RequestId::Null, &self.request_id)
    }

    fn no_room(&self) -> Response {
        self.failed(&BudgetExhausted.into())
    }

    /// The parameters of the request, of which there are no others than `known`.
    fn parameters(&self, query: Option<&str>, known: &[&str]) -> Result<Parameters, Box<Response>> {
        Parameters::parse(query, known).map_err(|fault| self.refused(&fault))
    }

    /// The answer to a request with a mistake in its head.
    fn refused(&self, message: &str) -> Box<Response> {
        Box::new(refuse(StatusCode::BAD_REQUEST, message, &self.request_id))
    }

    /// The number in a parameter.
    fn number(
        &self,
        parameters: &Parameters,
        name: &str,
        expected: &str,
    ) -> Result<Option<u64>, Box<Response>> {
        let number = parameters.find(name).map(str::parse).transpose();
        number.map_err(|_malformed| self.refused(&format!("`{name}` must be {expected}")))
    }

    async fn list(&self, query: Option<&str>) -> Result<Response, Box<Response>> {
        let known =
            ["limit", "cursor", "outcome", "skill", "since", "until", "search", "blob", "tenant"];
        let parameters = self.parameters(query, &known)?;
        let limit = self.number(&parameters, "limit", "a number from 1 to 1000")?;
        let since = "a time in milliseconds since the Unix epoch";
        let order = RunListOrder {
            cursor: parameters.find("cursor"),
            limit: limit.unwrap_or(DEFAULT_PAGE),
            outcome: parameters.find("outcome"),
            skill: parameters.find("skill"),
            since_ms: self.number(&parameters, "since", since)?,
            until_ms: self.number(&parameters, "until", since)?,
            search: parameters.find("search"),
            blob: parameters.find("blob"),
            tenant: parameters.find("tenant"),
        };
        let list = self.runs.list(&self.caller, order).await;
        let page: RunList = list.map_err(|error| Box::new(self.failed(&error)))?;
        self.json(&page)
    }

    /// Answers with what is known of a run, after its end if the request waits for it.
    async fn show(&self, id: &str, query: Option<&str>) -> Result<Response, Box<Response>> {
        let parameters = self.parameters(query, &["wait_ms"])?;
        let wait = self.number(&parameters, "wait_ms", "a number of milliseconds")?.unwrap_or(0);
        let patience = Duration::from_millis(wait).min(LONGEST_WAIT);
        let asked = Instant::now();
        let found = tokio::select! {
            biased;
            found = self.runs.find(&self.caller, id, patience) => found,
            // The server stops: the client learns how far the run is.
            () = self.edge.readiness.closed() => {
                self.runs.find(&self.caller, id, Duration::ZERO).await
            }
        };
        // The credential may have ended while the request waited.
        let confirmed = self.edge.authentication.confirm(self.caller.credential.as_ref());
        match confirmed.and(found).map_err(|error| Box::new(self.failed(&error)))? {
            FoundRun::Active(run) => {
                let mut answer = self.json(&run)?;
                // Too many requests of the tenant wait, or the server stops: a client that asks
                // again at once would ask without end.
                if asked.elapsed() < patience {
                    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                }
                Ok(answer)
            }
            FoundRun::Ended(record) => {
                let record = RawValue::from_string(record).map_err(ServiceError::Unserialisable);
                self.json(&record.map_err(|error| Box::new(self.failed(&error)))?)
            }
        }
    }

    async fn list_active(&self, query: Option<&str>) -> Result<Response, Box<Response>> {
        self.parameters(query, &[])?;
        let list = self.runs.list_active(&self.caller).await;
        self.json(&list.map_err(|error| Box::new(self.failed(&error)))?)
    }

    async fn cancel(&self, id: &str, sent: Request) -> Result<Response, Box<Response>> {
        // The connection of a body that is not read is closed behind the answer, without a word to its client.
        let read = self.edge.bodies.read(sent.into_body()).await;
        read.map_err(|fault| {
            Box::new(refuse_body(fault, self.edge.bodies.largest(), &self.request_id))
        })?;
        let cancelled = self.runs.cancel(&self.caller, id).await;
        self.json(&cancelled.map_err(|error| Box::new(self.failed(&error)))?)
    }

    /// The answer with this value.
    fn json(&self, value: &impl Serialize) -> Result<Response, Box<Response>> {
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        answer.write_json(value).map_err(|_no_room| Box::new(self.no_room()))?;
        Ok(guarded(json_bytes(200, answer.into_bytes(), &self.request_id)))
    }

    /// The answer with these texts, one behind the other.
    fn texts<T: AsRef<[u8]>>(
        &self,
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Response, Box<Response>> {
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        for text in texts {
            let written = answer.write_all(text.as_ref());
            written.map_err(|_no_room| Box::new(self.no_room()))?;
        }
        Ok(guarded(json_bytes(200, answer.into_bytes(), &self.request_id)))
    }

    /// Answers with the very bytes of the document, since their digest names it.
    async fn document(&self, id: &str, query: Option<&str>) -> Result<Response, Box<Response>> {
        self.parameters(query, &[])?;
        let found = self.runs.document(&self.caller, id).await;
        let text = found.map_err(|error| Box::new(self.failed(&error)))?;
        self.texts([text.as_str()])
    }

    async fn content(&self, id: &str, query: Option<&str>) -> Result<Response, Box<Response>> {
        self.parameters(query, &[])?;
        let found = self.runs.content(&self.caller, id).await;
        let text = found.map_err(|error| Box::new(self.failed(&error)))?;
        self.texts([text.as_str()])
    }

    async fn log(&self, id: &str, query: Option<&str>) -> Result<Response, Box<Response>> {
        let parameters = self.parameters(query, &["format"])?;
        let as_json = match parameters.find("format") {
            None | Some("text") => false,
            Some("json") => true,
            Some(_) => return Err(self.refused("`format` must be `text` or `json`")),
        };
        let found = self.runs.log(&self.caller, id).await;
        let log = found.map_err(|error| Box::new(self.failed(&error)))?;
        if as_json {
            return self.json(&log);
        }
        let mut answer = self.texts(log.texts())?;
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(answer)
    }
}

/// Answers `GET /v1/runs/{id}/record`.
pub(crate) async fn document<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.document(&named(id), query.as_deref()).await }.await)
}

/// Answers `GET /v1/runs/{id}/content`.
pub(crate) async fn content<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.content(&named(id), query.as_deref()).await }.await)
}

/// Answers `GET /v1/runs`.
pub(crate) async fn list<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.list(query.as_deref()).await }.await)
}

/// Answers `GET /v1/runs/{id}`.
pub(crate) async fn show<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.show(&named(id), query.as_deref()).await }.await)
}

/// Answers `GET /v1/runs/active`.
pub(crate) async fn list_active<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.list_active(query.as_deref()).await }.await)
}

/// Answers `POST /v1/runs/{id}/cancel`. What the body says does not matter.
pub(crate) async fn cancel<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    id: Result<Path<String>, PathRejection>,
    sent: Request,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.cancel(&named(id), sent).await }.await)
}

/// Answers `GET /v1/runs/{id}/log`.
pub(crate) async fn log<M: Methods + Status + Runs>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = RunRequest::begin(&edge, identity, address);
    whole(async { begun?.log(&named(id), query.as_deref()).await }.await)
}

/// The answer, whether the request succeeded or not.
fn whole(answer: Result<Response, Box<Response>>) -> Response {
    answer.unwrap_or_else(|answer| *answer)
}

/// The id in a path. A path that is not UTF-8 names no run.
fn named(id: Result<Path<String>, PathRejection>) -> String {
    id.map_or_else(|_malformed| String::new(), |Path(id)| id)
}

/// No page of another origin may embed the answer, and a browser runs nothing of it.
fn guarded(mut answer: Response) -> Response {
    let own = HeaderValue::from_static("same-origin");
    let headers = answer.headers_mut();
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), own);
    headers.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    answer
}
