//! The table of blobs in an object store, in each database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::blobs::TenantUsage;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::remote::rows::{BlobRow, BlobRowStore, ReservedRow, RowState};
use crate::database::engine::DatabasePlace;
use crate::database::open_blob_rows;
use crate::database::testing::PostgresServer;
use crate::database::tests::tenant;
use wardian_vocabulary::ids::{BlobId, BlobName, Digest};
use wardian_vocabulary::units::ByteCount;

const START: Duration = Duration::from_secs(1_790_000_000);
const HOUR: Duration = Duration::from_secs(60 * 60);
const PLENTY: TenantUsage = TenantUsage { blobs: 1_000, bytes: 1_000_000 };

/// A table in each database, with another server's connections to it.
async fn tables() -> Vec<(Arc<dyn BlobRowStore>, Arc<dyn BlobRowStore>, TempDir)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut tables = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let mut places = vec![(DatabasePlace::File(folder.path().join("blobs.db")), folder)];
    if let Some(server) = PostgresServer::shared() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("blobs_{}", NUMBER.fetch_add(1, Ordering::AcqRel));
        let url = server.database(folder.path(), &name).await;
        places.push((DatabasePlace::UrlFile(url), folder));
    }
    for (place, folder) in places {
        let open = || open_blob_rows(place.clone());
        tables.push((open().await.unwrap(), open().await.unwrap(), folder));
    }
    tables
}

fn id(text: &str) -> BlobId {
    BlobId::of_digest(&Digest::of(text.as_bytes()))
}

fn new(size: u64) -> BlobRow {
    BlobRow {
        kind: BlobKind::parse("text/csv").unwrap(),
        size: ByteCount::bytes(size),
        created: START,
        used: START,
        state: RowState::Uploading,
        tag: "upload".to_owned(),
        names: Vec::new(),
    }
}

async fn usage(table: &Arc<dyn BlobRowStore>, owner: &str) -> (u64, u64) {
    let TenantUsage { blobs, bytes } = table.usage(&tenant(owner)).await.unwrap();
    (blobs, bytes)
}

#[tokio::test]
async fn a_row_goes_from_its_upload_to_its_removal() {
    for (table, other, _folder) in tables().await {
        let (acme, blob) = (tenant("acme"), id("a"));
        assert_eq!(table.find(&acme, &blob).await.unwrap(), None);
        let reserved = table.reserve((&acme, &blob), &new(7), PLENTY).await.unwrap();
        assert_eq!(reserved, ReservedRow::New);
        let known = other.reserve((&acme, &blob), &new(7), PLENTY).await.unwrap();
        assert_eq!(known, ReservedRow::Known(Box::new(new(7))));
        assert_eq!(usage(&other, "acme").await, (1, 7));
        assert!(table.page(&acme, None, 9).await.unwrap().is_empty(), "it is not stored");
        assert!(!table.begin_removal(&acme, &blob, None, START).await.unwrap());
        // Who has seen the row of an earlier upload, which is gone.
        assert!(!other.note_stored((&acme, &blob), "earlier", "v0", START).await.unwrap());
        assert!(table.note_stored((&acme, &blob), "upload", "v1", START).await.unwrap());
        table.give_up(&acme, &blob).await.unwrap();
        let stored = BlobRow { state: RowState::Stored, tag: "v1".to_owned(), ..new(7) };
        assert_eq!(other.find(&acme, &blob).await.unwrap().unwrap(), stored);
        assert_eq!(other.find(&tenant("beta"), &blob).await.unwrap(), None);
        // A use that is too old a reason, and one that is reason enough.
        let later = START + HOUR;
        table.note_use(&acme, &blob, later, HOUR * 2).await.unwrap();
        assert_eq!(table.find(&acme, &blob).await.unwrap().unwrap().used, START);
        table.note_use(&acme, &blob, later, Duration::ZERO).await.unwrap();
        assert_eq!(table.find(&acme, &blob).await.unwrap().unwrap().used, later);
        assert!(
            !table.begin_removal(&acme, &blob, Some(START), later).await.unwrap(),
            "it was used"
        );
        assert!(table.begin_removal(&acme, &blob, Some(later), later).await.unwrap());
        assert!(!other.begin_removal(&acme, &blob, None, later).await.unwrap(), "twice");
        assert!(!other.note_stored((&acme, &blob), "v1", "v2", later).await.unwrap());
        assert_eq!(usage(&other, "acme").await, (0, 0));
        let left = other.left_since(later, 9).await.unwrap();
        assert_eq!((left.len(), left[0].2.state), (1, RowState::Removing));
        assert!(other.left_since(START, 9).await.unwrap().is_empty());
        table.end_removal(&acme, &blob).await.unwrap();
        assert_eq!(other.find(&acme, &blob).await.unwrap(), None);
        assert_eq!(usage(&other, "acme").await, (0, 0));
    }
}

#[tokio::test]
async fn room_is_taken_once_and_given_back_once() {
    for (table, _, _folder) in tables().await {
        let acme = tenant("acme");
        let most = TenantUsage { blobs: 3, bytes: 100 };
        let reserve = async |text: &str, size: u64| {
            table.reserve((&acme, &id(text)), &new(size), most).await.unwrap()
        };
        assert_eq!(reserve("large", 101).await, ReservedRow::Full);
        assert_eq!(reserve("a", 60).await, ReservedRow::New);
        assert_eq!(reserve("b", 41).await, ReservedRow::Full);
        assert_eq!(reserve("b", 40).await, ReservedRow::New);
        assert_eq!(reserve("c", 0).await, ReservedRow::New);
        assert_eq!(reserve("d", 0).await, ReservedRow::Full);
        for _ in 0..2 {
            table.give_up(&acme, &id("a")).await.unwrap();
            assert_eq!(usage(&table, "acme").await, (2, 40));
        }
        assert_eq!(reserve("a", 60).await, ReservedRow::New);
        assert_eq!(usage(&table, "beta").await, (0, 0));
    }
}

/// What becomes of eight writers of two blobs, of which there is room for one.
async fn reserved_by_eight(tables: [&Arc<dyn BlobRowStore>; 2], owner: &str) -> Vec<ReservedRow> {
    let mut writers = JoinSet::new();
    for number in 0..8_usize {
        let (table, owner) = (Arc::clone(tables[number % 2]), tenant(owner));
        writers.spawn(async move {
            let text = format!("{}", number / 4);
            let most = TenantUsage { blobs: 1, bytes: 10 };
            table.reserve((&owner, &id(&text)), &new(10), most).await.unwrap()
        });
    }
    writers.join_all().await
}

/// Two servers with the same content, and with the last room.
#[tokio::test]
async fn of_two_at_once_one_is_first() {
    for (table, other, _folder) in tables().await {
        for round in 0..10 {
            let reserved = reserved_by_eight([&table, &other], &format!("t{round}")).await;
            let count =
                |is: fn(&ReservedRow) -> bool| reserved.iter().filter(|row| is(row)).count();
            assert_eq!(count(|row| matches!(row, ReservedRow::New)), 1, "{reserved:?}");
            assert_eq!(count(|row| matches!(row, ReservedRow::Known(_))), 3);
            assert_eq!(count(|row| matches!(row, ReservedRow::Full)), 4);
        }
    }
}

#[tokio::test]
async fn pages_names_and_what_is_unused_are_in_order() {
    for (table, other, _folder) in tables().await {
        let acme = tenant("acme");
        let mut ids: Vec<BlobId> = (0..7).map(|number| id(&number.to_string())).collect();
        for (number, blob) in (0_u32..).zip(&ids) {
            let used = START + HOUR * number;
            let row = BlobRow { created: used, used, ..new(1) };
            table.reserve((&acme, blob), &row, PLENTY).await.unwrap();
            table.note_stored((&acme, blob), "upload", "v", used).await.unwrap();
        }
        let unused = other.unused_since(START + HOUR * 2, 2).await.unwrap();
        assert_eq!(unused, [(acme.clone(), ids[0].clone()), (acme.clone(), ids[1].clone())]);
        let name = |text: &str| BlobName::parse(text).unwrap();
        for text in ["a.csv", "ä\u{1f600}.csv", "a.csv"] {
            other.add_name(&acme, &ids[0], &name(text)).await.unwrap();
        }
        let found = table.find(&acme, &ids[0]).await.unwrap().unwrap();
        assert_eq!(found.names, [name("a.csv"), name("ä\u{1f600}.csv")]);
        ids.sort();
        let first = table.page(&acme, None, 4).await.unwrap();
        let rest = table.page(&acme, Some(&first[3].0), 99).await.unwrap();
        let paged: Vec<BlobId> = first.into_iter().chain(rest).map(|(blob, _)| blob).collect();
        assert_eq!(paged, ids);
        assert!(table.page(&tenant("beta"), None, 9).await.unwrap().is_empty());
    }
}
