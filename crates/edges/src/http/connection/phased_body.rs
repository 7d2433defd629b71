//! The body of an answer, which tells its connection when it has been handed over.
//!
//! # Why
//!
//! The body of a large blob is made while it is sent. Until its last piece is handed over, the
//! connection is busy: it is not idle, whatever is flushed in between.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use crate::http::connection::timeouts::ConnectionPhase;

/// A body that ends the request of its connection when it is dropped.
#[derive(Debug)]
pub(crate) struct PhasedBody {
    body: Body,
    phase: ConnectionPhase,
}

impl PhasedBody {
    pub(crate) const fn new(body: Body, phase: ConnectionPhase) -> Self {
        Self { body, phase }
    }
}

impl Drop for PhasedBody {
    fn drop(&mut self) {
        self.phase.end_request();
    }
}

impl HttpBody for PhasedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
