//! The body of an answer with the content of a blob or a file, read piece by piece while it is sent.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tracing::error;

use wardian_service::{BlobBytes, BlobDownload, FileDownload, PIECE, ServiceError};
use wardian_vocabulary::error::CauseChain;

type Reading = Pin<Box<dyn Future<Output = Result<BlobBytes, ServiceError>> + Send>>;

/// Content that is sent piece by piece.
pub(crate) trait Downloadable: Send + Sync + 'static {
    /// Reads `length` bytes at `offset`, at most [`PIECE`].
    fn read_piece(
        &self,
        offset: u64,
        length: usize,
    ) -> impl Future<Output = Result<BlobBytes, ServiceError>> + Send;
}

impl Downloadable for BlobDownload {
    async fn read_piece(&self, offset: u64, length: usize) -> Result<BlobBytes, ServiceError> {
        self.read(offset, length).await
    }
}

impl Downloadable for FileDownload {
    async fn read_piece(&self, offset: u64, length: usize) -> Result<BlobBytes, ServiceError> {
        self.read(offset, length).await
    }
}

/// The bytes of a range of a content.
///
/// The next piece is read when the connection asks for it, which it does once it has handed most of
/// the last one to the system. A piece that cannot be read breaks the connection, so that no client
/// takes the beginning for the whole.
pub(crate) struct ContentBody<C> {
    download: Arc<C>,
    rest: Range<u64>,
    reading: Option<Reading>,
    request_id: String,
}

impl<C> ContentBody<C> {
    pub(crate) fn new(download: C, range: Range<u64>, request_id: String) -> Self {
        Self { download: Arc::new(download), rest: range, reading: None, request_id }
    }

    fn left(&self) -> u64 {
        self.rest.end.saturating_sub(self.rest.start)
    }
}

impl<C: Downloadable> Body for ContentBody<C> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            return Poll::Ready(None);
        }
        let (offset, left) = (this.rest.start, this.left());
        let reading = this.reading.get_or_insert_with(|| {
            let download = Arc::clone(&this.download);
            let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            Box::pin(async move { download.read_piece(offset, length).await })
        });
        let read = ready!(reading.as_mut().poll(cx));
        this.reading = None;
        match read {
            Ok(bytes) => {
                let bytes = Bytes::from_owner(bytes);
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                this.rest.start = offset.saturating_add(length);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Err(fault) => {
                let causes = CauseChain(&fault);
                error!(request.id = this.request_id, "a content could not be sent: {causes}");
                this.rest.start = this.rest.end;
                Poll::Ready(Some(Err(io::Error::other("the content cannot be read"))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
