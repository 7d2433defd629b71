//! `GET` and `HEAD /v1/blobs/{id}`: the content of a blob, or a part of it.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use crate::http::blobs::content_answer::{ContentHead, insert};
use crate::http::blobs::content_body::ContentBody;
use crate::http::blobs::disposition::check_name;
use crate::http::blobs::query::Parameters;
use crate::http::blobs::{BlobPath, BlobRequest};
use crate::http::edge::Edge;
use wardian_service::{BlobDescription, CallerIdentity, Methods, Status, Transfers};

/// Answers `GET /v1/blobs/{id}`.
pub(crate) async fn download<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    BlobPath(id): BlobPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let request = match BlobRequest::begin(&edge, identity) {
        Ok(request) => request,
        Err(answer) => return *answer,
    };
    let (blob, mut answer) = match prepare(&request, &id, query.as_deref(), &headers).await {
        Ok(prepared) => prepared,
        Err(answer) => return *answer,
    };
    let head = ContentHead { tag: blob.id.letters(), kind: "", name: "", size: blob.size };
    let part = match head.part(&headers, &mut answer, &request.request_id) {
        Ok(part) => part,
        Err(answer) => return *answer,
    };
    let download = match request.transfers.open(&request.caller, blob.id.as_str()).await {
        Ok(download) => download,
        Err(error) => return request.failed(&error),
    };
    *answer.body_mut() = Body::new(ContentBody::new(download, part, request.request_id));
    answer
}

/// Answers `HEAD /v1/blobs/{id}`, without verifying the content. It has no ranges.
pub(crate) async fn describe<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    BlobPath(id): BlobPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let request = match BlobRequest::begin(&edge, identity) {
        Ok(request) => request,
        Err(answer) => return *answer,
    };
    match prepare(&request, &id, query.as_deref(), &headers).await {
        Ok((blob, mut answer)) => {
            insert(&mut answer, header::CONTENT_LENGTH, blob.size.to_string());
            answer
        }
        Err(answer) => *answer,
    }
}

/// Finds a blob and makes the head of its answer, or the answer to a request that fails or that
/// needs no content.
async fn prepare(
    request: &BlobRequest<'_>,
    id: &str,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<(BlobDescription, Response), Box<Response>> {
    let refused = |message: &str| Box::new(request.refused(StatusCode::BAD_REQUEST, message));
    let parameters = Parameters::parse(query, &["filename"]).map_err(|fault| refused(&fault))?;
    let name = parameters.find("filename");
    let name = name.map(check_name).transpose().map_err(refused)?;
    let described = request.transfers.describe(&request.caller, id).await;
    let blob = described.map_err(|error| Box::new(request.failed(&error)))?;
    let name = name.map_or_else(|| blob.file_name(), |name| name.to_string());
    let head =
        ContentHead { tag: blob.id.letters(), kind: &blob.kind, name: &name, size: blob.size };
    let answer = head.answer(headers, &request.request_id)?;
    Ok((blob, answer))
}
