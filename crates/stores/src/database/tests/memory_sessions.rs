//! The test double of the database of sessions: the model of what a database must do. It computes from
//! all rows what a database keeps track of.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::database_error::DatabaseError;
use crate::sessions::rows::cell_bytes;
use crate::sessions::*;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};

/// The tables of sessions. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct MemorySessions(Arc<Mutex<Tables>>);

#[derive(Debug, Default)]
struct Tables {
    sessions: BTreeMap<SessionId, Session>,
    packs: BTreeMap<PackId, Pack>,
    life: Option<ServerLife>,
    has_had_sessions: bool,
}

#[derive(Debug, Clone)]
struct Session {
    tenant: TenantId,
    row: StoredSession,
    idle_ms: u64,
    max_age_ms: u64,
    must_reseed: bool,
    may_have_gone_back: bool,
    keys: BTreeMap<SessionId, String>,
    cells: BTreeMap<u32, StoredCell>,
    /// The state in which a cell waits, or has waited until now.
    parked: Option<Parked>,
    /// By the number of their cell.
    checkpoints: BTreeMap<u32, StoredCheckpoint>,
}

#[derive(Debug, Clone)]
struct Parked {
    cell: WaitingCell,
    pack: PackId,
}

#[derive(Debug, Clone)]
struct Pack {
    tenant: TenantId,
    row: StoredPack,
    base: Option<PackId>,
    is_settled: bool,
}

/// A session has lost all of its checkpoints, and cannot begin anew.
struct NoWayBack;

impl Session {
    fn is_open(&self) -> bool {
        self.row.state == SessionState::Open
    }

    fn is_usable(&self, now_ms: u64) -> bool {
        self.is_open() && self.row.expires_ms > now_ms
    }

    fn use_at(&mut self, now_ms: u64) {
        self.row.used_ms = now_ms;
        self.row.expires_ms = (now_ms + self.idle_ms).min(self.row.created_ms + self.max_age_ms);
    }

    fn checkpoint(&self, id: &CheckpointId) -> Option<&StoredCheckpoint> {
        self.checkpoints.values().find(|one| one.id == *id)
    }

    fn bytes(&self) -> u64 {
        let texts = self.row.setup.len() + self.row.label.as_deref().map_or(0, str::len);
        let cells = self.cells.values();
        let cells: u64 =
            cells.map(|cell| cell_bytes(cell.source.as_deref(), cell.result.as_deref())).sum();
        let asked = self.parked.as_ref().map_or(0, |parked| parked.cell.asked.len());
        u64::try_from(texts + asked).unwrap() + cells
    }

    fn thin_out(&mut self) {
        let numbers: Vec<u32> = self.checkpoints.keys().copied().collect();
        let newest = numbers.len().saturating_sub(usize::try_from(KEPT_NEWEST).unwrap());
        for number in &numbers[..newest] {
            let one = &self.checkpoints[number];
            let is_kept = one.name.is_some()
                || u64::from(*number).is_multiple_of(KEPT_INTERVAL)
                || self.row.head.as_ref() == Some(&one.id);
            if !is_kept {
                self.checkpoints.remove(number);
            }
        }
    }

    fn end_running(&mut self) -> u64 {
        let running = self.cells.values().filter(|cell| cell.state == CellState::Running);
        let running: Vec<u32> = running.map(|cell| cell.number).collect();
        for number in &running {
            self.end_cell(*number, CellState::RolledBack, &CellEnd::default());
        }
        running.len().try_into().unwrap()
    }

    fn end_cell(
        &mut self,
        number: u32,
        state: CellState,
        end: &CellEnd,
    ) -> Option<&mut StoredCell> {
        let cell = self.cells.get_mut(&number)?;
        match cell.state {
            CellState::Running => {}
            CellState::Waiting if state == CellState::RolledBack => {}
            _ => return None,
        }
        cell.state = state;
        cell.result = end.result.clone();
        cell.fuel = end.fuel.map(|more| cell.fuel.unwrap_or(0) + more).or(cell.fuel);
        self.parked = None;
        Some(cell)
    }

    fn waiting(&self) -> Option<&WaitingCell> {
        let cell = self.parked.as_ref().map(|parked| &parked.cell)?;
        (self.cells.get(&cell.number)?.state == CellState::Waiting).then_some(cell)
    }

    /// The checkpoint to go back to; `None` for the beginning.
    fn way_back(&self, lost: &BTreeSet<PackId>) -> Result<Option<CheckpointId>, NoWayBack> {
        let mut at = self.row.head.clone();
        while let Some(one) = at.as_ref().and_then(|id| self.checkpoint(id)) {
            if !lost.contains(&one.pack.id) {
                return Ok(at);
            }
            if one.parent.is_none() && one.pack.id.origin != self.row.id {
                return Err(NoWayBack);
            }
            at.clone_from(&one.parent);
        }
        let newest = || self.checkpoints.values().rev().find(|one| !lost.contains(&one.pack.id));
        match at {
            None => Ok(None),
            Some(_) => newest().map(|one| Some(one.id.clone())).ok_or(NoWayBack),
        }
    }

    fn head(&self) -> Option<StoredCheckpoint> {
        self.row.head.as_ref().and_then(|head| self.checkpoint(head).cloned())
    }
}

impl Tables {
    fn open(&self, tenant: &TenantId, now_ms: u64) -> u64 {
        let open = self.sessions.values();
        let open = open.filter(|one| one.tenant == *tenant && one.is_usable(now_ms));
        open.count().try_into().unwrap()
    }

    fn bytes(&self, tenant: &TenantId) -> u64 {
        let sessions = self.sessions.values().filter(|one| one.tenant == *tenant);
        let packs = self.packs.values().filter(|one| one.tenant == *tenant);
        sessions.map(Session::bytes).sum::<u64>()
            + packs.map(|pack| pack.row.stored_bytes).sum::<u64>()
    }

    /// Removes packs that no checkpoint needs, and the keys that are for none.
    fn collect(&mut self) -> Vec<PackId> {
        let checkpoints = self.sessions.values().flat_map(|one| one.checkpoints.values());
        let mut pending: Vec<PackId> = checkpoints.map(|one| one.pack.id.clone()).collect();
        let parked = self.sessions.values().filter_map(|one| one.parked.as_ref());
        pending.extend(parked.map(|parked| parked.pack.clone()));
        let mut needed = BTreeSet::new();
        while let Some(pack) = pending.pop() {
            pending.extend(self.packs[&pack].base.clone());
            needed.insert(pack);
        }
        let gone: Vec<PackId> =
            self.packs.keys().filter(|pack| !needed.contains(pack)).cloned().collect();
        gone.iter().for_each(|pack| drop(self.packs.remove(pack)));
        let origins: BTreeSet<&SessionId> = needed.iter().map(|pack| &pack.origin).collect();
        let changed: BTreeSet<&SessionId> = gone.iter().map(|pack| &pack.origin).collect();
        for (id, session) in &mut self.sessions {
            session.keys.retain(|origin, _| {
                origin == id || origins.contains(origin) || !changed.contains(origin)
            });
        }
        gone
    }

    /// The packs that a session needs.
    fn needed_by(&self, session: &Session) -> BTreeSet<PackId> {
        let checkpoints = session.checkpoints.values().map(|one| one.pack.id.clone());
        let parked = session.parked.as_ref().map(|parked| parked.pack.clone());
        let mut pending: Vec<PackId> = checkpoints.chain(parked).collect();
        let mut needed = BTreeSet::new();
        while let Some(pack) = pending.pop() {
            pending.extend(self.packs[&pack].base.clone());
            needed.insert(pack);
        }
        needed
    }

    fn forget_surplus(&mut self, tenant: &TenantId) {
        let expired = self.sessions.values();
        let expired = expired.filter(|one| one.tenant == *tenant && !one.is_open());
        let mut expired: Vec<_> =
            expired.map(|one| (u64::MAX - one.row.expires_ms, one.row.id.clone())).collect();
        expired.sort();
        for (_, id) in expired.into_iter().skip(usize::try_from(MAX_EXPIRED).unwrap()) {
            self.sessions.remove(&id);
        }
    }
}

fn at_most<T>(items: impl Iterator<Item = T>, most: u64) -> Vec<T> {
    items.take(usize::try_from(most).unwrap()).collect()
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn close(&self) {}
}

#[async_trait]
impl SessionRows for MemorySessions {
    async fn create(&self, new: &NewSession, most: u64) -> Result<bool, DatabaseError> {
        let mut tables = self.0.lock();
        if tables.open(&new.tenant, new.created_ms) >= most {
            return Ok(false);
        }
        let row = StoredSession {
            id: new.id.clone(),
            label: new.label.clone(),
            image: new.image,
            setup: new.setup.clone(),
            state: SessionState::Open,
            created_ms: new.created_ms,
            used_ms: new.created_ms,
            expires_ms: 0,
            cells: 0,
            head: None,
            forked_from: None,
        };
        let mut session = Session {
            tenant: new.tenant.clone(),
            row,
            idle_ms: new.idle_ms,
            max_age_ms: new.max_age_ms,
            must_reseed: false,
            may_have_gone_back: false,
            keys: [(new.id.clone(), new.key.clone())].into(),
            cells: BTreeMap::new(),
            parked: None,
            checkpoints: BTreeMap::new(),
        };
        session.use_at(new.created_ms);
        if tables.sessions.contains_key(&new.id) {
            return Err(DatabaseError::failed("there is a session of this id"));
        }
        tables.sessions.insert(new.id.clone(), session);
        tables.has_had_sessions = true;
        Ok(true)
    }

    async fn fork(
        &self,
        tenant: &TenantId,
        from: (&SessionId, &CheckpointId),
        forks: &[NewFork],
        now_ms: u64,
        ForkRoom { sessions: most, bytes }: ForkRoom,
    ) -> Result<Forked, DatabaseError> {
        let mut tables = self.0.lock();
        let room = most.saturating_sub(tables.open(tenant, now_ms));
        let parent = tables.sessions.get(from.0).cloned();
        let Some(parent) = parent.filter(|one| one.tenant == *tenant && one.is_usable(now_ms))
        else {
            return Ok(Forked::NoSession);
        };
        let Some(checkpoint) = parent.checkpoint(from.1) else { return Ok(Forked::NoCheckpoint) };
        let forks = at_most(forks.iter(), room);
        for (made, fork) in forks.iter().enumerate() {
            let keys = fork.keys.iter().map(|key| (key.origin.clone(), key.wrapped.clone()));
            let forked = StoredCheckpoint {
                parent: None,
                name: None,
                made_ms: now_ms,
                ..checkpoint.clone()
            };
            let has_ended = |cell: &StoredCell| {
                fork.own.has_cells
                    && cell.number <= checkpoint.id.cell()
                    && matches!(cell.state, CellState::Kept | CellState::RolledBack)
            };
            let cells = parent.cells.iter().filter(|(_, cell)| has_ended(cell));
            let own = cells
                .clone()
                .map(|(_, cell)| cell_bytes(cell.source.as_deref(), cell.result.as_deref()));
            if fork.own.has_cells && tables.bytes(tenant) + own.sum::<u64>() > bytes {
                return Ok(Forked::Full(made));
            }
            let mut session = Session {
                must_reseed: true,
                keys: keys.collect(),
                cells: cells.map(|(number, cell)| (*number, cell.clone())).collect(),
                parked: None,
                checkpoints: [(checkpoint.id.cell(), forked)].into(),
                ..parent.clone()
            };
            session.row = StoredSession {
                id: fork.id.clone(),
                created_ms: now_ms,
                cells: checkpoint.id.cell(),
                head: Some(checkpoint.id.clone()),
                forked_from: Some(ForkedFrom {
                    session: from.0.clone(),
                    checkpoint: from.1.clone(),
                }),
                setup: fork.own.setup.clone().unwrap_or_else(|| parent.row.setup.clone()),
                ..parent.row.clone()
            };
            session.use_at(now_ms);
            tables.sessions.insert(fork.id.clone(), session);
        }
        Ok(Forked::Done(forks.len()))
    }

    async fn find(
        &self,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<Option<StoredSession>, DatabaseError> {
        let tables = self.0.lock();
        let found = tables.sessions.get(session).filter(|one| one.tenant == *tenant);
        Ok(found.map(|one| one.row.clone()))
    }

    async fn list(
        &self,
        tenant: &TenantId,
        behind: Option<&SessionPlace>,
        now_ms: u64,
        limit: u64,
    ) -> Result<Vec<StoredSession>, DatabaseError> {
        let tables = self.0.lock();
        let place = |row: &StoredSession| (row.created_ms, row.id.clone());
        let behind = behind.map(|place| (place.created_ms, place.id.clone()));
        let listed = tables.sessions.values().filter(|one| {
            one.tenant == *tenant
                && one.is_usable(now_ms)
                && behind.as_ref().is_none_or(|behind| place(&one.row) < *behind)
        });
        let mut listed: Vec<StoredSession> = listed.map(|one| one.row.clone()).collect();
        listed.sort_by_key(place);
        Ok(at_most(listed.into_iter().rev(), limit))
    }

    async fn usage(&self, tenant: &TenantId, now_ms: u64) -> Result<SessionUsage, DatabaseError> {
        let tables = self.0.lock();
        Ok(SessionUsage { sessions: tables.open(tenant, now_ms), bytes: tables.bytes(tenant) })
    }

    async fn totals(&self, now_ms: u64) -> Result<SessionTotals, DatabaseError> {
        let tables = self.0.lock();
        let usable = tables.sessions.values().filter(|one| one.is_usable(now_ms)).count();
        let waiting = tables.sessions.values().filter(|one| one.waiting().is_some()).count();
        let texts: u64 = tables.sessions.values().map(Session::bytes).sum();
        let packs: u64 = tables.packs.values().map(|pack| pack.row.stored_bytes).sum();
        Ok(SessionTotals {
            sessions: usable.try_into().unwrap(),
            waiting: waiting.try_into().unwrap(),
            bytes: texts + packs,
        })
    }

    async fn parked_bytes(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<ParkedBytes>, DatabaseError> {
        let tables = self.0.lock();
        let all = tables.sessions.values();
        let needed: BTreeMap<&SessionId, BTreeSet<PackId>> =
            all.map(|one| (&one.row.id, tables.needed_by(one))).collect();
        let mut parked = Vec::new();
        for (id, own) in needed.iter().filter(|(id, _)| sessions.contains(id)) {
            if own.is_empty() {
                continue;
            }
            let bytes = |is_shared: bool| -> u64 {
                let packs = own.iter().filter(|pack| {
                    let users = needed.values().filter(|packs| packs.contains(pack)).count();
                    (users > 1) == is_shared
                });
                packs.map(|pack| tables.packs[pack].row.stored_bytes).sum()
            };
            let (own, shared) = (bytes(false), bytes(true));
            parked.push(ParkedBytes { session: (*id).clone(), own, shared });
        }
        Ok(parked)
    }

    async fn keys(&self, session: &SessionId) -> Result<Vec<WrappedKey>, DatabaseError> {
        let tables = self.0.lock();
        let keys = tables.sessions.get(session).into_iter().flat_map(|one| &one.keys);
        let key = |(origin, wrapped): (&SessionId, &String)| WrappedKey {
            origin: origin.clone(),
            wrapped: wrapped.clone(),
        };
        Ok(keys.map(key).collect())
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        removal: Removal,
    ) -> Result<Option<Vec<PackId>>, DatabaseError> {
        let mut tables = self.0.lock();
        let found = tables.sessions.get_mut(session);
        let Some(found) = found.filter(|one| one.tenant == *tenant && one.is_open()) else {
            return Ok(None);
        };
        match removal {
            Removal::Closed => drop(tables.sessions.remove(session)),
            Removal::Expired { now_ms } if found.row.expires_ms > now_ms => return Ok(None),
            Removal::Expired { .. } => {
                found.row.state = SessionState::Expired;
                (found.row.label, found.row.setup, found.row.head) = (None, String::new(), None);
                found.keys.clear();
                found.cells.clear();
                found.parked = None;
                found.checkpoints.clear();
            }
        }
        tables.forget_surplus(tenant);
        Ok(Some(tables.collect()))
    }

    async fn due(
        &self,
        now_ms: u64,
        limit: u64,
    ) -> Result<Vec<(TenantId, SessionId)>, DatabaseError> {
        let tables = self.0.lock();
        let due = tables.sessions.values().filter(|one| one.is_open() && !one.is_usable(now_ms));
        let mut due: Vec<&Session> = due.collect();
        due.sort_by_key(|one| (one.row.expires_ms, one.row.id.clone()));
        Ok(at_most(due.into_iter().map(|one| (one.tenant.clone(), one.row.id.clone())), limit))
    }

    async fn images(&self) -> Result<BTreeSet<Digest>, DatabaseError> {
        let tables = self.0.lock();
        let open = tables.sessions.values().filter(|one| one.is_open());
        Ok(open.map(|one| one.row.image).collect())
    }

    async fn forget_expired(&self, before_ms: u64) -> Result<u64, DatabaseError> {
        let mut tables = self.0.lock();
        let before = tables.sessions.len();
        tables.sessions.retain(|_, one| one.is_open() || one.row.expires_ms >= before_ms);
        Ok((before - tables.sessions.len()).try_into().unwrap())
    }
}

#[async_trait]
impl SessionCells for MemorySessions {
    async fn begin_cell(&self, cell: &NewCell, max_bytes: u64) -> Result<Begun, DatabaseError> {
        let mut tables = self.0.lock();
        let is_full = tables.bytes(&cell.tenant) > max_bytes;
        let found = tables.sessions.get_mut(&cell.session);
        let Some(session) = found.filter(|one| one.tenant == cell.tenant) else {
            return Ok(Begun::NotFound);
        };
        if !session.is_usable(cell.now_ms) {
            return Ok(Begun::Expired { at_ms: session.row.expires_ms });
        }
        if let Some(waiting) = session.waiting() {
            return Ok(Begun::Waits { cell: waiting.number });
        }
        let head = session.row.head.clone();
        if cell.if_checkpoint.is_some() && cell.if_checkpoint != head {
            return Ok(Begun::Conflict { head });
        }
        if session.may_have_gone_back && cell.if_checkpoint.is_none() {
            session.may_have_gone_back = false;
            return Ok(Begun::MayHaveGoneBack { head });
        }
        if is_full {
            return Ok(Begun::Full);
        }
        session.end_running();
        session.may_have_gone_back = false;
        session.row.cells += 1;
        let begun = StoredCell {
            number: session.row.cells,
            source: cell.source.clone(),
            state: CellState::Running,
            result: None,
            fuel: None,
            checkpoint: None,
            began_ms: cell.now_ms,
            began_after: head.as_ref().map_or(0, CheckpointId::cell),
        };
        session.cells.insert(begun.number, begun);
        session.use_at(cell.now_ms);
        let (number, head) = (session.row.cells, session.head());
        let must_reseed = std::mem::replace(&mut session.must_reseed, true) && head.is_some();
        tables.collect();
        Ok(Begun::Cell(Box::new(BegunCell { number, head, must_reseed, parked: None })))
    }

    async fn park_cell(
        &self,
        commit: &CellCommit,
        asked: &str,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        let mut tables = self.0.lock();
        let id = PackId { origin: commit.session.clone(), checkpoint: commit.checkpoint.clone() };
        let before = tables.sessions.get(&commit.session).cloned();
        let Some(mut session) = before.filter(Session::is_open) else {
            return Ok(Committed::Gone);
        };
        if session.row.head != commit.head
            || session.end_cell(commit.number, CellState::Waiting, &commit.end).is_none()
        {
            return Ok(Committed::Gone);
        }
        let (number, asked, result) = (commit.number, asked.to_owned(), commit.end.result.clone());
        let cell = WaitingCell { number, asked, result };
        session.parked = Some(Parked { cell, pack: id.clone() });
        session.use_at(commit.now_ms);
        let tenant = session.tenant.clone();
        let (all_sessions, all_packs) = (tables.sessions.clone(), tables.packs.clone());
        tables.sessions.insert(commit.session.clone(), session);
        let row = StoredPack {
            id: id.clone(),
            description: commit.description.clone(),
            stored_bytes: commit.stored_bytes,
        };
        let (base, is_settled) = (commit.base.clone(), commit.is_settled);
        tables.packs.insert(id, Pack { tenant: tenant.clone(), row, base, is_settled });
        let removed = tables.collect();
        if tables.bytes(&tenant) > max_bytes {
            (tables.sessions, tables.packs) = (all_sessions, all_packs);
            return Ok(Committed::Full);
        }
        Ok(Committed::Done(removed))
    }

    async fn waiting_cell(
        &self,
        session: &SessionId,
    ) -> Result<Option<WaitingCell>, DatabaseError> {
        let tables = self.0.lock();
        Ok(tables.sessions.get(session).and_then(Session::waiting).cloned())
    }

    async fn ask_anew(
        &self,
        (tenant, session): (&TenantId, &SessionId),
        cell: &WaitingCell,
        asked: &str,
    ) -> Result<bool, DatabaseError> {
        let mut tables = self.0.lock();
        let found = tables.sessions.get_mut(session).filter(|one| one.tenant == *tenant);
        let waiting = found.filter(|one| one.waiting() == Some(cell));
        let Some(parked) = waiting.and_then(|one| one.parked.as_mut()) else { return Ok(false) };
        asked.clone_into(&mut parked.cell.asked);
        Ok(true)
    }

    async fn resume_cell(&self, answered: &AnsweredCell) -> Result<Begun, DatabaseError> {
        let mut tables = self.0.lock();
        let packs = tables.packs.clone();
        let found = tables.sessions.get_mut(&answered.session);
        let Some(session) = found.filter(|one| one.tenant == answered.tenant) else {
            return Ok(Begun::NotFound);
        };
        if !session.is_usable(answered.now_ms) {
            return Ok(Begun::Expired { at_ms: session.row.expires_ms });
        }
        if session.waiting() != Some(&answered.cell) {
            return Ok(Begun::NotWaiting);
        }
        let number = answered.cell.number;
        session.cells.get_mut(&number).unwrap().state = CellState::Running;
        session.use_at(answered.now_ms);
        session.may_have_gone_back = false;
        let parked = session.parked.as_ref().map(|parked| packs[&parked.pack].row.clone());
        let head = session.head();
        Ok(Begun::Cell(Box::new(BegunCell { number, head, must_reseed: false, parked })))
    }

    async fn commit_cell(
        &self,
        commit: &CellCommit,
        max_bytes: u64,
    ) -> Result<Committed, DatabaseError> {
        let mut tables = self.0.lock();
        let id = PackId { origin: commit.session.clone(), checkpoint: commit.checkpoint.clone() };
        let pack = StoredPack {
            id: id.clone(),
            description: commit.description.clone(),
            stored_bytes: commit.stored_bytes,
        };
        let before = tables.sessions.get(&commit.session).cloned();
        let Some(mut session) = before.clone().filter(Session::is_open) else {
            return Ok(Committed::Gone);
        };
        if session.row.head != commit.head {
            return Ok(Committed::Gone);
        }
        let Some(cell) = session.end_cell(commit.number, CellState::Kept, &commit.end) else {
            return Ok(Committed::Gone);
        };
        cell.checkpoint = Some(commit.checkpoint.clone());
        let made = StoredCheckpoint {
            id: commit.checkpoint.clone(),
            parent: commit.head.clone(),
            name: None,
            made_ms: commit.now_ms,
            pack: pack.clone(),
        };
        session.checkpoints.insert(commit.checkpoint.cell(), made);
        session.row.head = Some(commit.checkpoint.clone());
        session.must_reseed = commit.must_reseed;
        session.use_at(commit.now_ms);
        session.thin_out();
        let tenant = session.tenant.clone();
        let (all_sessions, all_packs) = (tables.sessions.clone(), tables.packs.clone());
        tables.sessions.insert(commit.session.clone(), session);
        let (base, is_settled) = (commit.base.clone(), commit.is_settled);
        tables.packs.insert(id, Pack { tenant: tenant.clone(), row: pack, base, is_settled });
        let removed = tables.collect();
        if tables.bytes(&tenant) > max_bytes {
            (tables.sessions, tables.packs) = (all_sessions, all_packs);
            return Ok(Committed::Full);
        }
        Ok(Committed::Done(removed))
    }

    async fn suspend_cell(&self, session: &SessionId, number: u32) -> Result<bool, DatabaseError> {
        let mut tables = self.0.lock();
        let Some(session) = tables.sessions.get_mut(session) else { return Ok(false) };
        let has_waited = session.parked.as_ref().is_some_and(|parked| parked.cell.number == number);
        let cell = session.cells.get_mut(&number);
        let cell = cell.filter(|cell| has_waited && cell.state == CellState::Running);
        Ok(cell.map(|cell| cell.state = CellState::Waiting).is_some())
    }

    async fn use_session(&self, session: &SessionId, now_ms: u64) -> Result<(), DatabaseError> {
        let mut tables = self.0.lock();
        if let Some(one) = tables.sessions.get_mut(session).filter(|one| one.is_open()) {
            one.use_at(now_ms);
        }
        Ok(())
    }

    async fn roll_back_cell(
        &self,
        session: &SessionId,
        number: u32,
        end: &CellEnd,
    ) -> Result<Option<Vec<PackId>>, DatabaseError> {
        let mut tables = self.0.lock();
        let session = tables.sessions.get_mut(session).filter(|one| one.is_open());
        let ended = session.and_then(|one| one.end_cell(number, CellState::RolledBack, end));
        Ok(ended.is_some().then(|| tables.collect()))
    }

    async fn roll_back_running(&self) -> Result<u64, DatabaseError> {
        let mut tables = self.0.lock();
        let ended = tables.sessions.values_mut().map(Session::end_running).sum();
        tables.collect();
        Ok(ended)
    }

    async fn cells(
        &self,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCell>, DatabaseError> {
        let tables = self.0.lock();
        let cells = tables.sessions.get(session).into_iter().flat_map(|one| one.cells.values());
        Ok(at_most(cells.filter(|cell| cell.number > after).cloned(), limit))
    }

    async fn cells_up_to(
        &self,
        session: &SessionId,
        last: u32,
        among: RangeInclusive<u32>,
    ) -> Result<BTreeSet<u32>, DatabaseError> {
        let tables = self.0.lock();
        let cells = tables.sessions.get(session).map(|one| &one.cells);
        let (mut path, mut next) = (BTreeSet::new(), last);
        while let Some(cell) = cells.and_then(|cells| cells.get(&next)) {
            if among.contains(&next) {
                path.insert(next);
            }
            next = cell.began_after;
        }
        Ok(path)
    }
}

#[async_trait]
impl SessionCheckpoints for MemorySessions {
    async fn checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Option<StoredCheckpoint>, DatabaseError> {
        let tables = self.0.lock();
        let session = tables.sessions.get(session);
        Ok(session.and_then(|one| one.checkpoint(checkpoint)).cloned())
    }

    async fn checkpoints(
        &self,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCheckpoint>, DatabaseError> {
        let tables = self.0.lock();
        let made = tables.sessions.get(session).into_iter();
        let made = made.flat_map(|one| one.checkpoints.values());
        Ok(at_most(made.filter(|one| one.id.cell() > after).cloned(), limit))
    }

    async fn chain(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Vec<StoredPack>, DatabaseError> {
        let tables = self.0.lock();
        let session = tables.sessions.get(session);
        let found = session.and_then(|one| one.checkpoint(checkpoint));
        let parked = session.and_then(|one| one.parked.as_ref()).map(|parked| parked.pack.clone());
        let parked = parked.filter(|pack| pack.checkpoint == *checkpoint);
        let (mut chain, mut next) = (Vec::new(), found.map(|one| one.pack.id.clone()).or(parked));
        while let Some(pack) = next.and_then(|id| tables.packs.get(&id)) {
            chain.insert(0, pack.row.clone());
            next = pack.base.clone();
        }
        Ok(chain)
    }

    async fn name_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        name: Option<&str>,
    ) -> Result<CheckpointNaming, DatabaseError> {
        let mut tables = self.0.lock();
        let Some(session) = tables.sessions.get_mut(session) else {
            return Ok(CheckpointNaming::NotFound);
        };
        let has_name = |one: &&StoredCheckpoint| name.is_some() && one.name.as_deref() == name;
        let taken = session.checkpoints.values().find(has_name).map(|one| one.id.clone());
        let Some(found) = session.checkpoints.values_mut().find(|one| one.id == *checkpoint) else {
            return Ok(CheckpointNaming::NotFound);
        };
        if let Some(taken) = taken.filter(|taken| taken != checkpoint) {
            return Ok(CheckpointNaming::Taken(taken));
        }
        found.name = name.map(str::to_owned);
        Ok(CheckpointNaming::Done)
    }

    async fn named_checkpoint(
        &self,
        session: &SessionId,
        name: &str,
    ) -> Result<Option<CheckpointId>, DatabaseError> {
        let tables = self.0.lock();
        let made =
            tables.sessions.get(session).into_iter().flat_map(|one| one.checkpoints.values());
        let found = made.rev().find(|one| one.name.as_deref() == Some(name));
        Ok(found.map(|one| one.id.clone()))
    }

    async fn forget_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<Forgotten, DatabaseError> {
        let mut tables = self.0.lock();
        let Some(session) = tables.sessions.get_mut(session) else {
            return Ok(Forgotten::NotFound);
        };
        if session.checkpoint(checkpoint).is_none() {
            return Ok(Forgotten::NotFound);
        }
        if session.row.head.as_ref() == Some(checkpoint) {
            return Ok(Forgotten::IsHead);
        }
        session.checkpoints.remove(&checkpoint.cell());
        Ok(Forgotten::Done(tables.collect()))
    }

    async fn restore(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        now_ms: u64,
    ) -> Result<bool, DatabaseError> {
        let mut tables = self.0.lock();
        let session = tables.sessions.get_mut(session).filter(|one| one.is_open());
        let Some(session) = session.filter(|one| one.checkpoint(checkpoint).is_some()) else {
            return Ok(false);
        };
        session.row.head = Some(checkpoint.clone());
        (session.must_reseed, session.may_have_gone_back) = (true, false);
        session.use_at(now_ms);
        Ok(true)
    }

    async fn known_packs(&self, packs: &[PackId]) -> Result<Vec<PackId>, DatabaseError> {
        let tables = self.0.lock();
        Ok(packs.iter().filter(|pack| tables.packs.contains_key(pack)).cloned().collect())
    }

    async fn has_had_sessions(&self) -> Result<bool, DatabaseError> {
        Ok(self.0.lock().has_had_sessions)
    }
}

#[async_trait]
impl SessionLosses for MemorySessions {
    async fn begin_life(&self, life: &ServerLife) -> Result<bool, DatabaseError> {
        let mut tables = self.0.lock();
        let former = tables.life.replace(life.clone());
        let Some(lost) = former.filter(|one| one.boot.is_none() || one.boot != life.boot) else {
            return Ok(false);
        };
        let open = || tables.sessions.values().filter(|one| one.is_open());
        let last = open().map(|one| one.row.used_ms).max().unwrap_or(0);
        for session in tables.sessions.values_mut().filter(|one| one.is_open()) {
            if session.row.used_ms + 2 * RARE_USE_MS >= last {
                session.must_reseed = true;
                session.may_have_gone_back |= lost.sync == SessionSync::Second;
            }
        }
        Ok(true)
    }

    async fn end_life(&self) -> Result<(), DatabaseError> {
        self.0.lock().life = None;
        Ok(())
    }

    async fn sync(&self) -> Result<(), DatabaseError> {
        Ok(())
    }

    async fn unsettled_packs(&self) -> Result<Vec<(TenantId, StoredPack)>, DatabaseError> {
        let tables = self.0.lock();
        let unsettled = tables.packs.values().filter(|pack| !pack.is_settled);
        Ok(unsettled.map(|pack| (pack.tenant.clone(), pack.row.clone())).collect())
    }

    async fn settle_packs(&self, packs: &[PackId]) -> Result<(), DatabaseError> {
        let mut tables = self.0.lock();
        for pack in packs {
            if let Some(found) = tables.packs.get_mut(pack) {
                found.is_settled = true;
            }
        }
        Ok(())
    }

    async fn lose_pack(&self, pack: &PackId) -> Result<bool, DatabaseError> {
        let mut tables = self.0.lock();
        let mut lost = BTreeSet::new();
        let mut next = vec![pack.clone()];
        while let Some(pack) = next.pop().filter(|pack| tables.packs.contains_key(pack)) {
            let continuing =
                tables.packs.iter().filter(|(_, one)| one.base.as_ref() == Some(&pack));
            next.extend(continuing.map(|(id, _)| id.clone()));
            lost.insert(pack);
        }
        let is_lost = |one: &Session| {
            let mut made = one.checkpoints.values().map(|made| &made.pack.id);
            let parked = one.parked.as_ref().map(|parked| &parked.pack);
            made.any(|pack| lost.contains(pack)) || parked.is_some_and(|pack| lost.contains(pack))
        };
        let sessions = tables.sessions.values().filter(|one| is_lost(one));
        let ways = sessions.map(|one| Ok((one.row.id.clone(), one.way_back(&lost)?)));
        let Ok(ways) = ways.collect::<Result<Vec<_>, NoWayBack>>() else { return Ok(false) };
        for (id, head) in ways {
            let session = tables.sessions.get_mut(&id).unwrap();
            session.row.head = head;
            (session.must_reseed, session.may_have_gone_back) = (true, true);
            session.checkpoints.retain(|_, one| !lost.contains(&one.pack.id));
            for cell in session.cells.values_mut() {
                let checkpoint = cell
                    .checkpoint
                    .clone()
                    .map(|checkpoint| PackId { origin: id.clone(), checkpoint });
                if checkpoint.is_some_and(|pack| lost.contains(&pack)) {
                    (cell.state, cell.checkpoint) = (CellState::RolledBack, None);
                }
            }
            let parked = session.parked.as_ref().filter(|parked| lost.contains(&parked.pack));
            if let Some(number) = parked.map(|parked| parked.cell.number) {
                session.end_cell(number, CellState::RolledBack, &CellEnd::default());
            }
        }
        tables.collect();
        Ok(true)
    }
}
