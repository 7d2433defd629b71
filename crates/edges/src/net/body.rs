//! The body of a request: bounded in size and in time, and charged to the memory budget as it
//! arrives.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use wardian_vocabulary::budget::{BudgetExhausted, Charge, MemoryBudget};
use wardian_vocabulary::units::ByteCount;

/// Maximum memory for reading a body and finding its calls, as a multiple of its size: the body,
/// the unused capacity of a growing buffer, and the names of members for the duplicate check.
pub(crate) const READ_FACTOR: usize = 4;

/// Maximum memory for the calls of a body that was dropped, as a multiple of its size: the
/// parameters, and the job for a worker or the content of a blob that is made of them.
pub(crate) const CALL_FACTOR: usize = 3;

/// Bodies above this size, in bytes, and bodies of unknown size are not read if their tenant has
/// made too many calls. Smaller ones cost less than a new connection, and their calls have an id.
const READ_ANYWAY: u64 = 16 << 10;

/// How much of a body that is too large is taken and dropped, as a multiple of the largest body. Clients that
/// send all of it before they read learn why it was refused; a connection that is closed meanwhile tells them
/// nothing.
const DROPPED_FACTOR: usize = 4;

/// True for a body that is read even if its calls are refused.
pub fn is_small(body: &Body) -> bool {
    body.size_hint().exact().is_some_and(|size| size <= READ_ANYWAY)
}

/// True for `application/json`, with or without parameters.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return false };
    let essence = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Errors of reading a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// Larger than a body may be.
    TooLarge,
    /// The body did not arrive in time.
    TooSlow,
    /// The memory budget has no room for it.
    NoRoom,
    /// The client disconnected, or the framing is wrong.
    Broken,
}

impl From<BudgetExhausted> for BodyFault {
    fn from(_: BudgetExhausted) -> Self {
        Self::NoRoom
    }
}

/// The limits of bodies.
#[derive(Debug)]
pub struct Bodies {
    largest: usize,
    timeout: Duration,
    budget: Arc<MemoryBudget>,
}

/// A body that was read.
#[derive(Debug)]
pub struct ReadBody {
    pub(crate) bytes: Bytes,
    /// The charge. It must live as long as everything that is made of the body.
    pub(crate) charge: Charge,
}

impl Bodies {
    /// Bodies up to `largest` that arrive within `timeout`.
    pub fn new(largest: ByteCount, timeout: Duration, budget: &Arc<MemoryBudget>) -> Self {
        Self { largest: largest.as_usize(), timeout, budget: Arc::clone(budget) }
    }

    /// The largest body.
    pub fn largest(&self) -> ByteCount {
        ByteCount::from(self.largest)
    }

    /// Reads a body. Its announced size is checked before anything is read, but the body is charged
    /// as it arrives. So a client that announces much and sends nothing blocks no other client.
    pub(crate) async fn read(&self, mut body: Body) -> Result<ReadBody, BodyFault> {
        let announced = body.size_hint();
        if announced.lower() > u64::try_from(self.largest).unwrap_or(u64::MAX) {
            self.drop_rest(body).await;
            return Err(BodyFault::TooLarge);
        }
        let mut charge = Charge::none(&self.budget);
        let announced = announced.exact().and_then(|size| usize::try_from(size).ok());
        // A body that has no room now is refused before it is sent.
        charge.grow_to(announced.unwrap_or(0).saturating_mul(READ_FACTOR))?;
        charge.shrink_to(0);
        let reading = self.read_all(&mut body, announced, &mut charge);
        let read = tokio::time::timeout(self.timeout, reading).await;
        let read = read.unwrap_or(Err(BodyFault::TooSlow));
        if read == Err(BodyFault::TooLarge) {
            drop(charge);
            self.drop_rest(body).await;
            return Err(BodyFault::TooLarge);
        }
        Ok(ReadBody { bytes: read?, charge })
    }

    /// Takes what is left of a body that is too large, if that is not much, and drops it.
    async fn drop_rest(&self, mut body: Body) {
        let most = self.largest.saturating_mul(DROPPED_FACTOR);
        if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
            return;
        }
        let dropping = async {
            let mut dropped = 0_usize;
            while let Some(Ok(frame)) = body.frame().await {
                dropped = dropped.saturating_add(frame.data_ref().map_or(0, Bytes::len));
                if dropped > most {
                    break;
                }
            }
        };
        // A client that sends no more within the time is given up.
        drop(tokio::time::timeout(self.timeout, dropping).await);
    }

    async fn read_all(
        &self,
        body: &mut Body,
        announced: Option<usize>,
        charge: &mut Charge,
    ) -> Result<Bytes, BodyFault> {
        let mut collected = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return Err(BodyFault::Broken) };
            let Ok(piece) = frame.into_data() else { continue };
            let size = collected.len().saturating_add(piece.len());
            if size > self.largest {
                return Err(BodyFault::TooLarge);
            }
            charge.grow_to(size.saturating_mul(READ_FACTOR))?;
            // A small body comes in one piece, which need not be copied.
            if collected.is_empty() && Some(piece.len()) == announced {
                return Ok(piece);
            }
            if collected.capacity() < size {
                // Reserves at most twice the size that has arrived, whatever size was announced.
                let room = size.saturating_mul(2).min(announced.unwrap_or(usize::MAX).max(size));
                collected.reserve_exact(room.saturating_sub(collected.len()));
            }
            collected.extend_from_slice(&piece);
        }
        Ok(collected.into())
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
        Bodies::new(largest, Duration::from_millis(30), &MemoryBudget::new(together))
    }

    /// A body of unknown length that arrives in pieces. The last piece may never arrive.
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
    async fn a_body_that_does_not_end_times_out() {
        let bodies = bodies(ByteCount::kibibytes(1), ByteCount::mebibytes(1));
        let endless = Body::new(Pieces(vec![10], true));
        assert_eq!(bodies.read(endless).await.unwrap_err(), BodyFault::TooSlow);
    }

    #[tokio::test]
    async fn all_bodies_together_are_bounded() {
        let bodies = bodies(ByteCount::mebibytes(16), ByteCount::mebibytes(16));
        let two = bodies.read(Body::from(vec![1; 2 << 20])).await.unwrap();
        assert_eq!(bodies.read(Body::from(vec![1; 2 << 20])).await.unwrap_err(), BodyFault::NoRoom);
        assert_eq!(bodies.read(pieces(&[1 << 20, 1 << 20])).await.unwrap_err(), BodyFault::NoRoom);
        assert!(bodies.read(pieces(&[1 << 19, 1 << 19])).await.is_ok());
        assert!(bodies.read(Body::from(vec![1; 16 << 10])).await.is_ok(), "small ones always fit");
        drop(two);
        assert!(bodies.read(pieces(&[1 << 20, 1 << 20, 1 << 20])).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_that_is_announced_and_not_sent_costs_nothing() {
        let bodies = bodies(ByteCount::mebibytes(16), ByteCount::mebibytes(16));
        let endless = Body::new(Pieces(vec![10], true));
        let reading = bodies.read(endless);
        let reading = tokio::time::timeout(Duration::from_millis(10), reading);
        let others = async { bodies.read(Body::from(vec![1; 3 << 20])).await.is_ok() };
        let (_, is_read) = tokio::join!(reading, others);
        assert!(is_read);
        assert_eq!(bodies.budget.used(), ByteCount::bytes(0));
    }
}
