//! The images among the blobs of a run, as contents that models see.

use rmcp::model::ContentBlock;

use crate::mcp::wire::exchange::McpExchange;
use wardian_service::{BlobBytes, Caller, Discovery, PIECE, Transfers as _};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The kinds of images that models see.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Most images of one answer.
const MAX_IMAGES: usize = 4;

/// Maximum number of blobs of a run that are looked at.
const MAX_LOOKED_AT: usize = 16;

/// Maximum number of bytes of one image, and of all images of an answer.
const MAX_IMAGE: ByteCount = ByteCount::mebibytes(1);
const MAX_TOGETHER: ByteCount = ByteCount::mebibytes(2);

/// Shows the images among these blobs, the first ones if there are many. What cannot be shown is left
/// out: the result names all blobs.
pub(crate) async fn shown(
    service: &Discovery,
    exchange: &McpExchange,
    blobs: &[BlobId],
) -> Vec<ContentBlock> {
    let mut shown = Vec::new();
    let mut room = MAX_TOGETHER.as_u64();
    for id in blobs.iter().take(MAX_LOOKED_AT) {
        if shown.len() >= MAX_IMAGES {
            break;
        }
        let most = room.min(MAX_IMAGE.as_u64());
        if let Some((image, size)) = read(service, exchange, id.to_string().as_str(), most).await {
            room = room.saturating_sub(size);
            shown.push(image);
        }
    }
    shown
}

async fn read(
    service: &Discovery,
    exchange: &McpExchange,
    id: &str,
    most: u64,
) -> Option<(ContentBlock, u64)> {
    let caller = &exchange.caller;
    let described = service.transfers().describe(caller, id).await.ok()?;
    let kind = KINDS.into_iter().find(|kind| *kind == described.kind)?;
    if described.size > most {
        return None;
    }
    let pieces = content(service, caller, id).await.ok()?;
    if kind_of(pieces.first()?.as_ref()) != Some(kind) {
        return None;
    }
    let text = exchange.base64(pieces.iter().map(AsRef::as_ref)).ok()?;
    Some((ContentBlock::image(text, kind), described.size))
}

/// The kind of an image by its first bytes. What a program calls an image may be none, and one block
/// that a model cannot read spoils a whole conversation.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Reads a whole blob. Its size was found to be small before.
pub(crate) async fn content(
    service: &Discovery,
    caller: &Caller,
    id: &str,
) -> Result<Vec<BlobBytes>, wardian_service::ServiceError> {
    let download = service.transfers().open(caller, id).await?;
    let size = download.blob.size;
    caller.memory.reserve(ByteCount::bytes(size))?;
    // The length of a piece is a multiple of three, as the groups of base64 are.
    let step = PIECE.saturating_sub(PIECE % 3);
    let mut pieces = Vec::new();
    let mut offset = 0;
    while offset < size {
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = left.min(step);
        pieces.push(download.read(offset, length).await?);
        offset = offset.saturating_add(ByteCount::from(length).as_u64());
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_first_bytes() {
        let known: [(&[u8], &str); 4] = [
            (b"\x89PNG\r\n\x1a\n\0", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        ];
        for (bytes, kind) in known {
            assert_eq!(kind_of(bytes), Some(kind));
            assert_eq!(kind_of(&bytes[1..]), None);
        }
        for other in [&b""[..], b"<script>", b"GIF88a", b"RIFF\x24\0\0\0WAVEfmt "] {
            assert_eq!(kind_of(other), None);
        }
    }
}
