//! Sessions: `GET` and `POST /v1/sessions`, and below `/v1/sessions/{id}` the session itself, `cells`,
//! `checkpoints`, `fork`, `restore`, `interrupt`, `notebook` and `record`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;

use crate::http::blobs::query::Parameters;
use crate::http::edge::Edge;
use crate::http::sessions::notebook_body::NotebookBody;
use crate::http::sessions::request::{Named, RequestAnswer, SessionRequest, Who, named, whole};
use crate::net::body::ReadBody;
use crate::net::respond::empty;
use wardian_service::{
    ForkOrder, Methods, NewSessionOrder, NotebookOrder, SessionCalls, SessionSeedInputs,
    SessionSeedParam, Status, Transfers,
};
use wardian_vocabulary::ids::SessionId;

/// Sessions or cells of one page, unless the request says how many.
const DEFAULT_PAGE: u64 = 50;

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

impl<M: Methods + Status + SessionCalls> SessionRequest<'_, M> {
    async fn list(&self, query: Option<&str>) -> RequestAnswer {
        let parameters = self.parameters(query, &["limit", "cursor"])?;
        let limit = self.number(&parameters, "limit")?.unwrap_or(DEFAULT_PAGE);
        let page = self.room().list(&self.caller, parameters.find("cursor"), limit).await;
        self.answer(StatusCode::OK, page)
    }

    async fn create(&self, query: Option<&str>, request: Request) -> RequestAnswer {
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
    async fn import(&self, parameters: &Parameters, request: Request) -> RequestAnswer {
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

    async fn cells(&self, id: &str, query: Option<&str>) -> RequestAnswer {
        let parameters = self.parameters(query, &["after", "limit"])?;
        let after = self.number(&parameters, "after")?.unwrap_or(0);
        let after =
            u32::try_from(after).ok().ok_or_else(|| self.refused("`after` is too large"))?;
        let limit = self.number(&parameters, "limit")?.unwrap_or(DEFAULT_PAGE);
        self.answer(StatusCode::OK, self.room().cells(&self.caller, id, after, limit).await)
    }

    async fn fork(&self, id: &str, request: Request) -> RequestAnswer {
        let order: ForkOrder = self.order(request).await?;
        let forks = self.room().fork(&self.caller, id, &order).await;
        self.answer(StatusCode::CREATED, forks)
    }

    async fn restore(&self, id: &str, request: Request) -> RequestAnswer {
        let RestoreOrder { checkpoint } = self.order(request).await?;
        self.answer(StatusCode::OK, self.room().restore(&self.caller, id, &checkpoint).await)
    }

    async fn name_checkpoint(&self, id: &str, request: Request) -> RequestAnswer {
        let NameOrder { checkpoint, name } = self.order(request).await?;
        let named = self.room().name_checkpoint(&self.caller, id, checkpoint.as_deref(), &name);
        self.answer(StatusCode::OK, named.await)
    }

    async fn notebook(&self, id: &str) -> RequestAnswer
    where
        M: Transfers,
    {
        let blobs = self.methods.transfers();
        let notebook = self.room().notebook(&self.caller, id, blobs).await;
        let notebook = notebook.map_err(|error| self.failed(&error))?;
        let mut answer = empty(StatusCode::OK, &self.request_id);
        *answer.body_mut() = Body::new(NotebookBody::new(notebook, self.request_id.clone()));
        let kind = HeaderValue::from_static("application/x-ipynb+json");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(answer)
    }

    async fn record(&self, id: &str) -> RequestAnswer {
        self.text(self.room().record(&self.caller, id).await)
    }
}

/// Answers `GET /v1/sessions`.
pub(crate) async fn list<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.list(query.as_deref()).await }.await)
}

/// Answers `POST /v1/sessions`.
pub(crate) async fn create<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.create(query.as_deref(), request).await }.await)
}

/// Answers `GET /v1/sessions/{id}`.
pub(crate) async fn show<M: Methods + Status + SessionCalls>(
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
pub(crate) async fn close<M: Methods + Status + SessionCalls>(
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
pub(crate) async fn cells<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.cells(&named(id), query.as_deref()).await }.await)
}

/// Answers `POST /v1/sessions/{id}/fork`.
pub(crate) async fn fork<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.fork(&named(id), request).await }.await)
}

/// Answers `POST /v1/sessions/{id}/restore`.
pub(crate) async fn restore<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.restore(&named(id), request).await }.await)
}

/// Answers `POST /v1/sessions/{id}/checkpoints`: gives a checkpoint a name.
pub(crate) async fn name_checkpoint<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.name_checkpoint(&named(id), request).await }.await)
}

/// Answers `DELETE /v1/sessions/{id}/checkpoints/{checkpoint}`.
pub(crate) async fn forget_checkpoint<M: Methods + Status + SessionCalls>(
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

/// Answers `POST /v1/sessions/{id}/interrupt`. What the body says does not matter.
pub(crate) async fn interrupt<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    sent: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let interrupted = async {
        let request = begun?;
        // The connection of a body that is not read is closed behind the answer, without a word to its client.
        request.body(sent).await?;
        let done = request.methods.interrupt_session(&request.caller, &named(id)).await;
        request.answer(StatusCode::ACCEPTED, done)
    };
    whole(interrupted.await)
}

/// Answers `GET /v1/sessions/{id}/notebook`.
pub(crate) async fn notebook<M: Methods + Status + SessionCalls + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.notebook(&named(id)).await }.await)
}

/// Answers `GET /v1/sessions/{id}/record`.
pub(crate) async fn record<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.record(&named(id)).await }.await)
}

/// The answer that names where a new session is.
fn located(mut answer: Response, id: &SessionId) -> Response {
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/sessions/{id}")) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}
