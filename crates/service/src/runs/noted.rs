//! Runs in the background as the database of records knows them: noted, named, and perhaps those of
//! another server.
//!
//! This server knows how far its own runs are. Of a run of another server on the same database it knows
//! that it goes on, until its record is written or the lease of that server has ended.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use crate::error::ServiceError;
use crate::runs::active::{ActiveRun, ActiveRunView};
use crate::runs::history::{RunHistory, WRITTEN_WITHIN};
use wardian_formats::protocol::methods::execution::{DetachedRun, RunProgress};
use wardian_stores::records::{
    KnownKey, RecordedSkill, RequestKey, RunElsewhere, RunHolder, RunKind, RunRecord,
};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{RunId, TenantId};

/// How often a run of another server is looked at while its end is waited for: soon at first, and seldom in the
/// end.
const LOOKS_ELSEWHERE: (Duration, Duration) =
    (Duration::from_millis(25), Duration::from_millis(500));

/// What came of noting a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotedHere {
    /// This server has it.
    By(RunHolder),
    /// Nothing is noted: a call has the name.
    Known,
}

/// The members of a note that a run in progress is shown with.
#[derive(Deserialize)]
struct ViewOfNote {
    kind: RunKind,
    label: Option<String>,
    title: Option<String>,
    skill: Option<RecordedSkill>,
    started_ms: u64,
}

impl RunHistory {
    /// The run that a key names, once it was admitted. There is none if it was refused.
    ///
    /// # Errors
    ///
    /// The key names the run of another call, its record cannot be written, or the database failed.
    pub(crate) async fn run_of_key(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
    ) -> Result<Option<DetachedRun>, ServiceError> {
        let table = self.table()?;
        while let Some(known) = table.find_key(tenant, key).await? {
            let KnownKey::Run(run_id) = known else {
                return Err(ServiceError::KeyOfOtherCall);
            };
            if let Some(run) = self.active().find(tenant, None, &run_id) {
                if let Some(status) = run.admission().await {
                    return Ok(Some(DetachedRun { status, run_id }));
                }
                // It was stopped before it was admitted.
                let left = timeout(WRITTEN_WITHIN, ActiveRun::left(run)).await;
                left.map_err(|_elapsed| ServiceError::RecordNotWritten)?;
                continue;
            }
            match table.find_elsewhere(tenant, None, &run_id).await? {
                Some(RunElsewhere::Waiting(_)) => {
                    return Ok(Some(DetachedRun { status: RunProgress::Queued, run_id }));
                }
                Some(RunElsewhere::GoesOn(_)) => {
                    return Ok(Some(DetachedRun { status: RunProgress::Running, run_id }));
                }
                Some(RunElsewhere::Over(_)) | None => {}
            }
            if table.find_key(tenant, key).await?.is_some() {
                // A run that is refused is forgotten before it leaves the runs that are found.
                return Ok(Some(DetachedRun { status: RunProgress::Ended, run_id }));
            }
        }
        Ok(None)
    }

    /// Notes a run in the background, right before it is admitted. Notes nothing if a call has the name.
    ///
    /// # Errors
    ///
    /// This server keeps no records, or the database failed.
    pub(crate) async fn note_detached(
        &self,
        record: &RunRecord,
        key: Option<&RequestKey>,
    ) -> Result<NotedHere, ServiceError> {
        let _turn = self.turn_to_note().await;
        // Without this, runs whose records are lost would never count against the tenant's limits.
        let (table, tenant) = (self.table()?, &record.tenant);
        if table.count_noted(tenant).await? >= self.active().detached_of(tenant) {
            let goes_on = |run: &RunId| self.active().find(tenant, None, run).is_some();
            match table.end_lost(tenant, &goes_on).await {
                Ok(0) => {}
                Ok(lost) => {
                    warn!(tenant.id = %tenant, "background runs whose outcomes were lost: {lost}");
                }
                Err(fault) => {
                    warn!("the outcomes of lost runs cannot be written: {}", CauseChain(&fault));
                }
            }
        }
        Ok(match table.note_detached(record, key).await? {
            Some(_) => NotedHere::Known,
            None => NotedHere::By(table.holder()),
        })
    }

    /// Waits until a run that waits for a server, or that another server has, is over. Returns the run if it is still
    /// in progress after `patience`, or nothing as soon as it is not waited for here: it is over, or this server has
    /// it.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub(crate) async fn wait_elsewhere(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
        patience: Duration,
    ) -> Result<Option<ActiveRunView>, ServiceError> {
        let Ok(table) = self.table() else { return Ok(None) };
        let asked = Instant::now();
        let (mut pause, longest) = LOOKS_ELSEWHERE;
        loop {
            let found = {
                let _turn = self.turn_to_read().await;
                table.find_elsewhere(tenant, kind, run).await?
            };
            let (status, note) = match found {
                Some(RunElsewhere::Waiting(note)) => (RunProgress::Queued, note),
                Some(RunElsewhere::GoesOn(note)) => (RunProgress::Running, note),
                Some(RunElsewhere::Over(_)) | None => return Ok(None),
            };
            let left = patience.saturating_sub(asked.elapsed());
            if left.is_zero() {
                return view_of(run, status, &note).map(Some);
            }
            sleep(pause.min(left)).await;
            pause = pause.saturating_mul(2).min(longest);
            if self.active().find(tenant, kind, run).is_some() {
                return Ok(None);
            }
        }
    }
}

/// A run of another server, as callers see it.
pub(super) fn view_of(
    run: &RunId,
    status: RunProgress,
    note: &str,
) -> Result<ActiveRunView, ServiceError> {
    let note: ViewOfNote = serde_json::from_str(note).map_err(ServiceError::Unserialisable)?;
    let (skill, version) = note.skill.map(|skill| (skill.name, skill.version)).unzip();
    Ok(ActiveRunView {
        run_id: run.clone(),
        status,
        title: note.label.or(note.title),
        kind: note.kind,
        skill,
        version,
        detached: true,
        started_ms: note.started_ms,
        progress: None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::caller::Caller;
    use crate::runs::history::{FoundRun, Journal};
    use wardian_stores::audit::AuditLog;
    use wardian_stores::database::open_records;
    use wardian_stores::records::{RecordWriter, RecordsConfig, ServerId, ServerRecords};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::ids::Digest;
    use wardian_vocabulary::quotas::FairShare;

    /// A server of its own on the records at `path`.
    async fn server(path: &Path, id: &ServerId) -> (Arc<RunHistory>, RecordWriter) {
        let table = open_records(path).await.unwrap();
        let (table, _) = ServerRecords::join(table, id.clone()).await.unwrap();
        let config = RecordsConfig::default();
        let writer = RecordWriter::start((*table).clone(), config, Clock::System).unwrap();
        let history = RunHistory::default();
        history.open(Journal {
            recorder: Some(writer.recorder().clone()),
            table: Some(table),
            audit: AuditLog::default(),
            waits: FairShare::new(4, 4),
        });
        (Arc::new(history), writer)
    }

    fn record(run: &RunId, outcome: &str) -> RunRecord {
        let digest = Digest::of(b"x").to_string();
        let limits = json!({
            "timeout_ms": 1, "fuel": null, "memory_bytes": 1, "workspace_bytes": 1,
            "workspace_entries": 1, "open_files": 1, "logs_bytes": 1, "host_calls": 1,
            "host_bytes": 1,
        });
        serde_json::from_value(json!({
            "run_id": run, "tenant": "local", "key": null, "request_id": "req_1",
            "label": "a title", "kind": "run_code", "detached": true, "started_ms": 7,
            "duration_us": 1, "outcome": outcome, "error": null, "skill": null, "code": null,
            "entrypoint": null, "arguments": {"digest": digest, "size_bytes": 2},
            "mounted_skills": [], "layers": [], "input_blobs": [], "wardian": "0.1.0",
            "engine": digest, "image": null, "limits": limits, "phases_us": {}, "cpu_us": null,
            "memory_peak_bytes": null, "fuel": null, "host_calls": null, "output": null,
            "output_blobs": [], "output_blobs_total": 0,
            "log": {"bytes": 0, "cut_bytes": 0, "dropped_bytes": 0}, "network": null,
        }))
        .unwrap()
    }

    /// A run of one server is asked for at another one, by its name and by its id.
    #[tokio::test(flavor = "multi_thread")]
    async fn runs_of_others_go_on_for_callers_of_this_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        let (first, _writer) = server(&path, &ServerId::generate()).await;
        let (caller, run) = (Caller::local("req_1"), RunId::generate());
        let key = RequestKey { name: "k".to_owned(), call: Digest::of(b"call") };
        let note = record(&run, "interrupted");
        let noted = first.note_detached(&note, Some(&key)).await.unwrap();
        assert!(matches!(noted, NotedHere::By(_)), "{noted:?}");
        let (second, _writer) = server(&path, &ServerId::generate()).await;
        let begun = second.run_of_key(&caller.tenant, &key).await.unwrap().unwrap();
        assert_eq!((begun.status, &begun.run_id), (RunProgress::Running, &run));
        let other = record(&RunId::generate(), "interrupted");
        let known = second.note_detached(&other, Some(&key)).await.unwrap();
        assert_eq!(known, NotedHere::Known);
        let id = run.as_str();
        let FoundRun::Active(view) = second.find(&caller, id, Duration::ZERO).await.unwrap() else {
            panic!("it is reported as ended");
        };
        assert_eq!((view.title.as_deref(), view.started_ms), (Some("a title"), 7));
        for refused in
            [second.log(&caller, id).await.map(drop), second.content(&caller, id).await.map(drop)]
        {
            assert!(matches!(refused, Err(ServiceError::RecordNotWritten)), "{refused:?}");
        }
        // It is asked to stop, and has not stopped yet.
        let asked = second.cancel(&caller, id).await.unwrap();
        assert_eq!((asked.status, asked.outcome), (RunProgress::Running, None));
        let cancelled = first.table().unwrap().cancelled().await.unwrap();
        assert_eq!(cancelled, [(caller.tenant.clone(), run.clone())]);
        // Who waits sees the end that the first server writes.
        let waiting = {
            let (second, caller, run) = (Arc::clone(&second), caller.clone(), run.clone());
            tokio::spawn(async move {
                second.find(&caller, run.as_str(), Duration::from_secs(60)).await.unwrap()
            })
        };
        let (recorder, ended) = (first.recorder().unwrap(), record(&run, "completed"));
        recorder.hand_over_all(Box::new(ended), None, Default::default());
        let FoundRun::Ended(text) = waiting.await.unwrap() else { panic!("it has ended") };
        assert!(text.contains("\"completed\""), "{text}");
        let begun = second.run_of_key(&caller.tenant, &key).await.unwrap().unwrap();
        assert_eq!(begun.status, RunProgress::Ended);
    }

    /// A run that was stopped before it was admitted leaves, and who waits for it is woken.
    #[tokio::test(flavor = "multi_thread")]
    async fn who_asks_for_a_run_that_leaves_is_woken() {
        let folder = tempfile::tempdir().unwrap();
        let (history, _writer) =
            server(&folder.path().join("records.db"), &ServerId::generate()).await;
        let (caller, id) = (Caller::local("req_1"), RunId::generate());
        let key = RequestKey { name: "k".to_owned(), call: Digest::of(b"call") };
        history.note_detached(&record(&id, "interrupted"), Some(&key)).await.unwrap();
        let run = ActiveRun::new(id.clone(), caller.tenant.clone(), RunKind::RunCode);
        let (run, place) = history.active().enter(run);
        let waiting = {
            let (history, tenant, key) = (Arc::clone(&history), caller.tenant.clone(), key.clone());
            tokio::spawn(async move { history.run_of_key(&tenant, &key).await.unwrap() })
        };
        drop(run);
        sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished(), "the run is still there");
        history.table().unwrap().forget_detached(&caller.tenant, &id).await.unwrap();
        drop(place);
        let found = timeout(Duration::from_secs(20), waiting).await;
        assert_eq!(found.unwrap().unwrap(), None, "its key is forgotten");
    }

    /// A start of the same server ends at once what its former life has left.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_restart_ends_the_runs_of_the_former_life() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        let (id, run) = (ServerId::generate(), RunId::generate());
        let (first, _writer) = server(&path, &id).await;
        let key = RequestKey { name: "k".to_owned(), call: Digest::of(b"call") };
        first.note_detached(&record(&run, "interrupted"), Some(&key)).await.unwrap();
        let (again, _writer) = server(&path, &id).await;
        let caller = Caller::local("req_1");
        let found = again.find(&caller, run.as_str(), Duration::ZERO).await.unwrap();
        let FoundRun::Ended(text) = found else { panic!("it goes on") };
        assert!(text.contains("\"interrupted\""), "{text}");
        let begun = again.run_of_key(&caller.tenant, &key).await.unwrap().unwrap();
        assert_eq!(begun.status, RunProgress::Ended);
    }
}
