//! Errors of the HTTP library as what a guest sees.

use std::error::Error;
use std::io;

use crate::error::{NetworkError, errno};

/// Why no response came. Nothing if the server closed the connection without a word: the guest's
/// stream then ends in the same way, and its library raises its own exception.
pub(crate) fn no_response(error: &hyper::Error) -> Option<NetworkError> {
    if error.is_parse_too_large() {
        let text = "the head of the server's response is too large";
        return Some(NetworkError::new(errno::EMSGSIZE, text));
    }
    if error.is_parse() || error.is_parse_status() {
        let text = "the server's response is not HTTP";
        return Some(NetworkError::new(errno::EPROTO, text));
    }
    if error.is_user() {
        let text = "the body of the request is malformed or was cut off";
        return Some(NetworkError::new(errno::EPROTO, text));
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return None;
    }
    Some(source_of(error))
}

/// Why the body of a response ended before its end.
pub(crate) fn broken_body(error: &hyper::Error) -> NetworkError {
    if error.is_parse() {
        return NetworkError::new(errno::EPROTO, "the body of the server's response is malformed");
    }
    let text = "the server's response is incomplete";
    NetworkError::new(errno::ECONNRESET, text)
}

fn source_of(error: &hyper::Error) -> NetworkError {
    let mut next = error.source();
    while let Some(source) = next {
        if let Some(error) = source.downcast_ref::<io::Error>() {
            return NetworkError::of_io(error);
        }
        next = source.source();
    }
    NetworkError::new(errno::ECONNRESET, "the server closed the connection")
}
