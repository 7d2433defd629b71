//! The body of a request: bounded in size, in time, and in what all bodies together may hold.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::HttpConfig;
use crate::units::ByteCount;

/// Bodies up to this size are always read: all connections together hold little of them.
const SMALL: usize = 64 << 10;

/// The share of the memory for bodies that is taken at once.
const SHARE: usize = 1 << 20;

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// Larger than a body may be.
    TooLarge,
    /// It did not come in time.
    TooSlow,
    /// The memory for bodies is taken.
    NoRoom,
    /// The client broke off, or the framing is wrong.
    Broken,
}

/// What bodies may cost.
#[derive(Debug)]
pub(crate) struct Bodies {
    largest: usize,
    timeout: Duration,
    shares: Arc<Semaphore>,
}

/// A body that was read.
#[derive(Debug)]
pub(crate) struct ReadBody {
    pub(crate) bytes: Bytes,
    share: Share,
}

impl ReadBody {
    /// The body, and its share of the memory: to be held for as long as anything that was made
    /// of the body.
    pub(crate) fn into_parts(self) -> (Bytes, Share) {
        (self.bytes, self.share)
    }
}

/// A part of the memory for bodies.
#[derive(Debug, Default)]
pub(crate) struct Share {
    held: Option<OwnedSemaphorePermit>,
    size: usize,
}

impl Bodies {
    pub(crate) fn of(config: &HttpConfig) -> Self {
        let shares = config.bodies.as_usize() / SHARE;
        Self {
            largest: config.max_body.as_usize(),
            timeout: config.body_timeout,
            shares: Arc::new(Semaphore::new(shares.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// The largest body.
    pub(crate) fn largest(&self) -> ByteCount {
        ByteCount::from(self.largest)
    }

    /// Reads a body. What it announces is checked before anything is read; so is what comes.
    pub(crate) async fn read(&self, body: Body) -> Result<ReadBody, BodyFault> {
        let announced = body.size_hint();
        if announced.lower() > u64::try_from(self.largest).unwrap_or(u64::MAX) {
            return Err(BodyFault::TooLarge);
        }
        let mut share = Share::default();
        let announced = announced.exact().and_then(|size| usize::try_from(size).ok());
        self.extend(&mut share, announced.unwrap_or(0))?;
        let reading = self.read_all(body, announced, &mut share);
        let bytes =
            tokio::time::timeout(self.timeout, reading).await.unwrap_or(Err(BodyFault::TooSlow))?;
        Ok(ReadBody { bytes, share })
    }

    async fn read_all(
        &self,
        mut body: Body,
        announced: Option<usize>,
        share: &mut Share,
    ) -> Result<Bytes, BodyFault> {
        let mut collected = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return Err(BodyFault::Broken) };
            let Ok(piece) = frame.into_data() else { continue };
            // A small body comes in one piece, which need not be copied.
            if collected.is_empty() && Some(piece.len()) == announced {
                return Ok(piece);
            }
            let size = collected.len().saturating_add(piece.len());
            if size > self.largest {
                return Err(BodyFault::TooLarge);
            }
            self.extend(share, size)?;
            if collected.capacity() == 0 {
                collected.reserve(announced.unwrap_or(size));
            }
            collected.extend_from_slice(&piece);
        }
        Ok(collected.into())
    }

    /// Takes what a body of `size` needs beyond what it has.
    fn extend(&self, share: &mut Share, size: usize) -> Result<(), BodyFault> {
        if size <= SMALL || size <= share.size {
            return Ok(());
        }
        let missing = size.saturating_sub(share.size).div_ceil(SHARE);
        let wanted = u32::try_from(missing).unwrap_or(u32::MAX);
        let shares = Arc::clone(&self.shares);
        let taken = shares.try_acquire_many_owned(wanted).ok().ok_or(BodyFault::NoRoom)?;
        match &mut share.held {
            Some(held) => held.merge(taken),
            None => share.held = Some(taken),
        }
        share.size = share.size.saturating_add(missing.saturating_mul(SHARE));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    fn bodies(largest: ByteCount, together: ByteCount) -> Bodies {
        Bodies::of(&HttpConfig {
            max_body: largest,
            bodies: together,
            body_timeout: Duration::from_millis(30),
            ..HttpConfig::listening_on(([127, 0, 0, 1], 0).into())
        })
    }

    /// A body of unknown length that comes in pieces, the last of which may never come.
    struct Pieces(Vec<usize>, bool);

    impl hyper::body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.0.pop() {
                Some(size) => Poll::Ready(Some(Ok(Frame::data(vec![7; size].into())))),
                None if self.1 => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    fn pieces(sizes: &[usize]) -> Body {
        Body::new(Pieces(sizes.to_vec(), false))
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read_and_not_a_byte_more() {
        let bodies = bodies(ByteCount::kibibytes(1), ByteCount::mebibytes(1));
        assert_eq!(bodies.read(Body::from(vec![1; 1024])).await.unwrap().bytes.len(), 1024);
        assert_eq!(bodies.read(Body::from(vec![1; 1025])).await.unwrap_err(), BodyFault::TooLarge);
        assert_eq!(bodies.read(pieces(&[1000, 24])).await.unwrap().bytes.len(), 1024);
        assert_eq!(bodies.read(pieces(&[1000, 25])).await.unwrap_err(), BodyFault::TooLarge);
        assert_eq!(bodies.read(Body::empty()).await.unwrap().bytes.len(), 0);
    }

    #[tokio::test]
    async fn a_body_that_does_not_end_is_given_up() {
        let bodies = bodies(ByteCount::kibibytes(1), ByteCount::mebibytes(1));
        let endless = Body::new(Pieces(vec![10], true));
        assert_eq!(bodies.read(endless).await.unwrap_err(), BodyFault::TooSlow);
    }

    #[tokio::test]
    async fn all_bodies_together_are_bounded() {
        let bodies = bodies(ByteCount::mebibytes(16), ByteCount::mebibytes(3));
        let two = bodies.read(Body::from(vec![1; 2 << 20])).await.unwrap();
        assert_eq!(bodies.read(Body::from(vec![1; 2 << 20])).await.unwrap_err(), BodyFault::NoRoom);
        assert_eq!(bodies.read(pieces(&[1 << 20, 1 << 20])).await.unwrap_err(), BodyFault::NoRoom);
        assert!(bodies.read(pieces(&[1 << 19, 1 << 19])).await.is_ok());
        assert!(bodies.read(Body::from(vec![1; SMALL])).await.is_ok(), "small ones always fit");
        drop(two);
        assert!(bodies.read(pieces(&[1 << 20, 1 << 20, 1 << 20])).await.is_ok());
    }
}
