//! Tests of kept guests on a simulated pool, whose runs and guests are known to a simple model.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::scheduler::claim::{Closing, QueueBounds, RunRefusal};
use crate::scheduler::growth::{Capacity, HeldBounds};
use crate::scheduler::queue::tenant_account::MAX_OVERTAKEN;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{TenantLimits, TimeQuota};
use wardian_vocabulary::units::ByteCount;

type State = SchedulerState<Stub, u64>;

const TENANTS: usize = 4;
const QUEUE: usize = 10;

/// A worker that knows which guests it was told to keep. Grants are numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stub {
    id: WorkerId,
    open: BTreeSet<GuestNumber>,
    /// The guest whose cell it holds.
    holds: Option<GuestNumber>,
    /// The guests that it has room for.
    room: usize,
}

impl KeepsGuests for Stub {
    fn close_guest(&mut self, guest: GuestNumber) {
        assert!(self.open.remove(&guest), "{guest:?} is closed twice");
        self.holds = self.holds.filter(|holds| *holds != guest);
    }

    fn keeps(&self, guest: GuestNumber) -> bool {
        self.open.contains(&guest)
    }

    fn is_crowded(&self) -> bool {
        self.open.len() > self.room
    }

    fn is_full(&self) -> bool {
        self.open.len() >= self.room
    }

    fn holds_cell(&self) -> bool {
        self.holds.is_some()
    }
}

/// What a turn leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Guest,
    /// A guest whose cell is held.
    Cell,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A run comes, whose guest is to be kept or not, with so much memory.
    Arrive(usize, bool, u64),
    /// The holder of a guest brings its next turn.
    Turn(usize),
    /// A run or a turn ends.
    Finish(usize, Left),
    /// The caller of a waiting run or turn goes away.
    Leave(usize),
    /// A turn has waited for a while.
    Move(usize),
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
    let left = prop_oneof![2 => Just(Left::Nothing), 7 => Just(Left::Guest), 1 => Just(Left::Cell)];
    prop_oneof![
        6 => (0..TENANTS, any::<bool>(), 1_u64..5).prop_map(|(who, keeps, memory)| {
            Step::Arrive(who, keeps, memory)
        }),
        6 => (0_usize..8).prop_map(Step::Turn),
        8 => (0_usize..8, left).prop_map(|(at, left)| Step::Finish(at, left)),
        1 => (0_usize..8).prop_map(Step::Leave),
        2 => (0_usize..8).prop_map(Step::Move),
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
    /// True once it is to be closed when its worker comes back.
    is_doomed: bool,
    /// True once its memory is free.
    is_gone: bool,
}

impl Guest {
    /// True if nothing is in progress with it, so that its holder can do something.
    const fn rests(&self) -> bool {
        !self.is_in_turn && !self.is_turn_queued
    }

    /// True if its holder would be told that it is lost.
    const fn is_lost(&self) -> bool {
        self.is_gone || self.is_doomed
    }
}

/// A pool whose supervisors start another process for each one that has ended.
struct Simulation {
    state: State,
    orders: BTreeMap<u64, Order>,
    leased: BTreeMap<u64, (Ticket, Stub)>,
    waiting: BTreeMap<u64, Ticket>,
    over: BTreeSet<u64>,
    guests: BTreeMap<u64, Guest>,
    /// The tenants that each worker has served.
    served: BTreeMap<WorkerId, BTreeSet<usize>>,
    dying: Vec<WorkerId>,
    starting: usize,
    /// True if workers serve all tenants.
    is_shared: bool,
    most_memory: u64,
    /// The guests that a worker has room for.
    room: usize,
    arrived: u64,
    now: Instant,
}

impl Simulation {
    fn new(capacity: Capacity, memory: u64, is_shared: bool) -> Self {
        Self::with_room(capacity, memory, is_shared, usize::MAX)
    }

    fn with_room(capacity: Capacity, memory: u64, is_shared: bool, room: usize) -> Self {
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
            is_shared,
            most_memory: memory,
            room,
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

    fn lease(&mut self, number: u64, ticket: Ticket, mut worker: Stub) {
        let (Order { who, kind, .. }, id) = (self.orders[&number].clone(), worker.id);
        assert!(!self.is_busy(id), "{id} is leased twice");
        assert!(!self.dying.contains(&id), "{id} was given up and is leased");
        let open: BTreeSet<GuestNumber> = self.guests_of(id).collect();
        assert_eq!(worker.open, open, "it keeps others than it was told to");
        assert!(worker.holds.is_none_or(|holds| kind == Kind::Turn(holds.0)), "{worker:?}");
        worker.holds = None;
        self.served.entry(id).or_default().insert(who);
        if let Kind::Turn(opened) = kind {
            let guest = self.guests.get_mut(&opened).unwrap();
            assert_eq!(guest.key.worker, id, "a turn got another worker than its guest's");
            assert!(!guest.is_lost() && !guest.is_in_turn);
            (guest.is_in_turn, guest.is_turn_queued) = (true, false);
        }
        self.leased.insert(number, (ticket, worker));
    }

    fn is_busy(&self, id: WorkerId) -> bool {
        self.leased.values().any(|(_, worker)| worker.id == id)
    }

    /// The guests that are open in a worker.
    fn guests_of(&self, id: WorkerId) -> impl Iterator<Item = GuestNumber> {
        self.kept().filter(move |guest| guest.key.worker == id).map(|guest| guest.key.number)
    }

    /// Does what a pool does after each decision, until nothing is left to be done. Turns that wait may be
    /// lost by the decision itself, and by none of these.
    fn carry_out(&mut self, may_lose: bool) {
        self.note_ends(may_lose);
        while let Some((ticket, number, worker)) = self.state.grant_next(self.now) {
            self.note_ends(false);
            assert!(self.waiting.remove(&number).is_some());
            self.lease(number, ticket, worker);
        }
        self.note_ends(false);
        self.supervise();
    }

    /// Notes what was given up.
    fn note_ends(&mut self, may_lose: bool) {
        self.dying.extend(self.state.take_given_up().into_iter().map(|worker| worker.id));
        for number in self.state.take_lost() {
            assert!(may_lose, "a turn was lost while it waited");
            assert!(self.waiting.remove(&number).is_some(), "a turn was told twice");
            let Kind::Turn(opened) = self.orders[&number].kind else { panic!("no turn") };
            self.guests.get_mut(&opened).unwrap().is_turn_queued = false;
            self.over.insert(number);
        }
        let busy: BTreeSet<WorkerId> = self.leased.values().map(|(_, worker)| worker.id).collect();
        for guest in self.guests.values_mut().filter(|guest| !guest.is_gone) {
            let GuestKey { worker, number } = guest.key;
            guest.is_gone = self.state.held.worker_of(number).is_none();
            guest.is_doomed = self.state.held.doomed_of(worker).contains(&number);
            assert!(!guest.is_doomed || busy.contains(&worker), "{guest:?} could be closed");
            assert!(!guest.is_lost() || guest.rests(), "given up within a turn: {guest:?}");
        }
    }

    fn claim(&self, who: usize, memory: u64) -> Claim {
        let owner =
            if self.is_shared { WorkerOwner::Everyone } else { WorkerOwner::Tenant(tenant(who)) };
        let (limits, memory) = (TenantLimits::NONE, ByteCount::bytes(memory));
        Claim { tenant: tenant(who), limits, memory, is_own: false, owner, opens_guest: false }
    }

    fn arrive(&mut self, who: usize, kind: Kind, memory: u64) -> u64 {
        self.arrived += 1;
        let number = self.arrived;
        self.orders.insert(number, Order { who, kind, memory });
        let claim = Claim { opens_guest: kind == Kind::First, ..self.claim(who, memory) };
        let admission = match kind {
            Kind::Turn(opened) => {
                let key = self.guests[&opened].key;
                let admission = self.state.admit_turn(&claim, key, number, self.now);
                assert_eq!(admission.is_none(), self.guests[&opened].is_lost());
                admission
            }
            Kind::Run | Kind::First => Some(self.state.admit(&claim, |_| false, number, self.now)),
        };
        if let (Kind::Turn(opened), Some(Admission::Queued { .. })) = (kind, &admission) {
            self.guests.get_mut(&opened).unwrap().is_turn_queued = true;
        }
        self.note_ends(false);
        match admission {
            Some(Admission::Granted(ticket, worker)) => self.lease(number, ticket, worker),
            Some(Admission::Queued { ticket, displaced }) => {
                self.waiting.insert(number, ticket);
                displaced.into_iter().for_each(|displaced| self.stop_waiting(displaced));
            }
            Some(Admission::Refused(_) | Admission::ShuttingDown) | None => {
                self.over.insert(number);
            }
        }
        self.carry_out(false);
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

    fn finish(&mut self, at: usize, left: Left) {
        let Some(number) = self.leased.keys().nth(at).copied() else { return };
        let (ticket, mut worker) = self.leased.remove(&number).unwrap();
        self.now += Duration::from_millis(7);
        self.over.insert(number);
        let Order { who, kind, memory } = self.orders[&number].clone();
        let opened = match kind {
            Kind::Turn(opened) => Some(opened),
            Kind::First if left != Left::Nothing => {
                let key = self.state.keep_guest(ticket, GuestNumber(number), worker.id);
                worker.open.insert(key.number);
                let (is_in_turn, is_turn_queued, is_doomed, is_gone) = (true, false, false, false);
                let guest =
                    Guest { key, who, memory, is_in_turn, is_turn_queued, is_doomed, is_gone };
                self.guests.insert(number, guest);
                Some(number)
            }
            Kind::Run | Kind::First => None,
        };
        if let Some(guest) = opened.and_then(|opened| self.guests.get_mut(&opened)) {
            guest.is_in_turn = false;
            let number = guest.key.number;
            match left {
                Left::Nothing => assert!(worker.open.remove(&number)),
                Left::Guest => {}
                Left::Cell => worker.holds = Some(number),
            }
            let key = guest.key;
            let taken =
                2 + self.guests_of(worker.id).map(|open| self.guests[&open.0].memory).sum::<u64>();
            self.state.note_taken(key, taken);
        }
        assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
        let unwanted = self.state.give_back(worker.id, worker);
        let may_lose = left == Left::Cell || unwanted.is_some();
        self.dying.extend(unwanted.map(|worker| worker.id));
        self.carry_out(may_lose);
    }

    fn close(&mut self, opened: u64) {
        self.state.close_guest(self.guests[&opened].key);
        self.carry_out(false);
        assert!(self.guests[&opened].is_lost(), "guest {opened} is still there");
    }

    /// The process of a worker has ended.
    fn remove(&mut self, id: WorkerId) {
        if let Some((number, ticket)) = self
            .leased
            .iter()
            .find(|(_, (_, worker))| worker.id == id)
            .map(|(number, (ticket, _))| (*number, *ticket))
        {
            self.leased.remove(&number);
            self.over.insert(number);
            assert!(self.state.end_run(ticket, None, self.now).runs.is_empty());
        }
        for guest in self.guests.values_mut().filter(|guest| guest.key.worker == id) {
            guest.is_in_turn = false;
        }
        let (record, _) = self.state.remove_worker(id);
        assert!(record.is_some());
        self.carry_out(true);
    }

    fn process(&mut self) {
        if let Some(dead) = self.dying.pop() {
            self.remove(dead);
        } else if self.starting > 0 {
            self.starting -= 1;
            let id = self.state.next_worker_id();
            // Some workers keep little.
            let room = if id.0 % 7 == 6 { 1 } else { self.room };
            let worker = Stub { id, open: BTreeSet::new(), holds: None, room };
            assert_eq!(self.state.add_worker(id, worker), None);
            self.carry_out(false);
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
            Step::Finish(at, left) => self.finish(at, left),
            Step::Leave(at) => {
                let waiting =
                    self.waiting.iter().nth(at).map(|(number, ticket)| (*number, *ticket));
                if let Some((number, ticket)) = waiting {
                    let tenant = tenant(self.orders[&number].who);
                    assert_eq!(self.state.abandon(&tenant, ticket), Some(number));
                    self.stop_waiting(number);
                    self.carry_out(false);
                }
            }
            Step::Move(at) => {
                let mut queued = self.guests.values().filter(|guest| guest.is_turn_queued);
                if let Some((who, key)) = queued.nth(at).map(|guest| (guest.who, guest.key)) {
                    self.state.free_waiting_turn(&self.claim(who, 0), key);
                    self.carry_out(true);
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
                self.carry_out(false);
            }
            Step::Linger => {
                for _ in 0..2 {
                    self.now += Duration::from_secs(60);
                    self.state.note_waiting(BTreeSet::new(), self.now);
                    self.carry_out(false);
                }
            }
            Step::Process => self.process(),
            Step::Outdate => self.state.outdate_workers(),
            Step::Retire => {
                let (retired, _) = self.state.retire_one();
                self.dying.extend(retired.map(|worker| worker.id));
                self.carry_out(false);
            }
        }
    }

    fn kept(&self) -> impl Iterator<Item = &Guest> {
        self.guests.values().filter(|guest| !guest.is_gone)
    }

    /// The guests that could be closed at once.
    fn spare(&self) -> impl Iterator<Item = &Guest> {
        let could = |guest: &&Guest| guest.rests() && !self.is_busy(guest.key.worker);
        self.kept().filter(could)
    }

    fn check(&mut self) {
        for (worker, tenants) in &self.served {
            assert!(self.is_shared || tenants.len() == 1, "{worker} has served {tenants:?}");
        }
        let bounds = self.state.capacity().held;
        let ids: Vec<WorkerId> = self.state.records().keys().copied().collect();
        for id in ids {
            let open: BTreeSet<GuestNumber> = self.guests_of(id).collect();
            assert_eq!(self.state.guests_of(id), open.len());
            assert!(open.len() <= bounds.of_one, "{id} keeps {open:?}");
            if let Some(worker) = self.state.idle.get_mut(id) {
                assert!(worker.open == open && !worker.is_crowded(), "{worker:?} {open:?}");
                assert_eq!(worker.holds, None, "it serves nobody else");
            }
        }
        let state = &self.state;
        assert_eq!(state.guests(), self.kept().count());
        let between = self.kept().filter(|guest| !guest.is_in_turn && !guest.is_doomed).count();
        assert!(between <= bounds.guests, "{between} guests are between two turns");
        let taken = state.held.taken_memory();
        let is_within = bounds.memory.is_none_or(|most| taken <= most);
        assert!(is_within || self.spare().count() == 0, "guests take {taken}");
        for (opened, guest) in &self.guests {
            let holds = !guest.is_lost() && !guest.is_in_turn;
            assert_eq!(state.holds(guest.key), holds, "guest {opened}: {guest:?}");
        }
        let has_queued = |id| {
            let mut own = self.kept().filter(|guest| guest.key.worker == id);
            own.any(|guest| guest.is_turn_queued)
        };
        let apart: BTreeSet<WorkerId> = self.spare().map(|guest| guest.key.worker).collect();
        let apart = apart.into_iter().filter(|id| !has_queued(*id)).count();
        assert!(self.is_shared || apart <= bounds.keepers, "{apart} workers are set apart");
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
        let spare: u64 = self.spare().map(|guest| guest.memory).sum();
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
        if state.running() >= capacity.cores || !has_place {
            return;
        }
        // There is a core, so whoever is next waits for a worker, or for memory that others need.
        let spare: u64 = self.spare().map(|guest| guest.memory).sum();
        let free = self.most_memory - state.queue.memory_used;
        let accounts = state.queue.accounts.values();
        let mut turns = accounts.clone().flat_map(|account| &account.turns);
        let is_at_hand = |key: GuestKey| !self.is_busy(key.worker);
        assert!(turns.all(|turn| !turn.item.guest().is_some_and(is_at_hand)), "a turn waits");
        let next: Vec<_> = accounts.filter_map(|account| account.waiting.front()).collect();
        let is_barred = next.iter().any(|first| first.overtaken >= MAX_OVERTAKEN);
        for first in next {
            let has_worker = state.serves_anybody() || state.idle.has_of(&first.item.owner);
            let is_short = first.memory > free + spare;
            assert!(!has_worker || is_short || is_barred, "{first:?} waits for nothing");
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
        let without_a_run = self
            .state
            .records()
            .keys()
            .filter(|id| !self.is_busy(**id) && !self.dying.contains(id));
        let without_a_run = without_a_run.count();
        let Closing { waiting, idle } = self.state.close();
        assert_eq!((waiting.len(), idle.len()), (self.waiting.len(), without_a_run));
        assert!(self.state.take_lost().is_empty(), "a turn was told twice");
        for guest in self.guests.values() {
            assert!(!self.state.holds(guest.key), "a guest has outlived its pool");
        }
        for (ticket, worker) in std::mem::take(&mut self.leased).into_values() {
            self.state.end_run(ticket, None, self.now);
            assert_eq!(self.state.give_back(worker.id, worker.clone()), Some(worker));
        }
        assert_eq!((self.state.guests(), self.state.queue.memory_used), (0, 0));
        assert_eq!((self.state.running(), self.state.waiting()), (0, 0));
    }

    /// Ends everything that is in progress or kept.
    fn settle(&mut self) {
        for _ in 0..400 {
            self.finish(0, Left::Nothing);
            self.process();
            let kept = self.free_guests().find(|opened| !self.guests[opened].is_lost());
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
    let parts = (1_usize..4, 0_usize..4, 0_usize..3, 0_usize..3);
    (parts, held()).prop_map(|((cores, more, spares, newcomers), held)| Capacity {
        cores,
        most: cores + more,
        spares,
        fresh: spares.min(2),
        newcomers,
        held,
    })
}

fn held() -> impl Strategy<Value = HeldBounds> {
    let parts = (0_usize..6, 1_usize..4, 1_usize..4, prop::option::of(2_u64..30));
    parts.prop_map(|(guests, of_one, keepers, memory)| HeldBounds {
        guests,
        of_one: of_one.min(guests),
        keepers: keepers.min(guests),
        memory,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn guest_of_its_own_guest_memory_and_bounded_guests_whatever_happens(
        capacity in capacity(),
        memory in 4_u64..16,
        is_shared in any::<bool>(),
        steps in prop::collection::vec(step(), 0..250),
    ) {
        let mut simulation = Simulation::new(capacity, memory, is_shared);
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
        is_shared in any::<bool>(),
        steps in prop::collection::vec(step(), 0..100),
        later in prop::collection::vec(step(), 0..20),
    ) {
        let mut simulation = Simulation::new(capacity, 12, is_shared);
        for step in steps {
            simulation.take(step);
        }
        simulation.shut_down(later);
    }
}

/// A pool of one core with `workers` idle workers, where `held` guests may be kept.
fn small(held: usize, memory: u64) -> Simulation {
    let held = HeldBounds { guests: held, of_one: held, keepers: held, memory: None };
    let capacity = Capacity { cores: 1, most: 1, spares: 0, fresh: 0, newcomers: 0, held };
    Simulation::new(capacity, memory, false)
}

impl Simulation {
    /// Opens a guest of so much memory, whose first turn ends at once.
    fn keep(&mut self, who: usize, memory: u64) -> u64 {
        let opened = self.arrive(who, Kind::First, memory);
        self.start_workers();
        self.finish(0, Left::Guest);
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
fn a_worker_of_one_owner_that_keeps_a_guest_is_replaced_for_as_long_as_it_does() {
    let mut pool = small(2, 10);
    assert_eq!(pool.state.records().len(), 1);
    let [first, second] = [pool.keep(0, 1), pool.keep(1, 1)];
    assert_eq!((pool.state.records().len(), pool.state.running()), (3, 0));
    assert!(!pool.state.needs_watch(), "nothing changes by itself");
    // No worker comes or goes for a turn.
    pool.arrive(0, Kind::Turn(first), 0);
    assert_eq!((pool.state.running(), pool.starting, pool.dying.len()), (1, 0, 0));
    pool.take(Step::Linger);
    pool.finish(0, Left::Guest);
    assert_eq!((pool.state.records().len(), pool.starting, pool.dying.len()), (3, 0, 0));
    // Workers that are not needed are kept for a while.
    pool.close(second);
    pool.state.note_waiting(BTreeSet::new(), pool.now);
    pool.carry_out(false);
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
        pool.state.retire_one().0.map(|worker| pool.guests[&first].key.worker == worker.id),
        Some(false)
    );
    pool.arrive(2, Kind::Run, 4);
    pool.check();
    assert_eq!(pool.kept().count(), 2, "a guest was given up within a turn");
    assert_eq!(pool.state.counters.guests_given_up, 0);
    // The worker is outdated, so it ends with its guest: after the turn.
    pool.finish(0, Left::Guest);
    assert_eq!(pool.kept().count(), 1);
    assert!(pool.is_busy(pool.guests[&second].key.worker));
    pool.finish(0, Left::Guest);
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
    pool.finish(0, Left::Guest);
    pool.arrive(3, Kind::Run, 2);
    assert_eq!((pool.leased.len(), kept(&pool)), (1, vec![first, third]));
    // A run that would have to wait for a core takes nobody's memory.
    pool.arrive(3, Kind::Run, 6);
    assert_eq!((pool.waiting.len(), kept(&pool)), (1, vec![first, third]));
    pool.finish(0, Left::Guest);
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
    assert!(pool.state.holds(pool.guests[&second].key));
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
    pool.finish(0, Left::Guest);
    assert!(pool.over.contains(&busy) && pool.leased.contains_key(&turn), "{:?}", pool.leased);
    pool.finish(0, Left::Guest);
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
        assert_eq!(pool.state.give_back(worker.id, worker), None);
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
    assert_eq!(pool.state.give_back(worker.id, worker), None);
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
        at.into_iter().for_each(|at| pool.finish(at, Left::Nothing));
    }
    for _ in 0..2 {
        // The second one comes after the small run, by the time that its tenant has had.
        let turn = pool.arrive(0, Kind::Turn(guest), 0);
        let at = pool.leased.keys().position(|one| *one == turn).expect("it waits for memory");
        pool.now += Duration::from_secs(10);
        pool.finish(at, Left::Guest);
    }
    assert!(pool.waiting.contains_key(&large) && pool.leased.contains_key(&endless));
    assert_eq!(pool.waiting.len(), 2);
}

#[test]
fn guests_of_one_owner_share_a_worker_as_far_as_it_has_room() {
    let mut pool = small(6, 20);
    pool.state.growth.capacity.held.of_one = 2;
    let worker = |pool: &Simulation, opened| pool.guests[&opened].key.worker;
    let [first, second, other] = [pool.keep(0, 1), pool.keep(0, 1), pool.keep(1, 1)];
    assert_eq!(worker(&pool, first), worker(&pool, second));
    assert_ne!(worker(&pool, first), worker(&pool, other), "two owners share a worker");
    let third = pool.keep(0, 1);
    assert_ne!(worker(&pool, first), worker(&pool, third));
    assert_eq!(pool.state.counters.guests_given_up, 0, "there is a fresh worker");
    let fourth = pool.keep(0, 1);
    assert_eq!(worker(&pool, third), worker(&pool, fourth));
    assert_eq!(pool.state.records().len(), 4, "three keep guests");
    // A run of their owner leaves the workers of guests to their turns, and others never have them.
    pool.arrive(2, Kind::Run, 1);
    assert!(pool.kept().all(|guest| !pool.is_busy(guest.key.worker)));
    pool.finish(0, Left::Nothing);
}

#[test]
fn a_worker_without_room_for_a_further_guest_is_full_until_it_closes_one() {
    let held = HeldBounds { guests: 9, of_one: 9, keepers: 4, memory: None };
    let capacity = Capacity { cores: 1, most: 1, spares: 0, fresh: 0, newcomers: 0, held };
    for is_shared in [false, true] {
        let mut pool = Simulation::with_room(capacity, 20, is_shared, 2);
        let worker = |pool: &Simulation, opened| pool.guests[&opened].key.worker;
        let [first, second, third] = [(); 3].map(|()| pool.keep(0, 1));
        assert_eq!(worker(&pool, first), worker(&pool, second));
        assert_ne!(worker(&pool, first), worker(&pool, third), "it is full");
        assert_eq!(pool.state.counters.guests_given_up, 0);
        let fourth = pool.keep(0, 1);
        assert_eq!(worker(&pool, third), worker(&pool, fourth));
        pool.close(first);
        let next = pool.keep(0, 1);
        assert_eq!(worker(&pool, next), worker(&pool, second), "it has room again");
        assert_eq!((pool.kept().count(), pool.state.counters.guests_given_up), (4, 0));
    }
}

#[test]
fn few_workers_are_set_apart_and_those_that_were_used_longest_ago_give_way() {
    let held = HeldBounds { guests: 9, of_one: 2, keepers: 2, memory: None };
    let capacity = Capacity { cores: 1, most: 1, spares: 0, fresh: 0, newcomers: 0, held };
    let mut pool = Simulation::new(capacity, 20, false);
    let guests = [0, 0, 1, 1, 2].map(|who| pool.keep(who, 1));
    let is_gone = guests.map(|opened| pool.guests[&opened].is_gone);
    assert_eq!(is_gone, [true, true, false, false, false]);
    assert_eq!(pool.state.counters.guests_given_up, 2);
    // Without another worker, a full one gives up one of its guests.
    let next = pool.keep(1, 1);
    assert!(!pool.guests[&next].is_gone);
    pool.check();
}

#[test]
fn many_guests_of_one_owner_are_spread_over_as_many_workers_as_can_compute() {
    let held = HeldBounds { guests: 99, of_one: 50, keepers: 9, memory: None };
    let capacity = Capacity { cores: 2, most: 4, spares: 1, fresh: 0, newcomers: 0, held };
    for is_shared in [false, true] {
        let mut pool = Simulation::new(capacity, 200, is_shared);
        pool.start_workers();
        let guests: Vec<u64> = (0..40).map(|_| pool.keep(0, 1)).collect();
        let mut counts = BTreeMap::<WorkerId, usize>::new();
        for opened in &guests {
            *counts.entry(pool.guests[opened].key.worker).or_default() += 1;
        }
        assert_eq!(counts.values().copied().collect::<Vec<_>>(), [20, 20], "{is_shared}");
    }
}

#[test]
fn shared_workers_that_keep_guests_serve_everyone_and_are_not_replaced() {
    let held = HeldBounds { guests: 9, of_one: 3, keepers: 2, memory: None };
    let capacity = Capacity { cores: 1, most: 1, spares: 0, fresh: 0, newcomers: 0, held };
    let mut pool = Simulation::new(capacity, 20, true);
    let guests = [0, 1].map(|who| pool.keep(who, 1));
    assert_eq!(pool.state.records().len(), 1);
    pool.arrive(2, Kind::Run, 1);
    assert!(pool.is_busy(pool.guests[&guests[0]].key.worker));
    pool.finish(0, Left::Nothing);
    // One that can keep no further guest is replaced, for those to come.
    pool.keep(2, 1);
    assert_eq!(pool.state.records().len(), 2);
    let next = pool.keep(0, 1);
    assert_ne!(pool.guests[&next].key.worker, pool.guests[&guests[0]].key.worker);
    assert_eq!((pool.kept().count(), pool.state.counters.guests_given_up), (4, 0));
}

#[test]
fn a_turn_whose_worker_is_busy_is_passed_by_others_and_moves_when_there_is_a_core() {
    let held = HeldBounds { guests: 9, of_one: 2, keepers: 4, memory: None };
    let capacity = Capacity { cores: 2, most: 2, spares: 0, fresh: 0, newcomers: 0, held };
    let mut pool = Simulation::new(capacity, 20, false);
    pool.start_workers();
    let [first, second, third] = [(); 3].map(|()| pool.keep(0, 1));
    let worker = |pool: &Simulation, opened| pool.guests[&opened].key.worker;
    assert!(worker(&pool, first) == worker(&pool, second));
    pool.arrive(0, Kind::Turn(first), 0);
    let waits = pool.arrive(0, Kind::Turn(second), 0);
    let passes = pool.arrive(0, Kind::Turn(third), 0);
    assert!(pool.waiting.contains_key(&waits) && pool.leased.contains_key(&passes));
    // No core is left, so it would begin nowhere else.
    let (claim, key) = (pool.claim(0, 0), pool.guests[&second].key);
    pool.state.free_waiting_turn(&claim, key);
    pool.carry_out(false);
    pool.finish(1, Left::Guest);
    assert!(pool.waiting.contains_key(&waits));
    pool.state.free_waiting_turn(&claim, key);
    pool.carry_out(true);
    assert!(pool.over.contains(&waits) && pool.guests[&second].is_doomed);
    assert_eq!(pool.state.queue.memory_used, 3, "it is closed when its worker comes back");
    pool.check();
    pool.finish(0, Left::Guest);
    assert!(pool.guests[&second].is_gone && !pool.guests[&first].is_lost());
    assert_eq!((pool.state.queue.memory_used, pool.state.counters.guests_given_up), (2, 1));
    // One whose worker is at hand moves nowhere.
    pool.arrive(1, Kind::Run, 1);
    pool.arrive(1, Kind::Run, 1);
    pool.arrive(0, Kind::Turn(first), 0);
    pool.state.free_waiting_turn(&claim, pool.guests[&first].key);
    pool.carry_out(false);
}

#[test]
fn a_worker_that_holds_a_cell_keeps_its_guest_alone() {
    let mut pool = small(4, 10);
    let [held, other] = [pool.keep(0, 1), pool.keep(0, 1)];
    let worker = pool.guests[&held].key.worker;
    assert_eq!(pool.guests[&other].key.worker, worker);
    pool.arrive(0, Kind::Turn(held), 0);
    pool.arrive(0, Kind::Turn(other), 0);
    pool.finish(0, Left::Cell);
    pool.start_workers();
    assert!(pool.guests[&other].is_gone && pool.waiting.is_empty(), "its caller has it elsewhere");
    pool.check();
    // Others of the same owner get another worker.
    pool.arrive(0, Kind::Run, 1);
    assert!(!pool.is_busy(worker) && pool.leased.len() == 1);
    pool.finish(0, Left::Nothing);
    pool.arrive(0, Kind::Turn(held), 0);
    assert!(pool.is_busy(worker));
    pool.finish(0, Left::Cell);
    // A run that lacks its memory ends the wait, and the worker serves again.
    pool.arrive(0, Kind::Run, 10);
    assert!(pool.guests[&held].is_gone && pool.leased.len() == 1);
    pool.finish(0, Left::Nothing);
    assert!(pool.state.is_idle(worker));
    pool.check();
}

#[test]
fn a_cell_that_is_held_outlives_guests_that_were_used_later() {
    let mut pool = small(4, 10);
    pool.arrive(0, Kind::First, 1);
    pool.finish(0, Left::Cell);
    let held = *pool.guests.keys().next().unwrap();
    pool.state.growth.capacity.held.guests = 2;
    let others = [pool.keep(1, 1), pool.keep(1, 1), pool.keep(1, 1)];
    assert!(!pool.guests[&held].is_gone);
    assert_eq!(others.map(|other| pool.guests[&other].is_gone), [true, true, false]);
    pool.check();
}

#[test]
fn no_cell_is_given_up_for_one_that_begins_to_wait() {
    let hold = |pool: &mut Simulation, who, memory| {
        let opened = pool.arrive(who, Kind::First, memory);
        pool.start_workers();
        pool.finish(0, Left::Cell);
        pool.start_workers();
        pool.check();
        opened
    };
    let mut pool = small(4, 100);
    pool.state.growth.capacity.held.memory = Some(14);
    let first = hold(&mut pool, 0, 6);
    let gone = pool.state.gone_guests();
    // It is the stalest one, and the other takes too much beside it.
    let large = hold(&mut pool, 1, 8);
    assert_eq!((pool.guests[&first].is_gone, pool.guests[&large].is_gone), (false, true));
    assert!(pool.state.gone_guests() > gone, "whoever waits for it learns that");
    let small = hold(&mut pool, 1, 1);
    pool.state.growth.capacity.held.guests = 2;
    let third = hold(&mut pool, 2, 1);
    assert!(pool.guests[&third].is_gone);
    // A guest without a cell makes room for one.
    pool.state.growth.capacity.held.guests = 3;
    let kept = pool.keep(2, 1);
    pool.state.growth.capacity.held.guests = 2;
    pool.keep(3, 1);
    let is_gone = [first, small, kept].map(|opened| pool.guests[&opened].is_gone);
    assert_eq!(is_gone, [false, false, true]);
}

#[test]
fn the_memory_that_workers_really_take_is_bounded() {
    let mut pool = small(9, 100);
    pool.state.growth.capacity.held.memory = Some(14);
    // The worker itself takes two.
    let guests = [4, 4, 4].map(|memory| pool.keep(0, memory));
    assert_eq!((pool.state.held.taken_memory(), pool.kept().count()), (14, 3));
    pool.arrive(0, Kind::Turn(guests[0]), 0);
    pool.finish(0, Left::Guest);
    pool.keep(0, 3);
    assert!(pool.guests[&guests[1]].is_gone && !pool.guests[&guests[0]].is_gone);
    assert_eq!((pool.state.held.taken_memory(), pool.kept().count()), (13, 3));
    // One that takes too much by itself is not kept.
    let large = pool.keep(0, 20);
    assert!(pool.guests[&large].is_gone);
    assert_eq!(pool.kept().count(), 0);
}
