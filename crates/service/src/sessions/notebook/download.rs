//! A notebook on its way to a client: its text, with pictures that are read piece by piece.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use data_encoding::BASE64;

use crate::error::ServiceError;
use crate::sessions::notebook::pictures::OpenPicture;
use crate::transfers::download::PIECE;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::units::ByteCount;

/// Digits of the number of a picture behind a mark.
const DIGITS: usize = 4;

/// Bytes of a picture that are read at once: a multiple of three, so that the texts of all pieces are one
/// text of base64.
const PICTURE_PIECE: usize = PIECE / 4 * 3;

/// A notebook that is sent.
pub struct NotebookDownload {
    text: Arc<String>,
    parts: VecDeque<NotebookPart>,
    size: u64,
    memory: CallMemory,
}

/// What is left of a notebook.
#[derive(Debug)]
enum NotebookPart {
    /// This part of the text.
    Text(Range<usize>),
    /// A picture, from this byte on.
    Picture(Box<OpenPicture>, u64),
}

/// Bytes of a notebook. They are charged to the call until they are dropped.
pub struct NotebookPiece {
    text: Arc<String>,
    range: Range<usize>,
    _memory: CallMemory,
}

impl AsRef<[u8]> for NotebookPiece {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes().get(self.range.clone()).unwrap_or_default()
    }
}

/// Prints no text: it comes from programs and must not reach a log.
impl fmt::Debug for NotebookPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NotebookPiece").field(&self.range.len()).finish()
    }
}

/// Prints no text, as above.
impl fmt::Debug for NotebookDownload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotebookDownload").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// The text in the place of the picture with this number.
pub(super) fn mark_of(mark: &str, number: usize) -> String {
    format!("{mark}{number:0DIGITS$}")
}

impl NotebookDownload {
    /// A notebook with this text, in which marks stand for pictures. A picture whose mark is not in the text
    /// is not sent.
    pub(super) fn new(
        text: String,
        mark: &str,
        pictures: Vec<OpenPicture>,
        memory: CallMemory,
    ) -> Self {
        let mut pictures: Vec<_> = pictures.into_iter().map(Some).collect();
        let (mut parts, mut size, mut begin) = (VecDeque::new(), 0_u64, 0);
        let mut add_text = |parts: &mut VecDeque<NotebookPart>, range: Range<usize>| {
            size = size.saturating_add(ByteCount::from(range.len()).as_u64());
            parts.push_back(NotebookPart::Text(range));
        };
        let mut encoded = 0_u64;
        for (at, _) in text.match_indices(mark) {
            let behind = at.saturating_add(mark.len());
            let end = behind.saturating_add(DIGITS);
            let number = text.get(behind..end).and_then(|digits| digits.parse::<usize>().ok());
            let picture = number.and_then(|number| pictures.get_mut(number)?.take());
            if let Some(picture) = picture {
                add_text(&mut parts, begin..at);
                encoded = encoded.saturating_add(encoded_size(picture.blob.blob.size));
                parts.push_back(NotebookPart::Picture(Box::new(picture), 0));
                begin = end;
            }
        }
        add_text(&mut parts, begin..text.len());
        let size = size.saturating_add(encoded);
        Self { text: Arc::new(text), parts, size, memory }
    }

    /// The number of its bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    ///
    /// A picture cannot be read. What was sent is not a whole notebook then.
    pub async fn next_piece(&mut self) -> Result<Option<NotebookPiece>, ServiceError> {
        loop {
            let (text, range) = match self.parts.front_mut() {
                None => return Ok(None),
                Some(NotebookPart::Text(range)) => {
                    let range = range.clone();
                    self.parts.pop_front();
                    (Arc::clone(&self.text), range)
                }
                Some(NotebookPart::Picture(picture, offset)) => {
                    let left = picture.blob.blob.size.saturating_sub(*offset);
                    let length = usize::try_from(left).unwrap_or(PICTURE_PIECE).min(PICTURE_PIECE);
                    if length == 0 {
                        self.parts.pop_front();
                        continue;
                    }
                    let bytes = picture.blob.read(*offset, length).await?;
                    *offset = offset.saturating_add(ByteCount::from(length).as_u64());
                    let text = BASE64.encode(bytes.as_ref());
                    let range = 0..text.len();
                    (Arc::new(text), range)
                }
            };
            if !range.is_empty() {
                return Ok(Some(NotebookPiece { text, range, _memory: self.memory.clone() }));
            }
        }
    }
}

/// Bytes of so many bytes as base64.
const fn encoded_size(size: u64) -> u64 {
    size.div_ceil(3).saturating_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::transfers::BlobTransfers;
    use crate::transfers::upload::UploadOrder;
    use wardian_stores::blobs::{BlobStoreConfig, LocalBlobStore};
    use wardian_vocabulary::clock::Clock;

    async fn whole(mut notebook: NotebookDownload) -> String {
        let mut text = String::new();
        while let Some(piece) = notebook.next_piece().await.unwrap() {
            text.push_str(std::str::from_utf8(piece.as_ref()).unwrap());
        }
        text
    }

    #[tokio::test]
    async fn pictures_stand_where_their_marks_are() {
        let folder = tempfile::tempdir().unwrap();
        let config = BlobStoreConfig::at(folder.path().join("blobs"));
        let store = LocalBlobStore::open(config, Clock::System).unwrap();
        let blobs = BlobTransfers::new(store.into(), 2);
        let caller = Caller::local("test");
        let contents: [Vec<u8>; 3] =
            [(0..=250).cycle().take(200_000).collect(), b"ab".to_vec(), Vec::new()];
        let permit = blobs.begin_download(&caller).unwrap();
        let mut pictures = Vec::new();
        for content in &contents {
            let order = UploadOrder { kind: Some("image/png"), ..UploadOrder::default() };
            let mut upload = blobs.begin_upload(&caller, order).await.unwrap();
            upload.append(content.clone()).await.unwrap();
            let id = upload.finish().await.unwrap().blob_id;
            let blob = blobs.open_within(&caller, id, &permit).await.unwrap();
            let place = caller.memory.open_blobs(1).unwrap();
            pictures.push(OpenPicture { blob, _place: place });
        }
        let text = format!(
            "[\"{}\",\"{}\",\"{}\",\"{}\"]",
            mark_of("mark", 1),
            mark_of("mark", 0),
            mark_of("mark", 2),
            mark_of("mark", 7)
        );
        let memory = CallMemory::unlimited();
        let notebook = NotebookDownload::new(text, "mark", pictures, memory);
        let size = notebook.size();
        let sent = whole(notebook).await;
        let [large, small, _] = contents.map(|content| BASE64.encode(&content));
        assert_eq!(sent, format!("[\"{small}\",\"{large}\",\"\",\"mark0007\"]"));
        assert_eq!(size, sent.len() as u64);
    }
}
