//! The test double: a database in memory. It is the model of what a database must do, so it is written
//! for being read and not for being fast.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};

use crate::database_error::DatabaseError;
use crate::records::filter::{RunFilter, RunSearch, WhoseRuns};
use crate::records::named_call::{NamedCall, RequestKey};
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::store::{
    CallNames, FoundNote, ListedRow, MADE_BY, NamesOf, Noted, NotesOf, RecordPart, RecordRetention,
    RecordRows, RecordStore, RecordTotals, RemovedLogs, Renewed, RunNote, RunNotes, ServerLeases,
    StoredLog, StoredNote, Window,
};
use crate::records::waiting::overview::FleetOverview;
use crate::records::waiting::run_queue::{NewRun, Queued, RunQueue, StoredOrder, UnrecordedRow};
use crate::records::waiting::{FleetServer, QueueCounts, ServerFacts, TenantQueue};
use crate::tenants::Revocation;
use crate::tenants::key_table::{KeyRow, KeyStore};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Tenant and run.
type Place = (String, String);

/// The tables of records. Clones share them, as handles of several servers do.
#[derive(Debug, Clone)]
pub(super) struct MemoryRecords {
    tables: Arc<Mutex<Tables>>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Tables {
    is_broken: bool,
    runs: BTreeMap<Place, Row>,
    /// Texts beside records, which can go before these do.
    logs: BTreeMap<Place, Row>,
    names: BTreeMap<Place, Name>,
    notes: BTreeMap<Place, RunNote>,
    /// The runs that somebody has asked to stop.
    cancelled: BTreeSet<Place>,
    waiting: BTreeMap<Place, Waiting>,
    servers: BTreeMap<String, Server>,
}

#[derive(Debug)]
struct Name {
    call: NamedCall,
    noted_ms: u64,
}

/// A run of the queue.
#[derive(Debug, Clone)]
struct Waiting {
    run: NewRun,
    queued_us: u64,
    expires_ms: u64,
    holder: Option<RunHolder>,
}

#[derive(Debug)]
struct Server {
    epoch: u64,
    lease_ms: u64,
    facts: Option<ServerFacts>,
}

impl MemoryRecords {
    pub(super) fn new(clock: Clock) -> Self {
        Self { tables: Arc::default(), clock }
    }

    /// Lets every statement fail from now on, or work again.
    pub(super) fn set_broken(&self, is_broken: bool) {
        self.tables.lock().is_broken = is_broken;
    }

    fn tables(&self) -> Result<MutexGuard<'_, Tables>, DatabaseError> {
        let tables = self.tables.lock();
        match tables.is_broken {
            true => Err(DatabaseError::failed("the test double was told to fail")),
            false => Ok(tables),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.now().as_millis()).unwrap()
    }
}

impl Tables {
    fn is_held(&self, holder: &RunHolder) -> bool {
        let server = self.servers.get(holder.server.as_str());
        server.is_some_and(|server| server.epoch == holder.epoch)
    }

    /// Removes the note or the claim of a run that this server has, if its epoch is not over.
    fn end_of(&mut self, at: &Place, holder: &RunHolder) -> bool {
        if !self.is_held(holder) {
            return false;
        }
        if self.notes.get(at).is_some_and(|note| note.holder == *holder) {
            return self.notes.remove(at).is_some();
        }
        let is_claimed = |one: &Waiting| one.holder.as_ref() == Some(holder);
        self.waiting.get(at).is_some_and(is_claimed) && self.waiting.remove(at).is_some()
    }

    fn totals(&self) -> BTreeMap<String, (u64, u64)> {
        let mut totals: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (tenant, _) in self.runs.keys() {
            totals.entry(tenant.clone()).or_default().0 += 1;
        }
        for ((tenant, _), row) in &self.logs {
            totals.entry(tenant.clone()).or_default().1 += row.kept_bytes();
        }
        totals
    }

    /// The names that may be forgotten, oldest first.
    fn forgettable(&self, of: NamesOf) -> Vec<(Place, u64)> {
        let may_go = |(place, name): (&Place, &Name)| {
            let is_meant = name.call.run_id.is_some() == (of == NamesOf::Runs);
            let run = name.call.run_id.clone().unwrap_or_default();
            let at = (place.0.clone(), run);
            let is_noted = self.notes.contains_key(&at) || self.waiting.contains_key(&at);
            (is_meant && !is_noted).then(|| (place.clone(), name.noted_ms))
        };
        let mut names: Vec<_> = self.names.iter().filter_map(may_go).collect();
        names.sort_by_key(|(_, noted_ms)| *noted_ms);
        names
    }

    fn forget(&mut self, names: &[Place]) -> u64 {
        names.iter().for_each(|place| drop(self.names.remove(place)));
        u64::try_from(names.len()).unwrap()
    }

    fn window(&self, whose: &WhoseRuns, window: &Window) -> Vec<&Row> {
        let fits = |row: &&Row| {
            whose.tenant().is_none_or(|tenant| tenant.as_str() == row.tenant)
                && row.run_id < window.newest
                && row.run_id >= window.oldest
        };
        let mut rows: Vec<&Row> = self.runs.values().filter(fits).collect();
        rows.sort_by(|one, other| other.run_id.cmp(&one.run_id));
        rows
    }

    /// The runs of the newest that stored a blob.
    fn made(&self, whose: &WhoseRuns, blob: &str) -> BTreeSet<Place> {
        let own = match whose {
            WhoseRuns::Own(tenant) => Some(tenant.as_str()),
            WhoseRuns::Operator { .. } => None,
        };
        let stored = |row: &&Row| {
            own.is_none_or(|own| own == row.tenant) && row.blobs.iter().any(|one| one == blob)
        };
        let mut rows: Vec<&Row> = self.runs.values().filter(stored).collect();
        rows.sort_by(|one, other| other.run_id.cmp(&one.run_id));
        let most = usize::try_from(MADE_BY).unwrap();
        rows.into_iter().take(most).map(|row| (row.tenant.clone(), row.run_id.clone())).collect()
    }
}

fn place(tenant: &TenantId, run: &RunId) -> Place {
    (tenant.to_string(), run.to_string())
}

fn at_most<T>(items: impl IntoIterator<Item = T>, most: u64) -> Vec<T> {
    items.into_iter().take(usize::try_from(most).unwrap_or(usize::MAX)).collect()
}

fn listed(row: &Row) -> ListedRow {
    ListedRow {
        run_id: row.run_id.clone(),
        tenant: row.tenant.clone(),
        title: row.title.clone(),
        kind: row.kind.to_owned(),
        skill: row.skill.clone(),
        version: row.version.clone(),
        outcome: row.outcome.to_owned(),
        error_type: row.error_type.clone(),
        started_ms: row.started_ms,
        duration_us: row.duration_us,
        log_bytes: row.log_bytes,
    }
}

/// True if all words of the search are found in what the reader may read of a run.
fn is_found(row: &Row, whose: &WhoseRuns, filter: &RunFilter) -> bool {
    let (skill, version) = (row.skill.as_deref(), row.version.as_deref());
    let of_others = [row.kind, &row.run_id, skill.unwrap_or(""), version.unwrap_or("")].join(" ");
    let text = match whose.may_read(&row.tenant) {
        true => row.search.clone(),
        false => of_others.to_lowercase(),
    };
    let mut words = filter.search.iter().flat_map(RunSearch::words);
    words.all(|word| text.contains(word.as_str()))
}

#[async_trait]
impl RecordStore for MemoryRecords {
    async fn close(&self) {}
}

#[async_trait]
impl RecordRows for MemoryRecords {
    async fn insert(&self, rows: &[Row], now_ms: u64) -> Result<u64, DatabaseError> {
        let (mut tables, mut late) = (self.tables()?, 0);
        for row in rows {
            let at = (row.tenant.clone(), row.run_id.clone());
            if let Some(holder) = &row.holder
                && !tables.end_of(&at, holder)
            {
                let is_there = tables.runs.get(&at).is_some_and(|one| one.record == row.record);
                late += u64::from(!is_there);
                continue;
            }
            let place = (row.tenant.clone(), row.run_id.clone());
            if !tables.runs.contains_key(&place) {
                tables.runs.insert(place.clone(), row.clone());
            }
            if row.kept_bytes() > 0 && !tables.logs.contains_key(&place) {
                tables.logs.insert(place.clone(), row.clone());
            }
            if !row.is_detached {
                continue;
            }
            tables.notes.remove(&place);
            let of_run = |((tenant, _), name): (&Place, &Name)| {
                *tenant == place.0 && name.call.run_id.as_deref() == Some(&place.1)
            };
            let named: Vec<Place> =
                tables.names.iter().filter(|one| of_run(*one)).map(|(at, _)| at.clone()).collect();
            for at in named {
                tables.names.get_mut(&at).unwrap().noted_ms = now_ms;
            }
        }
        Ok(late)
    }

    async fn list(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        window: &Window,
        limit: u64,
    ) -> Result<Vec<ListedRow>, DatabaseError> {
        let tables = self.tables()?;
        let made = filter.blob.as_ref().map(|blob| tables.made(whose, &blob.to_string()));
        let fits = |row: &&Row| {
            let at = (row.tenant.clone(), row.run_id.clone());
            filter.kind.is_none_or(|kind| kind.name() == row.kind)
                && filter.outcome.is_none_or(|outcome| outcome.name() == row.outcome)
                && filter
                    .skill
                    .as_ref()
                    .is_none_or(|skill| row.skill.as_deref() == Some(skill.as_str()))
                && made.as_ref().is_none_or(|made| made.contains(&at))
                && is_found(row, whose, filter)
        };
        Ok(at_most(tables.window(whose, window).into_iter().filter(fits).map(listed), limit))
    }

    async fn run_at(
        &self,
        whose: &WhoseRuns,
        window: &Window,
        place: u64,
    ) -> Result<Option<String>, DatabaseError> {
        let tables = self.tables()?;
        let at = usize::try_from(place).unwrap();
        Ok(tables.window(whose, window).get(at).map(|row| row.run_id.clone()))
    }

    async fn next_tenant(&self, after: &str) -> Result<Option<String>, DatabaseError> {
        let tables = self.tables()?;
        let mut tenants = tables.runs.keys().map(|(tenant, _)| tenant);
        Ok(tenants.find(|tenant| tenant.as_str() > after).cloned())
    }

    async fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let tables = self.tables()?;
        let found = tables.runs.get(&place(tenant, run));
        let found = found.filter(|row| kind.is_none_or(|kind| kind.name() == row.kind));
        Ok(found.map(|row| row.record.clone()))
    }

    async fn find_log(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError> {
        let (tables, at) = (self.tables()?, place(tenant, run));
        let found = tables.runs.get(&at);
        let found = found.filter(|row| kind.is_none_or(|kind| kind.name() == row.kind));
        let size = tables.logs.get(&at).map(Row::kept_bytes);
        Ok(found.map(|row| StoredLog { bytes: row.log_bytes, size }))
    }

    async fn find_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError> {
        let tables = self.tables()?;
        let found = tables.logs.get(&place(tenant, run)).filter(|row| row.result.is_some());
        Ok(found.map(Row::kept_bytes))
    }

    async fn read(
        &self,
        tenant: &TenantId,
        run: &RunId,
        part: RecordPart,
    ) -> Result<Option<String>, DatabaseError> {
        let tables = self.tables()?;
        let Some(row) = tables.logs.get(&place(tenant, run)) else { return Ok(None) };
        Ok(match part {
            RecordPart::Log => Some(row.pieces.clone().unwrap_or_else(|| "[]".to_owned())),
            RecordPart::Result => row.result.clone(),
            RecordPart::Document => row.document.clone(),
            RecordPart::Content => row.content.clone(),
        })
    }
}

#[async_trait]
impl RecordRetention for MemoryRecords {
    async fn tenants_over(
        &self,
        runs: u64,
        log_bytes: u64,
    ) -> Result<Vec<RecordTotals>, DatabaseError> {
        let totals = self.tables()?.totals().into_iter();
        let over = totals.filter(|(_, (all, bytes))| *all > runs || *bytes > log_bytes);
        let totals = |(tenant, (runs, log_bytes))| RecordTotals { tenant, runs, log_bytes };
        Ok(over.map(totals).collect())
    }

    async fn tenants_before(&self, bound: &str) -> Result<Vec<String>, DatabaseError> {
        let tables = self.tables()?;
        let old = tables.runs.keys().filter(|(_, run)| run.as_str() < bound);
        let tenants: BTreeSet<String> = old.map(|(tenant, _)| tenant.clone()).collect();
        Ok(tenants.into_iter().collect())
    }

    async fn remove_oldest(
        &self,
        tenant: &str,
        bound: Option<&str>,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let mut tables = self.tables()?;
        let runs = tables.runs.keys().filter(|(owner, _)| owner == tenant);
        let runs: Vec<String> = runs.map(|(_, run)| run.clone()).collect();
        let first_kept = runs.get(usize::try_from(most).unwrap()).map(String::as_str);
        let Some(bound) = [first_kept, bound].into_iter().flatten().min() else { return Ok(0) };
        let old = |at: &Place| at.0 == tenant && at.1.as_str() < bound;
        let before = tables.runs.len();
        tables.runs.retain(|at, _| !old(at));
        tables.logs.retain(|at, _| !old(at));
        Ok(u64::try_from(before - tables.runs.len()).unwrap())
    }

    async fn remove_logs(
        &self,
        tenant: &str,
        excess: u64,
        most: u64,
    ) -> Result<RemovedLogs, DatabaseError> {
        let mut tables = self.tables()?;
        let mut removed = RemovedLogs::default();
        let logs = tables.logs.iter().filter(|((owner, _), _)| owner == tenant);
        let logs: Vec<(Place, u64)> =
            logs.map(|(at, row)| (at.clone(), row.kept_bytes())).collect();
        for (at, bytes) in at_most(logs, most) {
            if removed.bytes >= excess {
                break;
            }
            tables.logs.remove(&at);
            removed = RemovedLogs { logs: removed.logs + 1, bytes: removed.bytes + bytes };
        }
        Ok(removed)
    }
}

#[async_trait]
impl CallNames for MemoryRecords {
    async fn find_name(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<NamedCall>, DatabaseError> {
        let tables = self.tables()?;
        let found = tables.names.get(&(tenant.to_string(), name.to_owned()));
        Ok(found.map(|name| name.call.clone()))
    }

    async fn name_blob(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
        now_ms: u64,
    ) -> Result<Option<NamedCall>, DatabaseError> {
        let mut tables = self.tables()?;
        let call = NamedCall { run_id: None, digest: key.call.to_string() };
        let named = tables.names.entry((tenant.to_string(), key.name.clone()));
        Ok(Some(named.or_insert(Name { call, noted_ms: now_ms }).call.clone()))
    }

    async fn forget_name(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        self.tables()?.names.retain(|(owner, _), name| {
            owner != tenant.as_str() || name.call.run_id.as_deref() != Some(run.as_str())
        });
        Ok(())
    }

    async fn forget_old_names(
        &self,
        of: NamesOf,
        oldest_ms: u64,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let mut tables = self.tables()?;
        let old = tables.forgettable(of).into_iter().filter(|(_, noted)| *noted < oldest_ms);
        let old = at_most(old.map(|(place, _)| place), most);
        Ok(tables.forget(&old))
    }

    async fn tenants_with_names(
        &self,
        of: NamesOf,
        more_than: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        let tables = self.tables()?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for ((tenant, _), name) in &tables.names {
            if name.call.run_id.is_some() == (of == NamesOf::Runs) {
                *counts.entry(tenant.clone()).or_default() += 1;
            }
        }
        Ok(counts.into_iter().filter(|(_, count)| *count > more_than).map(|(of, _)| of).collect())
    }

    async fn forget_surplus_names(
        &self,
        of: NamesOf,
        tenant: &str,
        keep: u64,
        most: u64,
    ) -> Result<u64, DatabaseError> {
        let mut tables = self.tables()?;
        let names = tables.forgettable(of).into_iter().rev();
        let names = names.map(|(place, _)| place).filter(|(owner, _)| owner == tenant);
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let surplus = at_most(names.skip(keep), most);
        Ok(tables.forget(&surplus))
    }
}

#[async_trait]
impl RunNotes for MemoryRecords {
    async fn note_run(
        &self,
        note: &RunNote,
        key: Option<&RequestKey>,
    ) -> Result<Noted, DatabaseError> {
        let mut tables = self.tables()?;
        let named = key.map(|key| (note.tenant.to_string(), key.name.clone()));
        if let Some(name) = named.as_ref().and_then(|place| tables.names.get(place)) {
            return Ok(Noted::Known(name.call.clone()));
        }
        if !tables.is_held(&note.holder) {
            return Ok(Noted::EpochOver);
        }
        let at = place(&note.tenant, &note.run);
        if tables.notes.contains_key(&at) {
            return Err(DatabaseError::failed("the run is noted already"));
        }
        if let (Some(place), Some(key)) = (named, key) {
            let call =
                NamedCall { run_id: Some(note.run.to_string()), digest: key.call.to_string() };
            tables.names.insert(place, Name { call, noted_ms: note.started_ms });
        }
        tables.notes.insert(at, note.clone());
        Ok(Noted::Done)
    }

    async fn forget_run(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        self.forget_name(tenant, run).await?;
        self.tables()?.notes.remove(&place(tenant, run));
        Ok(())
    }

    async fn find_note(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<FoundNote>, DatabaseError> {
        let tables = self.tables()?;
        let found = tables.notes.get(&place(tenant, run));
        let found = found.filter(|note| kind.is_none_or(|kind| kind == note.kind));
        Ok(found.map(|note| FoundNote {
            record: note.record.clone(),
            server: note.holder.server.to_string(),
            epoch: note.holder.epoch,
            is_held: tables.is_held(&note.holder),
        }))
    }

    async fn count_notes(&self, tenant: &TenantId) -> Result<u64, DatabaseError> {
        let tables = self.tables()?;
        let notes = tables.notes.keys().filter(|(owner, _)| owner == tenant.as_str());
        Ok(u64::try_from(notes.count()).unwrap())
    }

    async fn notes_of(
        &self,
        tenant: &TenantId,
        holder: &RunHolder,
        limit: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        let tables = self.tables()?;
        let of =
            tables.notes.values().filter(|note| note.tenant == *tenant && note.holder == *holder);
        Ok(at_most(of.map(|note| note.run.to_string()), limit))
    }

    async fn abandoned_notes(&self, limit: u64) -> Result<Vec<StoredNote>, DatabaseError> {
        let tables = self.tables()?;
        let over = tables.notes.values().filter(|note| !tables.is_held(&note.holder));
        let note = |note: &RunNote| StoredNote {
            tenant: note.tenant.to_string(),
            run_id: note.run.to_string(),
            record: note.record.clone(),
            server: note.holder.server.to_string(),
            epoch: note.holder.epoch,
        };
        Ok(at_most(over.map(note), limit))
    }

    async fn end_notes(
        &self,
        ends: &[(StoredNote, Option<Row>)],
        of: NotesOf,
        now_ms: u64,
    ) -> Result<u64, DatabaseError> {
        let mut rows = Vec::new();
        for (note, row) in ends {
            let mut tables = self.tables()?;
            let at = (note.tenant.clone(), note.run_id.clone());
            let server = ServerId::parse(&note.server).unwrap();
            let holder = RunHolder { server, epoch: note.epoch };
            let is_meant = of == NotesOf::Present || !tables.is_held(&holder);
            if is_meant && tables.notes.get(&at).is_some_and(|one| one.holder == holder) {
                tables.notes.remove(&at);
                rows.extend(row.clone());
            }
        }
        self.insert(&rows, now_ms).await?;
        Ok(u64::try_from(rows.len()).unwrap())
    }
}

#[async_trait]
impl ServerLeases for MemoryRecords {
    async fn join(&self, server: &ServerId, lease: Duration) -> Result<u64, DatabaseError> {
        let (mut tables, now) = (self.tables()?, self.now_ms());
        let joined = tables.servers.entry(server.to_string());
        let joined = joined.or_insert(Server { epoch: 0, lease_ms: 0, facts: None });
        joined.epoch += 1;
        joined.lease_ms = now + u64::try_from(lease.as_millis()).unwrap();
        Ok(joined.epoch)
    }

    async fn renew(&self, holder: &RunHolder, lease: Duration) -> Result<Renewed, DatabaseError> {
        let (mut tables, now) = (self.tables()?, self.now_ms());
        if !tables.is_held(holder) {
            return Ok(Renewed::EpochOver);
        }
        let server = tables.servers.get_mut(holder.server.as_str()).unwrap();
        let was_late = server.lease_ms <= now;
        server.lease_ms = now + u64::try_from(lease.as_millis()).unwrap();
        Ok(if was_late { Renewed::Late } else { Renewed::InTime })
    }

    async fn end_expired(&self, but: &ServerId) -> Result<u64, DatabaseError> {
        let (mut tables, now) = (self.tables()?, self.now_ms());
        let has_runs = |id: &str, epoch: u64| {
            let claims = tables.waiting.values().filter_map(|one| one.holder.as_ref());
            let mut holders = tables.notes.values().map(|note| &note.holder).chain(claims);
            holders.any(|holder| holder.server.as_str() == id && holder.epoch == epoch)
        };
        let expired = |(id, server): (&String, &Server)| {
            let is_over = id != but.as_str() && server.lease_ms <= now;
            (is_over && has_runs(id, server.epoch)).then(|| id.clone())
        };
        let ended: Vec<String> = tables.servers.iter().filter_map(expired).collect();
        for id in &ended {
            tables.servers.get_mut(id).unwrap().epoch += 1;
        }
        Ok(u64::try_from(ended.len()).unwrap())
    }
}

impl Waiting {
    fn order(&self) -> StoredOrder {
        StoredOrder {
            tenant: self.run.tenant.to_string(),
            run_id: self.run.run.to_string(),
            sealed: self.run.sealed.clone(),
            record: self.run.record.clone(),
        }
    }
}

impl Tables {
    /// The runs of the queue, in its order.
    fn in_order(&self) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = self.waiting.values().cloned().collect();
        all.sort_by_key(|one| (one.queued_us, one.run.run.clone()));
        all
    }

    fn used_by(&self, tenant: &str) -> u64 {
        let runs = self.notes.keys().chain(self.waiting.keys());
        u64::try_from(runs.filter(|(owner, _)| owner == tenant).count()).unwrap()
    }
}

#[async_trait]
impl RunQueue for MemoryRecords {
    async fn submit(
        &self,
        runs: &[NewRun],
        holder: &RunHolder,
    ) -> Result<Vec<Queued>, DatabaseError> {
        let (mut tables, now) = (self.tables()?, self.now_ms());
        let is_present = tables.is_held(holder);
        let mut sorted: Vec<(usize, &NewRun)> = runs.iter().enumerate().collect();
        sorted.sort_by_key(|(_, run)| (&run.tenant, run.key.as_ref().map(|key| &key.name)));
        let mut outcomes = Vec::new();
        for (number, run) in sorted {
            let name = run.key.as_ref().map(|key| (run.tenant.to_string(), key.name.clone()));
            if let Some(known) = name.as_ref().and_then(|name| tables.names.get(name)) {
                outcomes.push((number, Queued::Known(known.call.clone())));
                continue;
            }
            if tables.used_by(run.tenant.as_str()) >= run.most {
                outcomes.push((number, Queued::TooMany));
                continue;
            }
            if let (Some(name), Some(key)) = (name, &run.key) {
                let call =
                    NamedCall { run_id: Some(run.run.to_string()), digest: key.call.to_string() };
                tables.names.insert(name, Name { call, noted_ms: run.started_ms });
            }
            let claims = run.claims && is_present;
            let waiting = Waiting {
                run: run.clone(),
                queued_us: now * 1_000,
                expires_ms: now + run.longest_wait_ms,
                holder: claims.then(|| holder.clone()),
            };
            tables.waiting.insert(place(&run.tenant, &run.run), waiting);
            outcomes.push((number, if claims { Queued::Claimed } else { Queued::Waiting }));
        }
        outcomes.sort_by_key(|(number, _)| *number);
        let outcomes: Vec<Queued> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
        // The order of a submission is that of its runs.
        let is_new = |queued: &Queued| matches!(queued, Queued::Waiting | Queued::Claimed);
        let new = runs.iter().zip(&outcomes).filter(|(_, queued)| is_new(queued));
        for (number, (run, _)) in new.enumerate() {
            let one = tables.waiting.get_mut(&place(&run.tenant, &run.run)).unwrap();
            one.queued_us = now * 1_000 + u64::try_from(number).unwrap();
        }
        Ok(outcomes)
    }

    async fn waiting_tenants(&self, most: u64) -> Result<Vec<String>, DatabaseError> {
        let tables = self.tables()?;
        let waiting = tables.waiting.iter().filter(|(_, one)| one.holder.is_none());
        let tenants: BTreeSet<String> = waiting.map(|((tenant, _), _)| tenant.clone()).collect();
        Ok(at_most(tenants, most))
    }

    async fn claim(
        &self,
        holder: &RunHolder,
        tenant: &TenantId,
        most: u64,
        except: &[RunId],
    ) -> Result<Vec<StoredOrder>, DatabaseError> {
        let mut tables = self.tables()?;
        if !tables.is_held(holder) {
            return Ok(Vec::new());
        }
        let waiting = tables.in_order().into_iter().filter(|one| {
            one.holder.is_none() && one.run.tenant == *tenant && !except.contains(&one.run.run)
        });
        let picked = at_most(waiting, most);
        for one in &picked {
            let at = place(&one.run.tenant, &one.run.run);
            tables.waiting.get_mut(&at).unwrap().holder = Some(holder.clone());
        }
        Ok(picked.iter().map(Waiting::order).collect())
    }

    async fn claimed(
        &self,
        holder: &RunHolder,
        most: u64,
    ) -> Result<Vec<StoredOrder>, DatabaseError> {
        let all = self.tables()?.in_order();
        let own = all.iter().filter(|one| one.holder.as_ref() == Some(holder));
        Ok(at_most(own.map(Waiting::order), most))
    }

    async fn begin(
        &self,
        holder: &RunHolder,
        runs: &[(TenantId, RunId)],
    ) -> Result<Vec<String>, DatabaseError> {
        let mut tables = self.tables()?;
        let mut begun = Vec::new();
        for (tenant, run) in runs {
            let at = place(tenant, run);
            let is_own =
                tables.waiting.get(&at).is_some_and(|one| one.holder.as_ref() == Some(holder));
            if is_own && tables.is_held(holder) {
                let Waiting { run, .. } = tables.waiting.remove(&at).unwrap();
                let note = RunNote {
                    tenant: run.tenant,
                    run: run.run,
                    kind: run.kind,
                    record: run.record,
                    started_ms: run.started_ms,
                    holder: holder.clone(),
                };
                tables.notes.insert(at.clone(), note);
            }
            if tables.notes.get(&at).is_some_and(|note| note.holder == *holder) {
                begun.push(run.to_string());
            }
        }
        Ok(begun)
    }

    async fn give_back(
        &self,
        holder: &RunHolder,
        runs: &[(TenantId, RunId)],
    ) -> Result<(), DatabaseError> {
        let mut tables = self.tables()?;
        for (tenant, run) in runs {
            if let Some(one) = tables.waiting.get_mut(&place(tenant, run))
                && one.holder.as_ref() == Some(holder)
            {
                one.holder = None;
            }
        }
        Ok(())
    }

    async fn end_queued(
        &self,
        row: &Row,
        holder: Option<&RunHolder>,
        now_ms: u64,
    ) -> Result<bool, DatabaseError> {
        {
            let mut tables = self.tables()?;
            let at = (row.tenant.clone(), row.run_id.clone());
            let Some(one) = tables.waiting.get(&at) else { return Ok(false) };
            if holder.is_some() && one.holder.as_ref() != holder {
                return Ok(false);
            }
            tables.waiting.remove(&at);
        }
        self.insert(std::slice::from_ref(row), now_ms).await?;
        Ok(true)
    }

    async fn expired(&self, most: u64) -> Result<Vec<String>, DatabaseError> {
        let now = self.now_ms();
        let mut all = self.tables()?.in_order();
        all.sort_by_key(|one| one.expires_ms);
        let over = all.into_iter().filter(|one| one.expires_ms <= now);
        Ok(at_most(over.map(|one| one.run.record), most))
    }

    async fn note_cancelled(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<bool, DatabaseError> {
        let (mut tables, at) = (self.tables()?, place(tenant, run));
        let is_there =
            tables.notes.get(&at).is_some_and(|note| kind.is_none_or(|kind| kind == note.kind));
        if is_there {
            tables.cancelled.insert(at);
        }
        Ok(is_there)
    }

    async fn cancelled(&self, holder: &RunHolder) -> Result<Vec<(String, String)>, DatabaseError> {
        let tables = self.tables()?;
        let own = |at: &&Place| tables.notes.get(*at).is_some_and(|note| note.holder == *holder);
        Ok(tables.cancelled.iter().filter(own).cloned().collect())
    }

    async fn find_queued(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let tables = self.tables()?;
        let found = tables.waiting.get(&place(tenant, run));
        let found = found.filter(|one| kind.is_none_or(|kind| kind == one.run.kind));
        Ok(found.map(|one| one.run.record.clone()))
    }

    async fn unrecorded(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        most: u64,
    ) -> Result<Vec<UnrecordedRow>, DatabaseError> {
        let tables = self.tables()?;
        let waiting = tables.waiting.values().filter(|one| one.run.tenant == *tenant);
        let waiting = waiting.map(|one| {
            let row = UnrecordedRow {
                run_id: one.run.run.to_string(),
                record: one.run.record.clone(),
                has_begun: false,
                is_claimed: one.holder.is_some(),
            };
            (one.run.kind, row)
        });
        let begun = tables.notes.values().filter(|note| note.tenant == *tenant).map(|note| {
            let row = UnrecordedRow {
                run_id: note.run.to_string(),
                record: note.record.clone(),
                has_begun: true,
                is_claimed: true,
            };
            (note.kind, row)
        });
        let mut rows: Vec<UnrecordedRow> = waiting
            .chain(begun)
            .filter(|(of, _)| kind.is_none_or(|kind| kind == *of))
            .map(|(_, row)| row)
            .collect();
        rows.sort_by(|one, other| other.run_id.cmp(&one.run_id));
        Ok(at_most(rows, most))
    }

    async fn reset_claims(&self) -> Result<u64, DatabaseError> {
        let mut tables = self.tables()?;
        let over = |(at, one): (&Place, &Waiting)| {
            one.holder.as_ref().is_some_and(|holder| !tables.is_held(holder)).then(|| at.clone())
        };
        let over: Vec<Place> = tables.waiting.iter().filter_map(over).collect();
        for at in &over {
            tables.waiting.get_mut(at).unwrap().holder = None;
        }
        Ok(u64::try_from(over.len()).unwrap())
    }

    async fn queue_counts(&self) -> Result<QueueCounts, DatabaseError> {
        let tables = self.tables()?;
        let claimed = tables.waiting.values().filter(|one| one.holder.is_some()).count();
        Ok(QueueCounts {
            waiting: u64::try_from(tables.waiting.len() - claimed).unwrap(),
            claimed: u64::try_from(claimed).unwrap(),
            begun: u64::try_from(tables.notes.len()).unwrap(),
        })
    }
}

#[async_trait]
impl FleetOverview for MemoryRecords {
    async fn describe(&self, holder: &RunHolder, facts: &ServerFacts) -> Result<(), DatabaseError> {
        let mut tables = self.tables()?;
        if tables.is_held(holder) {
            tables.servers.get_mut(holder.server.as_str()).unwrap().facts = Some(facts.clone());
        }
        Ok(())
    }

    async fn servers(&self, most: u64) -> Result<Vec<FleetServer>, DatabaseError> {
        let (tables, now) = (self.tables()?, self.now_ms());
        let servers = tables.servers.iter().map(|(id, server)| {
            let is_own =
                |holder: &RunHolder| holder.server.as_str() == id && holder.epoch == server.epoch;
            let claims = tables.waiting.values().filter_map(|one| one.holder.as_ref());
            let facts = server.facts.as_ref();
            FleetServer {
                server: id.clone(),
                host: facts.map(|facts| facts.host.clone()),
                version: facts.map(|facts| facts.version.clone()),
                settings: facts.map(|facts| facts.settings.clone()),
                epoch: server.epoch,
                lease_ms: server.lease_ms.saturating_sub(now),
                claimed: u64::try_from(claims.filter(|one| is_own(one)).count()).unwrap(),
                begun: u64::try_from(
                    tables.notes.values().filter(|note| is_own(&note.holder)).count(),
                )
                .unwrap(),
            }
        });
        Ok(at_most(servers, most))
    }

    async fn queues(&self, most: u64) -> Result<Vec<TenantQueue>, DatabaseError> {
        let (tables, now) = (self.tables()?, self.now_ms());
        let of = |tenant: &str| TenantQueue {
            tenant: tenant.to_owned(),
            waiting: 0,
            claimed: 0,
            begun: 0,
            oldest_ms: 0,
        };
        let mut queues: BTreeMap<String, TenantQueue> = BTreeMap::new();
        for ((tenant, _), one) in &tables.waiting {
            let queue = queues.entry(tenant.clone()).or_insert_with(|| of(tenant));
            queue.waiting += u64::from(one.holder.is_none());
            queue.claimed += u64::from(one.holder.is_some());
            queue.oldest_ms = queue.oldest_ms.max(now.saturating_sub(one.queued_us / 1_000));
        }
        for (tenant, _) in tables.notes.keys() {
            queues.entry(tenant.clone()).or_insert_with(|| of(tenant)).begun += 1;
        }
        Ok(at_most(queues.into_values(), most))
    }
}

/// The table of keys. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryKeys {
    tables: Arc<Mutex<(i64, BTreeMap<String, KeyRow>)>>,
}

#[async_trait]
impl KeyStore for MemoryKeys {
    async fn add(&self, key: &KeyRow) -> Result<(), DatabaseError> {
        let mut tables = self.tables.lock();
        let (changes, keys) = &mut *tables;
        if keys.contains_key(&key.prefix) {
            return Err(DatabaseError::failed("the prefix is taken"));
        }
        keys.insert(key.prefix.clone(), key.clone());
        *changes += 1;
        Ok(())
    }

    async fn revoke(&self, prefix: &str, now_ms: u64) -> Result<Revocation, DatabaseError> {
        let mut tables = self.tables.lock();
        let (changes, keys) = &mut *tables;
        let Some(key) = keys.get_mut(prefix) else { return Ok(Revocation::Unknown) };
        if key.revoked_ms.is_some() {
            return Ok(Revocation::Already);
        }
        key.revoked_ms = Some(now_ms);
        *changes += 1;
        Ok(Revocation::Revoked)
    }

    async fn changes(&self) -> Result<i64, DatabaseError> {
        Ok(self.tables.lock().0)
    }

    async fn all(&self) -> Result<Vec<KeyRow>, DatabaseError> {
        let mut keys: Vec<KeyRow> = self.tables.lock().1.values().cloned().collect();
        keys.sort_by_key(|key| (key.tenant.clone(), key.created_ms, key.prefix.clone()));
        Ok(keys)
    }

    async fn note_uses(&self, uses: &[(String, u64)]) -> Result<(), DatabaseError> {
        let mut tables = self.tables.lock();
        for (prefix, time_ms) in uses {
            if let Some(key) = tables.1.get_mut(prefix) {
                key.last_used_ms = key.last_used_ms.max(Some(*time_ms));
            }
        }
        Ok(())
    }

    async fn close(&self) {}
}
