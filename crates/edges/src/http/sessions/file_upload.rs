//! `PUT /v1/sessions/{id}/files/{path}`: takes the content, and then writes the file.
//!
//! The session is free until the content has come, so a slow client keeps nobody from it.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use hyper::body::Body as _;

use crate::http::blobs::single;
use crate::http::blobs::upload::discard;
use crate::http::blobs::upload_timeout::UploadTimeout;
use crate::http::sessions::request::SessionRequest;
use crate::net::body::BodyFault;
use crate::net::respond::{Failure, refuse};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{FileChange, FileUpload, Methods, ServiceError, SessionCalls, Status};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::units::ByteCount;

/// The reason why content was not received.
enum Fault {
    Body(BodyFault),
    Service(ServiceError),
    Closing,
}

/// Receives the content of a file and writes it.
pub(super) async fn receive<M: Methods + Status + SessionCalls>(
    asked: &SessionRequest<'_, M>,
    (id, path): (&str, &str),
    request: Request,
) -> Result<FileChange, Box<Response>> {
    let (parts, mut body) = request.into_parts();
    let waits = parts.headers.contains_key(header::EXPECT);
    let length = body.size_hint().exact();
    let begun = async {
        let conditions = asked.conditions(parts.uri.query(), &parts.headers)?;
        let announced = length_of(asked, &parts.headers, length)?;
        let files = asked.files()?;
        let upload = files.begin(&asked.caller, id, (path, announced), conditions.order()).await;
        Ok((files, conditions, upload.map_err(|error| asked.failed(&error))?))
    };
    let (files, conditions, mut upload) = match begun.await {
        Ok(begun) => begun,
        Err(answer) => {
            discard(&mut body, waits).await;
            return Err(answer);
        }
    };
    let time = UploadTimeout::starting_with(asked.edge.upload_timeout);
    let received = tokio::select! {
        biased;
        received = take(&mut body, &mut upload, time) => received,
        () = asked.edge.readiness.closed() => Err(Fault::Closing),
    };
    if let Err(fault) = received {
        drop(upload);
        discard(&mut body, false).await;
        return Err(refuse_fault(asked, fault));
    }
    // The credential may have ended while the content came.
    let confirmed = asked.edge.authentication.confirm(asked.caller.credential.as_ref());
    confirmed.map_err(|error| asked.failed(&error))?;
    let written = files.write(&asked.caller, upload, conditions.order()).await;
    written.map_err(|error| asked.failed(&error))
}

/// The length of the content, which a request has to announce: memory is reserved for it.
fn length_of<M: Methods + Status + SessionCalls>(
    asked: &SessionRequest<'_, M>,
    headers: &HeaderMap,
    length: Option<u64>,
) -> Result<ByteCount, Box<Response>> {
    let refused = |status, message: &str| Box::new(refuse(status, message, &asked.request_id));
    if headers.contains_key(header::CONTENT_RANGE) {
        let message = "a file is sent as a whole, without `Content-Range`";
        return Err(refused(StatusCode::BAD_REQUEST, message));
    }
    let encoding = single(headers, &header::CONTENT_ENCODING);
    let encoding = encoding.map_err(|message| refused(StatusCode::BAD_REQUEST, &message))?;
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        let message = "the content is written as it is sent: send it without `Content-Encoding`";
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    length.map(ByteCount::bytes).ok_or_else(|| {
        let message = "the header `Content-Length` must have the length of the content";
        refused(StatusCode::LENGTH_REQUIRED, message)
    })
}

/// Takes the content piece by piece.
async fn take(
    body: &mut Body,
    upload: &mut FileUpload,
    mut time: UploadTimeout,
) -> Result<(), Fault> {
    while let Some(bytes) = time.next(body).await.map_err(Fault::Body)? {
        upload.append(&bytes).map_err(Fault::Service)?;
    }
    Ok(())
}

fn refuse_fault<M: Methods + Status + SessionCalls>(
    asked: &SessionRequest<'_, M>,
    fault: Fault,
) -> Box<Response> {
    let (status, message) = match fault {
        Fault::Service(error) => return asked.failed(&error),
        Fault::Closing => {
            let failure = Failure::of_kind(ErrorKind::Overloaded, "the server is shutting down");
            return Box::new(failure.into_response(RequestId::Null, &asked.request_id));
        }
        Fault::Body(BodyFault::TooSlow) => {
            (StatusCode::REQUEST_TIMEOUT, "the content did not arrive in time")
        }
        Fault::Body(BodyFault::Broken | BodyFault::TooLarge | BodyFault::NoRoom) => {
            (StatusCode::BAD_REQUEST, "the content could not be read completely")
        }
    };
    Box::new(refuse(status, message, &asked.request_id))
}
