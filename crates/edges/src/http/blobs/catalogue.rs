//! `GET /v1/blobs`, `DELETE /v1/blobs/{id}` and `POST /v1/blobs/{id}/verify`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;

use crate::http::blobs::query::Parameters;
use crate::http::blobs::{BlobPath, BlobRequest};
use crate::http::edge::Edge;
use crate::net::answer::Answer;
use crate::net::respond::{empty, json, json_bytes};
use wardian_service::{BlobListing, CallerIdentity, Methods, Status, Transfers};
use wardian_vocabulary::budget::Charge;
use wardian_vocabulary::ids::{BlobId, BlobName};

/// Blobs of one page, unless the request says how many.
const DEFAULT_PAGE: usize = 100;

/// The answer of `GET /v1/blobs`.
#[derive(Serialize)]
struct Page {
    blobs: Vec<Entry>,
    next_cursor: Option<String>,
}

/// A blob in the answer of `GET /v1/blobs`.
#[derive(Serialize)]
struct Entry {
    blob_id: BlobId,
    /// Null if the blob is damaged.
    kind: Option<String>,
    size_bytes: u64,
    created_ms: Option<u64>,
    last_used_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<BlobName>,
}

impl From<BlobListing> for Entry {
    fn from(listing: BlobListing) -> Self {
        Self {
            blob_id: listing.id,
            kind: listing.kind,
            size_bytes: listing.size,
            created_ms: listing.created_ms,
            last_used_ms: listing.used_ms,
            name: listing.name,
        }
    }
}

/// The answer of `POST /v1/blobs/{id}/verify`.
#[derive(Serialize)]
struct Verified {
    blob_id: BlobId,
    size_bytes: u64,
    intact: bool,
}

/// Answers `GET /v1/blobs`.
pub(crate) async fn list<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    RawQuery(query): RawQuery,
) -> Response {
    let request = match BlobRequest::begin(&edge, identity) {
        Ok(request) => request,
        Err(answer) => return *answer,
    };
    let parameters = match Parameters::parse(query.as_deref(), &["limit", "cursor", "order"]) {
        Ok(parameters) => parameters,
        Err(fault) => return request.refused(StatusCode::BAD_REQUEST, &fault),
    };
    let limit = parameters.find("limit").map_or(Ok(DEFAULT_PAGE), str::parse);
    let Ok(limit) = limit else {
        return request.refused(StatusCode::BAD_REQUEST, "`limit` must be a number from 1 to 1000");
    };
    let (order, cursor) = (parameters.find("order"), parameters.find("cursor"));
    let page = match request.transfers.list(&request.caller, order, cursor, limit).await {
        Ok(page) => page,
        Err(error) => return request.failed(&error),
    };
    let blobs = page.blobs.into_iter().map(Entry::from).collect();
    let page = Page { blobs, next_cursor: page.next_cursor };
    let mut answer = Answer::charged_to(Charge::none(&edge.budget));
    if answer.write_json(&page).is_err() {
        return request.failed(&wardian_vocabulary::budget::BudgetExhausted.into());
    }
    guarded(json_bytes(200, answer.into_bytes(), &request.request_id))
}

/// Answers `DELETE /v1/blobs/{id}`.
pub(crate) async fn remove<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    BlobPath(id): BlobPath,
) -> Response {
    let request = match BlobRequest::begin(&edge, identity) {
        Ok(request) => request,
        Err(answer) => return *answer,
    };
    match request.transfers.remove(&request.caller, &id).await {
        Ok(()) => empty(StatusCode::NO_CONTENT, &request.request_id),
        Err(error) => request.failed(&error),
    }
}

/// Answers `POST /v1/blobs/{id}/verify`.
pub(crate) async fn verify<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    BlobPath(id): BlobPath,
    RawQuery(query): RawQuery,
) -> Response {
    let request = match BlobRequest::begin(&edge, identity) {
        Ok(request) => request,
        Err(answer) => return *answer,
    };
    let parameters = match Parameters::parse(query.as_deref(), &["damaged"]) {
        Ok(parameters) => parameters,
        Err(fault) => return request.refused(StatusCode::BAD_REQUEST, &fault),
    };
    let damaged = parameters.find("damaged");
    match request.transfers.verify(&request.caller, &id, damaged).await {
        Ok(verified) => {
            let (blob_id, size_bytes, intact) = (verified.id, verified.size, verified.is_intact);
            json(200, &Verified { blob_id, size_bytes, intact }, &request.request_id)
        }
        Err(error) => request.failed(&error),
    }
}

/// No page of another origin may embed the answer.
fn guarded(mut answer: Response) -> Response {
    let own = HeaderValue::from_static("same-origin");
    answer.headers_mut().insert("cross-origin-resource-policy", own);
    answer
}
