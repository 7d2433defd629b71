//! Bodies on their way: counted, cut off at their limit, without trailers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::error::NetworkError;
use crate::guest::failure::broken_body;
use crate::rewrite::ResponseFilter;
use crate::world::metered::FirstFailure;

/// A body that cannot continue. The reason is in the connection's [`FirstFailure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body was cut off")]
pub struct CutOff;

/// How far a body may still go.
#[derive(Debug)]
pub struct BodyAllowance {
    left: u64,
    what: &'static str,
    failure: FirstFailure,
}

impl BodyAllowance {
    pub(crate) const fn new(left: u64, what: &'static str, failure: FirstFailure) -> Self {
        Self { left, what, failure }
    }

    fn take(&mut self, frame: &Frame<Bytes>) -> Result<(), CutOff> {
        let size = frame.data_ref().map_or(0, Bytes::len);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(size).ok_or_else(|| {
            self.failure.set(too_large(self.what));
            CutOff
        })?;
        self.left = left;
        Ok(())
    }
}

/// The failure of a body that is larger than its limit.
pub fn too_large(what: &str) -> NetworkError {
    NetworkError::limit(format!("the body of the {what} is larger than this server forwards"))
}

/// When the last byte of a request went out.
pub(crate) type LastSent = Arc<Mutex<Instant>>;

/// The body of a request, on its way to a server.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pub body: Either<Incoming, Full<Bytes>>,
    pub allowed: BodyAllowance,
    pub(crate) last_sent: LastSent,
    /// For a body that was rewritten: lets the next one begin when this one was sent.
    pub(crate) _rewriting: Option<OwnedSemaphorePermit>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let this = &mut *self;
        *this.last_sent.lock() = Instant::now();
        let next = ready!(Pin::new(&mut this.body).poll_frame(cx));
        Poll::Ready(match next {
            Some(Ok(frame)) if frame.is_data() => Some(this.allowed.take(&frame).map(|()| frame)),
            Some(Err(_)) => Some(Err(CutOff)),
            Some(Ok(_)) | None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Tells the connection until when the present request must be done.
#[derive(Debug)]
pub(crate) struct RequestDeadline(watch::Sender<Option<Instant>>);

impl RequestDeadline {
    pub(crate) fn start(sender: &watch::Sender<Option<Instant>>, until: Instant) -> Self {
        sender.send_replace(Some(until));
        Self(sender.clone())
    }
}

impl Drop for RequestDeadline {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

/// The body of a response, on its way to the guest.
#[derive(Debug)]
pub struct ResponseBody {
    pub(crate) body: Incoming,
    pub(crate) allowed: BodyAllowance,
    /// Looks at all of it, until it is over.
    pub filter: Option<Box<dyn ResponseFilter>>,
    pub(crate) _deadline: RequestDeadline,
}

impl ResponseBody {
    /// The rest that a filter has held back.
    fn rest(&mut self) -> Option<Frame<Bytes>> {
        let rest = self.filter.take().map(|mut filter| filter.end()).unwrap_or_default();
        (!rest.is_empty()).then(|| Frame::data(rest.into()))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let this = &mut *self;
        loop {
            let next = ready!(Pin::new(&mut this.body).poll_frame(cx));
            let frame = match next {
                Some(Ok(frame)) if frame.is_data() => frame,
                Some(Err(error)) => {
                    this.allowed.failure.set(broken_body(&error));
                    return Poll::Ready(Some(Err(CutOff)));
                }
                Some(Ok(_)) | None => return Poll::Ready(this.rest().map(Ok)),
            };
            if let Err(cut_off) = this.allowed.take(&frame) {
                return Poll::Ready(Some(Err(cut_off)));
            }
            let Some(filter) = &mut this.filter else { return Poll::Ready(Some(Ok(frame))) };
            let piece = filter.body(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(piece.into()))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.filter.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
