//! `GET` and `HEAD /v1/blobs/{id}`: the content of a blob, or a part of it.

use std::ops::Range;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::http::blobs::conditions::{Verdict, allows_range, etag, judge};
use crate::http::blobs::content_body::ContentBody;
use crate::http::blobs::disposition::{attachment, check_name};
use crate::http::blobs::query::Parameters;
use crate::http::blobs::range::{Selection, select};
use crate::http::blobs::{BlobPath, BlobRequest, single};
use crate::http::edge::Edge;
use crate::net::respond::empty;
use wardian_service::{BlobDescription, CallerIdentity, Methods, Status, Transfers};

/// What a browser may do with the content: nothing.
const INERT: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

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
    // Two headers name no range.
    let range = single(&headers, &header::RANGE).ok().flatten();
    let range = range.filter(|_| allows_range(&headers, blob.id.letters()));
    let selection = range.map_or(Selection::Whole, |range| select(&range, blob.size));
    let part = match selection {
        Selection::Whole => 0..blob.size,
        Selection::Part(part) => {
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            insert(&mut answer, header::CONTENT_RANGE, content_range(&part, blob.size));
            part
        }
        Selection::Unsatisfiable => return unsatisfiable(&request, &blob),
    };
    let download = match request.transfers.open(&request.caller, blob.id.as_str()).await {
        Ok(download) => download,
        Err(error) => return request.failed(&error),
    };
    insert(&mut answer, header::CONTENT_LENGTH, length_of(&part).to_string());
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
    let tag = blob.id.letters();
    let status = match judge(headers, tag) {
        Verdict::Proceed => StatusCode::OK,
        Verdict::NotModified => StatusCode::NOT_MODIFIED,
        Verdict::Failed => StatusCode::PRECONDITION_FAILED,
    };
    let mut answer = empty(status, &request.request_id);
    let head = answer.headers_mut();
    head.extend(etag(tag).map(|tag| (header::ETAG, tag)));
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if status != StatusCode::OK {
        return Err(Box::new(answer));
    }
    head.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let kind = HeaderValue::from_str(&blob.kind);
    let binary = HeaderValue::from_static("application/octet-stream");
    head.insert(header::CONTENT_TYPE, kind.unwrap_or(binary));
    let name = name.map_or_else(|| blob.file_name(), |name| name.to_string());
    head.insert(header::CONTENT_DISPOSITION, attachment(&name));
    head.insert(header::CONTENT_SECURITY_POLICY, INERT);
    head.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    Ok((blob, answer))
}

fn unsatisfiable(request: &BlobRequest<'_>, blob: &BlobDescription) -> Response {
    let message = format!("this range contains no byte of the blob, which has {} bytes", blob.size);
    let mut answer = request.refused(StatusCode::RANGE_NOT_SATISFIABLE, &message);
    insert(&mut answer, header::CONTENT_RANGE, format!("bytes */{}", blob.size));
    answer
}

fn content_range(part: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", part.start, part.end.saturating_sub(1))
}

const fn length_of(part: &Range<u64>) -> u64 {
    part.end.saturating_sub(part.start)
}

fn insert(answer: &mut Response, name: header::HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        answer.headers_mut().insert(name, value);
    }
}
