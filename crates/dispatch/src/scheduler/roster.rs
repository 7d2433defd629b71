//! The workers of a pool and their accounts, whether they are idle, busy or leaving.

use std::collections::BTreeMap;

use crate::isolation::WorkerOwner;
use crate::scheduler::claim::Ticket;
use crate::worker::id::WorkerId;

/// The accounts of one worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerRecord {
    /// Runs that the worker was given.
    pub runs: u64,
    /// The owner of these runs.
    pub owner: Option<WorkerOwner>,
    /// The run that it has.
    ticket: Option<Ticket>,
    /// True if the worker is to be replaced when it is idle.
    is_outdated: bool,
    /// True if the worker was given up and its process has not ended yet.
    pub(crate) is_leaving: bool,
}

/// All workers that have been added and not removed.
#[derive(Debug)]
pub(crate) struct Roster<W> {
    records: BTreeMap<WorkerId, WorkerRecord>,
    /// The number of records of workers that are leaving.
    leaving: usize,
    /// Workers that are being started.
    starting: usize,
    /// Workers that were given up and that the caller has not ended yet.
    given_up: Vec<W>,
    next_id: u64,
}

impl<W> Roster<W> {
    pub(crate) const fn new() -> Self {
        let records = BTreeMap::new();
        Self { records, leaving: 0, starting: 0, given_up: Vec::new(), next_id: 1 }
    }

    /// The workers that have been added and not removed, by number.
    pub(crate) const fn records(&self) -> &BTreeMap<WorkerId, WorkerRecord> {
        &self.records
    }

    /// The number of workers that have been added and are not leaving.
    pub(crate) fn alive(&self) -> usize {
        self.records.len().saturating_sub(self.leaving)
    }

    /// The number of workers that are there or being started.
    pub(crate) fn coming(&self) -> usize {
        self.alive().saturating_add(self.starting)
    }

    /// Notes the start of a worker.
    pub(crate) const fn begin_start(&mut self) {
        self.starting = self.starting.saturating_add(1);
    }

    /// Notes that a start has ended.
    pub(crate) const fn end_start(&mut self) {
        self.starting = self.starting.saturating_sub(1);
    }

    /// The number of the next worker.
    pub(crate) const fn next_id(&mut self) -> WorkerId {
        let id = self.next_id;
        self.next_id = id.saturating_add(1);
        WorkerId(id)
    }

    pub(crate) fn add(&mut self, id: WorkerId) {
        self.records.insert(id, WorkerRecord::default());
    }

    /// Removes a worker whose process has ended.
    pub(crate) fn remove(&mut self, id: WorkerId) -> Option<WorkerRecord> {
        let record = self.records.remove(&id);
        if record.as_ref().is_some_and(|record| record.is_leaving) {
            self.leaving = self.leaving.saturating_sub(1);
        }
        record
    }

    /// The workers that have a run.
    pub(crate) fn busy(&self) -> impl Iterator<Item = (WorkerId, Ticket)> {
        self.records.iter().filter_map(|(id, record)| Some((*id, record.ticket?)))
    }

    /// Notes that a worker was given a run of `owner`, to whom it belongs from now on.
    pub(crate) fn note_run(&mut self, id: WorkerId, owner: WorkerOwner, ticket: Ticket) {
        if let Some(record) = self.records.get_mut(&id) {
            record.runs = record.runs.saturating_add(1);
            record.owner = Some(owner);
            record.ticket = Some(ticket);
        }
    }

    /// Notes that a worker has no run any more. Returns its record if it can have another one: it is
    /// neither outdated nor removed.
    pub(crate) fn note_rest(&mut self, id: WorkerId) -> Option<&WorkerRecord> {
        let record = self.records.get_mut(&id).filter(|record| !record.is_outdated)?;
        record.ticket = None;
        Some(record)
    }

    /// Marks every worker to be replaced when it is idle.
    pub(crate) fn outdate_all(&mut self) {
        self.records.values_mut().for_each(|record| record.is_outdated = true);
    }

    pub(crate) fn is_outdated(&self, id: WorkerId) -> bool {
        self.records.get(&id).is_some_and(|record| record.is_outdated)
    }

    /// The number of workers that are still to be replaced.
    pub(crate) fn outdated(&self) -> usize {
        self.records.values().filter(|record| record.is_outdated).count()
    }

    /// Gives up a worker, which the caller ends.
    pub(crate) fn give_up(&mut self, id: WorkerId, worker: W) {
        self.note_leaving(id);
        self.given_up.push(worker);
    }

    /// Notes that the process of a worker is about to end.
    pub(crate) fn note_leaving(&mut self, id: WorkerId) {
        if let Some(record) = self.records.get_mut(&id).filter(|record| !record.is_leaving) {
            record.is_leaving = true;
            self.leaving = self.leaving.saturating_add(1);
        }
    }

    /// The workers that were given up since the last call.
    pub(crate) fn take_given_up(&mut self) -> Vec<W> {
        std::mem::take(&mut self.given_up)
    }
}
