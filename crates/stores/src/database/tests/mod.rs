//! The test double, and the tests that every database passes.
//!
//! | file             | purpose                                                                  |
//! | ---------------- | ------------------------------------------------------------------------ |
//! | `memory.rs`      | the test double, which is also the model                                 |
//! | `blobs.rs`       | the table of blobs in an object store                                    |
//! | `copy.rs`        | one database is copied into another one                                  |
//! | `lists.rs`       | records are found and listed                                             |
//! | `retention.rs`   | records expire                                                           |
//! | `in_progress.rs` | runs in the background, their names, and the servers that have them      |
//! | `keys.rs`        | keys of the API                                                          |
//! | `model_tests.rs` | any order of statements has the same answers in all databases            |
//! | `waiting.rs`     | runs of a fleet that wait for a server                                   |
//! | `sessions.rs`    | sessions, their cells, checkpoints and packs                             |
//! | `session_model_tests.rs`, `memory_sessions.rs` | the same for sessions                        |

mod blobs;
mod copy;
mod in_progress;
mod keys;
mod lists;
mod memory;
mod memory_sessions;
mod model_tests;
mod retention;
mod session_model_tests;
mod sessions;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::database::engine::{Database, DatabasePlace, LeaseClock};
use crate::database::records::StoredRecords;
use crate::database::schema;
use crate::database::statement::statement;
use crate::database::testing::PostgresServer;
use crate::database::tests::memory::MemoryRecords;
use crate::records::row::Row;
use crate::records::store::RecordStore;
use crate::records::{
    RecordTable, RecordedArguments, RecordedLog, RecordedPhases, RecordedSkill, RecordsConfig,
    RequestKey, RunFilter, RunKind, RunOutcomeKind, RunRecord, ServerId, ServerRecords,
};
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{Digest, RunId, SkillName, SkillVersion, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The time of the first run, in milliseconds since the Unix epoch.
pub(crate) const START: u64 = 1_790_000_000_000;

/// A database of records.
pub(crate) struct Place {
    pub(crate) table: RecordTable,
    pub(super) store: Arc<dyn RecordStore>,
    /// The clock of its leases, in milliseconds since the Unix epoch.
    time: &'static AtomicU64,
    engine: Engine,
}

enum Engine {
    Sqlite(TempDir),
    Postgres(TempDir),
    Memory(MemoryRecords),
}

impl Place {
    /// An empty one of each kind.
    pub(crate) async fn all() -> Vec<Self> {
        let mut all = vec![Self::sqlite().await];
        all.extend(Self::postgres().await);
        all.push(Self::memory());
        all
    }

    /// An empty one of each kind that several processes share.
    pub(crate) async fn of_servers() -> Vec<Self> {
        let mut all = vec![Self::sqlite().await];
        all.extend(Self::postgres().await);
        all
    }

    /// An empty file of SQLite.
    pub(crate) async fn sqlite() -> Self {
        let time: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(START)));
        let engine = Engine::Sqlite(tempfile::tempdir().unwrap());
        let store = Self::open(&engine, time).await;
        Self::of(engine, store, time)
    }

    /// An empty database of PostgreSQL. None if this machine can have no server, which is said aloud.
    pub(crate) async fn postgres() -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let server = PostgresServer::shared()?;
        let folder = tempfile::tempdir().unwrap();
        let name = format!("place_{}", NUMBER.fetch_add(1, Ordering::AcqRel));
        let made = server.database(folder.path(), &name).await;
        std::fs::rename(made, folder.path().join("records.url")).unwrap();
        let time: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(START)));
        let engine = Engine::Postgres(folder);
        let store = Self::open(&engine, time).await;
        Some(Self::of(engine, store, time))
    }

    /// An empty test double.
    pub(crate) fn memory() -> Self {
        let time: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(START)));
        let memory = MemoryRecords::new(Clock::Set(time));
        let store = Arc::new(memory.clone());
        Self::of(Engine::Memory(memory), store, time)
    }

    /// Opens the database, as one more process does.
    async fn open(engine: &Engine, time: &'static AtomicU64) -> Arc<dyn RecordStore> {
        let place = match engine {
            Engine::Sqlite(folder) => DatabasePlace::File(folder.path().join("records.db")),
            Engine::Postgres(folder) => DatabasePlace::UrlFile(folder.path().join("records.url")),
            Engine::Memory(memory) => return Arc::new(memory.clone()),
        };
        let database = Database::open(&place, &schema::RECORDS).await.unwrap();
        Arc::new(StoredRecords::new(database, LeaseClock::Machine(Clock::Set(time))))
    }

    /// The database below the store, if there is one.
    async fn database(&self) -> Option<Database> {
        let place = match &self.engine {
            Engine::Sqlite(folder) => DatabasePlace::File(folder.path().join("records.db")),
            Engine::Postgres(folder) => DatabasePlace::UrlFile(folder.path().join("records.url")),
            Engine::Memory(_) => return None,
        };
        Some(Database::open(&place, &schema::RECORDS).await.unwrap())
    }

    fn of(engine: Engine, store: Arc<dyn RecordStore>, time: &'static AtomicU64) -> Self {
        Self { table: RecordTable::new(Arc::clone(&store)), store, time, engine }
    }

    /// Its name. A test that prints it says where it failed.
    pub(crate) fn name(&self) -> &'static str {
        match &self.engine {
            Engine::Sqlite(_) => "SQLite",
            Engine::Postgres(_) => "PostgreSQL",
            Engine::Memory(_) => "the test double",
        }
    }

    /// The number that a statement finds, if the place has any.
    pub(crate) async fn number_of(&self, text: &'static str) -> Option<i64> {
        let database = self.database().await?;
        let (found,) = database.fetch_one(statement(text)).await.unwrap();
        database.close().await;
        Some(found)
    }

    /// The same database, as another process opens it.
    pub(crate) async fn beside(&self) -> RecordTable {
        RecordTable::new(Self::open(&self.engine, self.time).await)
    }

    /// A server of its own that uses the database.
    pub(crate) async fn server(&self) -> ServerRecords {
        ServerRecords::join(self.beside().await, ServerId::generate()).await.unwrap().0
    }

    /// Lets time pass for leases.
    pub(crate) fn pass(&self, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap();
        self.time.fetch_add(milliseconds, Ordering::AcqRel);
    }

    /// Lets statements on records fail from now on, or work again.
    pub(crate) async fn set_broken(&self, is_broken: bool) {
        if let Engine::Memory(memory) = &self.engine {
            return memory.set_broken(is_broken);
        }
        let database = self.database().await.unwrap();
        let change = match is_broken {
            true => "ALTER TABLE runs RENAME TO away",
            false => "ALTER TABLE away RENAME TO runs",
        };
        database.execute(statement(change)).await.unwrap();
        database.close().await;
    }
}

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

/// The id of a run that began so many milliseconds after [`START`].
pub(crate) fn id(number: u64) -> RunId {
    RunId::parse(&format!("run_{:012x}7{:019x}", START + number, number)).unwrap()
}

pub(crate) fn record(owner: &str, number: u64) -> RunRecord {
    let digest = Digest::of(b"x");
    let skill = number.is_multiple_of(2).then(|| RecordedSkill {
        name: SkillName::parse("acme.report").unwrap(),
        version: SkillVersion::parse("1.0.0").unwrap(),
        digest,
        signer: Some("ed25519:k".to_owned()),
    });
    RunRecord {
        run_id: id(number),
        tenant: tenant(owner),
        key: None,
        request_id: "req_1".to_owned(),
        trace_id: None,
        label: None,
        title: None,
        kind: if skill.is_some() { RunKind::ExecuteSkill } else { RunKind::RunCode },
        detached: false,
        started_ms: START + number,
        duration_us: 1_234,
        outcome: match number % 10 {
            0 => RunOutcomeKind::Timeout,
            _ => RunOutcomeKind::Completed,
        },
        error: None,
        skill,
        code: None,
        entrypoint: None,
        arguments: RecordedArguments { digest, size_bytes: 2, value: None },
        mounted_skills: Vec::new(),
        layers: vec![digest],
        input_blobs: Vec::new(),
        wardian: "0.1.0".to_owned(),
        engine: digest,
        image: None,
        limits: (&RunLimits::DEFAULT).into(),
        reproducible: None,
        phases_us: RecordedPhases::default(),
        cpu_us: None,
        memory_peak_bytes: Some(1 << 20),
        fuel: None,
        host_calls: Some(1),
        output: None,
        output_blobs: Vec::new(),
        output_blobs_total: 0,
        log: RecordedLog::default(),
        network: None,
        tool_calls: Vec::new(),
        cached: false,
    }
}

pub(crate) fn row(owner: &str, number: u64, log: usize) -> Row {
    let pieces = (log > 0).then(|| "x".repeat(log));
    let log_bytes = u64::try_from(log).unwrap();
    Row { log_bytes, ..Row::of(&record(owner, number), pieces, None).unwrap() }
}

/// Writes the runs of a tenant with these numbers.
pub(crate) async fn fill(
    table: &RecordTable,
    owner: &str,
    numbers: std::ops::Range<u64>,
    log: usize,
) {
    let rows: Vec<Row> = numbers.map(|number| row(owner, number, log)).collect();
    for rows in rows.chunks(1_000) {
        table.insert(rows, 0).await.unwrap();
    }
}

/// The numbers of all runs that are listed, in pages of `limit`, and the number of pages.
pub(crate) async fn listed(
    table: &RecordTable,
    owner: &str,
    filter: &RunFilter,
    limit: u64,
) -> (Vec<u64>, usize) {
    let (mut found, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = table.list(&tenant(owner), filter, cursor.as_ref(), limit).await.unwrap();
        assert!(u64::try_from(page.runs.len()).unwrap() <= limit);
        found.extend(page.runs.iter().map(|run| run.started_ms - START));
        pages += 1;
        cursor = page.next;
        if cursor.is_none() {
            return (found, pages);
        }
    }
}

pub(crate) async fn numbers(table: &RecordTable, owner: &str) -> Vec<u64> {
    listed(table, owner, &RunFilter::default(), 1_000).await.0
}

pub(crate) fn limits(max_count: u64, log_quota: u64) -> RecordsConfig {
    let log_quota = ByteCount::bytes(log_quota);
    RecordsConfig { max_count, log_quota, ..RecordsConfig::default() }
}

pub(crate) async fn trim(table: &RecordTable, config: &RecordsConfig) -> usize {
    for rounds in 1..1_000 {
        if !table.trim_to_limits(config).await.unwrap().has_more {
            return rounds;
        }
    }
    panic!("it does not end");
}

pub(crate) fn detached(owner: &str, number: u64) -> RunRecord {
    RunRecord { detached: true, outcome: RunOutcomeKind::Interrupted, ..record(owner, number) }
}

pub(crate) fn key(name: &str, call: &str) -> RequestKey {
    RequestKey { name: name.to_owned(), call: Digest::of(call.as_bytes()) }
}
