//! The head of an answer with content: of a blob, or of a file of a session.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::http::blobs::conditions::{Verdict, allows_range, etag, judge};
use crate::http::blobs::disposition::attachment;
use crate::http::blobs::range::{Selection, select};
use crate::http::blobs::single;
use crate::net::respond::{empty, refuse};

/// What a browser may do with the content: nothing.
const INERT: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// A content, as its headers describe it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentHead<'a> {
    /// The entity tag, without quotes.
    pub(crate) tag: &'a str,
    /// MIME type.
    pub(crate) kind: &'a str,
    /// The name of the file.
    pub(crate) name: &'a str,
    /// Length.
    pub(crate) size: u64,
}

impl ContentHead<'_> {
    /// The head of the answer. Fails with the answer to a request that needs no content.
    pub(crate) fn answer(
        &self,
        headers: &HeaderMap,
        request_id: &str,
    ) -> Result<Response, Box<Response>> {
        let status = match judge(headers, self.tag) {
            Verdict::Proceed => StatusCode::OK,
            Verdict::NotModified => StatusCode::NOT_MODIFIED,
            Verdict::Failed => StatusCode::PRECONDITION_FAILED,
        };
        let mut answer = empty(status, request_id);
        let head = answer.headers_mut();
        head.extend(etag(self.tag).map(|tag| (header::ETAG, tag)));
        head.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        if status != StatusCode::OK {
            return Err(Box::new(answer));
        }
        head.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let binary = HeaderValue::from_static("application/octet-stream");
        let kind = HeaderValue::from_str(self.kind).unwrap_or(binary);
        head.insert(header::CONTENT_TYPE, kind);
        head.insert(header::CONTENT_DISPOSITION, attachment(self.name));
        head.insert(header::CONTENT_SECURITY_POLICY, INERT);
        head.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        Ok(answer)
    }

    /// The part of the content that the request asks for, which is noted in the head of its answer. Fails
    /// with the answer to one that asks for no byte.
    pub(crate) fn part(
        &self,
        headers: &HeaderMap,
        answer: &mut Response,
        request_id: &str,
    ) -> Result<Range<u64>, Box<Response>> {
        // Two headers name no range.
        let range = single(headers, &header::RANGE).ok().flatten();
        let range = range.filter(|_| allows_range(headers, self.tag));
        let size = self.size;
        let part = match range.map_or(Selection::Whole, |range| select(&range, size)) {
            Selection::Whole => 0..size,
            Selection::Part(part) => {
                *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                let last = part.end.saturating_sub(1);
                insert(
                    answer,
                    header::CONTENT_RANGE,
                    format!("bytes {}-{last}/{size}", part.start),
                );
                part
            }
            Selection::Unsatisfiable => return Err(Box::new(unsatisfiable(size, request_id))),
        };
        let length = part.end.saturating_sub(part.start);
        insert(answer, header::CONTENT_LENGTH, length.to_string());
        Ok(part)
    }
}

fn unsatisfiable(size: u64, request_id: &str) -> Response {
    let message = format!("this range contains no byte of the content, which has {size} bytes");
    let mut answer = refuse(StatusCode::RANGE_NOT_SATISFIABLE, &message, request_id);
    insert(&mut answer, header::CONTENT_RANGE, format!("bytes */{size}"));
    answer
}

/// Adds a header.
pub(crate) fn insert(answer: &mut Response, name: header::HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        answer.headers_mut().insert(name, value);
    }
}
