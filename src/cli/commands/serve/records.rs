//! Opens the records of runs, the audit log and the traces of a server, and closes them at its end.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinHandle, block_in_place};
use tracing::warn;

use crate::assembly::{self, AssemblyError, JournalState};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_service::Journal;
use wardian_stores::audit::AuditLog;
use wardian_stores::records::{RecordWriter, ServerId, ServerRecords};
use wardian_telemetry::Metrics;
use wardian_telemetry::traces::Tracer;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::quotas::FairShare;

/// The time that records get to be written when the server stops.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time that spans of traces get to be sent when the server stops.
const PATIENCE_FOR_SPANS: Duration = Duration::from_secs(3);

/// The records, the audit log and the traces of a server.
pub(crate) struct ServerJournal {
    records: Option<OpenRecords>,
    audit: AuditLog,
    tracer: Tracer,
    /// Lets requests wait for the end of runs.
    waits: FairShare,
    /// Opens the audit log again.
    reopening: JoinHandle<()>,
}

/// The records of a server, while it runs.
struct OpenRecords {
    writer: RecordWriter,
    table: ServerRecords,
    /// Renews the lease of the server.
    following: JoinHandle<()>,
}

impl OpenRecords {
    /// Joins as `server`, which ends what its former life has left, and starts to write.
    async fn open(config: &Config, server: &ServerId) -> Result<Self, Failed> {
        let table = assembly::open_records(config).await?;
        let joined = match config.fleet.key_file {
            Some(_) => ServerRecords::join_with(table, server.clone(), config.fleet.lease).await,
            None => ServerRecords::join(table, server.clone()).await,
        };
        let (table, count) = joined?;
        if count > 0 {
            warn!(count, "background runs that were interrupted when the server stopped: {count}");
        }
        if config.database.url_file.is_some() {
            table.describe(&assembly::server_facts(config)).await?;
        }
        let writer = RecordWriter::start((*table).clone(), config.records.clone(), Clock::System);
        let writer = writer.map_err(|fault| Failed::at("start a thread", &fault))?;
        let followed = table.clone();
        let following = tokio::spawn(async move { followed.follow().await });
        Ok(Self { writer, table, following })
    }
}

impl ServerJournal {
    /// Opens them, as configured, and lets `metrics` show them.
    ///
    /// # Errors
    ///
    /// The database cannot be used, or the audit log cannot be opened.
    pub(crate) async fn open(
        config: &Config,
        server: &ServerId,
        metrics: &Metrics,
    ) -> Result<Self, Failed> {
        let audit = AuditLog::open(&config.audit).map_err(|fault| {
            let file = config.audit.file.clone().unwrap_or_default();
            Failed::usage(format!(
                "the audit log `{}` cannot be opened: {fault}; set `audit.file` to a file in an \
                existing folder that the server may write to",
                file.display()
            ))
        })?;
        let records = match config.records.is_enabled {
            false => None,
            true => Some(OpenRecords::open(config, server).await?),
        };
        let hangups = signal(SignalKind::hangup())
            .map_err(|fault| Failed::at("listen for signals", &fault))?;
        let reopening = tokio::spawn(reopen_audit(audit.clone(), hangups));
        let recorder = records.as_ref().map(|records| records.writer.recorder().clone());
        metrics.add(JournalState { recorder, audit: audit.clone() });
        let tracer = config.traces.as_ref().map(Tracer::start).transpose();
        let tracer = tracer.map_err(AssemblyError::from)?.unwrap_or_default();
        metrics.add(tracer.clone());
        let (all, of_tenant) = config.http.waits();
        Ok(Self { records, audit, tracer, waits: FairShare::new(all, of_tenant), reopening })
    }

    pub(crate) fn audit(&self) -> AuditLog {
        self.audit.clone()
    }

    /// Records spans, if a collector is configured.
    pub(crate) fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// The records of this server, if it keeps some.
    pub(crate) fn table(&self) -> Option<ServerRecords> {
        self.records.as_ref().map(|records| records.table.clone())
    }

    /// Where the service records what happens.
    pub(crate) fn journal(&self) -> Journal {
        Journal {
            recorder: self.records.as_ref().map(|records| records.writer.recorder().clone()),
            table: self.records.as_ref().map(|records| records.table.clone()),
            audit: self.audit.clone(),
            waits: self.waits.clone(),
        }
    }

    /// Writes what waits, at the end of the server. No run may be in progress any more.
    pub(crate) async fn close(self) -> Exit {
        self.reopening.abort();
        if let Some(OpenRecords { writer, following, .. }) = &self.records {
            following.abort();
            writer.close(PATIENCE).await;
            let counts = writer.recorder().counts();
            if counts.lost > 0 || counts.lost_logs > 0 {
                let (records, logs) = (counts.lost, counts.lost_logs);
                warn!("{records} records of runs and {logs} logs of others were lost");
            }
        }
        block_in_place(|| self.tracer.close(PATIENCE_FOR_SPANS));
        block_in_place(|| self.audit.close(PATIENCE));
        Exit::Done
    }
}

/// Opens the audit log again on each SIGHUP, as programs that rotate logs send it.
async fn reopen_audit(audit: AuditLog, mut hangups: Signal) {
    while hangups.recv().await.is_some() {
        audit.reopen();
    }
}
