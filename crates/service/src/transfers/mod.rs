//! Transfers blobs as streams, lists them, removes and verifies them, for the edges.
//!
//! A transfer holds one buffer of the gateway's memory, which is charged to the call for as long as
//! the transfer takes. No thread waits for a client.
//!
//! INVARIANT(bounded-transfers): at most as many uploads, and as many downloads, are in progress as
//! the configuration allows. Each counts until its last operation has finished.

pub(crate) mod catalogue;
pub(crate) mod download;
pub(crate) mod upload;

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use wardian_stores::blobs::Blobs;
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::BlobId;

/// The interface of blobs as streams for the edges.
pub trait Transfers: Send + Sync + 'static {
    /// The blobs.
    fn transfers(&self) -> &BlobTransfers;
}

impl<T: Transfers> Transfers for Arc<T> {
    fn transfers(&self) -> &BlobTransfers {
        T::transfers(self)
    }
}

/// Most lists at one time. A list reads all names in a folder.
const LISTS: usize = 4;

/// Transfers the blobs of a store.
#[derive(Debug, Clone)]
pub struct BlobTransfers {
    blobs: Blobs,
    uploads: Arc<Semaphore>,
    downloads: Arc<Semaphore>,
    /// Lists that read a folder of blobs at one time; further ones wait.
    lists: Arc<Semaphore>,
}

/// The right to transfer one blob, or the content of a file. Operations of the transfer keep it too.
pub(crate) type TransferPermit = Arc<OwnedSemaphorePermit>;

impl BlobTransfers {
    /// Transfers of the blobs in `blobs`: at most `most` uploads and `most` downloads at one time.
    #[must_use]
    pub fn new(blobs: Blobs, most: usize) -> Self {
        let permits = || Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
        let lists = Arc::new(Semaphore::new(LISTS));
        Self { blobs, uploads: permits(), downloads: permits(), lists }
    }

    /// Begins to send the content of something else, which counts among the downloads.
    pub(crate) fn begin_other_download(&self) -> Result<TransferPermit, ServiceError> {
        begin(&self.downloads)
    }

    /// Begins to take the content of something else, which counts among the uploads.
    pub(crate) fn begin_other_upload(&self) -> Result<TransferPermit, ServiceError> {
        begin(&self.uploads)
    }
}

fn begin(transfers: &Arc<Semaphore>) -> Result<TransferPermit, ServiceError> {
    let permit = Arc::clone(transfers).try_acquire_owned();
    permit.map(Arc::new).map_err(|_full| ServiceError::TooManyTransfers)
}

/// Checks that the caller may use blobs, and parses an id. A text that is not an id names no blob.
fn find(caller: &Caller, id: &str) -> Result<BlobId, ServiceError> {
    ensure_has(caller, Right::Blobs)?;
    BlobId::parse(id).map_err(|_invalid| ServiceError::NoSuchBlob { id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;

    use super::download::PIECE;
    use super::upload::UploadOrder;
    use super::*;
    use wardian_stores::blobs::{BlobStoreConfig, LocalBlobStore};
    use wardian_stores::tenants::Rights;
    use wardian_vocabulary::budget::{CallMemory, MemoryBudget};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::ErrorKind;
    use wardian_vocabulary::units::ByteCount;

    struct Place {
        transfers: BlobTransfers,
        budget: Arc<MemoryBudget>,
        folder: TempDir,
    }

    fn place(change: impl FnOnce(&mut BlobStoreConfig)) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let mut config = BlobStoreConfig::at(folder.path().join("blobs"));
        change(&mut config);
        let store = LocalBlobStore::open(config, Clock::System).unwrap();
        let transfers = BlobTransfers::new(store.into(), 2);
        Place { transfers, budget: MemoryBudget::new(ByteCount::mebibytes(8)), folder }
    }

    impl Place {
        fn caller(&self) -> Caller {
            Caller::known_by("test".to_owned(), CallMemory::new(&self.budget))
        }

        async fn upload(&self, content: &[u8]) -> Result<String, ServiceError> {
            let order = UploadOrder { kind: Some("a/b"), ..UploadOrder::default() };
            let mut upload = self.transfers.begin_upload(&self.caller(), order).await?;
            for piece in content.chunks(1_000) {
                upload.append(piece.to_vec()).await?;
            }
            upload.finish().await.map(|stored| stored.blob_id.to_string())
        }

        fn drafts(&self) -> usize {
            std::fs::read_dir(self.folder.path().join("blobs/drafts")).unwrap().count()
        }

        async fn settles(&self) {
            for _ in 0..1_000 {
                if self.drafts() == 0 && self.budget.used() == ByteCount::bytes(0) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            panic!("{} drafts and {} are left", self.drafts(), self.budget.used());
        }
    }

    #[tokio::test]
    async fn content_goes_in_and_comes_out_in_pieces() {
        let place = place(|_| ());
        let content: Vec<u8> = (0..=250).cycle().take(300_001).collect();
        let id = place.upload(&content).await.unwrap();
        let download = place.transfers.open(&place.caller(), &id).await.unwrap();
        let mut read: Vec<u8> = Vec::new();
        while read.len() < content.len() {
            let left = (content.len() - read.len()).min(PIECE);
            read.extend_from_slice(download.read(read.len() as u64, left).await.unwrap().as_ref());
        }
        assert_eq!(read, content);
        assert!(download.read(300_000, 2).await.is_err(), "there is one byte more");
        drop(download);
        place.settles().await;
    }

    #[tokio::test]
    async fn an_upload_that_is_given_up_leaves_nothing() {
        let place = place(|_| ());
        let order = UploadOrder { kind: Some("a/b"), ..UploadOrder::default() };
        let mut upload = place.transfers.begin_upload(&place.caller(), order).await.unwrap();
        upload.append(vec![7; 5_000]).await.unwrap();
        assert_eq!(place.drafts(), 1);
        drop(upload);
        place.settles().await;
    }

    #[tokio::test]
    async fn bounded_transfers_refuse_a_third_of_two() {
        let place = place(|_| ());
        let id = place.upload(b"abc").await.unwrap();
        let order = || UploadOrder { kind: Some("a/b"), ..UploadOrder::default() };
        let caller = place.caller();
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(place.transfers.begin_upload(&caller, order()).await.unwrap());
        }
        let refused = place.transfers.begin_upload(&caller, order()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Overloaded);
        let mut open = Vec::new();
        for _ in 0..2 {
            open.push(place.transfers.open(&caller, &id).await.unwrap());
        }
        assert!(place.transfers.open(&caller, &id).await.is_err());
        assert!(place.transfers.describe(&caller, &id).await.is_ok(), "this opens nothing");
        drop((held, open));
        assert!(place.transfers.open(&caller, &id).await.is_ok());
        drop(caller);
        place.settles().await;
    }

    #[tokio::test]
    async fn a_transfer_without_room_in_memory_is_refused() {
        let place = place(|_| ());
        let id = place.upload(b"abc").await.unwrap();
        let all = CallMemory::new(&place.budget);
        all.reserve(ByteCount::mebibytes(7)).unwrap();
        let order = UploadOrder { kind: Some("a/b"), ..UploadOrder::default() };
        let caller = place.caller();
        let refused = place.transfers.begin_upload(&caller, order).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Overloaded);
        assert!(place.transfers.open(&caller, &id).await.is_err());
        assert_eq!(place.drafts(), 0);
    }

    #[tokio::test]
    async fn limits_hold_before_and_while_content_arrives() {
        let place = place(|config| {
            config.blob_max = ByteCount::bytes(5_000);
            config.tenant_bytes = ByteCount::bytes(8_000);
        });
        let announced = |size| UploadOrder {
            kind: Some("a/b"),
            announced: Some(ByteCount::bytes(size)),
            ..UploadOrder::default()
        };
        let begin = |size| {
            let (transfers, caller) = (place.transfers.clone(), place.caller());
            async move { transfers.begin_upload(&caller, announced(size)).await.map(drop) }
        };
        assert_eq!(begin(5_001).await.unwrap_err().kind(), ErrorKind::TooLarge);
        assert_eq!(begin(u64::MAX).await.unwrap_err().kind(), ErrorKind::TooLarge);
        begin(5_000).await.unwrap();
        assert_eq!(place.upload(&[1; 5_001]).await.unwrap_err().kind(), ErrorKind::TooLarge);
        place.upload(&[1; 5_000]).await.unwrap();
        assert_eq!(begin(3_001).await.unwrap_err().kind(), ErrorKind::QuotaExceeded);
        assert_eq!(place.upload(&[2; 3_001]).await.unwrap_err().kind(), ErrorKind::QuotaExceeded);
        place.upload(&[2; 3_000]).await.unwrap();
        place.settles().await;
    }

    #[tokio::test]
    async fn a_wrong_digest_stores_nothing() {
        let place = place(|_| ());
        let right = wardian_vocabulary::ids::Digest::of(b"abc");
        for (digest, is_right) in
            [(right, true), (wardian_vocabulary::ids::Digest::of(b"abd"), false)]
        {
            let order = UploadOrder { digest: Some(*digest.as_bytes()), ..UploadOrder::default() };
            let mut upload = place.transfers.begin_upload(&place.caller(), order).await.unwrap();
            upload.append(b"abc".to_vec()).await.unwrap();
            let stored = upload.finish().await;
            assert_eq!(stored.is_ok(), is_right);
            if let Err(error) = stored {
                assert_eq!(error.kind(), ErrorKind::InvalidParams);
            }
        }
        let listed = place.transfers.list(&place.caller(), None, None, 10).await.unwrap();
        assert_eq!(listed.blobs.len(), 1);
        place.settles().await;
    }

    #[tokio::test]
    async fn a_caller_without_the_right_does_nothing() {
        let place = place(|_| ());
        let id = place.upload(b"abc").await.unwrap();
        let caller = Caller { rights: Rights::NONE.with(Right::Execute), ..place.caller() };
        let transfers = &place.transfers;
        let order = UploadOrder::default();
        let refusals = [
            transfers.begin_upload(&caller, order).await.map(drop),
            transfers.open(&caller, &id).await.map(drop),
            transfers.describe(&caller, &id).await.map(drop),
            transfers.list(&caller, None, None, 1).await.map(drop),
            transfers.remove(&caller, &id).await,
            transfers.verify(&caller, &id, None).await.map(drop),
        ];
        for refused in refusals {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Forbidden);
        }
    }
}
