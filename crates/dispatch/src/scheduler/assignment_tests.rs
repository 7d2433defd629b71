//! Promises of the decisions about workers and waiting runs.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::scheduler::growth::HeldBounds;
use wardian_vocabulary::quotas::TenantLimits;
use wardian_vocabulary::units::ByteCount;

/// A simulation in which workers and grants are represented by their numbers.
type State = SchedulerState<WorkerId, u64>;

const MAX_RUNNING: usize = 3;
const SPARES: usize = 2;
const QUEUE: usize = 6;

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive(usize),
    Finish(usize),
    Leave(usize),
    LoseBusy(usize),
    LoseIdle,
    Outdate,
    Retire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_usize..3).prop_map(Step::Arrive),
        5 => (0_usize..8).prop_map(Step::Finish),
        1 => (0_usize..8).prop_map(Step::Leave),
        1 => (0_usize..8).prop_map(Step::LoseBusy),
        1 => Just(Step::LoseIdle),
        1 => Just(Step::Outdate),
        1 => Just(Step::Retire),
    ]
}

/// A pool in which every decision is carried out at once and every lost worker is replaced.
struct Simulation {
    state: State,
    /// Each worker that a run has, with the number of its lease, by run.
    leased: BTreeMap<u64, (Ticket, WorkerId)>,
    waiting: Vec<(u64, TenantId, Ticket)>,
    arrived: u64,
    /// Runs that ended, were refused or were abandoned.
    over: BTreeSet<u64>,
    now: Instant,
}

fn tenant(who: usize) -> TenantId {
    TenantId::parse(["a", "b", "c"][who]).unwrap()
}

fn claim(who: usize) -> Claim {
    let (tenant, limits) = (tenant(who), TenantLimits::NONE);
    let owner = WorkerOwner::Everyone;
    Claim { tenant, limits, memory: ByteCount::bytes(1), is_own: false, owner, opens_guest: false }
}

fn capacity(runs: usize, spares: usize) -> Capacity {
    Capacity {
        cores: runs,
        most: runs,
        spares,
        fresh: 0,
        newcomers: 0,
        held: HeldBounds::default(),
    }
}

fn bounds(waiting: usize) -> QueueBounds {
    QueueBounds { waiting, memory: None }
}

fn pool() -> Simulation {
    let mut simulation = Simulation {
        state: State::new(capacity(MAX_RUNNING, SPARES), bounds(QUEUE)),
        leased: BTreeMap::new(),
        waiting: Vec::new(),
        arrived: 0,
        over: BTreeSet::new(),
        now: Instant::now(),
    };
    (0..MAX_RUNNING + SPARES).for_each(|_| simulation.add_worker());
    simulation
}

impl Simulation {
    fn add_worker(&mut self) {
        let id = self.state.next_worker_id();
        assert_eq!(self.state.add_worker(id, id), None);
        self.serve();
    }

    /// Replaces the worker `id`, whose process has ended.
    fn replace(&mut self, id: WorkerId) {
        assert!(self.state.remove_worker(id).0.is_some());
        self.add_worker();
    }

    fn lease(&mut self, run: u64, ticket: Ticket, worker: WorkerId) {
        let mut leased = self.leased.values();
        assert!(!leased.any(|(_, leased)| *leased == worker), "{worker} leased twice");
        assert!(self.state.records().contains_key(&worker));
        assert_eq!(self.leased.insert(run, (ticket, worker)), None, "{run} granted twice");
    }

    fn serve(&mut self) {
        while let Some((ticket, run, worker)) = self.state.grant_next(self.now) {
            self.waiting.retain(|(waiting, ..)| *waiting != run);
            self.lease(run, ticket, worker);
        }
    }

    fn arrive(&mut self, who: usize) {
        self.arrived += 1;
        let (run, tenant, claim) = (self.arrived, tenant(who), claim(who));
        let is_even = |worker: &WorkerId| worker.0.is_multiple_of(2);
        match self.state.admit(&claim, is_even, run, self.now) {
            Admission::Granted(ticket, worker) => self.lease(run, ticket, worker),
            Admission::Queued { ticket, displaced } => {
                assert!(self.waiting.iter().all(|(.., other)| *other != ticket));
                self.waiting.retain(|(waiting, ..)| Some(*waiting) != displaced);
                self.over.extend(displaced);
                self.waiting.push((run, tenant, ticket));
            }
            Admission::Refused(_) | Admission::ShuttingDown => {
                self.over.insert(run);
            }
        }
    }

    fn finish(&mut self, at: usize) {
        let Some((run, (ticket, worker))) =
            self.leased.iter().nth(at).map(|(run, lease)| (*run, *lease))
        else {
            return;
        };
        self.now += Duration::from_millis(7);
        self.leased.remove(&run);
        self.over.insert(run);
        assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
        if let Some(unwanted) = self.state.give_back(worker, worker) {
            self.replace(unwanted);
        }
        self.serve();
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Arrive(who) => self.arrive(who),
            Step::Finish(at) => self.finish(at),
            Step::Leave(at) => {
                if at < self.waiting.len() {
                    let (run, tenant, ticket) = self.waiting.remove(at);
                    assert_eq!(self.state.abandon(&tenant, ticket), Some(run));
                    assert_eq!(self.state.abandon(&tenant, ticket), None);
                    self.over.insert(run);
                }
            }
            Step::LoseBusy(at) => {
                let lost = self.leased.iter().nth(at).map(|(run, lease)| (*run, *lease));
                if let Some((run, (ticket, worker))) = lost {
                    self.leased.remove(&run);
                    self.over.insert(run);
                    assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
                    self.replace(worker);
                }
            }
            Step::LoseIdle => {
                let ids: Vec<WorkerId> = self.state.records().keys().copied().collect();
                if let Some(id) = ids.into_iter().find(|id| self.state.is_idle(*id)) {
                    self.replace(id);
                }
            }
            Step::Outdate => self.state.outdate_workers(),
            Step::Retire => {
                if let (Some(retired), _) = self.state.retire_one() {
                    self.replace(retired);
                }
            }
        }
    }

    fn check(&self) {
        let (state, leased) = (&self.state, self.leased.len());
        assert_eq!((state.running(), state.waiting()), (leased, self.waiting.len()));
        assert!(leased <= MAX_RUNNING && state.waiting() <= QUEUE);
        let idle = state.records().keys().filter(|id| state.is_idle(**id)).count();
        assert_eq!(idle + leased, MAX_RUNNING + SPARES, "a worker is neither idle nor leased");
        assert!(idle >= SPARES);
        assert!(self.waiting.is_empty() || leased == MAX_RUNNING, "a run waits for nothing");
        let known = self.over.len() + self.waiting.len() + leased;
        assert_eq!(u64::try_from(known).unwrap(), self.arrived, "a run is lost");
    }
}

proptest! {
    #[test]
    fn admission_leases_and_spares_hold_whatever_happens(
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let mut simulation = pool();
        for step in steps {
            simulation.take(step);
            simulation.check();
        }
        // Every waiting run gets a worker when the runs before it end.
        let bound = simulation.waiting.len() + simulation.leased.len();
        for _ in 0..bound {
            simulation.finish(0);
            simulation.check();
        }
        prop_assert_eq!(u64::try_from(simulation.over.len()).unwrap(), simulation.arrived);
    }

    #[test]
    fn a_tenant_waits_for_one_run_of_each_other_tenant_at_most(
        greedy in 0_usize..QUEUE, others in 0_usize..2,
    ) {
        let mut simulation = pool();
        (0..MAX_RUNNING + greedy).for_each(|_| simulation.arrive(0));
        (0..others).for_each(|_| simulation.arrive(1));
        simulation.arrive(2);
        let run = simulation.arrived;
        prop_assume!(!simulation.over.contains(&run));
        let before = usize::from(greedy > 0) + others;
        (0..=before).for_each(|_| simulation.finish(0));
        prop_assert!(simulation.leased.contains_key(&run), "{:?}", simulation.leased);
    }
}

#[test]
fn an_idle_worker_that_fits_is_preferred_and_otherwise_the_last_used() {
    let mut state = State::new(capacity(2, 1), bounds(0));
    for _ in 0..3 {
        let id = state.next_worker_id();
        state.add_worker(id, id);
    }
    let now = Instant::now();
    let first = state.admit(&claim(0), |worker| worker.0 == 1, 0, now);
    assert!(matches!(first, Admission::Granted(_, WorkerId(1))), "{first:?}");
    let second = state.admit(&claim(0), |_| false, 1, now);
    assert!(matches!(second, Admission::Granted(_, WorkerId(3))), "{second:?}");
    let early = state.refuse_early(&claim(0), now);
    let third = state.admit(&claim(0), |_| true, 2, now);
    assert!(
        matches!(third, Admission::Refused(refusal) if Some(refusal) == early),
        "a spare is no further run: {third:?}"
    );
    assert_eq!((state.counters.overloaded, state.counters.limited), (2, 0));
}

#[test]
fn a_pool_that_closes_returns_every_grant_and_idle_worker() {
    let mut simulation = pool();
    (0..=MAX_RUNNING).for_each(|_| simulation.arrive(0));
    simulation.state.drain();
    let refused = simulation.state.admit(&claim(1), |_| true, 99, simulation.now);
    assert!(matches!(refused, Admission::ShuttingDown), "{refused:?}");
    let Closing { waiting, idle } = simulation.state.close();
    assert_eq!((waiting.len(), idle.len()), (1, SPARES));
    simulation.state.drain();
    assert_eq!(simulation.state.phase(), Phase::Closed, "a closed pool stays closed");
    let (_, worker) = *simulation.leased.values().next().unwrap();
    assert_eq!(simulation.state.give_back(worker, worker), Some(worker));
}
