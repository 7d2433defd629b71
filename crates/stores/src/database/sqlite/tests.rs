//! Tests of opening databases.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

use crate::database::open_records;
use crate::database::schema::{KEYS, RECORDS, SESSIONS, Schema};
use crate::database::sqlite::connections::{CONNECTIONS, SqliteFile};
use crate::database::sqlite::file::{log_of, sync_log};
use crate::database_error::DatabaseError;
use wardian_vocabulary::error::CauseChain;

async fn fault_of(path: &Path) -> DatabaseError {
    match SqliteFile::open(path, &KEYS).await {
        Err(fault) => fault,
        Ok(_) => panic!("it was opened"),
    }
}

async fn count_keys(database: &SqliteFile) -> i64 {
    let count = sqlx::query_scalar("SELECT COUNT(*) FROM api_keys");
    count.fetch_one(database.connections()).await.unwrap()
}

#[tokio::test]
async fn a_new_file_is_private_and_has_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/wardian.db");
    let database = SqliteFile::open(&path, &KEYS).await.unwrap();
    assert_eq!(count_keys(&database).await, 0);
    for name in ["wardian.db", "wardian.db-wal"] {
        let mode = fs::metadata(path.with_file_name(name)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// SQLite ends the transaction by itself here, as it does when the disk is full.
#[tokio::test]
async fn writes_go_on_after_any_number_of_transactions_that_the_database_ended() {
    let folder = tempfile::tempdir().unwrap();
    let database = SqliteFile::open(&folder.path().join("wardian.db"), &KEYS).await.unwrap();
    let mut made = database.begin().await.unwrap();
    sqlx::query("CREATE TABLE marks (mark INTEGER PRIMARY KEY)").execute(&mut *made).await.unwrap();
    made.commit().await.unwrap();
    for _ in 0..3 * CONNECTIONS {
        let mut ended = database.begin().await.unwrap();
        let insert = "INSERT OR ROLLBACK INTO marks VALUES (1)";
        sqlx::query(insert).execute(&mut *ended).await.unwrap();
        assert!(sqlx::query(insert).execute(&mut *ended).await.is_err());
    }
    let mut last = database.begin().await.unwrap();
    sqlx::query("INSERT INTO marks VALUES (2)").execute(&mut *last).await.unwrap();
    last.commit().await.unwrap();
    let marks = sqlx::query_scalar::<_, i64>("SELECT mark FROM marks");
    assert_eq!(marks.fetch_all(database.connections()).await.unwrap(), [2]);
}

#[tokio::test]
async fn rights_of_other_users_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    SqliteFile::open(&path, &KEYS).await.unwrap().close().await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    SqliteFile::open(&path, &KEYS).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_link_in_the_place_of_the_file_is_refused_and_its_target_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("wardian.db"), folder.path().join("target"));
    fs::write(&target, "").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    for _ in 0..2 {
        let fault = fault_of(&path).await;
        let causes = CauseChain(&fault).to_string();
        assert!(matches!(fault, DatabaseError::Unusable { .. }), "{causes}");
        assert!(causes.contains("symbolic link"), "{causes}");
        let found = fs::metadata(&target).unwrap();
        assert_eq!((found.mode() & 0o777, found.len()), (0o644, 0));
        // A link to nothing makes nothing.
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(folder.path().join("none"), &path).unwrap();
        fault_of(&path).await;
        assert!(!folder.path().join("none").try_exists().unwrap());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
    }
}

/// Without it a loss of power could take back what was committed.
#[tokio::test]
async fn each_connection_waits_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let database = SqliteFile::open(&folder.path().join("wardian.db"), &KEYS).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = database.connections().acquire().await.unwrap();
        let pragma = "PRAGMA synchronous";
        let level: i64 = sqlx::query_scalar(pragma).fetch_one(&mut *connection).await.unwrap();
        assert_eq!(level, 2, "FULL");
        held.push(connection);
    }
}

/// The connection for the ends of cells waits for nothing, and syncing the log makes up for it. All others of
/// the file wait.
#[tokio::test]
async fn one_connection_to_sessions_does_not_wait_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let file = SqliteFile::open(&path, &SESSIONS).await.unwrap();
    let unsynced = SqliteFile::open_unsynced(&path, &SESSIONS).await.unwrap();
    for (file, expected) in [(&file, 2), (&unsynced, 1)] {
        let pragma = sqlx::query_scalar("PRAGMA synchronous");
        let level: i64 = pragma.fetch_one(file.connections()).await.unwrap();
        assert_eq!(level, expected);
    }
    let mut written = unsynced.begin().await.unwrap();
    let insert = "INSERT INTO session_totals (tenant, bytes) VALUES ('acme', 7)";
    sqlx::query(insert).execute(&mut *written).await.unwrap();
    written.commit().await.unwrap();
    sync_log(&log_of(&path)).unwrap();
    let bytes = sqlx::query_scalar("SELECT bytes FROM session_totals");
    let bytes: i64 = bytes.fetch_one(file.connections()).await.unwrap();
    assert_eq!(bytes, 7);
}

#[tokio::test]
async fn a_schema_is_applied_once_however_many_processes_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    let opened = (0..8).map(|_| {
        let path = path.clone();
        tokio::spawn(async move { SqliteFile::open(&path, &KEYS).await.map(drop) })
    });
    for opening in opened.collect::<Vec<_>>() {
        opening.await.unwrap().unwrap();
    }
    let database = SqliteFile::open(&path, &KEYS).await.unwrap();
    let versions: Vec<i64> = sqlx::query_scalar("SELECT version FROM schema_version")
        .fetch_all(database.connections())
        .await
        .unwrap();
    assert_eq!(versions, [KEYS.version()]);
}

/// SQLite itself does not wait here: another process has the file open without a write-ahead log, as
/// in the moment between two processes that open a new file.
#[tokio::test]
async fn a_file_that_another_process_is_opening_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut other = options.journal_mode(SqliteJournalMode::Delete).connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE other (a BIGINT); BEGIN; SELECT * FROM other")
        .execute(&mut other)
        .await
        .unwrap();
    sqlx::raw_sql("INSERT INTO other VALUES (1)").execute(&mut other).await.unwrap();
    let opening = tokio::spawn(async move { SqliteFile::open(&path, &KEYS).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!opening.is_finished(), "the other process still writes");
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    opening.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_file_of_before_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    let (scripts, content) = (KEYS.scripts.get(..2).unwrap(), KEYS.content);
    let before = Schema { scripts, content, ..KEYS };
    let database = SqliteFile::open(&path, &before).await.unwrap();
    for scopes in ["code", "discover,blobs", "execute,blobs"] {
        let insert = "INSERT INTO api_keys (prefix, digest, tenant, name, scopes, created_ms)
             VALUES ($1, '', 't', 'n', $1, 1)";
        sqlx::query(insert).bind(scopes).execute(database.connections()).await.unwrap();
    }
    database.close().await;
    let database = SqliteFile::open(&path, &KEYS).await.unwrap();
    let scopes = sqlx::query_scalar::<_, String>("SELECT scopes FROM api_keys ORDER BY scopes");
    let scopes = scopes.fetch_all(database.connections()).await.unwrap();
    assert_eq!(scopes, ["code,approve", "discover,blobs", "execute,blobs,approve"]);
}

#[tokio::test]
async fn newer_schema_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    let database = SqliteFile::open(&path, &KEYS).await.unwrap();
    let newer = "UPDATE schema_version SET version = 7";
    sqlx::query(newer).execute(database.connections()).await.unwrap();
    database.close().await;
    let before = fs::read(&path).unwrap();
    let fault = fault_of(&path).await;
    assert!(matches!(fault, DatabaseError::NewerSchema { found: 7, .. }), "{fault:?}");
    assert!(!fault.to_string().contains('\n') && fault.to_string().contains("version 7"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_broken_file_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    for broken in [&b"not a database, but a long enough text to be read as one"[..], &[0xff; 9_000]]
    {
        fs::write(&path, broken).unwrap();
        let fault = fault_of(&path).await;
        assert!(matches!(fault, DatabaseError::Damaged { .. }), "{}", CauseChain(&fault));
        assert!(fault.to_string().contains("wardian.db"), "{fault}");
        assert_eq!(fs::read(&path).unwrap(), broken);
    }
}

#[tokio::test]
async fn a_damaged_page_is_an_error_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    SqliteFile::open(&path, &KEYS).await.unwrap().close().await;
    let mut bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 4_096, "its pages are smaller");
    bytes[100..4_096].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let fault = fault_of(&path).await;
    assert!(matches!(fault, DatabaseError::Damaged { .. }), "{}", CauseChain(&fault));
}

#[tokio::test]
async fn a_place_that_cannot_be_written_to_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.join("wardian.db"), folder.path().to_owned(), "/proc/none/wardian.db".into()]
    {
        let fault = fault_of(&path).await;
        assert!(matches!(fault, DatabaseError::Unusable { .. }), "{}", CauseChain(&fault));
        assert!(fault.to_string().contains(&path.display().to_string()), "{fault}");
    }
}

/// The log of the killed process is still next to the file: nothing was folded into it.
#[tokio::test]
async fn committed_is_durable_without_a_close() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wardian.db");
    let database = SqliteFile::open(&path, &KEYS).await.unwrap();
    let mut transaction = database.begin().await.unwrap();
    let change = "UPDATE key_changes SET changes = 5";
    sqlx::query(change).execute(&mut *transaction).await.unwrap();
    transaction.commit().await.unwrap();
    let mut unfinished = database.begin().await.unwrap();
    let change = "UPDATE key_changes SET changes = 6";
    sqlx::query(change).execute(&mut *unfinished).await.unwrap();
    // What a kill leaves: the files as they are now.
    let copy = folder.path().join("copy.db");
    for suffix in ["", "-wal"] {
        let name = |of: &Path| {
            of.with_file_name(format!("{}{suffix}", of.file_name().unwrap().to_str().unwrap()))
        };
        fs::copy(name(&path), name(&copy)).unwrap();
    }
    let copied = SqliteFile::open(&copy, &KEYS).await.unwrap();
    let changes: i64 = sqlx::query_scalar("SELECT changes FROM key_changes")
        .fetch_one(copied.connections())
        .await
        .unwrap();
    assert_eq!(changes, 5);
}

#[tokio::test]
async fn newer_and_damaged_records_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let file = SqliteFile::open(&path, &RECORDS).await.unwrap();
    let newer = "UPDATE schema_version SET version = 9";
    sqlx::query(newer).execute(file.connections()).await.unwrap();
    file.close().await;
    let before = fs::read(&path).unwrap();
    let fault = open_records(&path).await.unwrap_err();
    assert!(matches!(fault, DatabaseError::NewerSchema { found: 9, known: 2, .. }), "{fault:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let broken = b"this is no database, but it is long enough to be read as if it were one";
    fs::write(&path, broken).unwrap();
    let fault = open_records(&path).await.unwrap_err();
    assert!(fault.to_string().ends_with("without records of runs"), "{fault}");
    assert_eq!(fs::read(&path).unwrap(), broken);
}
