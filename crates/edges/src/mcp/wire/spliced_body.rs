//! The body of an answer, with its contents laid in.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame};

use crate::mcp::wire::splice::Splicer;

/// A body in which the tokens of contents are replaced. `H` is held until its end.
pub(crate) struct SplicedBody<H> {
    inner: Body,
    splicer: Splicer,
    ready: VecDeque<Bytes>,
    has_ended: bool,
    _held: H,
}

impl<H> SplicedBody<H> {
    pub(crate) const fn new(inner: Body, splicer: Splicer, held: H) -> Self {
        Self { inner, splicer, ready: VecDeque::new(), has_ended: false, _held: held }
    }
}

impl<H: Unpin> HttpBody for SplicedBody<H> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        loop {
            if let Some(bytes) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if this.has_ended {
                return Poll::Ready(None);
            }
            let mut out = |bytes| this.ready.push_back(bytes);
            match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        this.splicer.feed(data, &mut out);
                    }
                }
                // The library's bodies have no errors.
                Poll::Ready(Some(Err(_)) | None) => {
                    this.has_ended = true;
                    this.splicer.finish(&mut out);
                }
            }
        }
    }
}
