//! The pictures of a notebook: which of the blobs that cells displayed are in it, and why others are not.
//!
//! INVARIANT(pictures-are-bounded): a notebook has at most [`MAX_PICTURES`] pictures, with at most
//! [`MAX_PICTURE`] bytes each and [`MAX_ALL`] together.

use std::borrow::Cow;

use tokio::sync::OwnedSemaphorePermit;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::transfers::BlobTransfers;
use crate::transfers::download::BlobDownload;
use wardian_stores::blobs::BlobError;
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The kinds of pictures that notebooks have as base64.
const KINDS: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// Maximum number of pictures of a notebook. Each is an open file while the notebook is sent.
const MAX_PICTURES: usize = 256;

/// Maximum number of bytes of one picture.
const MAX_PICTURE: ByteCount = ByteCount::mebibytes(8);

/// Maximum number of bytes of all pictures, which are verified before the notebook is sent.
const MAX_ALL: ByteCount = ByteCount::mebibytes(32);

/// What becomes of a form of an object that is a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlobFate {
    /// It is in the notebook: the picture with this number.
    Embedded(usize),
    /// The notebook names it, for this reason.
    Named(Cow<'static, str>),
}

/// The blobs of a notebook.
#[derive(Debug)]
pub(super) struct ChosenPictures {
    /// What becomes of each blob, in the order of the cells.
    pub(super) fates: Vec<BlobFate>,
    /// The pictures, open for reading.
    pub(super) pictures: Vec<OpenPicture>,
}

/// A picture that is open for reading.
#[derive(Debug)]
pub(super) struct OpenPicture {
    pub(super) blob: BlobDownload,
    /// Its place among the files that may be open.
    pub(super) _place: OwnedSemaphorePermit,
}

impl ChosenPictures {
    /// Chooses among the blobs that cells displayed, each with its MIME type.
    ///
    /// # Errors
    ///
    /// The server is busy with other downloads, its memory is used up, or the store of blobs fails. A blob
    /// that does not exist any more, or is damaged, is not an error.
    pub(super) async fn of<'a>(
        caller: &Caller,
        blobs: &BlobTransfers,
        displayed: impl Iterator<Item = (&'a str, &'a BlobId)> + Send,
    ) -> Result<Self, ServiceError> {
        let (mut fates, mut pictures) = (Vec::new(), Vec::new());
        let (mut permit, mut looked_at, mut bytes) = (None, 0_usize, 0_u64);
        let may_read = caller.rights.contains(Right::Blobs);
        for (kind, id) in displayed {
            let refused = if !KINDS.contains(&kind) {
                Some("only pictures are copied from the store of blobs")
            } else if !may_read {
                Some("the key that exported it lacks the scope `blobs`")
            } else if looked_at == MAX_PICTURES {
                Some("a notebook has at most 256 pictures")
            } else {
                None
            };
            if let Some(reason) = refused {
                fates.push(BlobFate::Named(advised(reason, id)));
                continue;
            }
            looked_at = looked_at.saturating_add(1);
            let size = match blobs.describe(caller, id.as_str()).await {
                Ok(described) => described.size,
                Err(error) => {
                    fates.push(lost(error)?);
                    continue;
                }
            };
            if let Some(reason) = too_large(size, bytes) {
                fates.push(BlobFate::Named(advised(reason, id)));
                continue;
            }
            let held = match permit.take() {
                Some(held) => held,
                None => blobs.begin_download(caller)?,
            };
            let place = caller.memory.open_blobs(1)?;
            match blobs.open_within(caller, id.clone(), &held).await {
                Ok(blob) => {
                    bytes = bytes.saturating_add(blob.blob.size);
                    fates.push(BlobFate::Embedded(pictures.len()));
                    pictures.push(OpenPicture { blob, _place: place });
                }
                Err(error) => fates.push(lost(error)?),
            }
            permit = Some(held);
        }
        Ok(Self { fates, pictures })
    }
}

/// Why a picture of this size does not follow others that have so many bytes.
fn too_large(size: u64, before: u64) -> Option<&'static str> {
    if size > MAX_PICTURE.as_u64() {
        Some("a picture in a notebook has at most 8 MiB")
    } else if size.saturating_add(before) > MAX_ALL.as_u64() {
        Some("the pictures in a notebook have at most 32 MiB together")
    } else {
        None
    }
}

/// The fate of a blob that cannot be opened, unless the store itself fails.
fn lost(error: ServiceError) -> Result<BlobFate, ServiceError> {
    match error {
        ServiceError::NoSuchBlob { .. } | ServiceError::Blob(BlobError::NotFound { .. }) => {
            Ok(BlobFate::Named("its blob has expired or was removed".into()))
        }
        ServiceError::Blob(BlobError::Damaged { .. }) => {
            Ok(BlobFate::Named("its blob is damaged".into()))
        }
        error => Err(error),
    }
}

fn advised(reason: &str, id: &BlobId) -> Cow<'static, str> {
    format!("{reason}; `wardian blobs get {id}` saves it").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_stores::blobs::{BlobStoreConfig, LocalBlobStore};
    use wardian_stores::tenants::Rights;
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::ErrorKind;
    use wardian_vocabulary::ids::Digest;

    use crate::transfers::upload::UploadOrder;

    async fn stored(blobs: &BlobTransfers, content: Vec<u8>) -> BlobId {
        let order = UploadOrder { kind: Some("image/png"), ..UploadOrder::default() };
        let mut upload = blobs.begin_upload(&Caller::local("test"), order).await.unwrap();
        upload.append(content).await.unwrap();
        upload.finish().await.unwrap().blob_id
    }

    #[tokio::test]
    async fn pictures_are_bounded_and_others_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let config = BlobStoreConfig::at(folder.path().join("blobs"));
        let store = LocalBlobStore::open(config, Clock::System).unwrap();
        let blobs = BlobTransfers::new(store.into(), 2);
        let caller = Caller::local("test");
        let small = stored(&blobs, vec![7; 100]).await;
        let large = stored(&blobs, vec![7; (8 << 20) + 1]).await;
        let gone = BlobId::of_digest(&Digest::of(b"gone"));

        let displayed = [
            ("image/png", &small),
            ("text/html", &small),
            ("image/png", &large),
            ("image/jpeg", &gone),
        ];
        let chosen = ChosenPictures::of(&caller, &blobs, displayed.into_iter()).await.unwrap();
        assert_eq!(chosen.pictures.len(), 1);
        let reason = |fate: &BlobFate| match fate {
            BlobFate::Named(reason) => reason.to_string(),
            BlobFate::Embedded(number) => number.to_string(),
        };
        let [first, html, large, gone] = chosen.fates.as_slice() else { panic!("{chosen:?}") };
        assert_eq!(reason(first), "0");
        assert!(reason(html).contains(&format!("`wardian blobs get {small}`")));
        assert!(reason(large).contains("at most 8 MiB"));
        assert_eq!(reason(gone), "its blob has expired or was removed");
        drop(chosen);

        let many = vec![("image/png", &small); MAX_PICTURES + 1];
        let chosen = ChosenPictures::of(&caller, &blobs, many.into_iter()).await.unwrap();
        assert_eq!(chosen.pictures.len(), MAX_PICTURES, "one permit is enough for all");
        assert!(reason(chosen.fates.last().unwrap()).contains("at most 256"));
        drop(chosen);
        assert_eq!(too_large(1, 32 << 20).map(|reason| reason.contains("32 MiB")), Some(true));

        let other = Caller { rights: Rights::NONE.with(Right::Code), ..Caller::local("test") };
        let one = [("image/png", &small)];
        let chosen = ChosenPictures::of(&other, &blobs, one.into_iter()).await.unwrap();
        assert!(chosen.pictures.is_empty() && reason(&chosen.fates[0]).contains("scope `blobs`"));

        let _busy =
            [blobs.begin_download(&caller).unwrap(), blobs.begin_download(&caller).unwrap()];
        let one = [("image/png", &small)];
        let refused = ChosenPictures::of(&caller, &blobs, one.into_iter()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Overloaded);
    }
}
