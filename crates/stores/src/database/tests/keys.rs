//! Keys of the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::database::testing::PostgresServer;
use crate::database::tests::memory::MemoryKeys;
use crate::database::{DatabasePlace, open_keys};
use crate::tenants::{ApiToken, KeyName, KeyOrder, KeyTable, Revocation, Right, Rights};
use wardian_vocabulary::ids::TenantId;

const NOW: Duration = Duration::from_millis(1_790_000_000_123);

/// Two handles of an empty database of each kind.
async fn tables() -> Vec<(&'static str, [KeyTable; 2], Option<tempfile::TempDir>)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    let sqlite = [open_keys(&path).await.unwrap(), open_keys(&path).await.unwrap()];
    let memory = MemoryKeys::default();
    let memory = [memory.clone(), memory].map(|keys| KeyTable::new(Arc::new(keys)));
    let mut tables = vec![("SQLite", sqlite, Some(folder)), ("the test double", memory, None)];
    if let Some(server) = PostgresServer::shared() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("keys_{}", NUMBER.fetch_add(1, Ordering::AcqRel));
        let file = server.database(folder.path(), &name).await;
        let open = || open_keys(DatabasePlace::UrlFile(file.clone()));
        let postgres = [open().await.unwrap(), open().await.unwrap()];
        tables.push(("PostgreSQL", postgres, Some(folder)));
    }
    tables
}

fn order(owner: &str, expires: Option<Duration>) -> KeyOrder {
    KeyOrder {
        tenant: TenantId::parse(owner).unwrap(),
        name: KeyName::parse("Ada's \"laptop\" é").unwrap(),
        rights: Rights::NONE.with(Right::Code).with(Right::Admin),
        expires,
    }
}

#[tokio::test]
async fn a_key_is_read_as_it_was_made_and_a_change_is_counted() {
    for (name, [table, beside], _folder) in tables().await {
        assert_eq!(table.load().await.unwrap().1.len(), 0, "{name}");
        let before = beside.changes().await.unwrap();
        let (_, made) = table.create(&order("beta", Some(2 * NOW)), NOW).await.unwrap();
        let (token, other) = table.create(&order("acme", None), NOW).await.unwrap();
        assert_eq!(beside.list().await.unwrap(), [other.clone(), made.clone()], "{name}");
        let (changes, stored) = beside.load().await.unwrap();
        assert_eq!((changes - before, stored[0].digest), (2, token.digest()), "{name}");
        let late = NOW + Duration::from_millis(1);
        assert_eq!(beside.revoke(&made.prefix, late).await.unwrap(), Revocation::Revoked);
        assert_eq!(table.revoke(&made.prefix, 2 * NOW).await.unwrap(), Revocation::Already);
        let nobody = ApiToken::generate().unwrap().prefix();
        assert_eq!(table.revoke(&nobody, NOW).await.unwrap(), Revocation::Unknown);
        assert_eq!(table.changes().await.unwrap() - before, 3, "{name}");
        assert_eq!(table.list().await.unwrap()[1].revoked, Some(late), "{name}");
    }
}

#[tokio::test]
async fn the_last_use_of_a_key_never_goes_back() {
    for (name, [table, beside], _folder) in tables().await {
        let (_, key) = table.create(&order("acme", None), NOW).await.unwrap();
        let changes = table.changes().await.unwrap();
        let nobody = ApiToken::generate().unwrap().prefix();
        for (time, shown) in [(2, 2), (1, 2), (3, 3)] {
            let uses = [(key.prefix.clone(), NOW * time), (nobody.clone(), NOW)];
            beside.note_uses(&uses).await.unwrap();
            let listed = table.list().await.unwrap();
            assert_eq!((listed.len(), listed[0].last_used), (1, Some(NOW * shown)), "{name}");
        }
        assert_eq!(table.changes().await.unwrap(), changes, "a use is no change: {name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_among_many_handles() {
    for (name, [table, beside], _folder) in tables().await {
        let before = table.changes().await.unwrap();
        let (_, shared) = table.create(&order("acme", None), NOW).await.unwrap();
        let tasks = (0..40_usize).map(|number| {
            let (table, prefix) = (if number % 2 == 0 { &table } else { &beside }, &shared.prefix);
            let (table, prefix) = (table.clone(), prefix.clone());
            tokio::spawn(async move {
                table.create(&order("acme", None), NOW).await.unwrap();
                table.revoke(&prefix, NOW).await.unwrap() == Revocation::Revoked
            })
        });
        let mut revoked = 0;
        for task in tasks.collect::<Vec<_>>() {
            revoked += usize::from(task.await.unwrap());
        }
        assert_eq!(revoked, 1, "{name}");
        assert_eq!(table.changes().await.unwrap() - before, 42, "{name}");
        assert_eq!(table.list().await.unwrap().len(), 41, "{name}");
    }
}
