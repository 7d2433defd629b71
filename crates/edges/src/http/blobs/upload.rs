//! `PUT /v1/blobs`: stores the body of the request.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use data_encoding::BASE64;
use hyper::body::Body as _;
use tokio::time::timeout;
use tracing::debug;

use crate::http::blobs::conditions::{Tags, etag};
use crate::http::blobs::disposition::check_name;
use crate::http::blobs::query::Parameters;
use crate::http::blobs::upload_timeout::UploadTimeout;
use crate::http::blobs::{BlobRequest, single};
use crate::http::edge::Edge;
use crate::net::body::BodyFault;
use crate::net::respond::{Failure, closing, empty, json};
use wardian_formats::protocol::methods::blobs::CreateBlobResult;
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    BlobUpload, CallerIdentity, Methods, PIECE, ServiceError, Status, Transfers, UploadOrder,
    UploadedBlob,
};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::BlobName;
use wardian_vocabulary::units::ByteCount;

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// The time for which the rest of a refused body is read, and the most that is read of it. A client
/// that sends while its connection is closed would not see the answer.
const LINGER: Duration = Duration::from_secs(1);
const MOST_DISCARDED: usize = 32 << 20;

/// The description of an upload in the head of its request.
#[derive(Debug, Default)]
struct Announcement {
    kind: Option<String>,
    file_name: Option<BlobName>,
    announced: Option<u64>,
    digest: Option<[u8; 32]>,
    /// The blobs that the client does not need to send.
    known: Option<Tags>,
}

/// The reason why an upload ended early.
enum UploadFault {
    Body(BodyFault),
    Service(ServiceError),
    Closing,
}

impl From<ServiceError> for UploadFault {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

/// Answers `PUT /v1/blobs`.
pub(crate) async fn upload<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    request: Request,
) -> Response {
    let (parts, mut body) = request.into_parts();
    let blobs = match BlobRequest::begin(&edge, identity) {
        Ok(request) => request,
        Err(answer) => return closing(*answer),
    };
    // Reading a body tells a client that waits for `100 Continue` to send it.
    let waits = parts.headers.contains_key(header::EXPECT);
    let announcement = match Announcement::read(&parts.headers, parts.uri.query(), &body) {
        Ok(announcement) => announcement,
        Err((status, message)) => {
            discard(&mut body, waits).await;
            return closing(blobs.refused(status, &message));
        }
    };
    if let Some(answer) = answer_known(&blobs, &announcement).await {
        discard(&mut body, waits).await;
        return closing(answer);
    }
    let begun = blobs.transfers.begin_upload(&blobs.caller, announcement.order()).await;
    let mut upload = match begun {
        Ok(upload) => upload,
        Err(error) => {
            discard(&mut body, waits).await;
            return closing(blobs.failed(&error));
        }
    };
    let time = UploadTimeout::starting_with(edge.upload_timeout);
    let receiving = receive(&mut body, &mut upload, time, announcement.announced);
    let received = tokio::select! {
        biased;
        received = receiving => received,
        () = edge.readiness.closed() => Err(UploadFault::Closing),
    };
    if let Err(fault) = received {
        drop(upload);
        discard(&mut body, false).await;
        return closing(refuse_fault(&blobs, fault));
    }
    // The credential may have ended while the content came.
    if let Err(error) = edge.authentication.confirm(blobs.caller.credential.as_ref()) {
        return closing(blobs.failed(&error));
    }
    match upload.finish().await {
        Ok(stored) => stored_answer(&blobs, &announcement, stored),
        Err(error) => blobs.failed(&error),
    }
}

impl Announcement {
    fn read(
        headers: &HeaderMap,
        query: Option<&str>,
        body: &Body,
    ) -> Result<Self, (StatusCode, String)> {
        let wrong = |message: String| (StatusCode::BAD_REQUEST, message);
        let parameters = Parameters::parse(query, &["filename"]).map_err(wrong)?;
        let file_name = parameters.find("filename").map(check_name).transpose();
        let file_name = file_name.map_err(|message| wrong(message.to_owned()))?;
        if headers.contains_key(header::CONTENT_RANGE) {
            return Err(wrong("a blob is sent as a whole, without `Content-Range`".to_owned()));
        }
        let encoding = single(headers, &header::CONTENT_ENCODING).map_err(wrong)?;
        if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            let message = "the content is stored as it is sent: send it without \
                           `Content-Encoding`, and give the kind of the compressed content";
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, message.to_owned()));
        }
        Ok(Self {
            kind: single(headers, &header::CONTENT_TYPE).map_err(wrong)?,
            file_name,
            announced: body.size_hint().exact(),
            digest: digest(headers).map_err(wrong)?,
            known: Tags::read(headers, &header::IF_NONE_MATCH),
        })
    }

    fn order(&self) -> UploadOrder<'_> {
        UploadOrder {
            kind: self.kind.as_deref(),
            file_name: self.file_name.as_ref(),
            announced: self.announced.map(ByteCount::bytes),
            digest: self.digest,
        }
    }
}

/// The SHA-256 of the content in `Repr-Digest` or `Content-Digest` (RFC 9530). Other algorithms are
/// ignored.
fn digest(headers: &HeaderMap) -> Result<Option<[u8; 32]>, String> {
    let mut found: Option<[u8; 32]> = None;
    for name in [&CONTENT_DIGEST, &REPR_DIGEST] {
        let Some(value) = single(headers, name)? else { continue };
        for member in value.split(',').map(str::trim_ascii) {
            let Some(text) = member.strip_prefix("sha-256=") else { continue };
            let encoded = text.strip_prefix(':').and_then(|text| text.strip_suffix(':'));
            let bytes = encoded.and_then(|text| BASE64.decode(text.as_bytes()).ok());
            let digest = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let digest = digest.ok_or_else(|| {
                format!(
                    "the digest in `{name}` must be `sha-256=:` and the base64 of 32 bytes and `:`"
                )
            })?;
            if found.is_some_and(|other| other != digest) {
                return Err("the request names two different digests".to_owned());
            }
            found = Some(digest);
        }
    }
    Ok(found)
}

/// The answer to a client that asks for an upload only if a blob does not exist, and it does.
async fn answer_known(blobs: &BlobRequest<'_>, announcement: &Announcement) -> Option<Response> {
    let Some(Tags::Listed(tags)) = &announcement.known else { return None };
    for tag in tags {
        let id = format!("blob:{tag}");
        if let Ok(blob) = blobs.transfers.describe(&blobs.caller, &id).await {
            return Some(known_answer(blobs, blob.id.letters()));
        }
    }
    None
}

fn known_answer(blobs: &BlobRequest<'_>, tag: &str) -> Response {
    let mut answer = empty(StatusCode::PRECONDITION_FAILED, &blobs.request_id);
    answer.headers_mut().extend(etag(tag).map(|tag| (header::ETAG, tag)));
    answer
}

/// Receives a body piece by piece.
async fn receive(
    body: &mut Body,
    upload: &mut BlobUpload,
    mut time: UploadTimeout,
    announced: Option<u64>,
) -> Result<(), UploadFault> {
    let size = announced.and_then(|size| usize::try_from(size).ok()).unwrap_or(PIECE);
    let mut piece = Vec::with_capacity(size.min(PIECE));
    while let Some(bytes) = time.next(body).await.map_err(UploadFault::Body)? {
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            let room = PIECE.saturating_sub(piece.len()).min(rest.len());
            let Some((now, later)) = rest.split_at_checked(room) else { break };
            piece.extend_from_slice(now);
            rest = later;
            if piece.len() >= PIECE {
                piece = upload.append(piece).await?;
            }
        }
    }
    if !piece.is_empty() {
        upload.append(piece).await?;
    }
    Ok(())
}

fn stored_answer(
    blobs: &BlobRequest<'_>,
    announcement: &Announcement,
    stored: UploadedBlob,
) -> Response {
    if announcement.known == Some(Tags::Any) && !stored.is_new {
        return known_answer(blobs, stored.blob_id.letters());
    }
    let status = if stored.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let location = HeaderValue::try_from(format!("/v1/blobs/{}", stored.blob_id));
    let tag = etag(stored.blob_id.letters());
    let UploadedBlob { blob_id, size, name, .. } = stored;
    let result = CreateBlobResult { blob_id, size_bytes: size.as_u64(), name };
    let mut answer = json(status.as_u16(), &result, &blobs.request_id);
    let head = answer.headers_mut();
    head.extend(location.ok().map(|location| (header::LOCATION, location)));
    head.extend(tag.map(|tag| (header::ETAG, tag)));
    answer
}

fn refuse_fault(blobs: &BlobRequest<'_>, fault: UploadFault) -> Response {
    match fault {
        UploadFault::Service(error) => blobs.failed(&error),
        UploadFault::Closing => {
            let failure = Failure::of_kind(ErrorKind::Overloaded, "the server is shutting down");
            failure.into_response(RequestId::Null, &blobs.request_id)
        }
        UploadFault::Body(fault) => {
            debug!(request.id = blobs.request_id, "body refused: {fault:?}");
            match fault {
                BodyFault::TooSlow => {
                    let message = "the content did not arrive in time";
                    blobs.refused(StatusCode::REQUEST_TIMEOUT, message)
                }
                BodyFault::Broken | BodyFault::TooLarge | BodyFault::NoRoom => {
                    let message = "the content could not be read completely";
                    blobs.refused(StatusCode::BAD_REQUEST, message)
                }
            }
        }
    }
}

/// Reads some of a body that is refused, unless its client waits for permission to send it.
pub(crate) async fn discard(body: &mut Body, waits: bool) {
    if waits {
        return;
    }
    let discarding = async {
        let mut time = UploadTimeout::starting_with(LINGER);
        let mut discarded = 0_usize;
        while let Ok(Some(bytes)) = time.next(body).await {
            discarded = discarded.saturating_add(bytes.len());
            if discarded > MOST_DISCARDED {
                break;
            }
        }
    };
    timeout(LINGER, discarding).await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &HeaderName, values: &[&str]) -> Result<Option<[u8; 32]>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, value.parse().unwrap());
        }
        digest(&headers)
    }

    #[test]
    fn a_digest_is_read_or_refused() {
        let zeros = format!("sha-256=:{}:", BASE64.encode(&[0; 32]));
        let ones = format!("sha-256=:{}:", BASE64.encode(&[1; 32]));
        assert_eq!(read(&REPR_DIGEST, &[&zeros]), Ok(Some([0; 32])));
        assert_eq!(read(&CONTENT_DIGEST, &[&format!("md5=:AAAA:, {ones}")]), Ok(Some([1; 32])));
        assert_eq!(read(&CONTENT_DIGEST, &["sha-512=:AAAA:"]), Ok(None));
        assert_eq!(read(&CONTENT_DIGEST, &[]), Ok(None));
        for wrong in ["sha-256=", "sha-256=:AAAA:", "sha-256=abc", "sha-256=:!:"] {
            assert!(read(&REPR_DIGEST, &[wrong]).is_err(), "{wrong}");
        }
        assert!(read(&REPR_DIGEST, &[&format!("{zeros}, {ones}")]).is_err());
        assert!(read(&REPR_DIGEST, &[&zeros, &zeros]).is_err());
    }
}
