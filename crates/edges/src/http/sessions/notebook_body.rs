//! The body of an answer with a notebook, whose pictures are read while it is sent.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tracing::error;

use wardian_service::{NotebookDownload, NotebookPiece, ServiceError};
use wardian_vocabulary::error::CauseChain;

/// A notebook, and its next bytes.
type Read = (NotebookDownload, Result<Option<NotebookPiece>, ServiceError>);

/// The bytes of a notebook.
///
/// The next piece is read when the connection asks for it. One that cannot be read breaks the connection, so
/// that no client takes the beginning for the whole.
pub(crate) struct NotebookBody {
    notebook: Option<NotebookDownload>,
    reading: Option<Pin<Box<dyn Future<Output = Read> + Send>>>,
    left: u64,
    request_id: String,
}

impl NotebookBody {
    pub(crate) fn new(notebook: NotebookDownload, request_id: String) -> Self {
        Self { left: notebook.size(), notebook: Some(notebook), reading: None, request_id }
    }
}

impl Body for NotebookBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        if let Some(mut notebook) = this.notebook.take() {
            this.reading = Some(Box::pin(async move {
                let piece = notebook.next_piece().await;
                (notebook, piece)
            }));
        }
        let Some(reading) = this.reading.as_mut() else { return Poll::Ready(None) };
        let (notebook, read) = ready!(reading.as_mut().poll(cx));
        this.reading = None;
        match read {
            Ok(Some(piece)) => {
                let bytes = Bytes::from_owner(piece);
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                this.left = this.left.saturating_sub(length);
                this.notebook = Some(notebook);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Ok(None) => Poll::Ready(None),
            Err(fault) => {
                let causes = CauseChain(&fault);
                error!(request.id = this.request_id, "a notebook could not be sent: {causes}");
                Poll::Ready(Some(Err(io::Error::other("a picture cannot be read"))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
