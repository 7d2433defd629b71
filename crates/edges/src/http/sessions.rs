//! Sessions: `GET` and `POST /v1/sessions`, and below `/v1/sessions/{id}` the session itself, `cells`,
//! `checkpoints`, `fork`, `restore`, `interrupt`, `notebook` and `record`.

use std::io::Write as _;
use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::http::blobs::query::Parameters;
use crate::http::blobs::status_of;
use crate::http::edge::Edge;
use crate::net::answer::Answer;
use crate::net::audited::{PeerAddress, note_refusal};
use crate::net::body::ReadBody;
use crate::net::respond::{Failure, closing, empty, json_bytes, refuse, refuse_body};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    Caller, CallerIdentity, ForkOrder, Methods, NewSessionOrder, NotebookOrder, ServiceError,
    SessionCalls, SessionRoom, SessionSeedInputs, SessionSeedParam, Status,
};
use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, Charge};
use wardian_vocabulary::ids::SessionId;

/// Sessions or cells of one page, unless the request says how many.
const DEFAULT_PAGE: u64 = 50;

/// Longest body of a request about a session, in bytes.
const MAX_ORDER: usize = 256 << 10;

/// The parameters of a request that makes a session of a notebook.
const NOTEBOOK_PARAMETERS: [&str; 6] =
    ["from", "allow_errors", "label", "reproducible", "seed", "epoch"];

/// The checkpoint from which a session goes on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RestoreOrder {
    checkpoint: String,
}

/// The name of a checkpoint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameOrder {
    checkpoint: Option<String>,
    name: String,
}

/// One request about sessions.
struct SessionRequest<'a, M> {
    edge: &'a Edge<M>,
    methods: &'a M,
    caller: Caller,
    request_id: String,
}

/// An answer, or the refusal of the request.
type Answered = Result<Response, Box<Response>>;

/// The id in a path.
type Named = Result<Path<String>, PathRejection>;

/// The caller of a request, whom the router has found out.
type Who = (Extension<CallerIdentity>, Option<Extension<PeerAddress>>);

impl<'a, M: Methods + Status + SessionCalls> SessionRequest<'a, M> {
    /// Begins to answer a request of this caller, which counts as a call of its tenant.
    fn begin(edge: &'a Edge<M>, who: Who) -> Result<Self, Box<Response>> {
        let (Extension(identity), address) = who;
        let request_id = edge.next_request_id();
        let Some(methods) = edge.readiness.methods() else {
            return Err(Box::new(edge.not_ready(&request_id)));
        };
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        let caller = caller.at(address.map(|Extension(PeerAddress(address))| address));
        let request = Self { edge, methods, caller, request_id };
        match methods.count_call(&request.caller.tenant) {
            Ok(()) => Ok(request),
            Err(error) => Err(request.failed(&error)),
        }
    }

    fn room(&self) -> &SessionRoom {
        self.methods.sessions()
    }

    fn failed(&self, error: &ServiceError) -> Box<Response> {
        note_refusal(&self.edge.audit, &self.caller, error);
        let mut failure = Failure::of(error, &self.request_id);
        failure.status = status_of(error.kind());
        Box::new(failure.into_response(RequestId::Null, &self.request_id))
    }

    fn refused(&self, message: &str) -> Box<Response> {
        Box::new(refuse(StatusCode::BAD_REQUEST, message, &self.request_id))
    }

    fn parameters(&self, query: Option<&str>, known: &[&str]) -> Result<Parameters, Box<Response>> {
        Parameters::parse(query, known).map_err(|fault| self.refused(&fault))
    }

    fn number(&self, parameters: &Parameters, name: &str) -> Result<Option<u64>, Box<Response>> {
        let number = parameters.find(name).map(str::parse).transpose();
        number.map_err(|_malformed| self.refused(&format!("`{name}` must be a number")))
    }

    /// The body as this order. An empty body is an order without members.
    async fn order<T: DeserializeOwned>(&self, request: Request) -> Result<T, Box<Response>> {
        let ReadBody { bytes, charge: _charge } = self.body(request).await?;
        if bytes.len() > MAX_ORDER {
            return Err(self.refused(&format!("the body may have at most {MAX_ORDER} bytes")));
        }
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // An array would be read as the members in their order.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(self.refused("the body must be a JSON object"));
        }
        serde_json::from_slice(text)
            .map_err(|fault| self.refused(&format!("the body must be a JSON object: {fault}")))
    }

    /// The answer with this value.
    fn json(&self, status: StatusCode, value: &impl Serialize) -> Answered {
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        let no_room = |_| self.failed(&BudgetExhausted.into());
        answer.write_json(value).map_err(no_room)?;
        Ok(json_bytes(status.as_u16(), answer.into_bytes(), &self.request_id))
    }

    /// The answer to an operation of the service.
    fn answer(&self, status: StatusCode, done: Result<impl Serialize, ServiceError>) -> Answered {
        self.json(status, &done.map_err(|error| self.failed(&error))?)
    }

    async fn list(&self, query: Option<&str>) -> Answered {
        let parameters = self.parameters(query, &["limit", "cursor"])?;
        let limit = self.number(&parameters, "limit")?.unwrap_or(DEFAULT_PAGE);
        let page = self.room().list(&self.caller, parameters.find("cursor"), limit).await;
        self.answer(StatusCode::OK, page)
    }

    async fn create(&self, query: Option<&str>, request: Request) -> Answered {
        let parameters = self.parameters(query, &NOTEBOOK_PARAMETERS)?;
        match parameters.find("from") {
            Some("notebook") => return self.import(&parameters, request).await,
            None if query.is_none_or(str::is_empty) => {}
            _ => return Err(self.refused("the only source of a session is `from=notebook`")),
        }
        let order: NewSessionOrder = self.order(request).await?;
        let made = self.methods.create_session(&self.caller, order).await;
        let made = made.map_err(|error| self.failed(&error))?;
        Ok(located(self.json(StatusCode::CREATED, &made)?, &made.id))
    }

    /// Makes a session of the notebook in the body.
    async fn import(&self, parameters: &Parameters, request: Request) -> Answered {
        let flag = |name| match parameters.find(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(self.refused(&format!("`{name}` must be `true` or `false`"))),
        };
        let [seed, epoch] = ["seed", "epoch"].map(|name| self.number(parameters, name));
        let (seed, epoch, usual) = (seed?, epoch?, SessionSeedInputs::default());
        let is_seeded = flag("reproducible")? || seed.is_some() || epoch.is_some();
        let inputs = SessionSeedInputs {
            seed: seed.unwrap_or(usual.seed),
            epoch: epoch.unwrap_or(usual.epoch),
        };
        let order = NotebookOrder {
            allows_errors: flag("allow_errors")?,
            label: parameters.find("label").map(str::to_owned),
            reproducible: is_seeded.then_some(SessionSeedParam::Inputs(inputs)),
        };
        let ReadBody { bytes, charge: _charge } = self.body(request).await?;
        let made = self.methods.import_notebook(&self.caller, &bytes, order).await;
        let made = made.map_err(|error| self.failed(&error))?;
        Ok(located(self.json(StatusCode::CREATED, &made)?, &made.session.id))
    }

    /// The whole body.
    async fn body(&self, request: Request) -> Result<ReadBody, Box<Response>> {
        let read = self.edge.bodies.read(request.into_body()).await;
        read.map_err(|fault| {
            Box::new(refuse_body(fault, self.edge.bodies.largest(), &self.request_id))
        })
    }

    async fn cells(&self, id: &str, query: Option<&str>) -> Answered {
        let parameters = self.parameters(query, &["after", "limit"])?;
        let after = self.number(&parameters, "after")?.unwrap_or(0);
        let after =
            u32::try_from(after).ok().ok_or_else(|| self.refused("`after` is too large"))?;
        let limit = self.number(&parameters, "limit")?.unwrap_or(DEFAULT_PAGE);
        self.answer(StatusCode::OK, self.room().cells(&self.caller, id, after, limit).await)
    }

    async fn fork(&self, id: &str, request: Request) -> Answered {
        let order: ForkOrder = self.order(request).await?;
        let forks = self.room().fork(&self.caller, id, &order).await;
        self.answer(StatusCode::CREATED, forks)
    }

    async fn restore(&self, id: &str, request: Request) -> Answered {
        let RestoreOrder { checkpoint } = self.order(request).await?;
        self.answer(StatusCode::OK, self.room().restore(&self.caller, id, &checkpoint).await)
    }

    async fn name_checkpoint(&self, id: &str, request: Request) -> Answered {
        let NameOrder { checkpoint, name } = self.order(request).await?;
        let named = self.room().name_checkpoint(&self.caller, id, checkpoint.as_deref(), &name);
        self.answer(StatusCode::OK, named.await)
    }

    async fn notebook(&self, id: &str) -> Answered {
        let notebook = self.room().notebook(&self.caller, id).await;
        let mut answer = self.text(notebook)?;
        let kind = HeaderValue::from_static("application/x-ipynb+json");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(answer)
    }

    async fn record(&self, id: &str) -> Answered {
        self.text(self.room().record(&self.caller, id).await)
    }

    /// The answer with a text that is JSON.
    fn text(&self, made: Result<String, ServiceError>) -> Answered {
        let text = made.map_err(|error| self.failed(&error))?;
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        let no_room = |_| self.failed(&BudgetExhausted.into());
        answer.write_all(text.as_bytes()).map_err(no_room)?;
        Ok(json_bytes(200, answer.into_bytes(), &self.request_id))
    }

    /// The answer without content to an operation of the service.
    fn nothing(&self, done: Result<(), ServiceError>) -> Answered {
        done.map_err(|error| self.failed(&error))?;
        Ok(empty(StatusCode::NO_CONTENT, &self.request_id))
    }
}

/// Answers `GET /v1/sessions`.
pub(super) async fn list<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.list(query.as_deref()).await }.await)
}

/// Answers `POST /v1/sessions`.
pub(super) async fn create<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.create(query.as_deref(), request).await }.await)
}

/// Answers `GET /v1/sessions/{id}`.
pub(super) async fn show<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let shown = async {
        let request = begun?;
        let found = request.room().show(&request.caller, &named(id)).await;
        request.answer(StatusCode::OK, found)
    };
    whole(shown.await)
}

/// Answers `DELETE /v1/sessions/{id}`.
pub(super) async fn close<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let closed = async {
        let request = begun?;
        let done = request.room().close(&request.caller, &named(id)).await;
        request.nothing(done)
    };
    whole(closed.await)
}

/// Answers `GET /v1/sessions/{id}/cells`.
pub(super) async fn cells<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.cells(&named(id), query.as_deref()).await }.await)
}

/// Answers `POST /v1/sessions/{id}/fork`.
pub(super) async fn fork<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.fork(&named(id), request).await }.await)
}

/// Answers `POST /v1/sessions/{id}/restore`.
pub(super) async fn restore<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.restore(&named(id), request).await }.await)
}

/// Answers `POST /v1/sessions/{id}/checkpoints`: gives a checkpoint a name.
pub(super) async fn name_checkpoint<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.name_checkpoint(&named(id), request).await }.await)
}

/// Answers `DELETE /v1/sessions/{id}/checkpoints/{checkpoint}`.
pub(super) async fn forget_checkpoint<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    names: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let forgotten = async {
        let request = begun?;
        let (id, checkpoint) = names.map_or_else(|_malformed| <_>::default(), |Path(names)| names);
        let done = request.room().forget_checkpoint(&request.caller, &id, &checkpoint).await;
        request.nothing(done)
    };
    whole(forgotten.await)
}

/// Answers `POST /v1/sessions/{id}/interrupt`. A body is not read.
pub(super) async fn interrupt<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let interrupted = async {
        let request = begun?;
        let done = request.room().interrupt(&request.caller, &named(id)).await;
        request.answer(StatusCode::ACCEPTED, done)
    };
    whole(interrupted.await)
}

/// Answers `GET /v1/sessions/{id}/notebook`.
pub(super) async fn notebook<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.notebook(&named(id)).await }.await)
}

/// Answers `GET /v1/sessions/{id}/record`.
pub(super) async fn record<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.record(&named(id)).await }.await)
}

/// The answer, whether the request succeeded or not. A refused request may have a body that was not
/// read.
fn whole(answer: Answered) -> Response {
    answer.unwrap_or_else(|answer| closing(*answer))
}

/// The answer that names where a new session is.
fn located(mut answer: Response, id: &SessionId) -> Response {
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/sessions/{id}")) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}

/// The id in a path. A path that is not UTF-8 names no session.
fn named(id: Named) -> String {
    id.map_or_else(|_malformed| String::new(), |Path(id)| id)
}
