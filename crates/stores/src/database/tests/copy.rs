//! One database is copied into another one.

use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use crate::blobs::BlobIdKeys as _;
use crate::blobs::content::blob_id::BlobIdKey;
use crate::database::engine::{Database, DatabasePlace};
use crate::database::schema::{self, Schema};
use crate::database::statement::statement;
use crate::database::testing::PostgresServer;
use crate::database::tests::{fill, key, numbers, record, tenant};
use crate::database::{DatabaseCopy, DatabasePart, open_key_database, open_records};
use crate::records::row::Row;
use crate::records::{RunFilter, ServerId, ServerRecords};

/// Where a copy goes: an empty database of each kind.
async fn targets(folder: &TempDir) -> Vec<DatabasePlace> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut places = vec![DatabasePlace::File(folder.path().join("target.db"))];
    if let Some(server) = PostgresServer::shared() {
        let name = format!("copy_{}", NUMBER.fetch_add(1, Ordering::AcqRel));
        places.push(DatabasePlace::UrlFile(server.database(folder.path(), &name).await));
    }
    places
}

async fn copied(from: &DatabasePlace, to: &DatabasePlace, part: DatabasePart) {
    let copy = DatabaseCopy::open(from, to, part).await.unwrap();
    assert_eq!(copy.first_surplus().await.unwrap(), None);
    let mut told = 0;
    copy.copy(&mut |progress| told += progress.rows).await.unwrap();
    assert!(told > 0);
    assert_eq!(copy.first_difference(&mut |_| ()).await.unwrap(), None);
    copy.close().await;
}

#[tokio::test]
async fn records_names_and_notes_are_the_same_in_another_database() {
    let folder = tempfile::tempdir().unwrap();
    let from = DatabasePlace::File(folder.path().join("source.db"));
    let source = open_records(from.clone()).await.unwrap();
    fill(&source, "acme", 0..300, 5).await;
    fill(&source, "beta", 0..40, 0).await;
    let mut with_nul = record("beta", 500);
    with_nul.request_id = "a\0b \u{1f40d}".to_owned();
    source.insert(&[Row::of(&with_nul, Some("\0".to_owned()), None).unwrap()], 0).await.unwrap();
    let (server, _) = ServerRecords::join(source.clone(), ServerId::generate()).await.unwrap();
    let noted = super::detached("acme", 900);
    server.note_detached(&noted, Some(&key("nightly", "call"))).await.unwrap();
    source.close().await;
    for to in targets(&folder).await {
        copied(&from, &to, DatabasePart::Records).await;
        // Again, as after an interruption.
        copied(&from, &to, DatabasePart::Records).await;
        let target = open_records(to.clone()).await.unwrap();
        assert_eq!(numbers(&target, "acme").await.len(), 300, "{to:?}");
        assert_eq!(numbers(&target, "beta").await.len(), 41);
        assert_eq!(target.count_noted(&tenant("acme")).await.unwrap(), 1);
        // What is over after a start is still over.
        let (_, interrupted) =
            ServerRecords::join(target.clone(), server.holder().server).await.unwrap();
        assert_eq!(interrupted, 1);
        let filter = RunFilter::default();
        let page = target.list(&tenant("acme"), &filter, None, 1).await.unwrap();
        assert_eq!(page.runs[0].run_id, noted.run_id);
        target.close().await;
        let copy = DatabaseCopy::open(&from, &to, DatabasePart::Records).await.unwrap();
        assert_eq!(copy.first_surplus().await.unwrap(), Some("runs"));
        assert_eq!(copy.first_difference(&mut |_| ()).await.unwrap(), Some("runs"));
        copy.close().await;
    }
}

#[tokio::test]
async fn keys_are_the_same_in_another_database_and_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let from = DatabasePlace::File(folder.path().join("wardian.db"));
    let source = open_key_database(from.clone()).await.unwrap();
    let id_key = BlobIdKey::from_bytes(&[3; 32]);
    source.blob_ids.keep(&tenant("acme"), id_key).await.unwrap();
    source.keys.close().await;
    for to in targets(&folder).await {
        let target = open_key_database(to.clone()).await.unwrap();
        let before = target.keys.changes().await.unwrap();
        copied(&from, &to, DatabasePart::Keys).await;
        let found = target.blob_ids.find(&tenant("acme")).await.unwrap().unwrap();
        assert_eq!(found.as_bytes(), [3; 32]);
        assert_eq!(target.keys.changes().await.unwrap(), before + 1);
        // Another key of the same tenant stays, and is named.
        let database = Database::open(&to, &schema::KEYS).await.unwrap();
        database.execute(statement("UPDATE blob_id_keys SET checksum = 'x'")).await.unwrap();
        database.close().await;
        let copy = DatabaseCopy::open(&from, &to, DatabasePart::Keys).await.unwrap();
        copy.copy(&mut |_| ()).await.unwrap();
        assert_eq!(copy.first_difference(&mut |_| ()).await.unwrap(), Some("blob_id_keys"));
        copy.close().await;
        target.keys.close().await;
    }
}

/// A table that is added to a schema is copied, too.
#[tokio::test]
async fn each_table_of_a_schema_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    for part in [DatabasePart::Keys, DatabasePart::Records] {
        let schema: &Schema = part.schema();
        let place = DatabasePlace::File(folder.path().join(schema.part));
        let database = Database::open(&place, schema).await.unwrap();
        let text = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
                    AND name <> 'schema_version' ORDER BY name";
        let names: Vec<(String,)> = database.fetch_all(statement(text)).await.unwrap();
        let mut expected: Vec<&str> = part.tables().iter().map(|table| table.name).collect();
        expected.extend((part == DatabasePart::Keys).then_some("key_changes"));
        expected.sort_unstable();
        assert_eq!(names.iter().map(|(name,)| name.as_str()).collect::<Vec<_>>(), expected);
        database.close().await;
    }
}
