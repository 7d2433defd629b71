//! Calls on blobs over each store: the local one, and one in memory that is no disk.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::{Discovery, DiscoveryParts};
use crate::transfers::upload::UploadOrder;
use wardian_formats::protocol::methods::blobs::{
    CreateBlobResult, Encoding, ReadBlobParams, SampleMode,
};
use wardian_skills::registry::cursor::CursorKey;
use wardian_skills::registry::{Registry, RegistryConfig, TenantFolders, Watching};
use wardian_stores::blobs::testing::{DerivedIdKeys, MemoryBlobs};
use wardian_stores::blobs::{BlobStoreConfig, Blobs, LocalBlobStore};
use wardian_vocabulary::budget::{CallMemory, MemoryBudget};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobName, Digest, TenantId};
use wardian_vocabulary::quotas::{CallRates, TenantPolicy};
use wardian_vocabulary::units::ByteCount;

struct Place {
    discovery: Arc<Discovery>,
    budget: Arc<MemoryBudget>,
    _folder: TempDir,
}

/// A service over each store, of which a tenant may use 1 MiB.
fn places() -> [Place; 2] {
    let memory = |config| MemoryBlobs::new(config, Clock::System, Arc::new(DerivedIdKeys)).into();
    let local = |config| {
        let store = LocalBlobStore::open(config, Clock::System).unwrap();
        store.with_id_keys(Arc::new(DerivedIdKeys)).into()
    };
    [place(local), place(memory)]
}

fn place(blobs: impl FnOnce(BlobStoreConfig) -> Blobs) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let usual = BlobStoreConfig::at(folder.path().join("blobs"));
    let blobs = blobs(BlobStoreConfig { tenant_bytes: ByteCount::mebibytes(1), ..usual });
    let config = RegistryConfig {
        trust: Arc::default(),
        roots: Vec::new(),
        tenants: TenantFolders::default(),
        published: None,
        watching: Watching::default(),
        is_followed: false,
        cursor_key: CursorKey::from_bytes([1; 32]),
    };
    let registry = Arc::new(Registry::open(config, &[]).unwrap());
    let rates = CallRates::of(&TenantPolicy::NONE);
    let parts = DiscoveryParts { registry, blobs, rates, max_transfers: 2, published: None };
    let budget = MemoryBudget::new(ByteCount::mebibytes(16));
    Place { discovery: Discovery::new(parts), budget, _folder: folder }
}

impl Place {
    fn caller(&self, tenant: &str) -> Caller {
        let caller = Caller::known_by("test".to_owned(), CallMemory::new(&self.budget));
        Caller { tenant: TenantId::parse(tenant).unwrap(), ..caller }
    }

    async fn create(
        &self,
        tenant: &str,
        params: serde_json::Value,
    ) -> Result<CreateBlobResult, ServiceError> {
        let params = serde_json::from_value(params).unwrap();
        self.discovery.create_blob(&self.caller(tenant), params).await
    }

    async fn settles(&self) {
        for _ in 0..1_000 {
            if self.budget.used() == ByteCount::bytes(0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{} of memory are charged to no call", self.budget.used());
    }
}

#[tokio::test]
async fn blobs_are_created_read_named_listed_and_removed_over_any_store() {
    for place in places() {
        let caller = place.caller("acme");
        let text = json!({"content": "a,b\n1,2\n", "kind": "text/csv", "name": "sales.csv"});
        let text = place.create("acme", text).await.unwrap();
        assert_eq!(text.size_bytes, 8);
        let binary = json!({"content": "AAEC", "kind": "application/octet-stream"});
        let binary = place.create("acme", binary).await.unwrap();

        let read = async |mode, max_bytes| {
            let params = ReadBlobParams { blob_id: text.blob_id.to_string(), mode, max_bytes };
            place.discovery.read_blob(&caller, params).await.unwrap()
        };
        let head = read(SampleMode::SampleHead, Some(3)).await;
        assert_eq!((head.content.as_str(), head.truncated), ("a,b", true));
        assert_eq!(read(SampleMode::SampleTail, Some(4)).await.content, "1,2\n");
        let full = read(SampleMode::Full, None).await;
        assert_eq!((full.content.as_str(), full.encoding), ("a,b\n1,2\n", Encoding::Utf8));
        assert_eq!(full.name.unwrap().as_str(), "sales.csv");

        let transfers = &place.discovery.transfers;
        for order in [None, Some("created"), Some("name"), Some("size")] {
            let first = transfers.list(&caller, order, None, 1).await.unwrap();
            let cursor = first.next_cursor.clone().unwrap();
            let second = transfers.list(&caller, order, Some(&cursor), 1).await.unwrap();
            assert_eq!(second.next_cursor, None);
            let mut found: Vec<_> = first.blobs.into_iter().chain(second.blobs).collect();
            if matches!(order, Some("name" | "size")) {
                assert_eq!(found[0].id, text.blob_id, "{order:?}");
            }
            found.sort_by_key(|listed| listed.size);
            assert_eq!((&found[0].id, &found[1].id), (&binary.blob_id, &text.blob_id));
        }
        let verified = transfers.verify(&caller, text.blob_id.as_str(), None).await.unwrap();
        assert!(verified.is_intact);

        let other = place.caller("beta");
        for refused in [
            transfers.remove(&other, text.blob_id.as_str()).await,
            transfers.open(&other, text.blob_id.as_str()).await.map(drop),
            transfers.describe(&other, text.blob_id.as_str()).await.map(drop),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::BlobNotFound);
        }
        transfers.remove(&caller, text.blob_id.as_str()).await.unwrap();
        let gone = transfers.describe(&caller, text.blob_id.as_str()).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::BlobNotFound);
        assert_eq!(transfers.list(&caller, None, None, 9).await.unwrap().blobs.len(), 1);
        drop((caller, other));
        place.settles().await;
    }
}

#[tokio::test]
async fn content_is_uploaded_and_downloaded_in_pieces_over_any_store() {
    for place in places() {
        let content: Vec<u8> = (0..=250).cycle().take(300_001).collect();
        let name = BlobName::parse("numbers.bin").unwrap();
        let order = UploadOrder {
            file_name: Some(&name),
            digest: Some(*Digest::of(&content).as_bytes()),
            ..UploadOrder::default()
        };
        let transfers = &place.discovery.transfers;
        let mut upload = transfers.begin_upload(&place.caller("acme"), order).await.unwrap();
        for piece in content.chunks(100_000) {
            assert!(upload.append(piece.to_vec()).await.unwrap().is_empty());
        }
        let stored = upload.finish().await.unwrap();
        assert!(stored.is_new);
        let id = stored.blob_id.as_str();
        let download = transfers.open(&place.caller("acme"), id).await.unwrap();
        assert_eq!(download.blob.name.as_ref(), Some(&name));
        // What is open is read to its end.
        transfers.remove(&place.caller("acme"), id).await.unwrap();
        let mut read: Vec<u8> = Vec::new();
        while read.len() < content.len() {
            let left = content.len() - read.len();
            read.extend_from_slice(download.read(read.len() as u64, left).await.unwrap().as_ref());
        }
        assert!(read == content);
        drop(download);

        let wrong = UploadOrder { digest: Some([7; 32]), ..UploadOrder::default() };
        let mut upload = transfers.begin_upload(&place.caller("acme"), wrong).await.unwrap();
        upload.append(content).await.unwrap();
        let refused = upload.finish().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidParams);
        assert!(refused.to_string().contains("nothing was stored"), "{refused}");
        let listed = transfers.list(&place.caller("acme"), None, None, 9).await.unwrap();
        assert!(listed.blobs.is_empty());
        place.settles().await;
    }
}

/// Begins an upload, and leaves after this time.
async fn leave_within(place: Arc<Place>, patience: Duration) {
    let order = UploadOrder { kind: Some("a/b"), ..UploadOrder::default() };
    let begun = place.discovery.transfers.begin_upload(&place.caller("acme"), order).await;
    let Ok(mut upload) = begun else { return };
    let writing = async {
        for _ in 0..3 {
            upload.append(vec![7; 100_000]).await.unwrap();
        }
    };
    tokio::time::timeout(patience, writing).await.ok();
}

/// Whenever callers leave, the permits and the memory of their operations come back, and all
/// room of the quota with them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_leave_take_no_room_and_no_transfer_with_them() {
    for place in places() {
        let place = Arc::new(place);
        let mut tasks = JoinSet::new();
        for number in 0..24_u64 {
            tasks.spawn(leave_within(Arc::clone(&place), Duration::from_micros(number * 40)));
        }
        tasks.join_all().await;
        place.settles().await;
        let content = "x".repeat(1 << 20);
        let whole = json!({"content": content, "kind": "text/plain"});
        place.create("acme", whole).await.unwrap();
        let order = || UploadOrder { kind: Some("a/b"), ..UploadOrder::default() };
        let transfers = &place.discovery.transfers;
        let caller = place.caller("beta");
        let first = transfers.begin_upload(&caller, order()).await.unwrap();
        let second = transfers.begin_upload(&caller, order()).await.unwrap();
        let third = transfers.begin_upload(&caller, order()).await.unwrap_err();
        assert_eq!(third.kind(), ErrorKind::Overloaded);
        drop((first, second));
    }
}
