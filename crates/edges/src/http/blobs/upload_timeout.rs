//! The time that a client may take for an upload.
//!
//! Only waiting for the client counts. So a slow disk cuts no client off, and a slow client is cut
//! off although the disk is slow.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout};

use crate::net::body::BodyFault;

/// Bytes for which a client gets another second, as for taking answers.
const BYTES_PER_SECOND: u64 = 64 << 10;

/// The time that a client has taken so far.
#[derive(Debug)]
pub(crate) struct UploadTimeout {
    /// The time that it may take in any case, and the longest pause.
    base: Duration,
    waited: Duration,
    received: u64,
}

impl UploadTimeout {
    pub(crate) const fn starting_with(base: Duration) -> Self {
        Self { base, waited: Duration::ZERO, received: 0 }
    }

    /// Waits for the next bytes of a body; `None` at its end.
    pub(crate) async fn next(&mut self, body: &mut Body) -> Result<Option<Bytes>, BodyFault> {
        loop {
            let began = Instant::now();
            let frame = timeout(self.patience(), body.frame()).await;
            self.waited = self.waited.saturating_add(began.elapsed());
            match frame {
                Err(_) => return Err(BodyFault::TooSlow),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Err(BodyFault::Broken),
                Ok(Some(Ok(frame))) => {
                    // Trailers have no meaning here.
                    let Ok(bytes) = frame.into_data() else { continue };
                    let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                    self.received = self.received.saturating_add(more);
                    return Ok(Some(bytes));
                }
            }
        }
    }

    /// The time for the next bytes.
    fn patience(&self) -> Duration {
        let earned = Duration::from_secs(self.received / BYTES_PER_SECOND);
        let left = self.base.saturating_add(earned).saturating_sub(self.waited);
        left.min(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_secs(30);

    fn patience(waited: u64, received: u64) -> Duration {
        UploadTimeout { base: BASE, waited: Duration::from_secs(waited), received }.patience()
    }

    #[test]
    fn time_is_earned_by_bytes_and_lost_by_waiting() {
        assert_eq!(patience(0, 0), BASE);
        assert_eq!(patience(29, 1_000), Duration::from_secs(1));
        assert_eq!(patience(30, 65_535), Duration::ZERO);
        assert_eq!(patience(30, 65_536), Duration::from_secs(1));
        assert_eq!(patience(30, 1 << 30), BASE, "no pause is longer");
        assert_eq!(patience(u64::MAX, u64::MAX), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_pause_ends_an_upload() {
        let mut time = UploadTimeout::starting_with(Duration::from_millis(20));
        let mut silent = Body::new(Silent);
        assert_eq!(time.next(&mut silent).await, Err(BodyFault::TooSlow));
        assert!(time.waited >= Duration::from_millis(20));
    }

    struct Silent;

    impl axum::body::HttpBody for Silent {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }
}
