//! Tests of kept guests on a simulated pool, whose runs and guests are known to a simple model.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::isolation::WorkerOwner;
use crate::scheduler::claim::{Closing, QueueBounds, RunRefusal};
use crate::scheduler::growth::Capacity;
use crate::scheduler::queue::tenant_account::MAX_OVERTAKEN;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{TenantLimits, TimeQuota};
use wardian_vocabulary::units::ByteCount;

/// Workers and grants are represented by their numbers.
type State = SchedulerState<WorkerId, u64>;

const TENANTS: usize = 4;
const QUEUE: usize = 10;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A run comes, whose guest is to be kept or not, with so much memory.
    Arrive(usize, bool, u64),
    /// The holder of a guest brings its next turn.
    Turn(usize),
    /// A run or a turn ends. Its guest may have ended with it.
    Finish(usize, bool),
    /// The caller of a waiting run or turn goes away.
    Leave(usize),
    /// The holder of a guest between two turns closes it.
    Close(usize),
    /// A process ends by itself, whatever it does.
    Lose(usize),
    /// Some runs are seen to wait: those whose number this mask has.
    Wait(u8),
    /// Workers that are not needed become superfluous.
    Linger,
    /// A process ends or becomes ready.
    Process,
    Outdate,
    Retire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..TENANTS, any::<bool>(), 1_u64..5).prop_map(|(who, keeps, memory)| {
            Step::Arrive(who, keeps, memory)
        }),
        6 => (0_usize..8).prop_map(Step::Turn),
        8 => (0_usize..8, prop::bool::weighted(0.2)).prop_map(|(at, ends)| Step::Finish(at, ends)),
        1 => (0_usize..8).prop_map(Step::Leave),
        2 => (0_usize..8).prop_map(Step::Close),
        1 => (0_usize..8).prop_map(Step::Lose),
        2 => any::<u8>().prop_map(Step::Wait),
        1 => Just(Step::Linger),
        5 => Just(Step::Process),
        1 => Just(Step::Outdate),
        1 => Just(Step::Retire),
    ]
}

fn tenant(who: usize) -> TenantId {
    TenantId::parse(&format!("tenant-{who}")).unwrap()
}

/// A run, or a turn of a guest that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A whole run.
    Run,
    /// The first turn of a guest that is to be kept.
    First,
    /// A further turn of the guest of this number.
    Turn(u64),
}

#[derive(Debug, Clone)]
struct Order {
    who: usize,
    kind: Kind,
    memory: u64,
}

/// A guest of the model: the run that opened it is its number.
#[derive(Debug, Clone)]
struct Guest {
    key: GuestKey,
    who: usize,
    memory: u64,
    is_in_turn: bool,
    is_turn_queued: bool,
    /// True once its holder would be told that it is lost.
    is_gone: bool,
}

impl Guest {
    /// True if nothing is in progress with it, so that its holder can do something.
    const fn rests(&self) -> bool {
        !self.is_in_turn && !self.is_turn_queued
    }
}

/// A pool whose supervisors start another process for each one that has ended.
struct Simulation {
    state: State,
    orders: BTreeMap<u64, Order>,
    leased: BTreeMap<u64, (Ticket, WorkerId)>,
    waiting: BTreeMap<u64, Ticket>,
    over: BTreeSet<u64>,
    guests: BTreeMap<u64, Guest>,
    /// The tenants that each worker has served.
    served: BTreeMap<WorkerId, BTreeSet<usize>>,
    dying: Vec<WorkerId>,
    starting: usize,
    most_memory: u64,
    arrived: u64,
    now: Instant,
}

impl Simulation {
    fn new(capacity: Capacity, memory: u64) -> Self {
        let bounds = QueueBounds { waiting: QUEUE, memory: Some(ByteCount::bytes(memory)) };
        let mut simulation = Self {
            state: State::new(capacity, bounds),
            orders: BTreeMap::new(),
            leased: BTreeMap::new(),
            waiting: BTreeMap::new(),
            over: BTreeSet::new(),
            guests: BTreeMap::new(),
            served: BTreeMap::new(),
            dying: Vec::new(),
            starting: 0,
            most_memory: memory,
            arrived: 0,
            now: Instant::now(),
        };
        simulation.supervise();
        for _ in 0..simulation.starting {
            simulation.process();
        }
        simulation
    }

    /// Processes that a supervisor keeps.
    fn places(&self) -> usize {
        self.state.records().len() + self.starting
    }

    fn supervise(&mut self) {
        let most = self.state.capacity().most_workers();
        while self.places() < most && self.state.begin_start() {
            self.starting += 1;
        }
    }

    fn lease(&mut self, number: u64, ticket: Ticket, worker: WorkerId) {
        let Order { who, kind, .. } = self.orders[&number].clone();
        let mut leased = self.leased.values();
        assert!(leased.all(|(_, other)| *other != worker), "{worker} is leased twice");
        assert!(!self.dying.contains(&worker), "{worker} was given up and is leased");
        self.served.entry(worker).or_default().insert(who);
        for (opened, guest) in self.guests.iter_mut().filter(|(_, guest)| !guest.is_gone) {
            if kind == Kind::Turn(*opened) {
                assert_eq!(guest.key.worker, worker, "a turn got another worker than its guest's");
                assert!(!guest.is_in_turn);
                (guest.is_in_turn, guest.is_turn_queued) = (true, false);
            } else {
                assert_ne!(guest.key.worker, worker, "the worker of guest {opened} is leased");
            }
        }
        if let Kind::Turn(opened) = kind {
            assert!(!self.guests[&opened].is_gone, "a turn of a lost guest began");
        }
        self.leased.insert(number, (ticket, worker));
    }

    /// Does what a pool does after each decision, until nothing is left to be done.
    fn carry_out(&mut self) {
        loop {
            let granted = self.state.grant_next(self.now);
            let has_closed = self.end_guests();
            match granted {
                Some((ticket, number, worker)) => {
                    assert!(self.waiting.remove(&number).is_some());
                    self.lease(number, ticket, worker);
                }
                None if !has_closed => break,
                None => {}
            }
        }
        self.supervise();
    }

    /// Ends what was given up. Returns true if workers have become idle by that.
    fn end_guests(&mut self) -> bool {
        self.dying.extend(self.state.take_given_up());
        for number in self.state.take_lost() {
            assert!(self.waiting.remove(&number).is_some(), "a turn was told twice");
            let Kind::Turn(opened) = self.orders[&number].kind else { panic!("no turn") };
            self.guests.get_mut(&opened).unwrap().is_turn_queued = false;
            self.over.insert(number);
        }
        let closing = self.state.take_closing();
        for worker in &closing {
            self.forget_guest_of(*worker);
            if let Some(unwanted) = self.state.give_back(*worker, *worker) {
                self.dying.push(unwanted);
            }
        }
        !closing.is_empty()
    }

    /// Notes that a worker keeps no guest any more. None is ever lost within a turn, or while the next
    /// one waits, but by the end of its process.
    fn forget_guest_of(&mut self, worker: WorkerId) {
        let mut guests = self.guests.values_mut().filter(|guest| !guest.is_gone);
        if let Some(guest) = guests.find(|guest| guest.key.worker == worker) {
            assert!(!guest.is_in_turn && !guest.is_turn_queued, "given up within a turn");
            guest.is_gone = true;
        }
    }

    fn claim(&self, who: usize, memory: u64) -> Claim {
        let (tenant, owner) = (tenant(who), WorkerOwner::Tenant(tenant(who)));
        let (limits, memory) = (TenantLimits::NONE, ByteCount::bytes(memory));
        Claim { tenant, limits, memory, is_own: false, owner }
    }

    fn arrive(&mut self, who: usize, kind: Kind, memory: u64) -> u64 {
        self.arrived += 1;
        let number = self.arrived;
        self.orders.insert(number, Order { who, kind, memory });
        let claim = self.claim(who, memory);
        let admission = match kind {
            Kind::Turn(opened) => {
                let key = self.guests[&opened].key;
                let admission = self.state.admit_turn(&claim, key, number, self.now);
                assert_eq!(admission.is_none(), self.guests[&opened].is_gone);
                admission
            }
            Kind::Run | Kind::First => Some(self.state.admit(&claim, |_| false, number, self.now)),
        };
        match admission {
            Some(Admission::Granted(ticket, worker)) => {
                self.end_guests();
                self.lease(number, ticket, worker);
            }
            Some(Admission::Queued { ticket, displaced }) => {
                self.waiting.insert(number, ticket);
                if let Kind::Turn(opened) = kind {
                    self.guests.get_mut(&opened).unwrap().is_turn_queued = true;
                }
                displaced.into_iter().for_each(|displaced| self.stop_waiting(displaced));
            }
            Some(Admission::Refused(_) | Admission::ShuttingDown) | None => {
                self.over.insert(number);
            }
        }
        self.carry_out();
        number
    }

    fn stop_waiting(&mut self, number: u64) {
        assert!(self.waiting.remove(&number).is_some());
        if let Kind::Turn(opened) = self.orders[&number].kind {
            self.guests.get_mut(&opened).unwrap().is_turn_queued = false;
        }
        self.over.insert(number);
    }

    /// The guests with whose holder nothing is in progress, the youngest first. Some are lost, and their
    /// holders do not know it.
    fn free_guests(&self) -> impl Iterator<Item = u64> {
        self.guests.iter().rev().filter(|(_, guest)| guest.rests()).map(|(opened, _)| *opened)
    }

    fn finish(&mut self, at: usize, guest_ends: bool) {
        let Some((number, (ticket, worker))) =
            self.leased.iter().nth(at).map(|(number, leased)| (*number, *leased))
        else {
            return;
        };
        self.now += Duration::from_millis(7);
        self.leased.remove(&number);
        self.over.insert(number);
        let Order { who, kind, memory } = self.orders[&number].clone();
        let opened = match kind {
            Kind::Turn(opened) => Some(opened),
            Kind::First if !guest_ends => {
                let key = self.state.keep_guest(ticket, worker);
                let (is_in_turn, is_turn_queued, is_gone) = (true, false, false);
                let guest = Guest { key, who, memory, is_in_turn, is_turn_queued, is_gone };
                self.guests.insert(number, guest);
                Some(number)
            }
            Kind::Run | Kind::First => None,
        };
        assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
        if let Some(guest) = opened.and_then(|opened| self.guests.get_mut(&opened)) {
            guest.is_in_turn = false;
            if guest_ends {
                guest.is_gone = true;
                assert_eq!(self.state.end_guest(worker), None, "its worker is with the run");
            }
        }
        let unwanted = self.state.give_back(worker, worker);
        if let Some(unwanted) = unwanted {
            self.dying.push(unwanted);
            self.forget_guest_of(worker);
        }
        self.carry_out();
    }

    fn close(&mut self, opened: u64) {
        self.state.close_guest(self.guests[&opened].key);
        self.carry_out();
        assert!(self.guests[&opened].is_gone, "guest {opened} is still there");
    }

    /// The process of a worker has ended.
    fn remove(&mut self, id: WorkerId) {
        if let Some((number, (ticket, _))) =
            self.leased.iter().find(|(_, (_, worker))| *worker == id).map(|(n, one)| (*n, *one))
        {
            self.leased.remove(&number);
            self.over.insert(number);
            assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
        }
        let (record, _) = self.state.remove_worker(id);
        assert!(record.is_some());
        let mut guests = self.guests.values_mut().filter(|guest| !guest.is_gone);
        if let Some(guest) = guests.find(|guest| guest.key.worker == id) {
            (guest.is_gone, guest.is_in_turn) = (true, false);
        }
        self.carry_out();
    }

    fn process(&mut self) {
        if let Some(dead) = self.dying.pop() {
            self.remove(dead);
        } else if self.starting > 0 {
            self.starting -= 1;
            let id = self.state.next_worker_id();
            assert_eq!(self.state.add_worker(id, id), None);
            self.carry_out();
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Arrive(who, keeps, memory) => {
                let kind = if keeps { Kind::First } else { Kind::Run };
                self.arrive(who, kind, memory);
            }
            Step::Turn(at) => {
                let guest = self.free_guests().nth(at);
                if let Some(opened) = guest {
                    self.arrive(self.guests[&opened].who, Kind::Turn(opened), 0);
                }
            }
            Step::Finish(at, guest_ends) => self.finish(at, guest_ends),
            Step::Leave(at) => {
                let waiting =
                    self.waiting.iter().nth(at).map(|(number, ticket)| (*number, *ticket));
                if let Some((number, ticket)) = waiting {
                    let tenant = tenant(self.orders[&number].who);
                    assert_eq!(self.state.abandon(&tenant, ticket), Some(number));
                    self.stop_waiting(number);
                    self.carry_out();
                }
            }
            Step::Close(at) => {
                let guest = self.free_guests().nth(at);
                guest.into_iter().for_each(|opened| self.close(opened));
            }
            Step::Lose(at) => {
                let ids: Vec<WorkerId> = self.state.records().keys().copied().collect();
                if let Some(id) = ids.get(at).filter(|id| !self.dying.contains(id)) {
                    self.remove(*id);
                }
            }
            Step::Wait(mask) => {
                let tickets = (0..4 * self.arrived).map(Ticket);
                let waits = tickets.filter(|ticket| mask >> (ticket.0 % 8) & 1 == 1).collect();
                self.state.note_waiting(waits, self.now);
                self.carry_out();
            }
            Step::Linger => {
                for _ in 0..2 {
                    self.now += Duration::from_secs(60);
                    self.state.note_waiting(BTreeSet::new(), self.now);
                    self.carry_out();
                }
            }
            Step::Process => self.process(),
            Step::Outdate => self.state.outdate_workers(),
            Step::Retire => {
                let (retired, _) = self.state.retire_one();
                if let Some(worker) = retired {
                    self.forget_guest_of(worker);
                    self.dying.push(worker);
                }
                self.carry_out();
            }
        }
    }

    fn kept(&self) -> impl Iterator<Item = &Guest> {
        self.guests.values().filter(|guest| !guest.is_gone)
    }

    fn check(&self) {
        let state = &self.state;
        for (worker, tenants) in &self.served {
            assert!(tenants.len() == 1, "worker {worker} has served {tenants:?}");
        }
        let workers: Vec<WorkerId> = self.kept().map(|guest| guest.key.worker).collect();
        let distinct: BTreeSet<&WorkerId> = workers.iter().collect();
        assert_eq!(distinct.len(), workers.len(), "a worker has two guests");
        assert_eq!(state.guests(), workers.len());
        for worker in workers {
            assert!(state.keeps_guest(worker) && !state.is_idle(worker));
        }
        let between = self.kept().filter(|guest| !guest.is_in_turn).count();
        let capacity = state.capacity();
        assert!(between <= capacity.held, "{between} guests are between two turns");
        for (opened, guest) in &self.guests {
            let holds = !guest.is_gone && !guest.is_in_turn;
            assert_eq!(state.holds(guest.key), holds, "guest {opened}: {guest:?}");
        }
        self.check_memory();
        self.check_runs();
    }

    fn check_memory(&self) {
        let runs = self.leased.keys().chain(self.waiting.keys());
        let is_admitted = |number: &u64| {
            let has_begun = self.leased.contains_key(number) || self.is_promised(*number);
            has_begun && !matches!(self.orders[number].kind, Kind::Turn(_))
        };
        let runs: u64 = runs.filter(|one| is_admitted(one)).map(|n| self.orders[n].memory).sum();
        let guests: u64 = self.kept().map(|guest| guest.memory).sum();
        assert_eq!(
            self.state.queue.memory_used,
            runs + guests,
            "memory of nobody, or of no account"
        );
        assert!(runs + guests <= self.most_memory, "more memory than there is");
        let spare: u64 = self.kept().filter(|guest| guest.rests()).map(|guest| guest.memory).sum();
        assert_eq!(self.state.queue.spare_memory, spare);
    }

    /// True for a run without a worker whose turn is settled.
    fn is_promised(&self, number: u64) -> bool {
        self.waiting
            .get(&number)
            .is_some_and(|ticket| self.state.queue.running.contains_key(ticket))
    }

    fn check_runs(&self) {
        let state = &self.state;
        let capacity = state.capacity();
        let promised = self.waiting.keys().filter(|number| self.is_promised(**number)).count();
        assert_eq!(state.running(), self.leased.len() + promised, "a guest between turns runs");
        assert_eq!(state.waiting() + promised, self.waiting.len());
        assert!(state.running() <= capacity.most && state.waiting() <= QUEUE);
        assert!(self.places() <= capacity.most_workers(), "a place was made twice");
        let known = self.over.len() + self.waiting.len() + self.leased.len();
        assert_eq!(u64::try_from(known).unwrap(), self.arrived, "a run is lost");
        let has_place = state.running() + capacity.newcomers < capacity.most;
        if state.running() >= capacity.cores || !has_place || state.idle.is_empty() {
            return;
        }
        // There is a core and a worker, so whoever is next waits for memory that others need.
        let spare: u64 = self.kept().filter(|guest| guest.rests()).map(|guest| guest.memory).sum();
        let free = self.most_memory - state.queue.memory_used;
        let accounts = state.queue.accounts.values();
        assert!(accounts.clone().all(|account| account.turns.is_empty()), "a turn waits");
        let next: Vec<_> = accounts.filter_map(|account| account.waiting.front()).collect();
        let is_barred = next.iter().any(|first| first.overtaken >= MAX_OVERTAKEN);
        for first in next {
            let is_short = first.memory > free + spare;
            assert!(is_short || is_barred, "{first:?} waits for no memory but that of guests");
        }
    }

    /// Shuts the pool down: a few more things happen meanwhile, and then everything is ended.
    fn shut_down(&mut self, later: Vec<Step>) {
        self.state.drain();
        let kept: Vec<GuestKey> = self.kept().map(|guest| guest.key).collect();
        for step in later {
            self.take(step);
        }
        assert!(self.kept().all(|guest| kept.contains(&guest.key)), "a guest was opened");
        let without_a_run = self.state.records().keys().filter(|id| {
            let is_leased = self.leased.values().any(|(_, worker)| worker == *id);
            !is_leased && !self.dying.contains(id)
        });
        let without_a_run = without_a_run.count();
        let Closing { waiting, idle } = self.state.close();
        assert_eq!((waiting.len(), idle.len()), (self.waiting.len(), without_a_run));
        assert!(self.state.take_lost().is_empty(), "a turn was told twice");
        for guest in self.guests.values() {
            assert!(!self.state.holds(guest.key), "a guest has outlived its pool");
        }
        for (ticket, worker) in std::mem::take(&mut self.leased).into_values() {
            self.state.end_run(ticket, None, self.now);
            assert_eq!(self.state.give_back(worker, worker), Some(worker));
        }
        assert_eq!((self.state.guests(), self.state.queue.memory_used), (0, 0));
        assert_eq!((self.state.running(), self.state.waiting()), (0, 0));
    }

    /// Ends everything that is in progress or kept.
    fn settle(&mut self) {
        for _ in 0..400 {
            self.finish(0, true);
            self.process();
            let kept = self.free_guests().find(|opened| !self.guests[opened].is_gone);
            if let Some(opened) = kept {
                self.close(opened);
            }
            self.check();
        }
        assert!(self.waiting.is_empty() && self.leased.is_empty(), "a run never gets a worker");
        assert_eq!((self.state.guests(), self.state.queue.memory_used), (0, 0));
        self.take(Step::Linger);
        (0..100).for_each(|_| self.process());
        self.check();
        let workers = self.state.records().len();
        assert_eq!(workers, self.state.capacity().least_workers(), "workers stay without need");
    }
}

fn capacity() -> impl Strategy<Value = Capacity> {
    let parts = (1_usize..4, 0_usize..4, 0_usize..3, 0_usize..3, 0_usize..4);
    parts.prop_map(|(cores, more, spares, newcomers, held)| Capacity {
        cores,
        most: cores + more,
        spares,
        fresh: spares.min(2),
        newcomers,
        held,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn guest_of_its_own_guest_memory_and_bounded_guests_whatever_happens(
        capacity in capacity(),
        memory in 4_u64..16,
        steps in prop::collection::vec(step(), 0..250),
    ) {
        let mut simulation = Simulation::new(capacity, memory);
        for step in steps {
            simulation.take(step);
            simulation.check();
        }
        simulation.settle();
        prop_assert_eq!(u64::try_from(simulation.over.len()).unwrap(), simulation.arrived);
    }

    #[test]
    fn nothing_is_left_of_a_pool_that_shuts_down_at_any_time(
        capacity in capacity(),
        steps in prop::collection::vec(step(), 0..100),
        later in prop::collection::vec(step(), 0..20),
    ) {
        let mut simulation = Simulation::new(capacity, 12);
        for step in steps {
            simulation.take(step);
        }
        simulation.shut_down(later);
    }
}

/// A pool of one core with `workers` idle workers, where `held` guests may be kept.
fn small(held: usize, memory: u64) -> Simulation {
    let capacity = Capacity { cores: 1, most: 1, spares: 0, fresh: 0, newcomers: 0, held };
    Simulation::new(capacity, memory)
}

impl Simulation {
    /// Opens a guest of so much memory, whose first turn ends at once.
    fn keep(&mut self, who: usize, memory: u64) -> u64 {
        let opened = self.arrive(who, Kind::First, memory);
        self.start_workers();
        self.finish(0, false);
        self.start_workers();
        self.check();
        opened
    }

    fn start_workers(&mut self) {
        while self.starting > 0 || !self.dying.is_empty() {
            self.process();
        }
    }
}

#[test]
fn a_worker_that_keeps_a_guest_is_replaced_for_as_long_as_it_does() {
    let mut pool = small(2, 10);
    assert_eq!(pool.state.records().len(), 1);
    let [first, second] = [pool.keep(0, 1), pool.keep(0, 1)];
    assert_eq!((pool.state.records().len(), pool.state.running()), (3, 0));
    assert!(!pool.state.needs_watch(), "nothing changes by itself");
    // No worker comes or goes for a turn.
    pool.arrive(0, Kind::Turn(first), 0);
    assert_eq!((pool.state.running(), pool.starting, pool.dying.len()), (1, 0, 0));
    pool.take(Step::Linger);
    pool.finish(0, false);
    assert_eq!((pool.state.records().len(), pool.starting, pool.dying.len()), (3, 0, 0));
    // Workers that are not needed are kept for a while.
    pool.close(second);
    pool.state.note_waiting(BTreeSet::new(), pool.now);
    pool.carry_out();
    assert!(pool.state.needs_watch() && pool.dying.is_empty());
    pool.take(Step::Linger);
    pool.start_workers();
    assert_eq!(pool.state.records().len(), 2);
    assert!(!pool.state.needs_watch());
    // Only workers that serve whoever comes count as such.
    assert_eq!(pool.state.alive(), 1);
}

#[test]
fn whole_turns_are_spared_when_others_want_room() {
    let mut pool = small(2, 4);
    let [first, second] = [pool.keep(0, 2), pool.keep(1, 2)];
    // One guest is within a turn, and the next turn of the other waits for its end.
    pool.arrive(0, Kind::Turn(first), 0);
    pool.arrive(1, Kind::Turn(second), 0);
    pool.state.outdate_workers();
    assert_eq!(
        pool.state.retire_one().0.map(|id| pool.guests[&first].key.worker == id),
        Some(false)
    );
    pool.arrive(2, Kind::Run, 4);
    pool.check();
    assert_eq!(pool.kept().count(), 2, "a guest was given up within a turn");
    assert_eq!(pool.state.counters.guests_given_up, 0);
    // The worker is outdated, so it ends with its guest: after the turn.
    pool.finish(0, false);
    assert_eq!(pool.kept().count(), 1);
    assert!(pool.leased.values().any(|(_, id)| *id == pool.guests[&second].key.worker));
    pool.finish(0, false);
    assert_eq!(pool.kept().count(), 0);
    pool.start_workers();
    assert_eq!((pool.leased.len(), pool.waiting.len()), (1, 0), "the run has its memory");
}

#[test]
fn runs_before_guests_if_they_lack_nothing_but_memory() {
    let mut pool = small(3, 6);
    let [first, second, third] = [pool.keep(0, 2), pool.keep(1, 1), pool.keep(2, 2)];
    let kept = |pool: &Simulation| -> Vec<u64> {
        pool.guests.iter().filter(|(_, guest)| !guest.is_gone).map(|(opened, _)| *opened).collect()
    };
    // The guest that was used longest ago is enough.
    pool.arrive(0, Kind::Turn(first), 0);
    pool.finish(0, false);
    pool.arrive(3, Kind::Run, 2);
    assert_eq!((pool.leased.len(), kept(&pool)), (1, vec![first, third]));
    // A run that would have to wait for a core takes nobody's memory.
    pool.arrive(3, Kind::Run, 6);
    assert_eq!((pool.waiting.len(), kept(&pool)), (1, vec![first, third]));
    pool.finish(0, false);
    assert_eq!((pool.leased.len(), kept(&pool)), (1, vec![]));
    assert_eq!(pool.state.counters.guests_given_up, 3);
    let lost = pool.state.admit_turn(&pool.claim(1, 0), pool.guests[&second].key, 99, pool.now);
    assert!(lost.is_none());
}

#[test]
fn a_run_that_is_refused_early_would_not_get_the_memory_of_guests_either() {
    let mut pool = small(2, 6);
    pool.keep(0, 2);
    let busy = pool.keep(1, 2);
    let refusal = |pool: &mut Simulation, memory| {
        let limits = TenantLimits { queued: 0, ..TenantLimits::NONE };
        let claim = Claim { limits, ..pool.claim(2, memory) };
        pool.state.refuse_early(&claim, pool.now)
    };
    assert_eq!(refusal(&mut pool, 6), None, "guests would give way to it");
    let capacity = Capacity { cores: 2, most: 2, ..pool.state.growth.capacity };
    pool.state.growth.capacity = capacity;
    pool.supervise();
    pool.start_workers();
    pool.arrive(1, Kind::Turn(busy), 0);
    assert_eq!(refusal(&mut pool, 4), None);
    assert!(refusal(&mut pool, 5).is_some(), "a guest within a turn keeps its memory");
    // The same is true for the run itself.
    pool.arrive(2, Kind::Run, 5);
    assert_eq!((pool.waiting.len(), pool.kept().count()), (1, 2), "one was given up in vain");
    pool.arrive(3, Kind::Run, 4);
    assert_eq!((pool.leased.len(), pool.kept().count()), (2, 1));
}

#[test]
fn guest_of_its_own_key_reaches_no_other_guest_of_the_same_worker() {
    let mut pool = small(1, 10);
    let first = pool.keep(0, 1);
    let stale = pool.guests[&first].key;
    pool.close(first);
    // The worker is idle again, and the last used one.
    let second = pool.keep(0, 1);
    assert_eq!(pool.guests[&second].key.worker, stale.worker);
    let claim = pool.claim(0, 0);
    assert!(pool.state.admit_turn(&claim, stale, 99, pool.now).is_none());
    pool.state.close_guest(stale);
    assert!(pool.state.holds(pool.guests[&second].key) && !pool.state.has_closing());
}

#[test]
fn a_turn_passes_runs_of_its_tenant_that_cannot_start() {
    let mut pool = small(1, 4);
    let guest = pool.keep(0, 3);
    let busy = pool.arrive(1, Kind::Run, 1);
    // It arrives first, and may need the memory of the guest whose turn comes after it.
    let large = pool.arrive(0, Kind::Run, 4);
    let turn = pool.arrive(0, Kind::Turn(guest), 0);
    assert_eq!(pool.waiting.len(), 2);
    pool.finish(0, false);
    assert!(pool.over.contains(&busy) && pool.leased.contains_key(&turn), "{:?}", pool.leased);
    pool.finish(0, false);
    assert!(pool.leased.contains_key(&large) && pool.guests[&guest].is_gone);
}

#[test]
fn the_time_between_two_turns_is_charged_to_nobody_and_that_of_turns_to_their_tenant() {
    let (hour, second) = (Duration::from_secs(3_600), Duration::from_secs(1));
    let run_time = Some(TimeQuota { time: second, period: 100 * hour });
    let limits = TenantLimits { run_time, ..TenantLimits::NONE };
    let mut pool = small(1, 10);
    let guest = pool.keep(0, 1);
    let key = pool.guests[&guest].key;
    let claim = Claim { limits, ..pool.claim(0, 0) };
    let mut now = pool.now;
    for _ in 0..3 {
        now += 10 * hour;
        let turn = pool.state.admit_turn(&claim, key, 7, now);
        let Some(Admission::Granted(ticket, worker)) = turn else { panic!("{turn:?}") };
        now += second / 4;
        assert!(pool.state.end_run(ticket, None, now).runs.is_empty());
        assert_eq!(pool.state.give_back(worker, worker), None);
    }
    // A turn that takes too long, while another one of the tenant waits.
    let other = Claim { memory: ByteCount::bytes(1), ..claim.clone() };
    let Admission::Granted(ticket, worker) = pool.state.admit(&other, |_| true, 8, now) else {
        panic!("it has not begun")
    };
    let waits = pool.state.admit_turn(&claim, key, 9, now);
    assert!(matches!(waits, Some(Admission::Queued { .. })), "{waits:?}");
    now += second / 2;
    assert_eq!(pool.state.end_run(ticket, None, now).runs, [9], "the turn is refused");
    assert_eq!(pool.state.give_back(worker, worker), None);
    assert!(pool.state.holds(key) && pool.state.queue.spare_memory == 1, "its guest is as before");
    let refused = pool.state.admit_turn(&claim, key, 10, now);
    assert!(matches!(refused, Some(Admission::Refused(RunRefusal::TimeUsed { .. }))));
}

/// A run that small ones have overtaken often keeps them from their start, and not a turn.
#[test]
fn a_turn_needs_no_memory_and_passes_whoever_waits_for_some() {
    let mut pool = small(1, 4);
    pool.state.growth.capacity = Capacity { cores: 3, most: 3, ..pool.state.growth.capacity };
    pool.supervise();
    pool.start_workers();
    let guest = pool.keep(0, 1);
    // It stays in progress, so the large run that comes next does not fit in.
    let endless = pool.arrive(1, Kind::Run, 1);
    let large = pool.arrive(2, Kind::Run, 4);
    for number in 0..=MAX_OVERTAKEN {
        let small = pool.arrive(3, Kind::Run, 1);
        assert_eq!(pool.leased.contains_key(&small), number < MAX_OVERTAKEN, "{number}");
        let at = pool.leased.keys().position(|one| *one == small);
        at.into_iter().for_each(|at| pool.finish(at, true));
    }
    for _ in 0..2 {
        // The second one comes after the small run, by the time that its tenant has had.
        let turn = pool.arrive(0, Kind::Turn(guest), 0);
        let at = pool.leased.keys().position(|one| *one == turn).expect("it waits for memory");
        pool.now += Duration::from_secs(10);
        pool.finish(at, false);
    }
    assert!(pool.waiting.contains_key(&large) && pool.leased.contains_key(&endless));
    assert_eq!(pool.waiting.len(), 2);
}
