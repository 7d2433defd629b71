//! Tests of owners on a simulated pool, in which processes take a while to end and to start.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::scheduler::growth::HeldBounds;
use wardian_vocabulary::quotas::TenantLimits;
use wardian_vocabulary::units::ByteCount;

/// Workers and grants are represented by their numbers.
type State = SchedulerState<WorkerId, u64>;

const TENANTS: usize = 5;
const QUEUE: usize = 12;

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive(usize),
    /// A run whose result all tenants use.
    ArriveForAll(usize),
    Finish(usize),
    Leave(usize),
    LoseBusy(usize),
    LoseIdle(usize),
    /// Some runs are seen to wait: those whose number this mask has.
    Wait(u8),
    /// Workers that are not needed become superfluous.
    Linger,
    /// A process ends or becomes ready.
    Process,
    /// A process does not start.
    FailToStart,
    Outdate,
    Retire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..TENANTS).prop_map(Step::Arrive),
        1 => (0..TENANTS).prop_map(Step::ArriveForAll),
        7 => (0_usize..8).prop_map(Step::Finish),
        2 => (0_usize..8).prop_map(Step::Leave),
        1 => (0_usize..8).prop_map(Step::LoseBusy),
        1 => (0_usize..8).prop_map(Step::LoseIdle),
        3 => any::<u8>().prop_map(Step::Wait),
        1 => Just(Step::Linger),
        5 => Just(Step::Process),
        1 => Just(Step::FailToStart),
        1 => Just(Step::Outdate),
        1 => Just(Step::Retire),
    ]
}

fn tenant(who: usize) -> TenantId {
    TenantId::parse(&format!("tenant-{who}")).unwrap()
}

struct Leased {
    run: u64,
    ticket: Ticket,
    worker: WorkerId,
}

/// A pool whose supervisors start another process for each one that has ended.
struct Simulation {
    state: State,
    leased: Vec<Leased>,
    /// Runs without a worker, promised ones included.
    waiting: Vec<(u64, TenantId, Ticket)>,
    owners: BTreeMap<u64, WorkerOwner>,
    /// The owners of the runs that each worker has had.
    served: BTreeMap<WorkerId, BTreeSet<String>>,
    /// Workers whose process has been killed and has not ended.
    dying: Vec<WorkerId>,
    /// Processes that are not ready yet.
    starting: usize,
    /// Runs that are seen to wait.
    seen: BTreeSet<Ticket>,
    arrived: u64,
    over: BTreeSet<u64>,
    now: Instant,
}

impl Simulation {
    fn new(capacity: Capacity) -> Self {
        let bounds = QueueBounds { waiting: QUEUE, memory: None };
        let mut simulation = Self {
            state: State::new(capacity, bounds),
            leased: Vec::new(),
            waiting: Vec::new(),
            owners: BTreeMap::new(),
            served: BTreeMap::new(),
            dying: Vec::new(),
            starting: 0,
            seen: BTreeSet::new(),
            arrived: 0,
            over: BTreeSet::new(),
            now: Instant::now(),
        };
        simulation.supervise();
        simulation
    }

    /// Lets each supervisor without a process start one that is wanted.
    fn supervise(&mut self) {
        let idle = self.state.records().keys().filter(|id| self.state.is_idle(**id)).count();
        let most = self.state.capacity().most_workers();
        while idle + self.leased.len() + self.dying.len() + self.starting < most
            && self.state.begin_start()
        {
            self.starting += 1;
        }
    }

    fn lease(&mut self, run: u64, ticket: Ticket, worker: WorkerId) {
        assert!(self.leased.iter().all(|leased| leased.worker != worker), "leased twice");
        assert!(!self.dying.contains(&worker), "a worker that was given up is leased");
        self.served.entry(worker).or_default().insert(self.owners[&run].to_string());
        self.leased.push(Leased { run, ticket, worker });
    }

    /// Does what a pool does after each decision.
    fn serve(&mut self) {
        while let Some((ticket, run, worker)) = self.state.grant_next(self.now) {
            self.waiting.retain(|(waiting, ..)| *waiting != run);
            self.lease(run, ticket, worker);
        }
        self.dying.extend(self.state.take_given_up());
        self.supervise();
    }

    fn arrive(&mut self, who: usize, is_for_all: bool) {
        self.arrived += 1;
        let (run, tenant) = (self.arrived, tenant(who));
        let own = WorkerOwner::Tenant(tenant.clone());
        let owner = if is_for_all { WorkerOwner::Server } else { own };
        self.owners.insert(run, owner.clone());
        let (limits, memory) = (TenantLimits::NONE, ByteCount::bytes(1));
        let claim = Claim {
            tenant: tenant.clone(),
            limits,
            memory,
            is_own: false,
            owner,
            opens_guest: false,
        };
        match self.state.admit(&claim, |_| true, run, self.now) {
            Admission::Granted(ticket, worker) => self.lease(run, ticket, worker),
            Admission::Queued { ticket, displaced } => {
                self.waiting.retain(|(waiting, ..)| Some(*waiting) != displaced);
                self.over.extend(displaced);
                self.waiting.push((run, tenant, ticket));
            }
            Admission::Refused(_) | Admission::ShuttingDown => {
                self.over.insert(run);
            }
        }
        self.dying.extend(self.state.take_given_up());
        self.supervise();
    }

    fn end(&mut self, at: usize, is_lost: bool) {
        if at >= self.leased.len() {
            return;
        }
        self.now += Duration::from_millis(7);
        let Leased { run, ticket, worker } = self.leased.remove(at);
        self.over.insert(run);
        assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
        if is_lost {
            self.dying.push(worker);
        } else if let Some(unwanted) = self.state.give_back(worker, worker) {
            self.dying.push(unwanted);
        }
        self.serve();
    }

    /// Lets a process end, or another one become ready.
    fn process(&mut self) {
        if let Some(dead) = self.dying.pop() {
            assert!(self.state.remove_worker(dead).0.is_some());
        } else if self.starting > 0 {
            self.starting -= 1;
            let id = self.state.next_worker_id();
            assert_eq!(self.state.add_worker(id, id), None);
        }
        self.serve();
    }

    fn wait(&mut self, mask: u8) {
        let is_seen = |ticket: &Ticket| mask >> (ticket.0 % 8) & 1 == 1;
        // One that has ended meanwhile is told too.
        let tickets = (0..self.arrived).map(Ticket);
        self.seen = tickets.filter(is_seen).collect();
        self.state.note_waiting(self.seen.clone(), self.now);
        let has_run = |ticket: &Ticket| self.leased.iter().any(|run| run.ticket == *ticket);
        self.seen = std::mem::take(&mut self.seen).into_iter().filter(has_run).collect();
        self.serve();
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Arrive(who) => self.arrive(who, false),
            Step::ArriveForAll(who) => self.arrive(who, true),
            Step::Finish(at) => self.end(at, false),
            Step::LoseBusy(at) => self.end(at, true),
            Step::Leave(at) => {
                if at < self.waiting.len() {
                    let (run, tenant, ticket) = self.waiting.remove(at);
                    assert_eq!(self.state.abandon(&tenant, ticket), Some(run));
                    assert_eq!(self.state.abandon(&tenant, ticket), None);
                    self.over.insert(run);
                    self.serve();
                }
            }
            Step::LoseIdle(at) => {
                let ids: Vec<WorkerId> = self.state.records().keys().copied().collect();
                let idle = ids.into_iter().filter(|id| self.state.is_idle(*id)).nth(at);
                if let Some(id) = idle {
                    assert!(self.state.remove_worker(id).1.is_some());
                    self.serve();
                }
            }
            Step::Wait(mask) => self.wait(mask),
            Step::Linger => {
                self.now += Duration::from_secs(60);
                self.wait(0);
            }
            Step::Process => self.process(),
            Step::FailToStart => {
                if self.starting > 0 {
                    self.starting -= 1;
                    self.state.end_start();
                    self.supervise();
                }
            }
            Step::Outdate => self.state.outdate_workers(),
            Step::Retire => {
                self.dying.extend(self.state.retire_one().0);
                self.serve();
            }
        }
    }

    fn check(&self) {
        let state = &self.state;
        for (worker, owners) in &self.served {
            assert!(owners.len() == 1, "worker {worker} has served {owners:?}");
        }
        let capacity = state.capacity();
        let promised = state.promised.len();
        assert_eq!(state.running(), self.leased.len() + promised);
        assert_eq!(state.waiting() + promised, self.waiting.len());
        assert!(state.running() <= capacity.most && state.waiting() <= QUEUE);
        let idle = state.records().keys().filter(|id| state.is_idle(**id)).count();
        let workers = idle + self.leased.len() + self.starting;
        let places = workers + self.dying.len();
        assert!(places <= capacity.most_workers(), "a place was made twice");
        assert!(
            workers >= capacity.least_workers() || places >= capacity.least_workers(),
            "a place is lost"
        );
        let coming = self.dying.len() + self.starting + state.idle.fresh();
        assert!(promised <= coming, "{promised} promises, {coming} workers");
        let waits = self.leased.iter().filter(|run| self.seen.contains(&run.ticket)).count();
        let has_core = state.running() - waits < capacity.cores;
        let has_worker = idle > 0 || state.running() >= capacity.cores;
        let may_start =
            has_core && has_worker && state.running() + capacity.newcomers < capacity.most;
        assert!(state.waiting() == 0 || !may_start, "a run waits while there is room for it");
        let known = self.over.len() + self.waiting.len() + self.leased.len();
        assert_eq!(u64::try_from(known).unwrap(), self.arrived, "a run is lost");
    }

    /// Ends everything in progress. Each step either ends a run or changes a process.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            self.end(0, false);
            self.process();
            self.check();
        }
        self.now += Duration::from_secs(60);
        self.wait(0);
        (0..100).for_each(|_| self.process());
        self.check();
        let idle = self.state.records().len();
        assert_eq!(idle, self.state.capacity().least_workers(), "workers stay without need");
        assert!(self.waiting.is_empty() && self.leased.is_empty(), "a run never gets a worker");
    }
}

fn capacity() -> impl Strategy<Value = Capacity> {
    let parts = (1_usize..5, 0_usize..5, 0_usize..4, 0_usize..3);
    parts.prop_map(|(cores, more, spares, newcomers)| Capacity {
        cores,
        most: cores + more,
        spares,
        fresh: spares.min(2),
        newcomers,
        held: HeldBounds::default(),
    })
}

proptest! {
    #[test]
    fn one_owner_for_each_worker_kept_promises_and_no_run_waits_in_vain(
        capacity in capacity(),
        steps in proptest::collection::vec(step(), 0..250),
    ) {
        let mut simulation = Simulation::new(capacity);
        for step in steps {
            simulation.take(step);
            simulation.check();
        }
        simulation.settle();
        let Capacity { fresh, .. } = simulation.state.capacity();
        prop_assert!(simulation.state.idle.fresh() >= fresh, "new tenants find no worker");
        prop_assert_eq!(u64::try_from(simulation.over.len()).unwrap(), simulation.arrived);
    }

    /// A promise settles the turn, so no later run overtakes, whoever has warm workers.
    #[test]
    fn a_new_tenant_waits_for_one_run_of_each_other_tenant_at_most(others in 1_usize..TENANTS) {
        let capacity = Capacity { cores: 1, most: 1, spares: 0, fresh: 0, newcomers: 0, held: HeldBounds::default() };
        let mut simulation = Simulation::new(capacity);
        simulation.process();
        (0..others).for_each(|who| (0..3).for_each(|_| simulation.arrive(who, false)));
        simulation.arrive(TENANTS, false);
        let run = simulation.arrived;
        prop_assume!(!simulation.over.contains(&run));
        let mut ended = 0;
        while !simulation.leased.iter().any(|leased| leased.run == run) {
            if simulation.leased.is_empty() {
                simulation.process();
            } else {
                simulation.end(0, false);
                ended += 1;
            }
            prop_assert!(ended <= others + 1, "{ended} runs came before");
        }
    }
}

#[test]
fn the_least_recently_used_worker_is_given_up_first_and_the_rest_stay_warm() {
    let capacity = Capacity {
        cores: 3,
        most: 3,
        spares: 1,
        fresh: 1,
        newcomers: 0,
        held: HeldBounds::default(),
    };
    let mut simulation = Simulation::new(capacity);
    (0..4).for_each(|_| simulation.process());
    let mut worker_of = |who| {
        simulation.arrive(who, false);
        let worker = simulation.leased[0].worker;
        simulation.end(0, false);
        (0..4).for_each(|_| simulation.process());
        simulation.check();
        worker
    };
    let first = [0, 1, 2].map(&mut worker_of);
    assert_eq!([1, 0, 2].map(&mut worker_of), [first[1], first[0], first[2]], "all are warm");
    worker_of(3);
    assert_eq!([0, 2].map(&mut worker_of), [first[0], first[2]], "two stay warm");
    assert_ne!(worker_of(1), first[1], "the one that was used longest ago has gone");
    assert_eq!(simulation.state.counters.awaited, 0, "nobody waited for a process");
}

#[test]
fn a_run_that_is_promised_a_worker_is_not_charged_for_its_start() {
    let capacity = Capacity {
        cores: 1,
        most: 1,
        spares: 0,
        fresh: 0,
        newcomers: 0,
        held: HeldBounds::default(),
    };
    let mut simulation = Simulation::new(capacity);
    simulation.process();
    simulation.arrive(0, false);
    simulation.end(0, false);
    simulation.arrive(1, false);
    assert_eq!((simulation.state.promised.len(), simulation.state.running()), (1, 1));
    simulation.now += Duration::from_secs(20);
    simulation.process();
    simulation.process();
    assert_eq!(simulation.leased.len(), 1);
    simulation.end(0, false);
    // The time of a run decides how soon the next ones are expected to be over.
    assert!(simulation.state.drain_time() < Duration::from_secs(1));
}
