//! Tests of opening databases of PostgreSQL, and of its connections.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::database::engine::{Database, DatabasePlace, LeaseClock};
use crate::database::schema::{KEYS, RECORDS, Schema};
use crate::database::statement::{Statement, statement};
use crate::database::testing::PostgresServer;
use crate::database_error::DatabaseError;
use wardian_vocabulary::error::CauseChain;

/// A folder, an empty database, and the file with its URL.
async fn empty(server: &PostgresServer, name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = server.database(folder.path(), name).await;
    (folder, file)
}

async fn open(file: &Path, schema: &Schema) -> Result<Database, DatabaseError> {
    Database::open(&DatabasePlace::UrlFile(file.to_owned()), schema).await
}

/// The message about a URL that cannot be used.
async fn fault_of(folder: &Path, url: &str) -> String {
    let file = folder.join("wrong.url");
    fs::write(&file, url).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let fault = open(&file, &KEYS).await.unwrap_err();
    let message = CauseChain(&fault).to_string();
    let is_ours = matches!(fault, DatabaseError::Full(_) | DatabaseError::Failed(_));
    assert!(!is_ours && !message.contains('\n') && !message.contains("secret"), "{message}");
    message
}

async fn tables(server: &PostgresServer, database: &str) -> i64 {
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    server.number(database, tables).await
}

#[tokio::test]
async fn refused_and_unchanged() {
    let Some(server) = PostgresServer::shared() else { return };
    let (folder, _file) = empty(server, "refused").await;
    let folder = folder.path();
    let port = server.port();
    server.execute("refused", "CREATE ROLE reader LOGIN PASSWORD 'secret'").await;
    server
        .execute(
            "refused",
            "CREATE ROLE hasty LOGIN PASSWORD 'secret'; GRANT ALL ON SCHEMA public TO hasty",
        )
        .await;
    server.execute("refused", "ALTER ROLE hasty SET synchronous_commit = off").await;
    server
        .execute(
            "refused",
            "CREATE ROLE idle LOGIN PASSWORD 'secret'; GRANT ALL ON SCHEMA public TO idle",
        )
        .await;
    server.execute("refused", "ALTER ROLE idle SET default_transaction_read_only = on").await;
    for (url, expected) in [
        (
            format!("postgres://postgres:secret-9@127.0.0.1:{port}/refused"),
            "check the user and the password",
        ),
        (
            format!("postgres://postgres:secret@127.0.0.1:{port}/none"),
            "the database does not exist",
        ),
        (
            format!("postgres://reader:secret@127.0.0.1:{port}/refused"),
            "may not make or change tables",
        ),
        (
            format!("postgres://hasty:secret@127.0.0.1:{port}/refused"),
            "`synchronous_commit` is off",
        ),
        (
            format!("postgres://idle:secret@127.0.0.1:{port}/refused"),
            "it only reads, as a standby does",
        ),
        ("postgres://postgres:secret@127.0.0.1:1/refused".to_owned(), "it cannot be reached"),
        ("mysql://postgres:secret@127.0.0.1/refused".to_owned(), "one line of the form"),
        (
            format!("postgres://postgres:secret@127.0.0.1:{port}/refused?sslmode=verify-full"),
            "certificate",
        ),
    ] {
        let message = fault_of(folder, &url).await;
        assert!(message.contains(expected), "{message}");
        assert_eq!(tables(server, "refused").await, 0, "{message}");
    }
}

/// Something else listens there, or the file with the URL is not private.
#[tokio::test]
async fn what_is_no_database_is_refused() {
    let Some(server) = PostgresServer::shared() else { return };
    let (folder, file) = empty(server, "private").await;
    let folder = folder.path();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = other.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = other.accept().unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let message = fault_of(folder, &format!("postgres://a:secret@127.0.0.1:{at}/x")).await;
    assert!(message.contains("does not speak") || message.contains("as it should"), "{message}");
    answering.join().unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let fault = open(&file, &KEYS).await.unwrap_err().to_string();
    assert!(fault.contains("its mode is 0640 and must be 0600"), "{fault}");
    let fault = open(&folder.join("none.url"), &KEYS).await.unwrap_err().to_string();
    assert!(fault.contains("none.url") && fault.contains("cannot be read"), "{fault}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_for_its_part_alone() {
    let Some(server) = PostgresServer::shared() else { return };
    let (_folder, file) = empty(server, "newer").await;
    open(&file, &RECORDS).await.unwrap().close().await;
    server.execute("newer", "UPDATE wardian_schema SET version = 9").await;
    let before = tables(server, "newer").await;
    let fault = open(&file, &RECORDS).await.unwrap_err();
    assert!(matches!(fault, DatabaseError::NewerSchema { found: 9, known: 2, .. }), "{fault:?}");
    assert!(fault.to_string().contains("/newer (records of runs)"), "{fault}");
    assert_eq!(tables(server, "newer").await, before);
    open(&file, &KEYS).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_is_applied_once_however_many_servers_start() {
    let Some(server) = PostgresServer::shared() else { return };
    let (_folder, file) = empty(server, "starts").await;
    let opened = (0..8).map(|number| {
        let file = file.clone();
        let schema = if number % 2 == 0 { KEYS } else { RECORDS };
        tokio::spawn(async move { open(&file, &schema).await.map(drop) })
    });
    for opening in opened.collect::<Vec<_>>() {
        opening.await.unwrap().unwrap();
    }
    assert_eq!(server.number("starts", "SELECT COUNT(*) FROM wardian_schema").await, 2);
    // Ids and names sort by their bytes, whatever the order of the database is.
    let others = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'public' \
                  AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'";
    assert_eq!(server.number("starts", others).await, 0);
}

#[tokio::test]
async fn keys_of_before_are_brought_up_to_date() {
    let Some(server) = PostgresServer::shared() else { return };
    let (_folder, file) = empty(server, "before").await;
    let before = Schema { scripts: KEYS.scripts.get(..2).unwrap(), ..KEYS };
    let database = open(&file, &before).await.unwrap();
    for scopes in ["code", "discover,blobs", "execute,blobs"] {
        let insert = "INSERT INTO api_keys (prefix, digest, tenant, name, scopes, created_ms) \
             VALUES ($1, '', 't', 'n', $1, 1)";
        database.execute(statement(insert).bind(scopes)).await.unwrap();
    }
    let database = open(&file, &KEYS).await.unwrap();
    let scopes = statement("SELECT scopes FROM api_keys ORDER BY scopes");
    let scopes: Vec<(String,)> = database.fetch_all(scopes).await.unwrap();
    let scopes: Vec<String> = scopes.into_iter().map(|(scopes,)| scopes).collect();
    assert_eq!(scopes, ["code,approve", "discover,blobs", "execute,blobs,approve"]);
}

fn add(tenant: &str) -> Statement {
    statement("INSERT INTO run_totals (tenant, runs, log_bytes) VALUES ($1, 1, 1)").bind(tenant)
}

async fn tenants(database: &Database) -> Vec<String> {
    let all = statement("SELECT tenant FROM run_totals ORDER BY tenant");
    let all: Vec<(String,)> = database.fetch_all(all).await.unwrap();
    all.into_iter().map(|(tenant,)| tenant).collect()
}

/// As behind a pooler, which gives each transaction another connection: nothing is prepared.
#[tokio::test]
async fn nothing_is_prepared_behind_a_pooler() {
    let Some(server) = PostgresServer::shared() else { return };
    let (folder, _) = empty(server, "pooled").await;
    let file = folder.path().join("pooled.url");
    let url = server.url("pooled") + "?statement-cache-capacity=0";
    fs::write(&file, url).unwrap();
    let database = open(&file, &RECORDS).await.unwrap();
    database.execute(add("b")).await.unwrap();
    database.execute(add("a")).await.unwrap();
    assert_eq!(tenants(&database).await, ["a", "b"]);
    let prepared = statement("SELECT COUNT(*) FROM pg_prepared_statements");
    assert_eq!(database.fetch_one::<(i64,)>(prepared).await.unwrap().0, 0);
}

#[tokio::test]
async fn what_is_dropped_or_fails_changes_nothing_and_connections_stay_usable() {
    let Some(server) = PostgresServer::shared() else { return };
    let (_folder, file) = empty(server, "dropped").await;
    let database = open(&file, &RECORDS).await.unwrap();
    for _ in 0..20 {
        let mut dropped = database.begin().await.unwrap();
        dropped.execute(add("a")).await.unwrap();
        drop(dropped);
        let mut failed = database.begin().await.unwrap();
        failed.execute(add("b")).await.unwrap();
        failed.execute(add("b")).await.unwrap_err();
        // A failed statement has ended it.
        failed.execute(add("c")).await.unwrap_err();
        drop(failed);
    }
    database.execute(add("d\0\0")).await.unwrap();
    assert_eq!(tenants(&database).await, ["d\u{2400}\u{2400}"], "there is no NUL in PostgreSQL");
}

/// All connections of the pool are lost each time, and the server is away for a while.
#[tokio::test(flavor = "multi_thread")]
async fn statements_go_on_after_a_restart_of_the_database_and_commits_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = match PostgresServer::start(&folder.path().join("server")) {
        Ok(server) => server,
        Err(why) => return PostgresServer::note(&why),
    };
    let file = server.database(folder.path(), "restarts").await;
    let database = open(&file, &RECORDS).await.unwrap();
    let mut added = Vec::new();
    for (round, order) in ["stop", "kill", "kill"].into_iter().enumerate() {
        for number in 0..8 {
            let tenant = format!("{round}-{number}");
            let mut transaction = database.begin().await.unwrap();
            transaction.execute(add(&tenant)).await.unwrap();
            transaction.commit().await.unwrap();
            added.push(tenant);
        }
        let mut cut = database.begin().await.unwrap();
        cut.execute(add("cut")).await.unwrap();
        server.order(order);
        cut.execute(add("cut, too")).await.unwrap_err();
        let waiting = tokio::spawn({
            let database = database.clone();
            async move { database.execute(add(&format!("{round}-waited"))).await }
        });
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!waiting.is_finished(), "it waits for the database");
        server.order("start");
        assert_eq!(waiting.await.unwrap().unwrap(), 1);
        added.push(format!("{round}-waited"));
        drop(cut);
        assert_eq!(tenants(&database).await, added);
    }
    // A server that only reads from now on, as after a failover: nothing is written to it.
    server.order("standby");
    database.begin().await.map(drop).unwrap_err();
    let fault = open(&file, &RECORDS).await.unwrap_err().to_string();
    assert!(fault.contains("it only reads, as a standby does"), "{fault}");
    server.order("primary");
    database.execute(add("after")).await.unwrap();
}

/// Leases end by the clock of the database, which all of its servers share.
#[tokio::test]
async fn the_clock_of_leases_is_that_of_the_database() {
    let Some(server) = PostgresServer::shared() else { return };
    let (_folder, file) = empty(server, "clock").await;
    let database = open(&file, &RECORDS).await.unwrap();
    let now = LeaseClock::of(&database).now_ms(&database).await.unwrap();
    let there = "SELECT CAST(EXTRACT(EPOCH FROM now()) * 1000 AS BIGINT)";
    let there = server.number("clock", there).await;
    assert!((there - 60_000..=there).contains(&now), "{now} {there}");
}
