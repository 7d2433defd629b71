//! The fair queue, with a clock and workers that are simulated.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::isolation::WorkerOwner;
use crate::scheduler::queue::tenant_account::MAX_OVERTAKEN;
use wardian_vocabulary::quotas::{TenantLimits, TimeQuota};
use wardian_vocabulary::units::ByteCount;

const MS: Duration = Duration::from_millis(1);

/// Enough memory for eight small runs.
const MEMORY: u64 = 8;

fn tenant(number: usize) -> TenantId {
    TenantId::parse(&format!("t{number}")).unwrap()
}

fn claim(number: usize, limits: TenantLimits, memory: u64) -> Claim {
    let (memory, owner) = (ByteCount::bytes(memory), WorkerOwner::Everyone);
    Claim { tenant: tenant(number), limits, memory, is_own: false, owner, opens_guest: false }
}

fn weighing(weight: u32) -> TenantLimits {
    TenantLimits { weight: NonZeroU32::new(weight).unwrap(), ..TenantLimits::NONE }
}

fn bounds(waiting: usize) -> QueueBounds {
    QueueBounds { waiting, memory: None }
}

/// A run that was started: its tenant, its times and its memory.
struct Started {
    tenant: usize,
    at: Instant,
    ends: Instant,
    memory: u64,
}

/// What a run needs: its tenant, how long it takes, and its memory.
#[derive(Debug, Clone, Copy)]
struct Demand {
    tenant: usize,
    takes: Duration,
    memory: u64,
}

/// Workers that serve a queue. The time passes from one end of a run to the next.
struct Simulation {
    queue: FairQueue<Demand>,
    workers: usize,
    now: Instant,
    limits: BTreeMap<usize, TenantLimits>,
    running: BTreeMap<Ticket, Started>,
    waiting: BTreeMap<Ticket, Demand>,
    /// All runs that were ever started.
    started: BTreeSet<Ticket>,
    /// The time of workers that runs took, by tenant, those that have ended.
    taken: BTreeMap<usize, Duration>,
}

impl Simulation {
    fn new(workers: usize, bounds: QueueBounds) -> Self {
        Self {
            queue: FairQueue::new(bounds),
            workers,
            now: Instant::now(),
            limits: BTreeMap::new(),
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            started: BTreeSet::new(),
            taken: BTreeMap::new(),
        }
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.workers
    }

    fn begin(&mut self, ticket: Ticket, demand: Demand) {
        assert!(self.started.insert(ticket), "a run was granted twice");
        assert!(self.has_room(), "more runs than workers");
        self.waiting.remove(&ticket);
        let Demand { tenant, takes, memory } = demand;
        let run = Started { tenant, at: self.now, ends: self.now + takes, memory };
        self.running.insert(ticket, run);
    }

    /// Brings a run. Returns the refusal, if it is refused.
    fn arrive(&mut self, demand: Demand) -> Option<RunRefusal> {
        let limits = self.limits.get(&demand.tenant).copied().unwrap_or(TenantLimits::NONE);
        let claim = claim(demand.tenant, limits, demand.memory);
        let foretold = self.queue.refusal_of(&claim, self.has_room(), self.now);
        let has_room = self.has_room();
        let offered = self.queue.offer(&claim, demand, |_| has_room, self.now);
        match offered {
            Offered::Starts(ticket, demand) => {
                assert_eq!(foretold, None, "a run was foretold to be refused, and started");
                self.begin(ticket, demand);
            }
            Offered::Waits { ticket, displaced } => {
                assert_eq!(foretold, None, "a run was foretold to be refused, and waits");
                if let Some(displaced) = displaced {
                    let lost = self.waiting.iter().rev();
                    let lost = lost.filter(|(_, other)| other.tenant == displaced.tenant);
                    let lost = lost.map(|(ticket, _)| *ticket).next();
                    self.waiting.remove(&lost.unwrap());
                }
                self.waiting.insert(ticket, demand);
            }
            Offered::Refused(refusal, _) => return Some(refusal),
        }
        None
    }

    fn serve(&mut self) {
        while self.has_room() {
            let Some((ticket, demand, _)) = self.queue.pop_if(self.now, |_| true) else { return };
            self.begin(ticket, demand);
        }
    }

    fn end(&mut self, ticket: Ticket) {
        let run = self.running.remove(&ticket).unwrap();
        *self.taken.entry(run.tenant).or_default() += self.now - run.at;
        let refused = self.queue.end(ticket, self.now);
        assert!(refused.runs.is_empty(), "no tenant has a quota here");
        self.serve();
    }

    /// Lets the time pass until the next run ends.
    fn step(&mut self) {
        let next = self.running.iter().min_by_key(|(ticket, run)| (run.ends, **ticket));
        let Some((ticket, ends)) = next.map(|(ticket, run)| (*ticket, run.ends)) else { return };
        self.now = ends;
        self.end(ticket);
    }

    /// The time of workers that a tenant has had so far.
    fn service(&self, tenant: usize) -> Duration {
        let mine = self.running.values().filter(|run| run.tenant == tenant);
        let elapsed: Duration = mine.map(|run| self.now - run.at).sum();
        elapsed + self.taken.get(&tenant).copied().unwrap_or_default()
    }

    fn runs_of(&self, tenant: usize) -> usize {
        self.running.values().filter(|run| run.tenant == tenant).count()
    }

    fn waiting_of(&self, tenant: usize) -> usize {
        self.waiting.values().filter(|demand| demand.tenant == tenant).count()
    }

    fn memory(&self) -> u64 {
        self.running.values().map(|run| run.memory).sum()
    }

    /// True if some run has been overtaken so often that those behind it have to wait.
    fn has_reserved(&self) -> bool {
        let waiting = self.queue.accounts.values().flat_map(|account| &account.waiting);
        waiting.into_iter().any(|waiting| waiting.overtaken >= MAX_OVERTAKEN)
    }

    fn check(&self) {
        assert_eq!(self.queue.len(), self.waiting.len());
        assert_eq!(self.queue.running(), self.running.len());
        assert!(self.queue.len() <= self.queue.bounds.waiting, "bounded queue");
        let busy = self.queue.accounts.values().filter(|account| account.is_busy());
        let weights = busy.map(|account| u64::from(account.limits.weight.get())).sum::<u64>();
        assert_eq!(self.queue.busy_weight, weights);
        let lines = self.queue.accounts.iter().filter(|(_, account)| !account.waiting.is_empty());
        let lines = lines.map(|(tenant, account)| (account.waiting.len(), tenant.clone()));
        assert_eq!(self.queue.lines, lines.collect());
        let most = self.queue.bounds.memory.map_or(u64::MAX, ByteCount::as_u64);
        assert!(self.memory() <= most, "memory admission");
        for (tenant, limits) in &self.limits {
            assert!(self.runs_of(*tenant) <= limits.running, "more runs than the tenant may have");
            assert!(self.waiting_of(*tenant) <= limits.queued, "more runs wait than may");
        }
        if !self.has_room() || self.has_reserved() {
            return;
        }
        for tenant in self.waiting.values().map(|demand| demand.tenant) {
            let bound = self.limits.get(&tenant).map_or(usize::MAX, |limits| limits.running);
            let first = self.waiting.values().find(|demand| demand.tenant == tenant).unwrap();
            let fits = self.memory() + first.memory <= most;
            assert!(self.runs_of(tenant) >= bound || !fits, "a run of {tenant} waits for nothing");
        }
    }
}

fn small(tenant: usize, takes: Duration) -> Demand {
    Demand { tenant, takes, memory: 1 }
}

/// The order in which the runs of a queue start, if none ends.
fn drain(queue: &mut FairQueue<Demand>) -> Vec<usize> {
    let now = Instant::now();
    std::iter::from_fn(|| queue.pop_if(now, |_| true)).map(|(_, demand, _)| demand.tenant).collect()
}

/// A queue of runs of these tenants, none of which has started.
fn queue_of(capacity: usize, tenants: &[usize]) -> FairQueue<Demand> {
    let (mut queue, now) = (FairQueue::new(bounds(capacity)), Instant::now());
    for tenant in tenants {
        let claim = claim(*tenant, TenantLimits::NONE, 1);
        queue.offer(&claim, small(*tenant, MS), |_| false, now);
    }
    queue
}

#[test]
fn fair_turns_however_many_one_tenant_brings() {
    let mut queue = queue_of(100, &[1, 1, 1, 1, 2, 3, 2]);
    assert_eq!(drain(&mut queue), [1, 2, 3, 1, 2, 1, 1]);
    assert_eq!(queue.len(), 0);
}

#[test]
fn fair_room_when_the_queue_is_full() {
    let mut queue = queue_of(4, &[1, 1, 1, 1]);
    let mut offer = |number| {
        let claim = claim(number, TenantLimits::NONE, 1);
        queue.offer(&claim, small(number, MS), |_| false, Instant::now())
    };
    assert!(matches!(offer(1), Offered::Refused(RunRefusal::Full { .. }, _)));
    for _ in 0..2 {
        let Offered::Waits { displaced: Some(displaced), .. } = offer(2) else { panic!() };
        assert_eq!(displaced.tenant, 1);
    }
    let third = offer(2);
    assert!(matches!(third, Offered::Refused(RunRefusal::Full { .. }, _)), "two each is fair");
    assert_eq!(drain(&mut queue), [1, 2, 1, 2]);
}

#[test]
fn a_queue_without_capacity_starts_what_it_can_and_refuses_the_rest() {
    let mut simulation = Simulation::new(1, bounds(0));
    assert_eq!(simulation.arrive(small(1, MS)), None);
    assert!(matches!(simulation.arrive(small(2, MS)), Some(RunRefusal::Full { .. })));
    simulation.step();
    assert_eq!(simulation.arrive(small(2, MS)), None);
}

#[test]
fn a_tenant_at_its_own_bounds_is_refused_and_delays_nobody() {
    let limits = TenantLimits { running: 1, queued: 2, ..TenantLimits::NONE };
    let mut simulation = Simulation::new(3, bounds(100));
    simulation.limits.insert(1, limits);
    for _ in 0..3 {
        assert_eq!(simulation.arrive(small(1, 100 * MS)), None);
    }
    let refused = simulation.arrive(small(1, MS));
    assert!(matches!(refused, Some(RunRefusal::TenantFull { .. })), "{refused:?}");
    assert_eq!((simulation.runs_of(1), simulation.waiting_of(1)), (1, 2));
    simulation.arrive(small(2, MS));
    assert_eq!(simulation.runs_of(2), 1, "a worker is idle");
    for _ in 0..4 {
        simulation.step();
        simulation.check();
    }
    assert_eq!(simulation.started.len(), 4);
}

#[test]
fn memory_admission_refuses_what_can_never_fit() {
    let memory = Some(ByteCount::bytes(MEMORY));
    let mut simulation = Simulation::new(3, QueueBounds { waiting: 10, memory });
    let large = Demand { memory: MEMORY + 1, ..small(1, MS) };
    assert_eq!(simulation.arrive(large), Some(RunRefusal::NeverFits));
    let whole = Demand { memory: MEMORY, ..small(1, MS) };
    assert_eq!((simulation.arrive(whole), simulation.arrive(whole)), (None, None));
    assert_eq!((simulation.runs_of(1), simulation.waiting_of(1)), (1, 1));
    simulation.step();
    assert_eq!((simulation.runs_of(1), simulation.waiting_of(1)), (1, 0));
}

/// A stream of small runs, each of a new tenant, always fits where a large one does not.
#[test]
fn small_runs_cannot_keep_a_large_one_waiting_for_ever() {
    let memory = Some(ByteCount::bytes(MEMORY));
    let mut simulation = Simulation::new(4, QueueBounds { waiting: 100, memory });
    simulation.arrive(small(1, 3 * MS));
    let large = Demand { memory: MEMORY, ..small(2, MS) };
    assert_eq!(simulation.arrive(large), None);
    for number in 3..1_000 {
        simulation.arrive(small(number, 3 * MS));
        simulation.now += MS;
        let due = simulation.running.iter().filter(|(_, run)| run.ends <= simulation.now);
        let due: Vec<Ticket> = due.map(|(ticket, _)| *ticket).collect();
        due.into_iter().for_each(|ticket| simulation.end(ticket));
        simulation.check();
        if simulation.runs_of(2) == 1 {
            assert!(number > 10, "it waits for its memory");
            return;
        }
    }
    panic!("the large run never started");
}

#[test]
fn a_tenant_that_pauses_between_long_runs_gets_no_more_than_its_share() {
    let mut simulation = Simulation::new(1, bounds(100));
    let long = 1_000 * MS;
    for round in 0..100 {
        // Its next run comes when the one before has ended.
        if simulation.runs_of(1) + simulation.waiting_of(1) == 0 {
            simulation.arrive(small(1, long));
        }
        for _ in 0..500 {
            if simulation.waiting_of(2) < 3 {
                simulation.arrive(small(2, MS));
            }
            simulation.step();
        }
        let (one, other) = (simulation.service(1), simulation.service(2));
        assert!(one <= other + 2 * long, "round {round}: {one:?} and {other:?}");
    }
    assert!(simulation.service(1) > 10 * long, "it gets its share");
}

/// A tenant that is a little ahead, and newcomers without end, some of which wait at any time.
#[test]
fn newcomers_without_end_keep_no_tenant_waiting() {
    for takes in [MS, 100 * MS, 10_000 * MS] {
        let mut simulation = Simulation::new(2, bounds(100));
        // So that its runs are expected to take as long as they do.
        for _ in 0..4 {
            simulation.arrive(small(1, takes));
        }
        let mut newcomer = 2;
        let mut bring = |simulation: &mut Simulation| {
            while simulation.waiting.len() < 5 {
                simulation.arrive(small(newcomer, MS));
                newcomer += 1;
            }
            simulation.step();
            simulation.check();
        };
        for _ in 0..3 {
            // It is ahead by three runs, shared with the few tenants that have runs at one time.
            let (began, before) = (simulation.now, simulation.service(1));
            while simulation.service(1) < before + takes {
                bring(&mut simulation);
                let waited = simulation.now - began;
                assert!(waited <= 40 * takes, "{takes:?}: it has waited for {waited:?}");
            }
            simulation.arrive(small(1, takes));
        }
    }
}

#[test]
fn a_tenant_that_is_ahead_is_not_forgotten_while_others_come_and_go() {
    let mut simulation = Simulation::new(1, bounds(100));
    simulation.arrive(small(1, 1_000 * MS));
    for number in 0..400 {
        simulation.arrive(small(2, MS));
        simulation.arrive(small(10 + number, MS));
        simulation.step();
        simulation.step();
    }
    assert!(simulation.queue.accounts.len() < 400, "none was forgotten");
    simulation.arrive(small(1, MS));
    for _ in 0..100 {
        simulation.arrive(small(2, MS));
        simulation.step();
        assert_eq!(simulation.runs_of(1), 0, "it is ahead by more than half a second");
    }
}

#[test]
fn unused_shares_are_not_saved_up() {
    let mut simulation = Simulation::new(1, bounds(100));
    for round in 0..1_000 {
        if simulation.waiting_of(1) < 3 {
            simulation.arrive(small(1, 10 * MS));
        }
        if round % 10 == 0 {
            // A tenth of the time, where half would be its share.
            simulation.arrive(small(2, 10 * MS));
        }
        simulation.step();
    }
    (0..50).for_each(|_| assert_eq!(simulation.arrive(small(2, 10 * MS)), None));
    let before = simulation.service(1);
    for _ in 0..40 {
        if simulation.waiting_of(1) < 3 {
            simulation.arrive(small(1, 10 * MS));
        }
        simulation.step();
    }
    let more = simulation.service(1) - before;
    assert!(more >= 150 * MS, "the first tenant had {more:?} of 400 ms");
}

#[test]
fn bounded_accounts_of_tenants_that_come_and_go() {
    let mut simulation = Simulation::new(2, bounds(100));
    for number in 0..50_000 {
        simulation.arrive(small(number, MS * u32::try_from(number % 7 + 1).unwrap()));
        if number % 2 == 1 {
            simulation.step();
            simulation.step();
        }
        assert!(simulation.queue.accounts.len() <= 2 * FEW_ACCOUNTS);
    }
    // One run never ends, so the pool is never without runs, and nobody waits.
    let mut simulation = Simulation::new(2, bounds(100));
    simulation.arrive(small(0, 1_000_000_000 * MS));
    for number in 1..100_000 {
        simulation.arrive(small(number, MS));
        simulation.step();
        let accounts = simulation.queue.accounts.len();
        assert!(accounts <= 2 * MAX_RESTING + FEW_ACCOUNTS, "{accounts} accounts");
    }
}

#[test]
fn a_tenant_that_has_used_its_time_is_refused_until_a_part_is_back() {
    let quota = TimeQuota { time: 100 * MS, period: 1_000 * MS };
    let limits = TenantLimits { run_time: Some(quota), ..TenantLimits::NONE };
    let (mine, now) = (claim(1, limits, 1), Instant::now());
    let mut queue = FairQueue::new(bounds(10));
    let Offered::Starts(first, _) = queue.offer(&mine, 1, |_| true, now) else { panic!() };
    let Offered::Waits { .. } = queue.offer(&mine, 2, |_| false, now) else { panic!() };
    let own = Claim { is_own: true, ..mine.clone() };
    let Offered::Waits { ticket: server, .. } = queue.offer(&own, 3, |_| false, now) else {
        panic!()
    };
    let later = now + 150 * MS;
    let refusal = queue.refusal_of(&mine, true, later);
    assert!(matches!(refusal, Some(RunRefusal::TimeUsed { .. })), "runs in progress count");
    let refused = queue.end(first, later);
    assert_eq!(refused.runs, [2], "a waiting run of the tenant has no time left either");
    assert_eq!(queue.len(), 1, "work of the server itself has no quota");
    let Offered::Refused(RunRefusal::TimeUsed { retry_after }, _) =
        queue.offer(&mine, 4, |_| true, later)
    else {
        panic!()
    };
    assert_eq!(retry_after, refused.retry_after);
    assert!((500 * MS..520 * MS).contains(&retry_after), "{retry_after:?}");
    assert_eq!(queue.pop_if(later, |_| true).unwrap().0, server);
    let soon = later + retry_after - MS * 20;
    assert!(matches!(queue.offer(&mine, 5, |_| true, soon), Offered::Refused(..)));
    assert!(matches!(queue.offer(&mine, 6, |_| true, later + retry_after), Offered::Starts(..)));
    let other = claim(2, limits, 1);
    assert!(matches!(queue.offer(&other, 7, |_| true, later), Offered::Starts(..)));
}

#[test]
fn a_refused_caller_is_told_when_the_queue_will_be_worked_off() {
    let mut simulation = Simulation::new(2, bounds(10));
    for _ in 0..30 {
        simulation.arrive(small(1, 1_000 * MS));
        simulation.step();
    }
    while simulation.arrive(small(1, 1_000 * MS)).is_none() {}
    let Some(RunRefusal::Full { retry_after }) = simulation.arrive(small(1, MS)) else { panic!() };
    assert!((4_900 * MS..5_100 * MS).contains(&retry_after), "ten runs, two workers");
    let full = RunRefusal::Full { retry_after };
    assert_eq!(
        simulation.queue.refusal_of(&claim(1, TenantLimits::NONE, 1), false, simulation.now),
        Some(full)
    );
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive(Demand),
    End(usize),
    Leave(usize),
    Pass(Duration),
}

fn step() -> impl Strategy<Value = Step> {
    let demand = (0_usize..5, 1_u32..50, prop_oneof![5 => 1_u64..3, 1 => 3_u64..=MEMORY]);
    let demand = demand.prop_map(|(tenant, ms, memory)| Demand { tenant, takes: ms * MS, memory });
    prop_oneof![
        6 => demand.prop_map(Step::Arrive),
        5 => (0_usize..8).prop_map(Step::End),
        1 => (0_usize..8).prop_map(Step::Leave),
        3 => (0_u32..100).prop_map(|ms| Step::Pass(ms * MS)),
    ]
}

fn limits() -> impl Strategy<Value = TenantLimits> {
    (1_u32..5, 1_usize..6, 0_usize..6).prop_map(|(weight, running, queued)| TenantLimits {
        running,
        queued,
        ..weighing(weight)
    })
}

proptest! {
    #[test]
    fn work_conserving_and_within_all_bounds_whatever_happens(
        limits in proptest::collection::vec(limits(), 3),
        workers in 1_usize..5,
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let memory = Some(ByteCount::bytes(MEMORY));
        let mut simulation = Simulation::new(workers, QueueBounds { waiting: 8, memory });
        simulation.limits = limits.into_iter().enumerate().collect();
        for step in steps {
            match step {
                Step::Arrive(demand) => {
                    simulation.arrive(demand);
                }
                Step::Pass(time) => simulation.now += time,
                Step::End(at) => {
                    if let Some(ticket) = simulation.running.keys().nth(at).copied() {
                        simulation.end(ticket);
                    }
                }
                Step::Leave(at) => {
                    let left = simulation.waiting.iter().nth(at);
                    if let Some((ticket, demand)) = left.map(|(t, d)| (*t, *d)) {
                        simulation.waiting.remove(&ticket);
                        let who = tenant(demand.tenant);
                        prop_assert!(simulation.queue.remove(&who, ticket).is_some());
                        prop_assert!(simulation.queue.remove(&who, ticket).is_none());
                        simulation.serve();
                    }
                }
            }
            simulation.check();
        }
        // Every waiting run starts when those before it end.
        for _ in 0..simulation.waiting.len() + simulation.running.len() {
            simulation.step();
            simulation.check();
        }
        prop_assert!(simulation.waiting.is_empty() && simulation.running.is_empty());
        prop_assert!(simulation.queue.ready.is_empty() && simulation.queue.memory_used == 0);
    }

    #[test]
    fn fair_time_for_all_weights_and_lengths_of_runs(
        tenants in proptest::collection::vec((1_u32..6, proptest::collection::vec(1_u32..200, 1..5)), 2..5),
        workers in 1_usize..5,
    ) {
        let longest = 200 * MS;
        let mut simulation = Simulation::new(workers, bounds(1_000));
        for (number, (weight, _)) in tenants.iter().enumerate() {
            simulation.limits.insert(number, weighing(*weight));
        }
        let mut brought = vec![0_usize; tenants.len()];
        for _ in 0..600 {
            for (number, (_, times)) in tenants.iter().enumerate() {
                // Each tenant has a run waiting at any time.
                while simulation.waiting_of(number) <= workers {
                    let takes = times[brought[number] % times.len()] * MS;
                    brought[number] += 1;
                    simulation.arrive(small(number, takes));
                }
            }
            simulation.step();
            for (one, (weight, _)) in tenants.iter().enumerate() {
                for (other, (other_weight, _)) in tenants.iter().enumerate() {
                    let first = simulation.service(one) / *weight;
                    let second = simulation.service(other) / *other_weight;
                    let each = longest * u32::try_from(workers).unwrap();
                    let bound = each / *weight + each / *other_weight;
                    prop_assert!(first <= second + bound, "{first:?}, {second:?}, {bound:?}");
                }
            }
        }
    }

    /// Runs of a tenant that usually takes long begin with the long time as their expectation. When
    /// they are short after all, the tenant is far behind what was expected.
    #[test]
    fn no_newcomer_waits_for_times_that_were_only_expected(
        weights in (1_u32..5, 1_u32..5),
        long in proptest::collection::vec(1_u32..600, 1..6),
        short in 0_usize..20,
        workers in 1_usize..5,
    ) {
        let mut simulation = Simulation::new(workers, bounds(1_000));
        simulation.limits.insert(1, weighing(weights.0));
        long.iter().for_each(|ms| { simulation.arrive(small(1, *ms * MS)); });
        simulation.arrive(small(1, MS));
        long.iter().for_each(|_| simulation.step());
        let hog = |simulation: &mut Simulation| {
            while simulation.waiting_of(1) < 8 {
                simulation.arrive(small(1, MS));
            }
            simulation.step();
        };
        (0..short).for_each(|_| hog(&mut simulation));
        // The last of the long runs ends here, if it is one of the first.
        while simulation.running.values().any(|run| run.ends - run.at > MS) {
            hog(&mut simulation);
        }
        for newcomer in 2..10 {
            simulation.limits.insert(newcomer, weighing(weights.1));
            prop_assert_eq!(simulation.arrive(small(newcomer, MS)), None);
            let arrived = simulation.now;
            while simulation.waiting_of(newcomer) > 0 {
                hog(&mut simulation);
                let waited = simulation.now - arrived;
                prop_assert!(waited <= (weights.0 + 2) * MS, "newcomer {} has waited for {:?}", newcomer, waited);
            }
        }
    }

    #[test]
    fn no_tenant_starves_whatever_the_others_bring(
        others in proptest::collection::vec((1_u32..5, proptest::collection::vec(1_u32..200, 1..4)), 1..8),
        workers in 1_usize..4,
        warm in 0_usize..60,
    ) {
        let longest = 200 * MS;
        let victim = others.len();
        let mut simulation = Simulation::new(workers, bounds(10_000));
        for (number, (weight, _)) in others.iter().enumerate() {
            simulation.limits.insert(number, weighing(*weight));
        }
        let mut brought = 0_usize;
        let mut round = |simulation: &mut Simulation| {
            for (number, (_, times)) in others.iter().enumerate() {
                while simulation.waiting_of(number) < 20 {
                    brought += 1;
                    simulation.arrive(small(number, times[brought % times.len()] * MS));
                }
            }
            simulation.step();
        };
        (0..warm).for_each(|_| round(&mut simulation));
        let arrived = simulation.now;
        simulation.arrive(small(victim, MS));
        // Each other tenant may have at most two runs on each worker before.
        let bound = longest * u32::try_from(2 * others.len() + 1).unwrap();
        while simulation.waiting_of(victim) > 0 {
            prop_assert!(simulation.now - arrived <= bound, "it waits for more than {bound:?}");
            round(&mut simulation);
        }
    }
}

#[test]
fn a_tenant_that_has_used_its_processor_time_is_refused_however_short_its_runs_were() {
    let quota = TimeQuota { time: 100 * MS, period: 1_000 * MS };
    let limits = TenantLimits { cpu_time: Some(quota), ..TenantLimits::NONE };
    let (mine, now) = (claim(1, limits, 1), Instant::now());
    let mut queue = FairQueue::new(bounds(10));
    let Offered::Starts(long, _) = queue.offer(&mine, 1, |_| true, now) else { panic!() };
    queue.charge_cpu(long, 90 * MS, now);
    let ended = queue.end(long, now + 5_000 * MS);
    assert!(ended.runs.is_empty(), "waiting uses no processor");
    let later = now + 5_000 * MS;
    let Offered::Starts(short, _) = queue.offer(&mine, 2, |_| true, later) else { panic!() };
    let Offered::Waits { .. } = queue.offer(&mine, 3, |_| false, later) else { panic!() };
    queue.charge_cpu(short, 150 * MS, later);
    let refused = queue.end(short, later + MS);
    assert_eq!(refused.runs, [3]);
    let refusal = queue.refusal_of(&mine, true, later + MS);
    assert!(matches!(refusal, Some(RunRefusal::TimeUsed { .. })), "{refusal:?}");
    let own = Claim { is_own: true, ..mine.clone() };
    let Offered::Starts(server, _) = queue.offer(&own, 4, |_| true, later) else { panic!() };
    queue.charge_cpu(server, 5_000 * MS, later);
    queue.end(server, later);
    let back = later + MS + refused.retry_after;
    assert!(matches!(queue.offer(&mine, 5, |_| true, back), Offered::Starts(..)));
}
